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
import {
  mayAdministerWorkspace,
  mayReadWorkspace,
  maySeeTeam,
  type Standing,
  sees,
  visibleWorkspaceAccess,
} from '../core/authority.ts';
import { found, invalid } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { teamOnView, within } from '../store/sight.ts';
import { sql } from '../store/sql.ts';
import { columnsOf, everywhere, grantOf, onWorkspace, standing, standings } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource, toOne } from '../wire/document.ts';
import {
  linkingCreation,
  oneDocument,
  oneOf,
  optional,
  pagedDocument,
  related,
  resource,
  type TSchema,
  update,
} from '../wire/schemas.ts';
import { get, list, patch, pointerTo, post, type Request, remove } from './operation.ts';
import { decided, valueSchema, type Wording, wishOf } from './team-access.ts';

// Shape

/** The permissions are those of `workspace-access`, one of them by a longer name. */
export const attributeOf = ({ key }: Permission): string => (key === 'locking' ? 'workspace-locking' : key);

const permissionSchemas = (wrap: (schema: TSchema, permission: Permission) => TSchema) =>
  Object.fromEntries(onWorkspaces.choosable.map(each => [attributeOf(each), wrap(valueSchema(each), each)]));

const access = oneOf(...workspaceAccesses);
export const wishedOnWorkspace = { access, ...permissionSchemas(schema => optional(schema)) };

const Creation = linkingCreation('team-workspaces', wishedOnWorkspace, { workspace: 'workspaces', team: 'teams' });
const Update = update('team-workspaces', { ...wishedOnWorkspace, access: optional(access) });

const TeamWorkspaceResource = resource(
  'team-workspaces',
  { access, ...permissionSchemas((schema, { later }) => (later ? optional(schema) : schema)) },
  { team: related('teams'), workspace: related('workspaces') },
);

type Attributes = { access?: Access<WorkspaceLevel> } & Readonly<Record<string, unknown>>;

export const wishOnWorkspace = (attributes: Attributes = {}) =>
  wishOf(onWorkspaces, attributes.access, permission => attributes[attributeOf(permission)]);

const humanised = (attribute: string): string =>
  `${attribute.charAt(0).toUpperCase()}${attribute.slice(1).replaceAll('-', ' ')}`;

/** The refusal is worded as clients compare it. */
const wording: Wording = {
  place: 'workspace',
  pointerAt: permission => `/data/attributes/${attributeOf(permission)}`,
  refusal: (permission, level) =>
    `${humanised(attributeOf(permission))} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
};

type TeamWorkspace = {
  readonly id: string;
  readonly workspace: string;
  readonly team: { readonly id: string; readonly visibility: string };
  readonly grant: WorkspaceGrant;
};

export const shownOnWorkspace = (grant: WorkspaceGrant) => {
  const set = onWorkspaces.granted(grant);
  const values = onWorkspaces.shownOn(grant).map(each => [attributeOf(each), valueIn(set, each)]);
  return { access: grant.access, ...Object.fromEntries(values) };
};

const shown = ({ id, workspace, team, grant }: TeamWorkspace): Resource => ({
  id,
  type: 'team-workspaces',
  attributes: shownOnWorkspace(grant),
  relationships: { team: toOne('teams', team.id), workspace: toOne('workspaces', workspace) },
  links: { self: pathOf('team-workspaces', id) },
});

const documentOf = (teamWorkspace: TeamWorkspace): Document => one(shown(teamWorkspace));

// Storage

type Columns = [
  id: string,
  workspace: string,
  team: string,
  visibility: string,
  access: Access<WorkspaceLevel>,
  chosen: number | null,
  beyond: number | null,
  createdAt: string,
];

const selected = sql`
  select team_workspaces.id, team_workspaces.workspace_id, team_workspaces.team_id, teams.visibility,
    team_workspaces.access, team_workspaces.chosen, team_workspaces.beyond, team_workspaces.created_at
  from team_workspaces
  join teams on teams.id = team_workspaces.team_id`;

const fromRow = ([id, workspace, team, visibility, access, chosen, beyond]: Columns): TeamWorkspace => ({
  id,
  workspace,
  team: { id: team, visibility },
  grant: grantOf<WorkspaceLevel>(access, chosen, beyond) as WorkspaceGrant,
});

const load = async (tx: Tx, id: string): Promise<TeamWorkspace | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where team_workspaces.id = ${id}`);
  return row && fromRow(row);
};

/** One grant for one team on one workspace: the unique key decides, also between two that come at once. */
export const addTeamWorkspace = async (
  tx: Tx,
  { id, workspace, team, grant }: Omit<TeamWorkspace, 'team'> & { readonly team: { readonly id: string } },
  organization: string,
  now: string,
) => {
  const { chosen, beyond } = columnsOf(grant);
  const added = await tx.run(sql`
    insert into team_workspaces (id, organization_id, workspace_id, team_id, access, chosen, beyond, created_at)
    values (${id}, ${organization}, ${workspace}, ${team.id}, ${grant.access}, ${chosen}, ${beyond}, ${now})
    on conflict (team_id, workspace_id) do nothing`);
  if (added === 1) return;
  const existing = await tx.row<[id: string]>(sql`
    select id
    from team_workspaces
    where team_id = ${team.id} and workspace_id = ${workspace}`);
  throw invalid({
    pointer: pointerTo('team'),
    detail: `The team already has access to this workspace: ${existing?.[0]}`,
    meta: { id: existing?.[0] ?? '' },
  });
};

const save = (tx: Tx, id: string, grant: WorkspaceGrant) => {
  const { chosen, beyond } = columnsOf(grant);
  return tx.run(sql`
    update team_workspaces
    set access = ${grant.access}, chosen = ${chosen}, beyond = ${beyond}
    where id = ${id}`);
};

// Operations

/** An audit row about team access is one about the workspace. */
const on = ({ organization, workspace }: Standing) => ({ organization, id: workspace as string });

const path = '/api/v2/team-workspaces';

/** One grant and the caller's standing on its workspace. */
const reached = async ({ tx, caller, params }: Request<`${typeof path}/:id`>) => {
  const present = found(await load(tx, params.id));
  const stand = found(await standing(tx, caller, onWorkspace(present.workspace)));
  return { present, stand };
};

const common = { family: 'team-workspaces', since: 'before the dated list' } as const;
const answer = oneDocument(TeamWorkspaceResource);

const listing = list({
  ...common,
  path,
  summary: 'List team access to a workspace',
  requiredFilters: ['filter[workspace][id]'],
  filters: ['filter[team][id]'],
  success: 200,
  answer: pagedDocument(TeamWorkspaceResource),
  failures: [404],
  run: async request => {
    const { tx, caller, page } = request;
    const workspace = request.requiredParameter('filter[workspace][id]');
    const team = request.parameter('filter[team][id]');
    const stand = found(await standing(tx, caller, onWorkspace(workspace)), mayReadWorkspace);
    const rows = await pageOf<Columns>(
      tx,
      sql`${selected}
        where team_workspaces.workspace_id = ${workspace}
          and ${within(visibleWorkspaceAccess(stand), caller)}
          and ${team === undefined ? sql`1 = 1` : sql`teams.id = ${team}`}`,
      page,
    );
    return request.paged(rows, row => shown(fromRow(row)));
  },
});

const show = get({
  ...common,
  path: `${path}/:id`,
  summary: 'Show the access of a team to a workspace',
  success: 200,
  answer,
  failures: [404],
  run: async request => {
    const { present, stand } = await reached(request);
    return documentOf(found(present, ({ team }) => sees(visibleWorkspaceAccess(stand), team)));
  },
});

const create = post({
  ...common,
  path,
  summary: 'Add team access to a workspace',
  audit: { resource: 'workspace', action: 'add_team' },
  body: Creation,
  success: 200,
  answer,
  failures: [404, 422],
  run: async request => {
    const { tx, caller, now } = request;
    const workspace = request.named('workspace');
    // Whoever administers no workspace at all learns nothing of a body that names none.
    const stands = await standings(tx, caller, workspace === undefined ? everywhere(caller) : onWorkspace(workspace));
    const stand = found(stands.find(mayAdministerWorkspace), undefined, pointerTo('workspace'));
    const teamId = request.named('team');
    if (workspace === undefined || teamId === undefined) throw request.flaws();
    const team = found(
      await teamOnView(tx, teamId),
      team => team.organization === stand.organization && maySeeTeam(stand, team),
      pointerTo('team'),
    );
    const grant = decided(onWorkspaces, stand, wishOnWorkspace(request.body().data.attributes), undefined, wording);
    const created = { id: request.newId('tws'), workspace, team, grant };
    await addTeamWorkspace(tx, created, stand.organization, now);
    const answer = documentOf(created);
    return { answer, change: { ...on(stand), before: null, after: answer.data } };
  },
});

const modify = patch({
  ...common,
  path: `${path}/:id`,
  summary: 'Update team access to a workspace',
  audit: { resource: 'workspace', action: 'update_team_permissions' },
  body: Update,
  success: 200,
  answer,
  failures: [404, 412, 422],
  run: async request => {
    const { present, stand } = await reached(request);
    found(stand, mayAdministerWorkspace);
    const before = documentOf(present);
    request.expectUnchanged(before);
    const grant = decided(onWorkspaces, stand, wishOnWorkspace(request.body().data.attributes), present.grant, wording);
    const after = documentOf({ ...present, grant });
    await save(request.tx, present.id, grant);
    return { answer: after, change: { ...on(stand), before: before.data, after: after.data } };
  },
});

const destroy = remove({
  ...common,
  path: `${path}/:id`,
  summary: 'Remove team access from a workspace',
  audit: { resource: 'workspace', action: 'remove_team' },
  success: 204,
  failures: [404, 412],
  run: async request => {
    const { present, stand } = await reached(request);
    found(stand, mayAdministerWorkspace);
    const before = documentOf(present);
    request.expectUnchanged(before);
    await request.tx.run(sql`delete from team_workspaces where id = ${present.id}`);
    return { answer: undefined, change: { ...on(stand), before: before.data, after: null } };
  },
});

export const teamWorkspaces = [listing, show, create, modify, destroy];
