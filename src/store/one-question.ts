/** What it takes to answer one question about one user or one team: one text, which comes with the caller's own standing. */

import type { Access, WorkspaceLevel } from '../core/access.ts';
import type { Holding } from './holdings.ts';
import { type AskedPlace, Facts, keyOf, type Named } from './questions.ts';
import { type Sql, sql } from './sql.ts';
import { grantOf, isDefaultOfGrant, isDefaultProject, ownersTeam } from './standing.ts';

const isDefaultOfWorkspace = isDefaultProject(sql`project_id`, sql`workspaces.organization_id`);

/** Where it is asked, if that is of the organization at hand: `null` columns for what the resource has none of. */
const placeOf = ({ type, id }: Named): Sql => {
  switch (type) {
    case 'project':
      return sql`
        select organization_id, id as project_id, is_default, null as workspace_id, null as team_id, null as visibility
        from projects
        where id = ${id} and organization_id = organizations.id`;
    case 'workspace':
      return sql`
        select organization_id, project_id, ${isDefaultOfWorkspace}, id as workspace_id, null as team_id,
          null as visibility
        from workspaces
        where id = ${id} and organization_id = organizations.id`;
    case 'team-project':
      return sql`
        select team_projects.organization_id, team_projects.project_id, ${isDefaultOfGrant},
          null as workspace_id, teams.id as team_id, teams.visibility
        from team_projects
        join teams on teams.id = team_projects.team_id
        where team_projects.id = ${id} and team_projects.organization_id = organizations.id`;
    default:
      return sql`
        select organizations.id as organization_id, null as project_id, 0 as is_default, null as workspace_id,
          null as team_id, null as visibility`;
  }
};

/** A team and what it has in `place`. A name may hold anything, so its length comes first. */
const packedTeam = sql`
  format('%s %s %s %s %s %s %s %s %s %s %s %s',
    teams.created_at, teams.id, teams.organization_access, teams.visibility,
    team_projects.access, team_projects.chosen, team_projects.id,
    team_workspaces.access, team_workspaces.chosen, team_workspaces.id,
    length(teams.name), teams.name)`;

const grantsInPlace = sql`
  left join team_projects on team_projects.team_id = teams.id and team_projects.project_id = place.project_id
  left join team_workspaces on team_workspaces.team_id = teams.id and team_workspaces.workspace_id = place.workspace_id`;

/** What a team has in `place`, and what the teams of a member have. */
const teamAlone = sql`(select ${packedTeam} from teams ${grantsInPlace} where teams.id = subject.id)`;
const teamsOfMember = sql`(
  select string_agg(${packedTeam}, '')
  from team_memberships
  left join teams on teams.id = team_memberships.team_id
  ${grantsInPlace}
  where team_memberships.membership_id = subject.id
)`;

/** Whether the subject is of the organization, and its teams. */
const subjectIn = ({ type, id }: Named): { readonly teams: Sql; readonly join: Sql } =>
  type === 'team'
    ? {
        teams: teamAlone,
        join: sql`
          left join teams as subject on subject.id = ${id} and subject.organization_id = place.organization_id`,
      }
    : {
        teams: teamsOfMember,
        join: sql`
          left join organization_memberships as subject
            on subject.user_id = ${id} and subject.organization_id = place.organization_id`,
      };

/** All that is to be known of the two in `organizations`, as one text; null where there is no such resource. */
export const packedQuestion = (subject: Named, resource: Named): Sql => {
  const { teams, join } = subjectIn(subject);
  return sql`(
    select format('%s %s %s %s %s %s %s',
      place.project_id, place.is_default, place.workspace_id, place.team_id, place.visibility, subject.id, ${teams})
    from (${placeOf(resource)}) as place
    ${join}
  )`;
};

/** The place after so many characters, as the engines count them. */
const after = (text: string, from: number, characters: number): number => {
  let at = from;
  for (let left = characters; left > 0; left--) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
};

const fieldsBeforeTeams = 6;
const fieldsBeforeName = 11;

/** So many fields from here, and where they end. */
const fieldsIn = (packed: string, from: number, count: number): { readonly fields: string[]; readonly end: number } => {
  const fields: string[] = [];
  let at = from;
  while (fields.length < count) {
    const end = packed.indexOf(' ', at);
    fields.push(packed.slice(at, end));
    at = end + 1;
  }
  return { fields, end: at };
};

/** In the order of their creation: a few are sorted here for less than there. */
const unpackedTeams = (packed: string, from: number): Holding[] => {
  const teams: (Holding & { readonly createdAt: string })[] = [];
  for (let at = from; at < packed.length; ) {
    const { fields, end } = fieldsIn(packed, at, fieldsBeforeName);
    const [createdAt = '', id = '', access, visibility = '', ...granted] = fields;
    const [level, chosen, grantId, onWorkspace, chosenThere, workspaceGrantId, length] = granted;
    at = after(packed, end, Number(length));
    const name = packed.slice(end, at);
    teams.push({
      createdAt,
      id,
      name,
      visibility,
      owners: name === ownersTeam,
      organizationAccess: Number(access),
      grant: level ? grantOf(level as Access, Number(chosen), 0) : undefined,
      grantId: grantId || undefined,
      workspaceGrant: onWorkspace ? grantOf(onWorkspace as Access<WorkspaceLevel>, Number(chosenThere), 0) : undefined,
      workspaceGrantId: workspaceGrantId || undefined,
    });
  }
  return teams.sort((a, b) => (a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.id < b.id) ? -1 : 1));
};

/** What the text tells. */
export const factsOfOne = (organization: string, subject: Named, resource: Named, packed: string | null): Facts => {
  const subjects = new Map<string, readonly Holding[]>();
  const places = new Map<string, AskedPlace>();
  if (packed !== null) {
    const { fields, end } = fieldsIn(packed, 0, fieldsBeforeTeams);
    const [project, isDefault, workspace, team, visibility = '', known] = fields;
    if (known) subjects.set(keyOf(subject), unpackedTeams(packed, end));
    if (project)
      places.set(keyOf(resource), {
        project,
        workspace: workspace || null,
        onDefaultProject: isDefault === '1',
        team: team ? { id: team, visibility } : undefined,
      });
  }
  return new Facts(organization, subjects, places);
};
