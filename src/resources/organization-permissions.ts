/** What the caller may do in an organization, as clients ask for it. */

import {
  mayCreateProject,
  mayCreateTeam,
  mayCreateWorkspace,
  mayManageOrganization,
  mayReadOrganization,
  ownerOr,
  type Standing,
} from '../core/authority.ts';
import { exactly, flag } from '../wire/schemas.ts';

/** Of what is not served here, whoever might. */
const rights = {
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
};

const each = <T>(value: (may: (standing: Standing) => boolean) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(rights).map(([name, may]) => [name, value(may)]));

export const Permissions = exactly(each(() => flag));

/** The standing is one on the default project, where a workspace goes when no project is named. */
export const permissionsOf = (standing: Standing): Record<string, boolean> => each(may => may(standing));
