/** Projects: every organization has a default one, and workspaces and team access live in them. */

import {
  mayCreateProject,
  mayCreateWorkspace,
  mayDeleteProject,
  mayMoveWorkspace,
  mayReadOrganization,
  mayReadProject,
  mayUpdateProject,
  type Standing,
} from '../core/authority.ts';
import { Fault, found, refused } from '../core/fault.ts';
import { contains, isAmong } from '../store/search.ts';
import { type Sql, sql } from '../store/sql.ts';
import {
  inOrganizationNamed,
  onProject,
  onWorkspaces,
  packedGrant,
  standing,
  standings,
  standingWithGrants,
  type TeamGrant,
} from '../store/standing.ts';
import { type Document, one } from '../wire/document.ts';
import {
  count,
  exactly,
  literal,
  oneDocument,
  open,
  optional,
  orNull,
  pagedDocument,
  pagination,
  references,
  ruled,
  text,
  upTo,
} from '../wire/schemas.ts';
import { get, list, patch, post, remove } from './operation.ts';
import {
  addProject,
  included,
  ProjectResource,
  pageOfProjects,
  projectSeen,
  type Seen,
  save,
  settingsOf,
  shown,
} from './project-resource.ts';
import { changedSettings, settable } from './project-settings.ts';
import type { Request } from './request.ts';
import { EffectiveTagBindingResource, saveTags, tagFilters, taggedProjects, wishedTags } from './tag-bindings.ts';

// Shape

export const projectName = ruled(
  '^[A-Za-z0-9_-][A-Za-z0-9 _-]{1,38}[A-Za-z0-9_-]$',
  'Name may only contain letters, digits, spaces, hyphens and underscores, with 3 to 40 characters and no space at either end',
);
export const settableOfProject = { description: optional(orNull(upTo(256))), ...settable };
const relationships = optional(open(wishedTags));

const Creation = open({
  data: open({
    type: literal('projects'),
    attributes: open({ name: projectName, ...settableOfProject }),
    relationships,
  }),
});
const Update = open({
  data: open({
    type: optional(literal('projects')),
    id: optional(text),
    attributes: optional(open({ name: optional(projectName), ...settableOfProject })),
    relationships,
  }),
});

const documentOf = (seen: Seen): Document => one(shown(seen), seen.tags && included([seen]));

// Filters

const permissionFilters: Readonly<Record<string, (standing: Standing) => boolean>> = {
  'filter[permissions][create-workspace]': mayCreateWorkspace,
  'filter[permissions][update]': mayUpdateProject,
  'filter[permissions][move-stack]': mayMoveWorkspace,
};

/** What `may` says of one project, said of every row of a query over `projects`. */
const allowed = (may: (standing: Standing) => boolean, stand: Standing, grants: readonly TeamGrant[]): Sql => {
  if (may(stand)) return sql`1 = 1`;
  // Each of these permissions is reached by one grant alone or not at all, so that they can be asked one by one.
  const enough = grants.filter(({ team, grant }) =>
    may({ ...stand, teams: stand.teams.map(each => (each.id === team ? { ...each, grant } : each)) }),
  );
  const byDefault = may({ ...stand, onDefaultProject: true }) ? sql`projects.is_default = 1` : sql`1 = 0`;
  return sql`(${byDefault} or exists (
    select 1
    from team_projects
    where team_projects.project_id = projects.id and ${packedGrant} in (${enough.map(({ packed }) => packed)})
  ))`;
};

/** By name: one of several whole ones, or a part of it. */
const named = (request: Request): Sql[] => {
  const names = request.valuesOf('filter[names]') ?? [];
  if (names.length > 0) return [isAmong(sql`projects.name`, names)];
  const part = request.parameter('q') ?? '';
  return part === '' ? [] : [contains(sql`projects.name`, part)];
};

// Operations

const inOrganization = '/api/v2/organizations/:organization/projects';
const path = '/api/v2/projects/:id';
const common = { family: 'projects', since: '2023-01-17' } as const;
const answer = oneDocument(ProjectResource, EffectiveTagBindingResource);
const tags = 'effective-tag-bindings';

const reached = async (request: Request<typeof path>, may: (standing: Standing) => boolean) => {
  const { tx, caller, params } = request;
  const stand = found(await standing(tx, caller, onProject(params.id)), may);
  return { stand, present: found(await projectSeen(request, stand, params.id)) };
};

/** The caller's standing in the organization, with the grants on its projects where a filter needs them. */
const standingIn = async ({ tx, caller, params }: Request<typeof inOrganization>, withGrants: boolean) => {
  if (withGrants) return standingWithGrants(tx, caller, params.organization);
  const stand = await standing(tx, caller, inOrganizationNamed(params.organization));
  return stand && { stand, grants: [] };
};

const about = ({ organization }: Standing, id: string) => ({ organization, id, project: id });

const listing = list({
  ...common,
  path: inOrganization,
  summary: 'List the projects of an organization',
  filters: ['filter[names]', 'q', ...Object.keys(permissionFilters), ...tagFilters],
  sorts: ['name'],
  includes: [tags],
  success: 200,
  answer: pagedDocument(ProjectResource, {
    included: [EffectiveTagBindingResource],
    meta: { ...pagination, 'status-counts': exactly({ total: count, matching: count }) },
  }),
  failures: [404],
  run: async request => {
    const { page, sort } = request;
    const withTags = request.includes(tags);
    const asked = Object.entries(permissionFilters).flatMap(([name, may]) => (request.flag(name) ? [may] : []));
    const { stand, grants } = found(await standingIn(request, asked.length > 0), ({ stand }) =>
      mayReadOrganization(stand),
    );
    const which = [...named(request), ...taggedProjects(request), ...asked.map(may => allowed(may, stand, grants))];
    const listed = await pageOfProjects(
      request,
      stand,
      which,
      page,
      sort && [{ column: sql`sort_name`, descending: sort.descending }],
      withTags,
    );
    const answer = request.paged(listed, shown, {
      ...(withTags && { included: included(listed.items) }),
      meta: { 'status-counts': { total: listed.seen, matching: listed.total } },
    });
    // One Go client reads the page under `pagination`, the other looks for it right here.
    return { ...answer, meta: { ...(answer.meta?.pagination as object), ...answer.meta } };
  },
});

const show = get({
  ...common,
  path,
  summary: 'Show a project',
  includes: [tags],
  success: 200,
  answer,
  failures: [404],
  run: async request => {
    const withTags = request.includes(tags);
    const stand = found(await standing(request.tx, request.caller, onProject(request.params.id)), mayReadProject);
    return documentOf(found(await projectSeen(request, stand, request.params.id, withTags)));
  },
});

const create = post({
  ...common,
  path: inOrganization,
  summary: 'Create a project',
  audit: { resource: 'project', action: 'create' },
  body: Creation,
  success: 201,
  answer,
  failures: [404, 422],
  run: async request => {
    const { tx, caller, params, now } = request;
    const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayCreateProject);
    const { attributes, relationships } = request.body().data;
    const { name, description = null } = attributes;
    const settings = changedSettings({}, attributes, await settingsOf(tx, stand.organization));
    const id = request.newId('prj');
    await request.affecting({ organization: stand.organization, teams: 'holders', projects: [id] });
    await addProject(tx, { id, name, description, createdAt: now, settings }, stand.organization);
    const tags = relationships?.['tag-bindings'];
    const bound = tags && (await saveTags(request, { type: 'projects', id }, tags.data));
    const answer = documentOf(found(await projectSeen(request, stand, id)));
    const after = { ...answer.data, ...bound?.after };
    return { answer, change: { ...about(stand, id), before: null, after } };
  },
});

const modify = patch({
  ...common,
  path,
  summary: 'Update a project',
  audit: { resource: 'project', action: 'update' },
  body: Update,
  success: 200,
  answer,
  failures: [404, 412, 422],
  run: async request => {
    const { stand, present } = await reached(request, mayUpdateProject);
    const before = documentOf(present);
    request.expectUnchanged(before);
    const { attributes = {}, relationships } = request.body().data;
    const { project } = present;
    const { name = project.name, description = project.description } = attributes;
    const settings = changedSettings(project.settings, attributes, project.organizationSettings);
    const next = { ...present, project: { ...project, name, description, settings } };
    await save(request.tx, next.project, stand.organization);
    const tags = relationships?.['tag-bindings'];
    const bound = tags && (await saveTags(request, { type: 'projects', id: project.id }, tags.data));
    const answer = documentOf(next);
    const change = {
      ...about(stand, project.id),
      before: { ...before.data, ...bound?.before },
      after: { ...answer.data, ...bound?.after },
    };
    return { answer, change };
  },
});

const destroy = remove({
  ...common,
  path,
  summary: 'Delete a project and all team access to it',
  audit: { resource: 'project', action: 'destroy' },
  success: 204,
  failures: [404, 412, 422],
  run: async request => {
    const { stand, present } = await reached(request, mayDeleteProject);
    const before = documentOf(present);
    request.expectUnchanged(before);
    if (stand.onDefaultProject) throw refused('The default project of an organization cannot be deleted.');
    const { id } = present.project;
    await request.affecting({ organization: stand.organization, teams: 'holders', projects: [id] });
    const removed = await request.tx.run(sql`
      delete from projects
      where id = ${id} and not exists (select 1 from workspaces where project_id = ${id})`);
    if (removed === 0) throw refused('A project that has workspaces cannot be deleted: move or delete them first.');
    return { answer: undefined, change: { ...about(stand, id), before: before.data, after: null } };
  },
});

const moveIn = post({
  ...common,
  path: `${path}/relationships/workspaces`,
  summary: 'Move workspaces into a project: all of those named, or none',
  audit: { resource: 'project', action: 'move_workspaces' },
  body: references('workspaces'),
  success: 204,
  failures: [403, 404, 422],
  run: async request => {
    const { tx, caller, params, now } = request;
    const stand = found(await standing(tx, caller, onProject(params.id)), mayMoveWorkspace);
    const ids = [...new Set(request.body().data.map(({ id }) => id))];
    const movable = (await standings(tx, caller, onWorkspaces(ids))).filter(
      from => from.organization === stand.organization && mayMoveWorkspace(from),
    );
    const refused = ids.filter(id => !movable.some(({ workspace }) => workspace === id));
    // Absent, hidden and not to be moved are one here too.
    if (refused.length > 0) {
      const detail = `These workspaces are not found, or this token may not move them: ${refused.join(', ')}`;
      throw new Fault({ kind: 'forbidden', detail });
    }
    const moved = movable.filter(({ project }) => project !== params.id);
    await request.affecting({
      organization: stand.organization,
      teams: 'holders',
      workspaces: moved.flatMap(({ workspace }) => workspace ?? []),
      projects: [...moved.flatMap(({ project }) => project ?? []), params.id],
    });
    await tx.run(sql`
      update workspaces
      set project_id = ${params.id}, updated_at = ${now}
      where id in (${ids}) and project_id <> ${params.id}`);
    const told = (project: (from: Standing) => string | null) => ({
      workspaces: movable.map(from => ({ id: from.workspace, project: project(from) })),
    });
    const change = { before: told(from => from.project), after: told(() => params.id) };
    return { answer: undefined, change: { ...about(stand, params.id), ...change } };
  },
});

export const projects = [listing, show, create, modify, destroy, moveIn];
