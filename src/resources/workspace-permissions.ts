/** What the caller may do with a workspace, as clients ask for it. */

import type { PermissionName, Value } from '../core/access.ts';
import {
  mayAdministerWorkspace,
  mayDeleteWorkspace,
  mayLockWorkspace,
  mayMoveWorkspace,
  mayReadWorkspace,
  reaches,
  type Standing,
} from '../core/authority.ts';
import { permissionsBlock } from './permissions.ts';

const holds =
  <N extends PermissionName>(name: N, value: Value<N>) =>
  (standing: Standing): boolean =>
    reaches(standing, name, value);

/** What is started must be answered for, and an organization's token is nobody. */
const starts = (value: Value<'workspace-access.runs'>) => (standing: Standing) =>
  !standing.organizationToken && reaches(standing, 'workspace-access.runs', value);

/** In whatever state it is. */
export const permissionsOnWorkspace = permissionsBlock({
  'can-update': mayAdministerWorkspace,
  'can-destroy': mayDeleteWorkspace,
  'can-force-delete': mayDeleteWorkspace,
  'can-move': mayMoveWorkspace,
  'can-lock': mayLockWorkspace,
  'can-unlock': mayLockWorkspace,
  'can-force-unlock': mayAdministerWorkspace,
  'can-read-settings': mayReadWorkspace,
  'can-read-run': mayReadWorkspace,
  'can-queue-run': starts('plan'),
  'can-queue-apply': starts('apply'),
  'can-queue-destroy': starts('apply'),
  'can-read-variable': holds('workspace-access.variables', 'read'),
  'can-update-variable': holds('workspace-access.variables', 'write'),
  'can-read-state-versions': holds('workspace-access.state-versions', 'read'),
  'can-read-state-outputs': holds('workspace-access.state-versions', 'read-outputs'),
  'can-create-state-versions': holds('workspace-access.state-versions', 'write'),
  'can-manage-tags': mayAdministerWorkspace,
  'can-manage-run-tasks': holds('workspace-access.run-tasks', true),
  'can-manage-assessments': mayAdministerWorkspace,
  'can-manage-ephemeral-workspaces': mayAdministerWorkspace,
  'can-read-assessment-results': mayReadWorkspace,
  'can-manage-hyok': () => false,
});
