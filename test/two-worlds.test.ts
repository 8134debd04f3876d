/** A hidden row must not change one byte of an answer: worlds that differ in hidden rows only, the same requests to both. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Answer, Json } from './support/client.ts';
import { Dice, inFull, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { filterValues } from './support/effective-model.ts';
import {
  flagNames,
  flagsAttribute,
  type Grant,
  type Person,
  type Project,
  RandomWorld,
  randomAccess,
  randomChoices,
  randomWorkspaceAccess,
  type Team,
  type TeamsAccess,
  type Token,
  type Workspace,
  type WorkspaceGrant,
} from './support/random-world.ts';
import { type Route, routesOf } from './support/routes.ts';
import { startServer, type TestServer } from './support/server.ts';
import { Directory, grantBody, mediaType, workspaceBody, workspaceGrantBody } from './support/world.ts';

const kinds = [
  'plain member',
  'member of a visible team',
  'member of a secret team',
  'holder of teams=read',
  'project admin',
  'workspace admin',
  'manager of teams and members',
  'holder of read-projects',
  'team token',
  'owner',
  'member of the other organization',
  'user without an organization',
] as const;
type Kind = (typeof kinds)[number];

/** Of each kind of caller, in how many worlds it asks, and how often in each, about which routes. */
type Extent = { readonly worldsPerKind: number; readonly requestsPerWorld: number; readonly about: RegExp };

const everything: Extent = { worldsPerKind: 4, requestsPerWorld: 220, about: /^/ };

/** Questions about others, which look through many rows: who adds such a route adds it here. */
const questions: Extent = {
  worldsPerKind: inFull ? 8 : 1,
  requestsPerWorld: inFull ? 120 : 60,
  about: /\/(effective-access|audit-events|access-review)$|\/projects\/[^/]+\/team-projects$|\/access\/v1\//,
};

// Callers, and what they may see by the tables of the design

type Caller = {
  readonly token: string;
  readonly tokenId: string;
  readonly user?: string;
  readonly team?: string;
};

class Sight {
  readonly #world: RandomWorld;
  readonly #caller: Caller;

  constructor(world: RandomWorld, caller: Caller) {
    this.#world = world;
    this.#caller = caller;
  }

  #isOwn({ id, members }: Team): boolean {
    return id === this.#caller.team || members.some(member => member === this.#caller.user);
  }

  #team(id: string | undefined): Team | undefined {
    return this.#world.teams.find(team => team.id === id);
  }

  belongsTo(organization: string): boolean {
    const { user, team } = this.#caller;
    return user === undefined
      ? this.#team(team)?.organization === organization
      : this.#world.memberships.some(
          membership => membership.organization === organization && membership.user === user,
        );
  }

  #holds(organization: string, ...anyOf: string[]): boolean {
    const own = this.#world.teams.filter(team => team.organization === organization && this.#isOwn(team));
    return own.some(({ flags, owners }) => owners || flags.some(flag => anyOf.includes(flag)));
  }

  #teamsAccess({ organization, project }: Grant): TeamsAccess {
    if (this.#holds(organization, 'manage-projects')) return 'manage';
    const held = this.#world.grants
      .filter(({ project: on, team }) => on === project && this.#isOwn(this.#team(team) as Team))
      .map(({ teams }) => teams);
    return (['manage', 'read'] as const).find(access => held.includes(access)) ?? 'none';
  }

  ofGrant(grant: Grant): boolean {
    const team = this.#team(grant.team) as Team;
    const access = this.#teamsAccess(grant);
    return (
      this.belongsTo(grant.organization) &&
      (access === 'manage' || this.#isOwn(team) || (access === 'read' && !team.secret))
    );
  }

  #hasGrantOn(project: string, ...levels: string[]): boolean {
    return this.#world.grants.some(
      ({ project: on, team, access }) =>
        on === project && this.#isOwn(this.#team(team) as Team) && (levels.length === 0 || levels.includes(access)),
    );
  }

  #hasWorkspaceGrantOn(workspace: string, ...levels: string[]): boolean {
    return this.#world.workspaceGrants.some(
      ({ workspace: on, team, attributes }) =>
        on === workspace &&
        this.#isOwn(this.#team(team) as Team) &&
        (levels.length === 0 || levels.includes(attributes.access)),
    );
  }

  ofWorkspace({ id, organization, project }: Workspace): boolean {
    const administering = ['manage-projects', 'manage-workspaces'];
    const reading = ['read-workspaces', 'manage-policy-overrides', 'manage-agent-pools', 'manage-policies'];
    return (
      this.belongsTo(organization) &&
      (this.#holds(organization, ...administering, ...reading) ||
        this.#hasGrantOn(project) ||
        this.#hasWorkspaceGrantOn(id))
    );
  }

  /** Whoever administers the workspace sees all access to it, and everybody that of the own teams. */
  ofWorkspaceGrant({ organization, workspace, team }: WorkspaceGrant): boolean {
    const { project } = this.#world.workspaces.find(({ id }) => id === workspace) as Workspace;
    return (
      this.belongsTo(organization) &&
      (this.#isOwn(this.#team(team) as Team) ||
        this.#holds(organization, 'manage-projects', 'manage-workspaces') ||
        this.#hasGrantOn(project, 'maintain', 'admin') ||
        this.#hasWorkspaceGrantOn(workspace, 'admin'))
    );
  }

  /** Its name, its members and what it has in the organization. */
  ofTeamItself(team: Team): boolean {
    const { organization } = team;
    const seesAll =
      this.#holds(organization, 'access-secret-teams') &&
      this.#holds(organization, 'manage-membership', 'manage-teams', 'manage-organization-access');
    return this.belongsTo(organization) && (!team.secret || this.#isOwn(team) || seesAll);
  }

  /** Itself, or by a row of its access. */
  ofTeam(team: Team): boolean {
    return (
      this.ofTeamItself(team) ||
      this.#world.grants.some(grant => grant.team === team.id && this.ofGrant(grant)) ||
      this.#world.workspaceGrants.some(grant => grant.team === team.id && this.ofWorkspaceGrant(grant))
    );
  }

  ofProject({ id, organization }: Project): boolean {
    const shown = ['manage-projects', 'manage-workspaces', 'read-projects', 'manage-agent-pools'];
    return this.belongsTo(organization) && (this.#holds(organization, ...shown) || this.#hasGrantOn(id));
  }

  ofToken({ id, user, team, organization }: Token): boolean {
    if (id === this.#caller.tokenId || (user !== undefined && user === this.#caller.user)) return true;
    if (user !== undefined) return false;
    // An owner sees the organization's token, and no other caller does.
    if (organization !== undefined) return this.#holds(organization);
    const holder = this.#team(team) as Team;
    return (
      this.#isOwn(holder) ||
      (this.ofTeam(holder) && this.#holds(holder.organization, 'manage-teams', 'manage-organization-access'))
    );
  }

  isCaller({ id }: Person): boolean {
    return id === this.#caller.user;
  }

  ofPerson({ id }: Person): boolean {
    const organizations = this.#world.memberships.filter(({ user }) => user === id);
    return id === this.#caller.user || organizations.some(({ organization }) => this.belongsTo(organization));
  }
}

// A world with every kind of caller in it, and with something hidden from each of them

const populated = async (directory: Directory, seed: number, prefix: string) => {
  const world = new RandomWorld(directory, new Dice(seed), prefix);
  const { dice } = world;
  const owner = await world.person('owner');
  const neighbour = await world.person('neighbour');
  const first = await world.organization(owner, 'first');
  const second = await world.organization(neighbour, 'second');
  const member = async (role: string, odds: number) => {
    const person = await world.person(role);
    await world.member(first, person.email);
    if (dice.chance(odds)) await world.member(second, person.email);
    return person;
  };
  const plain = await member('plain', 0.1);
  const open = await member('open', 0.1);
  const closed = await member('closed', 0.1);
  const reader = await member('reader', 0.1);
  const chief = await member('chief', 0.1);
  const warden = await member('warden', 0.1);
  const steward = await member('steward', 0.1);
  const surveyor = await member('surveyor', 0.1);
  const filler = await member('filler', 1);
  const foreign = await world.person('foreign');
  await world.member(second, foreign.email);
  const drifter = await world.person('drifter');
  await world.person('stranger');
  for (const organization of [first, second]) await world.member(organization, `${organization}@guest.example`);

  // Some teams are there for one kind of caller; nobody but the filler is in the vaults.
  const watch = await world.team(first, { members: [reader] });
  const board = await world.team(first, { members: [chief], flags: [] });
  const guard = await world.team(first, { members: [warden], flags: [] });
  const stewards = dice.some(['manage-membership', 'manage-teams', 'manage-organization-access'], 0.7);
  await world.team(first, { members: [steward], flags: [...stewards, 'manage-teams'] });
  await world.team(first, { members: [surveyor], flags: ['read-projects'] });
  await world.team(first, { secret: false, members: [open, ...dice.some([closed, filler], 0.3)] });
  await world.team(first, { secret: true, members: [closed, ...dice.some([open, reader, filler], 0.3)] });
  for (let more = 0; more < 2; more++)
    await world.team(first, { members: dice.some([open, closed, reader, filler], 0.3) });
  for (let more = 0; more < 3; more++) await world.team(second, { members: dice.some([foreign, filler], 0.5) });
  const teams = world.teams.filter(team => !team.owners);
  const vault = await world.team(first, { secret: true, members: [filler] });
  const crypt = await world.team(first, { secret: true, members: dice.some([filler], 0.5) });

  const governed = await world.project(first);
  const watched = await world.project(first);
  await world.project(first);
  await world.project(second);
  for (const project of dice.some(world.projects, 0.7)) await world.tag(project);
  await world.grant(governed, board, dice.pick([{ access: 'admin' }, teamsOnly('manage')]));
  await world.grant(watched, watch, teamsOnly('read'));
  await world.grant(watched, vault);
  if (dice.chance(0.3)) await world.grant(governed, vault);
  if (dice.chance(0.3)) await world.grant(watched, crypt);
  for (const project of world.projects)
    for (const team of teams.filter(({ organization }) => organization === project.organization))
      if (![board, guard].includes(team) && !(team === watch && project === watched) && dice.chance(0.4))
        await world.grant(project, team);

  // Here and there a workspace, and a team with access to it alone.
  for (const project of world.projects) for (let more = dice.below(4); more > 0; more--) await world.workspace(project);
  for (const workspace of world.workspaces)
    for (const team of [...teams, vault].filter(({ organization }) => organization === workspace.organization))
      if (team !== board && dice.chance(0.15)) await world.workspaceGrant(workspace, team);
  // What a secret team has locked is seen to be locked, and not by whom.
  const kept = await world.workspace(governed);
  await world.workspaceGrant(kept, guard, { access: 'admin' });
  await world.workspaceGrant(kept, crypt, { access: 'write' });
  const { secret: ofCrypt } = await world.teamToken(crypt);
  await world.as(ofCrypt).make(`/workspaces/${kept.id}/actions/lock`, { attributes: { reason: 'closed' } });

  const holders = [...teams, vault, crypt];
  for (const team of dice.some(holders, 0.5)) await world.singleTeamToken(team);
  for (const team of dice.some(holders, 0.3)) await world.teamToken(team);
  for (const organization of dice.some([first, second], 0.7)) await world.organizationToken(organization);
  await world.userToken(filler.id);
  const spokesman = dice.pick(teams.filter(({ organization }) => organization === first));
  const { id: tokenId, secret: token, team } = await world.teamToken(spokesman);

  const by = ({ id: user }: Person): Caller => {
    const { secret: token, id: tokenId } = world.tokens.find(token => token.user === user) as Token;
    return { token, tokenId, user };
  };
  const callers: Record<Kind, Caller> = {
    'plain member': by(plain),
    'member of a visible team': by(open),
    'member of a secret team': by(closed),
    'holder of teams=read': by(reader),
    'project admin': by(chief),
    'workspace admin': by(warden),
    'manager of teams and members': by(steward),
    'holder of read-projects': by(surveyor),
    'team token': { token, tokenId, ...(team && { team }) },
    owner: by(owner),
    'member of the other organization': by(foreign),
    'user without an organization': by(drifter),
  };
  return { world, callers };
};

const teamsOnly = (teams: TeamsAccess): Json => ({ access: 'custom', 'project-access': { teams } });

// What is hidden, and ways to make it otherwise

type Alteration = {
  readonly by: string;
  readonly method: string;
  readonly path: string;
  readonly data?: Json;
  /** Whoever makes the change sees it here. */
  readonly witness: string;
};

const alterations = (world: RandomWorld, sight: Sight, dice: Dice): Alteration[] => {
  const admin = world.directory.server.adminToken;
  const ownerOf = (organization: string) => world.ownerOf(organization).token as string;
  const removal = (by: string, path: string, witness = path): Alteration => ({ by, method: 'DELETE', path, witness });
  const change = (by: string, path: string, data: Json): Alteration => ({
    by,
    method: 'PATCH',
    path,
    data,
    witness: path,
  });
  const foreign = world.organizations.filter(({ name }) => !sight.belongsTo(name));
  const isForeign = (organization: string) => foreign.some(({ name }) => name === organization);
  const owners = world.organizations.map(({ owner }) => owner.id);

  const grants = world.grants
    .filter(grant => !sight.ofGrant(grant))
    .map(({ id, organization, access }) => {
      const path = `/team-projects/${id}`;
      return dice.chance(0.7)
        ? removal(ownerOf(organization), path)
        : change(ownerOf(organization), path, { attributes: { access: access === 'admin' ? 'read' : 'admin' } });
    });
  const workspaceGrants = world.workspaceGrants
    .filter(grant => !sight.ofWorkspaceGrant(grant))
    .map(({ id, organization, attributes }) => {
      const path = `/team-workspaces/${id}`;
      const access = attributes.access === 'admin' ? 'read' : 'admin';
      return dice.chance(0.7)
        ? removal(ownerOf(organization), path)
        : change(ownerOf(organization), path, { attributes: { access } });
    });
  const workspaces = world.workspaces
    .filter(workspace => !sight.ofWorkspace(workspace))
    .map(({ id, organization }) => {
      const path = `/workspaces/${id}`;
      return dice.chance(0.7)
        ? removal(ownerOf(organization), path)
        : change(ownerOf(organization), path, { attributes: { name: `other-${id}`, description: 'other' } });
    });
  const tokens = world.tokens
    .filter(token => !sight.ofToken(token))
    .flatMap(({ id, user, team, organization = world.teams.find(({ id }) => id === team)?.organization }) => {
      // The owners' own tokens are needed to make the changes.
      if (user !== undefined && owners.includes(user)) return [];
      return removal(organization === undefined ? admin : ownerOf(organization), `/authentication-tokens/${id}`);
    });
  // Of a team that is known by a row of its access, all the rest is hidden.
  const veiledTeams = world.teams.filter(team => !team.owners && !sight.ofTeamItself(team));
  const teamMemberships = veiledTeams.flatMap(({ id, organization, members }) =>
    members.map(member => ({
      ...removal(ownerOf(organization), `/teams/${id}/relationships/users`, `/teams/${id}`),
      data: [{ type: 'users', id: member }],
    })),
  );
  const teams = veiledTeams.map(team => {
    const { id, organization, flags } = team;
    const path = `/teams/${id}`;
    const other = flagNames.filter(flag => !flags.includes(flag));
    return dice.chance(0.7) && !sight.ofTeam(team)
      ? removal(ownerOf(organization), path)
      : change(ownerOf(organization), path, {
          attributes: { name: `other ${id}`, 'organization-access': flagsAttribute(other) },
        });
  });
  const memberships = world.memberships
    .filter(({ organization, user }) => isForeign(organization) && !owners.includes(user))
    .map(({ id, organization }) => removal(ownerOf(organization), `/organization-memberships/${id}`));
  const isEmpty = (id: string) => !world.workspaces.some(({ project }) => project === id);
  const projects = world.projects
    .filter(({ id, organization, isDefault }) => isForeign(organization) && !isDefault && isEmpty(id))
    .map(({ id, organization }) => removal(ownerOf(organization), `/projects/${id}`));
  // What a workspace takes from its project is the workspace's, and shown with it.
  const isInherited = (id: string) =>
    world.workspaces.some(workspace => workspace.project === id && sight.ofWorkspace(workspace));
  const hiddenTag = { type: 'tag-bindings', attributes: { key: 'hidden' } };
  // Its members may ask for the access to any project, so that it is there; what it is called is hidden.
  const projectNames = world.projects
    .filter(project => sight.belongsTo(project.organization) && !sight.ofProject(project))
    .map(({ id, organization }) =>
      change(ownerOf(organization), `/projects/${id}`, {
        attributes: { name: `other ${id}`, ...(!isInherited(id) && { 'auto-destroy-activity-duration': '77d' }) },
        relationships: isInherited(id) ? {} : { 'tag-bindings': { data: [hiddenTag] } },
      }),
    );
  // Who sees some projects does not learn that there is another.
  const moreProjects = world.organizations
    .filter(
      ({ name }) =>
        sight.belongsTo(name) && !sight.ofProject({ id: '', name: '', organization: name, isDefault: false }),
    )
    .map(({ name }) => {
      const path = `/organizations/${name}/projects`;
      const data = { type: 'projects', attributes: { name: 'one more' } };
      return { by: ownerOf(name), method: 'POST', path, data, witness: path };
    });
  // What somebody else asks for is between them and the site admin.
  const others = world.organizations.filter(({ owner }) => !sight.isCaller(owner));
  const wishes = others.map(({ name }) => ({
    ...change(ownerOf(name), '/account/update', { attributes: { email: `${name}@wish.example` } }),
    witness: '/account/details',
  }));
  const settings = foreign.map(({ name }) =>
    change(ownerOf(name), `/organizations/${name}`, {
      attributes: { 'session-timeout': 77, 'default-execution-mode': 'local' },
    }),
  );
  const people = world.people
    .filter(person => !sight.ofPerson(person) && !owners.includes(person.id))
    .map(({ id }) => removal(admin, `/admin/users/${id}`));
  const closing = (name: string): Alteration[] => {
    const path = `/organizations/${name}/authentication-token`;
    return [
      { by: ownerOf(name), method: 'POST', path, witness: path },
      change(ownerOf(name), `/organizations/${name}`, { attributes: { 'user-tokens-enabled': false } }),
    ];
  };
  const organizations = foreign.map(({ name }) =>
    dice.chance(0.5) ? closing(name) : [removal(ownerOf(name), `/organizations/${name}`)],
  );

  // A row goes before what holds it, so that every change finds its row.
  const share = dice.pick([0.3, 0.7, 1]);
  const chosen = [
    ...dice.some([...grants, ...workspaceGrants, ...tokens, ...teamMemberships, ...teams, ...memberships], share),
    ...dice.some([...workspaces, ...projects], share),
    ...dice.some([...projectNames, ...moreProjects, ...wishes, ...settings], share),
    ...dice.some([...people.map(removed => [removed]), ...organizations], share / 2).flat(),
  ];
  return chosen.length > 0 ? chosen : [...grants, ...tokens].slice(0, 1);
};

const alter = async (changes: readonly Alteration[], { client }: TestServer): Promise<void> => {
  for (const { by, method, path, data } of changes) {
    const { status, text } = await client.call(by, method, `/api/v2${path}`, data && { data });
    assert.ok(status < 300, `${method} ${path} answered ${status}: ${text}`);
  }
};

// Requests

type Sent = { readonly route: Route; readonly path: string; readonly headers: Json; readonly payload?: string };

const passwords = ['a good password', 'another password', 'short'];

/** Random requests of one caller, sensible and senseless, on what it has seen, on what is hidden and on what never was. */
class Requests {
  readonly #dice: Dice;
  readonly #caller: Caller;
  readonly #routes: Record<string, Route[]>;
  readonly #there: Record<string, readonly string[]>;
  readonly #altered: Partial<Record<string, readonly string[]>>;
  readonly #seen = new Map<string, Set<string>>();
  readonly #tags = new Map<string, string>();
  /** The last list of a project's access that the caller read, by its path. */
  readonly #lists = new Map<string, readonly Json[]>();
  readonly #own: readonly string[];
  readonly #guests: readonly string[];
  readonly #known: readonly string[];
  readonly #prefix: string;
  #fresh = 0;

  constructor(
    world: RandomWorld,
    caller: Caller,
    routes: readonly Route[],
    changes: readonly Alteration[],
    dice: Dice,
  ) {
    this.#dice = dice;
    this.#caller = caller;
    this.#prefix = world.prefix;
    // Team access is what the service is for: it is asked about most.
    const often = routes.flatMap(route => (route.path.includes('/team-projects') ? [route, route, route] : [route]));
    const kind = ({ method, asks }: Route) => (asks ? 'ASK' : method === 'PUT' ? 'PATCH' : method);
    this.#routes = Object.groupBy(often, kind) as Record<string, Route[]>;
    const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
    this.#there = {
      organizations: world.organizations.map(({ name }) => name),
      'organization-memberships': ids(world.memberships),
      teams: ids(world.teams),
      projects: ids(world.projects),
      'team-projects': ids(world.grants),
      workspaces: ids(world.workspaces),
      'workspaces-by-name': world.workspaces.map(({ name }) => name),
      'team-workspaces': ids(world.workspaceGrants),
      users: ids(world.people),
      'authentication-tokens': ids(world.tokens),
    };
    const altered = changes.map(({ witness }) => witness.split('/').slice(-2) as [type: string, id: string]);
    const byType = Object.entries(Object.groupBy(altered, ([type]) => type));
    this.#altered = Object.fromEntries(byType.map(([type, rows = []]) => [type, rows.map(([, id]) => id)]));
    // Accounts are the server's, not an organization's: an invitation tells whether an e-mail is known. Those gone are left out.
    const isThere = ({ id }: Person) => !this.#altered.users?.includes(id);
    // Who is invited is an organization's own affair, so those of another one are among them.
    const invited = world.organizations.map(({ name }) => `${name}@guest.example`);
    this.#guests = [...world.people.filter(isThere).map(({ email }) => email), ...invited];
    // A search may be for anybody, hidden or not.
    this.#known = [...world.people.flatMap(({ username, email }) => [username, email]), ...invited];
    // Whoever revokes its own token or leaves has nothing more to ask: that comes last.
    const owned = world.organizations.filter(({ owner }) => owner.id === caller.user).map(({ name }) => name);
    this.#own = [caller.tokenId, caller.user, caller.team, ...owned, ...ids(this.#membershipsOf(world))].filter(
      id => id !== undefined,
    );
  }

  #membershipsOf({ memberships }: RandomWorld) {
    return memberships.filter(({ user }) => user === this.#caller.user);
  }

  /** What an answer names can be asked for again. */
  learn(path: string, { headers, body }: Answer): void {
    if (headers.etag) this.#tags.set(path, headers.etag);
    if (/^\/api\/v2\/projects\/[^/]+\/team-projects$/.test(path) && body?.data) this.#lists.set(path, body.data);
    for (const { type, id, attributes, relationships = {} } of [body?.data ?? [], body?.included ?? []].flat()) {
      this.#note(type, id);
      if (type === 'workspaces') this.#note('workspaces-by-name', attributes.name);
      for (const { data } of Object.values<Json>(relationships))
        for (const { type, id } of [data ?? []].flat()) this.#note(type, id);
    }
  }

  #note(type: string, id: string): void {
    const seen = this.#seen.get(type) ?? new Set();
    this.#seen.set(type, seen.add(id));
  }

  #id(type: string): string {
    const dice = this.#dice;
    const seen = [...(this.#seen.get(type) ?? [])];
    const altered = this.#altered[type] ?? [];
    const known = this.#there[type] ?? [];
    const there = known.length > 0 ? known : Object.values(this.#there).flat();
    if (seen.length > 0 && dice.chance(0.75)) return dice.pick(seen);
    if (altered.length > 0 && dice.chance(0.5)) return dice.pick(altered);
    return dice.chance(0.75) ? dice.pick(there) : dice.pick(['absent', `${type}-1111111111111111`, '%00', '%F0', '*']);
  }

  #other(type: string): string {
    const id = this.#id(type);
    return this.#own.includes(id) ? 'somebody' : id;
  }

  /** What parameters may say: of what there is, seen and hidden, and of what there is not. */
  get #words(): Record<string, readonly string[]> {
    const names = Array.from({ length: 9 }, (_, number) => `${this.#prefix}-team-${number}`);
    const projects = Array.from({ length: 5 }, (_, number) => `${this.#prefix}-project-${number}`);
    const includes = [
      'users',
      'organization-memberships',
      'teams',
      'user',
      'default-project',
      'effective_tag_bindings',
    ];
    const switched = ['true', 'true', 'true', 'false', 'false', ''];
    const known = [...this.#known, 'first', 'example'];
    const sorts = ['team-name', 'created-by', 'expired-at', 'last-used-at', 'status', 'name'];
    const needs = Object.entries(filterValues).map(([name, values]) => [
      `filter[${name.replace('/', '][')}]`,
      [...values.map(String), ...(this.#dice.chance(0.02) ? ['x'] : [])],
    ]);
    return {
      ...Object.fromEntries(needs),
      'filter[subject]': ['users', 'teams', 'teams', 'teams', 'x'],
      'filter[resource]': ['projects', 'workspaces', 'workspaces', 'workspaces', 'x'],
      'filter[organization][name]': this.#there.organizations ?? [],
      q: [...names, 'team', 'TEAM-1', 'project', '%', '_', '', ...known],
      'filter[permissions][create-workspace]': switched,
      'filter[permissions][update]': switched,
      'filter[permissions][move-stack]': switched,
      'filter[tagged][i][key]': ['env', 'env', 'team', 'hidden', ''],
      'filter[tagged][i][value]': ['red', 'blue', '', 'x'],
      'search[name]': ['workspace', 'WORKSPACE-1', '-', 'other', ''],
      'search[wildcard-name]': ['*workspace*', '*-1', '*'],
      'search[tags]': ['env', 'env,team', 'hidden', ''],
      'q[name]': known,
      'q[email]': known,
      'filter[email]': [...known, known.join(',')],
      'filter[names]': [...names, names.join(','), ...projects, projects.join(','), 'owners,none', ''],
      include: [...includes, ...includes, includes.slice(0, 2).join(','), 'user,teams', 'nothing'],
      sort: [...sorts, ...sorts.map(sort => `-${sort}`)],
      'filter[status]': ['active', 'invited', 'inactive', 'expired', 'gone', ''],
      'filter[expiry_status]': ['active', 'expired', 'no_expiration,expiring_in_30_days', 'gone'],
      'filter[is_service_account]': ['true', 'false', 'x'],
      token: ['audit-trails', 'decisions', 'x', ''],
      'dry-run': ['false', 'false', '', 'x'],
      since: ['2026-01-01T00:00:00Z', 'x'],
      'filter[since]': ['2026-01-01T00:00:00Z', '2027-01-01T00:00:00.100Z', 'x', ''],
      'filter[until]': ['2027-01-01T00:00:00.100Z', '2028-01-01T00:00:00Z', 'x', ''],
      'filter[action]': ['create', 'update', 'add_team', 'x', ''],
    };
  }

  /** Names are unique whoever sees them, so the name of a hidden row is taken; only new ones tell nothing. */
  #name(): string {
    return `${this.#prefix}-fresh-${++this.#fresh}`;
  }

  next(): Sent {
    const dice = this.#dice;
    const weighted = dice.below(100);
    const kinds = { GET: 58, ASK: 70, POST: 82, PATCH: 92, DELETE: 100 };
    const [kind = 'GET'] = Object.entries(kinds).find(([, below]) => weighted < below) ?? [];
    return this.to(dice.pick(this.#routes[kind] ?? Object.values(this.#routes).flat()));
  }

  to(route: Route): Sent {
    const dice = this.#dice;
    const id = (type: string) => (route.method === 'DELETE' ? this.#other(type) : this.#id(type));
    const segments = route.path.split('/');
    const filled = segments
      .map((segment, at) => {
        const type = segments[at - 1] ?? '';
        if (segment === '{name}') return id(`${type}-by-name`);
        return /^\{/.test(segment) ? id(type) : segment;
      })
      .join('/');
    const path = `${filled}${this.#query(route)}`;
    const headers: Json = { authorization: `Bearer ${this.#caller.token}` };
    if (route.method !== 'GET' && dice.chance(0.3))
      headers['if-match'] = dice.pick(['*', '"stale"', this.#tags.get(path) ?? '"none"']);
    const payload = this.#payload(route, path);
    if (payload === undefined) return { route, path, headers };
    headers['content-type'] = dice.chance(0.02) ? 'text/plain' : (route.media ?? mediaType);
    headers['content-length'] = `${Buffer.byteLength(payload)}`;
    return { route, path, headers, payload };
  }

  #query({ parameters, required, choices = {} }: Route): string {
    const dice = this.#dice;
    const query = new URLSearchParams();
    const maybe = (odds: number, name: string, value: () => string) => {
      if (dice.chance(odds)) query.append(name, value());
      if (dice.chance(0.01)) query.append(name, value());
    };
    for (const name of parameters) {
      const filter = /^filter\[([\w-]+)\]\[id\]$/.exec(name)?.[1];
      const isNeed = /^filter\[\w+-access\]/.test(name);
      if (name === 'page[number]') maybe(0.4, name, () => `${dice.pick([1, 1, 1, 2, 2, 2, 3, 3, 4, 9, 0, 'x'])}`);
      else if (name === 'page[size]')
        maybe(0.5, name, () => `${dice.pick([1, 1, 1, 2, 2, 2, 3, 3, 5, 100, 1000, 0, ''])}`);
      else if (filter) maybe(required.includes(name) ? 0.97 : 0.3, name, () => this.#id(`${filter}s`));
      else
        maybe(isNeed ? 0.06 : name === 'filter[organization][name]' ? 0.7 : 0.3, name, () => {
          const choice = choices[name] ?? [];
          const words = this.#words[name] ?? ['team', 'project', 'name', '-name', 'a'];
          return dice.pick(choice.length > 0 && dice.chance(0.8) ? choice : words);
        });
    }
    if (parameters.length > 0) for (const name of ['q', 'filter[names]', 'sort']) maybe(0.03, name, () => 'name');
    return query.size > 0 ? `?${query}` : '';
  }

  #settings(): Json {
    const dice = this.#dice;
    return {
      'default-execution-mode': dice.pick(['remote', 'local', 'agent']),
      'session-timeout': dice.pick([null, 0, 60]),
      'user-tokens-enabled': dice.chance(0.5),
      'stacks-enabled': dice.chance(0.5),
    };
  }

  #projectSettings(): Json {
    const dice = this.#dice;
    return {
      'auto-destroy-activity-duration': dice.pick([null, '14d', '3m']),
      'default-execution-mode': dice.pick(['remote', 'local', 'agent']),
      'setting-overwrites': { 'default-execution-mode': dice.chance(0.5) },
    };
  }

  #tagBindings(): Json[] {
    const dice = this.#dice;
    const keys = dice.some(['env', 'team', 'cost', 'hidden', 'a b'], 0.4);
    return keys.map(key => ({ type: 'tag-bindings', attributes: { key, value: dice.pick(['', 'red', 'green']) } }));
  }

  #payload({ method, path, asks }: Route, sentTo: string): string | undefined {
    const dice = this.#dice;
    if (method === 'GET') return undefined;
    if (dice.chance(0.03)) return dice.pick(['{', '[]', 'null', '""', '{"data":{"__proto__":{}}}']);
    const data = asks ? null : this.#data(`${method} ${path.replace('/api/v2', '')}`, sentTo);
    if (data === undefined) return undefined;
    const body = asks ? this.#question(path) : { data };
    if (dice.chance(0.2)) this.#spoil(body);
    return JSON.stringify(body);
  }

  /** Mostly about the caller itself: about others it may not ask. */
  #question(path: string): Json {
    const dice = this.#dice;
    const { user, team, tokenId } = this.#caller;
    const own = [
      { type: 'token', id: tokenId },
      user === undefined ? { type: 'team', id: team } : { type: 'user', id: user },
    ];
    const named = (...types: string[]) => {
      const type = dice.pick(types);
      const id = this.#id(type === 'token' ? 'authentication-tokens' : `${type}s`);
      // To whoever may ask about anyone, a token's id tells whether there is such a token of a member: it is no secret there.
      const isTold = type === 'token' && this.#altered['authentication-tokens']?.includes(id);
      return { type, id: isTold ? tokenId : id };
    };
    const one = () => ({
      subject: dice.chance(0.85) ? dice.pick(own) : named('user', 'team', 'token'),
      action: {
        name: dice.pick([
          'read',
          'read',
          'update',
          'delete',
          'read-teams',
          'manage-teams',
          'move-workspace',
          'lock',
          'x',
        ]),
        ...(dice.chance(0.3) && { properties: { destination: this.#id('projects') } }),
      },
      resource: named('project', 'workspace', 'team-project', 'organization'),
    });
    if (path.endsWith('/evaluations')) return { ...one(), evaluations: Array.from({ length: dice.below(6) }, one) };
    return { ...one(), ...(dice.chance(0.5) && { page: { limit: dice.pick([1, 2, 100]) } }) };
  }

  /** One thing of a body gone, or of another type. */
  #spoil(body: Json): void {
    const dice = this.#dice;
    const key = dice.pick(Object.keys(body));
    const inner = body[key];
    if (typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0 && dice.chance(0.8))
      this.#spoil(inner);
    else if (dice.chance(0.5)) delete body[key];
    else body[key] = dice.pick([null, 5, '', true, [], {}, 'x'.repeat(300)]);
  }

  /** Most of what the caller knows to be there, and some other access. */
  #accessList(path: string): Json[] {
    const dice = this.#dice;
    // What is spoiled on the way out stays as it was learnt.
    const kept = structuredClone(dice.some([...(this.#lists.get(path) ?? [])], 0.9));
    const others = Array.from({ length: dice.below(3) }, () => ({
      ...(dice.chance(0.1) && { id: this.#id('team-projects') }),
      ...grantBody(
        this.#id('projects'),
        this.#id('teams'),
        dice.chance(0.5) ? { access: 'custom' } : randomAccess(dice),
      ),
    }));
    const named = others.map(({ relationships }) => relationships.team.data.id);
    const isNamed = (grant: Json) => named.includes(grant.relationships.team.data.id);
    return [...kept.filter(grant => !isNamed(grant) || dice.chance(0.1)), ...others];
  }

  #data(operation: string, sentTo: string): Json {
    const dice = this.#dice;
    const id = sentTo.split('/').at(-1) ?? '';
    const maybe = (attributes: Json) => Object.fromEntries(dice.some(Object.entries(attributes), 0.5));
    const name = this.#name();
    const email = dice.chance(0.5) ? `${name}@fresh.example` : dice.pick(this.#guests);
    const team = () =>
      maybe({
        visibility: dice.pick(['secret', 'organization']),
        'sso-team-id': dice.pick([null, '', 'sso']),
        'allow-member-token-management': dice.chance(0.5),
        'organization-access': flagsAttribute(dice.some(flagNames, 0.1)),
      });
    const description = dice.pick([null, '', name]);
    switch (operation) {
      case 'POST /team-projects':
        return grantBody(this.#id('projects'), this.#id('teams'), randomAccess(dice));
      case 'PATCH /team-projects/{id}':
        return { ...maybe({ id, type: 'team-projects' }), attributes: dice.pick([randomAccess, randomChoices])(dice) };
      case 'PUT /projects/{id}/team-projects':
        return this.#accessList(sentTo);
      case 'POST /organizations/{organization}/teams':
        return { type: 'teams', attributes: { name, ...team() } };
      case 'PATCH /teams/{id}':
        return { type: 'teams', attributes: { ...maybe({ name }), ...team() } };
      case 'POST /organizations/{organization}/projects':
        return {
          type: 'projects',
          attributes: { name, ...maybe({ description }), ...(dice.chance(0.3) && this.#projectSettings()) },
          ...maybe({ relationships: { 'tag-bindings': { data: this.#tagBindings() } } }),
        };
      case 'PATCH /projects/{id}':
        return {
          type: 'projects',
          attributes: { ...maybe({ name, description }), ...(dice.chance(0.3) && this.#projectSettings()) },
          ...maybe({ relationships: { 'tag-bindings': { data: this.#tagBindings() } } }),
        };
      case 'PATCH /projects/{id}/tag-bindings':
      case 'POST /projects/{id}/relationships/tag-bindings':
      case 'PATCH /projects/{id}/relationships/tag-bindings':
      case 'PATCH /workspaces/{id}/tag-bindings':
      case 'POST /workspaces/{id}/relationships/tag-bindings':
      case 'PATCH /workspaces/{id}/relationships/tag-bindings':
        return this.#tagBindings();
      case 'POST /organizations/{organization}/workspaces':
        return workspaceBody(name, dice.chance(0.7) ? this.#id('projects') : undefined);
      case 'PATCH /workspaces/{id}':
      case 'PATCH /organizations/{organization}/workspaces/{name}': {
        const moved = { project: { data: { type: 'projects', id: this.#id('projects') } } };
        return {
          type: 'workspaces',
          ...maybe({ attributes: maybe({ name, description }) }),
          ...(dice.chance(0.3) && { relationships: moved }),
        };
      }
      case 'POST /team-workspaces':
        return workspaceGrantBody(this.#id('workspaces'), this.#id('teams'), randomWorkspaceAccess(dice));
      case 'PATCH /team-workspaces/{id}':
        return { type: 'team-workspaces', attributes: randomWorkspaceAccess(dice) };
      case 'POST /projects/{id}/relationships/workspaces':
        return [{ type: 'workspaces', id: this.#id('workspaces') }];
      case 'POST /organizations/{organization}/organization-memberships':
        return { type: 'organization-memberships', attributes: { email } };
      case 'POST /teams/{id}/relationships/users':
      case 'DELETE /teams/{id}/relationships/users':
        // A caller that could add itself to a team would see more than before.
        return [{ type: 'users', id: this.#other('users') }];
      case 'POST /teams/{id}/relationships/organization-memberships':
      case 'DELETE /teams/{id}/relationships/organization-memberships':
        return [{ type: 'organization-memberships', id: this.#other('organization-memberships') }];
      case 'DELETE /organizations/{organization}/team-tokens':
        return [{ type: 'authentication-tokens', id: this.#other('authentication-tokens') }];
      case 'POST /organizations':
        return {
          type: 'organizations',
          attributes: { name, email, ...(dice.chance(0.3) && maybe(this.#settings())) },
        };
      case 'PATCH /organizations/{organization}':
      case 'PUT /organizations/{organization}':
        return {
          type: 'organizations',
          // By another name, or closed to its owner, it would tell no more.
          attributes: maybe(this.#own.includes(id) ? { email } : { name, email, ...this.#settings() }),
        };
      case 'PATCH /account/update':
        return { type: 'users', attributes: maybe({ username: name, email }) };
      case 'PATCH /account/password': {
        const [password, current] = [dice.pick(passwords), dice.pick(passwords)];
        return {
          type: 'users',
          attributes: { password, password_confirmation: password, current_password: current },
        };
      }
      case 'POST /admin/users':
      case 'PATCH /admin/users/{id}':
        return { type: 'users', attributes: { username: name, email: `${name}@fresh.example`, 'is-admin': true } };
      default:
        if (!operation.startsWith('POST')) return undefined;
        return dice.chance(0.3)
          ? undefined
          : {
              attributes: maybe({ description, 'expired-at': dice.pick([null, '2028-01-01T00:00:00Z', '2020-01-01']) }),
            };
    }
  }

  /** What was done in each organization, with all that came of it. */
  trails({ organizations }: RandomWorld): Sent[] {
    const headers = { authorization: `Bearer ${this.#caller.token}` };
    const path = '/api/v2/organizations/{organization}/audit-events';
    const route = { method: 'GET', path, parameters: [], required: [] };
    return organizations.flatMap(({ name }) =>
      [1, 2].map(page => ({
        route,
        path: `${path.replace('{organization}', name)}?page[size]=100&page[number]=${page}`,
        headers,
      })),
    );
  }

  /** The caller's last requests: it leaves, throws its token away, and asks once more. */
  farewell(world: RandomWorld): Sent[] {
    const headers = { authorization: `Bearer ${this.#caller.token}` };
    const removing = (type: string, id: string): Sent => ({
      route: { method: 'DELETE', path: `/api/v2/${type}/{id}`, parameters: [], required: [] },
      path: `/api/v2/${type}/${id}`,
      headers,
    });
    const asking = { method: 'GET', path: '/api/v2/organizations', parameters: [], required: [] };
    return [
      ...this.#membershipsOf(world).map(({ id }) => removing('organization-memberships', id)),
      removing('authentication-tokens', this.#caller.tokenId),
      { route: asking, path: asking.path, headers },
    ];
  }
}

/** The same as a dry run: it tells what it would do to what the caller sees, and to nothing else. */
const tried = (sent: Sent): Sent => {
  const [path = '', search] = sent.path.split('?');
  const query = new URLSearchParams(search);
  query.set('dry-run', 'true');
  return { ...sent, path: `${path}?${query}` };
};

// Both worlds

/** What differs between any two answers, whoever asks. */
const ofTheConnection = ['date', 'x-request-id', 'connection', 'keep-alive'];

const comparable = ({ status, headers, text }: Answer) => ({
  status,
  text,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofTheConnection.includes(name))),
});

/** Gives requests ids that repeat, since the audit trail tells them; begins anew when it is called. */
const numbered = ({ client }: TestServer): (() => void) => {
  const send = client.send.bind(client);
  let count = 0;
  client.send = (method, path, options = {}) =>
    send(method, path, { ...options, headers: { 'x-request-id': `request-${count++}`, ...options.headers } });
  return () => {
    count = 0;
  };
};

/** Asks the same of two worlds, and fails at the first byte that differs; what was asked, and how often. */
const compare = async (t: TestContext, { worldsPerKind, requestsPerWorld, about }: Extent) => {
  printSeed(t);
  // Not a seed that a world has: the same numbers would make ids that are there already.
  const servers = [await startServer({ seed: testSeed - 1 }), await startServer({ seed: testSeed - 1 })];
  t.after(() => Promise.all(servers.map(server => server.close())));
  const [whole, lacking] = servers as [TestServer, TestServer];
  const renumber = new Map(servers.map(server => [server, numbered(server)]));
  const routes = (await routesOf(whole)).filter(({ path, asks }) => path.startsWith('/api/') || asks);
  const statuses: Record<number, number> = {};
  const asked = new Set<string>();
  let pairs = 0;
  let rows = 0;
  let hidden = 0;
  let trails = 0;
  const effects: number[] = [];

  const same = async ({ path, headers, payload }: Sent, method: string, where: string): Promise<Answer> => {
    const known = { ...headers, 'x-request-id': `asked-${pairs}` };
    const send = ({ client }: TestServer) => client.send(method, path, { headers: known, ...(payload && { payload }) });
    const [there, here] = await Promise.all([send(whole), send(lacking)]);
    assert.deepEqual(
      comparable(here),
      comparable(there),
      `${where}: ${method} ${path} ${JSON.stringify(headers)} ${payload} tells of a hidden row`,
    );
    if (method !== 'HEAD') whole.client.conforms(method, path, there);
    if (there.text.includes('"type":"audit-events"')) trails++;
    return there;
  };

  const ask = async (sent: Sent, method: string, where: string): Promise<Answer> => {
    const answer = await same(sent, method, where);
    assert.ok(answer.status < 500, `${where}: ${method} ${sent.path} ${sent.payload} fails by a fault of ours`);
    if (about.test(sent.route.path)) {
      pairs++;
      const { data, results, evaluations } = answer.body ?? {};
      rows += [data ?? results ?? evaluations ?? []].flat().length;
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    }
    asked.add(`${method} ${sent.route.path}`);
    return answer;
  };

  for (let number = 0; number < kinds.length * worldsPerKind; number++) {
    const kind = kinds[number % kinds.length] as Kind;
    const seed = testSeed + number * 1000;
    const where = `${toRepeat}, world ${number}, ${kind}`;
    const build = async (server: TestServer) => {
      server.reseed(seed);
      renumber.get(server)?.();
      return populated(new Directory(server), seed, `w${number}`);
    };
    const [{ world, callers }, twin] = await Promise.all([build(whole), build(lacking)]);
    assert.deepEqual([twin.world.grants, twin.callers], [world.grants, callers], `${where}: the worlds begin equal`);

    const caller = callers[kind];
    const dice = new Dice(seed + 1);
    const changes = alterations(world, new Sight(world, caller), dice);
    assert.ok(changes.length > 0, `${where}: nothing is hidden`);
    hidden += changes.length;
    await alter(changes, lacking);
    for (const server of servers) server.reseed(seed + 2);
    for (const { by, witness } of changes) {
      const [there, here] = await Promise.all(servers.map(({ client }) => client.call(by, 'GET', `/api/v2${witness}`)));
      assert.notEqual(here?.text, there?.text, `${where}: ${witness} is the same in both worlds to its owner`);
    }

    const asking = routes.filter(({ path }) => about.test(path));
    const requests = new Requests(world, caller, asking, changes, dice);
    for (const route of routes.filter(({ method }) => method === 'GET')) {
      const sent = requests.to(route);
      requests.learn(sent.path, await ask(sent, 'GET', where));
    }
    const trailsWhole = async () => {
      for (const sent of requests.trails(world)) await ask(sent, 'GET', where);
    };
    await trailsWhole();
    for (let count = 0; count < requestsPerWorld; count++) {
      const sent = requests.next();
      const { method, asks } = sent.route;
      if (method !== 'GET' && !asks) {
        const { status, body } = await same(tried(sent), method, where);
        if (status < 300) effects.push(body.meta.effect['changes-count']);
      }
      // The length of a body that is not sent tells as much as the body.
      requests.learn(sent.path, await ask(sent, method === 'GET' && dice.chance(0.05) ? 'HEAD' : method, where));
    }
    await trailsWhole();
    for (const sent of requests.farewell(world)) {
      if (sent.route.method !== 'GET') await same(tried(sent), sent.route.method, where);
      await ask(sent, sent.route.method, where);
    }
  }

  const successes = Object.entries(statuses).reduce((sum, [status, count]) => sum + (status < '3' ? count : 0), 0);
  const telling = effects.filter(changes => changes > 0).length;
  t.diagnostic(`${pairs} request pairs, ${rows} rows, ${hidden} hidden rows, statuses ${JSON.stringify(statuses)}`);
  t.diagnostic(`${effects.length} dry runs that would succeed, ${telling} with an effect that the caller sees`);
  const unasked = routes.filter(({ method, path }) => about.test(path) && !asked.has(`${method} ${path}`));
  assert.deepEqual(unasked, [], 'every route is asked');
  return { pairs, successes, rows, trails, telling };
};

test('a hidden row does not change one byte of an answer: 10,000 requests to two worlds that differ in hidden rows only', async t => {
  const { pairs, successes, trails, telling } = await compare(t, everything);
  assert.ok(trails > 2 * everything.worldsPerKind, `only ${trails} trails with anything in them`);
  assert.ok(telling > 0, 'no dry run had an effect that its caller sees');
  assert.ok(pairs >= 10_000, `only ${pairs} request pairs`);
  assert.ok(successes >= 0.3 * pairs, `only ${successes} of ${pairs} requests succeeded`);
});

test('nor does it change one of an answer about what others may do', async t => {
  const { pairs, successes, rows } = await compare(t, questions);
  assert.ok(pairs >= (inFull ? 10_000 : 600), `only ${pairs} request pairs`);
  assert.ok(successes >= 0.2 * pairs, `only ${successes} of ${pairs} requests succeeded`);
  assert.ok(rows >= 0.2 * pairs, `only ${rows} rows in ${pairs} answers`);
});
