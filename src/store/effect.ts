/** The facts that a write may touch, as they are at one time: whom, where, and what they hold there. */

import {
  type Access,
  type Grant,
  type Level,
  onProjects,
  type WorkspaceGrant,
  type WorkspaceLevel,
} from '../core/access.ts';
import { type Caller, meetingOnProjects, type Sight } from '../core/authority.ts';
import {
  type ByPlace,
  type Facts,
  managesTeamAccess,
  type People,
  type Place,
  type Team,
  type User,
} from '../core/effect.ts';
import { type Extent, extentOf, limited, most, mostPairs, type Scope, seenTeams, wholeSeen } from './effect-scope.ts';
import { grantMeets } from './holdings.ts';
import { type Sql, sql } from './sql.ts';
import { grantOf, holdsForOrganization, ownersTeam, packedGrant, unpackedGrants } from './standing.ts';
import type { Tx } from './store.ts';

/** The members of these teams, as memberships; one team has nobody twice. */
const membersOf = ({ organization, teams }: Extent, sight: Sight): Sql => sql`
  select id, user_id
  from (
    select member.id, member.user_id, member.created_at
    from teams
    join team_memberships on team_memberships.team_id = teams.id
    join organization_memberships as member on member.id = team_memberships.membership_id
    where teams.id in (${teams}) and teams.organization_id = ${organization} and ${seenTeams(sight)}
      and member.user_id is not null
    ${teams.length === 1 ? sql`` : sql`group by member.id, member.user_id, member.created_at`}
    order by member.created_at, member.id
    ${limited}
  ) as page`;

type UserColumns = [id: string, name: string, since: string, teams: string | null];

/** These users and the members besides, each with the ids of all its teams; whoever is both comes twice. */
const usersIn = async (tx: Tx, organization: string, users: readonly string[], besides?: Sql) => {
  const rows = await tx.rows<UserColumns>(sql`
    select users.id, users.username, users.created_at, (
      select string_agg(team_id, ',')
      from team_memberships
      where team_memberships.membership_id = member.id
    )
    from (
      select id, user_id
      from organization_memberships
      where user_id in (${users}) and organization_id = ${organization}
      ${besides ? sql`union all ${besides}` : sql``}
    ) as member
    join users on users.id = member.user_id
    order by users.id`);
  return new Map<string, User>(
    rows.map(([id, name, createdAt, teams]) => [id, { id, name, createdAt, teams: teams?.split(',').sort() ?? [] }]),
  );
};

type TeamColumns = [id: string, name: string, since: string, visibility: string, organizationAccess: number];

const teamsIn = async (tx: Tx, organization: string, ids: readonly string[]) => {
  const rows = await tx.rows<TeamColumns>(sql`
    select id, name, created_at, visibility, organization_access
    from teams
    where id in (${ids}) and organization_id = ${organization}
    order by id`);
  return new Map<string, Team>(
    rows.map(([id, name, createdAt, visibility, organizationAccess]) => [
      id,
      { id, name, createdAt, owners: name === ownersTeam, visibility, organizationAccess },
    ]),
  );
};

type WayIn = Pick<People, 'exists' | 'takesUserTokens' | 'tokenLives'>;

/** That of a caller who was let in. */
const open: WayIn = { exists: true, takesUserTokens: true, tokenLives: true };

const wayIn = async (tx: Tx, organization: string, { token }: Caller): Promise<WayIn> => {
  const row = await tx.row<[exists: number, takesUserTokens: number, tokenLives: number]>(sql`
    select (select count(*) from organizations where id = ${organization}),
      (select count(*) from organizations where id = ${organization} and user_tokens_enabled = 1),
      (select count(*) from authentication_tokens where id = ${token})`);
  const [exists, takesUserTokens, tokenLives] = row ?? [0, 0, 0];
  return { exists: exists === 1, takesUserTokens: takesUserTokens === 1, tokenLives: tokenLives === 1 };
};

type PlaceColumns = [
  project: string,
  name: string,
  isDefault: number,
  since: string,
  workspace: string | null,
  workspaceName: string,
  workspaceSince: string,
  grants: string | null,
];

/** The places, and what these teams are granted there; a workspace's project comes with it. */
const placesWith = async (
  tx: Tx,
  { projects, workspaces }: Extent,
  teams: readonly string[],
): Promise<PlaceColumns[]> => {
  if (projects.length + workspaces.length === 0) return [];
  const withTheirs = sql`
    select id from projects where id in (${projects}) union select project_id from workspaces where id in (${workspaces})`;
  const onWorkspaces = sql`
    union all
    select projects.id, projects.name, projects.is_default, projects.created_at,
      workspaces.id, workspaces.name, workspaces.created_at, (
        select string_agg(${packedGrant}, ',')
        from team_workspaces
        where team_workspaces.workspace_id = workspaces.id and team_workspaces.team_id in (${teams})
      )
    from workspaces
    join projects on projects.id = workspaces.project_id
    where workspaces.id in (${workspaces})`;
  return tx.rows<PlaceColumns>(sql`
    select id, name, is_default, created_at, cast(null as ctext), cast(null as ctext), cast(null as ctext), (
      select string_agg(${packedGrant}, ',')
      from team_projects
      where team_projects.project_id = projects.id and team_projects.team_id in (${teams})
    )
    from projects
    where id in (${workspaces.length > 0 ? withTheirs : projects})
    ${workspaces.length > 0 ? onWorkspaces : sql``}
    order by 1, 5`);
};

const byTeam = <L extends Level | WorkspaceLevel>(packed: string | null): ReadonlyMap<string, Grant<L>> =>
  new Map(unpackedGrants<L>(packed).map(({ team, grant }) => [team, grant as Grant<L>]));

type Placed = Pick<Facts, 'places' | 'grants' | 'workspaceGrants'>;

const placed = async (tx: Tx, extent: Extent, teams: readonly string[]): Promise<Placed> => {
  const places = new Map<string, Place>();
  const grants = new Map<string, ReadonlyMap<string, Grant>>();
  const workspaceGrants = new Map<string, ReadonlyMap<string, WorkspaceGrant>>();
  for (const [id, name, isDefault, createdAt, workspace, ...columns] of await placesWith(tx, extent, teams)) {
    const [workspaceName, workspaceSince, packed] = columns;
    const project = { project: { id, name, createdAt }, onDefaultProject: isDefault === 1 };
    if (workspace === null) {
      places.set(id, project);
      grants.set(id, byTeam<Level>(packed));
    } else {
      places.set(workspace, {
        ...project,
        workspace: { id: workspace, name: workspaceName, createdAt: workspaceSince },
      });
      workspaceGrants.set(workspace, byTeam<WorkspaceLevel>(packed));
    }
  }
  return { places, grants, workspaceGrants };
};

/** The caller, the teams, and the users with all their teams, and what those are granted in the places. */
const factsOf = async (tx: Tx, extent: Extent, caller: Caller, besides?: Sql): Promise<Facts> => {
  const { organization, isOfGrants } = extent;
  const asked = caller.kind === 'user' ? [...extent.users, caller.user] : extent.users;
  const users = await usersIn(tx, organization, asked, besides);
  const found = new Set(extent.teams);
  if (caller.kind === 'team') found.add(caller.team);
  for (const { teams } of users.values()) for (const team of teams) found.add(team);
  const ids = [...found];
  // None needs the answer to another: they go out together.
  const [teams, way, there] = await Promise.all([
    teamsIn(tx, organization, ids),
    isOfGrants ? open : wayIn(tx, organization, caller),
    placed(tx, extent, ids),
  ]);
  return { organization, ...way, teams, users, ...there };
};

export type Look = { readonly extent: Extent; readonly facts: Facts };

/** The facts before a write, and the extent in which they are looked at again after it: members, too, may be gone then. */
export const firstLook = async (tx: Tx, scope: Scope, caller: Caller, seen = wholeSeen): Promise<Look> => {
  const extent = await extentOf(tx, scope, seen);
  const { teams, users } = extent;
  const facts = await factsOf(tx, extent, caller, teams.length > 0 ? membersOf(extent, seen.teams) : undefined);
  const touched = new Set(teams);
  const members = [...facts.users.values()]
    .filter(({ id, teams }) => !users.includes(id) && teams.some(team => touched.has(team)))
    .map(({ id }) => id);
  const all = [...users, ...members];
  const room = Math.min(most - teams.length, Math.floor(mostPairs / Math.max(extent.places.length, 1)));
  const some = all.slice(0, Math.max(room, 0));
  const complete = extent.complete && some.length === all.length;
  return { extent: { ...extent, users: some, complete }, facts };
};

/** Those of the one where they are of these teams, those of the other where they are not. */
const exchanged = <G>(before: ByPlace<G>, after: ByPlace<G>, teams: ReadonlySet<string>): ByPlace<G> =>
  new Map(
    [...new Set([...before.keys(), ...after.keys()])].map(place => [
      place,
      new Map(
        [...(before.get(place) ?? [])].filter(([team]) => !teams.has(team)).concat([...(after.get(place) ?? [])]),
      ),
    ]),
  );

/** The same after it. */
export const secondLook = async (tx: Tx, { extent, facts }: Look, caller: Caller): Promise<Facts> => {
  if (!extent.isOfGrants) return factsOf(tx, extent, caller);
  const { teams } = extent;
  // Where there may be more of them than are told of, the caller's own could be among the rest.
  if (teams.length >= most) return { ...facts, ...(await placed(tx, extent, [...facts.teams.keys()])) };
  const after = await placed(tx, extent, teams);
  const touched = new Set(teams);
  return {
    ...facts,
    places: after.places,
    grants: exchanged(facts.grants, after.grants, touched),
    workspaceGrants: exchanged(facts.workspaceGrants, after.workspaceGrants, touched),
  };
};

/** What a team that has a member who is no owner may manage team access by: on a project, or in the whole organization. */
export type PlainHolding = { readonly project: string | null; readonly team: Team; readonly grant: Grant | undefined };

type PlainColumns = [
  project: string | null,
  team: string,
  name: string,
  visibility: string,
  organizationAccess: number,
  since: string,
  access: Access | null,
  chosen: number | null,
  beyond: number | null,
];

const managesAnywhere = sql`
  (teams.name = ${ownersTeam} or (teams.organization_access & ${meetingOnProjects(managesTeamAccess)}) <> 0)`;

/** What there is of it on these projects; more than anybody has, and complete if it is all. */
export const plainHoldingsOn = async (tx: Tx, organization: string, projects: readonly string[]) => {
  const limit = 10_000;
  const hasPlainMember = sql`exists (
    select 1
    from team_memberships
    join organization_memberships as member on member.id = team_memberships.membership_id
    where team_memberships.team_id = teams.id and member.user_id is not null and not exists (
      select 1
      from team_memberships as owning
      join teams as owners on owners.id = owning.team_id and owners.name = ${ownersTeam}
      where owning.membership_id = member.id
    )
  )`;
  const rows = await tx.rows<PlainColumns>(sql`
    select cast(null as ctext), teams.id, teams.name, teams.visibility, teams.organization_access, teams.created_at,
      cast(null as ctext), cast(null as integer), cast(null as integer)
    from teams
    where teams.organization_id = ${organization} and ${holdsForOrganization} and ${managesAnywhere}
      and ${hasPlainMember}
    union all
    select team_projects.project_id, teams.id, teams.name, teams.visibility, teams.organization_access, teams.created_at,
      team_projects.access, team_projects.chosen, team_projects.beyond
    from team_projects
    join teams on teams.id = team_projects.team_id
    where team_projects.project_id in (${projects}) and ${grantMeets(onProjects, managesTeamAccess)} and ${hasPlainMember}
    order by 1, 2
    limit 10000`);
  const holdings: PlainHolding[] = rows.map(
    ([project, id, name, visibility, organizationAccess, createdAt, access, chosen, beyond]) => ({
      project,
      team: { id, name, visibility, organizationAccess, createdAt, owners: name === ownersTeam },
      grant: grantOf<Level>(access, chosen, beyond),
    }),
  );
  return { holdings, complete: rows.length < limit };
};
