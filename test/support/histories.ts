/** Random histories: what is asked, by whom and about what, as values that shrink. Names stand for what a world puts in their place. */

import fc from 'fast-check';
import { type Action, flags, onProjects, onWorkspaces, teamManagement } from './model.ts';
import type { Kind, Value } from './model-grants.ts';

// The places of a world. What stands in one can change: a team is deleted and made anew, a token revoked and issued.
export const people = ['ann', 'bea', 'cas', 'dan', 'eve', 'fay'] as const;
export const members = ['bea', 'cas', 'dan', 'fay'] as const;
export const ownTeams = ['apples', 'berries', 'cherries', 'dates'] as const;
export const ownProjects = ['orchard', 'cellar'] as const;
export const ownWorkspaces = ['Attic', 'barn', 'coop', 'dairy'] as const;
export const teamTokens = ['apples token', 'berries token', 'cherries token', 'dates token'] as const;
const teamPlaces = [...ownTeams, 'owners', 'foreign', 'unknown'] as const;
export const projectPlaces = [...ownProjects, 'default', 'foreign', 'unknown'] as const;
export const workspacePlaces = [...ownWorkspaces, 'foreign', 'unknown'] as const;
const ownerCallers = ['ann', 'organization token', 'owners token'] as const;
const strangers = ['eve', 'foreign organization token', 'site admin', 'garbage', 'forged', 'nobody'] as const;
export const revocable = [...members, ...teamTokens, 'organization token', 'owners token'] as const;
export type Person = (typeof people)[number];
export type OwnTeam = (typeof ownTeams)[number];
export type TeamPlace = (typeof teamPlaces)[number];
export type ProjectPlace = (typeof projectPlaces)[number];
export type WorkspacePlace = (typeof workspacePlaces)[number];
export type Caller = (typeof revocable)[number] | 'ann' | (typeof strangers)[number];

type Sent = readonly (readonly [name: string, value: Value])[];
export type Attributes = {
  readonly access: string | undefined;
  readonly empty: readonly string[];
  readonly sent: Sent;
};
export type Flaw = { readonly path: string; readonly value: unknown };
export type Read = { readonly reader: Caller; readonly by: 'show' | 'list' };
/** One of the grants that are there, or of those that ever were and one that never was. */
export type Which = { readonly of: 'living' | 'ever'; readonly index: number };
export type Holds = 'unasked' | 'current' | 'any' | 'old' | 'nonsense';
export type Of<A> = A extends fc.Arbitrary<infer T> ? T : never;

const weighted = <C extends readonly (readonly [number, fc.Arbitrary<unknown>])[]>(...choices: C) =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary }))) as fc.Arbitrary<Of<C[number][1]>>;
const { constant, constantFrom, record } = fc;

// Callers and places

const anyCaller: fc.Arbitrary<Caller> = weighted(
  [3, constantFrom(...ownerCallers)],
  [6, constantFrom(...members, ...teamTokens)],
  [1, constantFrom(...strangers)],
);
/** Who manages the place at that moment without being an owner, if anybody does: found out when the history runs. */
export const managers = ['manager 1', 'manager 2', 'manager 3'] as const;
export type Writer = Caller | (typeof managers)[number];
const anyWriter: fc.Arbitrary<Writer> = weighted([2, anyCaller], [3, constantFrom(...managers)]);
const anyTeam = weighted([5, constantFrom(...ownTeams)], [1, constantFrom(...teamPlaces)]);
const anyProject = weighted([5, constantFrom(...ownProjects, 'default' as const)], [1, constantFrom(...projectPlaces)]);
const anyWorkspace = weighted([9, constantFrom(...ownWorkspaces)], [1, constantFrom(...workspacePlaces)]);
const anyGrant: fc.Arbitrary<Which> = record({
  of: weighted([6, constant('living' as const)], [1, constant('ever' as const)]),
  index: fc.nat(40),
});
const anyRead: fc.Arbitrary<Read> = record({ reader: anyCaller, by: constantFrom('show', 'list') });
const anyHolds: fc.Arbitrary<Holds> = weighted(
  [6, constant('unasked' as const)],
  [1, constantFrom('current' as const, 'any' as const, 'old' as const, 'nonsense' as const)],
);
const anyPage = {
  number: weighted(
    [2, constant(undefined)],
    [3, constantFrom('1', '2', '3', '7')],
    [1, constantFrom('0', '-1', '1.5', 'two', '')],
  ),
  size: weighted(
    [2, constant(undefined)],
    [3, constantFrom('1', '2', '3', '100', '101', '5000')],
    [1, constantFrom('0', '-1', '2.5', 'all', '')],
  ),
};

// Bodies

const anyOddity = constantFrom<unknown[]>(
  ...[undefined, null, '', 'plan', 'write', 'owner', 'true', 'teams', 'team-projects', 3, true, [], {}, ['read']],
);
const flawsAt = (...paths: string[]): fc.Arbitrary<Flaw[]> => {
  const flaw = record({ path: constantFrom(...paths), value: anyOddity });
  return weighted([5, constant<Flaw[]>([])], [1, fc.array(flaw, { minLength: 1, maxLength: 3 })]);
};
/** Instead of the document: something that is no JSON, no object, or nothing at all. */
const anyInstead = weighted(
  [40, constant(undefined)],
  [1, constantFrom('{"data":', 'access=read', '{}', '{"data":null}', '[]', 'null', '"data"', 'nothing')],
);
const relationshipPaths = (...names: string[]): string[] =>
  names.flatMap(name =>
    ['', '/data', '/data/type', '/data/id', '/meta'].map(end => `/data/relationships/${name}${end}`),
  );

/** The operations on team access to projects, or to workspaces. */
const onGrants = <P extends string>(kind: Kind, anyPlace: fc.Arbitrary<P>, narrow: fc.Arbitrary<Sent>) => {
  const { values, implied, levels, groups } = kind;
  const names = Object.keys(values);
  const overrides = kind.later.at(-1) as string;
  const anyPermission: fc.Arbitrary<Sent[number]> = weighted(
    [6, constantFrom(...names).chain(name => fc.tuple(constant(name), constantFrom(...(values[name] ?? []))))],
    [1, constant([overrides, true] as const)],
  );
  const one: fc.Arbitrary<Sent> = anyPermission.map(permission => [permission]);
  const few: fc.Arbitrary<Sent> = fc.array(anyPermission, { maxLength: 3 });
  const many: fc.Arbitrary<Sent> = fc.array(anyPermission, { maxLength: 16 });
  const none: fc.Arbitrary<Sent> = constant([]);
  const impliedBy = (level: string): fc.Arbitrary<Sent> =>
    fc.subarray(names).map(chosen => chosen.map(name => [name, implied[level]?.[name] ?? ''] as const));
  const anyLevel = constantFrom(...levels);
  const attributes = (access: fc.Arbitrary<Attributes['access']>, sent: fc.Arbitrary<Sent>): fc.Arbitrary<Attributes> =>
    record({ access, empty: fc.subarray([...groups]), sent });
  // Somebody who manages but holds little else is where the rules get narrow: such grants come often.
  const managing = attributes(
    constant('custom'),
    fc
      .tuple(narrow, fc.boolean(), few)
      .map(([held, overriding, more]) => [...more, ...held, ...(overriding ? [[overrides, true] as const] : [])]),
  );
  const anyAttributes = weighted(
    [3, attributes(anyLevel, none)],
    [2, anyLevel.chain(level => attributes(constant(level), impliedBy(level)))],
    [1, attributes(anyLevel, few)],
    [3, attributes(constant('custom'), one)],
    [3, attributes(constant('custom'), few)],
    [2, attributes(constant('custom'), many)],
    [5, managing],
    [2, attributes(constant(undefined), few)],
  );
  const attributePaths = [
    '/data',
    '/data/type',
    '/data/attributes',
    '/data/attributes/access',
    ...groups.map(group => `/data/attributes/${group}`),
    ...names.map(name => `/data/attributes/${name}`),
    // Nobody knows these: they are ignored.
    '/meta',
    '/data/links',
    '/data/attributes/colour',
    ...groups.map(group => `/data/attributes/${group}/colour`),
  ];

  return {
    anyAttributes,
    attributePaths,
    managing,
    anyList: record({
      do: constant('list' as const),
      kind: constant(kind),
      caller: anyCaller,
      on: weighted([20, anyPlace], [1, constant(undefined)]),
      team: weighted([3, constant(undefined)], [1, anyTeam]),
      ...anyPage,
    }),
    anyShow: record({ do: constant('show' as const), kind: constant(kind), caller: anyCaller, grant: anyGrant }),
    anyCreate: record({
      do: constant('create' as const),
      kind: constant(kind),
      caller: anyWriter,
      on: anyPlace,
      team: anyTeam,
      attributes: anyAttributes,
      flaws: flawsAt(...attributePaths, '/data/relationships', ...relationshipPaths(kind.place, 'team')),
      instead: anyInstead,
      afterwards: anyRead,
    }),
    anyUpdate: record({
      do: constant('update' as const),
      kind: constant(kind),
      caller: anyWriter,
      grant: anyGrant,
      id: weighted(
        [5, constantFrom('absent' as const, 'right' as const)],
        [1, constantFrom('wrong' as const, 'empty' as const)],
      ),
      type: fc.boolean(),
      attributes: anyAttributes,
      flaws: flawsAt(...attributePaths, '/data/id'),
      instead: anyInstead,
      holds: anyHolds,
      afterwards: anyRead,
    }),
    anyRemove: record({
      do: constant('remove' as const),
      kind: constant(kind),
      caller: anyWriter,
      grant: anyGrant,
      holds: anyHolds,
      afterwards: anyRead,
    }),
  };
};

const managingTeams: fc.Arbitrary<Sent> = constantFrom('manage', 'manage', 'read').map(teams => [
  ['project-access/teams', teams],
]);
const toProjects = onGrants(onProjects, anyProject, managingTeams);
/** A whole list: most of what is there as it is, and some teams that are to have other access, or access at all. */
const anyReplacing = record({
  do: constant('replace' as const),
  caller: weighted([3, anyWriter], [2, constantFrom(...ownerCallers)]),
  on: anyProject,
  keeps: fc.array(weighted([4, constant(true)], [1, constant(false)]), { minLength: 1, maxLength: 5 }),
  /** Whether what is there is named also where an item names the team once more. */
  twice: weighted([12, constant(false)], [1, constant(true)]),
  items: fc.array(
    record({
      team: anyTeam,
      attributes: toProjects.anyAttributes,
      id: weighted(
        [8, constant('absent' as const)],
        [1, constantFrom('right' as const, 'wrong' as const, 'empty' as const)],
      ),
      flaws: weighted(
        [3, constant<Flaw[]>([])],
        [1, flawsAt(...toProjects.attributePaths, '/data/id', '/data/relationships', ...relationshipPaths('team'))],
      ),
    }),
    { maxLength: 3 },
  ),
  instead: weighted([30, anyInstead], [1, constant('{"data":[')]),
  holds: anyHolds,
});
const anyWhole = record({ do: constant('whole' as const), caller: anyCaller, on: anyProject });
const toWorkspaces = onGrants(onWorkspaces, anyWorkspace, constant([]));

// Workspaces

const byWhich = weighted([3, constant('id' as const)], [1, constant('name' as const)]);
// Each of these is another's right, so that grants of one at a time come often.
const anyRight: fc.Arbitrary<Attributes> = constantFrom('create', 'locking', 'locking', 'delete', 'move').map(
  right => ({
    access: 'custom',
    empty: [],
    sent: [[`workspace-access/${right}`, true]],
  }),
);
const settings = weighted(
  [2, constant(undefined)],
  [2, record({ description: constantFrom('a text', '', null) })],
  [1, record({ name: constantFrom(...ownWorkspaces, 'BARN', 'new-name', 'a b', '') })],
);
const workspacePaths = [
  ...['/data', '/data/type', '/data/attributes', '/data/attributes/name', '/data/attributes/description'],
  ...['/data/relationships', ...relationshipPaths('project'), '/data/attributes/colour', '/meta'],
];
const anyNewWorkspace = record({
  do: constant('create workspace' as const),
  caller: anyWriter,
  name: constantFrom(...ownWorkspaces),
  project: weighted([1, constant(undefined)], [3, anyProject]),
  flaws: flawsAt(...workspacePaths),
  instead: anyInstead,
});
const anyChange = record({
  do: constant('update workspace' as const),
  caller: anyWriter,
  workspace: anyWorkspace,
  by: byWhich,
  to: weighted([1, constant(undefined)], [2, anyProject]),
  attributes: settings,
  flaws: flawsAt(...workspacePaths, '/data/id'),
  instead: anyInstead,
  holds: weighted([8, constant('unasked' as const)], [1, constantFrom('any' as const, 'nonsense' as const)]),
});
const anyAction: fc.Arbitrary<Action> = weighted(
  [7, constantFrom<Action[]>('lock', 'lock', 'unlock', 'unlock', 'force-unlock')],
  [3, constantFrom<Action[]>('safe-delete', 'delete')],
);
const anyActs = record({
  do: constant('act' as const),
  caller: anyWriter,
  workspace: anyWorkspace,
  by: byWhich,
  action: anyAction,
  /** A lock is of interest for what comes after it, by the same caller or by another. */
  next: weighted(
    [1, constant(undefined)],
    [1, record({ caller: weighted([1, constant(undefined)], [1, anyWriter]), action: anyAction })],
  ),
});
const anyShownWorkspace = record({
  do: constant('show workspace' as const),
  caller: anyCaller,
  workspace: anyWorkspace,
  by: byWhich,
});
const anyWorkspaces = record({
  do: constant('list workspaces' as const),
  caller: anyCaller,
  project: weighted([2, constant(undefined)], [1, anyProject]),
  part: weighted([2, constant(undefined)], [1, constantFrom('A', 'r', 'airy', 'none')]),
  ...anyPage,
});

// What changes around them

// These depend on each other, and would meet too seldom by themselves.
const anyFlags: fc.Arbitrary<string[]> = weighted(
  [2, fc.subarray([...flags], { maxLength: 3 })],
  [1, constant<string[]>(['delegate-policy-overrides'])],
  [2, fc.subarray(['access-secret-teams', ...teamManagement], { minLength: 1, maxLength: 2 })],
);
const anyVisibility = weighted([1, constant('organization' as const)], [2, constant('secret' as const)]);
// Mostly there, so that most of a history happens among the living.
const mostly = weighted([3, constant(true)], [1, constant(false)]);
const inTeam = record({
  turn: constant('in team' as const),
  team: weighted([9, constantFrom(...ownTeams)], [1, constant('owners' as const)]),
  member: constantFrom(...members),
  wanted: fc.boolean(),
});
const anyTurn = weighted(
  [5, record({ turn: constant('flags' as const), team: constantFrom(...ownTeams), flags: anyFlags })],
  [2, record({ turn: constant('visibility' as const), team: constantFrom(...ownTeams), visibility: anyVisibility })],
  [5, inTeam],
  [2, record({ turn: constant('in organization' as const), member: constantFrom(...members), wanted: mostly })],
  [2, record({ turn: constant('team' as const), team: constantFrom(...ownTeams), wanted: mostly })],
  [2, record({ turn: constant('project' as const), project: constantFrom(...ownProjects), wanted: mostly })],
  [1, record({ turn: constant('user tokens' as const), wanted: mostly })],
  [3, record({ turn: constant('token' as const), token: constantFrom(...revocable), wanted: mostly })],
);
export type Turn = Of<typeof anyTurn>;

const anyOperation = weighted(
  [8, toProjects.anyCreate],
  [10, toProjects.anyUpdate],
  [2, toProjects.anyRemove],
  [4, toProjects.anyShow],
  [4, toProjects.anyList],
  [6, anyReplacing],
  [1, anyWhole],
  [4, toWorkspaces.anyCreate],
  [5, toWorkspaces.anyUpdate],
  [1, toWorkspaces.anyRemove],
  [2, toWorkspaces.anyShow],
  [2, toWorkspaces.anyList],
  [7, anyNewWorkspace],
  [5, anyChange],
  [7, anyActs],
  [2, anyShownWorkspace],
  [2, anyWorkspaces],
  [9, record({ do: constant('turn' as const), of: anyTurn })],
);
export type Operation = Of<typeof anyOperation>;
export const anyHistory = fc.array(anyOperation, { maxLength: 150, size: 'max' });

const anyHome = constantFrom(...ownProjects, 'default' as const);

/** How a history starts: its teams, workspaces, and grants that the owners give. */
export const anyStart = record({
  teams: fc.tuple(
    ...ownTeams.map(() =>
      record({
        visibility: anyVisibility,
        flags: anyFlags,
        members: fc.subarray([...members], { maxLength: 3 }),
      }),
    ),
  ),
  workspaces: fc.tuple(...ownWorkspaces.map(name => record({ name: constant(name), project: anyHome }))),
  /** Teams that may move workspaces wherever they are: the right is needed on both sides. */
  porters: fc.subarray([...ownTeams], { maxLength: 1 }),
  grants: fc.array(
    record({
      project: anyHome,
      team: constantFrom(...ownTeams),
      attributes: weighted([3, toProjects.managing], [2, anyRight], [1, toProjects.anyAttributes]),
    }),
    { maxLength: 12, size: 'max' },
  ),
  workspaceGrants: fc.array(
    record({
      workspace: constantFrom(...ownWorkspaces),
      team: constantFrom(...ownTeams),
      attributes: toWorkspaces.anyAttributes,
    }),
    { maxLength: 4 },
  ),
});
export type Start = Of<typeof anyStart>;

// From values to bodies

export const attributesOf = ({ access, empty, sent }: Attributes) => {
  const attributes: Record<string, unknown> = access === undefined ? {} : { access };
  for (const group of empty) attributes[group] = {};
  for (const [name, value] of sent) setAt(attributes, name.split('/'), value);
  return attributes;
};

/** Sets or, with undefined, removes what is at the path; where the way there is no object, nothing happens. */
const setAt = (into: unknown, [key = '', ...rest]: string[], value: unknown): void => {
  if (typeof into !== 'object' || into === null || Array.isArray(into)) return;
  const members = into as Record<string, unknown>;
  if (rest.length > 0) {
    if (members[key] === undefined) members[key] = {};
    setAt(members[key], rest, value);
  } else if (value === undefined) delete members[key];
  else members[key] = value;
};

export const flawed = (document: unknown, flaws: readonly Flaw[], instead: string | undefined): string | undefined => {
  if (instead !== undefined) return instead === 'nothing' ? undefined : instead;
  for (const { path, value } of flaws) setAt(document, path.slice(1).split('/'), structuredClone(value));
  return JSON.stringify(document);
};
