/** Whom and where a write may touch, and how much of that is looked at. */

import { need } from '../core/access.ts';
import { givingOnProjects, type Sight, type Standing, visibleTeams } from '../core/authority.ts';
import type { Reach } from '../core/effect.ts';
import { holdsOnProject, holdsOnWorkspace } from './holdings.ts';
import { type Sql, sql } from './sql.ts';
import { ownersTeam } from './standing.ts';
import type { Tx } from './store.ts';

/** Whose access a write may change, and where. Without anybody, it is the caller's own way in that may change. */
export type Scope = {
  /** Null where it is about no organization: about a user's tokens. */
  readonly organization: string | null;
  /** Teams that gain or lose themselves, and their members with them; `holders` are all that hold anything in the places. */
  readonly teams?: readonly string[] | 'holders';
  /** Users who come into teams or leave them. */
  readonly users?: readonly string[];
  readonly projects?: readonly string[] | 'all';
  readonly workspaces?: readonly string[];
  /** And wherever these teams hold anything; `theirs` are those of the users. */
  readonly through?: readonly string[] | 'theirs';
  /** Only grants change: nobody comes or goes, so that people need not be looked at again. */
  readonly isOfGrants?: boolean;
};

/** What of it is looked at, in all: no write is to take longer the larger the organization. */
export type Extent = Reach & {
  readonly organization: string;
  readonly projects: readonly string[];
  readonly workspaces: readonly string[];
  readonly complete: boolean;
  readonly isOfGrants: boolean;
};

export const most = 1_000;

/** Users times places: it is what the difference costs, while every other change waits. */
export const mostPairs = 200_000;

/** One more than is looked at, so that it is seen where there are more. Bound as a value, SQLite would plan the statement anew each time. */
export const limited = sql`limit 1001`;

const idsOf = async (tx: Tx, statement: Sql): Promise<string[]> =>
  (await tx.rows<[id: string]>(statement)).map(([id]) => id);

export const givesAnything = sql`(teams.name = ${ownersTeam} or (teams.organization_access & ${givingOnProjects}) <> 0)`;

/** The teams that anybody in the view knows of. */
export const seenTeams = (sight: Sight): Sql => {
  if (sight === 'all') return sql`1 = 1`;
  const own = sql`teams.id in (${[...sight.own]})`;
  return sight.listed ? sql`(teams.visibility = 'organization' or ${own})` : own;
};

/** What somebody sees of an organization: its teams, and a word on rows of `projects`, and of `team_workspaces` beside theirs. */
export type Seen = { readonly teams: Sight; readonly projects: Sql; readonly workspaceGrants: Sql };

export const wholeSeen: Seen = { teams: 'all', projects: sql`1 = 1`, workspaceGrants: sql`1 = 1` };

/** By a standing in the organization alone. */
export const seenBy = (standing: Standing): Seen => ({
  teams: visibleTeams(standing),
  projects: holdsOnProject(standing, need('project-access.settings', 'read')),
  // What a team has in the project it has in the workspace: one that is looked at for a hidden grant would tell of it.
  workspaceGrants: sql`
    ${holdsOnWorkspace(standing, need('workspace-access.runs', 'read'))}
    and (
      team_workspaces.team_id in (${standing.teams.map(({ id }) => id)})
      or ${holdsOnWorkspace(standing, need('workspace-access.administration', true))}
    )`,
});

const placesOf = async (tx: Tx, { users = [], through = [], ...scope }: Scope, seen: Seen) => {
  const { organization, projects = [], workspaces = [] } = scope;
  const all = () =>
    idsOf(
      tx,
      sql`
        select id
        from projects
        where organization_id = ${organization} and ${seen.projects}
        order by created_at, id
        ${limited}`,
    );
  const teams =
    through === 'theirs'
      ? await idsOf(
          tx,
          sql`
            select team_memberships.team_id
            from organization_memberships
            join team_memberships on team_memberships.membership_id = organization_memberships.id
            join teams on teams.id = team_memberships.team_id
            where organization_memberships.user_id in (${users})
              and organization_memberships.organization_id = ${organization} and ${seenTeams(seen.teams)}
            order by team_memberships.team_id
            ${limited}`,
        )
      : through;
  if (teams.length === 0) return { projects: projects === 'all' ? await all() : projects, workspaces };
  const everywhere =
    projects === 'all' ||
    (await tx.row(sql`select id from teams where teams.id in (${teams}) and ${givesAnything} limit 1`)) !== undefined;
  const granted = await idsOf(
    tx,
    sql`
      select distinct workspace_id
      from team_workspaces
      join workspaces on workspaces.id = team_workspaces.workspace_id
      join projects on projects.id = workspaces.project_id
      where team_workspaces.team_id in (${teams}) and ${seen.workspaceGrants}
      order by workspace_id
      ${limited}`,
  );
  if (everywhere) return { projects: await all(), workspaces: [...workspaces, ...granted] };
  const grantedProjects = await idsOf(
    tx,
    sql`
      select distinct project_id
      from team_projects
      join projects on projects.id = team_projects.project_id
      where team_id in (${teams}) and ${seen.projects}
      order by project_id
      ${limited}`,
  );
  return { projects: [...projects, ...grantedProjects], workspaces: [...workspaces, ...granted] };
};

const holdersIn = (
  tx: Tx,
  organization: string,
  { projects, workspaces }: Pick<Extent, 'projects' | 'workspaces'>,
  sight: Sight,
): Promise<string[]> =>
  idsOf(
    tx,
    sql`
      select id
      from teams
      where organization_id = ${organization} and (
        (${givesAnything} and ${seenTeams(sight)})
        or id in (select team_id from team_projects where project_id in (${projects}))
        or id in (select team_id from team_workspaces where workspace_id in (${workspaces}))
      )
      order by created_at, id
      ${limited}`,
  );

/** Where and whom a scope is about. */
export const extentOf = async (tx: Tx, scope: Scope, seen: Seen): Promise<Extent> => {
  const { organization, teams: wanted = [], users = [], isOfGrants = false } = scope;
  if (organization === null)
    return {
      organization: '',
      teams: [],
      users: [],
      projects: [],
      workspaces: [],
      places: [],
      complete: true,
      isOfGrants: false,
    };
  const found = await placesOf(tx, scope, seen);
  const projects = [...new Set(found.projects)].slice(0, most);
  const workspaces = [...new Set(found.workspaces)].slice(0, most - projects.length);
  const teams = wanted === 'holders' ? await holdersIn(tx, organization, { projects, workspaces }, seen.teams) : wanted;
  const some = { teams: teams.slice(0, most), users: users.slice(0, most - Math.min(teams.length, most)) };
  const complete =
    new Set([...found.projects, ...found.workspaces]).size === projects.length + workspaces.length &&
    teams.length + users.length === some.teams.length + some.users.length;
  return { organization, ...some, projects, workspaces, places: [...projects, ...workspaces], complete, isOfGrants };
};
