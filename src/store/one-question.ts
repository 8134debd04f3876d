/** What it takes to answer one question about one user or one team: all of it in one statement, and so of one state. */

import type { Access, WorkspaceLevel } from '../core/access.ts';
import type { Holding } from './holdings.ts';
import { type AskedPlace, Facts, keyOf, type Named } from './questions.ts';
import { type Sql, sql } from './sql.ts';
import { grantOf, isDefaultProject, ownersTeam } from './standing.ts';
import type { Tx } from './store.ts';

/** Where it is asked: `null` columns for what the resource has none of. */
const placeOf = ({ type, id }: Named, organization: string): Sql => {
  switch (type) {
    case 'project':
      return sql`
        select organization_id, id as project_id, is_default, null as workspace_id, null as team_id, null as visibility
        from projects
        where id = ${id} and organization_id = ${organization}`;
    case 'workspace':
      return sql`
        select organization_id, project_id, ${isDefaultProject(sql`project_id`, sql`workspaces.organization_id`)},
          id as workspace_id, null as team_id, null as visibility
        from workspaces
        where id = ${id} and organization_id = ${organization}`;
    case 'team-project':
      return sql`
        select team_projects.organization_id, team_projects.project_id,
          ${isDefaultProject(sql`team_projects.project_id`, sql`team_projects.organization_id`)},
          null as workspace_id, teams.id as team_id, teams.visibility
        from team_projects
        join teams on teams.id = team_projects.team_id
        where team_projects.id = ${id} and team_projects.organization_id = ${organization}`;
    default:
      return sql`
        select id as organization_id, null as project_id, 0 as is_default, null as workspace_id, null as team_id,
          null as visibility
        from organizations
        where id = ${organization}`;
  }
};

/** A team and what it has in `place`. A name may hold anything, so its length comes first. */
const packedTeam = sql`
  teams.id || ' ' || teams.organization_access || ' ' || teams.visibility
    || ' ' || coalesce(team_projects.access, '') || ' ' || coalesce(team_projects.chosen, 0)
    || ' ' || coalesce(team_projects.id, '')
    || ' ' || coalesce(team_workspaces.access, '') || ' ' || coalesce(team_workspaces.chosen, 0)
    || ' ' || coalesce(team_workspaces.id, '')
    || ' ' || length(teams.name) || ' ' || teams.name`;

const grantsInPlace = sql`
  left join team_projects on team_projects.team_id = teams.id and team_projects.project_id = place.project_id
  left join team_workspaces on team_workspaces.team_id = teams.id and team_workspaces.workspace_id = place.workspace_id`;

/** Whether the subject is of the organization, and its teams in the order of their creation. */
const subjectIn = ({ type, id }: Named): { readonly columns: Sql; readonly join: Sql } =>
  type === 'team'
    ? {
        columns: sql`subject.id, (select ${packedTeam} from teams ${grantsInPlace} where teams.id = subject.id)`,
        join: sql`
          left join teams as subject on subject.id = ${id} and subject.organization_id = place.organization_id`,
      }
    : {
        columns: sql`
          member.id, (
            select string_agg(${packedTeam}, '' order by teams.created_at, teams.id)
            from team_memberships
            left join teams on teams.id = team_memberships.team_id
            ${grantsInPlace}
            where team_memberships.membership_id = member.id
          )`,
        join: sql`
          left join organization_memberships as member
            on member.user_id = ${id} and member.organization_id = place.organization_id`,
      };

type Columns = [
  subject: string | null,
  teams: string | null,
  revision: number | null,
  organization: string,
  project: string | null,
  isDefault: number,
  workspace: string | null,
  team: string | null,
  visibility: string | null,
];

/** The place after so many characters, as the engines count them. */
const after = (text: string, from: number, characters: number): number => {
  let at = from;
  for (let left = characters; left > 0; left--) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
};

const fieldsBeforeName = 10;

const unpackedTeams = (packed: string): Holding[] => {
  const teams: Holding[] = [];
  for (let at = 0; at < packed.length; ) {
    const fields: string[] = [];
    while (fields.length < fieldsBeforeName) {
      const end = packed.indexOf(' ', at);
      fields.push(packed.slice(at, end));
      at = end + 1;
    }
    const [
      id = '',
      access,
      visibility = '',
      level,
      chosen,
      grantId,
      onWorkspace,
      chosenThere,
      workspaceGrantId,
      length,
    ] = fields;
    const end = after(packed, at, Number(length));
    const name = packed.slice(at, end);
    at = end;
    teams.push({
      id,
      name,
      visibility,
      owners: name === ownersTeam,
      organizationAccess: Number(access),
      ...(level && { grant: grantOf(level as Access, Number(chosen), 0), grantId }),
      ...(onWorkspace && {
        workspaceGrant: grantOf(onWorkspace as Access<WorkspaceLevel>, Number(chosenThere), 0),
        workspaceGrantId,
      }),
    });
  }
  return teams;
};

/** What is known of the two, and how far the organization's audit trail is. */
export const factsOfOne = async (
  tx: Tx,
  organization: string,
  subject: Named,
  resource: Named,
): Promise<{ readonly facts: Facts; readonly revision: number | undefined }> => {
  const { columns, join } = subjectIn(subject);
  const row = await tx.row<Columns>(sql`
    select ${columns}, (select position from audit_heads where chain = place.organization_id), place.*
    from (${placeOf(resource, organization)}) as place
    ${join}`);
  if (!row) return { facts: new Facts(organization, new Map(), new Map()), revision: undefined };
  const [known, packed, revision, , project, isDefault, workspace, team, visibility] = row;
  const teams = known === null ? [] : ([[keyOf(subject), unpackedTeams(packed ?? '')]] as const);
  const place: AskedPlace = {
    project: project ?? '',
    workspace,
    onDefaultProject: isDefault === 1,
    team: team === null ? undefined : { id: team, visibility: visibility ?? '' },
  };
  return {
    facts: new Facts(organization, new Map(teams), new Map(project === null ? [] : [[keyOf(resource), place]])),
    revision: revision ?? 0,
  };
};
