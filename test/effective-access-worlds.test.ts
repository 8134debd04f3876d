/** Effective access against the reference model, in random worlds: every caller, every direction, every reason, every filter. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from './support/client.ts';
import { Dice, inFull, printSeed, testSeed, toRepeat } from './support/dice.ts';
import {
  type Caller,
  EffectiveModel,
  factsOf,
  filterValues,
  permissionNames,
  rankOf,
  type Subject,
} from './support/effective-model.ts';
import { flagNames, flagsAttribute, RandomWorld, type Team } from './support/random-world.ts';
import { startServer, type TestServer } from './support/server.ts';
import { type Actor, Directory } from './support/world.ts';

const worlds = inFull ? 200 : 8;

let server: TestServer;
before(async () => {
  server = await startServer({ seed: testSeed });
});
after(() => server.close());

// A world in which everything that gives something meets everything that hides it

const populated = async (directory: Directory, dice: Dice, prefix: string): Promise<RandomWorld> => {
  const world = new RandomWorld(directory, dice, prefix);
  const owner = await world.person('owner');
  const organization = await world.organization(owner, 'org');
  const members = [];
  for (let count = 3 + dice.below(2); count > 0; count--) {
    const person = await world.person(`member-${count}`);
    await world.member(organization, person.email);
    members.push(person);
  }
  await world.member(organization, `${prefix}@guest.example`);
  for (let count = 4 + dice.below(3); count > 0; count--)
    await world.team(organization, {
      members: dice.some([...members, owner], 0.4),
      flags: [
        ...dice.some(flagNames, dice.pick([0, 0, 0.1, 0.3])),
        // Who sees secret teams need not see their grants.
        ...(dice.chance(0.2) ? ['access-secret-teams', 'manage-membership'] : []),
      ],
    });
  for (let count = 2; count > 0; count--) await world.project(organization);
  for (const project of world.projects)
    for (const team of dice.some(world.teams, 0.4)) {
      const ofTeams = { access: 'custom', 'project-access': { teams: dice.pick(['read', 'manage']) } };
      await world.grant(project, team, dice.chance(0.3) ? ofTeams : undefined);
    }
  for (let count = 2 + dice.below(2); count > 0; count--) {
    const workspace = await world.workspace(dice.pick(world.projects));
    for (const team of dice.some(world.teams, 0.3)) await world.workspaceGrant(workspace, team);
  }
  return world;
};

type Asking = { readonly name: string; readonly actor: Actor; readonly caller: Caller };

/** One of those who act as an owner, every member, and some teams. */
const callersIn = async (world: RandomWorld): Promise<[owner: Asking, ...others: Asking[]]> => {
  const [owner, ...members] = world.people.map(({ id, token }) => ({ actor: world.as(token), caller: { user: id } }));
  const [owners, ...teams] = world.teams as [Team, ...Team[]];
  const byTeam = async (team: Team) => ({
    actor: world.as((await world.teamToken(team)).secret),
    caller: { team: team.id },
  });
  const organizationToken = world.as((await world.organizationToken(owners.organization)).secret);
  const first = world.dice.pick([
    { name: 'owner', ...(owner as Omit<Asking, 'name'>) },
    { name: 'organization token', actor: organizationToken, caller: 'organization' as const },
    { name: 'owners-team token', ...(await byTeam(owners)) },
  ]);
  const some = [];
  for (const team of teams.slice(0, 2)) some.push({ name: 'team token', ...(await byTeam(team)) });
  return [first, ...members.map(each => ({ name: 'member', ...each })), ...some];
};

// Lists

/** A list of the service and what the model says of it. */
type Question = {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly direction: string;
  readonly expected: readonly Json[] | undefined;
};

const questionsFor = (model: EffectiveModel, { caller, name }: Pick<Asking, 'caller' | 'name'>): Question[] => {
  const { organization, projects, workspaces, members, teams } = model.facts;
  const kinds = ['projects', 'workspaces'] as const;
  const everybody = [...projects.map(({ id }) => `projects/${id}`), ...workspaces.map(({ id }) => `workspaces/${id}`)];
  const self: Subject =
    caller === 'organization'
      ? { type: 'organizations', id: organization }
      : 'user' in caller
        ? { type: 'users', id: caller.user }
        : { type: 'teams', id: caller.team };
  const everywhere = [
    ...members.map(({ id }) => ({ path: `/users/${id}`, subject: { type: 'users', id } as Subject })),
    ...teams.map(({ id }) => ({ path: `/teams/${id}`, subject: { type: 'teams', id } as Subject })),
    { path: '/account', subject: self },
  ];
  return [
    ...everybody.flatMap(place =>
      (['users', 'teams'] as const).map(subjects => ({
        path: `/${place}`,
        query: { 'filter[subject]': subjects },
        direction: `${place.split('/')[0]} → ${subjects}`,
        expected: model.everybody(caller, place.split('/')[1] as string, subjects),
      })),
    ),
    ...everywhere.flatMap(({ path, subject }) =>
      kinds.map(kind => ({
        path,
        query: { 'filter[organization][name]': organization, 'filter[resource]': kind },
        direction: `${path.split('/')[1]} → ${kind}`,
        expected: model.everywhere(caller, subject, kind),
      })),
    ),
  ].map(question => ({ ...question, direction: `${name}: ${question.direction}` }));
};

/** Every page of a list; nothing where it is not there. */
const listed = async (
  actor: Actor,
  { path, query }: Pick<Question, 'path' | 'query'>,
  size: number,
  where: string,
): Promise<Json[] | undefined> => {
  const rows: Json[] = [];
  for (let page = 1; ; page++) {
    const search = new URLSearchParams({ ...query, 'page[number]': `${page}`, 'page[size]': `${size}` });
    const { status, body, text } = await actor.get(`${path}/effective-access?${search}`);
    if (status === 404 && page === 1) return undefined;
    assert.equal(status, 200, `${where}: ${text}`);
    rows.push(...body.data);
    const { 'total-count': total, 'next-page': next } = body.meta.pagination;
    if (next === null) {
      assert.equal(total, rows.length, `${where}: total-count is the number of rows`);
      return rows;
    }
    assert.equal(body.data.length, size, `${where}: a page before the last is full`);
  }
};

const valueIn = ({ attributes }: Json, name: string) => {
  const [group = '', key = ''] = name.split('/');
  return attributes[group][key];
};
const reasonsOf = ({ attributes }: Json, name: string): Json[] => {
  const [group = '', key = ''] = name.split('/');
  return attributes.reasons[group][key];
};
const filterOf = (name: string): string => `filter[${name.replace('/', '][')}]`;

const randomFilters = (dice: Dice): Record<string, string> =>
  Object.fromEntries(
    dice
      .some(permissionNames, 0.15)
      .map(name => [filterOf(name), `${dice.pick(filterValues[name] as readonly unknown[])}`]),
  );

/** What a plain filter leaves of a list. */
const filtered = (rows: readonly Json[] | undefined, filters: Readonly<Record<string, string>>) =>
  rows?.filter(row =>
    permissionNames.every(name => {
      const least = filters[filterOf(name)];
      const value = filterValues[name]?.find(value => `${value}` === least);
      return least === undefined || rankOf(name, valueIn(row, name)) >= rankOf(name, value);
    }),
  );

// Reasons

/** The world without what a reason stands for. */
const without = (model: EffectiveModel, reason: Json): EffectiveModel => {
  const { teams, grants, workspaceGrants } = model.facts;
  const { scope, 'grant-id': id, 'organization-permission': by, 'team-id': team } = reason;
  if (scope === 'project') return model.with({ grants: grants.filter(grant => grant.id !== id) });
  if (scope === 'workspace') return model.with({ workspaceGrants: workspaceGrants.filter(grant => grant.id !== id) });
  return model.with({
    teams: teams.map(each => {
      if (each.id !== team) return each;
      return by === 'owners' ? { ...each, owners: false } : { ...each, flags: each.flags.filter(flag => flag !== by) };
    }),
  });
};

const highest = (name: string, values: readonly Json[]) =>
  values.reduce((high, value) => (rankOf(name, value) > rankOf(name, high) ? value : high), filterLowest(name));
const filterLowest = (name: string) => (/settings|runs$/.test(name) ? null : filterValues[name]?.[0]);

/** Each permission is the join of its reasons; and without any one of them, the join of the others. */
const checkReasons = (model: EffectiveModel, row: Json, where: string): number => {
  const { subject, project, workspace } = row.relationships;
  const place = model.place((workspace ?? project).data.id);
  assert.ok(place, where);
  const all = permissionNames.flatMap(name => reasonsOf(row, name));
  const key = ({ scope, 'grant-id': id, 'organization-permission': by, 'team-id': team }: Json) =>
    `${scope} ${id} ${by} ${team}`;
  for (const name of permissionNames) {
    const values = reasonsOf(row, name).map(({ value }) => value);
    assert.equal(valueIn(row, name), highest(name, values), `${where}: ${name} is the join of its reasons`);
  }
  if (subject.data.type === 'organizations') return 0;
  const distinct = new Map(all.map(reason => [key(reason), reason]));
  for (const [one, reason] of distinct) {
    const held = without(model, reason).held(subject.data, place);
    for (const name of permissionNames) {
      const others = reasonsOf(row, name).filter(other => key(other) !== one);
      const expected = highest(
        name,
        others.map(({ value }) => value),
      );
      assert.equal(held[name], expected, `${where}: ${name} without ${one}`);
    }
  }
  return distinct.size;
};

const counts: Record<string, number> = {};
const count = (what: string, times = 1) => {
  counts[what] = (counts[what] ?? 0) + times;
};

test(`effective access is what the model says, for every caller, direction, reason and filter of ${worlds} random worlds`, async t => {
  printSeed(t);
  const directory = new Directory(server);
  for (let number = 0; number < worlds; number++) {
    const seed = testSeed + number * 100;
    const dice = new Dice(seed);
    const world = await populated(directory, dice, `w${number}`);
    const [owner, ...others] = await callersIn(world);
    const organization = (world.organizations[0] as { name: string }).name;
    const model = new EffectiveModel(factsOf(world, organization));
    const where = `${toRepeat}, world ${number}`;

    // The same resource in every direction, byte for byte.
    const seen = new Map<string, string>();
    const ask = async (asking: Asking, question: Question, filters: Readonly<Record<string, string>> = {}) => {
      const { path, query, direction, expected } = question;
      const asked = { path, query: { ...query, ...filters } };
      const what = `${where}, ${direction}, ${path} ${JSON.stringify(asked.query)}`;
      const rows = await listed(asking.actor, asked, dice.pick([1, 2, 3, 100, 100, 100, 100]), what);
      assert.deepEqual(rows, filtered(expected, filters), what);
      count(Object.keys(filters).length > 0 ? 'lists with filters' : 'lists');
      count('permissions', (rows?.length ?? 0) * permissionNames.length);
      if (!rows) count('lists that are not there');
      return rows ?? [];
    };

    for (const question of questionsFor(model, owner)) {
      for (const row of await ask(owner, question)) {
        const text = JSON.stringify(row);
        assert.equal(seen.get(row.id) ?? text, text, `${where}: ${question.path} shows ${row.id} as another list does`);
        if (!seen.has(row.id)) count('reasons taken away', checkReasons(model, row, `${where}, ${row.id}`));
        seen.set(row.id, text);
      }
      await ask(owner, question, randomFilters(dice));
    }
    // Every filter once, in some direction.
    const questions = questionsFor(model, owner);
    for (const name of permissionNames)
      for (const value of filterValues[name] ?? [])
        await ask(owner, dice.pick(questions), { [filterOf(name)]: `${value}` });

    for (const asking of others)
      for (const question of questionsFor(model, asking)) {
        for (const row of await ask(asking, question)) {
          const whole = JSON.parse(seen.get(row.id) ?? '{}');
          if (row.attributes['project-name'] === null) whole.attributes['project-name'] = null;
          const isWhole = JSON.stringify(row) === JSON.stringify(whole);
          if (!isWhole) count('resources told in part');
          if (row.attributes['subject-name'] === null) count('teams known by a grant alone');
          // What somebody is told of itself is all that there is, but for what a hidden project is called.
          if (question.path === '/account') assert.ok(isWhole, `${where}: ${row.id} of the account`);
        }
        if (dice.chance(0.5)) await ask(asking, question, randomFilters(dice));
      }

    await tryWithout(world, model, owner, dice, where);
  }
  t.diagnostic(`0 differences in ${JSON.stringify(counts)}`);
  const met = [
    'lists that are not there',
    'resources told in part',
    'teams known by a grant alone',
    'reasons taken away',
  ];
  for (const what of met) assert.ok((counts[what] ?? 0) > 0, `no ${what}`);
});

/** Over HTTP: without a grant, an organization-level permission or an owner, the lists are what the model says; and with it again, as before. */
const tryWithout = async (
  world: RandomWorld,
  model: EffectiveModel,
  { actor, caller, name }: Asking,
  dice: Dice,
  where: string,
): Promise<void> => {
  const { organization, teams, grants, workspaceGrants, projects, workspaces } = model.facts;
  const places = [...projects, ...workspaces].map(({ id }) => id);
  const compare = async (model: EffectiveModel, what: string) => {
    const place = dice.pick(places);
    const questions = questionsFor(model, { caller, name }).filter(({ path }) => path.endsWith(place));
    for (const question of [...questions, dice.pick(questionsFor(model, { caller, name }))])
      assert.deepEqual(
        await listed(actor, question, 100, where),
        question.expected,
        `${where}: ${what}, ${question.path}`,
      );
    count('lists after a change');
  };
  const done = async (answer: Promise<{ status: number; text: string }>) => {
    const { status, text } = await answer;
    assert.ok(status < 300, `${where}: ${status} ${text}`);
  };
  const chief = world.ownerOf(organization);

  const flagged = teams.filter(({ flags }) => flags.length > 0);
  if (flagged.length > 0) {
    const team = dice.pick(flagged);
    const flag = dice.pick(team.flags);
    const set = (on: boolean) =>
      chief.patch(`/teams/${team.id}`, {
        attributes: { 'organization-access': { ...flagsAttribute([flag]), [flag]: on } },
      });
    await done(set(false));
    const less = { ...team, flags: team.flags.filter(other => other !== flag) };
    await compare(model.with({ teams: teams.map(each => (each === team ? less : each)) }), `without ${flag}`);
    await done(set(true));
    await compare(model, `with ${flag} again`);
  }

  const second = world.people[1] as (typeof world.people)[number];
  const [owners] = teams as [Team, ...Team[]];
  const path = `/teams/${owners.id}/relationships/users`;
  const data = [{ type: 'users', id: second.username }];
  await done(chief.post(path, data));
  const more = { ...owners, members: [...owners.members, second.id] };
  await compare(model.with({ teams: teams.map(each => (each === owners ? more : each)) }), 'with another owner');
  await done(chief.delete(path, data));
  await compare(model, 'without another owner');

  const left = <T extends { readonly id: string }>(rows: readonly T[], row: T | undefined) =>
    rows.filter(({ id }) => id !== row?.id);
  const grant = grants.length > 0 ? dice.pick(grants) : undefined;
  const fewer = model.with({ grants: left(grants, grant) });
  if (grant) {
    await done(chief.delete(`/team-projects/${grant.id}`));
    await compare(fewer, `without ${grant.id}`);
  }
  const onWorkspace = workspaceGrants.length > 0 ? dice.pick(workspaceGrants) : undefined;
  if (onWorkspace) {
    await done(chief.delete(`/team-workspaces/${onWorkspace.id}`));
    await compare(fewer.with({ workspaceGrants: left(workspaceGrants, onWorkspace) }), `without ${onWorkspace.id}`);
  }
};
