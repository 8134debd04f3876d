/** What the caller may do in an organization, as clients ask for it. */

import {
  mayCreateProject,
  mayCreateTeam,
  mayCreateWorkspace,
  mayManageOrganization,
  mayReadOrganization,
  ownerOr,
} from '../core/authority.ts';
import { permissionsBlock } from './permissions.ts';

/**
 * Of what is not served here, whoever might.
 * The standing is one on the default project, where a workspace goes when no project is named.
 */
export const permissionsOnOrganization = permissionsBlock({
  'can-update': mayManageOrganization,
  'can-destroy': mayManageOrganization,
  'can-update-api-token': mayManageOrganization,
  'can-manage-auditing': mayManageOrganization,
  'can-enable-stacks': mayManageOrganization,
  'can-update-hyok-configuration': mayManageOrganization,
  'can-view-hyok-feature-info': mayManageOrganization,
  'can-traverse': mayReadOrganization,
  'can-create-team': mayCreateTeam,
  'can-create-project': mayCreateProject,
  'can-create-workspace': mayCreateWorkspace,
  'can-create-workspace-migration': mayCreateWorkspace,
  'can-deploy-no-code-modules': mayCreateWorkspace,
  'can-manage-no-code-modules': ownerOr('manage-modules'),
  'can-manage-run-tasks': ownerOr('manage-run-tasks'),
  'can-update-oauth': ownerOr('manage-vcs-settings'),
  'can-update-sentinel': ownerOr('manage-policies'),
});
