/** Workspaces: where a project's work is done; known by id, and by name within their organization. */

import {
  mayAdministerWorkspace,
  mayCreateWorkspace,
  mayDeleteWorkspace,
  mayMoveWorkspace,
  mayReadOrganization,
  mayReadWorkspace,
  type Standing,
  seesEveryWorkspace,
} from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { type Order, pageOf } from '../store/paging.ts';
import { contains, matchesWildcards } from '../store/search.ts';
import { type Sql, sql } from '../store/sql.ts';
import {
  inOrganizationNamed,
  onDefaultProjectOf,
  onProject,
  onWorkspace,
  onWorkspaceNamed,
  ownTeams,
  standing,
  standings,
} from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one } from '../wire/document.ts';
import {
  listOf,
  literal,
  oneDocument,
  open,
  optional,
  pagedDocument,
  reference,
  ruled,
  type Static,
  text,
} from '../wire/schemas.ts';
import { get, list, type Operation, patch, post, remove } from './operation.ts';
import { pointerTo, type Request } from './request.ts';
import { key, saveTags, tagFilters, taggedWorkspaces, type WishedTags, wishedTags } from './tag-bindings.ts';
import { includable, includedWith, includes, tagsAsked } from './workspace-includes.ts';
import {
  addWorkspace,
  type Columns,
  fromRow,
  load,
  save,
  selected,
  shown,
  standingOn,
  type Workspace,
  WorkspaceResource,
} from './workspace-resource.ts';
import { changedSettings, settable } from './workspace-settings.ts';

// Shape

export const workspaceName = ruled(
  '^[A-Za-z0-9_-]{1,90}$',
  'Name may only contain letters, digits, hyphens and underscores, with 1 to 90 characters',
);

/** Older clients send names alone. */
const flatTags = optional(open({ data: listOf(open({ type: literal('tags'), attributes: open({ name: key }) })) }));

const relationships = optional(
  open({ project: optional(open({ data: reference('projects') })), tags: flatTags, ...wishedTags }),
);

/** All the tags that a body wishes, if it says anything of them. */
const tagsWished = (related: Static<typeof relationships> = {}): WishedTags | undefined => {
  const { tags, 'tag-bindings': bindings } = related;
  const flat = tags?.data.map(({ attributes }) => ({ type: 'tag-bindings', attributes: { key: attributes.name } }));
  return tags || bindings ? [...(flat ?? []), ...(bindings?.data ?? [])] : undefined;
};

const Creation = open({
  data: open({ type: literal('workspaces'), attributes: open({ name: workspaceName, ...settable }), relationships }),
});
const Update = open({
  data: open({
    type: optional(literal('workspaces')),
    id: optional(text),
    attributes: optional(open({ name: optional(workspaceName), ...settable })),
    relationships,
  }),
});

const documentOf = (workspace: Workspace, standing: Standing): Document => one(shown(workspace, standing));

// Operations

const inOrganization = '/api/v2/organizations/:organization/workspaces';
export const byId = '/api/v2/workspaces/:id';
export const byName = `${inOrganization}/:name` as const;
export const common = { family: 'workspaces', since: 'before the dated list' } as const;
export const answer = oneDocument(WorkspaceResource);

/** A workspace is reached by either of its paths. */
type Reaching = Request<typeof byId> | Request<typeof byName>;
const placeOf = ({ params }: Reaching): Sql =>
  'id' in params ? onWorkspace(params.id) : onWorkspaceNamed(params.organization, params.name);

export const reached = async (request: Reaching, may: (standing: Standing) => boolean) => {
  const stand = found(await standing(request.tx, request.caller, placeOf(request)), may);
  const present = found(await load(request.tx, stand.workspace as string));
  return { stand, present, before: documentOf(present, stand) };
};

export const on = ({ organization, project, workspace }: Standing) => ({
  organization,
  project,
  id: workspace as string,
});

const orders: Readonly<Record<string, Sql>> = {
  name: sql`lower_name`,
  'latest-change-at': sql`updated_at`,
  // Nothing is run here, so this leaves the order of creation.
  'current-run.created-at': sql`created_at`,
};

const orderOf = ({ sort }: Request): Order | undefined =>
  sort && [
    { column: orders[sort.by] as Sql, descending: sort.descending },
    { column: sql`id`, descending: sort.descending },
  ];

const listing = list({
  ...common,
  path: inOrganization,
  summary: 'List the workspaces of an organization',
  filters: [
    'search[name]',
    'search[wildcard-name]',
    'search[tags]',
    'search[exclude-tags]',
    'search[exclude_tags]',
    'filter[project][id]',
    'filter[current-run][status]',
    ...tagFilters,
  ],
  includes,
  sorts: Object.keys(orders),
  success: 200,
  answer: pagedDocument(WorkspaceResource, { included: includable }),
  failures: [404],
  run: async request => {
    const { tx, caller, params, page } = request;
    const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
    const teams = ownTeams(caller);
    const granted = sql`(
      workspaces.project_id in (select project_id from team_projects where team_id in (${teams}))
      or workspaces.id in (select workspace_id from team_workspaces where team_id in (${teams}))
    )`;
    const { items, total } = await pageOf<Columns>(
      tx,
      sql`${selected(teams)}
        where workspaces.organization_id = ${stand.organization}
          and ${seesEveryWorkspace(stand) ? sql`1 = 1` : granted}
          and ${narrowed(request)}`,
      page,
      orderOf(request),
    );
    const workspaces = items.map(fromRow);
    const tags = await tagsAsked(request, workspaces);
    const included = await includedWith(request, stand, workspaces, tags);
    return request.paged({ items, total }, row => shown(fromRow(row), standingOn(stand, row), tags?.get(row[0])), {
      included,
    });
  },
});

/** What the query asks for, of what the caller sees. */
const narrowed = (request: Request): Sql => {
  const conditions = [
    when(request.parameter('search[name]'), name => contains(sql`workspaces.name`, name)),
    when(request.parameter('search[wildcard-name]'), name => matchesWildcards(sql`workspaces.name`, name)),
    ...taggedWorkspaces(request),
    when(request.parameter('filter[project][id]'), project => sql`workspaces.project_id = ${project}`),
    tagged(request.valuesOf('search[tags]'), tags => tags.length),
    // The dated list spells it one way, the clients the other.
    tagged(request.valuesOf('search[exclude-tags]'), () => 0),
    tagged(request.valuesOf('search[exclude_tags]'), () => 0),
    // Nothing is run here, so no run has this or that status.
    when(request.parameter('filter[current-run][status]'), () => sql`1 = 0`),
  ];
  return conditions.reduce((all, next) => sql`${all} and ${next}`);
};

/** How many of these tags a workspace must have. */
const tagged = (names: readonly string[] = [], how: (tags: readonly string[]) => number): Sql => {
  const tags = [...new Set(names)];
  return tags.length === 0
    ? sql`1 = 1`
    : sql`(
        select count(*)
        from tag_bindings
        where tag_bindings.workspace_id = workspaces.id and key in (${tags}) and value = ''
      ) = ${how(tags)}`;
};

const when = <T>(value: T | undefined, condition: (value: T) => Sql): Sql =>
  value === undefined ? sql`1 = 1` : condition(value);

/** The project that a body names, in this organization, where the caller may do this; what another organization has is no answer. */
const projectNamed = async (request: Request, organization: string, may: (standing: Standing) => boolean) => {
  const id = request.named('project');
  if (id === undefined) return undefined;
  const [there] = await standings(request.tx, request.caller, onProject(id));
  return found(there, stand => stand.organization === organization && may(stand), pointerTo('project'));
};

const create = post({
  ...common,
  path: inOrganization,
  summary: 'Create a workspace, in the default project unless another is named',
  audit: { resource: 'workspace', action: 'create' },
  body: Creation,
  success: 201,
  answer,
  failures: [404, 422],
  run: async request => {
    const { tx, caller, params, now } = request;
    const home = found(await standing(tx, caller, onDefaultProjectOf(params.organization)), mayReadOrganization);
    const stand =
      (await projectNamed(request, home.organization, mayCreateWorkspace)) ?? found(home, mayCreateWorkspace);
    const { attributes, relationships } = request.body().data;
    const { name, ...wished } = attributes;
    const tags = tagsWished(relationships);
    const id = request.newId('ws');
    const project = stand.project as string;
    await addWorkspace(tx, { id, organizationId: stand.organization, project, name, settings: {}, createdAt: now });
    const added = found(await load(tx, id));
    const created = { ...added, settings: changedSettings(added.settings, wished, added.inherited) };
    await save(tx, created);
    const bound = tags && (await saveTags(request, { type: 'workspaces', id }, tags));
    const answer = await shownAgain(request, id);
    const after = { ...answer.data, ...bound?.after };
    return { answer, change: { organization: stand.organization, project, id, before: null, after } };
  },
});

/** A change of settings, a move, or both: each needs its own right. */
const mayChange = (request: Request, moves: boolean) => (standing: Standing) => {
  const { data } = (request.rawBody ?? {}) as { data?: { attributes?: unknown; relationships?: unknown } | null };
  const { attributes, relationships } = data ?? {};
  // The body is not checked yet: it may be of any kind.
  const named = [...Object.keys(attributes ?? {}), ...Object.keys(relationships ?? {})];
  const changes = named.some(name => name !== 'project');
  return (mayAdministerWorkspace(standing) || (moves && !changes)) && (mayMoveWorkspace(standing) || !moves);
};

const operationsAt = <const P extends typeof byId | typeof byName>(path: P): Operation[] => [
  get({
    ...common,
    path,
    summary: 'Show a workspace',
    includes,
    success: 200,
    answer: oneDocument(WorkspaceResource, ...includable),
    failures: [404],
    run: async request => {
      const { stand, present } = await reached(request as Reaching, mayReadWorkspace);
      const tags = await tagsAsked(request, [present]);
      const included = await includedWith(request, stand, [present], tags);
      return one(shown(present, stand, tags?.get(present.id)), included);
    },
  }),

  patch({
    ...common,
    path,
    summary: 'Update a workspace, or move it to another project',
    audit: { resource: 'workspace', action: 'update' },
    body: Update,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const target = request.named('project');
      const { stand, present, before } = await reached(request as Reaching, here =>
        mayChange(request, target !== undefined && target !== here.project)(here),
      );
      const moves = target !== undefined && target !== present.project;
      if (moves) await projectNamed(request, stand.organization, mayMoveWorkspace);
      request.expectUnchanged(before);
      const { attributes = {}, relationships } = request.body({ ownId: present.id }).data;
      const { name = present.name, ...wished } = attributes;
      const tags = tagsWished(relationships);
      const settings = changedSettings(present.settings, wished, present.inherited);
      if (moves)
        await request.affecting({
          organization: stand.organization,
          teams: 'holders',
          workspaces: [present.id],
          projects: [present.project, target],
        });
      await save(request.tx, {
        ...present,
        project: target ?? present.project,
        name,
        settings,
        updatedAt: request.now,
      });
      const bound = tags && (await saveTags(request, { type: 'workspaces', id: present.id }, tags));
      const answer = await shownAgain(request, present.id);
      const change = {
        ...on(stand),
        // One that moved is read of where it went.
        project: target ?? present.project,
        before: { ...before.data, ...bound?.before },
        after: { ...answer.data, ...bound?.after },
      };
      return { answer, change };
    },
  }),

  remove({
    ...common,
    path,
    summary: 'Delete a workspace, locked or not',
    audit: { resource: 'workspace', action: 'destroy' },
    success: 204,
    failures: [404, 412],
    run: async request => {
      const { stand, before } = await reached(request as Reaching, mayDeleteWorkspace);
      request.expectUnchanged(before);
      await removeWorkspace(request.tx, stand);
      return { answer: undefined, change: { ...on(stand), before: before.data, after: null } };
    },
  }),
];

/** As it is after a change, with what the caller may do from now on. */
export const shownAgain = async ({ tx, caller }: Request, id: string): Promise<Document> =>
  documentOf(found(await load(tx, id)), found(await standing(tx, caller, onWorkspace(id))));

export const removeWorkspace = (tx: Tx, { workspace }: Standing) =>
  tx.run(sql`delete from workspaces where id = ${workspace}`);

export const workspaces: readonly Operation[] = [listing, create, ...operationsAt(byId), ...operationsAt(byName)];
