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
import {
  mayManageTeamAccess,
  mayReadOrganization,
  maySeeTeam,
  type Standing,
  sees,
  visibleTeamAccess,
} from '../core/authority.ts';
import { found, invalid } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { teamOnView, within } from '../store/sight.ts';
import { sql } from '../store/sql.ts';
import { columnsOf, everywhere, grantOf, onProject, standing, standings } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource, toOne } from '../wire/document.ts';
import {
  access,
  exactly,
  linkingCreation,
  oneDocument,
  open,
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
const Update = update('team-projects', { ...wishedOnProject, access: optional(access) });

const TeamProjectResource = resource(
  'team-projects',
  { access, 'project-access': shape('project-access'), 'workspace-access': shape('workspace-access') },
  { team: related('teams'), project: related('projects') },
);

type Attributes = { access?: Access } & { [G in Group]?: Readonly<Record<string, unknown>> };

export const wishOnProject = (attributes: Attributes = {}) =>
  wishOf(onProjects, attributes.access, ({ group, key }) => attributes[group]?.[key]);

type TeamProject = {
  readonly id: string;
  readonly project: string;
  readonly team: { readonly id: string; readonly visibility: string };
  readonly grant: Grant;
};

export const shownOnProject = (grant: Grant) => {
  const set = granted(grant);
  const groups: Record<Group, Record<string, unknown>> = { 'project-access': {}, 'workspace-access': {} };
  for (const permission of shownOn(grant)) groups[permission.group][permission.key] = valueIn(set, permission);
  return { access: grant.access, ...groups };
};

const shown = ({ id, project, team, grant }: TeamProject): Resource => ({
  id,
  type: 'team-projects',
  attributes: shownOnProject(grant),
  relationships: { team: toOne('teams', team.id), project: toOne('projects', project) },
  links: { self: pathOf('team-projects', id) },
});

const documentOf = (teamProject: TeamProject): Document => one(shown(teamProject));

// Storage

type Columns = [
  id: string,
  project: string,
  team: string,
  visibility: string,
  access: Access,
  chosen: number | null,
  beyond: number | null,
  createdAt: string,
];

const selected = sql`
  select team_projects.id, team_projects.project_id, team_projects.team_id, teams.visibility,
    team_projects.access, team_projects.chosen, team_projects.beyond, team_projects.created_at
  from team_projects
  join teams on teams.id = team_projects.team_id`;

const fromRow = ([id, project, team, visibility, access, chosen, beyond]: Columns): TeamProject => ({
  id,
  project,
  team: { id: team, visibility },
  grant: grantOf(access, chosen, beyond) as Grant,
});

const load = async (tx: Tx, id: string): Promise<TeamProject | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where team_projects.id = ${id}`);
  return row && fromRow(row);
};

/** One grant for one team on one project: the unique key decides, also between two that come at once. */
export const addTeamProject = async (
  tx: Tx,
  { id, project, team, grant }: Omit<TeamProject, 'team'> & { readonly team: { readonly id: string } },
  organization: string,
  now: string,
) => {
  const { chosen, beyond } = columnsOf(grant);
  const added = await tx.run(sql`
    insert into team_projects (id, organization_id, project_id, team_id, access, chosen, beyond, created_at)
    values (${id}, ${organization}, ${project}, ${team.id}, ${grant.access}, ${chosen}, ${beyond}, ${now})
    on conflict (team_id, project_id) do nothing`);
  if (added === 1) return;
  const existing = await tx.row<[id: string]>(sql`
    select id
    from team_projects
    where team_id = ${team.id} and project_id = ${project}`);
  throw invalid({
    pointer: pointerTo('team'),
    detail: `The team already has access to this project: ${existing?.[0]}`,
    meta: { id: existing?.[0] ?? '' },
  });
};

const save = (tx: Tx, id: string, grant: Grant) => {
  const { chosen, beyond } = columnsOf(grant);
  return tx.run(sql`
    update team_projects
    set access = ${grant.access}, chosen = ${chosen}, beyond = ${beyond}
    where id = ${id}`);
};

// Operations

const wording: Wording = {
  place: 'project',
  pointerAt: ({ group, key }) => `/data/attributes/${group}/${key}`,
  refusal: ({ key }, access) => `${key} cannot be chosen with the access level '${access}': use 'custom'`,
};

/** An audit row about team access is one about the project. */
const on = ({ organization, project }: Standing) => ({ organization, id: project as string });

/** One grant and the caller's standing on its project. */
const reached = async ({ tx, caller, params }: Request<`${typeof path}/:id`>) => {
  const present = found(await load(tx, params.id));
  const stand = found(await standing(tx, caller, onProject(present.project)));
  return { present, stand };
};

const path = '/api/v2/team-projects';
const common = { family: 'team-projects', since: '2023-01-17' } as const;
const answer = oneDocument(TeamProjectResource);

const listing = list({
  ...common,
  path,
  summary: 'List team access to a project',
  requiredFilters: ['filter[project][id]'],
  filters: ['filter[team][id]'],
  success: 200,
  answer: pagedDocument(TeamProjectResource),
  failures: [404],
  run: async request => {
    const { tx, caller, page } = request;
    const project = request.requiredParameter('filter[project][id]');
    const team = request.parameter('filter[team][id]');
    const stand = found(await standing(tx, caller, onProject(project)), mayReadOrganization);
    const rows = await pageOf<Columns>(
      tx,
      sql`${selected}
        where team_projects.project_id = ${project}
          and ${within(visibleTeamAccess(stand), caller)}
          and ${team === undefined ? sql`1 = 1` : sql`teams.id = ${team}`}`,
      page,
    );
    return request.paged(rows, row => shown(fromRow(row)));
  },
});

const show = get({
  ...common,
  path: `${path}/:id`,
  summary: 'Show a team access relationship',
  success: 200,
  answer,
  failures: [404],
  run: async request => {
    const { present, stand } = await reached(request);
    return documentOf(found(present, ({ team }) => sees(visibleTeamAccess(stand), team)));
  },
});

const create = post({
  ...common,
  path,
  summary: 'Add team access to a project',
  audit: { resource: 'project', action: 'add_team' },
  body: Creation,
  success: 200,
  answer,
  failures: [404, 422],
  run: async request => {
    const { tx, caller, now } = request;
    const project = request.named('project');
    // Whoever manages no project at all learns nothing of a body that names none.
    const stands =
      project === undefined
        ? await standings(tx, caller, everywhere(caller))
        : [await standing(tx, caller, onProject(project))];
    const stand = found(
      stands.find(stand => stand && mayManageTeamAccess(stand)),
      undefined,
      pointerTo('project'),
    );
    const teamId = request.named('team');
    if (project === undefined || teamId === undefined) throw request.flaws();
    const team = found(
      await teamOnView(tx, teamId),
      team => team.organization === stand.organization && maySeeTeam(stand, team),
      pointerTo('team'),
    );
    const grant = decided(onProjects, stand, wishOnProject(request.body().data.attributes), undefined, wording);
    const created = { id: request.newId('tprj'), project, team, grant };
    await addTeamProject(tx, created, stand.organization, now);
    const answer = documentOf(created);
    return { answer, change: { ...on(stand), before: null, after: answer.data } };
  },
});

const modify = patch({
  ...common,
  path: `${path}/:id`,
  summary: 'Update team access to a project',
  audit: { resource: 'project', action: 'update_team_permissions' },
  body: Update,
  success: 200,
  answer,
  failures: [404, 412, 422],
  run: async request => {
    const { present, stand } = await reached(request);
    found(stand, mayManageTeamAccess);
    const before = documentOf(present);
    request.expectUnchanged(before);
    const grant = decided(onProjects, stand, wishOnProject(request.body().data.attributes), present.grant, wording);
    const after = documentOf({ ...present, grant });
    await save(request.tx, present.id, grant);
    return { answer: after, change: { ...on(stand), before: before.data, after: after.data } };
  },
});

const destroy = remove({
  ...common,
  path: `${path}/:id`,
  summary: 'Remove team access from a project',
  audit: { resource: 'project', action: 'remove_team' },
  success: 204,
  failures: [404, 412],
  run: async request => {
    const { present, stand } = await reached(request);
    found(stand, mayManageTeamAccess);
    const before = documentOf(present);
    request.expectUnchanged(before);
    await request.tx.run(sql`delete from team_projects where id = ${present.id}`);
    return { answer: undefined, change: { ...on(stand), before: before.data, after: null } };
  },
});

export const teamProjects = [listing, show, create, modify, destroy];
