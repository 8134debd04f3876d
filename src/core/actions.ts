/** What can be done to each kind of resource, and what it takes: the rules of authority are made of these tables. */

import { byName, type Need, need, nothing, type Permission, type PermissionName, type Value } from './access.ts';
import type { OrganizationPermission } from './authority.ts';

/** One permission at one value: whoever has that or more may act. */
export type Step = { readonly permission: Permission; readonly value: Value; readonly need: Need };

/** Any one of these steps is enough; the smallest is the first. */
export type Action = { readonly steps: readonly [Step, ...Step[]]; readonly need: Need };

const either = (...steps: [Step, ...Step[]]): Action => ({
  steps,
  need: steps.reduce((any, { need }) => any | need, nothing),
});

const step = <N extends PermissionName>(name: N, value: Value<N>): Step => ({
  permission: byName[name],
  value,
  need: need(name, value),
});

const least = <N extends PermissionName>(name: N, value: Value<N>): Action => either(step(name, value));

// biome-ignore format: a table, to be checked with a finger
export const projectActions = {
  'read':                least('project-access.settings', 'read'),
  'update':              least('project-access.settings', 'update'),
  'delete':              least('project-access.settings', 'delete'),
  'read-teams':          least('project-access.teams', 'read'),
  'manage-teams':        least('project-access.teams', 'manage'),
  'read-variable-sets':  least('project-access.variable-sets', 'read'),
  'write-variable-sets': least('project-access.variable-sets', 'write'),
  'create-workspace':    least('workspace-access.create', true),
  // Out of this project or into it: a move needs both.
  'move-workspace':      least('workspace-access.move', true),
};

// biome-ignore format: a table, to be checked with a finger
export const workspaceActions = {
  'read':                    least('workspace-access.runs', 'read'),
  'read-runs':               least('workspace-access.runs', 'read'),
  'plan-runs':               least('workspace-access.runs', 'plan'),
  'apply-runs':              least('workspace-access.runs', 'apply'),
  'read-variables':          least('workspace-access.variables', 'read'),
  'write-variables':         least('workspace-access.variables', 'write'),
  'read-state-outputs':      least('workspace-access.state-versions', 'read-outputs'),
  'read-state':              least('workspace-access.state-versions', 'read'),
  'write-state':             least('workspace-access.state-versions', 'write'),
  'download-sentinel-mocks': least('workspace-access.sentinel-mocks', 'read'),
  'lock':                    least('workspace-access.locking', true),
  'delete':                  either(step('workspace-access.delete', true), step('workspace-access.administration', true)),
  'manage-run-tasks':        least('workspace-access.run-tasks', true),
  'override-policies':       least('workspace-access.policy-overrides', true),
  'manage-team-access':      least('workspace-access.administration', true),
};

/** The access of a team to a project. A team's own access is read by itself besides, and that of a secret team by managers. */
export const teamProjectActions = {
  read: projectActions['read-teams'],
  update: projectActions['manage-teams'],
  delete: projectActions['manage-teams'],
};

/** Everybody who belongs to the organization; or its owners, and whose team holds one of these, the smallest first. */
export type OrganizationAction = 'membership' | readonly OrganizationPermission[];

// biome-ignore format: a table, to be checked with a finger
export const organizationActions = {
  'read':              'membership',
  'update':            [],
  'create-project':    ['manage-projects'],
  'create-team':       ['manage-teams', 'manage-organization-access'],
  'manage-membership': ['manage-membership', 'manage-teams', 'manage-organization-access'],
} as const satisfies Record<string, OrganizationAction>;

/** By the type of the resource. */
export const actions = {
  organization: organizationActions,
  project: projectActions,
  workspace: workspaceActions,
  'team-project': teamProjectActions,
} as const;

export type ResourceType = keyof typeof actions;

export const isResourceType = (type: string): type is ResourceType => Object.hasOwn(actions, type);

/** Undefined for what nobody can do to such a resource. */
export const actionOf = (type: ResourceType, name: string): Action | OrganizationAction | undefined => {
  const table: Readonly<Record<string, Action | OrganizationAction>> = actions[type];
  return Object.hasOwn(table, name) ? table[name] : undefined;
};

/** In the order of their names. */
export const actionsOn = (type: string): readonly string[] =>
  isResourceType(type) ? Object.keys(actions[type]).sort() : [];

/** Whether it is one that every owner may, and others by what their teams hold for the whole organization. */
export const isOfOrganization = (action: Action | OrganizationAction): action is OrganizationAction =>
  !('need' in Object(action));
