/** A known state: files that are planted or refused, and exports that are such files. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { stringify } from 'yaml';
import { flawsOf } from '../src/resources/world/check.ts';
import { exported } from '../src/resources/world/export.ts';
import { plant } from '../src/resources/world/plant.ts';
import { type World, worldSchema } from '../src/resources/world/shape.ts';
import { tokenKey } from '../src/server/first-start.ts';
import { sow } from '../src/server/seed.ts';
import { readSeedText } from '../src/server/seed-file.ts';
import { secureRandom } from '../src/store/id.ts';
import { migrate } from '../src/store/migrations.ts';
import { sql } from '../src/store/sql.ts';
import type { Store } from '../src/store/store.ts';
import type { Json } from './support/client.ts';
import { Dice, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { newStore } from './support/engine.ts';
import { type Person, RandomWorld } from './support/random-world.ts';
import { recording } from './support/recording.ts';
import { rehearsing } from './support/rehearsal.ts';
import { filled, routesOf } from './support/routes.ts';
import { startServer, type TestServer } from './support/server.ts';
import { contents } from './support/tables.ts';
import { Actor, type Directory, newDirectory } from './support/world.ts';

const docs = new URL('../docs/', import.meta.url);
const example = /```yaml\n(users:[\s\S]*?)```/.exec(readFileSync(new URL('seed.md', docs), 'utf8'))?.[1] ?? '';

const worldIn = async (text: string): Promise<World> => {
  const read = await readSeedText(text);
  assert.ok('world' in read, JSON.stringify(read));
  return read.world;
};

const serverWith = async (t: TestContext, text: string, seed = 1): Promise<TestServer> => {
  const server = await startServer({ seed, world: await worldIn(text) });
  t.after(() => server.close());
  return server;
};

const as = ({ client }: TestServer, token: string | undefined): Actor => new Actor(client, token);

const exportOf = async (server: TestServer, token = server.adminToken): Promise<string> => {
  const answer = await as(server, token).get('/admin/export');
  assert.equal(answer.status, 200, answer.text);
  return answer.text;
};

const tokenOfAda = 'the-token-of-ada-for-tests';
const tokenOfBob = 'the-token-of-bob-for-tests';

describe('a seed file', () => {
  test('the example of the documentation is planted', async t => {
    const server = await serverWith(t, example);
    const ada = as(server, tokenOfAda);
    assert.equal((await ada.get('/account/details')).body.data.attributes.username, 'ada');
    const { body } = await as(server, tokenOfBob).get('/workspaces/ws-ProductionWeb001');
    assert.deepEqual(
      [body.data.attributes.name, body.data.attributes.locked, body.data.attributes['locked-reason']],
      ['web', true, 'an incident'],
    );
    assert.deepEqual(
      server.secrets.map(({ whose }) => whose),
      ['team acme/developers (pipeline)'],
    );
  });

  test('JSON and YAML give the same world', async t => {
    const world = await worldIn(example);
    const texts = [
      example,
      JSON.stringify(world),
      JSON.stringify(world, null, '\t'),
      stringify(world),
      `\ufeff${example}`,
    ];
    const exports = [];
    for (const text of texts) exports.push(await exportOf(await serverWith(t, text), tokenOfAda));
    assert.equal(new Set(exports).size, 1);
  });

  test('its JSON Schema is current', () => {
    const file = new URL('seed.schema.json', docs);
    const current = JSON.parse(JSON.stringify(worldSchema));
    if (process.env.BAILIWICK_WRITE_SCHEMA) writeFileSync(file, JSON.stringify(current, null, 2));
    const again = 'BAILIWICK_WRITE_SCHEMA=1 with this test writes it anew; then format it';
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), current, again);
  });

  test('what has no time comes in the order of the file, and nothing is of the future', async t => {
    const names = Array.from({ length: 30 }, (_, n) => `team ${(n * 7) % 30}`);
    const usernames = names.map((_, n) => `u${(n * 11) % 30}`);
    const world = {
      users: [{ ...ada, tokens: [{ secret: tokenOfAda }] }, ...usernames.map(username => userNamed(username))],
      organizations: [
        {
          name: 'acme',
          email: 'a@example.com',
          teams: [{ name: 'owners', members: ['ada', ...usernames] }, ...names.map(name => ({ name }))],
          projects: names.map(name => ({ name })),
        },
      ],
    };
    const server = await serverWith(t, JSON.stringify(world));
    const actor = as(server, tokenOfAda);
    const listed = async (list: string) =>
      (await actor.get(`/organizations/acme/${list}?page[size]=100`)).body.data.map(
        ({ attributes }: Json) => attributes,
      );
    const namesOf = async (list: string) => (await listed(list)).map(({ name }: Json) => name);
    assert.deepEqual(await namesOf('teams'), ['owners', ...names]);
    assert.deepEqual(await namesOf('projects'), ['Default Project', ...names]);
    const exported: World = JSON.parse(await exportOf(server, tokenOfAda));
    assert.deepEqual(exported.organizations?.[0]?.teams?.[0]?.members, ['ada', ...usernames]);
    const now = (await actor.make('/organizations', { type: 'organizations', attributes: { name: 'b', email: 'b@b' } }))
      .attributes['created-at'];
    for (const { 'created-at': time } of await listed('projects')) assert.ok(time < now);
  });

  test('who is in a team is a member, and an e-mail that has a user is that user', async t => {
    const text = `
users: [{ username: ada, email: Ada@example.com, tokens: [{ secret: ${tokenOfAda} }] }, { username: Bob, email: bob@example.com }]
organizations:
  - name: acme
    email: a@example.com
    memberships: [{ email: BOB@example.com }]
    teams: [{ name: owners, members: [ADA] }, { name: devs, members: [bob, ada@EXAMPLE.com] }]`;
    const server = await serverWith(t, text);
    const { organizations } = JSON.parse(await exportOf(server, server.adminToken));
    const [{ memberships, teams }] = organizations;
    assert.deepEqual(
      memberships.map(({ user }: Json) => user),
      ['Bob', 'ada'],
    );
    assert.deepEqual(
      teams.map(({ members }: Json) => members),
      [['ada'], ['Bob', 'ada']],
    );
  });

  test('the default project is the one that is named, or Default Project, listed or not', async t => {
    const organization = (name: string, more: object) => ({
      name,
      email: 'a@example.com',
      teams: [{ name: 'owners', members: ['ada'] }],
      ...more,
    });
    const world = {
      users: [ada],
      organizations: [
        organization('made', {}),
        organization('listed', {
          projects: [{ name: 'first' }, { name: 'default project', id: 'prj-0000000000000001' }],
        }),
        organization('named', { 'default-project': 'MAIN', projects: [{ name: 'main', id: 'prj-0000000000000002' }] }),
      ],
    };
    const server = await serverWith(t, JSON.stringify(world));
    const exported = JSON.parse(await exportOf(server, server.secrets[0]?.secret));
    assert.deepEqual(
      exported.organizations.map((each: Json) => [
        each['default-project'],
        each.projects.map(({ name }: Json) => name),
      ]),
      [
        ['Default Project', ['Default Project']],
        ['default project', ['first', 'default project']],
        ['main', ['main']],
      ],
    );
  });
});

const ada = { username: 'ada', email: 'ada@example.com', 'is-admin': true };
const userNamed = (username: string) => ({ username, email: `${username}@example.com` });

describe('the tokens of a world', () => {
  const all = `
users:
  - username: ada
    email: ada@example.com
    is-admin: true
    tokens: [{ secret: ${tokenOfAda} }, {}, { secret: an-expired-token-of-ada, expired-at: 2020-01-01T00:00:00+01:00 }]
organizations:
  - name: acme
    email: a@example.com
    teams:
      - { name: owners, members: [ada], token: { secret: the-owners-team-token } }
      - { name: devs, token: {}, tokens: [{ description: ci, secret: the-pipeline-of-devs }, {}] }
    token: { secret: the-organizations-token }
    audit-trails-token: { secret: the-audit-trails-token, created-by: ada }
    decisions-token: { secret: the-decisions-token-x, created-by: ada }`;

  test('work, those of the file and those that were made, and an expired one does not', async t => {
    const server = await serverWith(t, all);
    const who = async (token: string | undefined) => {
      const { status, body } = await as(server, token).get('/account/details');
      return status === 200 ? body.data.attributes.username : status;
    };
    assert.equal(await who(tokenOfAda), 'ada');
    assert.equal(await who('an-expired-token-of-ada'), 401);
    assert.equal(await who('never-seen-by-anybody'), 401);
    assert.deepEqual(
      server.secrets.map(({ whose }) => whose),
      ['user ada', 'team acme/devs', 'team acme/devs'],
    );
    const [own, single, another] = await Promise.all(server.secrets.map(({ secret }) => who(secret)));
    const ci = await who('the-pipeline-of-devs');
    assert.equal(own, 'ada');
    assert.match(ci, /^api-team-/);
    assert.deepEqual([single, another], [ci, ci]);
    assert.match(await who('the-organizations-token'), /^api-org-/);
    const teams = async (token: string) => (await as(server, token).get('/organizations/acme/teams')).status;
    assert.equal(await teams('the-owners-team-token'), 200);
    assert.equal(await teams('the-audit-trails-token'), 404, 'it reads the audit trail, and nothing else');
    assert.equal(await teams('the-decisions-token-x'), 404, 'it asks for decisions, and nothing else');
    assert.equal((await as(server, 'the-decisions-token-x').get('/organization/audit-trail')).status, 404);
    const { data } = (await as(server, 'the-audit-trails-token').get('/organization/audit-trail')).body;
    assert.deepEqual(
      data.map(({ auth, resource }: Json) => [auth.type, auth.description, resource.type, resource.action]),
      [['System', 'seed', 'organization', 'create']],
    );
  });

  test('are told apart in the export by their slots, without their secrets, and with who made them', async t => {
    const server = await serverWith(t, all);
    const text = await exportOf(server, tokenOfAda);
    const { users, organizations } = JSON.parse(text);
    const [{ token, 'audit-trails-token': audit, 'decisions-token': decisions, teams }] = organizations;
    assert.deepEqual(
      users[0].tokens.map((each: Json) => [each.description, each['expired-at'], each['created-by']]),
      [
        [null, null, users[0].id],
        [null, null, users[0].id],
        [null, '2019-12-31T23:00:00.000Z', users[0].id],
      ],
    );
    assert.deepEqual(
      [token, audit, decisions].map(each => each['created-by']),
      [organizations[0].id, users[0].id, users[0].id],
    );
    assert.ok(teams[0].token && teams[1].token && !('description' in teams[1].token));
    assert.deepEqual(
      teams[1].tokens.map(({ description }: Json) => description),
      ['ci', null],
    );
    const kept = await server.store.read(tx =>
      tx.rows<[string, string]>(sql`select hash, lookup from authentication_tokens`),
    );
    const known = [
      ...kept.flat(),
      ...server.secrets.map(({ secret }) => secret),
      ...(all.match(/(?<=secret: )[\w-]+/g) ?? []),
    ];
    assert.ok(known.length > 20);
    for (const secret of known) assert.ok(!text.includes(secret), secret);
    assert.doesNotMatch(text, /"secret":|hash|atlasv1/);
  });
});

const emptyStore = async () => {
  const store = await newStore();
  const now = () => new Date('2026-01-01T00:00:00.000Z');
  await migrate(store, now);
  return { store, making: { key: await tokenKey(store, secureRandom), random: secureRandom, now } };
};

describe('planting', () => {
  const tables = async (store: Store) => {
    const counts = (await store.read(contents)).map(([name, rows]) => [name, rows.length] as const);
    return Object.fromEntries(counts.filter(([name]) => !name.startsWith('schema')));
  };

  test('is all or nothing: whichever statement fails, nothing is left', async () => {
    const world = await worldIn(example);
    const counted: number[] = [];
    const { store, making } = await emptyStore();
    const before = await tables(store);
    for (let failing = 1; ; failing++) {
      let writes = 0;
      const breaking = recording(store, [], ({ chunks: [text = ''] }) => {
        if (/^\s*insert/.test(text) && ++writes === failing) throw new Error('no more');
      });
      const outcome = await sow(breaking, 'world.yaml', world, making, undefined).catch(({ message }) => message);
      if (outcome !== 'no more') break;
      assert.deepEqual(await tables(store), before);
      counted.push(failing);
    }
    await store.close();
    assert.ok(counted.length > 20, 'every insert failed once');
  });

  test('needs an empty database, except that the same world again changes nothing', async () => {
    const { store, making } = await emptyStore();
    const world = await worldIn(example);
    const secrets = await sow(store, 'world.yaml', world, making, undefined);
    assert.equal(secrets?.length, 1);
    const before = await tables(store);
    assert.equal(await sow(store, 'world.yaml', await worldIn(JSON.stringify(world)), making, undefined), undefined);
    await assert.rejects(
      sow(store, 'other.yaml', { ...world, organizations: [] }, making, undefined),
      /was planted with another world than other\.yaml: start with an empty one.*or without --seed/,
    );
    assert.deepEqual(await tables(store), before);
    const { store: used, making: other } = await emptyStore();
    await used.write(tx => plant(tx, { users: [{ username: 'eve', email: 'eve@example.com' }] }, other));
    await assert.rejects(sow(used, 'world.yaml', world, other, undefined), /is not empty/);
  });

  test('leaves one audit row for each user and each organization, with all that belongs to it and no secret', async () => {
    const { store, making } = await emptyStore();
    await sow(store, 'world.yaml', await worldIn(example), making, undefined);
    const rows = await store.read(tx =>
      tx.rows<[string, string, string, string, string, string, string]>(sql`
        select resource_type, action, actor_type, actor_id, request_id, organization_id, after_change
        from audit_events
        order by resource_type desc, id`),
    );
    assert.deepEqual(
      rows.map(([type, action, ...rest]) => [`${type}.${action}`, ...rest.slice(0, 3)]),
      ['user.create', 'user.create', 'organization.create'].map(action => [action, 'server', 'seed', 'start']),
    );
    const organization = JSON.parse(rows[2]?.[6] ?? '');
    assert.equal(rows[2]?.[5], organization.id);
    assert.equal(organization.projects[1].workspaces[0].id, 'ws-ProductionWeb001');
    assert.ok(!JSON.stringify(rows).includes('for-tests'));
  });

  test('a world without a site admin gets the one of the first start; one that has it gets a way in', async t => {
    const [withAdmin, without] = [true, false].map(isAdmin => ({ users: [{ ...ada, 'is-admin': isAdmin }] }));
    const server = await startServer({ world: without as World });
    t.after(() => server.close());
    assert.equal((await as(server, server.adminToken).get('/account/details')).body.data.attributes.username, 'admin');

    const { store, making } = await emptyStore();
    const made = await sow(store, 'w', withAdmin as World, making, undefined);
    assert.deepEqual(
      made?.map(({ whose }) => whose),
      ['user ada'],
    );
    const { store: given, making: other } = await emptyStore();
    assert.deepEqual(await sow(given, 'w', withAdmin as World, other, 'a-token-that-somebody-chose'), []);
    assert.equal((await tables(given)).authentication_tokens, 1);
    const { store: own, making: third } = await emptyStore();
    const holding = { users: [{ ...ada, tokens: [{ secret: tokenOfAda }] }] };
    assert.deepEqual(await sow(own, 'w', holding, third, tokenOfAda), []);
    assert.equal((await tables(own)).authentication_tokens, 1, 'the token that was given is the one of the file');
  });
});

describe('GET admin/export', () => {
  test('is for the user token of a site admin: 404 for anyone else', async t => {
    const directory = await newDirectory();
    t.after(() => directory.server.close());
    const { actor: owner } = await directory.user('olivia');
    await directory.organization(owner, 'acme');
    const team = await directory.team(owner, 'acme', { name: 'devs' });
    const tokenFrom = async (path: string) => directory.actor((await owner.make(path)).attributes.token);
    const others = [
      owner,
      await tokenFrom(`/teams/${team}/authentication-token`),
      await tokenFrom('/organizations/acme/authentication-token'),
    ];
    for (const other of others) assert.equal((await other.get('/admin/export')).status, 404);
    assert.equal((await directory.actor(undefined).get('/admin/export')).status, 401);
    const { status, headers, text } = await directory.admin.get('/admin/export');
    assert.deepEqual([status, headers['content-type']], [200, 'application/json']);
    assert.ok(text.endsWith('\n') && text.split('\n').length > 50, 'for people to read and compare');
  });
});

/** What the API answers to each of these tokens about everything in the world. */
const answersIn = async (
  server: TestServer,
  world: World,
  tokens: readonly (string | undefined)[],
): Promise<string[]> => {
  const organizations = world.organizations ?? [];
  const projects = organizations.flatMap(({ projects = [] }) => projects);
  const workspaces = projects.flatMap(({ workspaces = [] }) => workspaces);
  const grants = (on: readonly { 'team-access'?: { id?: string }[] }[]) =>
    on.flatMap(each => each['team-access'] ?? []);
  const teams = organizations.flatMap(({ teams = [] }) => teams);
  const holders = [...(world.users ?? []), ...teams];
  const idsOf = (things: readonly { id?: string }[]) => things.map(({ id }) => id ?? '');
  const ids: Readonly<Record<string, readonly string[]>> = {
    organizations: organizations.map(({ name }) => name),
    users: idsOf(world.users ?? []),
    teams: idsOf(teams),
    projects: idsOf(projects),
    workspaces: idsOf(workspaces),
    'organization-memberships': idsOf(organizations.flatMap(({ memberships = [] }) => memberships)),
    'team-projects': idsOf(grants(projects)),
    'team-workspaces': idsOf(grants(workspaces)),
    'authentication-tokens': idsOf(holders.flatMap(({ tokens = [] }) => tokens)),
  };
  const filters = ['project', 'workspace'].flatMap(kind =>
    (ids[`${kind}s`] ?? []).map(id => ({ list: `/team-${kind}s`, query: `filter[${kind}][id]=${id}` })),
  );
  const paths = (await routesOf(server))
    .filter(
      ({ method, path }) =>
        method === 'GET' && path.startsWith('/api/v2/') && !/export$|audit-(trail|events)$/.test(path),
    )
    .flatMap(({ path }) => {
      const [, type = ''] = /([\w-]+)\/\{\w+\}/.exec(path) ?? [];
      const queries = filters.filter(({ list }) => path.endsWith(list)).map(({ query }) => `?${query}&page[size]=100`);
      const all = queries.length > 0 ? queries : ['?page[size]=100'];
      return (
        type === '' ? [path] : (ids[type] ?? []).map(id => filled(path, of => (of === type ? id : 'web')))
      ).flatMap(address => all.map(query => address + query));
    });
  const answers = [];
  for (const token of tokens)
    for (const path of paths) {
      const { status, text } = await server.client.call(token, 'GET', path);
      // When a token was last used is no part of a world, and neither is how many changes made it.
      const lasting = text
        .replace(/"last-used-at":"[^"]*"/g, '"last-used-at":null')
        .replace(/"revision":\{"first":\d+,"last":\d+\}/, '"revision":null');
      answers.push(`${path} ${status} ${lasting}`);
    }
  return answers;
};

/** A random world with something of everything, also of what is gone. */
const furnished = async (directory: Directory, dice: Dice): Promise<RandomWorld> => {
  const world = new RandomWorld(directory, dice, 'w');
  const people: Person[] = [];
  for (const role of ['olivia', 'pete', 'quinn', 'rosa', 'stan']) people.push(await world.person(role));
  const [olivia, pete, quinn] = people as [Person, Person, Person];
  for (const [index, owner] of [olivia, pete].entries()) {
    const name = await world.organization(owner, `org${index}`);
    const inside = `/organizations/${name}`;
    const actor = world.as(owner.token);
    for (const person of people.filter(person => person !== owner)) await world.member(name, person.email);
    for (let n = 0; n < 2; n++) await world.member(name, `guest${n}@example.com`);
    const memberships = (await actor.get(`${inside}/organization-memberships?page[size]=100`)).body.data;
    for (let n = 0; n < 4; n++) {
      const team = await world.team(name, { members: dice.some(people, 0.5) });
      const invited = memberships.filter(({ attributes }: Json) => attributes.status === 'invited');
      for (const { id, type } of dice.some<Json>(invited, 0.5))
        await actor.post(`/teams/${team.id}/relationships/organization-memberships`, [{ id, type }]);
      if (dice.chance(0.5)) await world.teamToken(team);
      if (dice.chance(0.5)) await world.singleTeamToken(team);
    }
    for (let n = 0; n < 3; n++) await world.project(name);
    const own = { teams: world.teams, projects: world.projects };
    for (const project of own.projects.filter(({ organization }) => organization === name)) {
      for (const team of own.teams.filter(({ organization }) => organization === name))
        if (dice.chance(0.5)) await world.grant(project, team);
      const attributes = {
        description: 'ein Stück',
        'auto-destroy-activity-duration': '3d',
        'default-execution-mode': null,
      };
      await actor.patch(`/projects/${project.id}`, {
        attributes: Object.fromEntries(dice.some(Object.entries(attributes), 0.5)),
      });
      await tag(actor, `/projects/${project.id}`, dice);
    }
    await world.organizationToken(name);
    const settings = { 'session-timeout': 60, 'default-execution-mode': 'local', 'owners-team-saml-role-id': null };
    await actor.patch(inside, { attributes: Object.fromEntries(dice.some(Object.entries(settings), 0.6)) });
    for (let n = 0; n < 4; n++) await workspaceIn(world, name);
  }
  const renamed = world.projects.find(({ isDefault }) => isDefault)?.id;
  await world.as(olivia.token).patch(`/projects/${renamed}`, { attributes: { name: 'the first one' } });
  await world.as(pete.token).patch('/account/update', { attributes: { email: 'new@example.com' } });
  // Who is gone leaves traces: as the maker of a token, and as the holder of a lock.
  const [owners] = world.teams.filter(({ owners }) => owners);
  const [project] = world.projects;
  assert.ok(owners && project);
  await world.as(olivia.token).post(`/teams/${owners.id}/relationships/users`, [{ type: 'users', id: quinn.username }]);
  const leaving = world.as(quinn.token);
  await leaving.make(`/teams/${owners.id}/authentication-token`);
  const { id } = await world.workspace(project);
  assert.equal((await leaving.post(`/workspaces/${id}/actions/lock`)).status, 200);
  assert.equal((await directory.admin.delete(`/admin/users/${quinn.id}`)).status, 204);
  return world;
};

/** Digits before letters is the order of an object's keys, but not the one in which these are given. */
const tag = async (actor: Actor, path: string, dice: Dice): Promise<void> => {
  const bindings = dice.some(['team', '7', 'env', '1'], 0.5).map(key => ({
    type: 'tag-bindings',
    attributes: { key, value: dice.pick(['', 'x', 'a:b']) },
  }));
  if (bindings.length > 0) assert.equal((await actor.patch(`${path}/tag-bindings`, bindings)).status, 200);
};

const workspaceIn = async (world: RandomWorld, organization: string): Promise<void> => {
  const { dice } = world;
  const actor = world.ownerOf(organization);
  const inside = <T extends { readonly organization: string }>(rows: readonly T[]): T[] =>
    rows.filter(row => row.organization === organization);
  const workspace = await world.workspace(dice.pick(inside(world.projects)));
  const path = `/workspaces/${workspace.id}`;
  const settings = {
    description: 'one',
    'auto-apply': true,
    'execution-mode': 'local',
    'trigger-prefixes': ['b', 'a'],
    'vcs-repo': { branch: 'main', identifier: 'acme/web', 'tags-regex': null, 'of-their-own': { x: 1 } },
  };
  const attributes = Object.fromEntries(dice.some(Object.entries(settings), 0.6));
  assert.equal((await actor.patch(path, { attributes })).status, 200);
  for (const team of dice.some(inside(world.teams), 0.5)) await world.workspaceGrant(workspace, team);
  await tag(actor, path, dice);
  const tokens = world.tokens.filter(({ organization: of, team }) => of === organization || team !== undefined);
  const holder = dice.pick([actor, ...tokens.map(({ secret }) => world.as(secret))]);
  if (dice.chance(0.7)) await holder.post(`${path}/actions/lock`, { attributes: { reason: 'why not' } });
};

describe('a world goes round', () => {
  for (let round = 0; round < 2; round++)
    test(`export, seed, export gives the same bytes, and every answer is the same (${round + 1})`, async t => {
      printSeed(t);
      const directory = await newDirectory(testSeed + round);
      t.after(() => directory.server.close());
      const made = await furnished(directory, new Dice(testSeed + round));
      const first = await exportOf(directory.server);
      for (const { secret } of made.tokens) assert.ok(!first.includes(secret));
      const server = await serverWith(t, first, testSeed + round + 1000);
      assert.equal(await exportOf(server), first, toRepeat);
      const world: World = JSON.parse(first);
      const secretOf = new Map(server.secrets.map(({ token, secret }) => [token, secret]));
      const living = made.tokens.filter(({ id }) => secretOf.has(id));
      assert.equal(living.length, made.tokens.length - 1, 'all but the one of the user who is gone');
      const oneOf = (kind: 'user' | 'team' | 'organization') => living.filter(token => token[kind] !== undefined)[0];
      const some = [oneOf('user'), oneOf('team'), oneOf('organization'), new Dice(testSeed).pick(living)];
      const callers = [...new Set(some)].filter(token => token !== undefined);
      const before = await answersIn(directory.server, world, [
        directory.server.adminToken,
        ...callers.map(({ secret }) => secret),
      ]);
      const after = await answersIn(server, world, [server.adminToken, ...callers.map(({ id }) => secretOf.get(id))]);
      assert.ok(before.filter(answer => / 200 /.test(answer)).length > 100);
      for (const [index, answer] of before.entries()) assert.equal(after[index], answer, toRepeat);
    });

  test('whatever is not refused can be planted, and goes round', { timeout: 120_000 }, async t => {
    printSeed(t);
    const dice = new Dice(testSeed);
    const whole = await worldIn(example);
    const { store: empty, making } = await emptyStore();
    t.after(() => empty.close());
    const store = rehearsing(empty);
    const exportAfter = (world: World): Promise<string> =>
      store.rehearse(async () => {
        await store.write(tx => plant(tx, world, making));
        return JSON.stringify(await store.read(exported));
      });
    let planted = 0;
    for (let run = 0; run < 2000 && planted < 100; run++) {
      const world = structuredClone(whole) as Json;
      for (let change = 0; change < 1 + dice.below(3); change++) mutate(world, dice);
      if (flawsOf(world).length > 0) continue;
      planted++;
      const told = `${toRepeat} ${JSON.stringify(world)}`;
      const first = await exportAfter(world).catch(error => assert.fail(`${error.stack}\n${told}`));
      assert.equal(await exportAfter(await worldIn(first)), first, told);
    }
    assert.ok(planted > 50, `${planted} were planted`);
  });
});

/** Some value somewhere becomes another, often one of those elsewhere in the world. */
const mutate = (world: Json, dice: Dice): void => {
  const places: { of: Json; key: string; value: Json }[] = [];
  const visit = (of: Json): void => {
    for (const [key, value] of Object.entries<Json>(of)) {
      places.push({ of, key, value });
      if (typeof value === 'object' && value !== null) visit(value);
    }
  };
  visit(world);
  if (places.length === 0) return;
  const { of, key } = dice.pick(places);
  const odd = [
    '',
    'ADA',
    'bob@example.com',
    'owners',
    'x'.repeat(300),
    '\0',
    null,
    7,
    true,
    [],
    {},
    'é',
    'user-0000000000000001',
  ];
  const like = places.filter(place => place.key === key).map(({ value }) => value);
  if (Array.isArray(of) && dice.chance(0.5))
    of.splice(Number(key), dice.below(2), structuredClone(dice.pick(places).value));
  else if (dice.chance(0.2) && !Array.isArray(of)) delete of[key];
  else of[key] = structuredClone(dice.pick([...odd, ...like, dice.pick(places).value]));
};
