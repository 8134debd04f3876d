/** A project as it is shown and stored: its settings, what the caller may do there, and how much it sees of what is in it. */

import {
  mayCreateWorkspace,
  mayDeleteProject,
  mayManageTeamAccess,
  mayManageVariableSets,
  mayMoveWorkspace,
  mayReadProject,
  mayReadTeamAccess,
  mayReadWorkspace,
  mayUpdateProject,
  type Standing,
  seesEveryProject,
  visibleTeamAccess,
  withoutGrants,
} from '../core/authority.ts';
import { nameTaken } from '../core/fault.ts';
import { holdsOfTeamAccess, ownGrantsOn, ownIn } from '../store/holdings.ts';
import { type Order, pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import { packedGrant, type TeamGrant, unpackedGrants } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { identifier, pathOf, type Relationship, type Resource, toOne } from '../wire/document.ts';
import type { Listing, Page } from '../wire/paging.ts';
import {
  count,
  flag,
  linked,
  linkedMany,
  nothingRelated,
  orNull,
  related,
  resource,
  text,
  time,
} from '../wire/schemas.ts';
import { permissionsBlock } from './permissions.ts';
import { type Settings, SettingsShape, shownSettings } from './project-settings.ts';
import { type EffectiveTag, shownEffective, tagsOfProject, unpackedTags } from './tag-bindings.ts';

// Shape

const permissions = permissionsBlock({
  'can-read': mayReadProject,
  'can-update': mayUpdateProject,
  'can-destroy': standing => mayDeleteProject(standing) && !standing.onDefaultProject,
  'can-create-workspace': mayCreateWorkspace,
  'can-move-workspace': mayMoveWorkspace,
  'can-move-stack': mayMoveWorkspace,
  'can-deploy-no-code-modules': mayCreateWorkspace,
  'can-read-teams': mayReadTeamAccess,
  'can-manage-teams': mayManageTeamAccess,
  'can-manage-tags': mayUpdateProject,
  'can-manage-in-hcp': () => false,
  'can-manage-ephemeral-workspace-for-projects': mayUpdateProject,
  'can-manage-varsets': mayManageVariableSets,
});

export const ProjectResource = resource(
  'projects',
  {
    name: text,
    description: orNull(text),
    'created-at': time,
    ...SettingsShape,
    'is-unified': flag,
    'project-count': count,
    'workspace-count': count,
    'team-count': count,
    permissions: permissions.schema,
  },
  {
    organization: related('organizations'),
    'default-agent-pool': nothingRelated,
    'tag-bindings': linked,
    'effective-tag-bindings': linkedMany('effective-tag-bindings'),
  },
);

export type Project = {
  readonly id: string;
  readonly organization: string;
  readonly name: string;
  readonly description: string | null;
  readonly createdAt: string;
  readonly settings: Settings;
  readonly organizationSettings: Settings;
};

/** What is around and in a project, counted for each of the answers that authority can give. */
type Counts = {
  readonly projects: number;
  readonly workspaces: { readonly all: number; readonly granted: number };
  readonly teams: { readonly all: number; readonly listed: number; readonly own: number };
};

/** A project, and the caller's standing on it. */
export type Seen = {
  readonly project: Project;
  readonly counts: Counts;
  readonly stand: Standing;
  /** Only where they were asked for. */
  readonly tags: readonly EffectiveTag[] | undefined;
};

/** A hidden row counts for nothing: a count is of what the lists show. */
const counted = ({ projects, workspaces, teams }: Counts, standing: Standing) => {
  const sight = visibleTeamAccess(standing);
  const ofTeams = sight === 'all' ? teams.all : sight.listed ? teams.listed : teams.own;
  return {
    'project-count': projects,
    'workspace-count': mayReadWorkspace(standing) ? workspaces.all : workspaces.granted,
    'team-count': ofTeams,
  };
};

export const shown = ({ project, counts, stand, tags }: Seen): Resource => {
  const { id, organization, name, description, createdAt, settings, organizationSettings } = project;
  const found = (relation: string): Relationship => ({ links: { related: `${pathOf('projects', id)}/${relation}` } });
  const named = tags && { data: tags.map(tag => identifier('effective-tag-bindings', tag.id)) };
  return {
    id,
    type: 'projects',
    attributes: {
      name,
      description,
      'created-at': createdAt,
      ...shownSettings(settings, organizationSettings),
      'is-unified': false,
      ...counted(counts, stand),
      permissions: permissions.of(stand),
    },
    relationships: {
      organization: toOne('organizations', organization),
      'default-agent-pool': { data: null },
      'tag-bindings': found('tag-bindings'),
      'effective-tag-bindings': { ...named, ...found('effective-tag-bindings') },
    },
    links: { self: pathOf('projects', id) },
  };
};

/** What projects that are shown with their tags include. */
export const included = (seen: readonly Seen[]): Resource[] =>
  seen.flatMap(({ tags }) => tags ?? []).map(shownEffective);

// Storage

type Columns = [
  id: string,
  createdAt: string,
  sortName: string,
  organization: string,
  name: string,
  description: string | null,
  settings: string,
  organizationSettings: string,
  isDefault: number,
  ...beside: Beside,
];

type Beside = [
  grants: string | null,
  workspaces: number,
  grantedWorkspaces: number,
  teams: number | null,
  listedTeams: number | null,
  tags: string | null,
];

/** What a page shows of its rows: their own columns, the caller's grants, and the counts that the caller may see. */
const columns = (stand: Standing, withTags: boolean): Sql[] => {
  const own = sql`select own_id from own`;
  const counted = (rows: Sql): Sql => sql`(select count(*) ${rows})`;
  const [reads, manages] = [holdsOfTeamAccess(stand, 'read'), holdsOfTeamAccess(stand, 'manage')];
  return [
    sql`organizations.name`,
    ...[sql`projects.name`, sql`projects.description`, sql`projects.settings`],
    sql`organizations.settings`,
    sql`projects.is_default`,
    sql`(select string_agg(${packedGrant}, ',') ${ownGrantsOn(sql`page.id`)})`,
    counted(sql`from workspaces where workspaces.project_id = page.id`),
    // A grant on a workspace, whichever it is, shows the workspace.
    counted(sql`
      from workspaces
      where workspaces.project_id = page.id
        and workspaces.id in (select workspace_id from team_workspaces where team_id in (${own}))`),
    // There may be very many: they are counted only where the number is told.
    sql`case when ${manages} then ${counted(sql`from team_projects where team_projects.project_id = page.id`)} end`,
    sql`case when ${reads} and not ${manages} then ${counted(sql`
      from team_projects
      join teams on teams.id = team_projects.team_id
      where team_projects.project_id = page.id and (teams.visibility = 'organization' or teams.id in (${own}))`)} end`,
    withTags ? tagsOfProject(sql`page.id`) : sql`null`,
  ];
};

const shownRows = sql`
  left join projects on projects.id = page.id
  left join organizations on organizations.id = projects.organization_id`;

// A grant on a project, whichever it is, shows the project.

/** The projects of the organization that the caller sees, for a query over `projects`. */
const visible = (stand: Standing): Sql => sql`projects.organization_id = ${stand.organization}
  and ${seesEveryProject(stand) ? sql`1 = 1` : sql`projects.id in (${granted(stand)})`}`;

/** As many rows as they are. */
const seen = (stand: Standing): Sql =>
  seesEveryProject(stand)
    ? sql`select 1 from projects where organization_id = ${stand.organization}`
    : sql`${granted(stand)} group by project_id`;

const granted = ({ teams }: Standing): Sql => sql`
  select project_id
  from team_projects
  where team_id in (${teams.map(({ id }) => id)})`;

const fromRow = (row: Columns, projects: number, stand: Standing, withTags: boolean): Seen => {
  const [id, createdAt, , organization, name, description, settings, organizationSettings, isDefault] = row;
  const [grants, all, granted, teams, listed, tags] = row.slice(9) as Beside;
  const own = unpackedGrants(grants);
  return {
    project: {
      id,
      organization,
      name,
      description,
      createdAt,
      settings: JSON.parse(settings),
      organizationSettings: JSON.parse(organizationSettings),
    },
    counts: {
      projects,
      workspaces: { all, granted },
      teams: { all: teams ?? 0, listed: listed ?? 0, own: own.length },
    },
    stand: standingOn(stand, id, isDefault === 1, own),
    tags: withTags ? unpackedTags(tags) : undefined,
  };
};

/** The caller's standing in the organization, taken to one project of a page. */
const standingOn = (
  stand: Standing,
  project: string,
  onDefaultProject: boolean,
  grants: readonly TeamGrant[],
): Standing => {
  const byTeam = new Map(grants.map(({ team, grant }) => [team, grant]));
  const teams = stand.teams.map(team => ({ ...team, grant: byTeam.get(team.id) }));
  return { ...stand, project, onDefaultProject, teams };
};

type Asker = { readonly tx: Tx };

/** A page of the projects that the caller sees and for which all of `which` holds, and how many it sees at all. */
export const pageOfProjects = async (
  { tx }: Asker,
  stand: Standing,
  which: readonly Sql[],
  page: Page,
  order: Order | undefined,
  withTags: boolean,
): Promise<Listing<Seen> & { readonly seen: number }> => {
  const listed = sql`from projects where ${which.reduce((all, next) => sql`${all} and ${next}`, visible(stand))}`;
  const columnsOfOrder = sql`select projects.id, projects.created_at, lower(projects.name) as sort_name`;
  const rows = await pageOf<Columns>(tx, sql`${columnsOfOrder} ${listed}`, page, order, {
    given: ownIn(stand),
    columns: columns(withoutGrants(stand), withTags),
    join: shownRows,
    ...(which.length === 0
      ? { counted: seen(stand) }
      : { counted: sql`select 1 ${listed}`, totals: [sql`(select count(*) from (${seen(stand)}) as counted)`] }),
  });
  const [all = rows.total] = rows.totals;
  return { items: rows.items.map(row => fromRow(row, all, stand, withTags)), total: rows.total, seen: all };
};

/** One project, if the caller sees it. */
export const projectSeen = async (
  asker: Asker,
  stand: Standing,
  id: string,
  withTags = false,
): Promise<Seen | undefined> => {
  const one = { number: 1, size: 1 };
  const { items } = await pageOfProjects(asker, stand, [sql`projects.id = ${id}`], one, undefined, withTags);
  return items[0];
};

export const defaultProject = 'Default Project';

type NewProject = Pick<Project, 'id' | 'name' | 'description' | 'createdAt'> & { readonly settings?: Settings };

export const addProject = async (
  tx: Tx,
  { id, name, description, createdAt, settings = {} }: NewProject,
  organizationId: string,
  isDefault = false,
): Promise<void> => {
  const added = await tx.run(sql`
    insert into projects (id, organization_id, name, description, settings, is_default, created_at)
    values (
      ${id}, ${organizationId}, ${name}, ${description}, ${JSON.stringify(settings)}, ${isDefault ? 1 : 0}, ${createdAt}
    )
    on conflict (organization_id, lower(name)) do nothing`);
  if (added === 0) throw nameTaken();
};

export const save = async (
  tx: Tx,
  { id, name, description, settings }: Project,
  organizationId: string,
): Promise<void> => {
  const saved = await tx.run(sql`
    update projects
    set name = ${name}, description = ${description}, settings = ${JSON.stringify(settings)}
    where id = ${id} and not exists (
      select 1
      from projects as other
      where other.organization_id = ${organizationId} and lower(other.name) = lower(cast(${name} as ctext)) and other.id <> ${id}
    )`);
  if (saved === 0) throw nameTaken();
};

/** The organization's, of which a project inherits what it leaves open. */
export const settingsOf = async (tx: Tx, organizationId: string): Promise<Settings> => {
  const row = await tx.row<[settings: string]>(sql`select settings from organizations where id = ${organizationId}`);
  return JSON.parse(row?.[0] ?? '{}');
};
