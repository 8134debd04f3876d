/** The one query that loads all facts about a caller where a question is asked. */

import type { Access, Grant } from '../core/access.ts';
import type { Caller, Standing } from '../core/authority.ts';
import { type Sql, sql } from './sql.ts';
import type { Row, Tx } from './store.ts';

/** Where a question is asked: one organization, or one project of it. */
export const inOrganization = (id: string): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default
  from organizations
  where id = ${id}`;

export const inOrganizationNamed = (name: string): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default
  from organizations
  where lower(name) = lower(cast(${name} as ctext))`;

export const inOrganizations = (ids: readonly string[]): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default
  from organizations
  where id in (${ids})`;

export const onProject = (id: string): Sql => sql`
  select organization_id, id as project_id, is_default
  from projects
  where id = ${id}`;

/** Wherever the caller may hold anything: its organizations, and the projects on which its teams have grants. */
export const everywhere = (caller: Caller): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default
  from organizations
  where ${belonging(caller)}
  union all
  select organization_id, id as project_id, is_default
  from projects
  where id in (
    select project_id
    from team_projects
    where team_id in (${ownTeams(caller)})
  )`;

/** The ids of the caller's teams, however many. */
export const ownTeams = (caller: Caller): Sql => {
  switch (caller.kind) {
    case 'user':
      return sql`
        select team_memberships.team_id
        from organization_memberships
        join team_memberships on team_memberships.membership_id = organization_memberships.id
        where organization_memberships.user_id = ${caller.user}`;
    case 'team':
      return sql`${caller.team}`;
    case 'organization':
      return sql`null`;
  }
};

/** The organizations that the caller belongs to. */
export const belonging = (caller: Caller): Sql =>
  caller.kind === 'user'
    ? sql`organizations.id in (select organization_id from organization_memberships where user_id = ${caller.user})`
    : sql`organizations.id = ${caller.organization}`;

export const inOrganizationOfMembership = (id: string): Sql => sql`
  select organization_id, null as project_id, 0 as is_default
  from organization_memberships
  where id = ${id}`;

/** A user has all its teams, a team token that team alone; an organization token needs none. */
const teamsOf = (caller: Caller): Sql => {
  switch (caller.kind) {
    case 'user':
      return sql`
        left join organization_memberships as member
          on member.user_id = ${caller.user} and member.organization_id = place.organization_id
        left join team_memberships on team_memberships.membership_id = member.id
        left join teams on teams.id = team_memberships.team_id`;
    case 'team':
      return sql`
        left join teams on teams.id = ${caller.team} and teams.organization_id = place.organization_id
        left join teams as member on member.id = teams.id`;
    case 'organization':
      return sql`
        left join organizations as member on member.id = ${caller.organization} and member.id = place.organization_id
        left join teams on teams.id = ${''}`;
  }
};

type Facts = [
  member: string | null,
  team: string | null,
  name: string,
  organizationAccess: number,
  access: Access | null,
  chosen: number | null,
  beyond: number | null,
  organization: string,
  project: string | null,
  isDefault: number,
  ...place: Row,
];

const factsAbout = (tx: Tx, caller: Caller, places: Sql): Promise<Facts[]> =>
  tx.rows<Facts>(sql`
    select member.id, teams.id, teams.name, teams.organization_access,
      team_projects.access, team_projects.chosen, team_projects.beyond, place.*
    from (${places}) as place
    ${teamsOf(caller)}
    left join team_projects on team_projects.team_id = teams.id and team_projects.project_id = place.project_id`);

export const ownersTeam = 'owners';

const standingOf = (caller: Caller, facts: readonly [Facts, ...Facts[]]): Standing => {
  const [[member, , , , , , , organization, project, isDefault]] = facts;
  return {
    organization,
    project,
    onDefaultProject: isDefault === 1,
    member: member !== null,
    organizationToken: caller.kind === 'organization' && member !== null,
    teams: facts.flatMap(([, team, name, organizationAccess, access, chosen, beyond]) =>
      team === null
        ? []
        : [{ id: team, owners: name === ownersTeam, organizationAccess, grant: grantOf(access, chosen, beyond) }],
    ),
  };
};

const isSome = <T>(list: readonly T[]): list is readonly [T, ...T[]] => list.length > 0;

/** Undefined where there is no such place. */
export const standing = async (tx: Tx, caller: Caller, place: Sql): Promise<Standing | undefined> => {
  const facts = await factsAbout(tx, caller, place);
  return isSome(facts) ? standingOf(caller, facts) : undefined;
};

/** The caller's standing in each of several places. */
export const standings = async (tx: Tx, caller: Caller, places: Sql): Promise<Standing[]> => {
  const facts = await factsAbout(tx, caller, places);
  const byPlace = Map.groupBy(facts, ([, , , , , , , organization, project]) => `${organization} ${project}`);
  return [...byPlace.values()].map(here => standingOf(caller, here as [Facts, ...Facts[]]));
};

/** The caller's standing where a team is in question, and the team. */
export const standingAtTeam = async (tx: Tx, caller: Caller, id: string) => {
  const facts = await factsAbout(
    tx,
    caller,
    sql`
      select organization_id, null as project_id, 0 as is_default, name, visibility, allow_member_token_management
      from teams
      where id = ${id}`,
  );
  if (!isSome(facts)) return undefined;
  const [, , , , , , , , , , ...place] = facts[0];
  const [name, visibility, memberTokens] = place as [string, string, number];
  const team = { id, visibility, owners: name === ownersTeam, memberTokens: memberTokens === 1 };
  return { stand: standingOf(caller, facts), team };
};

export const columnsOf = (grant: Grant) =>
  grant.access === 'custom' ? { chosen: grant.chosen, beyond: grant.beyond } : { chosen: null, beyond: null };

/** A grant as its three columns hold it. */
export const grantOf = (access: Access | null, chosen: number | null, beyond: number | null): Grant | undefined => {
  if (access === null) return undefined;
  return access === 'custom' ? { access, chosen: chosen ?? 0, beyond: beyond ?? 0 } : { access };
};
