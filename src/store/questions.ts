/** What it takes to answer who may do what: the facts about many subjects and many places in one statement. */

import { type Need, need } from '../core/access.ts';
import type { Standing, TeamOnView } from '../core/authority.ts';
import type { Listing, Page } from '../wire/paging.ts';
import {
  type GrantsHere,
  grantsHere,
  type Holder,
  type Holding,
  type HoldingColumns,
  holdingFrom,
  holdsOnProject,
  membersOf,
  teamsHolding,
  withGrants,
} from './holdings.ts';
import { pageOf } from './paging.ts';
import { type Sql, sql } from './sql.ts';
import { ownersTeam, packedGrantIn } from './standing.ts';
import type { Row, Tx } from './store.ts';

/** A project, a workspace or a team's access to a project, known by type and id as the questions have it. */
export type Named = { readonly type: string; readonly id: string };

export type AskedPlace = {
  readonly project: string;
  readonly onDefaultProject: boolean;
  readonly workspace: string | null;
  /** Whose access it is, where access is what is asked about. */
  readonly team?: TeamOnView | undefined;
  /** What the teams of the subjects have there, where they do not say it themselves. */
  readonly grants?: GrantsHere;
};

/** All that is known of those asked about. */
export class Facts {
  readonly #organization: string;
  readonly #teams: ReadonlyMap<string, readonly Holding[]>;
  readonly #places: ReadonlyMap<string, AskedPlace>;

  constructor(
    organization: string,
    teams: ReadonlyMap<string, readonly Holding[]>,
    places: ReadonlyMap<string, AskedPlace>,
  ) {
    this.#organization = organization;
    this.#teams = teams;
    this.#places = places;
  }

  /** The teams of a member, or the team itself; undefined for what is not of the organization. */
  teamsOf(subject: Named): readonly Holding[] | undefined {
    return this.#teams.get(keyOf(subject));
  }

  placeOf(place: Named): AskedPlace | undefined {
    return this.#places.get(keyOf(place));
  }

  /** Where a holder stands in a place, or in the organization alone. */
  standing({ organizationToken, teams }: Holder & { readonly teams: readonly Holding[] }, place?: Named) {
    const known = place && this.#places.get(keyOf(place));
    return {
      organization: this.#organization,
      project: known?.project ?? null,
      onDefaultProject: known?.onDefaultProject ?? false,
      workspace: known?.workspace ?? null,
      member: true,
      organizationToken,
      teams: known?.grants ? withGrants(teams, known.grants) : teams,
    } satisfies Standing;
  }
}

export const keyOf = ({ type, id }: Named): string => `${type} ${id}`;

/** A subject and one of its teams, if it has any. */
type SubjectColumns = [
  type: string,
  id: string,
  team: string | null,
  name: string,
  visibility: string,
  organizationAccess: number,
  createdAt: string,
];

/** A place and what the subjects' teams are granted there. */
type PlaceColumns = [
  type: string,
  id: string,
  project: string,
  isDefault: number,
  grants: string | null,
  workspaceGrants: string | null,
  team: string | null,
  visibility: string | null,
];

const teamFrom = ([, , id, name, visibility, organizationAccess]: SubjectColumns): Holding => ({
  id: id ?? '',
  name,
  visibility,
  owners: name === ownersTeam,
  organizationAccess,
});

const placeFrom = ([type, id, project, isDefault, grants, onWorkspace, team, visibility]: PlaceColumns) => ({
  project,
  workspace: type === 'workspace' ? id : null,
  onDefaultProject: isDefault === 1,
  team: team === null ? undefined : { id: team, visibility: visibility ?? '' },
  grants: grantsHere(grants, onWorkspace),
});

const idsOf = (named: readonly Named[], type: string): string[] => [
  ...new Set(named.filter(each => each.type === type).map(({ id }) => id)),
];

/** The parts for which there is anything to ask, together. */
const union = (parts: readonly (Sql | undefined)[]): Sql | undefined =>
  parts
    .filter(part => part !== undefined)
    .reduce<Sql | undefined>((all, part) => (all ? sql`${all} union all ${part}` : part), undefined);

/** Users with their teams, and teams. */
const subjectsIn = (organization: string, users: readonly string[], teams: readonly string[]): Sql | undefined => {
  const parts = union([
    users.length === 0
      ? undefined
      : sql`
        select 'user' as type, member.user_id as id, teams.id as team_id, teams.name, teams.visibility,
          teams.organization_access, teams.created_at
        from organization_memberships as member
        left join team_memberships on team_memberships.membership_id = member.id
        left join teams on teams.id = team_memberships.team_id
        where member.user_id in (${users}) and member.organization_id = ${organization}`,
    teams.length === 0
      ? undefined
      : sql`
        select 'team' as type, id, id as team_id, name, visibility, organization_access, created_at
        from teams
        where id in (${teams}) and organization_id = ${organization}`,
  ]);
  return parts && sql`${parts} order by 7, 3, 1, 2`;
};

/** Projects, workspaces and grants, with what these users and teams have there. */
const placesIn = (
  organization: string,
  { users, teams }: { readonly users: readonly string[]; readonly teams: readonly string[] },
  places: readonly Named[],
): Sql | undefined => {
  const members = sql`
    from organization_memberships as member
    left join team_memberships on team_memberships.membership_id = member.id`;
  const areMembers = sql`member.user_id in (${users}) and member.organization_id = ${organization}`;
  const own = union([
    users.length === 0 ? undefined : sql`select team_memberships.team_id ${members} where ${areMembers}`,
    teams.length === 0 ? undefined : sql`select id from teams where id in (${teams})`,
  ]);
  const packed = (table: Sql, column: Sql, of: Sql): Sql => {
    if (!own) return sql`null`;
    const grants = sql`select string_agg(${packedGrantIn(table)}, ',')`;
    // One user's teams are soon gone through, the left joins say in which order; those of many are a set to look into.
    return users.length === 1 && teams.length === 0
      ? sql`(
        ${grants}
        ${members}
        left join ${table} on ${table}.team_id = team_memberships.team_id and ${table}.${column} = ${of}
        where ${areMembers}
      )`
      : sql`(${grants} from ${table} where ${column} = ${of} and team_id in (${own}))`;
  };
  const onProjects = packed(sql`team_projects`, sql`project_id`, sql`projects.id`);
  const [projects, workspaces, grants] = ['project', 'workspace', 'team-project'].map(type => idsOf(places, type));
  const parts = union([
    projects?.length
      ? sql`
        select 'project', projects.id, projects.id, projects.is_default, ${onProjects}, null, null, null
        from projects
        where projects.id in (${projects}) and projects.organization_id = ${organization}`
      : undefined,
    workspaces?.length
      ? sql`
        select 'workspace', workspaces.id, projects.id, projects.is_default, ${onProjects},
          ${packed(sql`team_workspaces`, sql`workspace_id`, sql`workspaces.id`)}, null, null
        from workspaces
        join projects on projects.id = workspaces.project_id
        where workspaces.id in (${workspaces}) and workspaces.organization_id = ${organization}`
      : undefined,
    grants?.length
      ? sql`
        select 'team-project', access.id, projects.id, projects.is_default, ${onProjects}, null, teams.id, teams.visibility
        from team_projects as access
        join projects on projects.id = access.project_id
        join teams on teams.id = access.team_id
        where access.id in (${grants}) and access.organization_id = ${organization}`
      : undefined,
  ]);
  return parts && sql`${parts} order by 1, 2`;
};

/** About users and teams, in projects, workspaces and grants; whatever is not of the organization is not found. */
export const factsAbout = async (
  tx: Tx,
  organization: string,
  subjects: readonly Named[],
  places: readonly Named[],
): Promise<Facts> => {
  const asked = { users: idsOf(subjects, 'user'), teams: idsOf(subjects, 'team') };
  const rows = async <R extends Row>(statement: Sql | undefined) => (statement ? tx.rows<R>(statement) : []);
  const [known, there] = await Promise.all([
    rows<SubjectColumns>(subjectsIn(organization, asked.users, asked.teams)),
    rows<PlaceColumns>(placesIn(organization, asked, places)),
  ]);
  const bySubject = new Map<string, Holding[]>();
  for (const row of known) {
    const key = keyOf({ type: row[0], id: row[1] });
    const own = bySubject.get(key) ?? [];
    if (row[2] !== null) own.push(teamFrom(row));
    bySubject.set(key, own);
  }
  const byPlace = new Map(there.map(row => [keyOf({ type: row[0], id: row[1] }), placeFrom(row)]));
  return new Facts(organization, bySubject, byPlace);
};

/** As much of a token as it takes to say for whom it acts. */
export type TokenAsked = {
  readonly holder: { readonly type: 'user' | 'team' | 'organization'; readonly id: string };
  readonly slot: string | null;
  readonly expiredAt: string | null;
};

export const tokensAsked = async (tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, TokenAsked>> => {
  type Columns = [
    id: string,
    user: string | null,
    team: string | null,
    organization: string | null,
    slot: string | null,
    expiredAt: string | null,
  ];
  const rows = await tx.rows<Columns>(sql`
    select id, user_id, team_id, organization_id, slot, expired_at
    from authentication_tokens
    where id in (${ids})
    order by id`);
  return new Map(
    rows.map(([id, user, team, organization, slot, expiredAt]) => {
      const holder =
        user !== null
          ? { type: 'user' as const, id: user }
          : team !== null
            ? { type: 'team' as const, id: team }
            : { type: 'organization' as const, id: organization ?? '' };
      return [id, { holder, slot, expiredAt }];
    }),
  );
};

// Searches

const placeNamed = ({ type, id }: Named, organization: string): Sql => {
  switch (type) {
    case 'project':
      return sql`
        select projects.id as project_id, projects.is_default, null as workspace_id, null as team_id, null as visibility
        from projects
        where projects.id = ${id} and projects.organization_id = ${organization}`;
    case 'workspace':
      return sql`
        select projects.id as project_id, projects.is_default, workspaces.id as workspace_id, null as team_id,
          null as visibility
        from workspaces
        join projects on projects.id = workspaces.project_id
        where workspaces.id = ${id} and workspaces.organization_id = ${organization}`;
    case 'team-project':
      return sql`
        select projects.id as project_id, projects.is_default, null as workspace_id, teams.id as team_id, teams.visibility
        from team_projects
        join projects on projects.id = team_projects.project_id
        join teams on teams.id = team_projects.team_id
        where team_projects.id = ${id} and team_projects.organization_id = ${organization}`;
    default:
      return sql`
        select null as project_id, 0 as is_default, null as workspace_id, null as team_id, null as visibility`;
  }
};

/** Every team that holds anything in a place, or in the organization itself; undefined where there is no such place. */
export const holdersIn = async (
  tx: Tx,
  organization: string,
  place: Named,
): Promise<{ readonly place: AskedPlace; readonly teams: readonly Holding[] } | undefined> => {
  type Columns = [
    project: string | null,
    isDefault: number,
    workspace: string | null,
    team: string | null,
    visibility: string | null,
    ...HoldingColumns,
  ];
  const ofPlace = (column: Sql): Sql => sql`(select ${column} from place)`;
  const rows = await tx.rows<Columns>(sql`
    with place as materialized (${placeNamed(place, organization)})
    select place.*, teams.id, teams.name, teams.visibility, teams.organization_access,
      team_projects.id, team_projects.access, team_projects.chosen, team_projects.beyond,
      team_workspaces.id, team_workspaces.access, team_workspaces.chosen, team_workspaces.beyond
    from place
    join teams on teams.id in (${teamsHolding(organization, ofPlace(sql`project_id`), ofPlace(sql`workspace_id`))})
    left join team_projects on team_projects.team_id = teams.id and team_projects.project_id = place.project_id
    left join team_workspaces on team_workspaces.team_id = teams.id and team_workspaces.workspace_id = place.workspace_id
    order by teams.created_at, teams.id`);
  const [first] = rows;
  // Every organization has its owners, so a place that exists has a row.
  if (!first) return undefined;
  const [project, isDefault, workspace, team, visibility] = first;
  return {
    place: {
      project: project ?? '',
      onDefaultProject: isDefault === 1,
      workspace,
      team: team === null ? undefined : { id: team, visibility: visibility ?? '' },
    },
    teams: rows.map(([, , , , , ...holding]) => holdingFrom(holding)),
  };
};

const idsListed = async (tx: Tx, visible: Sql, page: Page): Promise<Listing<string>> => {
  const { items, total } = await pageOf<[id: string, ...Row]>(tx, visible, page);
  return { items: items.map(([id]) => id), total };
};

/** The members of an organization who are, for each of these lists, in one of its teams. */
export const membersIn = async (
  tx: Tx,
  organization: string,
  teams: readonly (readonly string[])[],
  page: Page,
): Promise<Listing<string>> => {
  if (teams.length > 0) {
    const { items, total } = await membersOf(tx, organization, teams, page);
    return { items: items.map(({ id }) => id), total };
  }
  const visible = sql`
    select user_id, created_at, id
    from organization_memberships
    where organization_id = ${organization} and user_id is not null`;
  return idsListed(tx, visible, page);
};

export const teamsIn = (tx: Tx, organization: string, page: Page): Promise<Listing<string>> =>
  idsListed(tx, sql`select id, created_at from teams where organization_id = ${organization}`, page);

/** The grants on projects where the holder meets the need; and, where it `reads`, those that it sees besides. */
export const grantsHeld = (
  tx: Tx,
  organization: string,
  holder: Holder,
  { need: least, reads }: { readonly need: Need; readonly reads: boolean },
  page: Page,
): Promise<Listing<string>> => {
  const manages = holdsOnProject(holder, need('project-access.teams', 'manage'));
  const own = sql`team_projects.team_id in (${holder.teams.map(({ id }) => id)})`;
  const seen = sql`(${manages} or ${own} or (${holdsOnProject(holder, least)} and teams.visibility = 'organization'))`;
  const visible = sql`
    select team_projects.id, team_projects.created_at
    from projects
    join team_projects on team_projects.project_id = projects.id
    join teams on teams.id = team_projects.team_id
    where projects.organization_id = ${organization} and ${reads ? seen : holdsOnProject(holder, least)}`;
  return idsListed(tx, visible, page);
};
