/** The steps by which the changing grants go from level to level, and what each has to come to. */

export type ProjectPermissions = { readonly [name: string]: string | boolean };

type Variables = { readonly [name: string]: unknown };

export type Level = {
  readonly name: string;
  readonly variables: Variables;
  readonly project: ProjectPermissions;
  readonly projectWorkspaces: ProjectPermissions;
  readonly workspace: ProjectPermissions;
};

const nothing = {
  sentinel_mocks: 'none',
  create: false,
  locking: false,
  delete: false,
  move: false,
  run_tasks: false,
};
const seen = { settings: 'read', teams: 'none' };
const reading = { ...nothing, runs: 'read', state_versions: 'read', variables: 'read' };
const writing = {
  ...nothing,
  runs: 'apply',
  sentinel_mocks: 'read',
  state_versions: 'write',
  variables: 'write',
  locking: true,
};
const maintaining = { ...writing, create: true, delete: true, run_tasks: true };
const administering = { ...maintaining, move: true };

const inWorkspace = {
  read: {
    runs: 'read',
    variables: 'read',
    state_versions: 'read',
    sentinel_mocks: 'none',
    workspace_locking: false,
    run_tasks: false,
  },
  plan: {
    runs: 'plan',
    variables: 'read',
    state_versions: 'read',
    sentinel_mocks: 'none',
    workspace_locking: false,
    run_tasks: false,
  },
  write: {
    runs: 'apply',
    variables: 'write',
    state_versions: 'write',
    sentinel_mocks: 'read',
    workspace_locking: true,
    run_tasks: false,
  },
  admin: {
    runs: 'apply',
    variables: 'write',
    state_versions: 'write',
    sentinel_mocks: 'read',
    workspace_locking: true,
    run_tasks: true,
  },
};
const customA = {
  runs: 'plan',
  variables: 'write',
  state_versions: 'read-outputs',
  sentinel_mocks: 'none',
  workspace_locking: true,
  run_tasks: true,
};
const customB = {
  runs: 'apply',
  variables: 'none',
  state_versions: 'none',
  sentinel_mocks: 'read',
  workspace_locking: false,
  run_tasks: false,
};

const fullA = {
  ...nothing,
  runs: 'plan',
  sentinel_mocks: 'read',
  state_versions: 'write',
  variables: 'write',
  create: true,
  locking: true,
  move: true,
};
const fullB = { ...nothing, runs: 'apply', state_versions: 'read', variables: 'read', delete: true, run_tasks: true };

const fixed = (
  name: string,
  project: ProjectPermissions,
  projectWorkspaces: ProjectPermissions,
  workspaceLevel: keyof typeof inWorkspace,
): Level => ({
  name,
  variables: { project_level: name, workspace_level: workspaceLevel },
  project,
  projectWorkspaces,
  workspace: inWorkspace[workspaceLevel],
});

const read = fixed('read', seen, reading, 'read');

/** The first is how the grants are made. */
export const levels: readonly Level[] = [
  read,
  fixed('write', seen, writing, 'plan'),
  fixed('maintain', seen, maintaining, 'write'),
  fixed('admin', { settings: 'delete', teams: 'manage' }, administering, 'admin'),
  {
    name: 'custom, where a part is given and the rest is kept from admin',
    variables: {
      project_level: 'custom',
      project_access: { settings: 'update' },
      project_workspace_access: { runs: 'plan', move: false },
      workspace_permissions: customA,
    },
    project: { settings: 'update', teams: 'manage' },
    projectWorkspaces: { ...administering, runs: 'plan', move: false },
    workspace: customA,
  },
  {
    name: 'custom, all given',
    variables: {
      project_level: 'custom',
      project_access: { settings: 'delete', teams: 'manage' },
      project_workspace_access: fullA,
      workspace_permissions: customB,
    },
    project: { settings: 'delete', teams: 'manage' },
    projectWorkspaces: fullA,
    workspace: customB,
  },
  {
    name: 'custom, all given otherwise',
    variables: {
      project_level: 'custom',
      project_access: { settings: 'read', teams: 'none' },
      project_workspace_access: fullB,
      workspace_permissions: customA,
    },
    project: seen,
    projectWorkspaces: fullB,
    workspace: customA,
  },
  read,
];
