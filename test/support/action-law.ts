/** What each action takes, as the table of the specification has it; nothing is shared with the service. */

/** One permission at this value or higher. */
export type Need = readonly [group: string, key: string, least: string | boolean];

const settings = (least: string): Need[] => [['project-access', 'settings', least]];
const onWorkspaces = (key: string, least: string | boolean = true): Need[] => [['workspace-access', key, least]];

/** By type and action; any one of these is enough. */
export const law: Readonly<Record<string, Readonly<Record<string, readonly Need[]>>>> = {
  project: {
    read: settings('read'),
    update: settings('update'),
    delete: settings('delete'),
    'read-teams': [['project-access', 'teams', 'read']],
    'manage-teams': [['project-access', 'teams', 'manage']],
    'read-variable-sets': [['project-access', 'variable-sets', 'read']],
    'write-variable-sets': [['project-access', 'variable-sets', 'write']],
    'create-workspace': onWorkspaces('create'),
    'move-workspace': onWorkspaces('move'),
  },
  workspace: {
    read: onWorkspaces('runs', 'read'),
    'read-runs': onWorkspaces('runs', 'read'),
    'plan-runs': onWorkspaces('runs', 'plan'),
    'apply-runs': onWorkspaces('runs', 'apply'),
    'read-variables': onWorkspaces('variables', 'read'),
    'write-variables': onWorkspaces('variables', 'write'),
    'read-state-outputs': onWorkspaces('state-versions', 'read-outputs'),
    'read-state': onWorkspaces('state-versions', 'read'),
    'write-state': onWorkspaces('state-versions', 'write'),
    'download-sentinel-mocks': onWorkspaces('sentinel-mocks', 'read'),
    lock: onWorkspaces('locking'),
    delete: [...onWorkspaces('delete'), ...onWorkspaces('administration')],
    'manage-run-tasks': onWorkspaces('run-tasks'),
    'override-policies': onWorkspaces('policy-overrides'),
    'manage-team-access': onWorkspaces('administration'),
  },
};

/** Of each permission, lowest first, without what is nobody's. */
const ladders: Readonly<Record<string, readonly unknown[]>> = {
  settings: ['read', 'update', 'delete'],
  teams: ['read', 'manage'],
  'variable-sets': ['read', 'write'],
  runs: ['read', 'plan', 'apply'],
  'sentinel-mocks': ['read'],
  'state-versions': ['read-outputs', 'read', 'write'],
  variables: ['read', 'write'],
};

const rank = (key: string, value: unknown): number => (ladders[key] ?? [true]).indexOf(value);

/** Whether a value of that permission is enough. */
export const reaches = (value: unknown, [, key, least]: Need): boolean => rank(key, value) >= rank(key, least);
