/** What a team may do on a project: one `team-projects` resource per team and project. */

import {
  type Access,
  type Grant,
  granted,
  onProjects,
  type Permission,
  permissions,
  shownOn,
  valueIn,
} from '../core/access.ts';
import { mayManageTeamAccess, mayReadOrganization, visibleTeamAccess } from '../core/authority.ts';
import { sql } from '../store/sql.ts';
import { atTeamProject, onProject } from '../store/standing.ts';
import {
  access,
  exactly,
  linkingCreation,
  linkingItem,
  open,
  optional,
  related,
  resource,
  type TSchema,
  update,
} from '../wire/schemas.ts';
import { teamAccess } from './team-access.ts';
import { teamAccessList } from './team-access-list.ts';
import { teamAccessResource, valueSchema, wishOf } from './team-access-resource.ts';

type Group = Permission['group'];

const permissionSchemas = (group: Group, wrap: (schema: TSchema, later: boolean) => TSchema) =>
  Object.fromEntries(
    permissions
      .filter(permission => permission.group === group)
      .map(permission => [permission.key, wrap(valueSchema(permission), permission.later)]),
  );

const wished = (group: Group) => optional(open(permissionSchemas(group, schema => optional(schema))));
const shape = (group: Group) =>
  exactly(permissionSchemas(group, (schema, later) => (later ? optional(schema) : schema)));

export const wishedOnProject = {
  access,
  'project-access': wished('project-access'),
  'workspace-access': wished('workspace-access'),
};

const Creation = linkingCreation('team-projects', wishedOnProject, { project: 'projects', team: 'teams' });
const Item = linkingItem('team-projects', wishedOnProject, { team: 'teams' });
const Update = update('team-projects', { ...wishedOnProject, access: optional(access) });

const Shown = resource(
  'team-projects',
  { access, 'project-access': shape('project-access'), 'workspace-access': shape('workspace-access') },
  { team: related('teams'), project: related('projects') },
);

type Attributes = { access?: Access } & { [G in Group]?: Readonly<Record<string, unknown>> };

export const wishOnProject = (attributes: Attributes = {}) =>
  wishOf(onProjects, attributes.access, ({ group, key }) => attributes[group]?.[key]);

export const shownOnProject = (grant: Grant) => {
  const set = granted(grant);
  const groups: Record<Group, Record<string, unknown>> = { 'project-access': {}, 'workspace-access': {} };
  for (const permission of shownOn(grant)) groups[permission.group][permission.key] = valueIn(set, permission);
  return { access: grant.access, ...groups };
};

const teamProject = teamAccessResource({
  type: 'team-projects',
  since: '2023-01-17',
  place: 'project',
  prefix: 'tprj',
  table: sql`team_projects`,
  column: sql`project_id`,
  at: onProject,
  atGrant: atTeamProject,
  kind: onProjects,
  Creation,
  Update,
  Shown,
  wished: wishOnProject,
  attributesOf: shownOnProject,
  pointerAt: ({ group, key }) => `${group}/${key}`,
  refusal: ({ key }, access) => `${key} cannot be chosen with the access level '${access}': use 'custom'`,
  mayList: mayReadOrganization,
  mayManage: mayManageTeamAccess,
  sight: visibleTeamAccess,
});

export const { add: addTeamProject } = teamProject;

export const teamProjects = [...teamAccess(teamProject), ...teamAccessList(teamProject, Item)];
