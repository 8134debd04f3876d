/** What teams, and users through them, hold in places: the questions that are about others than the caller. */

import {
  everything,
  type Kind,
  type Level,
  meets,
  type Need,
  need,
  nothing,
  onProjects,
  onWorkspaces,
  type Permissions,
  partOf,
  type WorkspaceLevel,
} from '../core/access.ts';
import { actingIn, heldBy, type Standing, type TeamFacts, type TeamOnView } from '../core/authority.ts';
import type { Listing, Page } from '../wire/paging.ts';
import { pageOf } from './paging.ts';
import { type Sql, sql } from './sql.ts';
import {
  grantOf,
  holdsForOrganization,
  ownersTeam,
  packedGrantWithId,
  type TeamGrant,
  unpackedGrants,
} from './standing.ts';
import type { Row, Tx } from './store.ts';

/** A team, and what it holds in the place in question. */
export type Holding = TeamFacts & TeamOnView & { readonly name: string };

/** Whoever holds something: by teams, or as the organization itself. */
export type Holder = { readonly organizationToken: boolean; readonly teams: readonly TeamFacts[] };

export type Subject = {
  readonly type: 'users' | 'teams' | 'organizations';
  readonly id: string;
  readonly name: string;
  readonly organizationToken: boolean;
  readonly teams: readonly Holding[];
};

export type Named = { readonly id: string; readonly name: string };

export type Place = {
  readonly project: Named;
  readonly onDefaultProject: boolean;
  readonly workspace?: Named | undefined;
};

/** Every one of these must be met, by whichever teams. */
export type Needs = readonly Need[];

/** Anything at all, on a project or on a workspace. */
export const anything = { projects: everything, workspaces: partOf(everything, 'workspace-access') };

const always = sql`1 = 1`;

const all = (conditions: readonly Sql[]): Sql => conditions.reduce((all, next) => sql`${all} and ${next}`, always);

// In one place: who holds something there

export type HoldingColumns = [
  id: string,
  name: string,
  visibility: string,
  organizationAccess: number,
  grantId: string | null,
  access: Level | 'custom' | null,
  chosen: number | null,
  beyond: number | null,
  workspaceGrantId: string | null,
  workspaceAccess: WorkspaceLevel | 'custom' | null,
  workspaceChosen: number | null,
  workspaceBeyond: number | null,
];

export const holdingFrom = (row: HoldingColumns): Holding => {
  const [id, name, visibility, organizationAccess, grantId, access, chosen, beyond, ...onWorkspace] = row;
  const [workspaceGrantId, workspaceAccess, workspaceChosen, workspaceBeyond] = onWorkspace;
  return {
    id,
    name,
    visibility,
    owners: name === ownersTeam,
    organizationAccess,
    grant: grantOf<Level>(access, chosen, beyond),
    grantId: grantId ?? undefined,
    workspaceGrant: grantOf<WorkspaceLevel>(workspaceAccess, workspaceChosen, workspaceBeyond),
    workspaceGrantId: workspaceGrantId ?? undefined,
  };
};

/** The ids of the teams that may hold something in a place, by the organization or by a grant: some of them twice. */
export const teamsHolding = (organization: string, project: Sql, workspace: Sql): Sql => sql`
  select teams.id
  from teams
  where teams.organization_id = ${organization} and ${holdsForOrganization}
  union all
  select team_id
  from team_projects
  where project_id = ${project}
  union all
  select team_id
  from team_workspaces
  where workspace_id = ${workspace}`;

/** Every team of the organization that may hold something here, whoever sees it, in the order of creation. */
export const holdingsAt = async (
  tx: Tx,
  { organization, project, workspace }: Pick<Standing, 'organization' | 'project' | 'workspace'>,
): Promise<Holding[]> => {
  const rows = await tx.rows<HoldingColumns>(sql`
    select teams.id, teams.name, teams.visibility, teams.organization_access,
      team_projects.id, team_projects.access, team_projects.chosen, team_projects.beyond,
      team_workspaces.id, team_workspaces.access, team_workspaces.chosen, team_workspaces.beyond
    from teams
    left join team_projects on team_projects.team_id = teams.id and team_projects.project_id = ${project}
    left join team_workspaces on team_workspaces.team_id = teams.id and team_workspaces.workspace_id = ${workspace}
    where teams.id in (${teamsHolding(organization, sql`${project}`, sql`${workspace}`)})
    order by teams.created_at, teams.id`);
  return rows.map(holdingFrom);
};

/** Users who are members of an organization, those with an invitation left out, and for each of these lists in one of its teams. */
export const membersOf = async (
  tx: Tx,
  organization: string,
  [first = [], ...others]: readonly (readonly string[])[],
  page: Page,
): Promise<Listing<Named & { readonly teams: ReadonlySet<string> }>> => {
  const inTeams = (teams: readonly string[]): Sql => sql`
    select membership_id
    from team_memberships
    where team_id in (${teams})`;
  const conditions = others.map(teams => sql`membership_id in (${inTeams(teams)})`);
  const rows = await pageOf<[user: string, createdAt: string, id: string, name: string, teams: string | null]>(
    tx,
    sql`
      select user_id, created_at, id
      from organization_memberships
      where organization_id = ${organization} and id in (select membership_id from holders)`,
    page,
    undefined,
    {
      given: sql`holders as materialized (
        ${inTeams(first)} and ${all(conditions)} and membership_id not in (
          select id
          from organization_memberships
          where user_id is null and organization_id = ${organization}
        )
        group by membership_id
      )`,
      counted: sql`select 1 from holders`,
      columns: [
        sql`(select username from users where users.id = page.user_id)`,
        sql`(select string_agg(team_id, ',') from team_memberships where membership_id = page.id)`,
      ],
    },
  );
  const items = rows.items.map(([id, , , name, teams]) => ({ id, name, teams: new Set(teams?.split(',')) }));
  return { items, total: rows.total };
};

export type MemberHolding = Named & { readonly teams: readonly Holding[] };

/** The members of the organization whose teams, of these, meet every need here; each with those of the teams it is in. */
export const usersHolding = async (
  tx: Tx,
  organization: string,
  teams: readonly Holding[],
  onDefaultProject: boolean,
  needs: Needs,
  page: Page,
): Promise<Listing<MemberHolding>> => {
  const giving = teams.map(team => ({ id: team.id, gives: heldBy(team, onDefaultProject) }));
  const meeting = needs.map(need => giving.filter(({ gives }) => meets(gives, need)).map(({ id }) => id));
  const { items, total } = await membersOf(tx, organization, meeting, page);
  return { items: items.map(each => ({ ...each, teams: teams.filter(({ id }) => each.teams.has(id)) })), total };
};

// Of one subject: where it holds something

/** Undefined where there is no such member of the organization, or no such team of it. */
export const subjectIn = async (
  tx: Tx,
  organization: string,
  { type, id }: { readonly type: 'users' | 'teams'; readonly id: string },
): Promise<Subject | undefined> => {
  const rows = await tx.rows<[name: string, ...team: HoldingColumns]>(
    type === 'teams'
      ? sql`
        select name, id, name, visibility, organization_access
        from teams
        where id = ${id} and organization_id = ${organization}
        order by id`
      : sql`
        select users.username, teams.id, teams.name, teams.visibility, teams.organization_access
        from organization_memberships
        join users on users.id = organization_memberships.user_id
        left join team_memberships on team_memberships.membership_id = organization_memberships.id
        left join teams on teams.id = team_memberships.team_id
        where organization_memberships.user_id = ${id} and organization_memberships.organization_id = ${organization}
        order by teams.created_at, teams.id`,
  );
  const [first] = rows;
  if (!first) return undefined;
  const teams = rows.flatMap(([, ...[team, name, visibility, access]]) =>
    team === null
      ? []
      : [holdingFrom([team, name, visibility, access, null, null, null, null, null, null, null, null])],
  );
  return { type, id, name: first[0], organizationToken: false, teams };
};

/** What these hold in every place of the organization. */
const throughout = (teams: readonly TeamFacts[], onDefaultProject: boolean): Permissions =>
  teams.reduce((set, team) => set | heldBy(team, onDefaultProject), nothing);

/** Teams whose grants count where the condition holds, which is said of the rows of the place. */
type Counted = { readonly teams: readonly TeamFacts[]; readonly where: Sql };

/** Where grants that count are found, by place, and with as much of each as acts. */
type Grants = { readonly onProjects: Sql; readonly onWorkspaces: Sql };

/** One select for each kind of team, so that each finds its rows by an index. */
const grantsIn = (table: Sql, place: Sql, places: Sql, counted: readonly Counted[]): Sql => {
  const of = (teams: readonly TeamFacts[], acting: Permissions, where: Sql): Sql => sql`
    select ${place} as place_id, access, chosen & ${acting} as chosen
    from ${table}
    ${where === always ? sql`` : places}
    where team_id in (${teams.map(({ id }) => id)}) and ${where}`;
  const [first = of([], nothing, always), ...rest] = counted.flatMap(({ teams, where }) =>
    [...Map.groupBy(teams, actingIn)].map(([acting, teams]) => of(teams, acting, where)),
  );
  return rest.reduce((all, next) => sql`${all} union all ${next}`, first);
};

const grantsCounted = (onProjects: readonly Counted[], onWorkspaces = onProjects): Grants => ({
  onProjects: grantsIn(
    sql`team_projects`,
    sql`project_id`,
    sql`join projects on projects.id = team_projects.project_id`,
    onProjects,
  ),
  onWorkspaces: grantsIn(
    sql`team_workspaces`,
    sql`workspace_id`,
    sql`
      join workspaces on workspaces.id = team_workspaces.workspace_id
      join projects on projects.id = workspaces.project_id`,
    onWorkspaces,
  ),
});

/** Said of a row of grants: it meets the need. */
export const grantMeets = <L extends string>({ levels, impliedBy }: Kind<L>, need: Need): Sql =>
  sql`(access in (${levels.filter(level => meets(impliedBy(level), need))}) or (chosen & ${need}) <> 0)`;

/** The places of the grants that meet the need. */
const meetingBy = <L extends string>(kind: Kind<L>, grants: Sql, need: Need): Sql => sql`
  select place_id
  from (${grants}) as grants
  where ${grantMeets(kind, need)}`;

/** Said of a row of `projects`: there, the holder meets the need, everywhere or by a grant. */
const everywhereOr = (byGrant: Sql, { organizationToken, teams }: Holder, need: Need): Sql => {
  if (organizationToken || meets(throughout(teams, false), need)) return always;
  return meets(throughout(teams, true), need) ? sql`(projects.is_default = 1 or ${byGrant})` : byGrant;
};

/** The same by these grants. */
const projectMeets = (holder: Holder, need: Need, grants: Grants): Sql =>
  everywhereOr(sql`projects.id in (${meetingBy(onProjects, grants.onProjects, need)})`, holder, need);

/** The teams of a holder, for a `with`. */
export const ownIn = ({ teams }: Holder): Sql => sql`own as materialized (
  select id as own_id
  from teams
  where id in (${teams.map(({ id }) => id)})
)`;

/** The grants of those teams on a project: what few teams have on few projects is looked up one by one. */
export const ownGrantsOn = (project: Sql): Sql => sql`
  from own
  cross join team_projects
  where team_projects.team_id = own.own_id and team_projects.project_id = ${project}`;

/** Said of a row of `projects`, one of few: there, the holder, whose teams are `own`, has this of team access. */
export const holdsOfTeamAccess = (holder: Holder, level: 'read' | 'manage'): Sql => {
  const least = need('project-access.teams', level);
  const byGrant = sql`exists (select 1 ${ownGrantsOn(sql`projects.id`)} and ${grantMeets(onProjects, least)})`;
  return everywhereOr(byGrant, holder, least);
};

/** The same of a row of `workspaces` and of the row of its project. */
const workspaceMeets = (holder: Holder, need: Need, grants: Grants): Sql => {
  const onProject = projectMeets(holder, need, grants);
  return onProject === always
    ? always
    : sql`(${onProject} or workspaces.id in (${meetingBy(onWorkspaces, grants.onWorkspaces, need)}))`;
};

/** Whoever asks sees what its own standing lets it see; a decision is made by all that there is. */
export type Asker = Standing | 'all';

const grantsOf = ({ teams }: Holder): Grants => grantsCounted([{ teams, where: always }]);

/** Said of a row of `projects`: there, the holder meets the need by all that it has. */
export const holdsOnProject = (holder: Holder, need: Need): Sql => projectMeets(holder, need, grantsOf(holder));

/** The same of a row of `workspaces` and of the row of its project. */
export const holdsOnWorkspace = (holder: Holder, need: Need): Sql => workspaceMeets(holder, need, grantsOf(holder));

/** What `visibleTeamAccess` and `visibleWorkspaceAccess` say in one place, said of every place at once. */
const grantsSeen = (asker: Asker, teams: readonly Holding[]): Grants => {
  if (asker === 'all') return grantsCounted([{ teams, where: always }]);
  const {
    own = [],
    listed = [],
    secret = [],
  } = Object.groupBy(teams, ({ id, visibility }) => {
    if (asker.teams.some(team => team.id === id)) return 'own';
    return visibility === 'organization' ? 'listed' : 'secret';
  });
  const ours = { teams: own, where: always };
  const grants = grantsOf(asker);
  const [reads, manages, administers] = [
    projectMeets(asker, need('project-access.teams', 'read'), grants),
    projectMeets(asker, need('project-access.teams', 'manage'), grants),
    workspaceMeets(asker, need('workspace-access.administration', true), grants),
  ];
  return grantsCounted(
    [ours, { teams: listed, where: reads }, { teams: secret, where: manages }],
    [ours, { teams: [...listed, ...secret], where: administers }],
  );
};

/** A place, what the subject's teams hold there, and the standing of whoever asks. */
export type PlaceHeld = Place & { readonly teams: readonly Holding[]; readonly asker: Asker };

type PlaceColumns = [
  id: string,
  name: string,
  createdAt: string,
  isDefault: number,
  project: string,
  projectName: string,
  grants: string | null,
  workspaceGrants: string | null,
];

/** What is granted in one place, by team: read once, however many are asked about. */
export type GrantsHere = {
  readonly onProject: ReadonlyMap<string, TeamGrant>;
  readonly onWorkspace: ReadonlyMap<string, TeamGrant<WorkspaceLevel>>;
};

export const grantsHere = (grants: string | null, workspaceGrants: string | null): GrantsHere => ({
  onProject: new Map(unpackedGrants(grants).map(each => [each.team, each])),
  onWorkspace: new Map(unpackedGrants<WorkspaceLevel>(workspaceGrants).map(each => [each.team, each])),
});

export const withGrants = <T extends TeamFacts>(teams: readonly T[], { onProject, onWorkspace }: GrantsHere): T[] =>
  teams.map(team => ({
    ...team,
    grant: onProject.get(team.id)?.grant,
    grantId: onProject.get(team.id)?.id,
    workspaceGrant: onWorkspace.get(team.id)?.grant,
    workspaceGrantId: onWorkspace.get(team.id)?.id,
  }));

export type PlacesAsked = {
  readonly asker: Asker;
  readonly organization: string;
  readonly subject: Subject;
  readonly kind: 'projects' | 'workspaces';
  readonly needs: Needs;
  readonly page: Page;
  /** What narrows the rows of `projects`, and of `workspaces` where they are asked for. */
  readonly which?: Sql;
};

/** The projects or workspaces of the organization that the asker reads and on which the subject meets every need. */
export const placesHeld = async (
  tx: Tx,
  { asker, organization, subject, kind, needs, page, which = always }: PlacesAsked,
): Promise<Listing<PlaceHeld>> => {
  const ofProjects = kind === 'projects';
  const meeting = ofProjects ? projectMeets : workspaceMeets;
  const read = ofProjects ? need('project-access.settings', 'read') : need('workspace-access.runs', 'read');
  // Each filter asks of the same grants: they are looked up once.
  const { onProjects, onWorkspaces } = grantsSeen(asker, subject.teams);
  const seen = sql`with on_projects as (${onProjects}), on_workspaces as (${onWorkspaces})`;
  const grants = { onProjects: sql`select * from on_projects`, onWorkspaces: sql`select * from on_workspaces` };
  const conditions = [
    ...(asker === 'all' ? [] : [meeting(asker, read, grantsOf(asker))]),
    ...needs.map(need => meeting(subject, need, grants)),
    which,
  ];
  const visible = ofProjects
    ? sql`
      ${seen}
      select projects.id, projects.name, projects.created_at, projects.is_default,
        projects.id as project_id, projects.name as project_name
      from projects
      where projects.organization_id = ${organization} and ${all(conditions)}`
    : sql`
      ${seen}
      select workspaces.id, workspaces.name, workspaces.created_at, projects.is_default,
        projects.id as project_id, projects.name as project_name
      from workspaces
      join projects on projects.id = workspaces.project_id
      where workspaces.organization_id = ${organization} and ${all(conditions)}`;
  const teams = [...new Set([...subject.teams, ...(asker === 'all' ? [] : asker.teams)].map(({ id }) => id))];
  const packed = (table: Sql, column: Sql, of: Sql): Sql => sql`(
    select string_agg(${packedGrantWithId}, ',')
    from ${table}
    where ${column} = ${of} and team_id in (${teams})
  )`;
  const rows = await pageOf<PlaceColumns>(tx, visible, page, undefined, {
    columns: [
      packed(sql`team_projects`, sql`project_id`, sql`page.project_id`),
      ofProjects ? sql`null` : packed(sql`team_workspaces`, sql`workspace_id`, sql`page.id`),
    ],
  });
  return { items: rows.items.map(row => placeFrom(row, asker, subject, ofProjects)), total: rows.total };
};

const placeFrom = (row: PlaceColumns & Row, asker: Asker, subject: Subject, ofProjects: boolean): PlaceHeld => {
  const [id, name, , isDefault, project, projectName, grants, workspaceGrants] = row;
  const place = { project: { id: project, name: projectName }, onDefaultProject: isDefault === 1 };
  const here = grantsHere(grants, workspaceGrants);
  return {
    ...place,
    workspace: ofProjects ? undefined : { id, name },
    teams: withGrants(subject.teams, here),
    asker:
      asker === 'all'
        ? 'all'
        : {
            ...asker,
            project,
            workspace: ofProjects ? null : id,
            onDefaultProject: place.onDefaultProject,
            teams: withGrants(asker.teams, here),
          },
  };
};
