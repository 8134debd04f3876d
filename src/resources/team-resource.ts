/** A team as it is shown and stored, and who reaches it. The operations are those of `teams.ts`. */

import {
  bitOf,
  type Caller,
  mayManageOrganizationAccess,
  mayManageTeam,
  mayManageTeamMembership,
  mayManageTokens,
  maySeeTeam,
  type OrganizationAccess,
  organizationPermissions,
  reachOfTokens,
  type Standing,
  visibleTeams,
} from '../core/authority.ts';
import { found, nameTaken } from '../core/fault.ts';
import { within } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { ownersTeam, standingAtTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { pathOf, type Resource, toLink, toMany, toOne } from '../wire/document.ts';
import {
  count,
  exactly,
  flag,
  linked,
  oneOf,
  orNull,
  related,
  relatedMany,
  resource,
  text,
  time,
} from '../wire/schemas.ts';
import type { Request } from './request.ts';

// Shape

export const visibility = oneOf('secret', 'organization');

/** What we have not: groups of a directory service, and teams of another product. */
const absent = {
  'is-unified': false,
  description: null,
  'scim-linked': null,
  'scim-sync-paused': null,
  'scim-group-name': null,
  'scim-updated-at': null,
};

export const TeamResource = resource(
  'teams',
  {
    name: text,
    'users-count': count,
    'non-service-users-count': count,
    visibility,
    'sso-team-id': orNull(text),
    'allow-member-token-management': flag,
    'is-unified': flag,
    description: orNull(text),
    'scim-linked': orNull(flag),
    'scim-sync-paused': orNull(flag),
    'scim-group-name': orNull(text),
    'scim-updated-at': orNull(time),
    'organization-access': exactly(Object.fromEntries(organizationPermissions.map(permission => [permission, flag]))),
    permissions: exactly({
      'can-update-membership': flag,
      'can-destroy': flag,
      'can-update-organization-access': flag,
      'can-update-api-token': flag,
      'can-update-visibility': flag,
      'can-update-name': flag,
      'can-update-sso-team-id': flag,
      'can-update-member-token-management': flag,
      'can-view-api-token': flag,
    }),
  },
  {
    organization: related('organizations'),
    users: relatedMany('users'),
    'organization-memberships': relatedMany('organization-memberships'),
    'authentication-token': linked,
  },
);

export type Team = {
  readonly id: string;
  readonly organization: string;
  readonly name: string;
  readonly visibility: string;
  readonly ssoTeamId: string | null;
  readonly memberTokens: boolean;
  readonly organizationAccess: OrganizationAccess;
  readonly owners: boolean;
  readonly users: readonly string[];
  readonly memberships: readonly string[];
};

const may = (standing: Standing, team: Team, caller: Caller) => {
  const manages = mayManageTeam(standing, team);
  const managesTokens = mayManageTokens(reachOfTokens(standing, caller), team);
  return {
    'can-update-membership': mayManageTeamMembership(standing, team),
    'can-destroy': manages && !team.owners,
    'can-update-organization-access': mayManageOrganizationAccess(standing, team),
    'can-update-api-token': managesTokens,
    'can-update-visibility': manages && !team.owners,
    'can-update-name': manages && !team.owners,
    'can-update-sso-team-id': manages,
    'can-update-member-token-management': manages,
    'can-view-api-token': managesTokens,
  };
};

/** Organization access is shown as it was sent: what one permission implies of another is a matter of authority. */
export const shownTeam = (team: Team, standing: Standing, caller: Caller): Resource => ({
  id: team.id,
  type: 'teams',
  attributes: {
    name: team.name,
    'users-count': team.users.length,
    'non-service-users-count': team.users.length,
    visibility: team.visibility,
    'sso-team-id': team.ssoTeamId,
    'allow-member-token-management': team.memberTokens,
    ...absent,
    'organization-access': Object.fromEntries(
      organizationPermissions.map(permission => [permission, (team.organizationAccess & bitOf(permission)) !== 0]),
    ),
    permissions: may(standing, team, caller),
  },
  relationships: {
    organization: toOne('organizations', team.organization),
    users: toMany('users', team.users),
    'organization-memberships': toMany('organization-memberships', team.memberships),
    'authentication-token': toLink(`${pathOf('teams', team.id)}/authentication-token`),
  },
  links: { self: pathOf('teams', team.id) },
});

// Storage

export type TeamColumns = [
  id: string,
  organization: string,
  name: string,
  visibility: string,
  ssoTeamId: string | null,
  memberTokens: number,
  organizationAccess: number,
  createdAt: string,
  members: string | null,
];

export const selectedTeams = sql`
  select teams.id, organizations.name as organization_name, teams.name, teams.visibility, teams.sso_team_id,
    teams.allow_member_token_management, teams.organization_access, teams.created_at,
    (
      select string_agg(
        organization_memberships.id || ' ' || coalesce(organization_memberships.user_id, ''),
        ',' order by team_memberships.created_at, team_memberships.membership_id
      )
      from team_memberships
      join organization_memberships on organization_memberships.id = team_memberships.membership_id
      where team_memberships.team_id = teams.id
    ) as members
  from teams
  join organizations on organizations.id = teams.organization_id`;

export const teamFrom = (row: TeamColumns): Team => {
  const [id, organization, name, visibility, ssoTeamId, memberTokens, organizationAccess, , members] = row;
  const pairs = members?.split(',').map(member => member.split(' ') as [membership: string, user: string]) ?? [];
  return {
    id,
    organization,
    name,
    visibility,
    ssoTeamId,
    memberTokens: memberTokens === 1,
    organizationAccess,
    owners: name === ownersTeam,
    users: pairs.flatMap(([, user]) => (user === '' ? [] : [user])),
    memberships: pairs.map(([membership]) => membership),
  };
};

export const loadTeam = async (tx: Tx, id: string): Promise<Team | undefined> => {
  const row = await tx.row<TeamColumns>(sql`${selectedTeams} where teams.id = ${id}`);
  return row && teamFrom(row);
};

/** Those of these teams that the caller sees, for documents that include teams. */
export const teamsShown = async (tx: Tx, stand: Standing, caller: Caller, which: Sql): Promise<Resource[]> => {
  const rows = await tx.rows<TeamColumns>(sql`
    ${selectedTeams}
    where teams.organization_id = ${stand.organization} and ${which} and ${within(visibleTeams(stand), caller)}
    order by teams.created_at, teams.id`);
  return rows.map(row => shownTeam(teamFrom(row), stand, caller));
};

/** The teams of these memberships. */
export const shownTeamsOf = (tx: Tx, stand: Standing, caller: Caller, memberships: readonly string[]) =>
  teamsShown(
    tx,
    stand,
    caller,
    sql`teams.id in (select team_id from team_memberships where membership_id in (${memberships}))`,
  );

export const newTeam = (id: string, organization: string, name: string): Team => ({
  id,
  organization,
  name,
  visibility: 'secret',
  ssoTeamId: null,
  memberTokens: true,
  organizationAccess: 0,
  owners: false,
  users: [],
  memberships: [],
});

export const newOwnersTeam = (id: string, organization: string): Team => ({
  ...newTeam(id, organization, ownersTeam),
  visibility: 'organization',
  owners: true,
});

export const addTeam = async (tx: Tx, team: Team, organizationId: string, now: string): Promise<void> => {
  const added = await tx.run(sql`
    insert into teams (
      id, organization_id, name, visibility, sso_team_id, allow_member_token_management, organization_access, created_at
    )
    values (
      ${team.id}, ${organizationId}, ${team.name}, ${team.visibility}, ${team.ssoTeamId}, ${team.memberTokens ? 1 : 0},
      ${team.organizationAccess}, ${now}
    )
    on conflict (organization_id, lower(name)) do nothing`);
  if (added === 0) throw nameTaken();
};

export const saveTeam = async (tx: Tx, team: Team, organizationId: string): Promise<void> => {
  const saved = await tx.run(sql`
    update teams
    set name = ${team.name}, visibility = ${team.visibility}, sso_team_id = ${team.ssoTeamId},
      allow_member_token_management = ${team.memberTokens ? 1 : 0}, organization_access = ${team.organizationAccess}
    where id = ${team.id} and not exists (
      select 1
      from teams as other
      where other.organization_id = ${organizationId}
        and lower(other.name) = lower(cast(${team.name} as ctext))
        and other.id <> ${team.id}
    )`);
  if (saved === 0) throw nameTaken();
};

/** Whether it was not in the team before. */
export const addTeamMember = async (tx: Tx, organization: string, team: string, membership: string, now: string) =>
  (await tx.run(sql`
    insert into team_memberships (organization_id, team_id, membership_id, created_at)
    values (${organization}, ${team}, ${membership}, ${now})
    on conflict (team_id, membership_id) do nothing`)) === 1;

// Reach

type TeamFound = NonNullable<Awaited<ReturnType<typeof standingAtTeam>>>;

/** A team that the caller sees and may do this with, and the caller's standing. */
export const reachedTeam = async (
  { tx, caller, params }: Pick<Request<'/api/v2/teams/:id'>, 'tx' | 'caller' | 'params'>,
  may: (standing: Standing, team: TeamFound['team']) => boolean,
  pointer?: string,
): Promise<TeamFound> =>
  found(
    await standingAtTeam(tx, caller, params.id),
    ({ stand, team }) => maySeeTeam(stand, team) && may(stand, team),
    pointer,
  );
