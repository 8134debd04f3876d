/** A `permissions` block tells the truth: whoever reads that it can, can, and whoever reads that it cannot, cannot. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import type { Json } from './support/client.ts';
import { Dice, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { newStore } from './support/engine.ts';
import { type Held, Model, onProjects, onWorkspaces } from './support/model.ts';
import { reaches } from './support/model-grants.ts';
import {
  type Project,
  RandomWorld,
  randomAccess,
  randomWorkspaceAccess,
  type Team,
  type Workspace,
} from './support/random-world.ts';
import { type Rehearsing, rehearsing } from './support/rehearsal.ts';
import { routesOf } from './support/routes.ts';
import { startServer, type TestServer } from './support/server.ts';
import { contents } from './support/tables.ts';
import { type Actor, Directory, grantBody, workspaceBody } from './support/world.ts';

const target = 10_000;
const fewestWorlds = 20;

// Who asks, about what

type Caller = { readonly name: string; readonly actor: Actor };
type Subject = { readonly type: string; readonly id: string; readonly path: string };

/** One caller before one resource. */
type Scene = {
  readonly stage: Stage;
  readonly caller: Caller;
  readonly subject: Subject;
  readonly attributes: Json;
};

/** A world, and what is there in it for the sake of the questions. */
type Stage = {
  readonly world: RandomWorld;
  readonly model: Model;
  readonly organization: string;
  /** A member that is in no team, and a visible team that is on no project. */
  readonly spareUser: string;
  readonly spareTeam: string;
  /** A row of a visible team with no members on every project, by the project. */
  readonly marks: ReadonlyMap<string, string>;
  /** Two projects in which every team may move workspaces, and a workspace in each. */
  readonly docks: readonly { readonly project: string; readonly ferry: string }[];
};

type Step = readonly [method: string, path: string, data?: Json];

/** How a word of a block is checked: by asking for it, after what makes it possible; where that is not served, by a table. */
type Check = {
  readonly ask?: (scene: Scene) => Step;
  /** What the owner, or the caller itself, does before. */
  readonly byOwner?: (scene: Scene) => readonly Step[];
  readonly byCaller?: (scene: Scene) => readonly Step[];
  readonly fact?: (scene: Scene) => boolean;
};

let made = 0;
const fresh = () => `fresh-${made++}`;

const patching =
  (attributes: (scene: Scene) => Json): ((scene: Scene) => Step) =>
  scene => ['PATCH', scene.subject.path, { type: scene.subject.type, attributes: attributes(scene) }];

// What cannot be asked for here

const inPlace =
  (rule: (held: Held) => boolean) =>
  ({ stage, caller, subject }: Scene): boolean => {
    const id = subject.type === 'organizations' ? defaultProjectOf(stage).id : subject.id;
    const held = stage.model.held(caller.actor.token, id);
    return held !== undefined && rule(held);
  };
const defaultProjectOf = ({ world }: Stage): Project => world.projects.find(({ isDefault }) => isDefault) as Project;
const on = (name: string, value: string | boolean) => inPlace(({ set }) => reaches(set, name, value));
const starting = (value: string) =>
  inPlace(({ set, isOrganization }) => !isOrganization && reaches(set, 'workspace-access/runs', value));
const administering = inPlace(({ administers }) => administers);
const byFlag =
  (...flags: string[]) =>
  ({ stage, caller }: Scene): boolean =>
    stage.model.mayByFlag(caller.actor.token, stage.organization, ...flags);
const owning = byFlag();
const never = () => false;

// Where a workspace goes from here, and what comes here

const relationTo = (project: string) => ({ project: { data: { type: 'projects', id: project } } });

const departing = ({ stage, subject }: Scene): Step => {
  const home = stage.world.workspaces.find(({ id }) => id === subject.id)?.project;
  const dock = stage.docks.find(({ project }) => project !== home);
  return ['PATCH', subject.path, { type: 'workspaces', relationships: relationTo(dock?.project ?? '') }];
};

const arriving = ({ stage, subject }: Scene): Step => {
  const dock = stage.docks.find(({ project }) => project !== subject.id);
  return ['PATCH', `/workspaces/${dock?.ferry}`, { type: 'workspaces', relationships: relationTo(subject.id) }];
};

const tagging = ({ subject }: Scene): Step => [
  'PATCH',
  `${subject.path}/tag-bindings`,
  [{ type: 'tag-bindings', attributes: { key: 'key', value: 'value' } }],
];

const inside = ({ stage }: Scene, family: string): string => `/organizations/${stage.organization}/${family}`;

const checks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  organizations: {
    'can-update': { ask: patching(() => ({ email: `${fresh()}@example.com` })) },
    'can-destroy': { ask: ({ subject }) => ['DELETE', subject.path] },
    'can-create-team': {
      ask: scene => ['POST', inside(scene, 'teams'), named('teams', { visibility: 'organization' })],
    },
    'can-create-project': { ask: scene => ['POST', inside(scene, 'projects'), named('projects')] },
    'can-create-workspace': { ask: scene => ['POST', inside(scene, 'workspaces'), workspaceBody(fresh())] },
    'can-update-api-token': { ask: scene => ['POST', inside(scene, 'authentication-token')] },
    'can-traverse': { ask: ({ subject }) => ['GET', subject.path] },
    'can-manage-auditing': { fact: owning },
    'can-enable-stacks': { fact: owning },
    'can-update-hyok-configuration': { fact: owning },
    'can-view-hyok-feature-info': { fact: owning },
    'can-create-workspace-migration': { fact: on('workspace-access/create', true) },
    'can-deploy-no-code-modules': { fact: on('workspace-access/create', true) },
    'can-manage-no-code-modules': { fact: byFlag('manage-modules') },
    'can-manage-run-tasks': { fact: byFlag('manage-run-tasks') },
    'can-update-oauth': { fact: byFlag('manage-vcs-settings') },
    'can-update-sentinel': { fact: byFlag('manage-policies') },
  },

  teams: {
    'can-update-membership': {
      ask: ({ stage, subject }) => [
        'POST',
        `${subject.path}/relationships/users`,
        [{ type: 'users', id: stage.spareUser }],
      ],
    },
    'can-destroy': { ask: ({ subject }) => ['DELETE', subject.path] },
    // Every team but the owners holds this one, so whoever may change any may take it away.
    'can-update-organization-access': {
      ask: patching(({ attributes }) => ({
        'organization-access': { 'manage-providers': !attributes['organization-access']['manage-providers'] },
      })),
    },
    'can-update-api-token': { ask: ({ subject }) => ['POST', `${subject.path}/authentication-token`] },
    'can-view-api-token': { ask: ({ subject }) => ['GET', `${subject.path}/authentication-tokens`] },
    // To be seen by all is a change of any team that can be changed so at all; the owners are seen already.
    'can-update-visibility': {
      ask: patching(({ stage, subject }) => ({
        visibility: teamOf(stage, subject.id).owners ? 'secret' : 'organization',
      })),
    },
    'can-update-name': { ask: patching(() => ({ name: fresh() })) },
    'can-update-sso-team-id': { ask: patching(() => ({ 'sso-team-id': fresh() })) },
    'can-update-member-token-management': {
      ask: patching(({ attributes }) => ({
        'allow-member-token-management': !attributes['allow-member-token-management'],
      })),
    },
  },

  projects: {
    'can-read': { ask: ({ subject }) => ['GET', subject.path] },
    'can-update': { ask: patching(() => ({ description: fresh() })) },
    // Only an empty one is deleted.
    'can-destroy': {
      byOwner: ({ stage, subject }) =>
        stage.world.workspaces
          .filter(({ project }) => project === subject.id)
          .map(({ id }): Step => ['DELETE', `/workspaces/${id}`]),
      ask: ({ subject }) => ['DELETE', subject.path],
    },
    'can-create-workspace': {
      ask: scene => ['POST', inside(scene, 'workspaces'), workspaceBody(fresh(), scene.subject.id)],
    },
    'can-move-workspace': { ask: arriving },
    'can-move-stack': { fact: on('workspace-access/move', true) },
    'can-deploy-no-code-modules': { fact: on('workspace-access/create', true) },
    'can-read-teams': { ask: ({ stage, subject }) => ['GET', `/team-projects/${stage.marks.get(subject.id)}`] },
    'can-manage-teams': {
      ask: ({ stage, subject }) => [
        'POST',
        '/team-projects',
        grantBody(subject.id, stage.spareTeam, { access: 'custom' }),
      ],
    },
    'can-manage-tags': { ask: tagging, fact: on('project-access/settings', 'update') },
    'can-manage-varsets': { fact: on('project-access/variable-sets', 'write') },
    'can-manage-ephemeral-workspace-for-projects': { fact: on('project-access/settings', 'update') },
    'can-manage-in-hcp': { fact: never },
  },

  workspaces: {
    'can-update': { ask: patching(() => ({ description: fresh() })) },
    'can-destroy': { ask: ({ subject }) => ['POST', `${subject.path}/actions/safe-delete`] },
    'can-force-delete': {
      byOwner: ({ subject }) => [['POST', `${subject.path}/actions/lock`]],
      ask: ({ subject }) => ['DELETE', subject.path],
    },
    'can-move': { ask: departing },
    'can-lock': { ask: ({ subject }) => ['POST', `${subject.path}/actions/lock`] },
    'can-unlock': {
      byCaller: ({ subject }) => [['POST', `${subject.path}/actions/lock`]],
      ask: ({ subject }) => ['POST', `${subject.path}/actions/unlock`],
    },
    'can-force-unlock': {
      byOwner: ({ subject }) => [['POST', `${subject.path}/actions/lock`]],
      ask: ({ subject }) => ['POST', `${subject.path}/actions/force-unlock`],
    },
    'can-read-settings': { ask: ({ subject }) => ['GET', subject.path] },
    'can-manage-tags': { ask: tagging, fact: administering },
    'can-manage-assessments': { ask: patching(() => ({ 'assessments-enabled': true })) },
    'can-manage-ephemeral-workspaces': { ask: patching(() => ({ 'auto-destroy-activity-duration': '14d' })) },
    'can-read-run': { fact: on('workspace-access/runs', 'read') },
    'can-queue-run': { fact: starting('plan') },
    'can-queue-apply': { fact: starting('apply') },
    'can-queue-destroy': { fact: starting('apply') },
    'can-read-variable': { fact: on('workspace-access/variables', 'read') },
    'can-update-variable': { fact: on('workspace-access/variables', 'write') },
    'can-read-state-versions': { fact: on('workspace-access/state-versions', 'read') },
    'can-read-state-outputs': { fact: on('workspace-access/state-versions', 'read-outputs') },
    'can-create-state-versions': { fact: on('workspace-access/state-versions', 'write') },
    'can-manage-run-tasks': { fact: on('workspace-access/run-tasks', true) },
    'can-read-assessment-results': { fact: on('workspace-access/runs', 'read') },
    'can-manage-hyok': { fact: never },
  },
};

const named = (type: string, attributes: Json = {}) => ({ type, attributes: { name: fresh(), ...attributes } });

const teamOf = ({ world }: Stage, id: string): Team => world.teams.find(team => team.id === id) as Team;

// Worlds

const flags = [
  ...['manage-projects', 'manage-workspaces', 'read-projects', 'read-workspaces', 'manage-policies'],
  ...['manage-policy-overrides', 'manage-agent-pools', 'manage-membership', 'manage-teams'],
  ...['manage-organization-access', 'access-secret-teams', 'manage-modules', 'manage-run-tasks', 'manage-vcs-settings'],
];

const populated = async (directory: Directory, dice: Dice, prefix: string) => {
  const world = new RandomWorld(directory, dice, prefix);
  const owner = await world.person('owner');
  const organization = await world.organization(owner, 'org');
  const members = [];
  for (const role of ['one', 'two', 'three', 'four', 'spare']) {
    const person = await world.person(role);
    await world.member(organization, person.email);
    members.push(person);
  }
  const spare = members.pop() as (typeof members)[number];
  const neutral = 'manage-providers';
  const spareTeam = await world.team(organization, { secret: false, members: [], flags: [neutral] });
  const mark = await world.team(organization, { secret: false, members: [], flags: [neutral] });
  const teams: Team[] = [];
  for (let count = 5; count > 0; count--)
    teams.push(
      await world.team(organization, {
        members: dice.some(members, 0.4),
        flags: [...dice.some(flags, dice.pick([0, 0, 0.1, 0.2])), neutral],
      }),
    );
  for (let count = 2; count > 0; count--) await world.project(organization);
  for (const project of world.projects) {
    for (let count = 1 + dice.below(2); count > 0; count--) await world.workspace(project);
    // Of few choices each, so that one is not lost among the others.
    for (const team of dice.some(teams, 0.35)) await world.grant(project, team, randomAccess(dice, 0.2));
  }
  for (const workspace of world.workspaces)
    for (const team of dice.some(teams, 0.25))
      await world.workspaceGrant(workspace, team, randomWorkspaceAccess(dice, 0.2));
  const docks = [];
  for (let count = 2; count > 0; count--) {
    const project = await world.project(organization);
    for (const team of teams)
      await world.grant(project, team, { access: 'custom', 'workspace-access': { move: true } });
    docks.push({ project: project.id, ferry: (await world.workspace(project)).id });
  }
  for (const project of world.projects) await world.grant(project, mark, { access: 'read' });
  const marks = new Map(world.grants.filter(({ team }) => team === mark.id).map(({ project, id }) => [project, id]));
  const tokens = [];
  for (const team of [world.teams[0] as Team, ...dice.some(teams, 0.6)])
    tokens.push({ name: team.owners ? 'owners-team token' : 'team token', ...(await world.teamToken(team)) });
  tokens.push({ name: 'organization token', ...(await world.organizationToken(organization)) });
  const callers: Caller[] = [
    { name: 'owner', actor: world.as(owner.token) },
    ...members.map(({ token }) => ({ name: 'member', actor: world.as(token) })),
    { name: 'member of no team', actor: world.as(spare.token) },
    ...tokens.map(({ name, secret }) => ({ name, actor: world.as(secret) })),
  ];
  const stage: Stage = {
    world,
    model: modelOf(world),
    organization,
    spareUser: spare.username,
    spareTeam: spareTeam.id,
    marks,
    docks,
  };
  return { stage, callers };
};

/** What the model of effective access knows of a world. */
const modelOf = (world: RandomWorld): Model => {
  const model = new Model();
  for (const { organization, user } of world.memberships) model.addMember(organization, user);
  for (const { id, organization, owners, secret, flags, members } of world.teams) {
    model.addTeam(id, organization, { isOwners: owners, visibility: secret ? 'secret' : 'organization', flags });
    for (const member of members) model.team(id)?.members.add(member);
  }
  for (const { id, organization, isDefault } of world.projects) model.addProject(id, organization, isDefault);
  for (const { id, project, name } of world.workspaces) model.addWorkspace(id, project, name);
  for (const { id, team, project, attributes } of world.grants)
    model.addGrant(onProjects, id, team, project, attributes);
  for (const { id, team, workspace, attributes } of world.workspaceGrants)
    model.addGrant(onWorkspaces, id, team, workspace, attributes);
  for (const { secret, user, team, organization } of world.tokens)
    if (user !== undefined) model.issue(secret, { kind: 'user', user });
    else if (team !== undefined) model.issue(secret, { kind: 'team', team });
    else if (organization !== undefined) model.issue(secret, { kind: 'organization', organization });
  return model;
};

const subjectsOf = ({ world, organization }: Stage): Subject[] => {
  const all = (type: string, rows: readonly (Team | Project | Workspace)[]) =>
    rows.map(({ id }) => ({ type, id, path: `/${type}/${id}` }));
  return [
    { type: 'organizations', id: organization, path: `/organizations/${organization}` },
    ...all('teams', world.teams),
    ...all('projects', world.projects),
    ...all('workspaces', world.workspaces),
  ];
};

// The questions

class Questions {
  readonly #store: Rehearsing;
  readonly #isServed: (step: Step) => boolean;
  readonly lies: string[] = [];
  readonly counts = { asked: 0, compared: 0, yes: 0 };
  readonly seen = new Set<string>();

  constructor(store: Rehearsing, isServed: (step: Step) => boolean) {
    this.#store = store;
    this.#isServed = isServed;
  }

  get total(): number {
    return this.counts.asked + this.counts.compared;
  }

  async block(stage: Stage, caller: Caller, subject: Subject, where: string): Promise<void> {
    const { status, body } = await caller.actor.get(subject.path);
    if (status === 404) return;
    const { attributes } = body.data;
    for (const [key, says] of Object.entries<boolean>(attributes.permissions)) {
      const check = checks[subject.type]?.[key];
      assert.ok(check, `no check for ${subject.type} ${key}`);
      const scene = { stage, caller, subject, attributes };
      const { can, why } = await this.#answer(check, scene);
      this.seen.add(`${subject.type} ${key}`);
      if (can) this.counts.yes++;
      if (can !== says) this.lies.push(`${where}: ${caller.name} reads ${key} ${says} on ${subject.path}: ${why}`);
    }
  }

  async #answer(check: Check, scene: Scene): Promise<{ can: boolean; why: string }> {
    const step = check.ask?.(scene);
    if (step && this.#isServed(step)) {
      this.counts.asked++;
      const { status, text } = await this.#store.rehearse(async () => {
        const owner = scene.stage.world.ownerOf(scene.stage.organization);
        for (const before of check.byOwner?.(scene) ?? [])
          assert.ok((await send(owner, before)).status < 300, `${before}`);
        for (const before of check.byCaller?.(scene) ?? []) await send(scene.caller.actor, before);
        return send(scene.caller.actor, step);
      });
      assert.ok(status < 500, text);
      return { can: status < 300, why: `${JSON.stringify(step)} answered ${status} ${status < 300 ? '' : text}` };
    }
    assert.ok(check.fact, `no check for ${JSON.stringify(step)}, which is not served`);
    this.counts.compared++;
    const can = check.fact(scene);
    return { can, why: `its access makes it ${can}` };
  }
}

const send = ({ client, token }: Actor, [method, path, data]: Step) =>
  client.call(token, method, `/api/v2${path}`, data === undefined ? undefined : { data });

const servedBy = async (server: TestServer): Promise<(step: Step) => boolean> => {
  const routes = (await routesOf(server)).map(({ method, path }) => ({
    method,
    matches: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  }));
  return ([method, path]) => {
    const [bare = ''] = `/api/v2${path}`.split('?');
    return routes.some(route => route.method === method && route.matches.test(bare));
  };
};

const tablesOf = async (store: Rehearsing): Promise<string> => JSON.stringify(await store.read(contents));

test(`what permissions say is so: ${target} checks on organizations, teams, projects and workspaces, 0 lies`, async t => {
  printSeed(t);
  const store = rehearsing(await newStore());
  const server = await startServer({ seed: testSeed, store });
  t.after(() => server.close());
  const questions = new Questions(store, await servedBy(server));
  const directory = new Directory(server);
  let worlds = 0;
  for (; worlds < fewestWorlds || questions.total < target; worlds++) {
    const dice = new Dice(testSeed + worlds * 100);
    const { stage, callers } = await populated(directory, dice, `w${worlds}`);
    const before = await tablesOf(store);
    // A part of what there is, so that there can be more worlds.
    for (const caller of callers)
      for (const subject of dice.some(subjectsOf(stage), 0.25))
        await questions.block(stage, caller, subject, `${toRepeat}, world ${worlds}`);
    assert.ok((await tablesOf(store)) === before, 'a rehearsal leaves nothing behind');
    await store.write(tx => tx.run(sql`delete from organizations`));
  }
  const { counts, lies, seen, total } = questions;
  t.diagnostic(`${total} checks in ${worlds} worlds, 0 lies wanted, ${lies.length} found: ${JSON.stringify(counts)}`);
  const unseen = Object.entries(checks).flatMap(([type, keys]) =>
    Object.keys(keys).flatMap(key => (seen.has(`${type} ${key}`) ? [] : [`${type} ${key}`])),
  );
  t.diagnostic(`checks for which no block has a word: ${unseen.join(', ') || 'none'}`);
  assert.equal(lies.length, 0, `${lies.length} lies:\n${lies.slice(0, 10).join('\n')}`);
  assert.ok(total >= target, `only ${total} checks`);
  // Most are asked, and neither answer is rare.
  assert.ok(counts.asked > total / 3, `only ${counts.asked} of ${total} were asked`);
  assert.ok(counts.yes > total / 5 && counts.yes < (4 * total) / 5, `${counts.yes} of ${total} can`);
});
