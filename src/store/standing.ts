/** The one query that loads all facts about a caller where a question is asked. */

import type { Access, Grant } from '../core/access.ts';
import type { Standing } from '../core/authority.ts';
import { type Sql, sql } from './sql.ts';
import type { Tx } from './store.ts';

export type Caller = { readonly token: string } & (
  | { readonly kind: 'user'; readonly user: string; readonly admin: boolean }
  | { readonly kind: 'team'; readonly team: string; readonly organization: string }
  | { readonly kind: 'organization'; readonly organization: string }
);

/** Where a question is asked: one organization, or one project of it. */
export const inOrganization = (id: string): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default
  from organizations
  where id = ${id}`;

export const inOrganizationNamed = (name: string): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default
  from organizations
  where lower(name) = lower(${name})`;

export const onProject = (id: string): Sql => sql`
  select organization_id, id as project_id, is_default
  from projects
  where id = ${id}`;

export const inOrganizationOfTeam = (id: string): Sql => sql`
  select organization_id, null as project_id, 0 as is_default
  from teams
  where id = ${id}`;

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
        left join teams on 1 = 0`;
  }
};

type Facts = [
  organization: string,
  project: string | null,
  isDefault: number,
  member: string | null,
  team: string | null,
  name: string,
  organizationAccess: number,
  access: Access | null,
  chosen: number | null,
  beyond: number | null,
];

export const ownersTeam = 'owners';

/** The caller's standing in every place that a select gives. */
export const standings = async (tx: Tx, caller: Caller, places: Sql): Promise<Standing[]> => {
  const rows = await tx.rows<Facts>(sql`
    select place.organization_id, place.project_id, place.is_default, member.id,
      teams.id, teams.name, teams.organization_access,
      team_projects.access, team_projects.chosen, team_projects.beyond
    from (${places}) as place
    ${teamsOf(caller)}
    left join team_projects on team_projects.team_id = teams.id and team_projects.project_id = place.project_id`);
  return Object.values(Object.groupBy(rows, ([organization, project]) => `${organization} ${project}`)).map(facts =>
    standingOf(caller, facts as [Facts, ...Facts[]]),
  );
};

/** Undefined where there is no such place. */
export const standing = async (tx: Tx, caller: Caller, place: Sql): Promise<Standing | undefined> =>
  (await standings(tx, caller, place))[0];

const standingOf = (caller: Caller, facts: [Facts, ...Facts[]]): Standing => {
  const [[organization, project, isDefault, member]] = facts;
  return {
    organization,
    project,
    onDefaultProject: isDefault === 1,
    member: member !== null,
    organizationToken: caller.kind === 'organization' && member !== null,
    teams: facts.flatMap(([, , , , team, name, organizationAccess, access, chosen, beyond]) =>
      team === null
        ? []
        : [{ id: team, owners: name === ownersTeam, organizationAccess, grant: grantOf(access, chosen, beyond) }],
    ),
  };
};

/** A grant as its three columns hold it. */
export const grantOf = (access: Access | null, chosen: number | null, beyond: number | null): Grant | undefined => {
  if (access === null) return undefined;
  return access === 'custom' ? { access, chosen: chosen ?? 0, beyond: beyond ?? 0 } : { access };
};
