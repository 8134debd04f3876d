/** Who may see and do what: every rule, as a pure function of facts. There are no deny rules; one more grant never takes a right away. */

import {
  allPermissions,
  at,
  covers,
  everything,
  type Grant,
  granted,
  impliedBy,
  join,
  meets,
  type Need,
  nothing,
  onWorkspaces,
  type Permission,
  type PermissionName,
  type Permissions,
  partOf,
  type WorkspaceGrant,
} from './access.ts';
import {
  type Action,
  actionOf,
  isOfOrganization,
  type OrganizationAction,
  organizationActions,
  projectActions,
  type ResourceType,
  workspaceActions,
} from './actions.ts';

/** Whom a token stands for. */
export type Caller = { readonly token: string } & (
  | { readonly kind: 'user'; readonly user: string; readonly admin: boolean }
  | { readonly kind: 'team'; readonly team: string; readonly organization: string }
  | { readonly kind: 'organization'; readonly organization: string }
  /** Reads the audit trail, and nothing else. */
  | { readonly kind: 'audit-trails'; readonly organization: string }
  /** Asks who may do what in the organization, and does nothing else. */
  | { readonly kind: 'decisions'; readonly organization: string }
);

/** What a team may hold for the whole organization. The place in this list is the bit in storage: only ever append. */
export const organizationPermissions = [
  'manage-policies',
  'manage-policy-overrides',
  'delegate-policy-overrides',
  'manage-workspaces',
  'manage-vcs-settings',
  'manage-providers',
  'manage-modules',
  'manage-run-tasks',
  'manage-projects',
  'read-workspaces',
  'read-projects',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-agent-pools',
  'manage-public-providers',
  'manage-public-modules',
  'manage-registry-components',
  'manage-registry-artifact-tags',
  'manage-registry-artifact-version-tags',
] as const;
export type OrganizationPermission = (typeof organizationPermissions)[number];

/** A set of organization-level permissions, one bit each. */
export type OrganizationAccess = number;

const bits = Object.fromEntries(organizationPermissions.map((permission, index) => [permission, 1 << index])) as Record<
  OrganizationPermission,
  OrganizationAccess
>;

export const bitOf = (permission: OrganizationPermission): OrganizationAccess => bits[permission];

const readsWorkspaces = partOf(impliedBy('read'), 'workspace-access');
const readsSettings = at('project-access.settings', 'read');

/** What each organization-level permission gives on every project; those not named here give nothing. */
const givenOnProjects: { readonly [P in OrganizationPermission]?: Permissions } = {
  'manage-projects': impliedBy('admin'),
  'manage-workspaces':
    readsSettings |
    (partOf(impliedBy('admin'), 'workspace-access') &
      ~at('workspace-access.move', true) &
      ~at('workspace-access.create', true)),
  'read-projects': readsSettings,
  'read-workspaces': readsWorkspaces,
  'manage-policy-overrides': readsWorkspaces,
  'manage-agent-pools': readsSettings | readsWorkspaces,
  'manage-policies': at('workspace-access.runs', 'read'),
};

const giving = (isEnough: (given: Permissions) => boolean): OrganizationAccess =>
  organizationPermissions
    .filter(permission => isEnough(givenOnProjects[permission] ?? nothing))
    .reduce((all, permission) => all | bitOf(permission), 0);

/** Those that give anything on projects at all. */
export const givingOnProjects = giving(given => given !== nothing);

/** Those that meet a need on every project. */
export const meetingOnProjects = (need: Need): OrganizationAccess => giving(given => meets(given, need));

/** What `manage-workspaces` gives besides on the default project, where workspaces are created when no project is named. */
const givenOnDefaultProject = at('workspace-access.create', true);

/** One of the caller's teams, and its grants on the project and the workspace in question. */
export type TeamFacts = {
  readonly id: string;
  readonly owners: boolean;
  readonly organizationAccess: OrganizationAccess;
  readonly grant?: Grant | undefined;
  readonly workspaceGrant?: WorkspaceGrant | undefined;
  /** The ids of the two, for whoever is told of them. */
  readonly grantId?: string | undefined;
  readonly workspaceGrantId?: string | undefined;
};

/** All facts about a caller in one organization and, where one is in question, on one project or one workspace of it. */
export type Standing = {
  readonly organization: string;
  readonly project: string | null;
  readonly onDefaultProject: boolean;
  readonly workspace: string | null;
  /** Belongs to the organization: by membership, or as a token of it. */
  readonly member: boolean;
  /** Acts as an owner by the kind of its token. */
  readonly organizationToken: boolean;
  readonly teams: readonly TeamFacts[];
};

export const isOwner = ({ organizationToken, teams }: Standing): boolean =>
  organizationToken || teams.some(team => team.owners);

const holds = ({ teams }: Standing, ...anyOf: OrganizationPermission[]): boolean =>
  teams.some(team => anyOf.some(permission => (team.organizationAccess & bitOf(permission)) !== 0));

/** An owner, or whose team holds one of these for the whole organization. */
export const ownerOr =
  (...anyOf: OrganizationPermission[]) =>
  (standing: Standing): boolean =>
    isOwner(standing) || holds(standing, ...anyOf);

const held = ({ teams }: Standing): OrganizationAccess => teams.reduce((all, team) => all | team.organizationAccess, 0);

/** Why a team holds something in a place. */
export type Origin = {
  readonly scope: 'organization' | 'project' | 'workspace';
  /** The name of the organization-level permission, `owners`, or the id of the grant. */
  readonly by: string;
  readonly gives: Permissions;
};

/** As much of a team's grants as acts: a policy override does only in a team that has it delegated. */
export const actingIn = ({ organizationAccess }: Pick<TeamFacts, 'organizationAccess'>): Permissions =>
  (organizationAccess & bitOf('delegate-policy-overrides')) === 0
    ? everything & ~at('workspace-access.policy-overrides', true)
    : everything;

/** All that gives one team anything in this place: its organization-level permissions, and its grants. */
const eachOrigin = (
  team: TeamFacts,
  onDefaultProject: boolean,
  found: (scope: Origin['scope'], by: string, gives: Permissions) => void,
): void => {
  const { owners, organizationAccess, grant, grantId = '', workspaceGrant, workspaceGrantId = '' } = team;
  if (owners) found('organization', 'owners', everything);
  // Most teams hold nothing of the kind.
  for (const permission of organizationAccess === 0 ? [] : organizationPermissions) {
    if ((organizationAccess & bitOf(permission)) === 0) continue;
    const besides = onDefaultProject && permission === 'manage-workspaces' ? givenOnDefaultProject : nothing;
    found('organization', permission, join(givenOnProjects[permission] ?? nothing, besides));
  }
  const acting = actingIn(team);
  if (grant) found('project', grantId, granted(grant) & acting);
  if (workspaceGrant) found('workspace', workspaceGrantId, onWorkspaces.granted(workspaceGrant) & acting);
};

export const originsOf = (team: TeamFacts, onDefaultProject: boolean): readonly Origin[] => {
  const origins: Origin[] = [];
  eachOrigin(team, onDefaultProject, (scope, by, gives) => {
    if (gives !== nothing) origins.push({ scope, by, gives });
  });
  return origins;
};

/** What one team gives in this place. */
export const heldBy = (team: TeamFacts, onDefaultProject: boolean): Permissions => {
  let set = nothing;
  eachOrigin(team, onDefaultProject, (_scope, _by, gives) => {
    set = join(set, gives);
  });
  return set;
};

/** What the caller may do on the project or workspace, whichever of its teams gives it. */
export const effective = (standing: Standing): Permissions =>
  standing.organizationToken
    ? everything
    : standing.teams.reduce((set, team) => join(set, heldBy(team, standing.onDefaultProject)), nothing);

export const reaches = <N extends PermissionName>(
  standing: Standing,
  name: N,
  value: Parameters<typeof at<N>>[1],
): boolean => covers(effective(standing), at(name, value));

/** Whoever holds what an action takes. */
const may =
  ({ need }: Action) =>
  (standing: Standing): boolean =>
    meets(effective(standing), need);

/** The same of an action that concerns the organization as a whole. */
const mayInOrganization = (by: OrganizationAction): ((standing: Standing) => boolean) =>
  by === 'membership' ? ({ member }) => member : ownerOr(...by);

// Teams that a caller sees

export type TeamOnView = { readonly id: string; readonly visibility: string };

/** All teams, or the caller's own and perhaps those visible in the organization. */
export type Sight = 'all' | { readonly own: ReadonlySet<string>; readonly listed: boolean };

const own = ({ teams }: Standing): ReadonlySet<string> => new Set(teams.map(team => team.id));

export const sees = (sight: Sight, team: TeamOnView): boolean =>
  sight === 'all' || sight.own.has(team.id) || (sight.listed && team.visibility === 'organization');

const managesMembership = mayInOrganization(organizationActions['manage-membership']);

const managesTeams = mayInOrganization(organizationActions['create-team']);

/** The teams that exist for the caller. */
export const visibleTeams = (standing: Standing): Sight =>
  isOwner(standing) || (managesMembership(standing) && holds(standing, 'access-secret-teams'))
    ? 'all'
    : { own: own(standing), listed: standing.member };

/** The teams whose access to the project the caller sees. */
export const visibleTeamAccess = (standing: Standing): Sight =>
  mayManageTeamAccess(standing) ? 'all' : { own: own(standing), listed: mayReadTeamAccess(standing) };

// Team access

export const mayReadTeamAccess = may(projectActions['read-teams']);
export const mayManageTeamAccess = may(projectActions['manage-teams']);

/** Nobody grants more than they hold: what a change would add beyond the caller's own access. */
export const excess = (standing: Standing, next: Permissions, present: Permissions): readonly Permission[] => {
  const missing = next & ~present & ~effective(standing);
  return allPermissions.filter(({ mask }) => (missing & mask) !== 0);
};

// Projects

export const mayReadProject = may(projectActions.read);
export const mayUpdateProject = may(projectActions.update);
export const mayDeleteProject = may(projectActions.delete);
export const mayManageVariableSets = may(projectActions['write-variable-sets']);
export const mayCreateProject = mayInOrganization(organizationActions['create-project']);

/** Whether the organization-level permissions alone show every project; else only those with a grant are shown. */
export const seesEveryProject = (standing: Standing): boolean => mayReadProject(withoutGrants(standing));

/** The caller's standing in the organization alone. */
export const withoutGrants = (standing: Standing): Standing => ({
  ...standing,
  teams: standing.teams.map(team => ({ ...team, grant: undefined, workspaceGrant: undefined })),
});

// Workspaces

export const mayReadWorkspace = may(workspaceActions.read);
export const mayCreateWorkspace = may(projectActions['create-workspace']);
export const mayAdministerWorkspace = may(workspaceActions['manage-team-access']);
export const mayDeleteWorkspace = may(workspaceActions.delete);
/** Out of this project or into it: a move needs both. */
export const mayMoveWorkspace = may(projectActions['move-workspace']);
export const mayLockWorkspace = may(workspaceActions.lock);

/** Whether the organization-level permissions alone show every workspace; else only those with a grant are shown. */
export const seesEveryWorkspace = (standing: Standing): boolean => mayReadWorkspace(withoutGrants(standing));

/** The teams whose access to the workspace the caller sees. */
export const visibleWorkspaceAccess = (standing: Standing): Sight =>
  mayAdministerWorkspace(standing) ? 'all' : { own: own(standing), listed: false };

// What others hold

/** What the caller sees of what teams hold in one place: their organization-level permissions and members, and their grants. */
export type Outlook = { readonly teams: Sight; readonly grants: Sight; readonly workspaceGrants: Sight };

export const outlook = (standing: Standing): Outlook => ({
  teams: visibleTeams(standing),
  grants: visibleTeamAccess(standing),
  workspaceGrants: visibleWorkspaceAccess(standing),
});

export const wholeOutlook: Outlook = { teams: 'all', grants: 'all', workspaceGrants: 'all' };

/** As much of a team as is seen: the rest counts for nothing, so that what is hidden changes no answer. */
export const seenIn = <T extends TeamFacts & TeamOnView>(outlook: Outlook, team: T): T =>
  outlook === wholeOutlook
    ? team
    : {
        ...team,
        ...(!sees(outlook.teams, team) && { owners: false, organizationAccess: 0 }),
        ...(!sees(outlook.grants, team) && { grant: undefined }),
        ...(!sees(outlook.workspaceGrants, team) && { workspaceGrant: undefined }),
      };

// Decisions

/** Whether a standing lets do an action of the tables to the resource where it stands; a grant is that of a team. */
export const permits = (standing: Standing, type: ResourceType, name: string, team?: TeamOnView): boolean => {
  const action = actionOf(type, name);
  if (action === undefined) return false;
  if (isOfOrganization(action)) return mayInOrganization(action)(standing);
  // Who sees a grant is a question of whose it is, too.
  if (type === 'team-project' && name === 'read') return team !== undefined && sees(visibleTeamAccess(standing), team);
  return may(action)(standing);
};

/** About whoever belongs to the organization: those who act as owners, and the token that is made for it. */
export const mayAskAboutAnyone = (standing: Standing, caller: Caller): boolean =>
  isOwner(standing) || (caller.kind === 'decisions' && caller.organization === standing.organization);

/** Whether there is anything at all that the caller may ask. */
export const mayAsk = (standing: Standing, caller: Caller): boolean =>
  standing.member || mayAskAboutAnyone(standing, caller);

const isItself = (caller: Caller, { type, id }: { readonly type: string; readonly id: string }): boolean =>
  (type === 'user' && isUser(caller, id)) ||
  (type === 'team' && caller.kind === 'team' && caller.team === id) ||
  (type === 'token' && caller.token === id);

/** Anyone else asks about itself only. */
export const mayAskAbout = (
  standing: Standing,
  caller: Caller,
  subject: { readonly type: string; readonly id: string },
): boolean => mayAskAboutAnyone(standing, caller) || (standing.member && isItself(caller, subject));

// Organizations

export const mayCreateOrganization = (caller: Caller): caller is Caller & { kind: 'user' } => caller.kind === 'user';
export const mayReadOrganization = mayInOrganization(organizationActions.read);
export const mayManageOrganization = mayInOrganization(organizationActions.update);

// Teams and their members. The owners team is in the owners' hands alone.

export type TeamInQuestion = TeamOnView & { readonly owners: boolean };

export const maySeeTeam = (standing: Standing, team: TeamOnView): boolean => sees(visibleTeams(standing), team);

export const mayCreateTeam = managesTeams;

export const mayManageTeam = (standing: Standing, team: TeamInQuestion): boolean =>
  isOwner(standing) || (managesTeams(standing) && maySeeTeam(standing, team) && !team.owners);

export const mayManageTeamMembership = (standing: Standing, team: TeamInQuestion): boolean =>
  isOwner(standing) || (managesMembership(standing) && maySeeTeam(standing, team) && !team.owners);

export const mayManageOrganizationAccess = (standing: Standing, team: TeamInQuestion): boolean =>
  isOwner(standing) || (holds(standing, 'manage-organization-access') && maySeeTeam(standing, team) && !team.owners);

/** Nobody grants more than they hold, for the whole organization either: the changes that the caller may not make. */
export const refusedOrganizationAccess = (
  standing: Standing,
  team: TeamInQuestion,
  next: OrganizationAccess,
  present: OrganizationAccess,
): readonly OrganizationPermission[] => {
  if (isOwner(standing)) return [];
  const refused = mayManageOrganizationAccess(standing, team) ? next & ~present & ~held(standing) : next ^ present;
  return organizationPermissions.filter(permission => (refused & bitOf(permission)) !== 0);
};

/** A team's token acts as the team: whoever manages the team makes one, and the members do where the team allows it. */
export type TokenReach = 'all' | { readonly managed: Sight | undefined; readonly own: ReadonlySet<string> };

/** The teams whose tokens the caller manages. A team's own token makes no other: a leaked one could renew itself for ever. */
export const reachOfTokens = (standing: Standing, caller: Caller): TokenReach =>
  isOwner(standing)
    ? 'all'
    : {
        managed: managesTeams(standing) ? visibleTeams(standing) : undefined,
        own: caller.kind === 'user' ? own(standing) : new Set(),
      };

export const mayManageTokens = (
  reach: TokenReach,
  team: TeamInQuestion & { readonly memberTokens: boolean },
): boolean =>
  reach === 'all' ||
  (reach.managed !== undefined && !team.owners && sees(reach.managed, team)) ||
  (team.memberTokens && reach.own.has(team.id));

/** Whether there may be a token at all that the caller manages. */
export const mayManageSomeTokens = (reach: TokenReach): boolean =>
  reach === 'all' || reach.managed !== undefined || reach.own.size > 0;

// Members

export const mayInvite = managesMembership;

/** An owner is removed by owners only; anyone may leave. */
export const mayRemoveMember = (
  standing: Standing,
  member: { readonly owner: boolean; readonly self: boolean },
): boolean => isOwner(standing) || member.self || (managesMembership(standing) && !member.owner);

// The audit trail

/** The organization whose audit trail the token reads. */
export const auditedBy = (caller: Caller): string | undefined =>
  caller.kind === 'organization' || caller.kind === 'audit-trails' ? caller.organization : undefined;

/** In an organization that is named: its owners too. */
export const mayReadAuditEvents =
  (caller: Caller) =>
  (standing: Standing): boolean =>
    isOwner(standing) || auditedBy(caller) === standing.organization;

// What a change does to the caller itself

/** What a caller manages, in the organization or in the place in question. */
const managing: readonly ((standing: Standing) => boolean)[] = [
  mayReadOrganization,
  isOwner,
  managesTeams,
  standing => standing.project !== null && standing.workspace === null && mayManageTeamAccess(standing),
  standing => standing.workspace !== null && mayAdministerWorkspace(standing),
];

/** Whether the caller could manage something before, in a place that is still there, that it no longer can. */
export const locksOut = (before: Standing, after: Standing): boolean =>
  managing.some(manages => manages(before) && !manages(after));

// Users

export const isSiteAdmin = (caller: Caller): boolean => caller.kind === 'user' && caller.admin;

/** Whoever is a user has an account of its own; a team or an organization only appears as one. */
export const hasAccount = (caller: Caller): caller is Extract<Caller, { kind: 'user' }> => caller.kind === 'user';

export const mayReadAccount = (caller: Caller): boolean =>
  caller.kind !== 'audit-trails' && caller.kind !== 'decisions';

export const isUser = (caller: Caller, user: string): boolean => caller.kind === 'user' && caller.user === user;

/** One's own, and for a site admin everybody's. */
export const mayManageTokensOfUser = (caller: Caller, user: string): boolean =>
  isUser(caller, user) || isSiteAdmin(caller);
