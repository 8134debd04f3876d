/**
 * A reference model of team access: what the interface and the design promise, written a second time and plainly.
 * It shares nothing with the service, and holds permissions as named values, so that the two can contradict each other.
 */

export type Level = 'read' | 'write' | 'maintain' | 'admin';
export type Access = Level | 'custom';
export type Value = string | boolean;
/** By name, such as `workspace-access/runs`. */
export type PermissionSet = Readonly<Record<string, Value>>;

export const levels: readonly Level[] = ['read', 'write', 'maintain', 'admin'];
const accesses: readonly string[] = [...levels, 'custom'];
const switched = [false, true];

type Row = readonly [
  name: string,
  values: readonly Value[],
  read: Value,
  write: Value,
  maintain: Value,
  admin: Value,
  custom: Value,
];

// Laid out as the table of the interface; the values of a permission stand lowest first.
const rows: readonly Row[] = [
  ['project-access/settings', ['read', 'update', 'delete'], 'read', 'read', 'read', 'delete', 'read'],
  ['project-access/teams', ['none', 'read', 'manage'], 'none', 'none', 'none', 'manage', 'none'],
  ['workspace-access/runs', ['read', 'plan', 'apply'], 'read', 'apply', 'apply', 'apply', 'read'],
  ['workspace-access/sentinel-mocks', ['none', 'read'], 'none', 'read', 'read', 'read', 'none'],
  [
    'workspace-access/state-versions',
    ['none', 'read-outputs', 'read', 'write'],
    'read',
    'write',
    'write',
    'write',
    'none',
  ],
  ['workspace-access/variables', ['none', 'read', 'write'], 'read', 'write', 'write', 'write', 'none'],
  ['workspace-access/create', switched, false, false, true, true, false],
  ['workspace-access/locking', switched, false, true, true, true, false],
  ['workspace-access/delete', switched, false, false, true, true, false],
  ['workspace-access/move', switched, false, false, false, true, false],
  ['workspace-access/run-tasks', switched, false, false, true, true, false],
  // Later than the interface.
  ['project-access/variable-sets', ['none', 'read', 'write'], 'none', 'none', 'none', 'write', 'none'],
  ['workspace-access/policy-overrides', switched, false, false, false, false, false],
];
const later: readonly string[] = ['project-access/variable-sets', 'workspace-access/policy-overrides'];
const groups: readonly string[] = ['project-access', 'workspace-access'];

/** The values each permission can take, lowest first. */
export const values: Readonly<Record<string, readonly Value[]>> = Object.fromEntries(
  rows.map(([name, chain]) => [name, chain]),
);
const names = Object.keys(values);

export const implied: Readonly<Record<Level, PermissionSet>> = {
  read: Object.fromEntries(rows.map(row => [row[0], row[2]])),
  write: Object.fromEntries(rows.map(row => [row[0], row[3]])),
  maintain: Object.fromEntries(rows.map(row => [row[0], row[4]])),
  admin: Object.fromEntries(rows.map(row => [row[0], row[5]])),
};
const customDefaults: PermissionSet = Object.fromEntries(rows.map(row => [row[0], row[6]]));

/** The settings, the deletion and the team access of workspaces: they come with a level or a flag, never by choice. */
const administering: readonly string[] = ['maintain', 'admin'];
const administeringFlags: readonly string[] = ['manage-projects', 'manage-workspaces'];

// Below every value: only effective access can be without any.
const absent = '–';
const rank = (name: string, value: Value | undefined): number => (values[name] ?? []).indexOf(value ?? absent);
const nothing: PermissionSet = Object.fromEntries(
  rows.map(([name, [lowest = absent]]) => [name, lowest === 'read' ? absent : lowest]),
);
const higher = (one: PermissionSet, other: PermissionSet): PermissionSet =>
  Object.fromEntries(
    names.map(name => {
      const [a = absent, b = absent] = [one[name], other[name]];
      return [name, rank(name, a) >= rank(name, b) ? a : b];
    }),
  );
const workspacePart = (set: PermissionSet): PermissionSet =>
  Object.fromEntries(Object.entries(set).filter(([name]) => name.startsWith('workspace-access/')));

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

const flagGives = (flag: string, isDefault: boolean): PermissionSet => {
  const settings = { 'project-access/settings': 'read' };
  switch (flag) {
    case 'manage-projects':
      return implied.admin;
    case 'manage-workspaces':
      return {
        ...settings,
        ...workspacePart(implied.admin),
        'workspace-access/move': false,
        'workspace-access/create': isDefault,
      };
    case 'read-projects':
      return settings;
    case 'read-workspaces':
    case 'manage-policy-overrides':
      return workspacePart(implied.read);
    case 'manage-agent-pools':
      return { ...settings, ...workspacePart(implied.read) };
    case 'manage-policies':
      return { 'workspace-access/runs': 'read' };
    default:
      return {};
  }
};

export type Team = {
  readonly id: string;
  readonly organization: string;
  readonly isOwners: boolean;
  visibility: 'secret' | 'organization';
  flags: ReadonlySet<string>;
  readonly members: Set<string>;
};
export type Project = { readonly id: string; readonly organization: string; readonly isDefault: boolean };
type Chosen = {
  readonly access: Access;
  readonly permissions: PermissionSet;
  /** The later permissions that the resource shows. */
  readonly shown: ReadonlySet<string>;
};
type Grant = { readonly id: string; readonly team: string; readonly project: string; chosen: Chosen };

export type Holder =
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'team'; readonly team: string }
  | { readonly kind: 'organization'; readonly organization: string };

/** What one caller is in one organization. */
type Standing = { readonly isOwner: boolean; readonly teams: readonly Team[] };

export type Prediction = {
  readonly status: number;
  /** The complete body of a success; undefined where there is none. */
  readonly body?: unknown;
  /** Of a failure: where its errors point, sorted. */
  readonly pointers?: readonly string[];
  /** Of a 400: the parameters that are wrong. */
  readonly parameters?: readonly string[];
  /** Of a duplicate: the grant that is there already. */
  readonly existing?: string;
};

const refused = (status: number, ...pointers: string[]): Prediction => ({ status, pointers: pointers.toSorted() });
const unauthorized = refused(401);
const notFound = refused(404);

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);

const notJson = Symbol('not JSON');
const parsed = (payload: string | undefined): unknown => {
  // No body and null say the same: a document without data.
  if (payload === undefined) return {};
  try {
    return JSON.parse(payload) ?? {};
  } catch {
    return notJson;
  }
};

/** The permissions that a body sends, right or wrong. */
const sent = (body: unknown): [name: string, value: unknown][] =>
  names.flatMap((name): [string, unknown][] => {
    const value = at(body, 'data', 'attributes', ...name.split('/'));
    return value === undefined ? [] : [[name, value]];
  });

const attributeFaults = (body: unknown, accessRequired: boolean): string[] => {
  const attributes = at(body, 'data', 'attributes');
  if (attributes === undefined) return accessRequired ? ['/data/attributes'] : [];
  if (!isObject(attributes)) return ['/data/attributes'];
  const { access } = attributes;
  const accessHolds = access === undefined ? !accessRequired : accesses.includes(access as string);
  return [
    ...(accessHolds ? [] : ['/data/attributes/access']),
    ...groups
      .filter(group => attributes[group] !== undefined && !isObject(attributes[group]))
      .map(group => `/data/attributes/${group}`),
    ...sent(body)
      .filter(([name, value]) => !values[name]?.includes(value as Value))
      .map(([name]) => `/data/attributes/${name}`),
  ];
};

const relationshipFaults = (body: unknown): string[] => {
  if (!isObject(at(body, 'data', 'relationships'))) return ['/data/relationships'];
  return ['project', 'team'].flatMap(name => {
    const pointer = `/data/relationships/${name}`;
    if (!isObject(at(body, 'data', 'relationships', name))) return [pointer];
    const data = at(body, 'data', 'relationships', name, 'data');
    if (!isObject(data)) return [`${pointer}/data`];
    return [
      ...(data.type === `${name}s` ? [] : [`${pointer}/data/type`]),
      ...(typeof data.id === 'string' ? [] : [`${pointer}/data/id`]),
    ];
  });
};

const creationFaults = (body: unknown): string[] => {
  if (!isObject(body)) return [''];
  if (!isObject(body.data)) return ['/data'];
  return [
    ...(body.data.type === 'team-projects' ? [] : ['/data/type']),
    ...attributeFaults(body, true),
    ...relationshipFaults(body),
  ];
};

const updateFaults = (body: unknown, id: string): string[] => {
  if (!isObject(body)) return [''];
  const { data } = body;
  if (!isObject(data)) return ['/data'];
  return [
    // Some clients send an empty id for none.
    ...(data.id === undefined || data.id === '' || data.id === id ? [] : ['/data/id']),
    ...(data.type === undefined || data.type === 'team-projects' ? [] : ['/data/type']),
    ...attributeFaults(body, false),
  ];
};

/** What a sound body makes of the present grant, or of none; or where a fixed level refuses what was sent. */
const changed = (present: Chosen | undefined, body: unknown): Chosen | { readonly refusedAt: string[] } => {
  const access = (at(body, 'data', 'attributes', 'access') ?? present?.access) as Access;
  const wanted = sent(body) as [string, Value][];
  if (access !== 'custom') {
    const refusedAt = wanted
      .filter(([name, value]) => value !== implied[access][name])
      .map(([name]) => `/data/attributes/${name}`);
    return refusedAt.length > 0 ? { refusedAt } : { access, permissions: implied[access], shown: new Set() };
  }
  const before = present?.permissions ?? customDefaults;
  const carried = later.filter(name =>
    present?.access === 'custom' ? present.shown.has(name) : before[name] !== customDefaults[name],
  );
  return {
    access,
    permissions: { ...before, ...Object.fromEntries(wanted) },
    shown: new Set([...carried, ...wanted.map(([name]) => name).filter(name => later.includes(name))]),
  };
};

const resource = ({ id, team, project, chosen }: Grant) => {
  const group = (prefix: string) =>
    Object.fromEntries(
      names
        .filter(name => name.startsWith(`${prefix}/`) && (!later.includes(name) || chosen.shown.has(name)))
        .map(name => [name.slice(prefix.length + 1), chosen.permissions[name]]),
    );
  return {
    id,
    type: 'team-projects',
    attributes: {
      access: chosen.access,
      'project-access': group('project-access'),
      'workspace-access': group('workspace-access'),
    },
    relationships: {
      team: { data: { id: team, type: 'teams' }, links: { related: `/api/v2/teams/${team}` } },
      project: { data: { id: project, type: 'projects' }, links: { related: `/api/v2/projects/${project}` } },
    },
    links: { self: `/api/v2/team-projects/${id}` },
  };
};

export class Model {
  readonly #publicUrl: string;
  readonly #memberships = new Map<string, Set<string>>();
  readonly #teams = new Map<string, Team>();
  readonly #projects = new Map<string, Project>();
  // A map keeps the order of creation.
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
    for (const grant of [...this.#grants.values()]) if (grant.team === id) this.#grants.delete(grant.id);
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
    for (const grant of [...this.#grants.values()]) if (grant.project === id) this.#grants.delete(grant.id);
  }

  hasGrant(id: string): boolean {
    return this.#grants.has(id);
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

  /** A member's own token is none there. */
  #shutsOut(holder: Holder, organization: string): boolean {
    return holder.kind === 'user' && this.#closed.has(organization) && this.isMember(organization, holder.user);
  }

  #standing(holder: Holder, organization: string): Standing | undefined {
    if (this.#shutsOut(holder, organization)) return undefined;
    if (holder.kind === 'organization')
      return holder.organization === organization ? { isOwner: true, teams: [] } : undefined;
    if (holder.kind === 'user' && !this.isMember(organization, holder.user)) return undefined;
    const teams = [...this.#teams.values()].filter(
      team =>
        team.organization === organization &&
        (holder.kind === 'user' ? team.members.has(holder.user) : team.id === holder.team),
    );
    // A team's token is at home in its team's organization only.
    if (holder.kind === 'team' && teams.length === 0) return undefined;
    return { isOwner: teams.some(team => team.isOwners), teams };
  }

  /** The effective access of somebody who is no owner. */
  #held({ teams }: Standing, project: Project): PermissionSet {
    const byFlags = teams.flatMap(team => [...team.flags].map(flag => flagGives(flag, project.isDefault)));
    const byGrants = [...this.#grants.values()]
      .filter(grant => grant.project === project.id)
      .flatMap(grant =>
        teams
          .filter(team => team.id === grant.team)
          .map(team =>
            team.flags.has('delegate-policy-overrides')
              ? grant.chosen.permissions
              : { ...grant.chosen.permissions, 'workspace-access/policy-overrides': false },
          ),
      );
    return [...byFlags, ...byGrants].reduce<PermissionSet>(higher, nothing);
  }

  #manages(standing: Standing, project: Project): boolean {
    return standing.isOwner || this.#held(standing, project)['project-access/teams'] === 'manage';
  }

  /** Whether the token manages the team access of the project. */
  manages(token: string | undefined, projectId: string): boolean {
    const holder = this.#holder(token);
    const project = this.#projects.get(projectId);
    const standing = holder && project && this.#standing(holder, project.organization);
    return standing !== undefined && project !== undefined && this.#manages(standing, project);
  }

  #sees(standing: Standing, project: Project, grant: Grant): boolean {
    if (this.#manages(standing, project)) return true;
    if (standing.teams.some(({ id }) => id === grant.team)) return true;
    return (
      this.#held(standing, project)['project-access/teams'] === 'read' &&
      this.#teams.get(grant.team)?.visibility === 'organization'
    );
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

  /** Whether somebody who is no owner administers the workspaces of a project. */
  #administers({ teams }: Standing, project: Project): boolean {
    return (
      teams.some(({ flags }) => administeringFlags.some(flag => flags.has(flag))) ||
      [...this.#grants.values()].some(
        ({ team, project: on, chosen }) =>
          on === project.id && administering.includes(chosen.access) && teams.some(({ id }) => id === team),
      )
    );
  }

  /** Nobody grants more than they hold: where a change adds something that the caller has not. */
  #excess(standing: Standing, project: Project, next: Chosen, present?: Chosen): string[] {
    if (standing.isOwner) return [];
    const held = this.#held(standing, project);
    const exceeding = names.filter(name => {
      const wanted = rank(name, next.permissions[name]);
      return wanted > rank(name, (present?.permissions ?? nothing)[name]) && wanted > rank(name, held[name]);
    });
    const wouldAdminister = administering.includes(next.access) && !administering.includes(present?.access ?? '');
    if (wouldAdminister && !this.#administers(standing, project)) return ['/data/attributes/access'];
    if (exceeding.length === 0) return [];
    return next.access === 'custom' ? exceeding.map(name => `/data/attributes/${name}`) : ['/data/attributes/access'];
  }

  // The five operations.

  list(token: string | undefined, query: Readonly<Record<string, string>>): Prediction {
    const holder = this.#holder(token);
    if (!holder) return unauthorized;
    const projectId = query['filter[project][id]'];
    const parameters = [
      ...(projectId === undefined ? ['filter[project][id]'] : []),
      ...['page[number]', 'page[size]'].filter(name => !/^[1-9]\d*$/.test(query[name] ?? '1')),
    ];
    if (projectId === undefined || parameters.length > 0) return { status: 400, pointers: [], parameters };
    const project = this.#projects.get(projectId);
    if (project && this.#shutsOut(holder, project.organization)) return unauthorized;
    const standing = project && this.#standing(holder, project.organization);
    if (!project || !standing) return notFound;

    const teamId = query['filter[team][id]'];
    const visible = [...this.#grants.values()].filter(
      grant =>
        grant.project === project.id &&
        (teamId === undefined || grant.team === teamId) &&
        this.#sees(standing, project, grant),
    );
    const size = Math.min(100, Number(query['page[size]'] ?? '20'));
    const current = Number(query['page[number]'] ?? '1');
    const last = Math.max(1, Math.ceil(visible.length / size));
    const previous = current === 1 ? null : Math.min(current - 1, last);
    const next = current < last ? current + 1 : null;
    const link = (page: number | null) => {
      if (page === null) return null;
      const team: [string, string][] = teamId === undefined ? [] : [['filter[team][id]', teamId]];
      const parts: [string, string][] = [
        ['filter[project][id]', projectId],
        ...team,
        ['page[number]', `${page}`],
        ['page[size]', `${size}`],
      ];
      const search = parts.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join('&');
      return `${this.#publicUrl}/api/v2/team-projects?${search}`;
    };
    return {
      status: 200,
      body: {
        data: visible.slice((current - 1) * size, current * size).map(resource),
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
      },
    };
  }

  /** A grant and what the caller is where it belongs, if the caller may see it or, where asked, manage it; or why not. */
  #reached(holder: Holder, id: string, toManage: boolean) {
    const grant = this.#grants.get(id);
    const project = grant && this.#projects.get(grant.project);
    if (project && this.#shutsOut(holder, project.organization)) return unauthorized;
    const standing = project && this.#standing(holder, project.organization);
    if (!grant || !project || !standing) return notFound;
    const may = toManage ? this.#manages(standing, project) : this.#sees(standing, project, grant);
    return may ? { grant, project, standing } : notFound;
  }

  show(token: string | undefined, id: string): Prediction {
    const holder = this.#holder(token);
    if (!holder) return unauthorized;
    const reached = this.#reached(holder, id, false);
    return 'status' in reached ? reached : { status: 200, body: { data: resource(reached.grant) } };
  }

  /** `learnt` is the id that the service gave to what it made, if it did. */
  create(token: string | undefined, payload: string | undefined, learnt = '(an id)'): Prediction {
    const holder = this.#holder(token);
    if (!holder) return unauthorized;
    const body = parsed(payload);
    if (body === notJson) return refused(400);

    const projectId = at(body, 'data', 'relationships', 'project', 'data', 'id');
    if (typeof projectId !== 'string')
      // Whoever manages nothing learns nothing of a body that names no project either.
      return [...this.#projects.keys()].some(id => this.manages(token, id))
        ? refused(422, ...creationFaults(body))
        : refused(404, '/data/relationships/project');
    const project = this.#projects.get(projectId);
    if (project && this.#shutsOut(holder, project.organization)) return unauthorized;
    const standing = project && this.#standing(holder, project.organization);
    if (!project || !standing || !this.#manages(standing, project)) return refused(404, '/data/relationships/project');
    const teamId = at(body, 'data', 'relationships', 'team', 'data', 'id');
    if (typeof teamId !== 'string') return refused(422, ...creationFaults(body));
    const team = this.#teams.get(teamId);
    if (!team || team.organization !== project.organization || !this.#mayName(standing, team))
      return refused(404, '/data/relationships/team');

    const faults = creationFaults(body);
    if (faults.length > 0) return refused(422, ...faults);
    const chosen = changed(undefined, body);
    if ('refusedAt' in chosen) return refused(422, ...chosen.refusedAt);
    const excess = this.#excess(standing, project, chosen);
    if (excess.length > 0) return refused(422, ...excess);
    const existing = [...this.#grants.values()].find(grant => grant.team === team.id && grant.project === project.id);
    if (existing) return { ...refused(422, '/data/relationships/team'), existing: existing.id };

    const grant: Grant = { id: learnt, team: team.id, project: project.id, chosen };
    this.#grants.set(learnt, grant);
    return { status: 200, body: { data: resource(grant) } };
  }

  update(token: string | undefined, id: string, payload: string | undefined, matches = true): Prediction {
    const holder = this.#holder(token);
    if (!holder) return unauthorized;
    const body = parsed(payload);
    if (body === notJson) return refused(400);
    const reached = this.#reached(holder, id, true);
    if ('status' in reached) return reached;
    if (!matches) return refused(412);
    const { grant, project, standing } = reached;

    const faults = updateFaults(body, id);
    if (faults.length > 0) return refused(422, ...faults);
    const chosen = changed(grant.chosen, body);
    if ('refusedAt' in chosen) return refused(422, ...chosen.refusedAt);
    const excess = this.#excess(standing, project, chosen, grant.chosen);
    if (excess.length > 0) return refused(422, ...excess);

    grant.chosen = chosen;
    return { status: 200, body: { data: resource(grant) } };
  }

  remove(token: string | undefined, id: string, matches = true): Prediction {
    const holder = this.#holder(token);
    if (!holder) return unauthorized;
    const reached = this.#reached(holder, id, true);
    if ('status' in reached) return reached;
    if (!matches) return refused(412);
    this.#grants.delete(id);
    return { status: 204 };
  }
}
