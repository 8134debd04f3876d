/** A list and a single read obey the same rule, and whoever may change a row may read it: for every caller and row of many worlds. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from './support/client.ts';
import { Dice, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { flagNames, RandomWorld, type Team } from './support/random-world.ts';
import { startServer, type TestServer } from './support/server.ts';
import { type Actor, Directory } from './support/world.ts';

const worlds = 200;

type Rows = Map<string, Json>;
type Named = { readonly name: string; readonly actor: Actor };

let server: TestServer;
before(async () => {
  server = await startServer({ seed: testSeed });
});
after(() => server.close());

// A small world, and everyone who may ask about it

const populated = async (directory: Directory, dice: Dice, prefix: string): Promise<RandomWorld> => {
  const world = new RandomWorld(directory, dice, prefix);
  const owner = await world.person('owner');
  const members = [await world.person('one'), await world.person('two')];
  const organization = await world.organization(owner, 'org');
  for (const { email } of members) await world.member(organization, email);
  await world.member(organization, `${prefix}@guest.example`);
  for (let count = 3 + dice.below(2); count > 0; count--)
    await world.team(organization, {
      members: dice.some(members, 0.5),
      flags: dice.some(flagNames, dice.pick([0, 0, 0.1, 0.3])),
    });
  for (let count = 2; count > 0; count--) await world.project(organization);
  // The owners team has a row of its own here and there: it is a team like any other.
  for (const project of world.projects)
    for (const team of dice.some(world.teams, 0.5)) await world.grant(project, team);
  for (let count = 1 + dice.below(2); count > 0; count--) {
    const workspace = await world.workspace(dice.pick(world.projects));
    for (const team of dice.some(world.teams, 0.3)) await world.workspaceGrant(workspace, team);
  }
  for (const team of dice.some(world.teams, 0.4)) await world.singleTeamToken(team);
  return world;
};

/** Those who act as owners see everything, so one of them in each world is enough; the others differ from world to world. */
const callersIn = async (world: RandomWorld, outsiders: readonly Named[]): Promise<Named[]> => {
  const [owner, ...members] = world.people.map(({ token }) => world.as(token)) as [Actor, ...Actor[]];
  const [owners, ...teams] = world.teams as [Team, ...Team[]];
  const teamTokens = [];
  for (const team of teams.slice(0, 2)) teamTokens.push(await world.teamToken(team));
  const ownersToken = await world.teamToken(owners);
  const organizationToken = await world.organizationToken(owners.organization);
  return [
    world.dice.pick([
      { name: 'owner', actor: owner },
      { name: 'organization token', actor: world.as(organizationToken.secret) },
      { name: 'owners-team token', actor: world.as(ownersToken.secret) },
    ]),
    ...members.map(actor => ({ name: 'member', actor })),
    ...teamTokens.map(({ secret }) => ({ name: 'team token', actor: world.as(secret) })),
    world.dice.pick(outsiders),
  ];
};

const outsidersOf = async (directory: Directory): Promise<Named[]> => {
  const world = new RandomWorld(directory, new Dice(testSeed), 'outside');
  const [drifter, neighbour] = [await world.person('drifter'), await world.person('neighbour')];
  const organization = await world.organization(neighbour, 'org');
  const token = await world.organizationToken(organization);
  return [drifter.token, neighbour.token, token.secret].map(token => ({ name: 'outsider', actor: world.as(token) }));
};

// The two ways to read, and the ways to write

/** All pages of a list, by id; none where the list is not there for the caller. */
const listed = async ({ actor }: Named, path: string, size: number): Promise<Rows> => {
  const rows: Rows = new Map();
  for (let page = 1; ; page++) {
    const query = `page%5Bnumber%5D=${page}&page%5Bsize%5D=${size}`;
    const { status, body, text } = await actor.get(`${path}${path.includes('?') ? '&' : '?'}${query}`);
    if (status === 404 && page === 1) return rows;
    assert.equal(status, 200, `${path}: ${text}`);
    for (const row of body.data) {
      assert.ok(!rows.has(row.id), `${path}: ${row.id} is on two pages`);
      rows.set(row.id, row);
    }
    const { 'next-page': next, 'total-count': total, 'total-pages': pages } = body.meta.pagination;
    assert.equal(pages, Math.max(1, Math.ceil(total / size)), `${path}: total-pages`);
    if (next === null) {
      assert.equal(rows.size, total, `${path}: total-count is the number of rows`);
      return rows;
    }
    assert.equal(next, page + 1, `${path}: next-page`);
  }
};

type Family = {
  readonly type: string;
  /** The list, and every row that is in it for somebody. */
  readonly list: string;
  readonly ids: readonly string[];
  readonly writes: readonly ('patch' | 'delete')[];
};

const all = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

const accessTo = (project: string): string => `/team-projects?filter%5Bproject%5D%5Bid%5D=${project}`;
const accessToWorkspace = (id: string): string => `/team-workspaces?filter%5Bworkspace%5D%5Bid%5D=${id}`;

const familiesOf = (world: RandomWorld): Family[] => {
  const { name } = world.organizations[0] as { name: string };
  const both = ['patch', 'delete'] as const;
  return [
    ...world.projects.map(({ id }) => ({
      type: 'team-projects',
      list: accessTo(id),
      ids: all(world.grants.filter(({ project }) => project === id)),
      writes: both,
    })),
    { type: 'workspaces', list: `/organizations/${name}/workspaces`, ids: all(world.workspaces), writes: both },
    ...world.workspaces.map(({ id }) => ({
      type: 'team-workspaces',
      list: accessToWorkspace(id),
      ids: all(world.workspaceGrants.filter(({ workspace }) => workspace === id)),
      writes: both,
    })),
    { type: 'teams', list: `/organizations/${name}/teams`, ids: all(world.teams), writes: both },
    { type: 'projects', list: `/organizations/${name}/projects`, ids: all(world.projects), writes: both },
    {
      type: 'organization-memberships',
      list: `/organizations/${name}/organization-memberships`,
      ids: all(world.memberships),
      writes: ['delete'],
    },
    {
      type: 'authentication-tokens',
      list: `/organizations/${name}/team-tokens`,
      ids: all(world.tokens.filter(({ team }) => team !== undefined)),
      writes: ['delete'],
    },
  ];
};

type Count = { rows: number; shown: number; managed: number };

test(`list and show agree, and manage implies read, for every caller and row of ${worlds} random worlds`, async t => {
  printSeed(t);
  const directory = new Directory(server);
  const outsiders = await outsidersOf(directory);
  const counts: Record<string, Count> = {};

  for (let number = 0; number < worlds; number++) {
    const seed = testSeed + number * 100;
    const world = await populated(directory, new Dice(seed), `w${number}`);
    const callers = await callersIn(world, outsiders);
    const families = familiesOf(world);
    const asks = callers.map(async (caller, index) => {
      // Callers ask at the same time, so each has dice of its own.
      const dice = new Dice(seed + 1 + index);
      const where = `${toRepeat}, world ${number}, ${caller.name}`;
      const lists = [];
      for (const family of families) {
        const { rows, count } = await agreed(caller, family, dice, `${where}, ${family.list}`);
        lists.push(rows);
        add(counts, `${caller.name}: ${family.type}`, count);
      }
      await narrowed(caller, world, lists, dice, where);
    });
    await Promise.all(asks);
  }

  for (const [who, { rows, shown, managed }] of Object.entries(counts))
    t.diagnostic(`${who}: ${rows} rows, ${shown} shown, ${managed} to manage`);
  for (const type of [
    ...['team-projects', 'teams', 'projects', 'workspaces', 'team-workspaces'],
    ...['organization-memberships', 'authentication-tokens'],
  ]) {
    for (const name of ['owner', 'organization token', 'owners-team token']) {
      const { rows, shown, managed } = counts[`${name}: ${type}`] as Count;
      assert.deepEqual([shown, managed], [rows, rows], `${name}: sees and manages all ${type}`);
    }
    assert.equal(counts[`outsider: ${type}`]?.shown, 0, `outsider: sees no ${type}`);
    for (const name of ['member', 'team token']) {
      const { rows, shown, managed } = counts[`${name}: ${type}`] as Count;
      assert.ok(managed > 0 && managed <= shown && shown <= rows, `${name}: manages some ${type}`);
      // Every member sees all members; of everything else something is hidden from somebody.
      assert.equal(shown < rows, type !== 'organization-memberships', `${name}: sees a part of ${type}`);
    }
  }
});

const add = (counts: Record<string, Count>, name: string, { rows, shown, managed }: Count): void => {
  const before = counts[name] ?? { rows: 0, shown: 0, managed: 0 };
  counts[name] = { rows: before.rows + rows, shown: before.shown + shown, managed: before.managed + managed };
};

/** The list of a family, and every row of it asked for by itself. */
const agreed = async (caller: Named, { type, list, ids, writes }: Family, dice: Dice, where: string) => {
  const rows = await listed(caller, list, dice.pick([3, 100]));
  const count: Count = { rows: ids.length, shown: 0, managed: 0 };
  for (const id of ids) {
    const path = `/${type}/${id}`;
    const { status, body } = await caller.actor.get(path);
    assert.equal(status, rows.has(id) ? 200 : 404, `${where}: ${id} is ${rows.has(id) ? '' : 'not '}in the list`);
    if (status === 200) assert.deepEqual(body.data, rows.get(id), `${where}: ${id} is shown as it is listed`);
    if (status === 200) count.shown++;
    // With a tag that never holds nothing is changed: 412 says that the caller may, 404 that it may not.
    const method = dice.pick(writes);
    const tag = { 'if-match': '"stale"' };
    const attempt = await caller.actor[method](path, undefined, tag);
    assert.ok([404, 412].includes(attempt.status), `${where}: ${method} ${id} answered ${attempt.text}`);
    if (attempt.status === 404) continue;
    assert.equal(status, 200, `${where}: whoever may ${method} ${id} may read it`);
    count.managed++;
  }
  assert.equal(rows.size, count.shown, `${where}: every listed row is known`);
  return { rows, count };
};

/** A narrower list is the list, narrowed: the access of one team, the tokens of one team, teams by name, the caller's own memberships. */
const narrowed = async (caller: Named, world: RandomWorld, lists: readonly Rows[], dice: Dice, where: string) => {
  const ofTeam = (rows: Rows | undefined, id: string) =>
    [...(rows ?? [])].filter(([, row]) => row.relationships.team.data.id === id);
  const team = dice.pick(world.teams).id;
  const access = await listed(caller, `${accessTo(world.projects[0]?.id ?? '')}&filter%5Bteam%5D%5Bid%5D=${team}`, 1);
  assert.deepEqual([...access], ofTeam(lists[0], team), `${where}: the access of ${team}`);
  const tokens = await listed(caller, `/teams/${team}/authentication-tokens`, 100);
  assert.deepEqual([...tokens], ofTeam(lists.at(-1), team), `${where}: the tokens of ${team}`);
  await teamsByName(caller, world, lists.at(-4), lists.at(-2), where);
  if (caller.name === 'outsider') return;
  await included(caller, world, lists, dice, where);
  await ofProjects(caller, world, lists, dice, where);
  await ofWorkspaces(caller, world, lists, dice, where);
  for (const [id, row] of await listed(caller, '/organization-memberships', 100))
    assert.deepEqual(row, lists.at(-2)?.get(id), `${where}: the caller's own membership`);
};

/** The teams of a name, with the members that they name: each as it is in the list of members. */
const teamsByName = async (
  caller: Named,
  world: RandomWorld,
  teams: Rows | undefined,
  memberships: Rows | undefined,
  where: string,
) => {
  const { name } = world.organizations[0] as { name: string };
  const list = `/organizations/${name}/teams`;
  const bearing = (part: string) => [...(teams ?? [])].filter(([, row]) => row.attributes.name.includes(part));
  assert.deepEqual([...(await listed(caller, `${list}?q=TEAM-`, 2))], bearing('team-'), `${where}: teams by a part`);
  const one = world.teams.length - 1;
  const named = await listed(caller, `${list}?filter%5Bnames%5D=${world.prefix}-team-${one},owners`, 100);
  const expected = [...bearing('owners'), ...bearing(`${world.prefix}-team-${one}`)];
  assert.deepEqual([...named], expected, `${where}: teams by name`);
  for (const [id, { relationships }] of named) {
    const { body } = await caller.actor.get(`/teams/${id}?include=users,organization-memberships`);
    const included = body.included.map(({ type, id }: Json) => `${type} ${id}`).sort();
    const { users, 'organization-memberships': members } = relationships;
    const named = [...users.data, ...members.data].map(({ type, id }: Json) => `${type} ${id}`).sort();
    assert.deepEqual(included, named, `${where}: ${id} includes whom it names`);
    for (const row of body.included.filter(({ type }: Json) => type === 'organization-memberships'))
      assert.deepEqual(row, memberships?.get(row.id), `${where}: ${row.id} is included as it is listed`);
    const inTeam = await listed(caller, `/teams/${id}/relationships/organization-memberships`, 100);
    assert.deepEqual(
      [...inTeam.values()].map(({ id }) => id).sort(),
      members.data.map(({ id }: Json) => id).sort(),
      `${where}: the memberships in ${id}`,
    );
    for (const [id, row] of inTeam) assert.deepEqual(row, memberships?.get(id), `${where}: ${id} is one and the same`);
  }
};

/** What is included is what is named, each once, as it is shown by itself; a search finds what is listed. */
const included = async (caller: Named, world: RandomWorld, lists: readonly Rows[], dice: Dice, where: string) => {
  const [teams, projects, memberships] = lists.slice(-4) as [Rows, Rows, Rows];
  const { name } = world.organizations[0] as { name: string };
  const path = `/organizations/${name}/organization-memberships`;
  const { data, included } = (await caller.actor.get(`${path}?include=user,teams&page%5Bsize%5D=100`)).body;
  const key = ({ type, id }: Json) => `${type} ${id}`;
  const named = data.flatMap(({ relationships }: Json) => [relationships.user.data, ...relationships.teams.data]);
  assert.deepEqual(included.map(key).toSorted(), [...new Set(named.map(key))].toSorted(), `${where}: what is included`);
  for (const resource of included)
    if (resource.type === 'teams') assert.deepEqual(resource, teams.get(resource.id), `${where}: an included team`);

  const person = dice.pick(world.people);
  const narrowings: [string, (row: Json) => boolean][] = [
    ['filter%5Bstatus%5D=active', row => row.attributes.status === 'active'],
    ['filter%5Bstatus%5D=invited', row => row.attributes.status === 'invited'],
    [`filter%5Bemail%5D=${person.email},nobody@example.com`, row => row.attributes.email === person.email],
    [`q=${person.username}`, row => row.relationships.user.data.id === person.id],
  ];
  const [query, belongs] = dice.pick(narrowings);
  const found = await listed(caller, `${path}?${query}`, 1);
  assert.deepEqual([...found.values()], [...memberships.values()].filter(belongs), `${where}: ${query}`);

  const shown = (await caller.actor.get(`/organizations/${name}?include=default-project`)).body;
  const organizations = await listed(caller, `/organizations?q=${name}`, 100);
  assert.deepEqual(organizations.get(name), shown.data, `${where}: the organization is shown as it is listed`);
  const project = projects.get(world.projects.find(({ isDefault }) => isDefault)?.id ?? '');
  assert.deepEqual(shown.included, project ? [project] : [], `${where}: the default project`);
  const may = project?.attributes.permissions['can-create-workspace'] ?? false;
  assert.equal(shown.data.attributes.permissions['can-create-workspace'], may, `${where}: can-create-workspace`);
  // A body with nothing in it makes nothing: 422 says that the caller may, 404 that it may not.
  const attempt = await caller.actor.post(`/organizations/${name}/workspaces`, {});
  assert.equal(attempt.status, may ? 422 : 404, `${where}: a workspace without a project`);
};

/** The workspaces of a project are those of the list that name it, and its count is of them. */
const ofWorkspaces = async (caller: Named, world: RandomWorld, lists: readonly Rows[], dice: Dice, where: string) => {
  const workspaces = [...(lists[world.projects.length] ?? [])];
  const within = (id: string) => workspaces.filter(([, { relationships }]) => relationships.project.data.id === id);
  for (const [id, { attributes }] of lists.at(-3) ?? [])
    assert.equal(attributes['workspace-count'], within(id).length, `${where}: workspace-count of ${id}`);
  const { id, organization } = dice.pick(world.projects);
  const path = `/organizations/${organization}/workspaces?filter%5Bproject%5D%5Bid%5D=${id}`;
  assert.deepEqual([...(await listed(caller, path, 1))], within(id), `${where}: the workspaces of ${id}`);
};

/** A filter finds what the projects themselves say, a sort moves them and no more, and a count is of what the lists show. */
const ofProjects = async (caller: Named, world: RandomWorld, lists: readonly Rows[], dice: Dice, where: string) => {
  const projects = [...(lists.at(-3) ?? []).values()];
  for (const [index, { id }] of world.projects.entries()) {
    const counts = projects.find(project => project.id === id)?.attributes;
    if (!counts) continue;
    assert.equal(counts['team-count'], lists[index]?.size, `${where}: team-count of ${id}`);
    assert.equal(counts['project-count'], projects.length, `${where}: project-count of ${id}`);
  }

  const { name } = world.organizations[0] as { name: string };
  const may = (permission: string) => (project: Json) => project.attributes.permissions[permission];
  const nameOf = (project: Json): string => project.attributes.name;
  const byName = projects.toSorted((a, b) => (nameOf(a).toLowerCase() < nameOf(b).toLowerCase() ? -1 : 1));
  const part = dice.pick(['project', 'PROJECT-1', 'default', '-', 't p', 'nothing']);
  const narrowings: [query: string, expected: Json[]][] = [
    ['filter%5Bpermissions%5D%5Bcreate-workspace%5D=true', projects.filter(may('can-create-workspace'))],
    ['filter%5Bpermissions%5D%5Bupdate%5D=true', projects.filter(may('can-update'))],
    ['filter%5Bpermissions%5D%5Bmove-stack%5D=true', projects.filter(may('can-move-stack'))],
    [
      `q=${encodeURIComponent(part)}`,
      projects.filter(project => nameOf(project).toLowerCase().includes(part.toLowerCase())),
    ],
    ['filter%5Bnames%5D=default%20PROJECT,none', projects.filter(project => nameOf(project) === 'Default Project')],
    ['sort=name', byName],
    ['sort=-name', byName.toReversed()],
  ];
  const [query, expected] = dice.pick(narrowings);
  const found = await listed(caller, `/organizations/${name}/projects?${query}`, dice.pick([1, 2, 100]));
  assert.deepEqual([...found.values()], expected, `${where}: projects with ${query}`);
};
