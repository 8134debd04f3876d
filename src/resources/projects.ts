/** Projects: every organization has a default one, and workspaces and team access live in them. */

import { type Access, at, covers, type PermissionName, type Value } from '../core/access.ts';
import {
  effective,
  mayCreateProject,
  mayDeleteProject,
  mayManageTeamAccess,
  mayReadOrganization,
  mayReadProject,
  mayUpdateProject,
  type Standing,
  seesEveryProject,
} from '../core/authority.ts';
import { found, nameTaken, refused } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import { grantOf, inOrganizationNamed, onProject, ownTeams, standing } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource, toOne } from '../wire/document.ts';
import {
  creation,
  exactly,
  flag,
  oneDocument,
  optional,
  orNull,
  pagedDocument,
  related,
  resource,
  ruled,
  text,
  time,
  update,
  upTo,
} from '../wire/schemas.ts';
import { get, list, patch, post, type Request, remove } from './operation.ts';

// Shape

const name = ruled(
  '^[A-Za-z0-9_-][A-Za-z0-9 _-]{1,38}[A-Za-z0-9_-]$',
  'Name may only contain letters, digits, spaces, hyphens and underscores, with 3 to 40 characters and no space at either end',
);
const description = optional(orNull(upTo(256)));

const Creation = creation('projects', { name, description });
const Update = update('projects', { name: optional(name), description });

const may = (standing: Standing) => {
  const reaches = <N extends PermissionName>(name: N, value: Value<N>) => covers(effective(standing), at(name, value));
  return {
    'can-read': mayReadProject(standing),
    'can-update': mayUpdateProject(standing),
    'can-destroy': mayDeleteProject(standing) && !standing.onDefaultProject,
    'can-create-workspace': reaches('workspace-access.create', true),
    'can-move-workspace': reaches('workspace-access.move', true),
    'can-read-teams': reaches('project-access.teams', 'read'),
    'can-manage-teams': mayManageTeamAccess(standing),
  };
};

const ProjectResource = resource(
  'projects',
  {
    name: text,
    description: orNull(text),
    'created-at': time,
    permissions: exactly({
      'can-read': flag,
      'can-update': flag,
      'can-destroy': flag,
      'can-create-workspace': flag,
      'can-move-workspace': flag,
      'can-read-teams': flag,
      'can-manage-teams': flag,
    }),
  },
  { organization: related('organizations') },
);

type Project = {
  readonly id: string;
  readonly organization: string;
  readonly name: string;
  readonly description: string | null;
  readonly createdAt: string;
};

const shown = ({ id, organization, name, description, createdAt }: Project, standing: Standing): Resource => ({
  id,
  type: 'projects',
  attributes: { name, description, 'created-at': createdAt, permissions: may(standing) },
  relationships: { organization: toOne('organizations', organization) },
  links: { self: pathOf('projects', id) },
});

const documentOf = (project: Project, standing: Standing): Document => one(shown(project, standing));

// Storage

type Columns = [
  id: string,
  organization: string,
  name: string,
  description: string | null,
  createdAt: string,
  isDefault: number,
  grants: string | null,
];

/** With the grants of these teams, so that a whole page knows what the caller may do on each project of it. */
const selected = (teams: Sql): Sql => sql`
  select projects.id, organizations.name, projects.name as project_name, projects.description, projects.created_at,
    projects.is_default,
    (
      select string_agg(team_id || ' ' || access || ' ' || coalesce(chosen, 0), ',')
      from team_projects
      where team_projects.project_id = projects.id and team_projects.team_id in (${teams})
    ) as grants
  from projects
  join organizations on organizations.id = projects.organization_id`;

const fromRow = ([id, organization, name, description, createdAt]: Columns): Project => ({
  id,
  organization,
  name,
  description,
  createdAt,
});

/** The caller's standing in the organization, taken to one project of a page. */
const standingOn = (stand: Standing, [id, , , , , isDefault, grants]: Columns): Standing => {
  const byTeam = new Map(
    grants
      ?.split(',')
      .map(grant => grant.split(' ') as [string, Access, string])
      .map(([team, access, chosen]) => [team, grantOf(access, Number(chosen), 0)]),
  );
  return {
    ...stand,
    project: id,
    onDefaultProject: isDefault === 1,
    teams: stand.teams.map(team => ({ ...team, grant: byTeam.get(team.id) })),
  };
};

const load = async (tx: Tx, id: string): Promise<Project | undefined> => {
  const row = await tx.row<Columns>(sql`${selected(sql`null`)} where projects.id = ${id}`);
  return row && fromRow(row);
};

export const defaultProject = 'Default Project';

export const addProject = async (
  tx: Tx,
  { id, name, description, createdAt }: Omit<Project, 'organization'>,
  organizationId: string,
  isDefault = false,
): Promise<void> => {
  const added = await tx.run(sql`
    insert into projects (id, organization_id, name, description, is_default, created_at)
    values (${id}, ${organizationId}, ${name}, ${description}, ${isDefault ? 1 : 0}, ${createdAt})
    on conflict (organization_id, lower(name)) do nothing`);
  if (added === 0) throw nameTaken();
};

const save = async (tx: Tx, { id, name, description }: Project, organizationId: string): Promise<void> => {
  const saved = await tx.run(sql`
    update projects
    set name = ${name}, description = ${description}
    where id = ${id} and not exists (
      select 1
      from projects as other
      where other.organization_id = ${organizationId} and lower(other.name) = lower(cast(${name} as ctext)) and other.id <> ${id}
    )`);
  if (saved === 0) throw nameTaken();
};

// Operations

const inOrganization = '/api/v2/organizations/:organization/projects';
const path = '/api/v2/projects/:id';
const common = { family: 'projects', since: '2023-01-17' } as const;
const answer = oneDocument(ProjectResource);

const reached = async ({ tx, caller, params }: Request<typeof path>, may: (standing: Standing) => boolean) => {
  const stand = found(await standing(tx, caller, onProject(params.id)), may);
  return { stand, present: found(await load(tx, params.id)) };
};

export const projects = [
  list({
    ...common,
    path: inOrganization,
    summary: 'List the projects of an organization',
    success: 200,
    answer: pagedDocument(ProjectResource),
    failures: [404],
    run: async request => {
      const { tx, caller, params, page } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
      const teams = ownTeams(caller);
      const granted = sql`projects.id in (select project_id from team_projects where team_id in (${teams}))`;
      const rows = await pageOf<Columns>(
        tx,
        sql`${selected(teams)}
          where projects.organization_id = ${stand.organization}
            and ${seesEveryProject(stand) ? sql`1 = 1` : granted}`,
        page,
      );
      return request.paged(rows, row => shown(fromRow(row), standingOn(stand, row)));
    },
  }),

  get({
    ...common,
    path,
    summary: 'Show a project',
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { stand, present } = await reached(request, mayReadProject);
      return documentOf(present, stand);
    },
  }),

  post({
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
      const place = inOrganizationNamed(params.organization);
      const { organization } = found(await standing(tx, caller, place), mayCreateProject);
      const { name, description = null } = request.body().data.attributes;
      const id = request.newId('prj');
      await addProject(tx, { id, name, description, createdAt: now }, organization);
      const answer = documentOf(found(await load(tx, id)), found(await standing(tx, caller, onProject(id))));
      return { answer, change: { organization, id, before: null, after: answer.data } };
    },
  }),

  patch({
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
      const before = documentOf(present, stand);
      request.expectUnchanged(before);
      const { name = present.name, description = present.description } = request.body().data.attributes ?? {};
      const next = { ...present, name, description };
      await save(request.tx, next, stand.organization);
      const answer = documentOf(next, stand);
      const change = { organization: stand.organization, id: present.id, before: before.data, after: answer.data };
      return { answer, change };
    },
  }),

  remove({
    ...common,
    path,
    summary: 'Delete a project and all team access to it',
    audit: { resource: 'project', action: 'destroy' },
    success: 204,
    failures: [404, 412, 422],
    run: async request => {
      const { stand, present } = await reached(request, mayDeleteProject);
      const before = documentOf(present, stand);
      request.expectUnchanged(before);
      if (stand.onDefaultProject) throw refused('The default project of an organization cannot be deleted.');
      await request.tx.run(sql`delete from projects where id = ${present.id}`);
      const change = { organization: stand.organization, id: present.id, before: before.data, after: null };
      return { answer: undefined, change };
    },
  }),
];
