/**
 * A reference model of access to projects and workspaces: what the interface and the design promise, written a second time
 * and plainly. It shares nothing with the service.
 */

import {
  at,
  type Chosen,
  changed,
  creationFaults,
  excess,
  flagGives,
  type Grant,
  gives,
  administers as givesAdministration,
  headFaults,
  higher,
  isObject,
  itemFaults,
  type Kind,
  nothing,
  notJson,
  onProjects,
  onWorkspaces,
  type PermissionSet,
  parsed,
  reaches,
  referenceFaults,
  resource,
  updateFaults,
  within,
} from './model-grants.ts';

/** The organization-level permissions that mean something here, and two that must not. */
export const flags: readonly string[] = [
  'manage-projects',
  'manage-workspaces',
  'read-projects',
  'read-workspaces',
  'manage-policy-overrides',
  'manage-agent-pools',
  'manage-policies',
  'delegate-policy-overrides',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-modules',
  'manage-run-tasks',
];
/** With one of these, `access-secret-teams` shows every team. */
export const teamManagement: readonly string[] = ['manage-membership', 'manage-teams', 'manage-organization-access'];

export type Team = {
  readonly id: string;
  readonly organization: string;
  readonly isOwners: boolean;
  visibility: 'secret' | 'organization';
  flags: ReadonlySet<string>;
  readonly members: Set<string>;
};
export type Project = { readonly id: string; readonly organization: string; readonly isDefault: boolean };
export type Workspace = {
  readonly id: string;
  readonly organization: string;
  project: string;
  name: string;
  lock: { readonly type: string; readonly id: string } | null;
};

export type Holder =
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'team'; readonly team: string }
  | { readonly kind: 'organization'; readonly organization: string };

/** What one caller is in one organization. */
type Standing = { readonly isOwner: boolean; readonly isOrganization: boolean; readonly teams: readonly Team[] };
type Place = { readonly project: Project; readonly workspace?: Workspace | undefined };

/** Effective access in one place. */
export type Held = {
  readonly set: PermissionSet;
  /** The settings, the deletion and the team access of the workspaces there. */
  readonly administers: boolean;
  readonly isOwner: boolean;
  readonly isOrganization: boolean;
};

export type Prediction = {
  readonly status: number;
  /** The complete body of a success; undefined where there is none. */
  readonly body?: unknown;
  /** What is foretold of a workspace, or of several. */
  readonly workspaces?: readonly ShownWorkspace[];
  readonly total?: number;
  /** Of a failure: where its errors point, sorted. */
  readonly pointers?: readonly string[];
  /** Of a 400: the parameters that are wrong. */
  readonly parameters?: readonly string[];
  /** Of a duplicate: the grant that is there already. */
  readonly existing?: string;
  /** Of a 409: words that a client looks for. */
  readonly words?: RegExp;
};

export type ShownWorkspace = {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly locked: boolean;
  readonly lockedBy: { readonly type: string; readonly id: string } | null;
  readonly permissions: Readonly<Record<string, boolean>>;
};

/** Thrown where a token of a user meets an organization that takes none. */
const shutOut = Symbol('shut out');

const refused = (status: number, ...pointers: string[]): Prediction => ({ status, pointers: pointers.toSorted() });
const unauthorized = refused(401);
const notFound = refused(404);
const conflict = (words: RegExp): Prediction => ({ ...refused(409), words });

const everything: Held = {
  set: Object.fromEntries(
    Object.entries(onProjects.values).map(([name, chain]) => [name, chain.at(-1) as string | boolean]),
  ),
  administers: true,
  isOwner: true,
  isOrganization: false,
};

/** What the `permissions` of a workspace say to whoever holds this there. */
export const permissionsOnWorkspace = ({ set, administers, isOrganization }: Held): Record<string, boolean> => {
  const has = (name: string, value: string | boolean) => reaches(set, `workspace-access/${name}`, value);
  const starts = (value: string) => has('runs', value) && !isOrganization;
  return {
    'can-update': administers,
    'can-destroy': administers || has('delete', true),
    'can-force-delete': administers || has('delete', true),
    'can-move': has('move', true),
    'can-lock': has('locking', true),
    'can-unlock': has('locking', true),
    'can-force-unlock': administers,
    'can-read-settings': has('runs', 'read'),
    'can-read-run': has('runs', 'read'),
    'can-queue-run': starts('plan'),
    'can-queue-apply': starts('apply'),
    'can-queue-destroy': starts('apply'),
    'can-read-variable': has('variables', 'read'),
    'can-update-variable': has('variables', 'write'),
    'can-read-state-versions': has('state-versions', 'read'),
    'can-read-state-outputs': has('state-versions', 'read-outputs'),
    'can-create-state-versions': has('state-versions', 'write'),
    'can-manage-tags': administers,
    'can-manage-run-tasks': has('run-tasks', true),
    'can-manage-assessments': administers,
    'can-manage-ephemeral-workspaces': administers,
    'can-read-assessment-results': has('runs', 'read'),
    'can-manage-hyok': false,
  };
};

const holdsNames = (kind: Kind) => ({ place: kind.place, filter: `filter[${kind.place}][id]` });

export class Model {
  readonly #publicUrl: string;
  readonly #memberships = new Map<string, Set<string>>();
  readonly #teams = new Map<string, Team>();
  readonly #projects = new Map<string, Project>();
  // A map keeps the order of creation.
  readonly #workspaces = new Map<string, Workspace>();
  readonly #grants = new Map<string, Grant>();
  readonly #tokens = new Map<string, Holder>();
  /** Organizations that take no tokens of users. */
  readonly #closed = new Set<string>();

  constructor(publicUrl = 'https://bailiwick.example') {
    this.#publicUrl = publicUrl;
  }

  // The surroundings, as the tests made them.

  addMember(organization: string, user: string): void {
    this.#memberships.set(organization, (this.#memberships.get(organization) ?? new Set()).add(user));
  }

  removeMember(organization: string, user: string): void {
    this.#memberships.get(organization)?.delete(user);
    for (const team of this.#teams.values()) if (team.organization === organization) team.members.delete(user);
  }

  isMember(organization: string, user: string): boolean {
    return this.#memberships.get(organization)?.has(user) ?? false;
  }

  enableUserTokens(organization: string, enabled: boolean): void {
    if (enabled) this.#closed.delete(organization);
    else this.#closed.add(organization);
  }

  addTeam(
    id: string,
    organization: string,
    { isOwners = false, visibility = 'secret' as Team['visibility'], flags = [] as readonly string[] } = {},
  ): void {
    this.#teams.set(id, { id, organization, isOwners, visibility, flags: new Set(flags), members: new Set() });
  }

  /** A team that can be changed in place. */
  team(id: string): Team | undefined {
    return this.#teams.get(id);
  }

  removeTeam(id: string): void {
    this.#teams.delete(id);
    this.#removeGrants(grant => grant.team === id);
    for (const [secret, holder] of [...this.#tokens])
      if (holder.kind === 'team' && holder.team === id) this.#tokens.delete(secret);
  }

  addProject(id: string, organization: string, isDefault = false): void {
    this.#projects.set(id, { id, organization, isDefault });
  }

  hasProject(id: string): boolean {
    return this.#projects.has(id);
  }

  removeProject(id: string): void {
    this.#projects.delete(id);
    this.#removeGrants(grant => grant.on === id);
  }

  addWorkspace(id: string, project: string, name: string): void {
    const { organization } = this.#projects.get(project) as Project;
    this.#workspaces.set(id, { id, organization, project, name, lock: null });
  }

  workspace(id: string): Workspace | undefined {
    return this.#workspaces.get(id);
  }

  workspacesIn(project: string): Workspace[] {
    return [...this.#workspaces.values()].filter(workspace => workspace.project === project);
  }

  removeWorkspace(id: string): void {
    this.#workspaces.delete(id);
    this.#removeGrants(grant => grant.on === id);
  }

  /** A grant that is simply there. */
  addGrant(kind: Kind, id: string, team: string, on: string, attributes: object): void {
    this.#grants.set(id, { id, kind, team, on, chosen: changed(kind, undefined, { data: { attributes } }) as Chosen });
  }

  hasGrant(id: string): boolean {
    return this.#grants.has(id);
  }

  #removeGrants(gone: (grant: Grant) => boolean): void {
    for (const grant of [...this.#grants.values()]) if (gone(grant)) this.#grants.delete(grant.id);
  }

  issue(secret: string, holder: Holder): void {
    this.#tokens.set(secret, holder);
  }

  revoke(secret: string): void {
    this.#tokens.delete(secret);
  }

  accepts(secret: string): boolean {
    return this.#tokens.has(secret);
  }

  // The rules.

  #holder(token: string | undefined): Holder | undefined {
    return token === undefined ? undefined : this.#tokens.get(token);
  }

  /** To a token that the organization does not take, it is as if it were none. */
  #answering(token: string | undefined, predict: (holder: Holder) => Prediction): Prediction {
    const holder = this.#holder(token);
    if (!holder) return unauthorized;
    try {
      return predict(holder);
    } catch (error) {
      if (error === shutOut) return unauthorized;
      throw error;
    }
  }

  #isShutOut(holder: Holder, organization: string): boolean {
    return holder.kind === 'user' && this.#closed.has(organization) && this.isMember(organization, holder.user);
  }

  /** Where several places are asked about, those that shut the caller out are left out. */
  #standingIfAny(holder: Holder, organization: string): Standing | undefined {
    return this.#isShutOut(holder, organization) ? undefined : this.#standing(holder, organization);
  }

  #standing(holder: Holder, organization: string): Standing | undefined {
    if (this.#isShutOut(holder, organization)) throw shutOut;
    if (holder.kind === 'organization')
      return holder.organization === organization ? { isOwner: true, isOrganization: true, teams: [] } : undefined;
    if (holder.kind === 'user' && !this.isMember(organization, holder.user)) return undefined;
    const teams = [...this.#teams.values()].filter(
      team =>
        team.organization === organization &&
        (holder.kind === 'user' ? team.members.has(holder.user) : team.id === holder.team),
    );
    // A team's token is at home in its team's organization only.
    if (holder.kind === 'team' && teams.length === 0) return undefined;
    return { isOwner: teams.some(team => team.isOwners), isOrganization: false, teams };
  }

  #held({ isOwner, isOrganization, teams }: Standing, { project, workspace }: Place): Held {
    if (isOwner) return { ...everything, isOrganization };
    const here = [...this.#grants.values()].filter(({ on }) => on === project.id || on === workspace?.id);
    const own = teams.map(team => ({ team, grants: here.filter(grant => grant.team === team.id) }));
    const sets = own.flatMap(({ team: { flags }, grants }) => [
      ...[...flags].map(flag => flagGives(flag, project.isDefault)),
      ...grants.map(grant => gives(grant, flags.has('delegate-policy-overrides'))),
    ]);
    return {
      set: sets.reduce<PermissionSet>(higher, nothing),
      administers: own.some(
        ({ team: { flags }, grants }) =>
          flags.has('manage-projects') || flags.has('manage-workspaces') || grants.some(givesAdministration),
      ),
      isOwner,
      isOrganization,
    };
  }

  #place(id: string): Place | undefined {
    const workspace = this.#workspaces.get(id);
    const project = this.#projects.get(workspace?.project ?? id);
    return project && { project, workspace };
  }

  /** What a token holds on a project or a workspace; undefined for who does not belong to its organization. */
  held(token: string | undefined, id: string): Held | undefined {
    const holder = this.#holder(token);
    const place = this.#place(id);
    const standing = holder && place && this.#standingIfAny(holder, place.project.organization);
    return standing && place && this.#held(standing, place);
  }

  /** Whether the token holds one of these in the whole organization, or is an owner. */
  mayByFlag(token: string | undefined, organization: string, ...anyOf: string[]): boolean {
    const holder = this.#holder(token);
    const standing = holder && this.#standingIfAny(holder, organization);
    return (
      standing !== undefined &&
      (standing.isOwner || standing.teams.some(({ flags }) => anyOf.some(flag => flags.has(flag))))
    );
  }

  /** Whether the token manages the team access of the project or the workspace. */
  manages(token: string | undefined, id: string): boolean {
    const held = this.held(token, id);
    if (!held) return false;
    return this.#workspaces.has(id) ? held.administers : reaches(held.set, 'project-access/teams', 'manage');
  }

  // Who is worth asking for.

  mayCreateWorkspace(token: string | undefined, project: string): boolean {
    return this.#holds(token, project, 'workspace-access/create');
  }

  mayMoveWorkspaces(token: string | undefined, id: string): boolean {
    return this.#holds(token, id, 'workspace-access/move');
  }

  mayLockWorkspaces(token: string | undefined, id: string): boolean {
    return this.#holds(token, id, 'workspace-access/locking');
  }

  #holds(token: string | undefined, id: string, right: string): boolean {
    const held = this.held(token, id);
    return held !== undefined && reaches(held.set, right, true);
  }

  #manages(held: Held, { workspace }: Place): boolean {
    return workspace ? held.administers : reaches(held.set, 'project-access/teams', 'manage');
  }

  #sees(standing: Standing, place: Place, grant: Grant): boolean {
    const held = this.#held(standing, place);
    if (this.#manages(held, place)) return true;
    if (standing.teams.some(({ id }) => id === grant.team)) return true;
    return (
      grant.kind === onProjects &&
      reaches(held.set, 'project-access/teams', 'read') &&
      this.#teams.get(grant.team)?.visibility === 'organization'
    );
  }

  /** Any member lists a project's team access; that of a workspace, who may read the workspace. */
  #lists(kind: Kind, held: Held): boolean {
    return kind === onProjects || reaches(held.set, 'workspace-access/runs', 'read');
  }

  #mayName({ isOwner, teams }: Standing, team: Team): boolean {
    const holds = (flag: string) => teams.some(({ flags }) => flags.has(flag));
    return (
      isOwner ||
      team.visibility === 'organization' ||
      teams.includes(team) ||
      (holds('access-secret-teams') && teamManagement.some(holds))
    );
  }

  /** Nobody grants more than they hold. */
  #excess(kind: Kind, held: Held, next: Chosen, present: Chosen | undefined): string[] {
    return held.isOwner ? [] : excess(kind, next, present, held);
  }

  /** The place that a body or a query names for a kind of grant. */
  #placeFor(kind: Kind, id: string): Place | undefined {
    return (kind === onProjects ? this.#projects : this.#workspaces).has(id) ? this.#place(id) : undefined;
  }

  // The five operations on team access, to projects and to workspaces.

  list(kind: Kind, token: string | undefined, query: Readonly<Record<string, string>>): Prediction {
    return this.#answering(token, holder => {
      const { filter } = holdsNames(kind);
      const on = query[filter];
      const parameters = [...(on === undefined ? [filter] : []), ...wrongPages(query)];
      if (on === undefined || parameters.length > 0) return { status: 400, pointers: [], parameters };
      const place = this.#placeFor(kind, on);
      const standing = place && this.#standing(holder, place.project.organization);
      if (!place || !standing || !this.#lists(kind, this.#held(standing, place))) return notFound;

      const teamId = query['filter[team][id]'];
      const visible = [...this.#grants.values()].filter(
        grant =>
          grant.on === on && (teamId === undefined || grant.team === teamId) && this.#sees(standing, place, grant),
      );
      const carried: [string, string][] = [
        [filter, on],
        ...(teamId === undefined ? [] : [['filter[team][id]', teamId] as [string, string]]),
      ];
      const { shown, links, meta } = this.#paged(`/api/v2/${kind.type}`, carried, query, visible);
      return { status: 200, body: { data: shown.map(resource), links, meta } };
    });
  }

  #paged<T>(
    path: string,
    carried: readonly (readonly [string, string])[],
    query: Readonly<Record<string, string>>,
    visible: readonly T[],
  ) {
    const size = Math.min(100, Number(query['page[size]'] ?? '20'));
    const current = Number(query['page[number]'] ?? '1');
    const last = Math.max(1, Math.ceil(visible.length / size));
    const previous = current === 1 ? null : Math.min(current - 1, last);
    const next = current < last ? current + 1 : null;
    const link = (page: number | null) => {
      if (page === null) return null;
      const parts = [...carried, ['page[number]', `${page}`], ['page[size]', `${size}`]] as [string, string][];
      const search = parts.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join('&');
      return `${this.#publicUrl}${path}?${search}`;
    };
    return {
      shown: visible.slice((current - 1) * size, current * size),
      links: { self: link(current), first: link(1), prev: link(previous), next: link(next), last: link(last) },
      meta: {
        pagination: {
          'current-page': current,
          'page-size': size,
          'prev-page': previous,
          'next-page': next,
          'total-pages': last,
          'total-count': visible.length,
        },
      },
    };
  }

  /** A grant and what the caller is where it belongs, if the caller may see it or, where asked, manage it. */
  #reached(kind: Kind, holder: Holder, id: string, toManage: boolean) {
    const grant = this.#grants.get(id);
    const place = grant && grant.kind === kind ? this.#place(grant.on) : undefined;
    const standing = place && this.#standing(holder, place.project.organization);
    if (!grant || !place || !standing) return undefined;
    const held = this.#held(standing, place);
    const may = toManage ? this.#manages(held, place) : this.#sees(standing, place, grant);
    return may ? { grant, place, held } : undefined;
  }

  show(kind: Kind, token: string | undefined, id: string): Prediction {
    return this.#answering(token, holder => {
      const reached = this.#reached(kind, holder, id, false);
      return reached ? { status: 200, body: { data: resource(reached.grant) } } : notFound;
    });
  }

  /** `learnt` is the id that the service gave to what it made, if it did. */
  create(kind: Kind, token: string | undefined, payload: string | undefined, learnt = '(an id)'): Prediction {
    return this.#answering(token, holder => {
      const body = parsed(payload);
      if (body === notJson) return refused(400);

      const pointer = `/data/relationships/${kind.place}`;
      const on = at(body, 'data', 'relationships', kind.place, 'data', 'id');
      if (typeof on !== 'string')
        // Whoever manages nothing learns nothing of a body that names no place either.
        return this.#managesSomewhere(kind, token)
          ? refused(422, ...creationFaults(kind, body))
          : refused(404, pointer);
      const place = this.#placeFor(kind, on);
      const standing = place && this.#standing(holder, place.project.organization);
      const held = standing && place && this.#held(standing, place);
      if (!place || !standing || !held || !this.#manages(held, place)) return refused(404, pointer);
      const teamId = at(body, 'data', 'relationships', 'team', 'data', 'id');
      if (typeof teamId !== 'string') return refused(422, ...creationFaults(kind, body));
      const team = this.#teams.get(teamId);
      if (!team || team.organization !== place.project.organization || !this.#mayName(standing, team))
        return refused(404, '/data/relationships/team');

      const faults = creationFaults(kind, body);
      if (faults.length > 0) return refused(422, ...faults);
      const chosen = changed(kind, undefined, body);
      if ('refusedAt' in chosen) return refused(422, ...chosen.refusedAt);
      const beyond = this.#excess(kind, held, chosen, undefined);
      if (beyond.length > 0) return refused(422, ...beyond);
      const existing = [...this.#grants.values()].find(grant => grant.team === team.id && grant.on === on);
      if (existing) return { ...refused(422, '/data/relationships/team'), existing: existing.id };

      const grant: Grant = { id: learnt, kind, team: team.id, on, chosen };
      this.#grants.set(learnt, grant);
      return { status: 200, body: { data: resource(grant) } };
    });
  }

  /** In an organization that has no workspace yet, whoever would administer it administers. */
  #managesSomewhere(kind: Kind, token: string | undefined): boolean {
    if (kind === onProjects) return [...this.#projects.keys()].some(id => this.manages(token, id));
    return [...this.#projects.keys(), ...this.#workspaces.keys()].some(id => this.held(token, id)?.administers);
  }

  update(kind: Kind, token: string | undefined, id: string, payload: string | undefined, matches = true): Prediction {
    return this.#answering(token, holder => {
      const body = parsed(payload);
      if (body === notJson) return refused(400);
      const reached = this.#reached(kind, holder, id, true);
      if (!reached) return notFound;
      if (!matches) return refused(412);
      const { grant, held } = reached;

      const faults = updateFaults(kind, body, id);
      if (faults.length > 0) return refused(422, ...faults);
      const chosen = changed(kind, grant.chosen, body);
      if ('refusedAt' in chosen) return refused(422, ...chosen.refusedAt);
      const beyond = this.#excess(kind, held, chosen, grant.chosen);
      if (beyond.length > 0) return refused(422, ...beyond);

      grant.chosen = chosen;
      return { status: 200, body: { data: resource(grant) } };
    });
  }

  remove(kind: Kind, token: string | undefined, id: string, matches = true): Prediction {
    return this.#answering(token, holder => {
      if (!this.#reached(kind, holder, id, true)) return notFound;
      if (!matches) return refused(412);
      this.#grants.delete(id);
      return { status: 204 };
    });
  }

  // The whole list of a project at once.

  #grantsOn(project: string): Grant[] {
    return [...this.#grants.values()].filter(({ on }) => on === project);
  }

  /** All that is given on a project, as its managers see it. */
  accessTo(project: string) {
    return this.#grantsOn(project).map(resource);
  }

  #wholeList(standing: Standing, place: Place) {
    return {
      data: this.#grantsOn(place.project.id)
        .filter(grant => this.#sees(standing, place, grant))
        .map(resource),
    };
  }

  whole(token: string | undefined, project: string): Prediction {
    return this.#answering(token, holder => {
      const place = this.#placeFor(onProjects, project);
      const standing = place && this.#standing(holder, place.project.organization);
      return place && standing ? { status: 200, body: this.#wholeList(standing, place) } : notFound;
    });
  }

  /** `learnt` are the ids that the service gave to what it added, in the order of the body. */
  replace(
    token: string | undefined,
    project: string,
    payload: string | undefined,
    matches = true,
    learnt: readonly string[] = [],
  ): Prediction {
    return this.#answering(token, holder => {
      const body = parsed(payload);
      if (body === notJson) return refused(400);
      const place = this.#placeFor(onProjects, project);
      const standing = place && this.#standing(holder, place.project.organization);
      const held = standing && place && this.#held(standing, place);
      if (!place || !standing || !held || !this.#manages(held, place)) return notFound;
      if (!matches) return refused(412);

      const data = at(body, 'data');
      const items: readonly unknown[] = Array.isArray(data) ? data : [];
      const pointer = (index: number) => `/data/${index}`;
      const toTeam = (index: number) => `${pointer(index)}/relationships/team`;
      const names = items.map(item => at(item, 'relationships', 'team', 'data', 'id'));
      const before = this.#grantsOn(project);
      const presentOf = (name: unknown) => before.find(({ team }) => team === name);
      const lost = names.flatMap((name, index) => {
        if (typeof name !== 'string' || presentOf(name)) return [];
        const team = this.#teams.get(name);
        const mayBeNamed = team?.organization === place.project.organization && this.#mayName(standing, team);
        return mayBeNamed ? [] : [toTeam(index)];
      });
      if (lost.length > 0) return refused(404, ...lost);

      if (!isObject(body)) return refused(422, '');
      if (!Array.isArray(data)) return refused(422, '/data');
      const wanted: { readonly team: string; readonly chosen: Chosen }[] = [];
      const faults = items.flatMap((item, index) => {
        const name = names[index];
        const repeated = typeof name === 'string' && names.indexOf(name) < index ? [toTeam(index)] : [];
        const unsound = itemFaults(onProjects, item, pointer(index));
        if (unsound.length > 0) return [...repeated, ...unsound];
        const present = presentOf(name);
        const id = at(item, 'id');
        const misnamed = id === undefined || id === '' || id === present?.id ? [] : [`${pointer(index)}/id`];
        const chosen = changed(onProjects, undefined, { data: item });
        const wrong =
          'refusedAt' in chosen ? chosen.refusedAt : this.#excess(onProjects, held, chosen, present?.chosen);
        if (!('refusedAt' in chosen)) wanted.push({ team: name as string, chosen });
        return [...repeated, ...misnamed, ...wrong.map(each => within(pointer(index), each))];
      });
      if (faults.length > 0) return refused(422, ...faults);

      const removed = before.filter(({ team }) => !wanted.some(each => each.team === team));
      for (const { id } of removed) this.#grants.delete(id);
      const [added, altered]: [string[], string[]] = [[], []];
      for (const { team, chosen } of wanted) {
        const present = presentOf(team);
        if (!present) {
          const id = learnt[added.length] ?? `(id ${added.length})`;
          this.#grants.set(id, { id, kind: onProjects, team, on: project, chosen });
          added.push(id);
        } else if (JSON.stringify(resource({ ...present, chosen })) !== JSON.stringify(resource(present))) {
          present.chosen = chosen;
          altered.push(present.id);
        }
      }
      const meta = {
        added,
        changed: altered,
        removed: removed.map(({ id }) => id),
        unchanged: before.length - removed.length - altered.length,
      };
      return { status: 200, body: { ...this.#wholeList(standing, place), meta } };
    });
  }

  // Workspaces.

  #shown(workspace: Workspace, standing: Standing): ShownWorkspace {
    const { id, name, project, lock, organization } = workspace;
    const place = this.#place(id) as Place;
    const team = lock?.type === 'teams' ? this.#teams.get(lock.id) : undefined;
    const isKnown =
      lock?.type === 'organizations' ||
      (lock?.type === 'users' && this.isMember(organization, lock.id)) ||
      (team !== undefined && this.#mayName(standing, team));
    return {
      id,
      name,
      project,
      locked: lock !== null,
      lockedBy: isKnown ? lock : null,
      permissions: permissionsOnWorkspace(this.#held(standing, place)),
    };
  }

  #reachedWorkspace(holder: Holder, id: string, may: (held: Held) => boolean) {
    const workspace = this.#workspaces.get(id);
    const standing = workspace && this.#standing(holder, workspace.organization);
    if (!workspace || !standing) return undefined;
    const held = this.#held(standing, this.#place(id) as Place);
    return may(held) ? { workspace, standing, held } : undefined;
  }

  showWorkspace(token: string | undefined, id: string): Prediction {
    return this.#answering(token, holder => {
      const reached = this.#reachedWorkspace(holder, id, ({ set }) => reaches(set, 'workspace-access/runs', 'read'));
      return reached ? { status: 200, workspaces: [this.#shown(reached.workspace, reached.standing)] } : notFound;
    });
  }

  listWorkspaces(token: string | undefined, organization: string, query: Readonly<Record<string, string>>): Prediction {
    return this.#answering(token, holder => {
      const parameters = wrongPages(query);
      if (parameters.length > 0) return { status: 400, pointers: [], parameters };
      const standing = this.#standing(holder, organization);
      if (!this.#memberships.has(organization) || !standing) return notFound;
      const { 'filter[project][id]': project, 'search[name]': part = '' } = query;
      const visible = [...this.#workspaces.values()].filter(
        each =>
          each.organization === organization &&
          (project === undefined || each.project === project) &&
          each.name.toLowerCase().includes(part.toLowerCase()) &&
          reaches(this.#held(standing, this.#place(each.id) as Place).set, 'workspace-access/runs', 'read'),
      );
      const { shown } = this.#paged('', [], query, visible);
      return { status: 200, workspaces: shown.map(each => this.#shown(each, standing)), total: visible.length };
    });
  }

  #isTaken(organization: string, name: string, but?: string): boolean {
    return [...this.#workspaces.values()].some(
      other =>
        other.organization === organization && other.name.toLowerCase() === name.toLowerCase() && other.id !== but,
    );
  }

  createWorkspace(
    token: string | undefined,
    organization: string,
    payload: string | undefined,
    learnt = '(an id)',
  ): Prediction {
    return this.#answering(token, holder => {
      const body = parsed(payload);
      if (body === notJson) return refused(400);
      const standing = this.#standing(holder, organization);
      if (!standing || !this.#memberships.has(organization)) return notFound;
      const named = at(body, 'data', 'relationships', 'project', 'data', 'id');
      const project =
        typeof named === 'string'
          ? this.#projects.get(named)
          : [...this.#projects.values()].find(each => each.organization === organization && each.isDefault);
      if (
        !project ||
        project.organization !== organization ||
        !reaches(this.#held(standing, { project }).set, 'workspace-access/create', true)
      )
        return typeof named === 'string' ? refused(404, '/data/relationships/project') : notFound;

      const faults = workspaceFaults(body);
      if (faults.length > 0) return refused(422, ...faults);
      const name = at(body, 'data', 'attributes', 'name') as string;
      if (this.#isTaken(organization, name)) return refused(422, '/data/attributes/name');
      this.addWorkspace(learnt, project.id, name);
      return { status: 201, workspaces: [this.#shown(this.#workspaces.get(learnt) as Workspace, standing)] };
    });
  }

  updateWorkspace(token: string | undefined, id: string, payload: string | undefined, matches = true): Prediction {
    return this.#answering(token, holder => {
      const body = parsed(payload);
      if (body === notJson) return refused(400);
      const workspace = this.#workspaces.get(id);
      const target = at(body, 'data', 'relationships', 'project', 'data', 'id');
      const moves = typeof target === 'string' && target !== workspace?.project;
      const attributes = at(body, 'data', 'attributes') ?? {};
      // A caller without permission learns nothing: whatever is there besides a move counts as a change.
      const relationships = at(body, 'data', 'relationships') ?? {};
      const changes = [...Object.keys(attributes), ...Object.keys(relationships)].some(name => name !== 'project');
      const reached = this.#reachedWorkspace(
        holder,
        id,
        ({ set, administers }) =>
          (administers || (moves && !changes)) && (!moves || reaches(set, 'workspace-access/move', true)),
      );
      if (!workspace || !reached) return notFound;
      const { standing } = reached;
      if (moves) {
        const project = this.#projects.get(target);
        if (
          !project ||
          project.organization !== workspace.organization ||
          !reaches(this.#held(standing, { project }).set, 'workspace-access/move', true)
        )
          return refused(404, '/data/relationships/project');
      }
      if (!matches) return refused(412);
      const faults = workspaceFaults(body, id);
      if (faults.length > 0) return refused(422, ...faults);
      const name = (at(body, 'data', 'attributes', 'name') as string | undefined) ?? workspace.name;
      if (this.#isTaken(workspace.organization, name, id)) return refused(422, '/data/attributes/name');
      workspace.name = name;
      if (typeof target === 'string') workspace.project = target;
      return { status: 200, workspaces: [this.#shown(workspace, standing)] };
    });
  }

  act(token: string | undefined, id: string, action: Action, matches = true): Prediction {
    return this.#answering(token, holder => {
      const right: Readonly<Record<Action, (held: Held) => boolean>> = {
        lock: ({ set }) => reaches(set, 'workspace-access/locking', true),
        unlock: ({ set }) => reaches(set, 'workspace-access/locking', true),
        'force-unlock': ({ administers }) => administers,
        'safe-delete': ({ set, administers }) => administers || reaches(set, 'workspace-access/delete', true),
        delete: ({ set, administers }) => administers || reaches(set, 'workspace-access/delete', true),
      };
      const reached = this.#reachedWorkspace(holder, id, right[action]);
      if (!reached) return notFound;
      if (!matches) return refused(412);
      const { workspace, standing } = reached;
      const self = identityOf(holder);
      const { lock } = workspace;
      switch (action) {
        case 'lock':
          if (lock) return conflict(/already locked/);
          workspace.lock = self;
          break;
        case 'unlock':
          if (!lock) return conflict(/not locked/);
          if (lock.type !== self.type || lock.id !== self.id)
            return conflict(lock.type === 'teams' ? /is locked by Team/ : /is locked by User/);
          workspace.lock = null;
          break;
        case 'force-unlock':
          if (!lock) return conflict(/not locked/);
          workspace.lock = null;
          break;
        case 'safe-delete':
          if (lock) return conflict(/locked/);
          this.removeWorkspace(id);
          return { status: 204 };
        case 'delete':
          this.removeWorkspace(id);
          return { status: 204 };
      }
      return { status: 200, workspaces: [this.#shown(workspace, standing)] };
    });
  }
}

export type Action = 'lock' | 'unlock' | 'force-unlock' | 'safe-delete' | 'delete';

const identityOf = (holder: Holder): { type: string; id: string } => {
  switch (holder.kind) {
    case 'user':
      return { type: 'users', id: holder.user };
    case 'team':
      return { type: 'teams', id: holder.team };
    case 'organization':
      return { type: 'organizations', id: holder.organization };
  }
};

const wrongPages = (query: Readonly<Record<string, string>>): string[] =>
  ['page[number]', 'page[size]'].filter(name => !/^[1-9]\d*$/.test(query[name] ?? '1'));

/** Of the name, the description and the project of a workspace; the other settings are not the model's affair. */
const workspaceFaults = (body: unknown, id?: string): string[] => {
  if (!isObject(body)) return [''];
  const { data } = body;
  if (!isObject(data)) return ['/data'];
  const isNew = id === undefined;
  const { attributes, relationships } = data;
  return [
    ...(isNew ? (data.type === 'workspaces' ? [] : ['/data/type']) : headFaults(data, 'workspaces', id)),
    ...(attributes === undefined && !isNew
      ? []
      : isObject(attributes)
        ? attributeFaults(attributes, isNew)
        : ['/data/attributes']),
    ...(relationships === undefined
      ? []
      : isObject(relationships)
        ? relationships.project === undefined
          ? []
          : referenceFaults(body, 'project')
        : ['/data/relationships']),
  ];
};

const attributeFaults = ({ name, description }: Readonly<Record<string, unknown>>, isNew: boolean): string[] => {
  const nameHolds = name === undefined ? !isNew : typeof name === 'string' && /^[\w-]{1,90}$/.test(name);
  const isText = description === undefined || description === null || typeof description === 'string';
  return [...(nameHolds ? [] : ['/data/attributes/name']), ...(isText ? [] : ['/data/attributes/description'])];
};

export { onProjects, onWorkspaces };
