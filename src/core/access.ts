/** What a team may do on a project or a workspace: permissions, levels, grants, and what a request does to a grant. Pure. */

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
  // The settings, the deletion and the team access of workspaces. It comes with a level, never by choice: no resource shows it.
  'workspace-access.administration': [false, true],
} as const;

export type PermissionName = keyof typeof chains;
export type Value<N extends PermissionName = PermissionName> = Exclude<(typeof chains)[N][number], null>;

export const levels = ['read', 'write', 'maintain', 'admin'] as const;
export type Level = (typeof levels)[number];

export const accesses = [...levels, 'custom'] as const;
export type Access<L extends string = Level> = L | 'custom';

export const workspaceLevels = ['read', 'plan', 'write', 'admin'] as const;
export type WorkspaceLevel = (typeof workspaceLevels)[number];

export const workspaceAccesses = [...workspaceLevels, 'custom'] as const;

/** For each permission, its value at each of the four levels and by default of a custom grant. */
type Table<N extends PermissionName> = {
  readonly [P in N]: readonly [Value<P>, Value<P>, Value<P>, Value<P>, Value<P>];
};

/** The interface's table of implied permission levels, row by row. */
// biome-ignore format: a table, to be checked with a finger
const impliedOnProjects: Table<PermissionName> = {
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
  'workspace-access.administration':   [false,   false,   true,     true,     false],
};

/** The same for a single workspace. */
// biome-ignore format: a table, to be checked with a finger
const impliedOnWorkspaces = {
  //                                    read     plan     write     admin     custom default
  'workspace-access.runs':             ['read',  'plan',  'apply',  'apply',  'read'],
  'workspace-access.variables':        ['read',  'read',  'write',  'write',  'none'],
  'workspace-access.state-versions':   ['read',  'read',  'write',  'write',  'none'],
  'workspace-access.sentinel-mocks':   ['none',  'none',  'read',   'read',   'none'],
  'workspace-access.locking':          [false,   false,   true,     true,     false],
  'workspace-access.run-tasks':        [false,   false,   false,    true,     false],
  'workspace-access.policy-overrides': [false,   false,   false,    false,    false],
  'workspace-access.administration':   [false,   false,   false,    true,     false],
} as const satisfies Partial<Table<PermissionName>>;

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
/** Every permission; its place here is its bits in storage: only ever append. */
export const allPermissions: readonly Permission[] = Object.entries(chains).map(([name, chain]) => {
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

/** Those that a request may choose and a resource may show. */
export const permissions: readonly Permission[] = allPermissions.filter(
  ({ name }) => name !== 'workspace-access.administration',
);

export const byName = Object.fromEntries(allPermissions.map(permission => [permission.name, permission])) as Record<
  PermissionName,
  Permission
>;

export const nothing: Permissions = 0;
export const everything: Permissions = allPermissions.reduce((all, { mask }) => all | mask, nothing);

/** Whichever is higher, permission by permission. */
export const join = (a: Permissions, b: Permissions): Permissions => a | b;

/** Whether `a` is at least `b` in every permission. */
export const covers = (a: Permissions, b: Permissions): boolean => (a & b) === b;

/** The bits of one permission at one value. */
export const at = <N extends PermissionName>(name: N, value: Value<N>): Permissions =>
  byName[name].steps[byName[name].chain.indexOf(value)] ?? nothing;

/** A question that any one of several permissions answers: the mask of the step that each must reach. A step has all lower ones. */
export type Need = Permissions;

/** The need of one permission at one value or higher; of its lowest value there is none. */
export const need = <N extends PermissionName>(name: N, value: Value<N>): Need => {
  const { chain, steps } = byName[name];
  const rank = chain.indexOf(value);
  return (steps[rank] ?? nothing) & ~(steps[rank - 1] ?? nothing);
};

/** Whether a set meets a need. A join does exactly when one of its parts does. */
export const meets = (set: Permissions, need: Need): boolean => (set & need) !== 0;

/** What a set holds of one permission; `null` is no access at all. */
export const valueIn = (set: Permissions, { chain, steps, mask }: Permission): Value | null =>
  chain[steps.indexOf(set & mask)] ?? null;

/** The part of a set that concerns the project, or its workspaces. */
export const partOf = (set: Permissions, group: Permission['group']): Permissions =>
  allPermissions.reduce((part, { group: of, mask }) => (of === group ? part | (set & mask) : part), nothing);

/** A fixed level cannot carry permissions. `beyond` masks the later permissions that a custom grant shows. */
export type Grant<L extends string = Level> =
  | { readonly access: L }
  | { readonly access: 'custom'; readonly chosen: Permissions; readonly beyond: Permissions };

export type WorkspaceGrant = Grant<WorkspaceLevel>;

/** What a request says of access: the level, and the value of each permission that it names. */
export type Wish<L extends string = Level> = {
  readonly access?: Access<L> | undefined;
  readonly values: readonly { readonly permission: Permission; readonly value: Value }[];
};

const isCustom = <L extends string>(grant: Grant<L>): grant is Extract<Grant<L>, { chosen: Permissions }> =>
  grant.access === 'custom';

/** A later permission that a level implied stays in force when the grant becomes custom, so it must be seen. */
const raisedBeyond = (set: Permissions): Permissions =>
  permissions.reduce((beyond, { later, mask }) => (later && (set & mask) !== 0 ? beyond | mask : beyond), nothing);

/** Grants of one kind: four levels, and what each of them implies. */
const grants = <L extends string>(levels: readonly L[], table: Partial<Table<PermissionName>>) => {
  const named = allPermissions.filter(({ name }) => name in table);
  const choosable = named.filter(permission => permissions.includes(permission));
  const column = (index: number): Permissions =>
    named.reduce((set, { name }) => set | at(name, table[name]?.[index] as never), nothing);
  const implied = Object.fromEntries(levels.map((level, index) => [level, column(index)])) as Record<L, Permissions>;
  const customDefault = column(levels.length);
  const givable = named.reduce((all, { mask }) => all | mask, nothing);
  const mayBeChosen = choosable.reduce((all, { mask }) => all | mask, nothing);

  const impliedBy = (level: L): Permissions => implied[level];

  const granted = (grant: Grant<L>): Permissions => (isCustom(grant) ? grant.chosen : impliedBy(grant.access as L));

  /** The permissions that a resource with this grant shows. */
  const shownOn = (grant: Grant<L>): readonly Permission[] =>
    choosable.filter(({ later, mask }) => !later || (isCustom(grant) && (grant.beyond & mask) !== 0));

  /** The grant that comes of a wish, or the permissions that a fixed level refuses because it implies other values. */
  const changed = (
    present: Grant<L> | undefined,
    { access = present?.access ?? 'custom', values }: Wish<L>,
  ): Grant<L> | { readonly refused: readonly Permission[] } => {
    if (access !== 'custom') {
      const refused = values.filter(({ permission, value }) => valueIn(impliedBy(access as L), permission) !== value);
      return refused.length === 0 ? { access: access as L } : { refused: refused.map(({ permission }) => permission) };
    }
    // What a PATCH does not name keeps its present value, implied or chosen; the defaults are for creation.
    let chosen = present ? granted(present) & mayBeChosen : customDefault;
    let beyond = present && isCustom(present) ? present.beyond : raisedBeyond(chosen);
    for (const { permission, value } of values) {
      chosen = (chosen & ~permission.mask) | at(permission.name, value);
      if (permission.later) beyond |= permission.mask;
    }
    return { access: 'custom', chosen, beyond };
  };

  /** The highest level that a set covers; `custom` where it covers none, `none` where it holds nothing of what grants give. */
  const covered = (set: Permissions): L | 'custom' | 'none' =>
    levels.findLast(level => covers(set, impliedBy(level))) ?? (meets(set, givable) ? 'custom' : 'none');

  return { levels, choosable, impliedBy, granted, shownOn, changed, covered };
};

/** Grants of one kind, with what can be asked of them. */
export type Kind<L extends string> = ReturnType<typeof grants<L>>;

export const onProjects = grants(levels, impliedOnProjects);
export const { impliedBy, granted, shownOn, changed } = onProjects;

/** The same for a grant on a single workspace. */
export const onWorkspaces = grants(workspaceLevels, impliedOnWorkspaces);
