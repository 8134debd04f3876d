/** Every family that is served. */

import { accessReview } from './access-review.ts';
import { accounts } from './account.ts';
import { auditEvents } from './audit-events.ts';
import { auditTrail } from './audit-trail.ts';
import { authenticationTokens } from './authentication-tokens.ts';
import { evaluations } from './authzen/evaluations.ts';
import { searches } from './authzen/searches.ts';
import { effectiveAccess } from './effective-access.ts';
import { entitlementSets } from './entitlement-set.ts';
import type { Operation } from './operation.ts';
import { organizationMemberships } from './organization-memberships.ts';
import { organizationTokens } from './organization-tokens.ts';
import { organizations } from './organizations.ts';
import { projects } from './projects.ts';
import { tagBindings } from './tag-bindings.ts';
import { teamMemberships } from './team-memberships.ts';
import { teamProjects } from './team-projects.ts';
import { teamTokens } from './team-tokens.ts';
import { teamWorkspaces } from './team-workspaces.ts';
import { teams } from './teams.ts';
import { userTokens } from './user-tokens.ts';
import { users } from './users.ts';
import { workspaceActions } from './workspace-actions.ts';
import { workspaceTags } from './workspace-tags.ts';
import { workspaces } from './workspaces.ts';
import { world } from './world/export.ts';

export const operations: readonly Operation[] = [
  ...teamProjects,
  ...organizations,
  ...entitlementSets,
  ...organizationMemberships,
  ...teams,
  ...teamMemberships,
  ...projects,
  ...tagBindings,
  ...users,
  ...accounts,
  ...authenticationTokens,
  ...workspaces,
  ...workspaceActions,
  ...workspaceTags,
  ...teamWorkspaces,
  ...userTokens,
  ...teamTokens,
  ...organizationTokens,
  ...effectiveAccess,
  ...accessReview,
  ...evaluations,
  ...searches,
  ...auditTrail,
  ...auditEvents,
  ...world,
];
