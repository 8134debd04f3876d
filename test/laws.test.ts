/** The laws of the permission model, over all values. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Access,
  allPermissions,
  at,
  changed,
  covers,
  everything,
  type Grant,
  granted,
  impliedBy,
  join,
  levels,
  meets,
  need,
  nothing,
  onProjects,
  onWorkspaces,
  type Permission,
  permissions,
  shownOn,
  type Value,
  valueIn,
  type WorkspaceGrant,
  workspaceLevels,
} from '../src/core/access.ts';
import {
  bitOf,
  effective,
  heldBy,
  type OrganizationPermission,
  organizationPermissions,
  originsOf,
  outlook,
  type Sight,
  type Standing,
  seenIn,
  type TeamFacts,
  wholeOutlook,
} from '../src/core/authority.ts';

/** The table of the interface document, as it stands there. */
const document = `
| project-access.settings         | read  | read  | read  | delete | read  |
| project-access.teams            | none  | none  | none  | manage | none  |
| workspace-access.runs           | read  | apply | apply | apply  | read  |
| workspace-access.sentinel-mocks | none  | read  | read  | read   | none  |
| workspace-access.state-versions | read  | write | write | write  | none  |
| workspace-access.variables      | read  | write | write | write  | none  |
| workspace-access.create         | false | false | true  | true   | false |
| workspace-access.locking        | false | true  | true  | true   | false |
| workspace-access.delete         | false | false | true  | true   | false |
| workspace-access.move           | false | false | false | true   | false |
| workspace-access.run-tasks      | false | false | true  | true   | false |
`;

/** The values of each permission in the document, lowest first. */
const chains: Record<string, readonly Value[]> = {
  'project-access.settings': ['read', 'update', 'delete'],
  'project-access.teams': ['none', 'read', 'manage'],
  'workspace-access.runs': ['read', 'plan', 'apply'],
  'workspace-access.sentinel-mocks': ['none', 'read'],
  'workspace-access.state-versions': ['none', 'read-outputs', 'read', 'write'],
  'workspace-access.variables': ['none', 'read', 'write'],
  'workspace-access.create': [false, true],
  'workspace-access.locking': [false, true],
  'workspace-access.delete': [false, true],
  'workspace-access.move': [false, true],
  'workspace-access.run-tasks': [false, true],
};

const eleven = permissions.filter(({ later }) => !later);
const named = (name: string): Permission => permissions.find(permission => permission.name === name) as Permission;
const custom = (values: readonly { permission: Permission; value: Value }[], present?: Grant): Grant => {
  const grant = changed(present, { access: 'custom', values });
  assert.ok(!('refused' in grant));
  return grant;
};

/** Every set of values, first by the six chains, then by the five flags, so that the reference is a product of small tables. */
const combinations = (names: readonly string[]): Value[][] =>
  names.reduce<Value[][]>(
    (rows, name) => rows.flatMap(row => (chains[name] as readonly Value[]).map(value => [...row, value])),
    [[]],
  );
const names = Object.keys(chains);
const ranked = names.slice(0, 6);
const flags = names.slice(6);
const rankedRows = combinations(ranked);
const flagRows = combinations(flags);
const sets = rankedRows.flatMap(row =>
  flagRows.map(more =>
    [...row, ...more].reduce<number>((set, value, i) => set | at(named(names[i] as string).name, value as never), 0),
  ),
);

test('the implied levels are those of the document, cell by cell', () => {
  const rows = document
    .trim()
    .split('\n')
    .map(row =>
      row
        .split('|')
        .map(cell => cell.trim())
        .slice(1, -1),
    );
  assert.equal(rows.length, 11);
  for (const [name = '', ...cells] of rows) {
    const permission = named(name);
    for (const [column, level] of levels.entries())
      assert.equal(String(valueIn(impliedBy(level), permission)), cells[column], `${name} of ${level}`);
    assert.equal(String(valueIn(granted(custom([])), permission)), cells[4], `${name} by default`);
    assert.deepEqual(permission.values, chains[name], `${name} has the values of the document`);
  }
});

test('the document knows eleven permissions with 20,736 custom sets, each with bits of its own', () => {
  assert.deepEqual(
    eleven.map(({ name }) => name),
    names,
  );
  assert.equal(sets.length, 20_736);
  assert.equal(new Set(sets).size, 20_736);
});

test('a set is what was chosen: every custom set reads back as it was given', () => {
  for (const [index, set] of sets.entries()) {
    const row = [...(rankedRows[Math.floor(index / 32)] as Value[]), ...(flagRows[index % 32] as Value[])];
    const grant = custom(row.map((value, i) => ({ permission: named(names[i] as string), value })));
    assert.equal(granted(grant), set);
    for (const [i, value] of row.entries())
      if (valueIn(set, named(names[i] as string)) !== value) assert.fail(`set ${set}`);
  }
});

test('join is the higher of each permission and covers is at-least in each: all 430 million pairs', () => {
  // The reference compares positions in the chains of the document and knows nothing of bits.
  const tables = (columns: readonly string[], rows: readonly Value[][]) => {
    const ranks = rows.map(row =>
      row.map((value, i) => (chains[columns[i] as string] as readonly Value[]).indexOf(value)),
    );
    const radix = columns.map(name => (chains[name] as readonly Value[]).length);
    const indexOf = (rank: number[]) => rank.reduce((index, r, i) => index * (radix[i] as number) + r, 0);
    const higher = new Uint16Array(rows.length ** 2);
    const atLeast = new Uint8Array(rows.length ** 2);
    for (const [i, a] of ranks.entries())
      for (const [j, b] of ranks.entries()) {
        higher[i * rows.length + j] = indexOf(a.map((rank, k) => Math.max(rank, b[k] as number)));
        atLeast[i * rows.length + j] = a.every((rank, k) => rank >= (b[k] as number)) ? 1 : 0;
      }
    return { higher, atLeast };
  };
  const six = tables(ranked, rankedRows);
  const five = tables(flags, flagRows);
  const bits = Int32Array.from(sets);
  let violations = 0;
  for (let i = 0; i < bits.length; i++) {
    const a = bits[i] as number;
    const [i6, i5] = [(i / 32) | 0, i % 32];
    for (let j = 0; j < bits.length; j++) {
      const b = bits[j] as number;
      const j6 = (j / 32) | 0;
      const at6 = i6 * 648 + j6;
      const at5 = i5 * 32 + (j % 32);
      const higher = bits[(six.higher[at6] as number) * 32 + (five.higher[at5] as number)];
      const atLeast = (six.atLeast[at6] as number) & (five.atLeast[at5] as number);
      const joined = join(a, b);
      if (joined !== higher || joined !== join(b, a) || covers(a, b) !== (atLeast === 1)) violations++;
      if (!covers(joined, a) || (i !== j && covers(a, b) && covers(b, a))) violations++;
    }
    if (join(a, a) !== a || !covers(a, a) || join(a, nothing) !== a || !covers(everything, a)) violations++;
  }
  assert.equal(violations, 0);
});

test('join is associative and covers is transitive: every triple within a chain, and random triples of whole sets', () => {
  for (const { steps } of permissions)
    for (const a of steps)
      for (const b of steps)
        for (const c of steps) {
          assert.equal(join(join(a, b), c), join(a, join(b, c)));
          if (covers(a, b) && covers(b, c)) assert.ok(covers(a, c));
        }
  const anySet = fc.integer({ min: 0, max: sets.length - 1 }).map(index => sets[index] as number);
  fc.assert(
    fc.property(anySet, anySet, anySet, (a, b, c) => {
      assert.equal(join(join(a, b), c), join(a, join(b, c)));
      assert.ok(covers(join(join(a, b), c), join(b, c)));
      if (covers(a, b) && covers(b, c)) assert.ok(covers(a, c));
    }),
    { numRuns: 20_000 },
  );
});

test('read ≤ write ≤ maintain ≤ admin, and nothing beyond admin but policy overrides', () => {
  for (const [lower, higher] of [
    ['read', 'write'],
    ['write', 'maintain'],
    ['maintain', 'admin'],
  ] as const) {
    assert.ok(covers(impliedBy(higher), impliedBy(lower)));
    assert.notEqual(impliedBy(higher), impliedBy(lower));
  }
  assert.equal(everything & ~impliedBy('admin'), at('workspace-access.policy-overrides', true));
});

test('changed: from any custom set, one permission changes and the others stay', () => {
  for (const chosen of sets) {
    const present: Grant = { access: 'custom', chosen, beyond: 0 };
    for (const permission of eleven)
      for (const value of permission.values) {
        const next = granted(custom([{ permission, value }], present));
        if (valueIn(next, permission) !== value || ((next ^ chosen) & ~permission.mask) !== 0)
          assert.fail(`${permission.name} = ${value} on ${chosen}`);
      }
  }
});

test('changed: from any grant, a fixed level replaces everything, and custom with nothing named keeps all that can be chosen', () => {
  const choosable = permissions.reduce((all, { mask }) => all | mask, 0);
  const grants: Grant[] = [
    ...levels.map(access => ({ access })),
    ...sets.map(chosen => ({ access: 'custom' as const, chosen, beyond: 0 })),
  ];
  for (const present of grants) {
    for (const access of levels) assert.deepEqual(changed(present, { access, values: [] }), { access });
    assert.equal(granted(custom([], present)), granted(present) & choosable);
    assert.deepEqual(changed(present, { values: [] }), present, 'without a level, the present one stays');
  }
});

test('changed: a custom set that equals a level stays custom', () => {
  for (const level of levels) {
    const values = permissions.map(permission => ({
      permission,
      value: valueIn(impliedBy(level), permission) as Value,
    }));
    assert.equal(custom(values).access, 'custom');
  }
});

test('changed: a fixed level accepts exactly the value that it implies, for every level, permission and value', () => {
  for (const access of levels)
    for (const permission of permissions)
      for (const value of permission.values) {
        const result = changed(undefined, { access, values: [{ permission, value }] });
        const implied = valueIn(impliedBy(access), permission) === value;
        assert.deepEqual(result, implied ? { access } : { refused: [permission] });
      }
});

test('the later permissions are shown only where a client set them, or where a level left them in force', () => {
  const laterShown = (grant: Grant) =>
    shownOn(grant)
      .filter(({ later }) => later)
      .map(({ key }) => key);
  const variableSets = named('project-access.variable-sets');
  for (const access of levels) assert.deepEqual(laterShown({ access }), []);
  assert.deepEqual(laterShown(custom([])), []);
  assert.deepEqual(laterShown(custom([{ permission: variableSets, value: 'none' }])), ['variable-sets']);
  assert.deepEqual(laterShown(custom([], { access: 'write' })), []);
  assert.deepEqual(laterShown(custom([], { access: 'admin' })), ['variable-sets']);
});

const standingOf = (teams: Standing['teams'], onDefaultProject = false): Standing => ({
  organization: 'org',
  project: 'prj',
  onDefaultProject,
  workspace: null,
  member: true,
  organizationToken: false,
  teams,
});

const team = (organizationAccess: number, grant?: Grant) => ({ id: 'team', owners: false, organizationAccess, grant });

test('effective access is the higher of grant and organization permission: one more grant never takes a right away', () => {
  const flags = [nothing, ...organizationPermissions.map(bitOf)];
  for (const access of flags)
    for (const chosen of sets) {
      const alone = effective(standingOf([team(access)]));
      const both = effective(standingOf([team(access, { access: 'custom', chosen, beyond: 0 })]));
      if (both !== join(alone, chosen)) assert.fail(`${access} and ${chosen}`);
    }
});

test("effective access of several teams is the join of each team's", () => {
  const anyGrant: fc.Arbitrary<Grant | undefined> = fc.oneof(
    fc.constantFrom(undefined, ...levels.map(access => ({ access }))),
    fc.nat(sets.length - 1).map(i => ({ access: 'custom' as Access & 'custom', chosen: sets[i] as number, beyond: 0 })),
  );
  const anyTeam = fc.record({ access: fc.nat(2 ** organizationPermissions.length - 1), grant: anyGrant });
  fc.assert(
    fc.property(fc.array(anyTeam, { maxLength: 5 }), fc.boolean(), (teams, onDefault) => {
      const facts = teams.map(({ access, grant }) => team(access, grant));
      const each = facts.map(fact => heldBy(fact, onDefault));
      assert.equal(effective(standingOf(facts, onDefault)), each.reduce(join, nothing));
    }),
    { numRuns: 5_000 },
  );
});

/** What each organization permission gives on every project; the others give nothing. */
const given: Partial<Record<OrganizationPermission, string>> = {
  'manage-projects': 'delete manage apply read write write create locking delete move run-tasks variable-sets:write',
  'manage-workspaces': 'read none apply read write write locking delete run-tasks',
  'read-projects': 'read none - none none none',
  'read-workspaces': '- none read none read read',
  'manage-policy-overrides': '- none read none read read',
  'manage-agent-pools': 'read none read none read read',
  'manage-policies': '- none read none none none',
};

test('each organization permission gives on projects what the table says, and no more', () => {
  for (const permission of organizationPermissions)
    for (const onDefault of [false, true]) {
      const set = effective(standingOf([team(bitOf(permission))], onDefault));
      const said = permissions.flatMap(each => {
        const value = valueIn(set, each);
        if (each.later) return value === 'write' ? [`${each.key}:write`] : [];
        if (typeof value === 'boolean') return value ? [each.key] : [];
        return [value ?? '-'];
      });
      const expected = (given[permission] ?? '- none - none none none').split(' ');
      if (permission === 'manage-workspaces' && onDefault) expected.splice(6, 0, 'create');
      assert.deepEqual(said, expected, `${permission}${onDefault ? ' on the default project' : ''}`);
    }
});

test('a policy override acts only in a team that has it delegated', () => {
  const grant: Grant = { access: 'custom', chosen: overrides, beyond: overrides };
  assert.equal(effective(standingOf([team(0, grant)])), nothing);
  assert.equal(effective(standingOf([team(bitOf('delegate-policy-overrides'), grant)])), overrides);
  // Another team's delegation does not help.
  assert.equal(effective(standingOf([team(0, grant), team(bitOf('delegate-policy-overrides'))])), nothing);
});

// Access to a single workspace

/** The table of the clients' contract, with the names that the permissions have on a project. */
const workspaceDocument = `
| workspace-access.runs             | read  | plan  | apply | apply | read  |
| workspace-access.variables        | read  | read  | write | write | none  |
| workspace-access.state-versions   | read  | read  | write | write | none  |
| workspace-access.sentinel-mocks   | none  | none  | read  | read  | none  |
| workspace-access.locking          | false | false | true  | true  | false |
| workspace-access.run-tasks        | false | false | false | true  | false |
| workspace-access.policy-overrides | false | false | false | false | false |
`;
const workspaceTable = workspaceDocument
  .trim()
  .split('\n')
  .map(row =>
    row
      .split('|')
      .map(cell => cell.trim())
      .slice(1, -1),
  );
const workspaceNames = workspaceTable.map(([name = '']) => name);
const chainOf = (name: string): readonly Value[] => chains[name] ?? [false, true];
const workspaceRows = workspaceNames.reduce<Value[][]>(
  (rows, name) => rows.flatMap(row => chainOf(name).map(value => [...row, value])),
  [[]],
);
const workspaceSets = workspaceRows.map(row =>
  row.reduce<number>((set, value, i) => set | at(named(workspaceNames[i] as string).name, value as never), 0),
);
const administration = at('workspace-access.administration', true);
const overrides = at('workspace-access.policy-overrides', true);
const customOn = (
  values: readonly { permission: Permission; value: Value }[],
  present?: WorkspaceGrant,
): WorkspaceGrant => {
  const grant = onWorkspaces.changed(present, { access: 'custom', values });
  assert.ok(!('refused' in grant));
  return grant;
};

test('on a workspace, the implied levels are those of the table, cell by cell', () => {
  assert.deepEqual(onWorkspaces.choosable.map(({ name }) => name).toSorted(), workspaceNames.toSorted());
  for (const [name = '', ...cells] of workspaceTable) {
    const permission = named(name);
    for (const [column, level] of workspaceLevels.entries())
      assert.equal(String(valueIn(onWorkspaces.impliedBy(level), permission)), cells[column], `${name} of ${level}`);
    assert.equal(String(valueIn(onWorkspaces.granted(customOn([])), permission)), cells[4], `${name} by default`);
  }
});

test('on a workspace, read < plan < write < admin, and admin alone brings the administration', () => {
  for (const [index, level] of workspaceLevels.entries()) {
    const set = onWorkspaces.impliedBy(level);
    assert.equal(covers(set, administration), level === 'admin', level);
    for (const [other, lower] of workspaceLevels.entries())
      assert.equal(covers(set, onWorkspaces.impliedBy(lower)), other <= index, `${level} covers ${lower}`);
  }
  for (const level of levels) assert.equal(covers(impliedBy(level), administration), /maintain|admin/.test(level));
});

test('on a workspace there are 576 custom sets: each reads back, joins and covers as its values do, in all pairs', () => {
  assert.equal(new Set(workspaceSets).size, 576);
  const ranks = workspaceRows.map(row => row.map((value, i) => chainOf(workspaceNames[i] as string).indexOf(value)));
  const bySet = new Map(ranks.map((rank, i) => [rank.join(), workspaceSets[i] as number]));
  for (const [i, row] of workspaceRows.entries()) {
    const values = row.map((value, k) => ({ permission: named(workspaceNames[k] as string), value }));
    assert.equal(onWorkspaces.granted(customOn(values)), workspaceSets[i]);
    for (const { permission, value } of values) assert.equal(valueIn(workspaceSets[i] as number, permission), value);
  }
  let violations = 0;
  for (const [i, a] of ranks.entries())
    for (const [j, b] of ranks.entries()) {
      const [one, other] = [workspaceSets[i] as number, workspaceSets[j] as number];
      const higher = bySet.get(a.map((rank, k) => Math.max(rank, b[k] as number)).join());
      if (join(one, other) !== higher || covers(one, other) !== a.every((rank, k) => rank >= (b[k] as number)))
        violations++;
    }
  assert.equal(violations, 0);
});

test('on a workspace, changed: one permission changes and the others stay; a level replaces all; custom keeps all', () => {
  const grants: WorkspaceGrant[] = [
    ...workspaceLevels.map(access => ({ access })),
    ...workspaceSets.map(chosen => ({ access: 'custom' as const, chosen, beyond: 0 })),
  ];
  for (const present of grants) {
    const before = onWorkspaces.granted(present) & ~administration;
    for (const access of workspaceLevels)
      assert.deepEqual(onWorkspaces.changed(present, { access, values: [] }), { access });
    assert.deepEqual(onWorkspaces.changed(present, { values: [] }), present);
    assert.equal(onWorkspaces.granted(customOn([], present)), before);
    for (const permission of onWorkspaces.choosable)
      for (const value of permission.values) {
        const next = onWorkspaces.granted(customOn([{ permission, value }], present));
        assert.equal(valueIn(next, permission), value);
        assert.equal((next ^ before) & ~permission.mask, 0, `${permission.name} = ${value} on ${before}`);
      }
  }
  for (const access of workspaceLevels)
    for (const permission of onWorkspaces.choosable)
      for (const value of permission.values) {
        const implied = valueIn(onWorkspaces.impliedBy(access), permission) === value;
        const result = onWorkspaces.changed(undefined, { access, values: [{ permission, value }] });
        assert.deepEqual(result, implied ? { access } : { refused: [permission] });
      }
});

test('the administration of workspaces is never chosen: it is in no wish, in no custom grant and on no resource', () => {
  const hidden = allPermissions.filter(permission => !permissions.includes(permission));
  assert.deepEqual(
    hidden.map(({ name }) => name),
    ['workspace-access.administration'],
  );
  for (const kind of [onProjects, onWorkspaces]) {
    for (const permission of hidden) assert.ok(!kind.choosable.includes(permission));
    for (const level of kind.levels)
      assert.deepEqual(
        kind.shownOn({ access: level as never }).filter(permission => hidden.includes(permission)),
        [],
      );
  }
  for (const present of [undefined, ...levels.map(access => ({ access }))])
    assert.ok(!covers(granted(custom([], present)), administration));
  for (const present of [undefined, ...workspaceLevels.map(access => ({ access }))])
    assert.ok(!covers(onWorkspaces.granted(customOn([], present)), administration));
  const all = onWorkspaces.choosable.map(permission => ({ permission, value: permission.values.at(-1) as Value }));
  assert.equal(onWorkspaces.granted(customOn(all)), onWorkspaces.impliedBy('admin') - administration + overrides);
});

test('a grant on a workspace joins what the organization and the project give, and takes nothing from them', () => {
  const delegating = bitOf('delegate-policy-overrides');
  const onWorkspace = (organizationAccess: number, grant: Grant | undefined, workspaceGrant?: WorkspaceGrant) =>
    effective(standingOf([{ ...team(organizationAccess, grant), workspaceGrant }]));
  const grants: (Grant | undefined)[] = [
    undefined,
    ...levels.map(access => ({ access })),
    custom([{ permission: named('workspace-access.move'), value: true }]),
  ];
  const onThem: WorkspaceGrant[] = [
    ...workspaceLevels.map(access => ({ access })),
    ...workspaceSets.map(chosen => ({ access: 'custom' as const, chosen, beyond: 0 })),
  ];
  for (const flag of [nothing, ...organizationPermissions.map(bitOf)])
    for (const grant of grants)
      for (const workspaceGrant of onThem) {
        const alone = onWorkspace(flag, grant);
        const given = onWorkspaces.granted(workspaceGrant) & (flag === delegating ? -1 : ~overrides);
        if (onWorkspace(flag, grant, workspaceGrant) !== join(alone, given))
          assert.fail(`${flag}, ${JSON.stringify(grant)} and ${JSON.stringify(workspaceGrant)}`);
      }
});

// Questions: a need that a set meets, and why it does

/** Every set that grants and organizations can give: the 20,736 and the 576, each with all later permissions or with none. */
const later = permissions.filter(({ later }) => later).reduce((all, { mask }) => all | mask, administration);
const wideSets = [...sets, ...workspaceSets, nothing].flatMap(set => [set, set | later]);

test('a set meets a need exactly where it holds the value or a higher one: every permission, value and set', () => {
  for (const permission of allPermissions)
    for (const [rank, value] of permission.chain.entries()) {
      if (value === null) continue;
      const asked = need(permission.name, value as never);
      // Everybody holds the lowest value, if it is one at all: there is no need of it.
      if (rank === 0) {
        assert.equal(asked, nothing);
        continue;
      }
      let wrong = 0;
      for (const set of wideSets) {
        const isHigh = permission.chain.indexOf(valueIn(set, permission)) >= rank;
        if (meets(set, asked) !== isHigh || meets(set, asked) !== covers(set, at(permission.name, value as never)))
          wrong++;
      }
      assert.equal(wrong, 0, `${permission.name} = ${value}`);
    }
});

test('a join meets a need exactly where one of its parts does, and so every need of every pair of sets', () => {
  const needs = allPermissions.flatMap(({ name, values }) => values.map(value => need(name, value as never)));
  const anySet = fc.nat(wideSets.length - 1).map(index => wideSets[index] as number);
  fc.assert(
    fc.property(anySet, anySet, (a, b) => {
      for (const asked of [...needs, everything])
        assert.equal(meets(join(a, b), asked), meets(a, asked) || meets(b, asked));
    }),
    { numRuns: 20_000 },
  );
});

test('covered is the highest level that a set covers, custom where it covers none, none where there is nothing of it', () => {
  for (const kind of [onProjects, onWorkspaces])
    for (const [index, level] of kind.levels.entries()) {
      const set = kind.impliedBy(level as never);
      assert.equal(kind.covered(set), level);
      assert.equal(kind.covered(join(set, overrides)), level, 'more than a level is still that level');
      const lower = kind.levels.slice(0, index);
      for (const { name, steps, mask } of allPermissions) {
        const rank = steps.indexOf(set & mask);
        if (rank <= 0) continue;
        const less = (set & ~mask) | (steps[rank - 1] as number);
        const expected = lower.filter(each => covers(less, kind.impliedBy(each as never))).at(-1) ?? 'custom';
        assert.equal(kind.covered(less), expected, `${level} with less of ${name}`);
      }
    }
  for (const kind of [onProjects, onWorkspaces]) assert.equal(kind.covered(nothing), 'none');
  // What concerns the project alone is nothing on a workspace.
  assert.equal(onWorkspaces.covered(at('project-access.settings', 'delete')), 'none');
  for (const set of wideSets) {
    const level = onProjects.covered(set);
    if (level === 'none') assert.equal(set, nothing);
    else if (level !== 'custom') assert.ok(covers(set, impliedBy(level)));
    else assert.ok(set !== nothing && !covers(set, impliedBy('read')));
  }
});

const anyGrantOn = <L extends string>(
  levels: readonly L[],
  sets: readonly number[],
): fc.Arbitrary<Grant<L> | undefined> =>
  fc.oneof(
    fc.constantFrom(undefined, ...levels.map(access => ({ access }))),
    fc.nat(sets.length - 1).map(i => ({ access: 'custom' as const, chosen: sets[i] as number, beyond: 0 })),
  );
const anyTeamFacts: fc.Arbitrary<TeamFacts & { visibility: string; name: string }> = fc.record(
  {
    id: fc.constantFrom('team-1', 'team-2', 'team-3'),
    name: fc.constant('a team'),
    visibility: fc.constantFrom('secret', 'organization'),
    owners: fc.nat(9).map(odds => odds === 0),
    organizationAccess: fc.nat(2 ** organizationPermissions.length - 1),
    grant: anyGrantOn(levels, wideSets),
    workspaceGrant: anyGrantOn(
      workspaceLevels,
      workspaceSets.flatMap(set => [set, set | overrides]),
    ),
    grantId: fc.constant('tprj-1'),
    workspaceGrantId: fc.constant('tws-1'),
  },
  { noNullPrototype: true },
);

test('what a team holds is the join of its origins, each of them gives something, and each is one of its own', () => {
  const mattering = organizationPermissions.filter(permission => given[permission] !== undefined);
  assert.equal(mattering.length, 7);
  const delegating = bitOf('delegate-policy-overrides');
  const check = (team: TeamFacts, onDefault: boolean) => {
    const origins = originsOf(team, onDefault);
    const joined = origins.reduce((set, { gives }) => join(set, gives), nothing);
    if (joined !== heldBy(team, onDefault)) assert.fail(`${JSON.stringify(team)}: ${joined}`);
    const seen = new Set<string>();
    for (const { scope, by, gives } of origins) {
      assert.notEqual(gives, nothing);
      seen.add(`${scope} ${by}`);
      if (scope === 'project') assert.equal(by, team.grantId);
      else if (scope === 'workspace') assert.equal(by, team.workspaceGrantId);
      else assert.ok(by === 'owners' ? team.owners : team.organizationAccess & bitOf(by as OrganizationPermission));
    }
    assert.equal(seen.size, origins.length);
  };
  // Every set of those that give anything, with and without the delegation, times every level.
  for (let chosen = 0; chosen < 2 ** mattering.length; chosen++)
    for (const delegated of [0, delegating])
      for (const access of [undefined, ...levels])
        for (const onDefault of [false, true]) {
          const bits = mattering.reduce(
            (all, permission, i) => all | (chosen & (1 << i) ? bitOf(permission) : 0),
            delegated,
          );
          check({ ...team(bits, access && { access }), grantId: 'tprj-1' }, onDefault);
        }
  fc.assert(fc.property(anyTeamFacts, fc.boolean(), check), { numRuns: 20_000 });
});

test('taking one origin away leaves the join of the others', () => {
  fc.assert(
    fc.property(anyTeamFacts, fc.boolean(), (team, onDefault) => {
      const origins = originsOf(team, onDefault);
      for (const origin of origins) {
        const without: TeamFacts = {
          ...team,
          ...(origin.by === 'owners' && { owners: false }),
          ...(origin.scope === 'project' && { grant: undefined }),
          ...(origin.scope === 'workspace' && { workspaceGrant: undefined }),
          ...(origin.scope === 'organization' &&
            origin.by !== 'owners' && {
              organizationAccess: team.organizationAccess & ~bitOf(origin.by as OrganizationPermission),
            }),
        };
        const others = origins.filter(other => other !== origin).reduce((set, { gives }) => join(set, gives), nothing);
        assert.equal(heldBy(without, onDefault), others);
      }
    }),
    { numRuns: 20_000 },
  );
});

test('what is seen of a team never adds to it, all of it is seen in the whole, and of what is hidden nothing is left', () => {
  const anySight: fc.Arbitrary<Sight> = fc.oneof(
    fc.constant('all' as const),
    fc.record({ own: fc.subarray(['team-1', 'team-2', 'team-3']).map(own => new Set(own)), listed: fc.boolean() }),
  );
  const anyOutlook = fc.record({ teams: anySight, grants: anySight, workspaceGrants: anySight });
  const blind = { own: new Set<string>(), listed: false };
  fc.assert(
    fc.property(anyTeamFacts, anyOutlook, fc.boolean(), (team, view, onDefault) => {
      const seen = originsOf(seenIn(view, team), onDefault);
      const whole = originsOf(team, onDefault);
      for (const { scope, by, gives } of seen) {
        const origin = whole.find(other => other.scope === scope && other.by === by);
        assert.ok(origin && covers(origin.gives, gives));
      }
      assert.deepEqual(seenIn(wholeOutlook, team), team);
      assert.deepEqual(originsOf(seenIn({ teams: blind, grants: blind, workspaceGrants: blind }, team), onDefault), []);
      // Whose team is hidden has nothing of the organization's, not even a delegation.
      const byGrant = originsOf(seenIn({ ...wholeOutlook, teams: blind }, team), onDefault);
      assert.ok(byGrant.every(({ scope, gives }) => scope !== 'organization' && (gives & overrides) === 0));
    }),
    { numRuns: 20_000 },
  );
});

test('everybody sees all that its own teams hold: what it is told of itself is what it may do', () => {
  fc.assert(
    fc.property(fc.array(anyTeamFacts, { maxLength: 3 }), fc.boolean(), (teams, onDefault) => {
      const standing = standingOf(teams, onDefault);
      const view = outlook(standing);
      for (const team of teams) assert.deepEqual(seenIn(view, team), team);
    }),
    { numRuns: 5_000 },
  );
});
