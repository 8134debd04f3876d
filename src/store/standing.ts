/** The one query that loads all facts about a caller where a question is asked. */

import type { Access, Grant, Level, WorkspaceLevel } from '../core/access.ts';
import type { Caller, Standing, TeamFacts } from '../core/authority.ts';
import { Fault } from '../core/fault.ts';
import { type Sql, sql } from './sql.ts';
import type { Row, Tx } from './store.ts';

/** Where a question is asked: one organization, or one project or one workspace of it. */
export const inOrganization = (id: string): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default, null as workspace_id
  from organizations
  where id = ${id}`;

export const inOrganizationNamed = (name: string): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default, null as workspace_id
  from organizations
  where lower(name) = lower(cast(${name} as ctext))`;

/** On the default project, where workspaces go when no project is named, of each of these organizations. */
export const onDefaultProjects = (organizations: Sql): Sql => sql`
  select organizations.id as organization_id, projects.id as project_id, projects.is_default, null as workspace_id
  from organizations
  join projects on projects.organization_id = organizations.id and projects.is_default = 1
  where ${organizations}`;

export const onProject = (id: string): Sql => sql`
  select organization_id, id as project_id, is_default, null as workspace_id
  from projects
  where id = ${id}`;

/** Whether a project is its organization's default one: those are few, and so at hand. */
export const isDefaultProject = (project: Sql, organization: Sql): Sql => sql`
  case ${project} when (
    select defaults.id
    from projects as defaults
    where defaults.organization_id = ${organization} and defaults.is_default = 1
  ) then 1 else 0 end as is_default`;

/** The columns of a grant, after those of its place. */
const grantColumns = (table: Sql, column: Sql): Sql => sql`
  ${table}.id as grant_id, ${table}.${column} as grant_place_id, ${table}.team_id as grant_team_id, teams.visibility,
  ${table}.access, ${table}.chosen, ${table}.beyond`;

/** On the project of a grant, with the grant. */
export const atTeamProject = (id: string): Sql => sql`${teamProjects} where team_projects.id = ${id}`;

export const isDefaultOfGrant = isDefaultProject(sql`team_projects.project_id`, sql`team_projects.organization_id`);

const teamProjects = sql`
  select team_projects.organization_id, team_projects.project_id,
    ${isDefaultOfGrant}, null as workspace_id,
    ${grantColumns(sql`team_projects`, sql`project_id`)}
  from team_projects
  join teams on teams.id = team_projects.team_id`;

/** On the workspace of a grant, with the grant. */
export const atTeamWorkspace = (id: string): Sql => sql`${teamWorkspaces} where team_workspaces.id = ${id}`;

const teamWorkspaces = sql`
  select workspaces.organization_id, workspaces.project_id,
    ${isDefaultProject(sql`workspaces.project_id`, sql`workspaces.organization_id`)}, workspaces.id as workspace_id,
    ${grantColumns(sql`team_workspaces`, sql`workspace_id`)}
  from team_workspaces
  join workspaces on workspaces.id = team_workspaces.workspace_id
  join teams on teams.id = team_workspaces.team_id`;

export const onWorkspace = (id: string): Sql => onWorkspaces([id]);

export const onWorkspaces = (ids: readonly string[]): Sql => sql`
  select workspaces.organization_id, workspaces.project_id, projects.is_default, workspaces.id as workspace_id
  from workspaces
  join projects on projects.id = workspaces.project_id
  where workspaces.id in (${ids})`;

export const onWorkspaceNamed = (organization: string, name: string): Sql => sql`
  select workspaces.organization_id, workspaces.project_id, projects.is_default, workspaces.id as workspace_id
  from organizations
  join workspaces on workspaces.organization_id = organizations.id
  join projects on projects.id = workspaces.project_id
  where lower(organizations.name) = lower(cast(${organization} as ctext))
    and lower(workspaces.name) = lower(cast(${name} as ctext))`;

export const onDefaultProjectOf = (organization: string): Sql => sql`
  select projects.organization_id, projects.id as project_id, projects.is_default, null as workspace_id
  from organizations
  join projects on projects.organization_id = organizations.id and projects.is_default = 1
  where lower(organizations.name) = lower(cast(${organization} as ctext))`;

/** Wherever the caller may hold anything: its organizations, and the projects and workspaces on which its teams have grants. */
export const everywhere = (caller: Caller): Sql => sql`
  select id as organization_id, null as project_id, 0 as is_default, null as workspace_id
  from organizations
  where ${belonging(caller)}
  union all
  select organization_id, id as project_id, is_default, null as workspace_id
  from projects
  where id in (
    select project_id
    from team_projects
    where team_id in (${ownTeams(caller)})
  )
  union all
  select workspaces.organization_id, workspaces.project_id, projects.is_default, workspaces.id as workspace_id
  from workspaces
  join projects on projects.id = workspaces.project_id
  where workspaces.id in (
    select workspace_id
    from team_workspaces
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
    case 'audit-trails':
    case 'decisions':
      return sql`null`;
  }
};

/** The organizations that the caller belongs to. */
export const belonging = (caller: Caller): Sql => {
  switch (caller.kind) {
    case 'user':
      return sql`organizations.user_tokens_enabled = 1
        and organizations.id in (select organization_id from organization_memberships where user_id = ${caller.user})`;
    case 'team':
    case 'organization':
      return sql`organizations.id = ${caller.organization}`;
    case 'audit-trails':
    case 'decisions':
      return sql`1 = 0`;
  }
};

export const inOrganizationOfMembership = (id: string): Sql => sql`
  select organization_id, null as project_id, 0 as is_default, null as workspace_id
  from organization_memberships
  where id = ${id}`;

export const ownersTeam = 'owners';

/** The few teams that hold anything for their organization: an index has them, in the same words. */
export const holdsForOrganization = sql`(teams.organization_access <> 0 or teams.name = 'owners')`;

/** A team and what it holds in `place`, in one text: for both engines, many values cost more than one. */
const packedTeam = (id: Sql): Sql => sql`
  format('%s %s %s %s %s %s %s',
    ${id}, teams.organization_access, case when teams.name = 'owners' then 1 end,
    team_projects.access, team_projects.chosen, team_workspaces.access, team_workspaces.chosen)`;

const grantsInPlace = (id: Sql): Sql => sql`
  left join team_projects on team_projects.team_id = ${id} and team_projects.project_id = place.project_id
  left join team_workspaces on team_workspaces.team_id = ${id} and team_workspaces.workspace_id = place.workspace_id`;

/** The teams of `member` in `place`. */
const memberTeams = sql`(
  select string_agg(${packedTeam(sql`team_memberships.team_id`)}, ',')
  from team_memberships
  left join teams on teams.id = team_memberships.team_id and ${holdsForOrganization}
  ${grantsInPlace(sql`team_memberships.team_id`)}
  where team_memberships.membership_id = member.id
)`;

/** One team, where it is of the organization of `place`. */
const ownTeam = (id: Sql): Sql => sql`(
  select ${packedTeam(sql`teams.id`)}
  from teams
  ${grantsInPlace(sql`teams.id`)}
  where teams.id = ${id} and teams.organization_id = place.organization_id
)`;

const memberInPlace = (user: Sql): Sql => sql`
  left join organization_memberships as member
    on member.user_id = ${user} and member.organization_id = place.organization_id`;

/** An organization may shut out the tokens of users, its own members' too. */
const isClosedToUsers = sql`(
  select 1 - organizations.user_tokens_enabled
  from organizations
  where organizations.id = place.organization_id
)`;

/** All facts about a caller in places: a user has all its teams there, a team token that team alone. */
const factsIn = (caller: Caller, places: Sql): Sql => {
  switch (caller.kind) {
    case 'user':
      return sql`
        select ${isClosedToUsers}, member.id, ${memberTeams}, place.*
        from (${places}) as place
        ${memberInPlace(sql`${caller.user}`)}`;
    case 'team':
      return sql`select 0, null, ${ownTeam(sql`${caller.team}`)}, place.* from (${places}) as place`;
    default:
      return sql`select 0, null, null, place.* from (${places}) as place`;
  }
};

const holderInPlace = memberInPlace(sql`holder.user_id`);

/** The same about whomever a token is of: what it cannot have is not looked for. */
const factsOfHolder = sql`
  case when member.id is not null then ${isClosedToUsers} end, member.id,
  case when member.id is not null then ${memberTeams} when holder.team_id is not null then ${ownTeam(sql`holder.team_id`)} end,
  place.*`;

type Facts = [
  isClosed: number | null,
  member: string | null,
  teams: string | null,
  organization: string,
  project: string | null,
  isDefault: number,
  workspace: string | null,
  ...place: Row,
];

const countOfFacts = 7;

const factsAbout = (tx: Tx, caller: Caller, places: Sql): Promise<Facts[]> => tx.rows<Facts>(factsIn(caller, places));

/** A team that holds nothing there, as most do, has an id and six empty places. */
const holdingNothing = ' '.repeat(6);

const teamFrom = (packed: string): TeamFacts => {
  if (packed.endsWith(holdingNothing)) return { id: packed.slice(0, -holdingNothing.length), ...nothing };
  const [id = '', organizationAccess, owners, access, chosen, onWorkspace, chosenThere] = packed.split(' ');
  return {
    id,
    owners: owners === '1',
    organizationAccess: Number(organizationAccess),
    grant: access ? grantOf(access as Access, Number(chosen), 0) : undefined,
    workspaceGrant: onWorkspace ? grantOf(onWorkspace as Access<WorkspaceLevel>, Number(chosenThere), 0) : undefined,
  };
};

const nothing: Omit<TeamFacts, 'id'> = {
  owners: false,
  organizationAccess: 0,
  grant: undefined,
  workspaceGrant: undefined,
};

const standingOf = (caller: Caller, facts: Facts): Standing => {
  const [, member, packed, organization, project, isDefault, workspace] = facts;
  const teams = packed === null ? [] : packed.split(',').map(teamFrom);
  const ofOrganization = caller.kind === 'organization' && caller.organization === organization;
  return {
    organization,
    project,
    onDefaultProject: isDefault === 1,
    workspace,
    member: member !== null || ofOrganization || (caller.kind === 'team' && teams.length > 0),
    organizationToken: ofOrganization,
    teams,
  };
};

/** Whether the caller belongs to an organization that is closed to its kind of token. */
const isShutOut = ([isClosed, member]: Facts): boolean => member !== null && isClosed === 1;

/** Where a caller stands in a place, and what else its query tells of the place. */
export type Here = { readonly stand: Standing; readonly place: Row };

/** To a token that the organization does not take, it is as if it were no token. */
const hereFrom = (caller: Caller, facts: Facts): Here => {
  if (isShutOut(facts)) throw new Fault({ kind: 'unauthorized' });
  return { stand: standingOf(caller, facts), place: facts.slice(countOfFacts) };
};

/** Undefined where there is no such place. */
const factsHere = async (tx: Tx, caller: Caller, place: Sql): Promise<Here | undefined> => {
  const [facts] = await factsAbout(tx, caller, place);
  return facts && hereFrom(caller, facts);
};

/**
 * A token and its holder's standing in a place in one statement: the columns of the token as they are asked for, and a word
 * on the standing for whoever the token turns out to be. Undefined where either is not found.
 */
export const tokenInPlace = async <T extends Row>(
  tx: Tx,
  { columns, count, holders }: { readonly columns: Sql; readonly count: T['length']; readonly holders: Sql },
  lookup: string,
  places: Sql,
): Promise<{ readonly token: T; readonly hereFor: (caller: Caller) => Here } | undefined> => {
  const row = await tx.row(sql`
    select ${columns}, ${factsOfHolder}
    from ${holders}
    cross join (${places}) as place
    ${holderInPlace}
    where holder.lookup = ${lookup}`);
  return row && { token: row as T, hereFor: caller => hereFrom(caller, row.slice(count) as Facts) };
};

/** Undefined where there is no such place. */
export const standing = async (tx: Tx, caller: Caller, place: Sql): Promise<Standing | undefined> =>
  (await factsHere(tx, caller, place))?.stand;

/** The caller's standing in each of several places, those left out that do not take its token. */
export const standings = async (tx: Tx, caller: Caller, places: Sql): Promise<Standing[]> => {
  const facts = await factsAbout(tx, caller, places);
  return facts.filter(fact => !isShutOut(fact)).map(fact => standingOf(caller, fact));
};

/** The caller's standing where a team is in question, and the team. */
export const standingAtTeam = async (tx: Tx, caller: Caller, id: string) => {
  const here = await factsHere(
    tx,
    caller,
    sql`
      select organization_id, null as project_id, 0 as is_default, null as workspace_id,
        name, visibility, allow_member_token_management
      from teams
      where id = ${id}`,
  );
  if (!here) return undefined;
  const [name, visibility, memberTokens] = here.place as [string, string, number];
  const team = { id, visibility, owners: name === ownersTeam, memberTokens: memberTokens === 1 };
  return { stand: here.stand, team };
};

/** The caller's standing on a project or a workspace, and what the two are called. */
export const standingWithNames = async (tx: Tx, caller: Caller, kind: 'projects' | 'workspaces', id: string) => {
  const here = await factsHere(
    tx,
    caller,
    kind === 'projects'
      ? sql`
        select organization_id, id as project_id, is_default, null as workspace_id, name, null as workspace_name
        from projects
        where id = ${id}`
      : sql`
        select workspaces.organization_id, workspaces.project_id, projects.is_default, workspaces.id as workspace_id,
          projects.name, workspaces.name as workspace_name
        from workspaces
        join projects on projects.id = workspaces.project_id
        where workspaces.id = ${id}`,
  );
  if (!here) return undefined;
  const [project, workspace] = here.place as [string, string | null];
  return { stand: here.stand, names: { project, workspace } };
};

/**
 * An organization, what answers tell of it, how far its audit trail is, which every change moves on, and what a question
 * about something in it takes, packed into one text.
 */
export const inOrganizationWithRevision = (name: string, packedFacts: Sql = sql`null`): Sql => sql`
  select organizations.id as organization_id, null as project_id, 0 as is_default, null as workspace_id,
    organizations.name, organizations.user_tokens_enabled, audit_heads.position, ${packedFacts} as packed_facts
  from organizations
  left join audit_heads on audit_heads.chain = organizations.id
  where lower(organizations.name) = lower(cast(${name} as ctext))`;

export const standingWithRevision = async (tx: Tx, caller: Caller, organization: string) => {
  const here = await factsHere(tx, caller, inOrganizationWithRevision(organization));
  return here && withRevision(here);
};

/** What that tells. */
export const withRevision = ({ stand, place }: Here) => {
  const [name, userTokens, revision, packedFacts] = place as [string, number, number | null, string | null];
  return { stand, name, userTokens: userTokens === 1, revision: revision ?? 0, packedFacts };
};

/** A grant on a project or a workspace in one text, as a page aggregates those of the caller's teams. */
export const packedGrant = sql`team_id || ' ' || access || ' ' || coalesce(chosen, 0)`;

/** The same with its id. */
export const packedGrantWithId = sql`${packedGrant} || ' ' || id`;

/** The same where other tables are joined. */
export const packedGrantIn = (table: Sql): Sql =>
  sql`${table}.team_id || ' ' || ${table}.access || ' ' || coalesce(${table}.chosen, 0) || ' ' || ${table}.id`;

export type TeamGrant<L extends Level | WorkspaceLevel = Level> = {
  readonly packed: string;
  readonly team: string;
  readonly grant: Grant<L> | undefined;
  readonly id: string | undefined;
};

/** What it shows of a later permission is lost on the way: this is for what a grant gives. */
export const unpackedGrants = <L extends Level | WorkspaceLevel = Level>(text: string | null): TeamGrant<L>[] =>
  (text?.split(',') ?? []).map(packed => {
    const [team, access, chosen, id] = packed.split(' ') as [string, Access<L>, string, string?];
    return { packed, team, grant: grantOf<L>(access, Number(chosen), 0), id };
  });

/** The caller's standing in an organization, and the grants of its teams on projects, equal ones once. */
export const standingWithGrants = async (tx: Tx, caller: Caller, organization: string) => {
  const here = await factsHere(
    tx,
    caller,
    sql`
      select id as organization_id, null as project_id, 0 as is_default, null as workspace_id, (
        select string_agg(packed, ',')
        from (
          select distinct ${packedGrant} as packed
          from team_projects
          where team_id in (${ownTeams(caller)})
        ) as place
      ) as grants
      from organizations
      where lower(name) = lower(cast(${organization} as ctext))`,
  );
  return here && { stand: here.stand, grants: unpackedGrants(here.place[0] as string | null) };
};

export const columnsOf = (grant: Grant<string>) =>
  'chosen' in grant ? { chosen: grant.chosen, beyond: grant.beyond } : { chosen: null, beyond: null };

/** A grant as its three columns hold it. */
export const grantOf = <L extends Level | WorkspaceLevel>(
  access: Access<L> | null,
  chosen: number | null,
  beyond: number | null,
): Grant<L> | undefined => {
  if (access === null) return undefined;
  return access === 'custom' ? { access, chosen: chosen ?? 0, beyond: beyond ?? 0 } : { access: access as L };
};
