/** What the caller may do with a workspace, as clients ask for it. */

import { at, covers, type PermissionName, type Value } from '../core/access.ts';
import {
  effective,
  mayAdministerWorkspace,
  mayDeleteWorkspace,
  mayLockWorkspace,
  mayMoveWorkspace,
  type Standing,
} from '../core/authority.ts';
import { permissionsBlock } from './permissions.ts';

const reaches =
  <N extends PermissionName>(name: N, value: Value<N>) =>
  (standing: Standing): boolean =>
    covers(effective(standing), at(name, value));

/** What is started must be answered for, and an organization's token is nobody. */
const starts = (value: Value<'workspace-access.runs'>) => (standing: Standing) =>
  !standing.organizationToken && reaches('workspace-access.runs', value)(standing);

const mayRead = reaches('workspace-access.runs', 'read');

/** In whatever state it is. */
export const permissionsOnWorkspace = permissionsBlock({
  'can-update': mayAdministerWorkspace,
  'can-destroy': mayDeleteWorkspace,
  'can-force-delete': mayDeleteWorkspace,
  'can-move': mayMoveWorkspace,
  'can-lock': mayLockWorkspace,
  'can-unlock': mayLockWorkspace,
  'can-force-unlock': mayAdministerWorkspace,
  'can-read-settings': mayRead,
  'can-read-run': mayRead,
  'can-queue-run': starts('plan'),
  'can-queue-apply': starts('apply'),
  'can-queue-destroy': starts('apply'),
  'can-read-variable': reaches('workspace-access.variables', 'read'),
  'can-update-variable': reaches('workspace-access.variables', 'write'),
  'can-read-state-versions': reaches('workspace-access.state-versions', 'read'),
  'can-read-state-outputs': reaches('workspace-access.state-versions', 'read-outputs'),
  'can-create-state-versions': reaches('workspace-access.state-versions', 'write'),
  'can-manage-tags': mayAdministerWorkspace,
  'can-manage-run-tasks': reaches('workspace-access.run-tasks', true),
  'can-manage-assessments': mayAdministerWorkspace,
  'can-manage-ephemeral-workspaces': mayAdministerWorkspace,
  'can-read-assessment-results': mayRead,
  'can-manage-hyok': () => false,
});
