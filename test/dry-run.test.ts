/** A dry run is the write itself, undone: it answers as the write does, tells what the write does, and leaves no trace. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, Json } from './support/client.ts';
import { Dice, inFull, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { engine } from './support/engine.ts';
import { reaches } from './support/model-grants.ts';
import { flagNames, RandomWorld, randomAccess } from './support/random-world.ts';
import { anyCaller, anyWrite } from './support/random-writes.ts';
import {
  hasPlainAdmin,
  held,
  isOwner,
  projectChanges,
  type State,
  stateOf,
  type Team,
  type Token,
  teamsOfUser,
  workspaceChanges,
} from './support/reference-access.ts';
import { startServer, type TestServer } from './support/server.ts';
import { contents } from './support/tables.ts';
import { Directory } from './support/world.ts';

const short = engine === 'sqlite' ? 300 : 100;
const target = inFull ? 10_000 : short;
const perWorld = 100;

const populated = async (server: TestServer, dice: Dice): Promise<RandomWorld> => {
  const world = new RandomWorld(new Directory(server), dice, 'w');
  const people = [];
  for (const role of ['owner', 'second', 'bea', 'cas', 'dan', 'fay']) people.push(await world.person(role));
  const [owner, second, ...others] = people as [(typeof people)[0], (typeof people)[0]];
  const names = [await world.organization(owner, 'one'), await world.organization(second, 'two')];
  for (const name of names) {
    for (const { email } of others) if (dice.chance(0.8)) await world.member(name, email);
    for (const guest of ['guest', 'caller']) if (dice.chance(0.7)) await world.member(name, `${guest}@example.com`);
    const here = others.filter(({ id }) =>
      world.memberships.some(each => each.user === id && each.organization === name),
    );
    for (let more = 0; more < 4; more++)
      await world.team(name, { members: dice.some(here, 0.4), flags: dice.some(flagNames, 0.04) });
    for (let more = 0; more < 2; more++) await world.project(name);
  }
  const teamsIn = (name: string) => world.teams.filter(({ organization, owners }) => organization === name && !owners);
  for (const project of world.projects) {
    for (const team of teamsIn(project.organization))
      if (dice.chance(0.5))
        await world.grant(project, team, dice.chance(0.3) ? { access: 'admin' } : randomAccess(dice, 0.2));
    if (dice.chance(0.7)) await world.workspace(project);
  }
  for (const workspace of world.workspaces)
    for (const team of teamsIn(workspace.organization))
      if (dice.chance(0.4)) await world.workspaceGrant(workspace, team);
  for (const team of dice.some(world.teams, 0.5)) await world.singleTeamToken(team);
  for (const name of names) await world.organizationToken(name);
  return world;
};

/** What the caller manages in an organization; the places are those that are there at both times. */
const managed = (state: State, { user, team, organization: own }: Token, organization: string, both: State) => {
  const exists = state.organizations.some(({ id }) => id === organization);
  const isToken = own === organization;
  // To an organization that takes no tokens of users, its own members' are none.
  const present = state.organizations.some(({ id, takesUsers }) => id === organization && takesUsers) ? user : null;
  const teams: Team[] =
    user !== null
      ? teamsOfUser(state, present ?? '', organization)
      : state.teams.filter(({ id, organization: of }) => id === team && of === organization);
  const isMember =
    isToken ||
    teams.length > 0 ||
    state.members.some(each => present !== null && each.user === present && each.organization === organization);
  const owner = isToken || teams.some(({ name }) => name === 'owners');
  const flags = teams.flatMap(({ flags }) => flags);
  const projects = state.projects.filter(
    project =>
      project.organization === organization &&
      both.projects.some(({ id }) => id === project.id) &&
      (isToken || reaches(held(state, teams, { project }).set, 'project-access/teams', 'manage')),
  );
  const workspaces = state.workspaces.filter(workspace => {
    const project = state.projects.find(({ id }) => id === workspace.project);
    return (
      project?.organization === organization &&
      both.workspaces.some(({ id }) => id === workspace.id) &&
      (isToken || held(state, teams, { project, workspace }).administers)
    );
  });
  return {
    exists,
    isMember,
    workspaces: workspaces.map(({ id }) => id),
    rights: [
      ...(isMember ? ['member'] : []),
      ...(owner ? ['owner'] : []),
      ...(owner || flags.includes('manage-teams') || flags.includes('manage-organization-access') ? ['teams'] : []),
      ...projects.map(({ id }) => id),
    ],
  };
};

/** Whether the caller is locked out: certainly, or perhaps, by what it no longer administers. */
const lockOut = (before: State, after: State, caller: Token, organization: string): 'yes' | 'no' | 'perhaps' => {
  const was = managed(before, caller, organization, after);
  const is = managed(after, caller, organization, before);
  if (was.exists && !is.exists) return 'no';
  const lost = was.rights.some(right => !is.rights.includes(right));
  if (!after.tokens.some(({ id }) => id === caller.id) || lost) return 'yes';
  return was.workspaces.every(id => is.workspaces.includes(id)) ? 'no' : 'perhaps';
};

const nothingChanged = {
  changes: [],
  'changes-count': 0,
  complete: true,
  'caller-locked-out': false,
  'projects-without-admin': [],
};

/** The effect that an audit row tells, held against everybody's access everywhere before and after. */
const expectTrue = (effect: Json, organization: string, before: State, after: State, caller: Token): void => {
  const onWorkspace = (change: Json) => change.workspace !== undefined;
  const listed = effect.changes as Json[];
  assert.deepEqual(
    listed.filter(change => !onWorkspace(change)),
    projectChanges(before, after, organization),
    'who gains or loses what on which project',
  );
  const onWorkspaces = workspaceChanges(before, after, organization);
  const texts = onWorkspaces.map(({ change }) => JSON.stringify(change));
  for (const change of listed.filter(onWorkspace))
    assert.ok(texts.includes(JSON.stringify(change)), `untrue of a workspace: ${JSON.stringify(change)}`);
  const told = listed.map(change => JSON.stringify(change));
  for (const { due, change } of onWorkspaces)
    assert.ok(!due || told.includes(JSON.stringify(change)), `untold of a workspace: ${JSON.stringify(change)}`);
  assert.equal(effect['changes-count'], listed.length);
  assert.equal(effect.complete, true);
  const left = before.projects.filter(
    project =>
      project.organization === organization &&
      hasPlainAdmin(before, project) &&
      after.projects.some(({ id }) => id === project.id) &&
      !hasPlainAdmin(after, project),
  );
  assert.deepEqual(effect['projects-without-admin'].map(({ id }: Json) => id).sort(), left.map(({ id }) => id).sort());
  const expected = lockOut(before, after, caller, organization);
  if (expected !== 'perhaps')
    assert.equal(effect['caller-locked-out'], expected === 'yes', 'whether the caller is out');
};

const withoutEffect = ({ status, text, body }: Answer, real: Answer): string => {
  if (status >= 400) return `${status} ${text}`;
  const { effect, ...meta } = body.meta;
  assert.ok(effect);
  const { meta: _, ...document } = body;
  if (real.status === 204) return `204 ${Object.keys({ ...document, ...meta })}`;
  return `${status} ${JSON.stringify(Object.keys(meta).length > 0 ? { ...document, meta } : document)}`;
};

test(`${target} random writes: a dry run answers as the write, tells its effect truly, and leaves the database as it was`, async t => {
  printSeed(t);
  const counted: Record<string, number> = {};
  let telling = 0;
  let locked = 0;
  let orphaned = 0;
  for (let done = 0; done < target; ) {
    const seed = testSeed + done;
    const dice = new Dice(seed);
    const server = await startServer({ seed });
    const { client, store } = server;
    try {
      const world = await populated(server, dice);
      const secrets = new Map(world.tokens.map(({ id, secret }) => [id, secret]));
      const dumped = async () => JSON.stringify(await store.read(contents));
      const look = async () => ({ state: await store.read(stateOf), dump: await dumped() });
      let { state: before, dump } = await look();
      const admin = before.tokens.find(({ id }) => !secrets.has(id)) as Token;
      secrets.set(admin.id, server.adminToken);
      for (let number = 0; number < perWorld && done < target && before.organizations.length > 0; number++, done++) {
        const { write, organization } = anyWrite(dice, before, `fresh-${number}`);
        const caller = write.path.startsWith('/admin/')
          ? { id: admin.id, secret: server.adminToken }
          : anyCaller(dice, before, secrets, organization);
        // Whoever makes the world go on stays.
        const isVital =
          write.method === 'DELETE' && (write.path.endsWith(admin.id) || write.path.endsWith(admin.user ?? ''));
        const where = `${toRepeat.replace(`${testSeed}`, `${seed}`)}, write ${number}: ${caller.id} ${write.method} ${write.path} ${JSON.stringify(write.data)}`;
        const headers: Record<string, string> = dice.chance(0.05) ? { 'if-match': '"stale"' } : {};
        const call = (path: string) => {
          server.reseed(seed * perWorld + number);
          const body = write.data && { data: write.data };
          return client.call(caller.secret, write.method, `/api/v2${path}`, body, headers);
        };
        const dry = await call(`${write.path}?dry-run=true`);
        assert.ok((await dumped()) === dump, `${where}: a dry run leaves a trace`);
        if (isVital) continue;
        const real = await call(write.path);
        try {
          assert.equal(withoutEffect(dry, real), `${real.status} ${real.text}`, 'the same answer');
          const { state: after, dump: next } = await look();
          const known = new Set(before.audit.map(({ id }) => id));
          const rows = after.audit.filter(({ id }) => !known.has(id));
          assert.equal(rows.length > 0, real.status < 300);
          const token = before.tokens.find(({ id }) => id === caller.id) as Token;
          // Of several rows that an organization gets, the first tells the effect of all.
          const first = rows.filter(
            (row, index) => rows.findIndex(each => each.organization === row.organization) === index,
          );
          for (const row of rows) if (!first.includes(row)) assert.equal(row.effect, null);
          for (const { organization, effect } of first) {
            const told = effect === null ? nothingChanged : JSON.parse(effect);
            assert.notDeepEqual(effect, JSON.stringify(nothingChanged), 'an empty effect is none');
            if (organization !== null) expectTrue(told, organization, before, after, token);
            else assert.deepEqual(told.changes, []);
            if (told['changes-count'] > 0) telling++;
            if (told['caller-locked-out']) locked++;
            orphaned += told['projects-without-admin'].length;
            const isOwners =
              token.organization === organization ||
              (token.user !== null && isOwner(before, token.user, organization ?? '')) ||
              before.teams.some(
                ({ id, name, organization: of }) => id === token.team && of === organization && name === 'owners',
              ) ||
              !before.organizations.some(({ id }) => id === organization);
            if (first.length === 1 && isOwners) assert.deepEqual(dry.body.meta.effect, told, 'foretold to an owner');
            if (first.length === 1) assert.equal(dry.body.meta.effect['caller-locked-out'], told['caller-locked-out']);
          }
          const touched = before.organizations.filter(
            ({ id }) => !rows.some(({ organization }) => organization === id),
          );
          for (const { id } of touched) assert.deepEqual(projectChanges(before, after, id), [], 'untold elsewhere');
          before = after;
          dump = next;
        } catch (error) {
          (error as Error).message = `${where} answered ${real.status}: ${(error as Error).message}`;
          throw error;
        }
        const key = `${write.kind} ${real.status < 300 ? 'done' : 'refused'}`;
        counted[key] = (counted[key] ?? 0) + 1;
        const { id, attributes } = real.body?.data ?? {};
        if (real.status === 201 && attributes?.token) secrets.set(id, attributes.token);
      }
    } finally {
      await server.close();
    }
  }
  t.diagnostic(
    `${telling} effects that change access, ${locked} lock-outs, ${orphaned} projects left without an admin`,
  );
  t.diagnostic(JSON.stringify(Object.fromEntries(Object.entries(counted).toSorted())));
  assert.ok(telling > target / 10);
});
