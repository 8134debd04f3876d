/** A workspace as it is shown and stored. What is run in it is outside our subject; who may run it is not. */

import type { Level, WorkspaceLevel } from '../core/access.ts';
import { type Standing, sees, visibleTeams } from '../core/authority.ts';
import { nameTaken } from '../core/fault.ts';
import { type Sql, sql } from '../store/sql.ts';
import { packedGrant, unpackedGrants } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { identifier, pathOf, type Resource, toOne } from '../wire/document.ts';
import {
  count,
  exactly,
  flag,
  linked,
  linkedMany,
  listOf,
  nothingRelated,
  oneOf,
  orNull,
  related,
  relatedAnyOrNone,
  relatedMany,
  resource,
  text,
  time,
} from '../wire/schemas.ts';
import { defaultMode } from './execution-mode.ts';
import { permissionsOnWorkspace } from './workspace-permissions.ts';
import { type Inherited, type Settings, SettingsShape, shownSettings } from './workspace-settings.ts';

// Shape

export const WorkspaceResource = resource(
  'workspaces',
  {
    name: text,
    ...SettingsShape,
    actions: exactly({ 'is-destroyable': flag }),
    'can-queue-destroy-plan': flag,
    'created-at': time,
    'updated-at': time,
    'latest-change-at': time,
    environment: text,
    locked: flag,
    'locked-reason': orNull(text),
    'no-code-upgrade-available': flag,
    source: oneOf('tfe-api'),
    'source-module-id': orNull(text),
    'resource-count': count,
    'apply-duration-average': orNull(count),
    'plan-duration-average': orNull(count),
    'policy-check-failures': orNull(count),
    'run-failures': orNull(count),
    'workspace-kpis-runs-count': orNull(count),
    'tag-names': listOf(text),
    'hyok-enabled': flag,
    permissions: permissionsOnWorkspace.schema,
  },
  {
    organization: related('organizations'),
    project: related('projects'),
    'locked-by': relatedAnyOrNone('users', 'teams', 'organizations'),
    'agent-pool': nothingRelated,
    'current-run': nothingRelated,
    'current-state-version': nothingRelated,
    'current-configuration-version': nothingRelated,
    'ssh-key': nothingRelated,
    'data-retention-policy': nothingRelated,
    outputs: relatedMany('workspace-outputs'),
    vars: relatedMany('vars'),
    tags: linked,
    'remote-state-consumers': linked,
    'tag-bindings': linked,
    'effective-tag-bindings': linkedMany('effective-tag-bindings'),
  },
  exactly({ self: text, 'self-html': text }),
);

/** Who locked it, and who sees that; nobody does when it is gone from the organization. */
export type Lock = {
  readonly type: string;
  readonly id: string;
  readonly reason: string | null;
  readonly visibility: string | null;
};

export type Workspace = {
  readonly id: string;
  readonly organization: string;
  readonly project: string;
  readonly name: string;
  readonly settings: Settings;
  readonly inherited: Inherited;
  readonly lock: Lock | null;
  readonly tagNames: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
};

const none = { data: null };

/** The holder of a lock, where the caller sees it: a secret team locks without a name. */
export const lockedBy = ({ lock, organization }: Workspace, standing: Standing) => {
  if (lock === null) return null;
  if (lock.type === 'organizations') return identifier(lock.type, organization);
  const visible =
    lock.visibility !== null && sees(visibleTeams(standing), { id: lock.id, visibility: lock.visibility });
  return visible ? identifier(lock.type, lock.id) : null;
};

/** The tags are named where they are asked for. */
export const shown = (
  workspace: Workspace,
  standing: Standing,
  tags?: readonly { readonly id: string }[],
): Resource => {
  const { id, organization, project, name, settings, inherited, lock, tagNames, createdAt, updatedAt } = workspace;
  const permissions = permissionsOnWorkspace.of(standing);
  const set = shownSettings(settings, inherited);
  const path = `${organization}/workspaces/${name}`;
  const link = (relation: string) => ({ links: { related: `${pathOf('workspaces', id)}/${relation}` } });
  return {
    id,
    type: 'workspaces',
    attributes: {
      name,
      ...set,
      actions: { 'is-destroyable': true },
      'can-queue-destroy-plan': permissions['can-queue-destroy'] && set['allow-destroy-plan'],
      'created-at': createdAt,
      'updated-at': updatedAt,
      'latest-change-at': updatedAt,
      environment: 'default',
      locked: lock !== null,
      'locked-reason': lock?.reason ?? null,
      'no-code-upgrade-available': false,
      source: 'tfe-api',
      'source-module-id': null,
      'resource-count': 0,
      'apply-duration-average': null,
      'plan-duration-average': null,
      'policy-check-failures': null,
      'run-failures': null,
      'workspace-kpis-runs-count': null,
      'tag-names': tagNames,
      'hyok-enabled': false,
      permissions,
    },
    relationships: {
      organization: toOne('organizations', organization),
      project: toOne('projects', project),
      'locked-by': { data: lockedBy(workspace, standing) },
      'agent-pool': none,
      'current-run': none,
      'current-state-version': none,
      'current-configuration-version': none,
      'ssh-key': none,
      'data-retention-policy': none,
      outputs: { data: [] },
      vars: { data: [] },
      tags: link('relationships/tags'),
      'remote-state-consumers': link('relationships/remote-state-consumers'),
      'tag-bindings': link('tag-bindings'),
      'effective-tag-bindings': {
        ...(tags && { data: tags.map(({ id }) => identifier('effective-tag-bindings', id)) }),
        ...link('effective-tag-bindings'),
      },
    },
    links: { self: pathOf('organizations', path), 'self-html': `/app/${path}` },
  };
};

// Storage

export type Columns = [
  id: string,
  organization: string,
  project: string,
  name: string,
  settings: string,
  lockedByType: string | null,
  lockedById: string | null,
  lockReason: string | null,
  lockVisibility: string | null,
  createdAt: string,
  updatedAt: string,
  isDefault: number,
  projectSettings: string,
  organizationSettings: string,
  tagNames: string | null,
  grants: string | null,
  workspaceGrants: string | null,
];

/** With the grants of these teams, so that a whole page knows what the caller may do on each workspace of it. */
export const selected = (teams: Sql): Sql => sql`
  select workspaces.id, organizations.name as organization_name, workspaces.project_id, workspaces.name,
    workspaces.settings, workspaces.locked_by_type, workspaces.locked_by_id, workspaces.lock_reason,
    coalesce(
      (select teams.visibility from teams where teams.id = workspaces.locked_by_id),
      (
        select 'organization'
        from organization_memberships
        where user_id = workspaces.locked_by_id
          and organization_memberships.organization_id = workspaces.organization_id
      )
    ) as locked_by_visibility,
    workspaces.created_at, workspaces.updated_at, projects.is_default, projects.settings as project_settings,
    organizations.settings as organization_settings,
    (
      select string_agg(key, ',' order by key)
      from tag_bindings
      where tag_bindings.workspace_id = workspaces.id and value = ''
    ) as tag_names,
    (
      select string_agg(${packedGrant}, ',')
      from team_projects
      where team_projects.project_id = workspaces.project_id and team_projects.team_id in (${teams})
    ) as grants,
    (
      select string_agg(${packedGrant}, ',')
      from team_workspaces
      where team_workspaces.workspace_id = workspaces.id and team_workspaces.team_id in (${teams})
    ) as workspace_grants, lower(workspaces.name) as lower_name
  from workspaces
  join projects on projects.id = workspaces.project_id
  join organizations on organizations.id = workspaces.organization_id`;

type Defaults = {
  readonly 'default-execution-mode'?: Inherited['executionMode'] | null;
  readonly 'auto-destroy-activity-duration'?: string | null;
};

/** From the project, and what it leaves open from the organization. */
export const inheritedFrom = (projectSettings: string, organizationSettings: string): Inherited => {
  const project: Defaults = JSON.parse(projectSettings);
  const organization: Defaults = JSON.parse(organizationSettings);
  return {
    executionMode: project['default-execution-mode'] ?? organization['default-execution-mode'] ?? defaultMode,
    autoDestroyActivityDuration: project['auto-destroy-activity-duration'] ?? null,
  };
};

export const fromRow = (row: Columns): Workspace => {
  const [id, organization, project, name, settings, lockType, lockId, reason, visibility, createdAt, updatedAt] = row;
  const [projectSettings, organizationSettings, tagNames] = [row[12], row[13], row[14]];
  return {
    id,
    organization,
    project,
    name,
    settings: JSON.parse(settings),
    inherited: inheritedFrom(projectSettings, organizationSettings),
    lock: lockType === null || lockId === null ? null : { type: lockType, id: lockId, reason, visibility },
    tagNames: tagNames?.split(',') ?? [],
    createdAt,
    updatedAt,
  };
};

const byTeam = <L extends Level | WorkspaceLevel>(packed: string | null) =>
  new Map(unpackedGrants<L>(packed).map(({ team, grant }) => [team, grant]));

/** The caller's standing in the organization, taken to one workspace of a page. */
export const standingOn = (stand: Standing, row: Columns): Standing => {
  const grants = byTeam<Level>(row[15]);
  const workspaceGrants = byTeam<WorkspaceLevel>(row[16]);
  return {
    ...stand,
    project: row[2],
    onDefaultProject: row[11] === 1,
    workspace: row[0],
    teams: stand.teams.map(team => ({
      ...team,
      grant: grants.get(team.id),
      workspaceGrant: workspaceGrants.get(team.id),
    })),
  };
};

export const load = async (tx: Tx, id: string): Promise<Workspace | undefined> => {
  const row = await tx.row<Columns>(sql`${selected(sql`null`)} where workspaces.id = ${id}`);
  return row && fromRow(row);
};

export type NewWorkspace = {
  readonly id: string;
  readonly organizationId: string;
  readonly project: string;
  readonly name: string;
  readonly settings: Settings;
  readonly createdAt: string;
  readonly updatedAt?: string;
  readonly lock?: Omit<Lock, 'visibility'> | null;
};

export const addWorkspace = async (tx: Tx, workspace: NewWorkspace): Promise<void> => {
  const { id, organizationId, project, name, settings, createdAt, updatedAt = createdAt, lock = null } = workspace;
  const added = await tx.run(sql`
    insert into workspaces (
      id, organization_id, project_id, name, settings, locked_by_type, locked_by_id, lock_reason, created_at, updated_at
    )
    values (
      ${id}, ${organizationId}, ${project}, ${name}, ${JSON.stringify(settings)}, ${lock?.type ?? null},
      ${lock?.id ?? null}, ${lock?.reason ?? null}, ${createdAt}, ${updatedAt}
    )
    on conflict (organization_id, lower(name)) do nothing`);
  if (added === 0) throw nameTaken();
};

export const save = async (tx: Tx, { id, project, name, settings, lock, updatedAt }: Workspace): Promise<void> => {
  const saved = await tx.run(sql`
    update workspaces
    set project_id = ${project}, name = ${name}, settings = ${JSON.stringify(settings)},
      locked_by_type = ${lock?.type ?? null}, locked_by_id = ${lock?.id ?? null},
      lock_reason = ${lock?.reason ?? null}, updated_at = ${updatedAt}
    where id = ${id} and not exists (
      select 1
      from workspaces as other
      where other.organization_id = workspaces.organization_id
        and lower(other.name) = lower(cast(${name} as ctext)) and other.id <> ${id}
    )`);
  if (saved === 0) throw nameTaken();
};
