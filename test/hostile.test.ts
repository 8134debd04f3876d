/** Any bytes at all: never a 5xx, never half a change, and every refusal is a JSON:API error document. */

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { randomText } from '../src/store/id.ts';
import { type Sql, sql } from '../src/store/sql.ts';
import type { Store } from '../src/store/store.ts';
import { newToken } from '../src/store/token.ts';
import { type Answer, assertErrors, type Json, mediaType } from './support/client.ts';
import { seeded, type TestServer } from './support/server.ts';
import { type Actor, type Directory, grantBody, newDirectory } from './support/world.ts';

// The world: an organization with callers of every right, and a second one of the same owner.

type World = {
  readonly directory: Directory;
  readonly server: TestServer;
  readonly admin: Actor;
  readonly owner: Actor;
  readonly projectAdmin: Actor;
  readonly member: Actor;
  readonly outsider: Actor;
  readonly organizationToken: Actor;
  readonly project: string;
  readonly team: string;
  readonly grant: string;
  readonly foreignTeam: string;
  readonly foreignProject: string;
  /** Users whom the callers are: who is kept out of harm's way keeps the other requests meaningful. */
  readonly callers: ReadonlySet<string>;
};

const newWorld = async (seed: number): Promise<World> => {
  const directory = await newDirectory(seed);
  const olivia = await directory.user('olivia');
  const owner = olivia.actor;
  await directory.organization(owner, 'acme');
  await directory.organization(owner, 'rival');
  const adam = await directory.member(owner, 'acme', 'adam');
  const nora = await directory.member(owner, 'acme', 'nora');
  const otto = await directory.user('otto');
  for (const spare of ['sid', 'sue']) await directory.member(owner, 'acme', spare);
  const project = await directory.project(owner, 'acme', 'production');
  const leads = await directory.team(owner, 'acme', { name: 'leads', visibility: 'organization' }, ['adam']);
  const team = await directory.team(owner, 'acme', { name: 'developers', visibility: 'organization' }, ['sid']);
  await directory.team(owner, 'acme', { name: 'idle', visibility: 'organization' });
  await directory.grant(owner, project, leads, { access: 'admin' });
  const { attributes } = await owner.make('/organizations/acme/authentication-token');
  const me = await directory.admin.get('/account/details');
  return {
    directory,
    server: directory.server,
    admin: directory.admin,
    owner,
    projectAdmin: adam.actor,
    member: nora.actor,
    outsider: otto.actor,
    organizationToken: directory.actor(attributes.token),
    project,
    team,
    grant: await directory.grant(owner, project, team, { access: 'write' }),
    foreignTeam: await directory.team(owner, 'rival', { name: 'foreign', visibility: 'organization' }),
    foreignProject: await directory.project(owner, 'rival', 'foreign'),
    callers: new Set([me.body.data.id, olivia.id, adam.id, nora.id, otto.id]),
  };
};

// Routes, as the server itself documents them

type Route = {
  readonly method: string;
  readonly path: string;
  readonly schema: Json;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
};

const routesOf = async ({ client }: TestServer): Promise<Route[]> => {
  const { body } = await client.send('GET', '/openapi.json');
  return Object.entries<Json>(body.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, { requestBody, parameters = [] }]) => ({
      method: method.toUpperCase(),
      path,
      schema: requestBody?.content[mediaType].schema,
      parameters,
    })),
  );
};

/** Ids by the type that a path names before its parameter. */
type Pool = Map<string, string[]>;

/** Everything that the lists show to the owner and to the site admin; a new family of routes is found by itself. */
const poolOf = async (world: World, routes: readonly Route[]): Promise<Pool> => {
  const pool: Pool = new Map([['organizations', ['acme']]]);
  const lists = routes.filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v2/'));
  // The nested lists need the ids of those above them.
  for (const { path } of lists.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length))
    for (const caller of [world.owner, world.admin]) {
      const query = path.endsWith('/team-projects') ? `?filter[project][id]=${world.project}` : '';
      const address = filled(path, type => pool.get(type)?.[0] ?? 'none') + query;
      const { body } = await world.server.client.call(caller.token, 'GET', address);
      for (const { type, id } of [body.data ?? []].flat()) {
        const known = pool.get(type) ?? [];
        if (!known.includes(id)) pool.set(type, [...known, id]);
      }
    }
  return pool;
};

/** A path with its parameters filled in, by the type that the segment before each one names. */
const filled = (path: string, idOf: (type: string) => string): string =>
  path.replace(/([\w-]+)\/\{\w+\}/g, (_, type) => `${type}/${idOf(type)}`);

/** Who may do it: the site admin what concerns users, the owner everything else. */
const rightfulIn = ({ admin, owner }: World, { path }: Route): Actor =>
  /^\/api\/v2\/(admin|users)\//.test(path) ? admin : owner;

// Raw bytes

type RawAnswer = Pick<Answer, 'status' | 'headers' | 'text' | 'body'>;

/** The answers that a connection gave, one after the other. */
const answersIn = (bytes: Buffer): RawAnswer[] => {
  const answers: RawAnswer[] = [];
  let rest = bytes.toString('latin1');
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    assert.ok(end > 0 && status, `not an HTTP answer: ${JSON.stringify(rest.slice(0, 80))}`);
    const headers = Object.fromEntries(
      lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const length = Number(headers['content-length'] ?? 0);
    const text = Buffer.from(rest.slice(end + 4, end + 4 + length), 'latin1').toString();
    rest = rest.slice(end + 4 + length);
    // Without a length there is no telling where a body ends, and none that is ours.
    if (headers['content-length'] === undefined && status >= 200 && status !== 204) rest = '';
    if (status >= 200)
      answers.push({ status, headers, text, body: /json/.test(headers['content-type'] ?? '') && JSON.parse(text) });
  }
  return answers;
};

const leftHanging = 'a connection was left hanging';

/**
 * Sends bytes as they are and gives back all answers. The client's end of the connection stays open until the server
 * has either answered or had three other requests' time to: one that is closed too early gets no answer at all.
 */
const raw = async ({ url, client }: TestServer, bytes: string | Buffer): Promise<RawAnswer[]> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const chunks: Buffer[] = [];
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()));
  socket.on('data', chunk => chunks.push(chunk as Buffer));
  // What came before a reset is still an answer; nothing at all is found out by the caller.
  socket.on('error', () => {});
  socket.write(bytes);
  for (let turn = 0; turn < 3 || (turn < 30 && chunks.length === 0 && socket.connecting); turn++) {
    const { status } = await client.send('GET', '/healthz');
    assert.equal(status, 200, 'the server still answers /healthz');
  }
  socket.end();
  // A guard, not a measure: a connection that is left open would keep the test for ever.
  const hanging = setTimeout(() => socket.destroy(new Error('left hanging')), 5000);
  await closed;
  clearTimeout(hanging);
  assert.notEqual(socket.errored?.message, 'left hanging', leftHanging);
  return answersIn(Buffer.concat(chunks));
};

const rawRequest = (method: string, path: string, headers: Record<string, string>, body = ''): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: bailiwick.example',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');

/** The one answer to raw bytes, which must be an error of this status. */
const refusedRaw = async (server: TestServer, bytes: string | Buffer, ...statuses: number[]): Promise<void> => {
  const answers = await raw(server, bytes);
  const where = `${JSON.stringify(bytes.toString('latin1').slice(0, 60))} answered ${answers.map(({ status }) => status)}`;
  assert.equal(answers.length, 1, where);
  for (const { status, headers, body } of answers) {
    assert.ok(statuses.includes(status), where);
    assertErrors(status, headers, body, where);
  }
};

// The state, to say that nothing was changed

const tables = sql`select name from sqlite_schema where type = 'table' order by name`;
const allOf = (table: string): Sql => ({ chunks: [`select * from ${table}`], values: [] });

const state = (store: Store): Promise<string> =>
  store.read(async tx => {
    const names = (await tx.rows<[string]>(tables)).map(([name]) => name);
    const contents = [];
    for (const name of names) contents.push([name, await tx.rows(allOf(name))]);
    return JSON.stringify(contents, null, 1);
  });

const withoutEffect = async <T>({ store }: TestServer, work: () => Promise<T>): Promise<T> => {
  const present = await state(store);
  const result = await work();
  assert.ok((await state(store)) === present, 'something was changed');
  return result;
};

describe('hostile requests', () => {
  let world: World;
  let server: TestServer;
  let routes: Route[];
  let pool: Pool;

  before(async () => {
    world = await newWorld(1);
    ({ server } = world);
    routes = await routesOf(server);
    pool = await poolOf(world, routes);
  });
  after(() => server.close());

  const writes = (): Route[] => routes.filter(({ method }) => method !== 'GET');
  const at = ({ path }: Route): string => filled(path, type => pool.get(type)?.[0] ?? 'none');

  /** Bytes as the body of a request, otherwise well made. */
  const sendBody = (actor: Actor, method: string, path: string, payload: string | Buffer, type = mediaType) =>
    server.client.send(method, path, {
      payload,
      headers: {
        ...(actor.token !== undefined && { authorization: `Bearer ${actor.token}` }),
        'content-type': type,
        'content-length': `${Buffer.byteLength(payload)}`,
      },
    });

  const refused = async (status: number, sent: Promise<Answer>, what: string): Promise<Json[]> => {
    const answer = await sent;
    assert.equal(answer.status, status, `${what} answered ${answer.status}: ${answer.text}`);
    assertErrors(answer.status, answer.headers, answer.body, what);
    return answer.body.errors;
  };

  const rightful = (route: Route): Actor => rightfulIn(world, route);

  describe('bodies', () => {
    test('a body that is not JSON is 400', async () => {
      for (const text of ['{', 'hello', '{"data":}', '{} {}', "{'data':1}", '{"data":1,}', 'NaN', '\0', '[1,]', '"\n"'])
        for (const route of writes()) {
          const sent = withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), text));
          await refused(400, sent, `${route.method} ${route.path} with ${JSON.stringify(text)}`);
        }
    });

    test('a body that is not JSON is told so without the name of another media type', async () => {
      const [error] = await refused(400, sendBody(world.owner, 'POST', '/api/v2/team-projects', '{'), '{');
      assert.match(error.detail, /JSON/);
      assert.doesNotMatch(error.detail, /application\/json/);
    });

    test('an empty body is 422 where one is required', async () => {
      for (const route of writes().filter(({ schema }) => schema?.required?.includes('data')))
        for (const text of ['', '{}', 'null', '[]', '7', '"data"', '{"data":null}', '{"data":7}']) {
          const sent = withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), text));
          const errors = await refused(422, sent, `${route.method} ${route.path} with '${text}'`);
          assert.ok(['', '/data'].includes(errors[0].source.pointer), JSON.stringify(errors));
        }
    });

    test('another media type than that of JSON:API is 415', async () => {
      const wrong = [
        'application/json',
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        `${mediaType}; charset=utf-8`,
        `${mediaType}; ext="x"`,
        `${mediaType};ext=x;profile="x"`,
        'application/vnd.api',
        'application/vnd.api+jsonx',
        '*/*',
        'nonsense',
        ';;=',
        '',
      ];
      for (const type of wrong)
        for (const route of writes())
          await refused(
            415,
            withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), '{}', type)),
            `${route.method} ${route.path} of type '${type}'`,
          );
    });

    const profiles = ['profile="x"', 'profile="http://example.com/a http://example.com/b"', 'PROFILE=x'];
    const oddProfiles = ['profile="http://example.com/a;b"', 'profile="a; ext=b"'];

    for (const [promise, accepted] of [
      ['a profile is accepted with the media type', profiles],
      ['a profile is accepted with a semicolon in its address', oddProfiles],
    ] as const)
      test(promise, async () => {
        for (const profile of accepted) {
          const path = `/api/v2/team-projects/${world.grant}`;
          const body = '{"data":{"attributes":{"access":"write"}}}';
          const answer = await sendBody(world.owner, 'PATCH', path, body, `${mediaType}; ${profile}`);
          assert.equal(answer.status, 200, `${profile}: ${answer.text}`);
        }
      });

    test('a body of 64 KiB is read, and one of a byte more is 413', async () => {
      for (const route of writes().filter(({ schema }) => schema?.required?.includes('data'))) {
        const padded = (size: number) => `{"x":"${'x'.repeat(size - 8)}"}`;
        const what = `${route.method} ${route.path}`;
        const send = (size: number) =>
          withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), padded(size)));
        await refused(422, send(64 * 1024), what);
        await refused(413, send(64 * 1024 + 1), what);
        await refused(413, send(1024 * 1024), what);
      }
    });

    test('a body over 64 KiB is 413 also when its length is not told', async () => {
      const headers = { authorization: `Bearer ${world.owner.token}`, 'content-type': mediaType };
      const sent = withoutEffect(server, () =>
        server.client.send('POST', '/api/v2/team-projects', {
          headers: { ...headers, 'transfer-encoding': 'chunked' },
          payload: 'x'.repeat(80_000),
        }),
      );
      await refused(413, sent, 'POST in chunks');
    });

    test('JSON of any depth is refused or without effect', async () => {
      const nested = (open: string, close: string, depth: number, inner = '') =>
        open.repeat(depth) + inner + close.repeat(depth);
      const deep = [
        nested('[', ']', 30_000),
        `{"data":${nested('[', ']', 30_000)}}`,
        nested('{"data":', '}', 7_000, '1'),
        `{"data":{"type":"team-projects","attributes":${nested('{"a":', '}', 10_000, '1')}}}`,
        `{"data":{"relationships":{"project":{"data":{"id":${nested('[', ']', 30_000)}}}}}}`,
      ];
      for (const body of deep)
        for (const route of writes().filter(({ schema }) => schema?.required?.includes('data'))) {
          const answer = await sendBody(rightful(route), route.method, at(route), body);
          if (answer.status === 200) server.client.conforms(route.method, at(route), answer);
          else await refused(422, Promise.resolve(answer), `${route.method} ${route.path}`);
        }
    });

    test('keys that would poison a prototype are refused or without effect', async () => {
      const poisons = [
        '"__proto__":{"access":"admin","isAdmin":true,"polluted":true}',
        '"__proto__":null',
        '"\\u005f_proto__":{"polluted":true}',
        '"\\u005F\\u005Fproto\\u005f\\u005f" : {"polluted":true}',
        '"constructor":{"prototype":{"polluted":true}}',
        '"constr\\u0075ctor":{"prototype":{"polluted":true}}',
        '"prototype":{"polluted":true}',
        '"constructor":"x"',
        '"toString":7,"valueOf":null,"hasOwnProperty":1',
      ];
      const path = `/api/v2/team-projects/${world.grant}`;
      const shown = (await world.owner.get(`/team-projects/${world.grant}`)).text;
      for (const poison of poisons)
        for (const body of [
          `{${poison},"data":{}}`,
          `{"data":{${poison}}}`,
          `{"data":{"attributes":{${poison}}}}`,
          `{"data":{"attributes":{"access":"write","project-access":{${poison}}}}}`,
          `{"data":{"attributes":{"workspace-access":{${poison}}}}}`,
        ]) {
          const answer = await sendBody(world.owner, 'PATCH', path, body);
          assert.ok([200, 400, 422].includes(answer.status), `${body} answered ${answer.status}`);
          server.client.conforms('PATCH', path, answer);
          assert.equal((await world.owner.get(`/team-projects/${world.grant}`)).text, shown, body);
          assert.equal(({} as Json).polluted, undefined, 'a prototype was poisoned');
        }
    });

    test('a poisoned key is refused with its own reason, not as text that is not JSON', async () => {
      const body = '{"data":{"__proto__":{"x":1}}}';
      const sent = sendBody(world.owner, 'PATCH', `/api/v2/team-projects/${world.grant}`, body);
      const [error] = await refused(400, sent, body);
      assert.doesNotMatch(error.detail, /not (valid )?JSON/);
    });

    test('NUL and lone surrogates in a string or a key are 400, and say so', async () => {
      const texts = ['\\u0000', 'a\\u0000b', '\\ud800', '\\uDFFF', '\\udc00\\ud800', 'a\\uD83Db'];
      for (const text of texts)
        for (const body of [
          `{"data":{"type":"projects","attributes":{"name":"x${text}x"}}}`,
          `{"data":{"type":"projects","attributes":{"name":"fine","description":"${text}"}}}`,
          `{"data":{"type":"projects","attributes":{"name":"fine","${text}":1}}}`,
          `{"data":{"type":"projects","attributes":{"name":"fine"}},"elsewhere":[[{"a":"${text}"}]]}`,
        ]) {
          const path = '/api/v2/organizations/acme/projects';
          const sent = withoutEffect(server, () => sendBody(world.owner, 'POST', path, body));
          const [error] = await refused(400, sent, body);
          assert.match(error.detail, /NUL|surrogate/, 'a clear error');
        }
    });

    test('a whole surrogate pair, written as escapes, is accepted', async () => {
      const answer = await sendBody(
        world.owner,
        'POST',
        '/api/v2/organizations/acme/projects',
        '{"data":{"type":"projects","attributes":{"name":"emoji","description":"\\ud83d\\ude00"}}}',
      );
      assert.equal(answer.body?.data?.attributes.description, '😀', answer.text);
    });

    test('broken UTF-8 is 400', async () => {
      const broken = [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]];
      for (const bytes of broken) {
        const [head, tail] = ['{"data":{"type":"projects","attributes":{"name":"fine","description":"', '"}}}'];
        const body = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]);
        const path = '/api/v2/organizations/acme/projects';
        const sent = withoutEffect(server, () => sendBody(world.owner, 'POST', path, body));
        const [error] = await refused(400, sent, body.toString('latin1'));
        assert.match(error.detail, /UTF-8/);
      }
    });

    test('numbers of any size where text or a flag belongs are 422', async () => {
      for (const number of ['0', '1', '-1', '1e999', '-1e999', '9007199254740993', '1e-400', `${'9'.repeat(400)}`])
        for (const attribute of [`"access":${number}`, `"access":"custom","workspace-access":{"create":${number}}`]) {
          const path = `/api/v2/team-projects/${world.grant}`;
          const body = `{"data":{"attributes":{${attribute}}}}`;
          await refused(
            422,
            withoutEffect(server, () => sendBody(world.owner, 'PATCH', path, body)),
            body,
          );
        }
    });

    test('attributes that are a list, null, a string or a number are 422 with a pointer', async () => {
      for (const route of writes().filter(({ schema }) => schema?.properties?.data?.properties?.attributes))
        for (const attributes of [[], [{ access: 'read' }], null, 'x', 7, true]) {
          const { type } = route.schema.properties.data.properties;
          const data = { ...(type && { type: type.const }), attributes };
          const relationships = { relationships: grantBody(world.project, world.team, {}).relationships };
          const body = JSON.stringify({
            data: route.path === '/api/v2/team-projects' ? { ...data, ...relationships } : data,
          });
          const sent = withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), body));
          const errors = await refused(422, sent, `${route.method} ${route.path} with ${body}`);
          assert.ok(
            errors.some(error => error.source.pointer === '/data/attributes'),
            JSON.stringify(errors),
          );
        }
    });

    test('groups of permissions that are no objects, unknown levels and values outside a chain are 422 with a pointer', async () => {
      const wrong: [Json, string][] = [
        ...['plan', 'owner', 'READ', 'read ', '', 'none', '__proto__', 'constructor', null, [], {}, 1, true].map(
          (access): [Json, string] => [{ access }, 'access'],
        ),
        ...['project-access', 'workspace-access'].flatMap(group =>
          [[], null, 'x', 7, true].map((value): [Json, string] => [{ access: 'custom', [group]: value }, group]),
        ),
        ...Object.entries({
          'project-access/settings': ['none', 'write', '', 'READ', true, null],
          'project-access/teams': ['update', 'admin', false, null],
          'workspace-access/runs': ['none', 'write', 'toString', null],
          'workspace-access/sentinel-mocks': ['write', true],
          'workspace-access/state-versions': ['outputs', 'admin'],
          'workspace-access/variables': ['manage', 0],
          'workspace-access/create': ['true', 1, null, []],
          'workspace-access/locking': ['false', 0],
          'workspace-access/delete': ['', {}],
          'workspace-access/move': ['none'],
          'workspace-access/run-tasks': [[]],
        }).flatMap(([place, values]) =>
          values.map((value): [Json, string] => {
            const [group = '', key = ''] = place.split('/');
            return [{ access: 'custom', [group]: { [key]: value } }, place];
          }),
        ),
      ];
      for (const [attributes, place] of wrong)
        for (const [method, path, data] of [
          ['POST', '/api/v2/team-projects', grantBody(world.project, world.team, attributes)],
          ['PATCH', `/api/v2/team-projects/${world.grant}`, { attributes }],
        ] as const) {
          const body = JSON.stringify({ data });
          const errors = await refused(
            422,
            withoutEffect(server, () => sendBody(world.owner, method, path, body)),
            body,
          );
          assert.ok(
            errors.some(error => error.source.pointer === `/data/attributes/${place}`),
            `${body}: ${JSON.stringify(errors)}`,
          );
        }
    });

    test('missing keys are 422, each with a pointer', async () => {
      const whole = grantBody(world.project, world.team, { access: 'read' });
      const without: [string, Json][] = [
        ['/data/type', { ...whole, type: undefined }],
        ['/data/attributes', { ...whole, attributes: undefined }],
        ['/data/attributes/access', { ...whole, attributes: {} }],
        ['/data/relationships/team', { ...whole, relationships: { project: whole.relationships.project } }],
        ['/data/relationships/project', { ...whole, relationships: { team: whole.relationships.team } }],
        ['/data/relationships', { ...whole, relationships: undefined }],
      ];
      for (const [pointer, data] of without) {
        const sent = withoutEffect(server, () => world.owner.post('/team-projects', data));
        const errors = await refused(422, sent, pointer);
        assert.ok(
          errors.some(error => error.source.pointer === pointer),
          `${pointer}: ${JSON.stringify(errors)}`,
        );
      }
    });

    test('a team and a project of different organizations are 404, even to the owner of both', async () => {
      for (const [project, team] of [
        [world.project, world.foreignTeam],
        [world.foreignProject, world.team],
      ] as const) {
        const data = grantBody(project, team, { access: 'read' });
        const sent = withoutEffect(server, () => world.owner.post('/team-projects', data));
        const [error] = await refused(404, sent, 'POST team-projects');
        assert.equal(error.source.pointer, '/data/relationships/team');
      }
    });

    test('a body on a GET changes nothing of its answer', async () => {
      const path = `/api/v2/team-projects/${world.grant}`;
      const { text } = await world.owner.get(`/team-projects/${world.grant}`);
      for (const body of ['{', '{"data":{"attributes":{"access":"admin"}}}', 'x'.repeat(70_000)])
        assert.equal((await sendBody(world.owner, 'GET', path, body, 'text/plain')).text, text);
    });
  });

  describe('headers and addresses', () => {
    test('a header over the limit is 431', async () => {
      for (const headers of [{ 'x-long': 'x'.repeat(20_000) }, { authorization: `Bearer ${'x'.repeat(20_000)}` }])
        await refused(431, server.client.send('GET', '/healthz', { headers }), 'a long header');
      const many = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`x-${index}`, 'some text']));
      await refused(431, server.client.send('GET', '/healthz', { headers: many }), 'many headers');
    });

    test('an address that is too long is 431 or 414', async () => {
      for (const path of [
        `/healthz?${'x'.repeat(20_000)}`,
        `/${'x'.repeat(20_000)}`,
        `/api/v2/team-projects?filter[project][id]=${'x'.repeat(20_000)}`,
      ]) {
        const { status, headers, body } = await server.client.send('GET', path);
        assert.ok([414, 431].includes(status), `${path.slice(0, 50)} answered ${status}`);
        assertErrors(status, headers, body, path.slice(0, 50));
      }
    });

    test('an id is opaque however long: unknown is 404, unless the address is too long as a whole', async () => {
      for (const length of [100, 1000, 1025, 2000, 8000])
        for (const { path } of routes.filter(({ method, path }) => method === 'GET' && path.endsWith('{id}'))) {
          const address = filled(path, () => 'x'.repeat(length));
          const { status, headers, body } = await server.client.send('GET', address, {
            headers: { authorization: `Bearer ${world.owner.token}` },
          });
          assert.ok([404, 414, 431].includes(status), `${path} with ${length} characters answered ${status}`);
          assertErrors(status, headers, body, path);
        }
    });

    const malformedIds = ['%', '%z', '%zz', '%E0%A4%A', '%ff', '%c3', '%80'];
    const getMalformed = (id: string) =>
      server.client.send('GET', `/api/v2/teams/${id}`, { headers: { authorization: `Bearer ${world.owner.token}` } });

    test('malformed percent-encoding in a path is 400', async () => {
      for (const id of malformedIds) await refused(400, getMalformed(id), id);
    });

    test('malformed percent-encoding in a path has a request id in its answer, like everything else', async () => {
      for (const id of malformedIds) server.client.conforms('GET', `/api/v2/teams/${id}`, await getMalformed(id));
    });

    test('malformed percent-encoding in a query is 400 for a number, and no id that exists', async () => {
      const list = '/team-projects?filter[project][id]=';
      for (const text of ['%', '%zz', '%E0%A4%A', '%ff', '%00', '%F0%9F%98%80']) {
        await refused(404, world.owner.get(`${list}${text}`), text);
        const page = world.owner.get(`${list}${world.project}&page[number]=${text}`);
        assert.deepEqual((await refused(400, page, text))[0].source, { parameter: 'page[number]' });
        const none = await world.owner.get(`${list}${world.project}&filter[team][id]=${text}`);
        assert.deepEqual([none.status, none.body.data], [200, []]);
      }
    });

    test('NUL and separators in a path are 404', async () => {
      for (const id of [
        '%00',
        'a%00b',
        '%2F',
        '..%2F..',
        '%2e%2e',
        '%0d%0a',
        '%F0%9F%98%80',
        "'%20or%201=1--",
        '*',
        '%5C',
      ])
        await refused(404, world.owner.get(`/teams/${id}`), id);
    });

    test('a page number that is no whole number from 1 to 2^53 - 1 is 400, and names the parameter', async () => {
      const wrong = [
        '0',
        '-1',
        '1.5',
        '1e3',
        '+1',
        '0x10',
        'NaN',
        'Infinity',
        '',
        ' 1',
        '1 ',
        '١',
        '1,000',
        '1_0',
        'null',
      ];
      const huge = ['9007199254740992', '9007199254740993', '18446744073709551616', '9'.repeat(400)];
      const filter = `filter[project][id]=${world.project}`;
      for (const number of [...wrong, ...huge]) {
        const sent = world.owner.get(`/team-projects?${filter}&page[number]=${encodeURIComponent(number)}`);
        assert.deepEqual((await refused(400, sent, number))[0].source, { parameter: 'page[number]' });
      }
      const largest = await world.owner.get(`/team-projects?${filter}&page[number]=9007199254740991&page[size]=100`);
      assert.deepEqual([largest.status, largest.body.data], [200, []]);
    });

    test('a page size that is no whole number from 1 is 400, and a huge one counts as 100', async () => {
      const filter = `filter[project][id]=${world.project}`;
      for (const size of ['0', '-1', '1.5', '1e3', 'x', '']) {
        const sent = world.owner.get(`/team-projects?${filter}&page[size]=${size}`);
        assert.deepEqual((await refused(400, sent, size))[0].source, { parameter: 'page[size]' });
      }
      for (const size of ['101', '9007199254740993', '9'.repeat(400)]) {
        const { body } = await world.owner.get(`/team-projects?${filter}&page[size]=${size}`);
        assert.equal(body.meta.pagination['page-size'], 100);
      }
    });

    test('a query parameter given twice is 400, and is named', async () => {
      for (const route of routes)
        for (const { name } of route.parameters.filter(parameter => parameter.in === 'query')) {
          const filter = route.path.endsWith('/team-projects') ? `filter[project][id]=${world.project}&` : '';
          for (const [first, second] of [
            [name, name],
            [name, name.replaceAll('[', '%5B').replaceAll(']', '%5D')],
          ]) {
            const path = `${at(route)}?${filter}${first}=1&${second}=1`;
            const sent = server.client.call(rightful(route).token, 'GET', path);
            const [error] = await refused(400, sent, path);
            assert.deepEqual(error.source, { parameter: name }, path);
          }
        }
    });

    test('a path that is not known is 404 to every method', async () => {
      for (const path of [
        '/',
        '/api',
        '/api/v2',
        '/api/v2/',
        '/api/v2/nope',
        '/healthz/',
        '//healthz',
        '/api/v1/teams',
        '/.env',
      ])
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
          const answer = await server.client.send(method, path);
          assert.equal(answer.status, 404, `${method} ${path} answered ${answer.status}`);
          server.client.conforms(method === 'HEAD' ? 'GET' : method, path, {
            ...answer,
            ...(method === 'HEAD' && { body: { errors: [{ status: '404', title: '' }] } }),
          });
        }
    });

    const badBodies = [
      ['{', mediaType],
      ['x', 'text/plain'],
      ['x', ';;='],
      ['x'.repeat(70_000), mediaType],
    ] as const;

    test('a path that is not known is 404 whatever the body: nothing reads it', async () => {
      for (const [body, type] of badBodies)
        await refused(404, sendBody(world.owner, 'POST', '/api/v2/nope', body, type), `${body.slice(0, 9)} of ${type}`);
    });

    test('a known path with another method is 405 whatever the body: nothing reads it', async () => {
      for (const [body, type] of badBodies)
        for (const path of ['/healthz', '/api/v2/team-projects'])
          await refused(405, sendBody(world.owner, 'PUT', path, body, type), `${path}, ${body.slice(0, 9)} of ${type}`);
    });

    test('a known path is 405 also to QUERY, which wants a media type', async () => {
      await refused(405, server.client.send('QUERY', '/api/v2/team-projects'), 'QUERY');
    });

    test('a known path with another method is 405 with Allow', async () => {
      const methods = 'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND SEARCH LOCK PURGE LINK M-SEARCH'.split(
        ' ',
      );
      for (const path of new Set(routes.map(route => route.path))) {
        const there = routes.filter(route => route.path === path).map(({ method }) => method);
        const allowed = there.includes('GET') ? ['HEAD', ...there] : there;
        const address = filled(path, type => pool.get(type)?.[0] ?? 'none');
        for (const method of methods.filter(method => !allowed.includes(method))) {
          const answer = await server.client.send(method, `${address}?x=1`);
          assert.equal(answer.status, 405, `${method} ${path} answered ${answer.status}: ${answer.text}`);
          assert.deepEqual(answer.headers.allow?.split(', ').toSorted(), allowed.toSorted(), `${method} ${path}`);
          if (method !== 'HEAD') server.client.conforms(method, address, answer);
        }
      }
    });

    test('a known path is 405, not 404, in every spelling of it that is served', async () => {
      for (const target of ['/api/v2/team%2Dprojects', 'http://bailiwick.example/api/v2/team-projects'])
        await refusedRaw(server, rawRequest('PUT', target, { Connection: 'close' }), 405);
    });

    test('HEAD answers as GET does, without the body', async () => {
      for (const route of routes.filter(({ method }) => method === 'GET')) {
        const query = route.path.endsWith('/team-projects') ? `?filter[project][id]=${world.project}` : '';
        const headers = { authorization: `Bearer ${rightful(route).token}`, 'x-request-id': 'same' };
        const [get, head] = await Promise.all([
          server.client.send('GET', at(route) + query, { headers }),
          server.client.send('HEAD', at(route) + query, { headers }),
        ]);
        assert.deepEqual([head.status, head.text], [get.status, ''], route.path);
        assert.deepEqual({ ...head.headers, date: '' }, { ...get.headers, date: '' }, route.path);
      }
    });

    test('odd headers change nothing of an answer', async () => {
      const authorization = `Bearer ${world.owner.token}`;
      const path = `/api/v2/team-projects?filter[project][id]=${world.project}`;
      const { text } = await server.client.send('GET', path, { headers: { authorization } });
      for (const headers of [
        { host: 'evil.example' },
        { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher', forwarded: 'host=evil.example' },
        { 'x-http-method-override': 'DELETE', 'x-original-url': '/api/v2/admin/users' },
        { 'x-request-id': 'a b\tc' },
        { 'x-request-id': 'x'.repeat(5000) },
        { accept: 'text/html', 'accept-version': '9', 'accept-encoding': 'x' },
        { upgrade: 'websocket', connection: 'Upgrade' },
        { 'content-type': 'nonsense' },
        { cookie: `token=${world.admin.token}` },
        { 'if-match': '"x"', 'if-none-match': '*', range: 'bytes=0-1' },
      ] as Record<string, string>[]) {
        const answer = await server.client.send('GET', path, { headers: { authorization, ...headers } });
        assert.equal(answer.text, text, JSON.stringify(headers).slice(0, 80));
        assert.match(answer.headers['x-request-id'] as string, /^[\w.:-]{1,128}$/);
      }
    });
  });

  describe('tokens', () => {
    test('no, malformed, unknown, mistyped, expired and revoked tokens get one and the same 401', async () => {
      const random = seeded(7);
      const bytes = (count: number) => Uint8Array.from({ length: count }, () => Math.floor(random() * 256));
      const valid = world.owner.token as string;
      const last = valid.at(-1) === 'x' ? 'y' : 'x';
      const { id } = (await world.owner.get('/account/details')).body.data;
      const revoked = await world.owner.make(`/users/${id}/authentication-tokens`);
      assert.equal((await world.owner.delete(`/authentication-tokens/${revoked.id}`)).status, 204);
      // The clock of a test server goes on by a millisecond each time that it is read.
      const soon = new Date(Date.parse(revoked.attributes['created-at']) + 100).toISOString();
      const expiring = await world.owner.make(`/users/${id}/authentication-tokens`, {
        attributes: { 'expired-at': soon },
      });
      const using = world.directory.actor(expiring.attributes.token);
      assert.equal((await using.get('/account/details')).status, 200);
      for (let reading = 0; reading < 100; reading++) await world.owner.get('/account/details');

      const headers = [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        'Bearer  ',
        'Basic YWRtaW46YWRtaW4=',
        `Token ${valid}`,
        `Bearer${valid}`,
        `Bearer ${valid} x`,
        `Bearer ${valid},`,
        `Bearer x ${valid}`,
        valid,
        'Bearer x',
        'Bearer \xe9\xff',
        `Bearer ${'x'.repeat(10_000)}`,
        "Bearer ' or 1=1 --",
        `Bearer ${newToken(bytes)}`,
        `Bearer ${valid.slice(0, -1)}${last}`,
        `Bearer ${valid.slice(0, 14)}.atlasv1.${randomText(bytes, 'abc', 67)}`,
        `Bearer ${valid.toLowerCase()}`,
        `Bearer ${revoked.attributes.token}`,
        `Bearer ${expiring.attributes.token}`,
      ];
      const texts = new Set<string>();
      const told = new Set<string>();
      for (const authorization of headers)
        for (const route of routes.filter(({ path }) => path.startsWith('/api/v2/'))) {
          const sent = await server.client.send(route.method, at(route), {
            headers: { ...(authorization !== undefined && { authorization }), 'x-request-id': 'same' },
          });
          assert.equal(sent.status, 401, `${route.method} ${route.path} with '${authorization}'`);
          server.client.conforms(route.method, at(route), sent);
          texts.add(sent.text);
          told.add(JSON.stringify({ ...sent.headers, date: '' }));
        }
      assert.equal(texts.size, 1, 'one body for all');
      assert.equal(told.size, 1, 'the same headers for all');
    });

    test('whatever is wrong with a body, without a token it is 401', async () => {
      for (const route of writes())
        for (const [body, type] of [
          ['{', mediaType],
          ['x', 'text/plain'],
          ['x'.repeat(70_000), mediaType],
          ['{"data":{"__proto__":1}}', mediaType],
        ] as const) {
          const sent = sendBody(world.directory.actor(undefined), route.method, at(route), body, type);
          await refused(401, sent, `${route.method} ${route.path}`);
        }
    });
  });

  describe('callers without permission', () => {
    const malformed = [
      {},
      { data: {} },
      { data: [] },
      { data: { type: 7, attributes: [] } },
      { data: { type: 'nonsense', id: 'other', attributes: { access: 'nonsense', name: 7, email: null } } },
      { data: [{ type: 7 }] },
    ];

    test('POST team-projects: a malformed body is 404, not 422', async () => {
      const { project, team } = grantBody(world.project, world.team, {}).relationships;
      const naming = [
        { relationships: { project } },
        { relationships: { project, team } },
        { relationships: { project: { data: [{ id: world.project }] }, team } },
        { type: 'nonsense', attributes: 7, relationships: { project, team: 'x' } },
        { type: 'team-projects', attributes: { access: 'nonsense' }, relationships: { project, team } },
        { type: 'team-projects', relationships: { project: { data: { id: world.project } }, team } },
      ];
      for (const actor of [world.member, world.outsider, world.admin])
        for (const body of [...malformed, ...naming.map(data => ({ data }))]) {
          const sent = withoutEffect(server, () =>
            server.client.call(actor.token, 'POST', '/api/v2/team-projects', body),
          );
          await refused(404, sent, JSON.stringify(body));
        }
    });

    test('PATCH team-projects: a malformed body is 404, not 422', async () => {
      for (const actor of [world.member, world.outsider, world.admin])
        for (const body of malformed)
          await refused(
            404,
            withoutEffect(server, () =>
              server.client.call(actor.token, 'PATCH', `/api/v2/team-projects/${world.grant}`, body),
            ),
            JSON.stringify(body),
          );
    });

    test('every other write: a malformed body is 404, not 422', async () => {
      const others = writes().filter(({ path }) => path !== '/api/v2/team-projects');
      assert.ok(others.length > 20);
      for (const route of others)
        for (const body of malformed) {
          // Any user may found an organization: there, those without permission are no users.
          const actor = route.path === '/api/v2/organizations' ? world.organizationToken : world.outsider;
          const sent = withoutEffect(server, () => server.client.call(actor.token, route.method, at(route), body));
          await refused(404, sent, `${route.method} ${route.path} with ${JSON.stringify(body)}`);
        }
    });
  });

  describe('what a request may not set', () => {
    const assigned = {
      id: 'chosen-id',
      'external-id': 'org-chosen',
      organization: 'rival',
      'organization-id': 'rival',
      organization_id: 'rival',
      owner: true,
      owners: true,
      'is-owner': true,
      isAdmin: true,
      is_admin: 1,
      admin: true,
      role: 'owner',
      'created-at': '1999-01-01T00:00:00.000Z',
      createdAt: '1999-01-01T00:00:00.000Z',
      'is-default': true,
      'users-count': 99,
      permissions: { 'can-update': true, 'can-destroy': true },
      slot: 'single',
      hash: 'x',
      lookup: 'x',
    };
    const elsewhere = () => ({
      organization: { data: { type: 'organizations', id: 'rival' } },
      project: { data: { type: 'projects', id: world.foreignProject } },
      team: { data: { type: 'teams', id: world.foreignTeam } },
      users: { data: [{ type: 'users', id: 'otto' }] },
      'created-by': { data: { type: 'users', id: [...world.callers][0] } },
    });

    test('PATCH: attributes and relationships that are not its own to set have no effect', async () => {
      const patches = routes.filter(({ method }) => method === 'PATCH');
      assert.ok(patches.length >= 5);
      for (const route of patches) {
        const actor = rightful(route);
        const before = await server.client.call(actor.token, 'GET', at(route));
        const data = { attributes: assigned, relationships: elsewhere(), links: { self: 'x' }, meta: assigned };
        const answer = await server.client.call(actor.token, 'PATCH', at(route), {
          data,
          included: [data],
          ...assigned,
        });
        assert.equal(answer.status, 200, `${route.path}: ${answer.text}`);
        const after = await server.client.call(actor.token, 'GET', at(route));
        assert.equal(after.text, before.text, route.path);
      }
    });

    test('POST: the id, the times and the owner are not the client’s to choose', async () => {
      const made: [Actor, string, Json][] = [
        [
          world.owner,
          '/organizations',
          { type: 'organizations', attributes: { name: 'mass', email: 'mass@example.com' } },
        ],
        [world.owner, '/organizations/acme/projects', { type: 'projects', attributes: { name: 'mass' } }],
        [world.owner, '/organizations/acme/teams', { type: 'teams', attributes: { name: 'mass' } }],
        [world.admin, '/admin/users', { type: 'users', attributes: { username: 'mass', email: 'mass@example.com' } }],
        [world.owner, '/organizations/acme/authentication-token', { type: 'authentication-tokens', attributes: {} }],
        [
          world.owner,
          '/organizations/acme/organization-memberships',
          {
            type: 'organization-memberships',
            attributes: { email: 'guest@example.com', 'is-admin': true, status: 'active' },
          },
        ],
      ];
      for (const [actor, path, data] of made) {
        const attributes = { ...assigned, ...data.attributes, token: 'chosen-token-chosen-token' };
        const sent = { ...data, id: 'chosen-id', attributes, relationships: elsewhere() };
        const resource = await actor.make(path, sent);
        assert.notEqual(resource.id, 'chosen-id', path);
        assert.doesNotMatch(JSON.stringify(resource), /chosen|1999|rival|otto/, path);
        assert.notEqual(resource.attributes['is-admin'], true, path);
        assert.notEqual(resource.attributes.status, 'active', path);
      }
    });

    test('is-admin is set by site admins only, also for whoever was invited with it', async () => {
      const attributes = { username: 'guest', email: 'guest@example.com' };
      const guest = await world.admin.make('/admin/users', { type: 'users', attributes });
      assert.equal(guest.attributes['is-admin'], false);
      const otto = (await world.outsider.get('/account/details')).body.data;
      const wish = { type: 'users', attributes: { 'is-admin': true } };
      for (const path of [`/users/${otto.id}`, '/account/details', '/account/update', `/admin/users/${otto.id}`]) {
        const { status } = await world.outsider.patch(path, wish);
        assert.ok([404, 405].includes(status), `PATCH ${path} answered ${status}`);
      }
      assert.equal((await world.outsider.get('/account/details')).body.data.attributes['is-admin'], false);
    });

    test('PATCH: another data.id or data.type than the path’s is 422 with a pointer', async () => {
      for (const route of routes.filter(({ method }) => method === 'PATCH'))
        for (const [data, pointer] of [
          [{ id: 'other' }, '/data/id'],
          [{ id: '__proto__' }, '/data/id'],
          [{ id: 7 }, '/data/id'],
          [{ id: null }, '/data/id'],
          [{ id: ['x'] }, '/data/id'],
          [{ type: 'other' }, '/data/type'],
          [{ type: null }, '/data/type'],
        ] as const) {
          const actor = rightful(route);
          const sent = withoutEffect(server, () => server.client.call(actor.token, 'PATCH', at(route), { data }));
          const errors = await refused(422, sent, `${route.path} with ${JSON.stringify(data)}`);
          assert.deepEqual(
            errors.map(error => error.source.pointer),
            [pointer],
          );
        }
    });

    test('PATCH: the path’s own data.id is accepted', async () => {
      for (const route of routes.filter(({ method }) => method === 'PATCH')) {
        const actor = rightful(route);
        const { body } = await server.client.call(actor.token, 'GET', at(route));
        const { id, type } = body.data;
        const answer = await server.client.call(actor.token, 'PATCH', at(route), {
          data: { id, type, attributes: {} },
        });
        assert.equal(answer.status, 200, `${route.path}: ${answer.text}`);
      }
    });
  });

  describe('what is left behind', () => {
    test('DELETE organizations: whoever was only invited to it is gone with it, and the e-mail is free', async () => {
      const attributes = { name: 'brief', email: 'brief@example.com' };
      await world.owner.make('/organizations', { type: 'organizations', attributes });
      await world.owner.make('/organizations/brief/organization-memberships', {
        type: 'organization-memberships',
        attributes: { email: 'ghost@example.com' },
      });
      assert.equal((await world.owner.delete('/organizations/brief')).status, 204);
      const ghosts = sql`select id from users where email = 'ghost@example.com'`;
      assert.deepEqual(await server.store.read(tx => tx.rows(ghosts)), []);
    });
  });

  describe('raw bytes', () => {
    const bearer = () => ({ Authorization: `Bearer ${world.owner.token}`, 'Content-Type': mediaType });

    test('what is not HTTP is 400 as a JSON:API error', async () => {
      for (const bytes of [
        'hello\r\n\r\n',
        '\0\0\0\0',
        Buffer.from('16030100f5010000f10303', 'hex'),
        Buffer.from([0xff, 0xfe, 0xfd]),
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        'GET /healthz HTTP/9.9\r\n\r\n',
        'FROB /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
        'get /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET /h\xe9althz HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost: x\r\nx: a\0b\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost',
      ])
        await refusedRaw(server, bytes, 400);
    });

    test('what never becomes a request has a request id in its answer, like everything else', async () => {
      for (const bytes of ['hello\r\n\r\n', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`])
        for (const { status, headers } of await raw(server, bytes))
          assert.match(`${headers['x-request-id'] ?? ''}`, /^[\w.:-]{1,128}$/, `${status} without a request id`);
    });

    test('a request without a Host header is 400 as a JSON:API error', () =>
      refusedRaw(server, 'GET /healthz HTTP/1.1\r\n\r\n', 400));

    test('an expectation that nobody knows is 417, or ignored, as JSON:API', () =>
      refusedRaw(
        server,
        rawRequest('GET', '/api/v2/team-projects/none', { ...bearer(), Expect: 'nonsense', Connection: 'close' }),
        404,
        417,
      ));

    test('CONNECT, which asks for a tunnel, is refused as JSON:API, and not by silence', () =>
      refusedRaw(server, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', 400, 404, 405));

    test('lengths that contradict each other are 400, so that no request hides in another', async () => {
      const post = (...headers: string[]) => [
        'POST /api/v2/organizations HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${world.owner.token}`,
        ...headers,
      ];
      for (const head of [
        post('Content-Length: 2', 'Transfer-Encoding: chunked'),
        post('Content-Length: 2', 'Content-Length: 3'),
        post('Content-Length: -1'),
        post('Content-Length: 2x'),
        post('Transfer-Encoding: gzip'),
        post('Transfer-Encoding: chunked, gzip'),
        post(`Content-Type: ${mediaType}`, 'Transfer-Encoding: chunked', '', 'zz'),
      ])
        await withoutEffect(server, () => refusedRaw(server, `${head.join('\r\n')}\r\n\r\n{}`, 400));
    });

    test('a body that breaks off in the middle has no effect', async () => {
      const body = '{"data":{"type":"projects","attributes":{"name":"broken off"}}}';
      const path = '/api/v2/organizations/acme/projects';
      for (const headers of [
        { ...bearer(), 'Content-Length': `${body.length + 10}` },
        { ...bearer(), 'Transfer-Encoding': 'chunked' },
      ] as Record<string, string>[]) {
        const sent = 'Content-Length' in headers ? body : `${body.length.toString(16)}\r\n${body}\r\n`;
        await withoutEffect(server, () => refusedRaw(server, rawRequest('POST', path, headers, sent), 400));
      }
    });

    test('a write whose caller is gone before the answer is done with its audit row, or not at all', async () => {
      const count = (table: Sql) => server.store.read(async tx => (await tx.row<[number]>(table))?.[0] ?? 0);
      const events = () => count(sql`select count(*) from audit_events`);
      const projects = () => count(sql`select count(*) from projects`);
      const present = (await projects()) - (await events());
      const port = Number(new URL(server.url).port);
      for (let index = 0; index < 50; index++) {
        const body = JSON.stringify({ data: { type: 'projects', attributes: { name: `gone-${index}` } } });
        const headers = { ...bearer(), 'Content-Length': `${body.length}` };
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        const sent = rawRequest('POST', '/api/v2/organizations/acme/projects', headers, body);
        await new Promise<void>(resolve => socket.write(sent, () => resolve()));
        if (index % 2 === 0) await server.client.send('GET', '/healthz');
        socket.destroy();
      }
      await server.client.send('GET', '/healthz');
      assert.equal((await projects()) - (await events()), present);
    });

    test('a write that is followed by garbage is answered as what it was', async () => {
      const names = () => world.owner.get('/organizations/acme/projects?page[size]=100');
      for (const garbage of ['\0garbage', 'nonsense\r\n\r\n', '{}', 'GET /healthz HTTP/9.9\r\n\r\n']) {
        const name = `garbage-${garbage.length}`;
        const body = JSON.stringify({ data: { type: 'projects', attributes: { name } } });
        const headers = { ...bearer(), 'Content-Length': `${body.length}` };
        const request = rawRequest('POST', '/api/v2/organizations/acme/projects', headers, body + garbage);
        const [first] = await raw(server, request);
        const made = (await names()).body.data.some((project: Json) => project.attributes.name === name);
        assert.equal(made, first?.status === 201, `answered ${first?.status}, and was ${made ? '' : 'not '}done`);
      }
    });
  });
});

// A fuzz: valid requests, spoiled at random

const asked = 10_000;

class Dice {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seeded(seed);
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

const oddTexts = [
  '',
  ' ',
  'a',
  'x'.repeat(91),
  'x'.repeat(300),
  'x'.repeat(9000),
  '😀'.repeat(30),
  '\u202Eevil\u202C',
  `e${'\u0301'.repeat(200)}`,
  'ﷺ',
  'İ',
  'ß',
  '\u2028',
  '\ufeff',
  '\t\r\n',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '__proto__',
  'constructor',
  'toString',
  'owners',
  'OWNERS',
  'Default Project',
  'admin',
  'custom',
  'read',
  'null',
  '0',
  '../../etc/passwd',
  "' or 1=1; drop table users; --",
  '$(id){{7*7}}%s%n',
  '<script>alert(1)</script>',
  'a@b',
  '2030-01-01T00:00:00Z',
  '9999-12-31T23:59:59-23:59',
  '0000-00-00T00:00:00Z',
];

/** Numbers as JSON text: some of them are not what they seem once parsed. */
const oddNumbers = [
  ...['0', '-0', '-1', '1.5', '1E+2', '1e999', '-1e999', '1e-400', '2147483648', '9007199254740993'],
  ...['-9223372036854775809', '18446744073709551616', '9'.repeat(400)],
];

const rawNumber = (text: string): string => `@raw ${text}@`;
const jsonText = (value: unknown): string => JSON.stringify(value).replace(/"@raw (.*?)@"/g, '$1');

const oddValue = (dice: Dice, depth = 0): Json => {
  switch (dice.below(depth > 3 ? 4 : 7)) {
    case 0:
      return dice.one(oddTexts);
    case 1:
      return rawNumber(dice.one(oddNumbers));
    case 2:
      return dice.one([null, true, false]);
    case 3:
      return dice.one([[], {}, [[]], { a: {} }, [null]]);
    case 4:
      return Array.from({ length: dice.below(4) }, () => oddValue(dice, depth + 1));
    case 5:
      return { [dice.one(oddTexts)]: oddValue(dice, depth + 1), [dice.one(oddTexts)]: oddValue(dice, depth + 1) };
    default: {
      let deep: Json = 1;
      for (let level = dice.below(500); level > 0; level--) deep = dice.chance(0.5) ? [deep] : { data: deep };
      return deep;
    }
  }
};

/** Values that a rightful request would have, by the name of the attribute. */
const rightValues: Readonly<Record<string, (count: number) => string>> = {
  name: count => `Name-${count}`,
  email: count => `e${count}@example.com`,
  username: count => `u${count}`,
  'expired-at': () => '2030-01-01T00:00:00Z',
};

class Fuzz {
  readonly world: World;
  readonly dice: Dice;
  readonly routes: readonly Route[];
  readonly writes: readonly Route[];
  readonly pool: Pool;
  readonly tokens: readonly (string | undefined)[];
  readonly spared: ReadonlySet<string>;
  readonly tally = new Map<string, number>();
  /** What went wrong, once per kind, with the first request that showed it. */
  readonly wrong = new Map<string, string>();
  sent = 0;
  written = 0;
  #made = 0;

  constructor(world: World, dice: Dice, routes: readonly Route[], pool: Pool) {
    this.world = world;
    this.dice = dice;
    this.routes = routes;
    this.writes = routes.filter(({ method }) => method !== 'GET');
    this.pool = pool;
    this.spared = new Set([...world.callers, 'acme', ...(pool.get('authentication-tokens') ?? [])]);
    const { owner, admin, projectAdmin, member, outsider, organizationToken } = world;
    this.tokens = [
      ...[owner, admin, projectAdmin, member, outsider, organizationToken].map(({ token }) => token),
      ...[undefined, 'nonsense', owner.token?.slice(0, -1)],
    ];
  }

  /** Mostly of somebody who may do it: what is refused at the door goes no further. */
  tokenFor(route: Route): string | undefined {
    return this.dice.chance(0.75) ? rightfulIn(this.world, route).token : this.dice.one(this.tokens);
  }

  /** Mostly a write, and less often the end of something than its beginning. */
  route(): Route {
    const route = this.dice.one(this.dice.chance(0.8) ? this.writes : this.routes);
    return route.method === 'DELETE' && this.dice.chance(0.6) ? this.route() : route;
  }

  /** An id of this type; the callers, their tokens and their organization are spared, or soon everything would be 401 or 404. */
  idOf(type: string, isLast: boolean): string {
    if (type === 'organizations' && !isLast && this.dice.chance(0.9)) return 'acme';
    const ids = (this.pool.get(type) ?? []).filter(id => !this.spared.has(id));
    return ids.length === 0 ? 'none' : this.dice.one(ids);
  }

  pathOf({ path }: Route): string {
    if (this.dice.chance(0.1)) return filled(path, () => this.oddId());
    return filled(path, type => this.idOf(type, path.endsWith('}')));
  }

  oddId(): string {
    const odd = ['%', '%zz', '%ff', '%00', '..', '%2e%2e', '%2F', '*', '~', ';a=b', ':id', '{id}', 'x'.repeat(1500)];
    if (this.dice.chance(0.5)) return this.dice.one(odd);
    return encodeURIComponent(this.dice.one(oddTexts).toWellFormed()) || '%20';
  }

  oddQuery(): string {
    const names = [
      'filter[project][id]',
      'filter[team][id]',
      'page[number]',
      'page[size]',
      'page',
      'include',
      '__proto__',
    ];
    const values = [
      this.world.project,
      '1',
      '0',
      '-1',
      '1e3',
      '9007199254740993',
      '%',
      '%00',
      '%zz',
      '',
      'x'.repeat(500),
    ];
    const parts = Array.from({ length: this.dice.below(5) }, () => {
      const name = this.dice.one(names);
      const spelled = this.dice.chance(0.5) ? encodeURIComponent(name) : name;
      return this.dice.chance(0.1) ? spelled : `${spelled}=${this.dice.one(values)}`;
    });
    return this.dice.one(['?', '?', '?', '?&', '??', '?#']) + parts.join(this.dice.one(['&', '&', '&', ';', '&&']));
  }

  /** A body that the schema allows. */
  bodyOf(schema: Json, key = ''): Json {
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return this.dice.one(schema.enum);
    const types: string[] = [schema.type].flat();
    if (types.includes('null') && this.dice.chance(0.2)) return null;
    if (types.includes('object')) {
      const properties = Object.entries<Json>(schema.properties ?? {});
      const kept = properties.filter(([name]) => schema.required?.includes(name) || this.dice.chance(0.3));
      const made = Object.fromEntries(kept.map(([name, inner]) => [name, this.bodyOf(inner, name)]));
      // Users are named by username, and those that tests need are not among these.
      if (made.type === 'users' && 'id' in made) made.id = this.dice.one(['sid', 'sue', `u${this.#made}`]);
      else if ('id' in made && !schema.properties?.attributes) made.id = this.idOf(made.type, true);
      return made;
    }
    if (types.includes('array')) return Array.from({ length: 1 + this.dice.below(2) }, () => this.bodyOf(schema.items));
    if (types.includes('boolean')) return this.dice.chance(0.5);
    const right = rightValues[key];
    return right ? right(this.#made++) : `text ${this.#made++}`;
  }

  /** Somewhere in a value, something else. */
  spoiled(value: Json): Json {
    if (typeof value !== 'object' || value === null || this.dice.chance(0.1)) return oddValue(this.dice);
    const keys = Object.keys(value);
    const key = this.dice.one(keys);
    const dice = this.dice.below(10);
    if (Array.isArray(value)) {
      if (dice === 0) return [...value, oddValue(this.dice)];
      return dice === 1 ? [] : value.map((inner, index) => (`${index}` === key ? this.spoiled(inner) : inner));
    }
    if (dice === 0) return { ...value, [this.dice.one(oddTexts)]: oddValue(this.dice) };
    if (dice === 1) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
    if (key === undefined) return oddValue(this.dice);
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, name === key ? this.spoiled(inner) : inner]),
    );
  }

  poisoned(text: string): string {
    const poisons = [
      '"__proto__":{"access":"admin"},',
      '"__pr\\u006fto__":null,',
      '"constructor":{"prototype":{"admin":true}},',
      '"constructor":1,',
      '"data":null,',
      '"id":"x","id":"y",',
      '"\\u0000":1,',
    ];
    const braces = [...text.matchAll(/\{(?=")/g)].map(({ index }) => index + 1);
    const place = braces.length === 0 ? 0 : this.dice.one(braces);
    return text.slice(0, place) + this.dice.one(poisons) + text.slice(place);
  }

  /** Bytes that are almost the text. */
  damaged(text: string): Buffer {
    const bytes = Buffer.from(text);
    const place = this.dice.below(bytes.length + 1);
    const [head, tail] = [bytes.subarray(0, place), bytes.subarray(place)];
    switch (this.dice.below(6)) {
      case 0:
        return head;
      case 1:
        return Buffer.concat([head, this.dice.bytes(1 + this.dice.below(4)), tail]);
      case 2:
        return Buffer.concat([head, tail.subarray(1)]);
      case 3:
        return Buffer.concat([bytes, this.dice.bytes(1 + this.dice.below(20))]);
      case 4:
        return Buffer.concat([Buffer.from('\ufeff'), bytes]);
      default:
        return Buffer.concat([bytes, Buffer.alloc(70_000, 0x20)]);
    }
  }

  payloadOf({ schema }: Route, path: string): Buffer {
    if (this.dice.chance(0.08)) return this.dice.bytes(this.dice.below(300));
    let body = schema ? this.bodyOf(schema) : { data: null };
    if (body.data?.id !== undefined) body.data.id = decodedOr(path.split('/').at(-1) ?? '');
    for (let times = this.dice.below(3); times > 0; times--) body = this.spoiled(body);
    let text = jsonText(body) ?? 'null';
    if (this.dice.chance(0.1)) text = this.poisoned(text);
    return this.dice.chance(0.1) ? this.damaged(text) : Buffer.from(text);
  }

  headersOf(method: string, token: string | undefined, payload: Buffer | undefined): Record<string, string> {
    const types = [
      'application/json',
      'text/plain',
      `${mediaType}; charset=utf-8`,
      `${mediaType};profile=x`,
      ';',
      'é',
      '',
    ];
    const odd: Record<string, string>[] = [
      { 'x-request-id': this.dice.one(['', 'a b', 'x'.repeat(2000), '\xe9', 'fine']) },
      { 'if-match': this.dice.one(['*', '"x"', 'W/"x"', ',', '', '\xff', '"x", *']) },
      { [this.dice.one(['__proto__', 'constructor', 'x-!#$%', 'content-encoding', 'te'])]: 'gzip' },
      // An answer to HEAD has no body, but what overflows is refused before it is known to be HEAD.
      { 'x-long': 'x'.repeat(method === 'HEAD' ? 2 : 20_000) },
      {
        authorization: this.dice.one(['', 'Bearer', 'Basic x', 'bearer  x', '\xff\xfe', `Bearer ${'x'.repeat(5000)}`]),
      },
      { accept: this.dice.one(['', 'text/html', `${mediaType}; ext=x`, '*/*;q=0']) },
      { host: this.dice.one(['', 'evil.example', '[::1]:0', 'a b']) },
      { expect: this.dice.one(['100-continue', '200-ok', '']) },
      { range: 'bytes=0-1', 'accept-version': '1.x' },
    ];
    return {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(payload && {
        'content-type': this.dice.chance(0.05) ? this.dice.one(types) : mediaType,
        'content-length': `${payload.length}`,
      }),
      ...(['PATCH', 'DELETE'].includes(method) && this.dice.chance(0.05) && { 'if-match': '"another"' }),
      ...(this.dice.chance(0.1) && this.dice.one(odd)),
    };
  }

  /** One request over HTTP, and all that is promised of its answer. */
  async request(route: Route): Promise<void> {
    const isOdd = this.dice.chance(0.06);
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'FROB'];
    const method = isOdd ? this.dice.one(methods) : route.method;
    const oddPaths = [
      '/',
      '//',
      '/api/v2',
      `/${this.oddId()}`,
      `/api/v2/${this.oddId()}`,
      '/healthz/..',
      '/openapi.json/',
    ];
    const base = this.dice.chance(0.03) ? this.dice.one(oddPaths) : this.pathOf(route);
    const path = base + (this.dice.chance(route.method === 'GET' ? 0.7 : 0.1) ? this.oddQuery() : '');
    const hasBody = method === 'GET' || method === 'HEAD' ? this.dice.chance(0.1) : this.dice.chance(0.95);
    const payload = hasBody && (route.schema || this.dice.chance(0.2)) ? this.payloadOf(route, base) : undefined;
    const headers = this.headersOf(method, this.tokenFor(route), payload);
    const what = () =>
      `${method} ${path.slice(0, 200)} ${JSON.stringify(headers).slice(0, 300)} ${payload?.toString('latin1').slice(0, 300) ?? ''}`;
    this.sent++;
    try {
      const answer = await this.world.server.client.send(method, path, { headers, ...(payload && { payload }) });
      this.judge(method, answer);
      // Answers to what never became a request of a documented route are judged by their form alone.
      const isPlain = method === route.method && base !== '' && !isOdd && ![414, 417, 431].includes(answer.status);
      if (isPlain && new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/?#]+')}$`).test(base))
        this.world.server.client.conforms(method, base, answer);
      if (answer.status < 300 && method === 'POST') this.learn(answer);
      if (answer.status === 204 && method === 'DELETE') this.forget(base);
    } catch (error) {
      this.complain(error as Error, what());
    }
  }

  judge(method: string, { status, headers, body, text }: RawAnswer): void {
    this.tally.set(`${status}`, (this.tally.get(`${status}`) ?? 0) + 1);
    assert.ok(status >= 200 && status < 500, `answered ${status}: ${text}`);
    if (status >= 400 && method !== 'HEAD') assertErrors(status, headers, body, `${status}`);
    if (status < 300 && !['GET', 'HEAD'].includes(method)) this.written++;
  }

  complain({ message }: Error, request: string): void {
    const kind = message.replace(/^[A-Z]+ \/\S*/, '').slice(0, 100);
    if (!this.wrong.has(kind)) this.wrong.set(kind, `${message.slice(0, 300)}\n    ${request}`);
  }

  learn({ body }: Answer): void {
    for (const { type, id } of [body?.data ?? []].flat())
      if (!this.pool.get(type)?.includes(id)) this.pool.set(type, [...(this.pool.get(type) ?? []), id]);
  }

  forget(path: string): void {
    const [type = '', id = ''] = path.split('/').slice(-2);
    const known = this.pool.get(type);
    if (known)
      this.pool.set(
        type,
        known.filter(other => other !== id),
      );
  }

  /** A request as bytes, without a right to write: what is answered with an error must not have been done. */
  rawBytes(): Buffer {
    const { dice, world } = this;
    const route = dice.one(this.routes);
    const isRead = route.method === 'GET';
    const headers: Record<string, string> = { Connection: dice.one(['close', 'keep-alive', 'upgrade', 'x']) };
    if (isRead) headers.Authorization = `Bearer ${world.owner.token}`;
    const body = isRead ? '' : jsonText(route.schema ? this.bodyOf(route.schema) : {});
    if (!isRead) Object.assign(headers, { 'Content-Type': mediaType, 'Content-Length': `${Buffer.byteLength(body)}` });
    const request = rawRequest(route.method, this.pathOf(route), headers, isRead ? '' : body).concat(
      isRead ? '\r\n' : '',
    );
    switch (dice.below(8)) {
      case 0:
      case 1:
        // Line ends alone are no request, and need no answer.
        return Buffer.concat([Buffer.from([1 + dice.below(9)]), dice.bytes(dice.below(1500))]);
      case 2:
        return Buffer.concat([Buffer.from(`${dice.one(['GET', 'POST', 'BREW'])} /`), dice.bytes(dice.below(200))]);
      case 3:
        return Buffer.from(request.slice(0, 1 + dice.below(request.length - 1)));
      case 4:
        return Buffer.from(request.replace(/Host: .*\r\n/, dice.one(['', 'Host:\r\n', 'Host: x\r\nHost: y\r\n'])));
      case 5:
        return Buffer.from(
          request.replace('HTTP/1.1', dice.one(['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'X', ''])),
        );
      case 6:
        return Buffer.from(
          request.replace('Host:', `${dice.one(['Expect: x', 'X:\0', 'X', ': x', ' x: y', 'é: x'])}\r\nHost:`),
        );
      default: {
        const bytes = Buffer.from(request);
        for (let times = 1 + dice.below(4); times > 0; times--) bytes[dice.below(bytes.length)] = dice.below(256);
        return bytes;
      }
    }
  }

  async rawRequest(): Promise<void> {
    const bytes = this.rawBytes();
    this.sent++;
    try {
      const answers = await raw(this.world.server, bytes);
      assert.ok(answers.length > 0, 'no answer to raw bytes');
      for (const answer of answers) this.judge('GET', answer);
    } catch (error) {
      const sent = JSON.stringify(bytes.toString('latin1').slice(0, 400));
      // Each of these takes a while: one is enough.
      if ((error as Error).message.includes(leftHanging)) throw new Error(`${leftHanging} by ${sent}`);
      this.complain(error as Error, sent);
    }
  }
}

const decodedOr = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** What must hold of the tables whatever was asked of them: each statement selects what breaks it. */
const invariants: Readonly<Record<string, Sql>> = {
  'every foreign key leads somewhere': sql`pragma foreign_key_check`,
  'every organization has its default project': sql`
    select id
    from organizations
    where (select count(*) from projects where organization_id = organizations.id and is_default = 1) <> 1`,
  'every organization has an owner that exists': sql`
    select id
    from organizations
    where not exists (
      select 1
      from teams
      join team_memberships on team_memberships.team_id = teams.id
      join organization_memberships on organization_memberships.id = team_memberships.membership_id
      join users on users.id = organization_memberships.user_id
      where teams.organization_id = organizations.id and teams.name = 'owners' and users.username is not null
    )`,
  'whoever is only invited is invited somewhere': sql`
    select id
    from users
    where username is null and id not in (select user_id from organization_memberships)`,
  'a token has exactly one holder': sql`
    select id
    from authentication_tokens
    where (user_id is not null) + (team_id is not null) + (organization_id is not null) <> 1`,
  'what is new is told of in the audit trail': sql`
    select id
    from projects
    where is_default = 0 and id not in (select resource_id from audit_events)`,
};

test(`${asked} hostile requests: each is answered below 500 in the form that is promised, and none is half done`, async t => {
  const seed = Number(process.env.BAILIWICK_TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`BAILIWICK_TEST_SEED=${seed}`);
  const world = await newWorld(seed);
  t.after(() => world.server.close());
  const { client, store } = world.server;
  const routes = await routesOf(world.server);
  const fuzz = new Fuzz(world, new Dice(seed), routes, await poolOf(world, routes));
  const events = () =>
    store.read(async tx => (await tx.row<[number]>(sql`select count(*) from audit_events`))?.[0] ?? 0);
  const before = await events();

  while (fuzz.sent < asked) {
    if (fuzz.sent % 100 === 0) assert.equal((await client.send('GET', '/healthz')).status, 200);
    if (fuzz.dice.chance(0.15)) await fuzz.rawRequest();
    else await fuzz.request(fuzz.route());
  }

  t.diagnostic(
    `${fuzz.sent} requests, ${fuzz.written} of them written: ${JSON.stringify(Object.fromEntries([...fuzz.tally].sort()))}`,
  );
  assert.ok(fuzz.sent >= 10_000);
  assert.equal((await client.send('GET', '/healthz')).status, 200);
  assert.equal((await events()) - before, fuzz.written, 'one audit row for each write that was answered as done');
  const broken = [];
  for (const [promise, breaking] of Object.entries(invariants)) {
    const rows = await store.read(tx => tx.rows(breaking));
    if (rows.length > 0) broken.push(`broken: ${promise}: ${JSON.stringify(rows).slice(0, 300)}`);
  }
  assert.deepEqual(await store.read(tx => tx.rows(sql`pragma integrity_check`)), [['ok']]);
  assert.deepEqual([...broken, ...fuzz.wrong.values()], []);
  // A fuzz that is refused at the door proves little: every kind of answer was among them, and much was done.
  for (const status of [200, 201, 204, 400, 401, 404, 405, 412, 413, 415, 422, 431])
    assert.ok((fuzz.tally.get(`${status}`) ?? 0) > 0, `no request was answered ${status}`);
  assert.ok(fuzz.written > 300, `only ${fuzz.written} writes were done`);
  assert.equal((await world.owner.get(`/organizations/acme`)).status, 200, 'the owner has kept its rights');
  assert.equal((await world.admin.get('/admin/users')).status, 200, 'the site admin has kept its rights');
});
