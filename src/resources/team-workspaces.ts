/** What a team may do on a single workspace: one `team-workspaces` resource per team and workspace. */

import {
  type Access,
  onWorkspaces,
  type Permission,
  valueIn,
  type WorkspaceGrant,
  type WorkspaceLevel,
  workspaceAccesses,
} from '../core/access.ts';
import { mayAdministerWorkspace, mayReadWorkspace, visibleWorkspaceAccess } from '../core/authority.ts';
import { sql } from '../store/sql.ts';
import { atTeamWorkspace, onWorkspace } from '../store/standing.ts';
import { linkingCreation, oneOf, optional, related, resource, type TSchema, update } from '../wire/schemas.ts';
import { teamAccess } from './team-access.ts';
import { teamAccessResource, valueSchema, wishOf } from './team-access-resource.ts';

/** The permissions are those of `workspace-access`, one of them by a longer name. */
export const attributeOf = ({ key }: Permission): string => (key === 'locking' ? 'workspace-locking' : key);

const permissionSchemas = (wrap: (schema: TSchema, permission: Permission) => TSchema) =>
  Object.fromEntries(onWorkspaces.choosable.map(each => [attributeOf(each), wrap(valueSchema(each), each)]));

const access = oneOf(...workspaceAccesses);
export const wishedOnWorkspace = { access, ...permissionSchemas(schema => optional(schema)) };

const Creation = linkingCreation('team-workspaces', wishedOnWorkspace, { workspace: 'workspaces', team: 'teams' });
const Update = update('team-workspaces', { ...wishedOnWorkspace, access: optional(access) });

const Shown = resource(
  'team-workspaces',
  { access, ...permissionSchemas((schema, { later }) => (later ? optional(schema) : schema)) },
  { team: related('teams'), workspace: related('workspaces') },
);

type Attributes = { access?: Access<WorkspaceLevel> } & Readonly<Record<string, unknown>>;

export const wishOnWorkspace = (attributes: Attributes = {}) =>
  wishOf(onWorkspaces, attributes.access, permission => attributes[attributeOf(permission)]);

export const shownOnWorkspace = (grant: WorkspaceGrant) => {
  const set = onWorkspaces.granted(grant);
  const values = onWorkspaces.shownOn(grant).map(each => [attributeOf(each), valueIn(set, each)]);
  return { access: grant.access, ...Object.fromEntries(values) };
};

const humanised = (attribute: string): string =>
  `${attribute.charAt(0).toUpperCase()}${attribute.slice(1).replaceAll('-', ' ')}`;

const teamWorkspace = teamAccessResource({
  type: 'team-workspaces',
  since: 'before the dated list',
  place: 'workspace',
  prefix: 'tws',
  table: sql`team_workspaces`,
  column: sql`workspace_id`,
  at: onWorkspace,
  atGrant: atTeamWorkspace,
  kind: onWorkspaces,
  Creation,
  Update,
  Shown,
  wished: wishOnWorkspace,
  attributesOf: shownOnWorkspace,
  pointerAt: attributeOf,
  // Worded as clients compare it.
  refusal: (permission, level) =>
    `${humanised(attributeOf(permission))} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
  mayList: mayReadWorkspace,
  mayManage: mayAdministerWorkspace,
  sight: visibleWorkspaceAccess,
});

export const { add: addTeamWorkspace } = teamWorkspace;

export const teamWorkspaces = teamAccess(teamWorkspace);
