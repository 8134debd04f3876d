/** The one query that loads all facts about a caller where a question is asked. */

import type { Access, Grant, Level, WorkspaceLevel } from '../core/access.ts';
import type { Caller, Standing } from '../core/authority.ts';
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
    case 'audit-trails':
    case 'decisions':
      return sql`
        left join organizations as member on member.id = ${''}
        left join teams on teams.id = ${''}`;
  }
};

/** An organization may shut out the tokens of users, its own members' too. */
const isClosedTo = (caller: Caller): Sql =>
  caller.kind === 'user'
    ? sql`(select 1 - user_tokens_enabled from organizations where organizations.id = place.organization_id)`
    : sql`0`;

type Facts = [
  member: string | null,
  team: string | null,
  name: string,
  organizationAccess: number,
  access: Access | null,
  chosen: number | null,
  beyond: number | null,
  workspaceAccess: Access<WorkspaceLevel> | null,
  workspaceChosen: number | null,
  workspaceBeyond: number | null,
  grant: string | null,
  workspaceGrant: string | null,
  isClosed: number,
  organization: string,
  project: string | null,
  isDefault: number,
  workspace: string | null,
  ...place: Row,
];

const factsAbout = (tx: Tx, caller: Caller, places: Sql): Promise<Facts[]> =>
  tx.rows<Facts>(sql`
    select member.id, teams.id, teams.name, teams.organization_access,
      team_projects.access, team_projects.chosen, team_projects.beyond,
      team_workspaces.access, team_workspaces.chosen, team_workspaces.beyond, team_projects.id, team_workspaces.id,
      ${isClosedTo(caller)}, place.*
    from (${places}) as place
    ${teamsOf(caller)}
    left join team_projects on team_projects.team_id = teams.id and team_projects.project_id = place.project_id
    left join team_workspaces
      on team_workspaces.team_id = teams.id and team_workspaces.workspace_id = place.workspace_id`);

export const ownersTeam = 'owners';

const standingOf = (caller: Caller, facts: readonly [Facts, ...Facts[]]): Standing => {
  const [[member, , , , , , , , , , , , , organization, project, isDefault, workspace]] = facts;
  return {
    organization,
    project,
    onDefaultProject: isDefault === 1,
    workspace,
    member: member !== null,
    organizationToken: caller.kind === 'organization' && member !== null,
    teams: facts.flatMap(([, team, name, organizationAccess, ...grants]) => {
      if (team === null) return [];
      const [access, chosen, beyond, workspaceAccess, workspaceChosen, workspaceBeyond, grantId, workspaceGrantId] =
        grants;
      const grant = grantOf(access, chosen, beyond);
      const workspaceGrant = grantOf(workspaceAccess, workspaceChosen, workspaceBeyond);
      const ids = { grantId: grantId ?? undefined, workspaceGrantId: workspaceGrantId ?? undefined };
      return [{ id: team, owners: name === ownersTeam, organizationAccess, grant, workspaceGrant, ...ids }];
    }),
  };
};

/** Whether the caller belongs to an organization that is closed to its kind of token. */
const isShutOut = ([member, , , , , , , , , , , , isClosed]: Facts): boolean => member !== null && isClosed === 1;

const isSome = <T>(list: readonly T[]): list is readonly [T, ...T[]] => list.length > 0;

/** All facts about a caller in one place. To a token that the organization does not take, it is as if it were no token. */
const factsHere = async (tx: Tx, caller: Caller, place: Sql): Promise<readonly [Facts, ...Facts[]] | undefined> => {
  const facts = await factsAbout(tx, caller, place);
  if (!isSome(facts)) return undefined;
  if (isShutOut(facts[0])) throw new Fault({ kind: 'unauthorized' });
  return facts;
};

/** Undefined where there is no such place. */
export const standing = async (tx: Tx, caller: Caller, place: Sql): Promise<Standing | undefined> => {
  const facts = await factsHere(tx, caller, place);
  return facts && standingOf(caller, facts);
};

/** The caller's standing in each of several places, those left out that do not take its token. */
export const standings = async (tx: Tx, caller: Caller, places: Sql): Promise<Standing[]> => {
  const facts = (await factsAbout(tx, caller, places)).filter(fact => !isShutOut(fact));
  const placeOf = ([, , , , , , , , , , , , , organization, project, , workspace]: Facts) =>
    `${organization} ${project} ${workspace}`;
  return [...Map.groupBy(facts, placeOf).values()].map(here => standingOf(caller, here as [Facts, ...Facts[]]));
};

/** The caller's standing where a team is in question, and the team. */
export const standingAtTeam = async (tx: Tx, caller: Caller, id: string) => {
  const facts = await factsHere(
    tx,
    caller,
    sql`
      select organization_id, null as project_id, 0 as is_default, null as workspace_id,
        name, visibility, allow_member_token_management
      from teams
      where id = ${id}`,
  );
  if (!facts) return undefined;
  const [name, visibility, memberTokens] = facts[0].slice(17) as [string, string, number];
  const team = { id, visibility, owners: name === ownersTeam, memberTokens: memberTokens === 1 };
  return { stand: standingOf(caller, facts), team };
};

/** The caller's standing on a project or a workspace, and what the two are called. */
export const standingWithNames = async (tx: Tx, caller: Caller, kind: 'projects' | 'workspaces', id: string) => {
  const facts = await factsHere(
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
  if (!facts) return undefined;
  const [project, workspace] = facts[0].slice(17) as [string, string | null];
  return { stand: standingOf(caller, facts), names: { project, workspace } };
};

/** The caller's standing in an organization, and of that what answers tell: how far its audit trail is, which every change moves on. */
export const standingWithRevision = async (tx: Tx, caller: Caller, organization: string) => {
  const facts = await factsHere(
    tx,
    caller,
    sql`
      select organizations.id as organization_id, null as project_id, 0 as is_default, null as workspace_id,
        organizations.name, organizations.user_tokens_enabled, audit_heads.position
      from organizations
      left join audit_heads on audit_heads.chain = organizations.id
      where lower(organizations.name) = lower(cast(${organization} as ctext))`,
  );
  if (!facts) return undefined;
  const [name, userTokens, revision] = facts[0].slice(17) as [string, number, number | null];
  return { stand: standingOf(caller, facts), name, userTokens: userTokens === 1, revision: revision ?? 0 };
};

/** A grant on a project or a workspace in one text, as a page aggregates those of the caller's teams. */
export const packedGrant = sql`team_id || ' ' || access || ' ' || coalesce(chosen, 0)`;

/** The same with its id. */
export const packedGrantWithId = sql`${packedGrant} || ' ' || id`;

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
  const facts = await factsHere(
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
  return facts && { stand: standingOf(caller, facts), grants: unpackedGrants(facts[0].slice(17)[0] as string | null) };
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
