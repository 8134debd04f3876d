/** The access review: the same truth as effective access, for everybody and everywhere at once, however long it gets. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Bookmark, beginning, type Piece, pieceAfter, type Reviewed } from '../src/store/review.ts';
import { sql } from '../src/store/sql.ts';
import type { Store } from '../src/store/store.ts';
import { acceptable } from '../src/wire/accept.ts';
import { csvRow } from '../src/wire/csv.ts';
import { type Answer, type Json, mediaType } from './support/client.ts';
import { Dice, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { newStore } from './support/engine.ts';
import { RandomWorld } from './support/random-world.ts';
import { type Entry, recording } from './support/recording.ts';
import { startServer, type TestServer } from './support/server.ts';
import { type Actor, Directory, newDirectory } from './support/world.ts';

const csvType = 'text/csv; charset=utf-8';

/** As RFC 4180 has it and nothing else: a quote within a cell that is not quoted, or a bare line feed, is refused. */
const parsedCsv = (text: string): string[][] => {
  const rows: string[][] = [];
  for (let at = 0; at < text.length; ) {
    const row: string[] = [];
    for (;;) {
      const [cell = '', quoted] = /^(?:"((?:[^"]|"")*)"|[^",\r\n]*)/.exec(text.slice(at)) ?? [];
      row.push(quoted === undefined ? cell : quoted.replaceAll('""', '"'));
      at += cell.length;
      if (text[at] !== ',') break;
      at++;
    }
    assert.equal(
      text.slice(at, at + 2),
      '\r\n',
      `a row ends with CRLF: ${JSON.stringify(text.slice(at - 40, at + 9))}`,
    );
    at += 2;
    rows.push(row);
  }
  return rows;
};

const columns = ['user id', 'username', 'email', 'project id', 'project', 'permission', 'value', 'origins'];

const pathOf = (organization: string, query = '') => `/organizations/${organization}/access-review${query}`;

const inForm = (actor: Actor, organization: string, accept: string, query = ''): Promise<Answer> =>
  actor.client.call(actor.token, 'GET', `/api/v2${pathOf(organization, query)}`, undefined, { accept });

/** Everything of a list, page by page. */
const whole = async (actor: Actor, path: string): Promise<Json[]> => {
  const items: Json[] = [];
  for (let page = 1; ; page++) {
    const { body } = await actor.get(`${path}${path.includes('?') ? '&' : '?'}page[number]=${page}&page[size]=100`);
    items.push(...body.data);
    if (body.meta.pagination['next-page'] === null) return items;
  }
};

const lowest = [null, 'none', false];

/** The rows as effective access has them, user by user and project by project. */
const bruteForce = async (owner: Actor, organization: string): Promise<Json[]> => {
  const memberships = await whole(owner, `/organizations/${organization}/organization-memberships`);
  const rows: Json[] = [];
  for (const { relationships } of memberships.filter(({ attributes }) => attributes.status === 'active')) {
    const { id: user } = relationships.user.data;
    const { attributes: person } = (await owner.get(`/users/${user}`)).body.data;
    const email = (await inForm(owner, organization, mediaType, `?filter[user][id]=${user}`)).body.data[0]?.attributes
      .email;
    const held = await whole(owner, `/users/${user}/effective-access?filter[organization][name]=${organization}`);
    for (const { attributes, relationships } of held)
      for (const group of ['project-access', 'workspace-access'])
        for (const [key, value] of Object.entries<Json>(attributes[group])) {
          if (lowest.includes(value)) continue;
          const reasons: Json[] = attributes.reasons[group][key];
          rows.push({
            id: `${user}:${relationships.project.data.id}:${group}.${key}`,
            type: 'access-review-rows',
            attributes: {
              username: person.username,
              email,
              'project-name': attributes['project-name'],
              permission: `${group}.${key}`,
              value,
              reasons: [
                ...reasons.filter(each => each.value === value),
                ...reasons.filter(each => each.value !== value),
              ],
            },
            relationships: {
              user: { data: { id: user, type: 'users' } },
              project: { data: relationships.project.data },
            },
          });
        }
  }
  return rows;
};

const byId = (rows: readonly Json[]): Json[] => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));

/** A request whose answer is read as slowly as the test likes. */
const begun = async (t: TestContext, { url }: TestServer, token: string | undefined, organization: string) => {
  const outgoing: ClientRequest = request(`${url}/api/v2${pathOf(organization)}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  t.after(() => outgoing.destroy());
  outgoing.end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.pause();
  return { outgoing, incoming };
};

/** Time enough for the server to go on with whatever it has not ended. */
const turns = async ({ client }: TestServer): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) assert.equal((await client.send('GET', '/healthz')).status, 200);
};

/** All that is left of it, and whether it came to its end. */
const rest = async (incoming: IncomingMessage): Promise<{ text: string; isWhole: boolean }> => {
  let text = '';
  incoming.setEncoding('utf8').on('data', more => {
    text += more;
  });
  incoming.on('error', () => {});
  incoming.resume();
  if (!incoming.closed) await new Promise(resolve => incoming.once('close', resolve));
  return { text, isWhole: incoming.complete };
};

describe('GET access-review: the rows', () => {
  test('are those of effective access, of every user and project, in either form', async t => {
    printSeed(t);
    for (let round = 0; round < 4; round++) {
      const directory = await newDirectory(testSeed + round);
      t.after(() => directory.server.close());
      const world = new RandomWorld(directory, new Dice(testSeed + round), 'w');
      const { dice } = world;
      const people = [];
      for (let i = 0; i < 7; i++) people.push(await world.person(`p${i}`));
      const organization = await world.organization(people[0] as never, 'org');
      for (const { email } of people.slice(1, -1)) await world.member(organization, email);
      await world.member(organization, 'invited@example.com');
      const projects = [...world.projects];
      for (let i = 0; i < 5; i++) projects.push(await world.project(organization));
      for (let i = 0; i < 6; i++) {
        const team = await world.team(organization, {
          members: dice.some(people.slice(0, -1), 0.4),
          flags: dice.chance(0.5) ? [] : dice.some(['read-projects', 'manage-workspaces', 'manage-policies'], 0.5),
        });
        for (const project of dice.some(projects, 0.4)) await world.grant(project, team);
      }
      const owner = world.ownerOf(organization);
      const expected = await bruteForce(owner, organization);
      assert.ok(expected.length > 50, toRepeat);
      const json = await inForm(owner, organization, mediaType);
      assert.deepEqual(byId(json.body.data), byId(expected), toRepeat);
      assert.equal(json.body.meta['total-count'], expected.length);
      const [head, ...rows] = parsedCsv((await inForm(owner, organization, 'text/csv')).text);
      assert.deepEqual(head, columns);
      const shown = json.body.data.map(({ attributes, relationships: { user, project } }: Json) => [
        ...[user.data.id, attributes.username, attributes.email, project.data.id, attributes['project-name']],
        ...[attributes.permission, `${attributes.value}`],
        attributes.reasons
          .map((reason: Json) => {
            const by = reason['grant-id'] ?? reason['organization-permission'];
            const less = reason.value === attributes.value ? '' : ` gives ${reason.value}`;
            return `${reason.scope}: ${reason['team-name']} (${by})${less}`;
          })
          .join('; '),
      ]);
      assert.deepEqual(rows, shown, toRepeat);
    }
  });

  describe('of one organization', () => {
    let directory: Directory;
    let owner: Actor;
    const ids: Record<string, string> = {};
    before(async () => {
      directory = await newDirectory();
      ({ actor: owner, id: (ids.ada as string) } = await directory.user('ada'));
      await directory.organization(owner, 'acme');
      for (const name of ['bob', 'cyd']) ids[name] = (await directory.member(owner, 'acme', name)).id;
      ids.net = await directory.project(owner, 'acme', 'net');
      ids.web = await directory.project(owner, 'acme', '-web');
      ids.ops = await directory.team(owner, 'acme', { name: 'ops' }, ['bob', 'cyd']);
      ids.grant = await directory.grant(owner, ids.net as string, ids.ops as string, { access: 'write' });
    });
    after(() => directory.server.close());

    test('come by user, by project and by permission, each in the order of creation', async () => {
      const { body } = await owner.get(pathOf('acme'));
      const users = [...new Set(body.data.map(({ relationships }: Json) => relationships.user.data.id))];
      assert.deepEqual(users, [ids.ada, ids.bob, ids.cyd]);
      const places = [...new Set(body.data.slice(0, 42).map(({ attributes }: Json) => attributes['project-name']))];
      assert.deepEqual(places, ['Default Project', 'net', '-web']);
    });

    test('tell of a lesser reason what it gives, and of one that gives the value nothing more', async () => {
      const readers = { name: 'a; b (c): "d"', 'organization-access': { 'read-workspaces': true } };
      const team = await directory.team(owner, 'acme', readers, ['bob']);
      const query = `?filter[user][id]=${ids.bob}&filter[project][id]=${ids.net}`;
      const [, ...rows] = parsedCsv((await inForm(owner, 'acme', 'text/csv', query)).text);
      const runs = rows.find(row => row[5] === 'workspace-access.runs');
      assert.deepEqual(runs?.slice(4), [
        'net',
        'workspace-access.runs',
        'apply',
        `project: ops (${ids.grant}); organization: "a; b (c): \\"d\\"" (read-workspaces) gives read`,
      ]);
      await owner.delete(`/teams/${team}`);
    });

    test('are narrowed by filter[user][id] and filter[project][id], and none is left of what is not there', async () => {
      const all: Json[] = (await owner.get(pathOf('acme'))).body.data;
      const left = async (query: string) => (await owner.get(pathOf('acme', query))).body.data;
      const of = (user: string | undefined, project?: string) =>
        all.filter(({ id }) => id.startsWith(`${user}:`) && (project === undefined || id.includes(`:${project}:`)));
      assert.deepEqual(await left(`?filter[user][id]=${ids.bob}`), of(ids.bob));
      assert.deepEqual(await left(`?filter[user][id]=${ids.ada}&filter[project][id]=${ids.web}`), of(ids.ada, ids.web));
      assert.deepEqual(await left('?filter[user][id]=user-x'), []);
      assert.deepEqual(await left('?filter[project][id]=prj-x'), []);
      const slip = await owner.get(pathOf('acme', '?filter[user]=x'));
      assert.equal(slip.status, 400);
      assert.deepEqual(slip.body.errors[0].source, { parameter: 'filter[user]' });
    });

    test('of an organization where nobody holds anything but the owner, are the owner’s', async () => {
      await directory.organization(owner, 'lonely');
      await directory.member(owner, 'lonely', 'dan');
      const { body } = await owner.get(pathOf('lonely'));
      assert.equal(body.meta['total-count'], 14);
      assert.ok(body.data.every(({ relationships }: Json) => relationships.user.data.id === ids.ada));
    });

    test('never make a formula of a name, whatever a team, a project or an e-mail is called', async () => {
      const names = [
        '=1+1',
        '+x',
        '-x',
        '@sum',
        '＝1',
        '＋1',
        '－1',
        '＠1',
        '"=1"',
        'a,"b"',
        "'=1",
        'x;=cmd|1',
        "it's",
      ];
      for (const name of names) {
        const team = await directory.team(owner, 'acme', { name }, ['cyd']);
        await directory.grant(owner, ids.web as string, team, { access: 'read' });
      }
      const attributes = { username: 'eve', email: '=eve;+x,"z"@example.com' };
      await directory.admin.make('/admin/users', { type: 'users', attributes });
      const data = { type: 'organization-memberships', attributes: { email: attributes.email } };
      await owner.make('/organizations/acme/organization-memberships', data);
      await directory.team(owner, 'acme', { name: 'evil', 'organization-access': { 'read-projects': true } }, ['eve']);
      const { text, headers } = await inForm(owner, 'acme', 'text/csv');
      assert.equal(headers['content-type'], csvType);
      const rows = parsedCsv(text);
      const cells = new Set(rows.flat());
      for (const cell of cells) {
        assert.doesNotMatch(cell, /^\s*[=+\-@＝＋－＠\t\r\n]/u);
        assert.doesNotMatch(cell, /[;\t\r\n]\s*[=+\-@＝＋－＠]/u);
      }
      assert.ok(cells.has("'-web"));
      assert.ok(cells.has(`'=eve;'+x,"z"@example.com`));
      const origins = rows.filter(row => row[1] === 'cyd').map(row => row[7]);
      for (const name of names) {
        const shown = /[;:()"]/.test(name) ? JSON.stringify(name) : name;
        assert.ok(
          origins.some(origin => origin?.includes(`project: ${shown.replace(';=', ";'=")} (tprj-`)),
          name,
        );
      }
    });
  });

  test('a cell is made harmless and quoted as RFC 4180 has it, and comes back as it was', () => {
    const cells = [
      'a',
      '',
      'a,b',
      'say "x"',
      'two\r\nlines',
      ' =1',
      '\t=1',
      '\rx',
      '\nx',
      'x;-1',
      'x;\t=1',
      '1-1',
      'a=b',
    ];
    const [row] = parsedCsv(csvRow(cells));
    assert.deepEqual(row, [
      ...['a', '', 'a,b', 'say "x"', 'two\r\nlines', "' =1", "'\t'=1", "'\rx", "'\nx"],
      ...["x;'-1", "x;'\t'=1", '1-1', 'a=b'],
    ]);
  });
});

describe('the pieces of a review', () => {
  /** All pairs of a member and a project, in the order of the pieces. */
  const pairsIn = async (store: Store, reviewed: Reviewed, most: number, pairs?: number, between = async () => {}) => {
    const all: string[] = [];
    let count = 0;
    for (let bookmark: Bookmark | undefined = beginning; bookmark; count++) {
      const at: Bookmark = bookmark;
      const piece: Piece = await store.read(tx =>
        pieceAfter(tx, reviewed, at, most, pairs === undefined ? {} : { grants: pairs, pairs }),
      );
      for (const { username } of piece.members) all.push(...piece.projects.map(({ name }) => `${username} ${name}`));
      const isWithin = piece.next?.project !== undefined && bookmark.project === undefined;
      [bookmark, most] = [piece.next, piece.most];
      if (isWithin) await between();
    }
    return { all, count };
  };

  const small = async (t: TestContext) => {
    const directory = await newDirectory();
    const { store } = directory.server;
    t.after(() => directory.server.close());
    const { actor: owner } = await directory.user('ada');
    await directory.organization(owner, 'acme');
    for (const name of ['bob', 'cyd', 'dan']) await directory.member(owner, 'acme', name);
    const readers = { name: 'readers', 'organization-access': { 'read-projects': true } };
    await directory.team(owner, 'acme', readers, ['bob', 'cyd', 'dan']);
    for (let index = 0; index < 6; index++) await directory.project(owner, 'acme', `project-${index}`);
    const { 'external-id': organization } = (await owner.get('/organizations/acme')).body.data.attributes;
    return { owner, store, reviewed: { organization, users: sql`1 = 1`, projects: sql`1 = 1` } };
  };

  test('however small they are, they have every member’s every project once and in order', async t => {
    const { store, reviewed } = await small(t);
    const { all, count } = await pairsIn(store, reviewed, 100);
    assert.deepEqual([all.length, new Set(all).size, count], [4 * 7, 4 * 7, 2]);
    for (const most of [1, 2, 3, 8])
      for (const pairs of [1, 2, 5, 7, 8, 14, 15, 21, 40])
        assert.deepEqual((await pairsIn(store, reviewed, most, pairs)).all, all, `${most} ${pairs}`);
  });

  test('a member who goes in the middle takes nothing of the next one along', async t => {
    const { owner, store, reviewed } = await small(t);
    const { all } = await pairsIn(store, reviewed, 1);
    const memberships: Json[] = await whole(owner, '/organizations/acme/organization-memberships');
    let middles = 0;
    const leave = async () => {
      // In the middle of the second member's.
      if (++middles === 2)
        assert.equal((await owner.delete(`/organization-memberships/${memberships[1].id}`)).status, 204);
    };
    const { all: left } = await pairsIn(store, reviewed, 1, 4, leave);
    const isLeft = (pair: string) => !/^bob project-[3-9]/.test(pair);
    assert.deepEqual(left, all.filter(isLeft));
  });
});

describe('GET access-review: who', () => {
  test('whatever acts as an owner reads it; to all others there is nothing', async t => {
    const directory = await newDirectory();
    t.after(() => directory.server.close());
    const { actor: owner } = await directory.user('ada');
    await directory.organization(owner, 'acme');
    const { actor: member } = await directory.member(owner, 'acme', 'bob');
    const everything = { 'manage-organization-access': true, 'manage-projects': true, 'access-secret-teams': true };
    const team = await directory.team(owner, 'acme', { name: 'all', 'organization-access': everything }, ['bob']);
    const { actor: outsider } = await directory.user('otto');
    const tokenAt = async (path: string) => directory.actor((await owner.make(path)).attributes.token);
    const owners = (await owner.get('/organizations/acme/teams')).body.data[0].id;
    for (const actor of [
      owner,
      await tokenAt('/organizations/acme/authentication-token'),
      await tokenAt(`/teams/${owners}/authentication-token`),
    ])
      for (const accept of [mediaType, 'text/csv']) assert.equal((await inForm(actor, 'acme', accept)).status, 200);
    const bodies = new Set<string>();
    for (const actor of [
      member,
      outsider,
      directory.admin,
      await tokenAt(`/teams/${team}/authentication-token`),
      await tokenAt('/organizations/acme/authentication-token?token=audit-trails'),
      await tokenAt('/organizations/acme/authentication-token?token=decisions'),
    ])
      for (const accept of [mediaType, 'text/csv', 'image/png']) {
        const { status, text } = await inForm(actor, 'acme', accept);
        assert.equal(status, 404);
        bodies.add(text);
      }
    bodies.add((await owner.get(pathOf('nowhere'))).text);
    assert.equal(bodies.size, 1);
  });
});

describe('GET access-review: the form', () => {
  test('is what the Accept header wants most, JSON:API where it does not matter, and 406 where there is none', async t => {
    const directory = await newDirectory();
    t.after(() => directory.server.close());
    const { actor: owner } = await directory.user('ada');
    await directory.organization(owner, 'acme');
    const { client } = directory.server;
    for (const [accept, expected] of [
      [mediaType, mediaType],
      ['*/*', mediaType],
      ['text/csv', csvType],
      ['text/csv;q=0.5, application/vnd.api+json;q=0.4', csvType],
    ] as const) {
      const answer = await inForm(owner, 'acme', accept);
      assert.deepEqual([answer.status, answer.headers['content-type']], [200, expected], accept);
      assert.equal(answer.headers.vary, 'accept');
    }
    const unasked = await client.call(owner.token, 'GET', `/api/v2${pathOf('acme')}`);
    assert.equal(unasked.headers['content-type'], mediaType);
    const refused = await inForm(owner, 'acme', 'application/json, text/csv;q=0');
    assert.equal(refused.status, 406);
    assert.match(refused.body.errors[0].detail, /application\/vnd\.api\+json, text\/csv/);
  });

  test('an Accept header is read as RFC 9110 has it', () => {
    const forms = [mediaType, csvType];
    const wanted: [string | undefined, string | undefined][] = [
      [undefined, mediaType],
      ['', mediaType],
      ['application/*', mediaType],
      ['text/*', csvType],
      ['TEXT/CSV', csvType],
      ['text/csv, */*', csvType],
      ['text/csv, application/vnd.api+json', mediaType],
      ['text/csv;q=0.1, */*;q=0.2', mediaType],
      ['text/csv;q=0, */*', mediaType],
      ['application/vnd.api+json;q=0, */*;q=0.1', csvType],
      ['text/csv; charset=utf-8; header=present', csvType],
      ['text/csv; header=absent', undefined],
      ['application/vnd.api+json; ext="https://example.com/a,b;c"', undefined],
      ['application/vnd.api+json; profile="https://example.com/a,b;c"', mediaType],
      ['application/vnd.api+json; ext="x", application/vnd.api+json', mediaType],
      ['text/csv;q=2', undefined],
      ['text/csv;q=', undefined],
      ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', mediaType],
      ['*', undefined],
      [',,;', undefined],
      ['application/json', undefined],
    ];
    for (const [header, form] of wanted) assert.equal(acceptable(header, forms), form, `${header}`);
  });
});

describe('GET access-review: the stream', () => {
  const people = 40;
  const projects = 120;

  /** Everybody may do everything: longer than all that lies between a server and a client that does not read. */
  const long = async (t: TestContext, log: Entry[] = []) => {
    const names = Array.from({ length: people }, (_, index) => `p${index}`);
    const server = await startServer({
      store: recording(await newStore(), log),
      world: {
        users: names.map(username => ({
          username,
          email: `${username}@example.com`,
          tokens: [{}],
          'is-admin': username === 'p0',
        })),
        organizations: [
          {
            name: 'long',
            email: 'long@example.com',
            memberships: names.map(user => ({ user })),
            teams: [
              { name: 'owners', members: ['p0'] },
              { name: 'all', 'organization-access': { 'manage-projects': true }, members: names },
            ],
            projects: Array.from({ length: projects }, (_, index) => ({ name: `project-${index}` })),
          },
        ],
      } as never,
    });
    let closed: Promise<void> | undefined;
    const close = () => {
      closed ??= server.close();
      return closed;
    };
    t.after(close);
    return { server, close, log, owner: new Directory(server).actor(server.adminToken) };
  };
  // With the default project; of the owner, policy overrides too.
  const total = (projects + 1) * (14 + 13 * (people - 1));

  test('is whole, and of one state where nothing changed meanwhile: header, trailer and meta agree', async t => {
    const { server, owner, log } = await long(t);
    const reads = log.length;
    const { incoming } = await begun(t, server, owner.token, 'long');
    const { text, isWhole } = await rest(incoming);
    assert.ok(isWhole);
    const { data, meta } = JSON.parse(text);
    assert.equal(data.length, total);
    assert.equal(new Set(data.map(({ id }: Json) => id)).size, total, 'no row comes twice');
    const revision = `${meta.revision.first}`;
    assert.deepEqual(meta, { 'total-count': total, revision: { first: Number(revision), last: Number(revision) } });
    assert.equal(incoming.headers['bailiwick-revision'], revision);
    assert.equal(incoming.headers.trailer, 'bailiwick-last-revision');
    assert.deepEqual(incoming.trailers, { 'bailiwick-last-revision': revision });
    assert.ok(log.length - reads > 3, 'it was read in pieces');
  });

  test('goes to a client of HTTP/1.0, too, which takes no trailers', async t => {
    const { server, owner } = await long(t);
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const path = `/api/v2${pathOf('long')}`;
    socket.write(`GET ${path} HTTP/1.0\r\nAuthorization: Bearer ${owner.token}\r\nAccept: text/csv\r\n\r\n`);
    const [head = '', body = ''] = (await textOf(socket)).split('\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
    assert.doesNotMatch(head, /^(trailer|transfer-encoding):/im);
    assert.equal(body.split('\r\n').length, 1 + total + 1);
  });

  test('holds no transaction while the client does not read, and tells what changed meanwhile', async t => {
    const { server, owner } = await long(t);
    const { incoming } = await begun(t, server, owner.token, 'long');
    const data = { type: 'projects', attributes: { name: 'made meanwhile' } };
    assert.equal((await owner.post('/organizations/long/projects', data)).status, 201);
    const { text, isWhole } = await rest(incoming);
    assert.ok(isWhole);
    const { meta } = JSON.parse(text);
    assert.equal(meta.revision.last, meta.revision.first + 1);
    assert.equal(incoming.trailers['bailiwick-last-revision'], `${meta.revision.last}`);
  });

  for (const [what, change] of Object.entries({
    'a token that is revoked': async (owner: Actor) => {
      const { id } = (await owner.get('/account/details')).body.data;
      for (const token of (await owner.get(`/users/${id}/authentication-tokens`)).body.data)
        assert.equal((await owner.delete(`/authentication-tokens/${token.id}`)).status, 204);
    },
    'an organization that is deleted': async (owner: Actor) => {
      assert.equal((await owner.delete('/organizations/long')).status, 204);
    },
  }))
    test(`${what} midway cuts it, so that nobody takes a part for the whole`, async t => {
      const { server, owner } = await long(t);
      const { incoming } = await begun(t, server, owner.token, 'long');
      await change(owner);
      const { text, isWhole } = await rest(incoming);
      assert.equal(isWhole, false);
      assert.throws(() => JSON.parse(text));
      assert.equal((await server.client.send('GET', '/healthz')).status, 200);
    });

  test('a client that goes away ends the work', async t => {
    const { server, owner, log } = await long(t);
    const { outgoing } = await begun(t, server, owner.token, 'long');
    const wholly = log.length;
    outgoing.destroy();
    // It may be at one piece more: whatever there is after many turns is all that there will be.
    await turns(server);
    const reads = log.length;
    await turns(server);
    assert.equal(log.length, reads);
    await inForm(owner, 'long', 'text/csv');
    assert.ok(log.length - reads > reads - wholly, 'a whole one takes more');
  });

  test('HEAD tells the same as GET in its headers, and reads but the first piece', async t => {
    const { server, owner, log } = await long(t);
    const reads = log.length;
    const headers = { authorization: `Bearer ${owner.token}`, accept: 'text/csv' };
    const head = await server.client.send('HEAD', `/api/v2${pathOf('long')}`, { headers });
    await turns(server);
    assert.equal(log.length, reads + 1);
    assert.deepEqual([head.status, head.text, head.headers['content-type']], [200, '', csvType]);
    const answer = await inForm(owner, 'long', 'text/csv');
    assert.equal(answer.headers['bailiwick-revision'], head.headers['bailiwick-revision']);
    const missing = await server.client.send('HEAD', `/api/v2${pathOf('nowhere')}`, { headers });
    assert.equal(missing.status, 404);
  });

  test('a server that ends lets it come to its end', async t => {
    const { server, close, owner } = await long(t);
    const { incoming } = await begun(t, server, owner.token, 'long');
    const closed = close();
    const { text, isWhole } = await rest(incoming);
    assert.ok(isWhole);
    assert.equal(JSON.parse(text).data.length, total);
    await closed;
  });
});
