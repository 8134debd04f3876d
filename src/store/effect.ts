/** The facts that a write may touch, as they are at one time: whom, where, and what they hold there. */

import type { Access, Grant, Level, WorkspaceGrant, WorkspaceLevel } from '../core/access.ts';
import type { Caller, Sight } from '../core/authority.ts';
import type { ByPlace, Facts, People, Place, Team, User } from '../core/effect.ts';
import {
  type Extent,
  extentOf,
  givesAnything,
  limited,
  most,
  mostPairs,
  type Scope,
  seenTeams,
  wholeSeen,
} from './effect-scope.ts';
import { type Sql, sql } from './sql.ts';
import { grantOf, ownersTeam } from './standing.ts';
import type { Tx } from './store.ts';

type PeopleColumns = [
  user: string | null,
  team: string | null,
  name: string,
  since: string,
  /** Of a user, the ids of its teams; of a team, its visibility. */
  more: string | null,
  organizationAccess: number,
];

/** The members of these teams, as memberships. */
const membersOf = ({ organization, teams }: Extent, sight: Sight): Sql => sql`
  select id, user_id
  from (
    select member.id, member.user_id, member.created_at
    from teams
    join team_memberships on team_memberships.team_id = teams.id
    join organization_memberships as member on member.id = team_memberships.membership_id
    where teams.id in (${teams}) and teams.organization_id = ${organization} and ${seenTeams(sight)}
      and member.user_id is not null
    group by member.id, member.user_id, member.created_at
    order by member.created_at, member.id
    ${limited}
  ) as page`;

/** The caller, the teams, and the users with all their teams; the first row is of the way in. */
const peopleIn = (tx: Tx, extent: Extent, caller: Caller, besides?: Sql): Promise<PeopleColumns[]> => {
  const { organization } = extent;
  const teams = caller.kind === 'team' ? [...extent.teams, caller.team] : extent.teams;
  const users = caller.kind === 'user' ? [...extent.users, caller.user] : extent.users;
  return tx.rows<PeopleColumns>(sql`
    with visible as (
      select id, user_id
      from organization_memberships
      where user_id in (${users}) and organization_id = ${organization}
      ${besides ? sql`union ${besides}` : sql``}
    )
    select cast(null as ctext), cast(null as ctext), cast(null as ctext), cast(null as ctext), cast(null as ctext),
      (select count(*) from organizations where id = ${organization})
      + 2 * (select count(*) from organizations where id = ${organization} and user_tokens_enabled = 1)
      + 4 * (select count(*) from authentication_tokens where id = ${caller.token})
    union all
    select null, id, name, created_at, visibility, organization_access
    from teams
    where organization_id = ${organization} and id in (
      select team_id
      from visible
      join team_memberships on team_memberships.membership_id = visible.id
      union
      select id from teams where id in (${teams})
    )
    union all
    select users.id, null, users.username, users.created_at,
      (
        select string_agg(team_id, ',')
        from team_memberships
        where team_memberships.membership_id = visible.id
      ),
      0
    from visible
    join users on users.id = visible.user_id
    order by 1, 2`);
};

type PlaceColumns = [
  project: string,
  name: string,
  isDefault: number,
  since: string,
  workspace: string | null,
  workspaceName: string,
  workspaceSince: string,
  team: string | null,
  access: Access | Access<WorkspaceLevel> | null,
  chosen: number | null,
  beyond: number | null,
];

/** The places, and what these teams are granted there; a workspace's project comes with it. */
const placesWith = async (
  tx: Tx,
  { projects, workspaces }: Extent,
  teams: readonly string[],
): Promise<PlaceColumns[]> => {
  if (projects.length + workspaces.length === 0) return [];
  const theirs = sql`union select project_id from workspaces where id in (${workspaces})`;
  const onWorkspaces = sql`
    union all
    select projects.id, projects.name, projects.is_default, projects.created_at,
      workspaces.id, workspaces.name, workspaces.created_at,
      team_workspaces.team_id, team_workspaces.access, team_workspaces.chosen, team_workspaces.beyond
    from workspaces
    join projects on projects.id = workspaces.project_id
    left join team_workspaces
      on team_workspaces.workspace_id = workspaces.id and team_workspaces.team_id in (${teams})
    where workspaces.id in (${workspaces})`;
  return tx.rows<PlaceColumns>(sql`
    select projects.id, projects.name, projects.is_default, projects.created_at,
      cast(null as ctext), cast(null as ctext), cast(null as ctext),
      team_projects.team_id, team_projects.access, team_projects.chosen, team_projects.beyond
    from projects
    left join team_projects on team_projects.project_id = projects.id and team_projects.team_id in (${teams})
    where projects.id in (
      select id from projects where id in (${projects}) ${workspaces.length > 0 ? theirs : sql``}
    )
    ${workspaces.length > 0 ? onWorkspaces : sql``}
    order by 1, 5, 8`);
};

const peopleOf = async (tx: Tx, extent: Extent, caller: Caller, besides?: Sql): Promise<People> => {
  const teams = new Map<string, Team>();
  const users = new Map<string, User>();
  let wayIn = 0;
  for (const row of await peopleIn(tx, extent, caller, besides)) {
    const [user, team, name, createdAt, more, organizationAccess] = row;
    if (user !== null) users.set(user, { id: user, name, createdAt, teams: more?.split(',').sort() ?? [] });
    else if (team === null) wayIn = organizationAccess;
    else {
      const owners = name === ownersTeam;
      teams.set(team, { id: team, name, createdAt, owners, visibility: more ?? '', organizationAccess });
    }
  }
  return {
    organization: extent.organization,
    exists: (wayIn & 1) !== 0,
    takesUserTokens: (wayIn & 2) !== 0,
    tokenLives: (wayIn & 4) !== 0,
    teams,
    users,
  };
};

const grant = <G>(all: Map<string, Map<string, G>>, place: string, team: string, given: G | undefined): void => {
  if (given !== undefined) all.set(place, (all.get(place) ?? new Map()).set(team, given));
};

/** The facts about these people now; of grants, those of these teams. */
const factsOf = async (
  tx: Tx,
  extent: Extent,
  people: People,
  teams: readonly string[] = [...people.teams.keys()],
): Promise<Facts> => {
  const places = new Map<string, Place>();
  const grants = new Map<string, Map<string, Grant>>();
  const workspaceGrants = new Map<string, Map<string, WorkspaceGrant>>();
  for (const [
    id,
    name,
    isDefault,
    createdAt,
    workspace,
    workspaceName,
    workspaceSince,
    team,
    ...columns
  ] of await placesWith(tx, extent, teams)) {
    const [access, chosen, beyond] = columns;
    const project = { project: { id, name, createdAt }, onDefaultProject: isDefault === 1 };
    if (workspace === null) places.set(id, project);
    else
      places.set(workspace, {
        ...project,
        workspace: { id: workspace, name: workspaceName, createdAt: workspaceSince },
      });
    if (team === null) continue;
    if (workspace === null) grant(grants, id, team, grantOf<Level>(access as Access, chosen, beyond));
    else {
      const level = access as Access<WorkspaceLevel>;
      grant(workspaceGrants, workspace, team, grantOf<WorkspaceLevel>(level, chosen, beyond));
    }
  }
  return { ...people, places, grants, workspaceGrants };
};

export type Look = { readonly extent: Extent; readonly facts: Facts };

/** The facts before a write, and the extent in which they are looked at again after it: members, too, may be gone then. */
export const firstLook = async (tx: Tx, scope: Scope, caller: Caller, seen = wholeSeen): Promise<Look> => {
  const extent = await extentOf(tx, scope, seen);
  const { teams, users } = extent;
  const people = await peopleOf(tx, extent, caller, teams.length > 0 ? membersOf(extent, seen.teams) : undefined);
  const touched = new Set(teams);
  const members = [...people.users.values()]
    .filter(({ id, teams }) => !users.includes(id) && teams.some(team => touched.has(team)))
    .map(({ id }) => id);
  const all = [...users, ...members];
  const room = Math.min(most - teams.length, Math.floor(mostPairs / Math.max(extent.places.length, 1)));
  const some = all.slice(0, Math.max(room, 0));
  const complete = extent.complete && some.length === all.length;
  return { extent: { ...extent, users: some, complete }, facts: await factsOf(tx, extent, people) };
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
  if (!extent.isOfGrants) return factsOf(tx, extent, await peopleOf(tx, extent, caller));
  const { teams } = extent;
  // Where there may be more of them than are told of, the caller's own could be among the rest.
  if (teams.length >= most) return factsOf(tx, extent, facts);
  const after = await factsOf(tx, extent, facts, teams);
  const touched = new Set(teams);
  return {
    ...after,
    grants: exchanged(facts.grants, after.grants, touched),
    workspaceGrants: exchanged(facts.workspaceGrants, after.workspaceGrants, touched),
  };
};

/** What a team that has a member who is no owner holds on a project, or in the whole organization. */
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
    where teams.organization_id = ${organization} and ${givesAnything} and ${hasPlainMember}
    union all
    select team_projects.project_id, teams.id, teams.name, teams.visibility, teams.organization_access, teams.created_at,
      team_projects.access, team_projects.chosen, team_projects.beyond
    from team_projects
    join teams on teams.id = team_projects.team_id
    where team_projects.project_id in (${projects}) and ${hasPlainMember}
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
