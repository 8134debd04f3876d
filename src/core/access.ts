/** What a team may do on a project: permissions, levels, grants, and what a request does to a grant. Pure. */

/** A permission set. Each permission is stored in thermometer code: each step up its chain sets one more bit. */
export type Permissions = number;

/** Lowest first. `null` is no access at all: it exists in effective access, never in a resource. */
const chains = {
  'project-access.settings': [null, 'read', 'update', 'delete'],
  'project-access.teams': ['none', 'read', 'manage'],
  'workspace-access.runs': [null, 'read', 'plan', 'apply'],
  'workspace-access.sentinel-mocks': ['none', 'read'],
  'workspace-access.state-versions': ['none', 'read-outputs', 'read', 'write'],
  'workspace-access.variables': ['none', 'read', 'write'],
  'workspace-access.create': [false, true],
  'workspace-access.locking': [false, true],
  'workspace-access.delete': [false, true],
  'workspace-access.move': [false, true],
  'workspace-access.run-tasks': [false, true],
  // Later than the interface: shown only on a resource where a client has set them.
  'project-access.variable-sets': ['none', 'read', 'write'],
  'workspace-access.policy-overrides': [false, true],
} as const;

export type PermissionName = keyof typeof chains;
export type Value<N extends PermissionName = PermissionName> = Exclude<(typeof chains)[N][number], null>;

export const levels = ['read', 'write', 'maintain', 'admin'] as const;
export type Level = (typeof levels)[number];

export const accesses = [...levels, 'custom'] as const;
export type Access = (typeof accesses)[number];

type Row<N extends PermissionName> = readonly [Value<N>, Value<N>, Value<N>, Value<N>, Value<N>];

/** The interface's table of implied permission levels, row by row. */
// biome-ignore format: a table, to be checked with a finger
const implied: { readonly [N in PermissionName]: Row<N> } = {
  //                                    read     write    maintain  admin     custom default
  'project-access.settings':           ['read',  'read',  'read',   'delete', 'read'],
  'project-access.teams':              ['none',  'none',  'none',   'manage', 'none'],
  'workspace-access.runs':             ['read',  'apply', 'apply',  'apply',  'read'],
  'workspace-access.sentinel-mocks':   ['none',  'read',  'read',   'read',   'none'],
  'workspace-access.state-versions':   ['read',  'write', 'write',  'write',  'none'],
  'workspace-access.variables':        ['read',  'write', 'write',  'write',  'none'],
  'workspace-access.create':           [false,   false,   true,     true,     false],
  'workspace-access.locking':          [false,   true,    true,     true,     false],
  'workspace-access.delete':           [false,   false,   true,     true,     false],
  'workspace-access.move':             [false,   false,   false,    true,     false],
  'workspace-access.run-tasks':        [false,   false,   true,     true,     false],
  'project-access.variable-sets':      ['none',  'none',  'none',   'write',  'none'],
  'workspace-access.policy-overrides': [false,   false,   false,    false,    false],
};

const laterThanTheInterface: readonly PermissionName[] = [
  'project-access.variable-sets',
  'workspace-access.policy-overrides',
];

export type Permission = {
  readonly name: PermissionName;
  readonly group: 'project-access' | 'workspace-access';
  readonly key: string;
  readonly later: boolean;
  /** The values that a resource may carry, lowest first. */
  readonly values: readonly Value[];
  /** The whole chain, "no access" included, and the bits of each of its steps. */
  readonly chain: readonly (Value | null)[];
  readonly steps: readonly Permissions[];
  readonly mask: Permissions;
};

let nextBit = 0;
export const permissions: readonly Permission[] = Object.entries(chains).map(([name, chain]) => {
  const offset = nextBit;
  nextBit += chain.length - 1;
  const steps = chain.map((_, rank) => ((1 << rank) - 1) << offset);
  const [group, key] = name.split('.') as [Permission['group'], string];
  return {
    name: name as PermissionName,
    group,
    key,
    later: laterThanTheInterface.includes(name as PermissionName),
    values: chain.filter(value => value !== null),
    chain,
    steps,
    mask: ((1 << (chain.length - 1)) - 1) << offset,
  };
});

const byName = Object.fromEntries(permissions.map(permission => [permission.name, permission])) as Record<
  PermissionName,
  Permission
>;

export const nothing: Permissions = 0;
export const everything: Permissions = permissions.reduce((all, { mask }) => all | mask, nothing);

/** Whichever is higher, permission by permission. */
export const join = (a: Permissions, b: Permissions): Permissions => a | b;

/** Whether `a` is at least `b` in every permission. */
export const covers = (a: Permissions, b: Permissions): boolean => (a & b) === b;

/** The bits of one permission at one value. */
export const at = <N extends PermissionName>(name: N, value: Value<N>): Permissions =>
  byName[name].steps[byName[name].chain.indexOf(value)] ?? nothing;

/** What a set holds of one permission; `null` is no access at all. */
export const valueIn = (set: Permissions, { chain, steps, mask }: Permission): Value | null =>
  chain[steps.indexOf(set & mask)] ?? null;

/** The part of a set that concerns the project, or its workspaces. */
export const partOf = (set: Permissions, group: Permission['group']): Permissions =>
  permissions.reduce((part, { group: of, mask }) => (of === group ? part | (set & mask) : part), nothing);

const column = (index: 0 | 1 | 2 | 3 | 4): Permissions =>
  permissions.reduce((set, { name }) => set | at(name, implied[name][index]), nothing);

const impliedSets: Record<Level, Permissions> = {
  read: column(0),
  write: column(1),
  maintain: column(2),
  admin: column(3),
};
const customDefault = column(4);

export const impliedBy = (level: Level): Permissions => impliedSets[level];

/** A fixed level cannot carry permissions. `beyond` masks the later permissions that a custom grant shows. */
export type Grant =
  | { readonly access: Level }
  | { readonly access: 'custom'; readonly chosen: Permissions; readonly beyond: Permissions };

export const granted = (grant: Grant): Permissions =>
  grant.access === 'custom' ? grant.chosen : impliedBy(grant.access);

/** The permissions that a resource with this grant shows. */
export const shownOn = (grant: Grant): readonly Permission[] =>
  permissions.filter(({ later, mask }) => !later || (grant.access === 'custom' && (grant.beyond & mask) !== 0));

/** What a request says of access: the level, and the value of each permission that it names. */
export type Wish = {
  readonly access?: Access | undefined;
  readonly values: readonly { readonly permission: Permission; readonly value: Value }[];
};

/** The grant that comes of a wish, or the permissions that a fixed level refuses because it implies other values. */
export const changed = (
  present: Grant | undefined,
  { access = present?.access ?? 'custom', values }: Wish,
): Grant | { readonly refused: readonly Permission[] } => {
  if (access !== 'custom') {
    const refused = values.filter(({ permission, value }) => valueIn(impliedBy(access), permission) !== value);
    return refused.length === 0 ? { access } : { refused: refused.map(({ permission }) => permission) };
  }
  // What a PATCH does not name keeps its present value, implied or chosen; the defaults are for creation.
  let chosen = present ? granted(present) : customDefault;
  let beyond = present?.access === 'custom' ? present.beyond : raisedBeyond(chosen);
  for (const { permission, value } of values) {
    chosen = (chosen & ~permission.mask) | at(permission.name, value);
    if (permission.later) beyond |= permission.mask;
  }
  return { access, chosen, beyond };
};

/** A later permission that a level implied stays in force when the grant becomes custom, so it must be seen. */
const raisedBeyond = (set: Permissions): Permissions =>
  permissions.reduce((beyond, { later, mask }) => (later && (set & mask) !== 0 ? beyond | mask : beyond), nothing);
