/**
 * Grants in the reference model: the tables of the interface written a second time, and what a request makes of a grant.
 * Nothing is shared with the service: permissions are named values, so that the two can contradict each other.
 */

export type Value = string | boolean;
/** By name, such as `workspace-access/runs`. */
export type PermissionSet = Readonly<Record<string, Value>>;

const switched = [false, true];

type Row = readonly [
  name: string,
  values: readonly Value[],
  first: Value,
  second: Value,
  third: Value,
  fourth: Value,
  custom: Value,
];

/** One kind of grant: what it is on, how its permissions are named in a body, and what its levels imply. */
export type Kind = {
  readonly type: 'team-projects' | 'team-workspaces';
  readonly place: 'project' | 'workspace';
  readonly levels: readonly string[];
  /** The values that each permission can take, lowest first. */
  readonly values: Readonly<Record<string, readonly Value[]>>;
  readonly implied: Readonly<Record<string, PermissionSet>>;
  readonly customDefaults: PermissionSet;
  /** Those that come in groups, and those that are later than the interface. */
  readonly groups: readonly string[];
  readonly later: readonly string[];
  /** The levels that come with the administration of workspaces. */
  readonly administering: readonly string[];
  /** The name that a permission of this kind has on a project. */
  readonly onProject: (name: string) => string;
};

const kind = (
  rows: readonly Row[],
  rest: Omit<Kind, 'values' | 'implied' | 'customDefaults' | 'onProject'> & Partial<Pick<Kind, 'onProject'>>,
): Kind => ({
  onProject: name => name,
  ...rest,
  values: Object.fromEntries(rows.map(([name, chain]) => [name, chain])),
  implied: Object.fromEntries(
    rest.levels.map((level, index) => [level, Object.fromEntries(rows.map(row => [row[0], row[2 + index] as Value]))]),
  ),
  customDefaults: Object.fromEntries(rows.map(row => [row[0], row[6]])),
});

const states = ['none', 'read-outputs', 'read', 'write'];
const three = ['none', 'read', 'write'];

/** The table of the interface. */
// biome-ignore format: a table, to be checked with a finger
const projectRows: readonly Row[] = [
  //                                                                     read    write    maintain admin     custom
  ['project-access/settings',           ['read', 'update', 'delete'],   'read', 'read',  'read',  'delete', 'read'],
  ['project-access/teams',              ['none', 'read', 'manage'],     'none', 'none',  'none',  'manage', 'none'],
  ['workspace-access/runs',             ['read', 'plan', 'apply'],      'read', 'apply', 'apply', 'apply',  'read'],
  ['workspace-access/sentinel-mocks',   ['none', 'read'],               'none', 'read',  'read',  'read',   'none'],
  ['workspace-access/state-versions',   states,                         'read', 'write', 'write', 'write',  'none'],
  ['workspace-access/variables',        three,                          'read', 'write', 'write', 'write',  'none'],
  ['workspace-access/create',           switched,                       false,  false,   true,    true,     false],
  ['workspace-access/locking',          switched,                       false,  true,    true,    true,     false],
  ['workspace-access/delete',           switched,                       false,  false,   true,    true,     false],
  ['workspace-access/move',             switched,                       false,  false,   false,   true,     false],
  ['workspace-access/run-tasks',        switched,                       false,  false,   true,    true,     false],
  ['project-access/variable-sets',      three,                          'none', 'none',  'none',  'write',  'none'],
  ['workspace-access/policy-overrides', switched,                       false,  false,   false,   false,    false],
];

/** The table of access to a single workspace. */
// biome-ignore format: a table, to be checked with a finger
const workspaceRows: readonly Row[] = [
  //                                                   read    plan    write    admin    custom
  ['runs',              ['read', 'plan', 'apply'],    'read', 'plan', 'apply', 'apply', 'read'],
  ['variables',         three,                        'read', 'read', 'write', 'write', 'none'],
  ['state-versions',    states,                       'read', 'read', 'write', 'write', 'none'],
  ['sentinel-mocks',    ['none', 'read'],             'none', 'none', 'read',  'read',  'none'],
  ['workspace-locking', switched,                     false,  false,  true,    true,    false],
  ['run-tasks',         switched,                     false,  false,  false,   true,    false],
  ['policy-overrides',  switched,                     false,  false,  false,   false,   false],
];

export const onProjects = kind(projectRows, {
  type: 'team-projects',
  place: 'project',
  levels: ['read', 'write', 'maintain', 'admin'],
  groups: ['project-access', 'workspace-access'],
  later: ['project-access/variable-sets', 'workspace-access/policy-overrides'],
  administering: ['maintain', 'admin'],
});

export const onWorkspaces = kind(workspaceRows, {
  type: 'team-workspaces',
  place: 'workspace',
  levels: ['read', 'plan', 'write', 'admin'],
  groups: [],
  later: ['policy-overrides'],
  administering: ['admin'],
  onProject: name => `workspace-access/${name === 'workspace-locking' ? 'locking' : name}`,
});

// Effective access, in the names of a project's permissions

const { values } = onProjects;

// Below every value: only effective access can be without any.
const absent = '–';
const rank = (name: string, value: Value | undefined): number => (values[name] ?? []).indexOf(value ?? absent);

export const nothing: PermissionSet = Object.fromEntries(
  Object.entries(values).map(([name, [lowest = absent]]) => [name, lowest === 'read' ? absent : lowest]),
);

/** Whether a set holds at least this value of a permission. */
export const reaches = (set: PermissionSet, name: string, value: Value): boolean =>
  rank(name, set[name]) >= rank(name, value);

export const higher = (one: PermissionSet, other: PermissionSet): PermissionSet =>
  Object.fromEntries(
    Object.keys(values).map(name => {
      const [a = absent, b = absent] = [one[name], other[name]];
      return [name, rank(name, a) >= rank(name, b) ? a : b];
    }),
  );

const workspacePart = (set: PermissionSet = {}): PermissionSet =>
  Object.fromEntries(Object.entries(set).filter(([name]) => name.startsWith('workspace-access/')));

/** What an organization-level permission gives on every project. */
export const flagGives = (flag: string, isDefault: boolean): PermissionSet => {
  const settings = { 'project-access/settings': 'read' };
  switch (flag) {
    case 'manage-projects':
      return onProjects.implied.admin ?? {};
    case 'manage-workspaces':
      return {
        ...settings,
        ...workspacePart(onProjects.implied.admin),
        'workspace-access/move': false,
        'workspace-access/create': isDefault,
      };
    case 'read-projects':
      return settings;
    case 'read-workspaces':
    case 'manage-policy-overrides':
      return workspacePart(onProjects.implied.read);
    case 'manage-agent-pools':
      return { ...settings, ...workspacePart(onProjects.implied.read) };
    case 'manage-policies':
      return { 'workspace-access/runs': 'read' };
    default:
      return {};
  }
};

// Grants

export type Chosen = {
  readonly access: string;
  readonly permissions: PermissionSet;
  /** The later permissions that the resource shows. */
  readonly shown: ReadonlySet<string>;
};
/** What a team holds on a project or a workspace; `on` is its id. */
export type Grant = {
  readonly id: string;
  readonly kind: Kind;
  readonly team: string;
  readonly on: string;
  chosen: Chosen;
};

/** What a grant gives to a team, which may have policy overrides delegated or not. */
export const gives = ({ kind, chosen }: Grant, delegated: boolean): PermissionSet => ({
  ...Object.fromEntries(Object.entries(chosen.permissions).map(([name, value]) => [kind.onProject(name), value])),
  ...(!delegated && { 'workspace-access/policy-overrides': false }),
});

export const administers = ({ kind, chosen }: Pick<Grant, 'kind' | 'chosen'>): boolean =>
  kind.administering.includes(chosen.access);

/** Where a change adds something that the caller has not. */
export const excess = (
  kind: Kind,
  next: Chosen,
  present: Chosen | undefined,
  held: { readonly set: PermissionSet; readonly administers: boolean },
): string[] => {
  const exceeding = Object.keys(kind.values).filter(name => {
    const wanted = rank(kind.onProject(name), next.permissions[name]);
    return (
      wanted > rank(kind.onProject(name), present?.permissions[name] ?? nothing[kind.onProject(name)]) &&
      wanted > rank(kind.onProject(name), held.set[kind.onProject(name)])
    );
  });
  const raised = administers({ kind, chosen: next }) && !(present && administers({ kind, chosen: present }));
  if (exceeding.length === 0 && (!raised || held.administers)) return [];
  return next.access === 'custom' ? exceeding.map(name => `/data/attributes/${name}`) : ['/data/attributes/access'];
};

// Bodies

type Members = Readonly<Record<string, unknown>>;
export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);

export const notJson = Symbol('not JSON');
export const parsed = (payload: string | undefined): unknown => {
  // No body and null say the same: a document without data.
  if (payload === undefined) return {};
  try {
    return JSON.parse(payload) ?? {};
  } catch {
    return notJson;
  }
};

/** The permissions that a body sends, right or wrong. */
const sent = ({ values }: Kind, body: unknown): [name: string, value: unknown][] =>
  Object.keys(values).flatMap((name): [string, unknown][] => {
    const value = at(body, 'data', 'attributes', ...name.split('/'));
    return value === undefined ? [] : [[name, value]];
  });

const attributeFaults = (kind: Kind, body: unknown, accessRequired: boolean): string[] => {
  const attributes = at(body, 'data', 'attributes');
  if (attributes === undefined) return accessRequired ? ['/data/attributes'] : [];
  if (!isObject(attributes)) return ['/data/attributes'];
  const { access } = attributes;
  const accessHolds = access === undefined ? !accessRequired : [...kind.levels, 'custom'].includes(access as string);
  return [
    ...(accessHolds ? [] : ['/data/attributes/access']),
    ...kind.groups
      .filter(group => attributes[group] !== undefined && !isObject(attributes[group]))
      .map(group => `/data/attributes/${group}`),
    ...sent(kind, body)
      .filter(([name, value]) => !kind.values[name]?.includes(value as Value))
      .map(([name]) => `/data/attributes/${name}`),
  ];
};

/** The faults of a relationship to one resource. */
export const referenceFaults = (body: unknown, name: string): string[] => {
  const pointer = `/data/relationships/${name}`;
  if (!isObject(at(body, 'data', 'relationships', name))) return [pointer];
  const data = at(body, 'data', 'relationships', name, 'data');
  if (!isObject(data)) return [`${pointer}/data`];
  return [
    ...(data.type === `${name}s` ? [] : [`${pointer}/data/type`]),
    ...(typeof data.id === 'string' ? [] : [`${pointer}/data/id`]),
  ];
};

export const creationFaults = (kind: Kind, body: unknown): string[] => {
  if (!isObject(body)) return [''];
  if (!isObject(body.data)) return ['/data'];
  return [
    ...(body.data.type === kind.type ? [] : ['/data/type']),
    ...attributeFaults(kind, body, true),
    ...(isObject(body.data.relationships)
      ? [kind.place, 'team'].flatMap(name => referenceFaults(body, name))
      : ['/data/relationships']),
  ];
};

/** Of one item of a whole list; `at` is where it stands. */
export const itemFaults = (kind: Kind, item: unknown, at: string): string[] => {
  const body = { data: item };
  if (!isObject(item)) return [at];
  const faults = [
    ...(item.type === kind.type ? [] : ['/data/type']),
    ...(item.id === undefined || typeof item.id === 'string' ? [] : ['/data/id']),
    ...attributeFaults(kind, body, true),
    ...(isObject(item.relationships) ? referenceFaults(body, 'team') : ['/data/relationships']),
  ];
  return faults.map(fault => within(at, fault));
};

/** The same place in an item of a list. */
export const within = (item: string, pointer: string): string => pointer.replace(/^\/data/, item);

export const updateFaults = (kind: Kind, body: unknown, id: string): string[] => {
  if (!isObject(body)) return [''];
  const { data } = body;
  if (!isObject(data)) return ['/data'];
  return [...headFaults(data, kind.type, id), ...attributeFaults(kind, body, false)];
};

/** Of the id and the type in an update, which may both be absent. */
export const headFaults = (data: Members, type: string, id: string): string[] => [
  // Some clients send an empty id for none.
  ...(data.id === undefined || data.id === '' || data.id === id ? [] : ['/data/id']),
  ...(data.type === undefined || data.type === type ? [] : ['/data/type']),
];

/** What a sound body makes of the present grant, or of none; or where a fixed level refuses what was sent. */
export const changed = (
  kind: Kind,
  present: Chosen | undefined,
  body: unknown,
): Chosen | { readonly refusedAt: string[] } => {
  const access = (at(body, 'data', 'attributes', 'access') ?? present?.access) as string;
  const wanted = sent(kind, body) as [string, Value][];
  const implied = kind.implied[access];
  if (implied) {
    const refusedAt = wanted
      .filter(([name, value]) => value !== implied[name])
      .map(([name]) => `/data/attributes/${name}`);
    return refusedAt.length > 0 ? { refusedAt } : { access, permissions: implied, shown: new Set() };
  }
  const before = present?.permissions ?? kind.customDefaults;
  const carried = kind.later.filter(name =>
    present?.access === 'custom' ? present.shown.has(name) : before[name] !== kind.customDefaults[name],
  );
  return {
    access,
    permissions: { ...before, ...Object.fromEntries(wanted) },
    shown: new Set([...carried, ...wanted.map(([name]) => name).filter(name => kind.later.includes(name))]),
  };
};

export const resource = ({ id, kind, team, on, chosen }: Grant) => {
  const shown = Object.keys(kind.values).filter(name => !kind.later.includes(name) || chosen.shown.has(name));
  const group = (prefix: string) =>
    Object.fromEntries(
      shown
        .filter(name => name.startsWith(`${prefix}/`))
        .map(name => [name.slice(prefix.length + 1), chosen.permissions[name]]),
    );
  const permissions =
    kind.groups.length === 0
      ? Object.fromEntries(shown.map(name => [name, chosen.permissions[name]]))
      : Object.fromEntries(kind.groups.map(name => [name, group(name)]));
  const related = (name: string, id: string) => ({
    [name]: { data: { id, type: `${name}s` }, links: { related: `/api/v2/${name}s/${id}` } },
  });
  return {
    id,
    type: kind.type,
    attributes: { access: chosen.access, ...permissions },
    relationships: { ...related('team', team), ...related(kind.place, on) },
    links: { self: `/api/v2/${kind.type}/${id}` },
  };
};
