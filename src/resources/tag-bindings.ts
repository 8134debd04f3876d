/** Tags: keys with values on projects and workspaces. A workspace has those of its project too, unless it sets the key itself. */

import {
  mayAdministerWorkspace,
  mayReadProject,
  mayReadWorkspace,
  mayUpdateProject,
  type Standing,
} from '../core/authority.ts';
import { found, invalid } from '../core/fault.ts';
import { type Sql, sql } from '../store/sql.ts';
import { onProject, onWorkspace, standing } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, pathOf, type Resource, toOne } from '../wire/document.ts';
import {
  exactly,
  listOf,
  literal,
  open,
  optional,
  orNull,
  related,
  ruled,
  type Static,
  text,
  time,
  wholeList,
} from '../wire/schemas.ts';
import { get, patch, post } from './operation.ts';
import { pointerTo, type Request } from './request.ts';

// Shape

export const key = ruled(
  '^(?!hcp?:)[A-Za-z0-9_.=+@:-]{1,128}$',
  'A key must have 1 to 128 letters, digits and _ . = + - @ : and must not begin with hc: or hcp:',
);
const value = ruled('^[A-Za-z0-9_.=+@:-]{0,256}$', 'A value must have at most 256 letters, digits and _ . = + - @ :');

export const wishedTag = { key, value: optional(orNull(value)) };

const Wished = listOf(open({ type: literal('tag-bindings'), attributes: open(wishedTag) }));
export type WishedTags = Static<typeof Wished>;

const Wish = open({ data: Wished });

/** The tags that a project or a workspace is made or changed with: all that it is to have. */
export const wishedTags = { 'tag-bindings': optional(Wish) };
export const pointerToTags = `${pointerTo('tag-bindings')}/data`;

const TagBindingResource = exactly({
  id: text,
  type: literal('tag-bindings'),
  attributes: exactly({ key: text, value: text, 'created-at': time }),
});

export const EffectiveTagBindingResource = exactly({
  id: text,
  type: literal('effective-tag-bindings'),
  attributes: exactly({ key: text, value: text }),
  relationships: optional(exactly({ 'inherited-from': related('projects') })),
  links: optional(exactly({ 'inherited-from': text })),
});

export type TagBinding = {
  readonly id: string;
  readonly key: string;
  readonly value: string;
  readonly createdAt: string;
};

export type EffectiveTag = Omit<TagBinding, 'createdAt'> & { readonly inheritedFrom: string | null };

const shown = ({ id, key, value, createdAt }: TagBinding): Resource => ({
  id,
  type: 'tag-bindings',
  attributes: { key, value, 'created-at': createdAt },
});

/** One Go client knows an inherited tag by its link, the other by its relationship; a tag of its own has neither. */
export const shownEffective = ({ id, key, value, inheritedFrom }: EffectiveTag): Resource => ({
  id,
  type: 'effective-tag-bindings',
  attributes: { key, value },
  ...(inheritedFrom && {
    relationships: { 'inherited-from': toOne('projects', inheritedFrom) },
    links: { 'inherited-from': pathOf('projects', inheritedFrom) },
  }),
});

const documentOf = (tags: readonly TagBinding[]): Document => ({ data: tags.map(shown) });

export const told = (tags: readonly TagBinding[]) => tags.map(({ key, value }) => ({ key, value }));

// Storage

export type Owner = { readonly type: 'projects' | 'workspaces'; readonly id: string };

const columnOf = ({ type }: Owner): Sql => (type === 'projects' ? sql`project_id` : sql`workspace_id`);

export const loadTags = async (tx: Tx, owner: Owner): Promise<TagBinding[]> => {
  const rows = await tx.rows<[id: string, key: string, value: string, createdAt: string]>(sql`
    select id, key, value, created_at
    from tag_bindings
    where ${columnOf(owner)} = ${owner.id}
    order by ordinal`);
  return rows.map(([id, key, value, createdAt]) => ({ id, key, value, createdAt }));
};

export const saveAll = async (tx: Tx, owner: Owner, present: readonly TagBinding[], next: readonly TagBinding[]) => {
  const gone = present.filter(({ id }) => !next.some(tag => tag.id === id)).map(({ id }) => id);
  await tx.run(sql`delete from tag_bindings where id in (${gone})`);
  for (const [ordinal, { id, key, value, createdAt }] of next.entries())
    await tx.run(sql`
      insert into tag_bindings (id, ${columnOf(owner)}, key, value, ordinal, created_at)
      values (${id}, ${owner.id}, ${key}, ${value}, ${ordinal}, ${createdAt})
      on conflict (${columnOf(owner)}, key) do update set value = excluded.value, ordinal = excluded.ordinal`);
};

/** All tags of what has none yet. */
export const addTags = (tx: Tx, owner: Owner, tags: readonly TagBinding[]) => saveAll(tx, owner, [], tags);

/** The tags of a project as rows, each with where it is inherited from. */
const rowsOfProject = (project: Sql): Sql => sql`
  select id, key, value, ordinal, '' as inherited_from
  from tag_bindings
  where project_id = ${project}`;

const rowsOfWorkspace = (workspace: Sql, project: Sql): Sql => sql`
  select id, key, value, ordinal, '' as inherited_from
  from tag_bindings
  where workspace_id = ${workspace}
  union all
  select id, key, value, ordinal, project_id as inherited_from
  from tag_bindings as inherited
  where project_id = ${project} and not exists (
    select 1
    from tag_bindings as own
    where own.workspace_id = ${workspace} and own.key = inherited.key
  )`;

/** All of them in one text, for a column of a page. No key or value has a space or a comma. */
const packed = (rows: Sql): Sql => sql`(
  select string_agg(id || ' ' || key || ' ' || value || ' ' || inherited_from, ',' order by inherited_from, ordinal, key)
  from (${rows}) as page
)`;

export const tagsOfProject = (project: Sql): Sql => packed(rowsOfProject(project));
export const tagsOfWorkspace = (workspace: Sql, project: Sql): Sql => packed(rowsOfWorkspace(workspace, project));

export const unpackedTags = (text: string | null): EffectiveTag[] =>
  (text?.split(',') ?? []).map(tag => {
    const [id = '', key = '', value = '', from] = tag.split(' ');
    return { id, key, value, inheritedFrom: from || null };
  });

// Filters

export const tagFilters = ['filter[tagged][i][key]', 'filter[tagged][i][value]'] as const;

/** What `filter[tagged]` says, said of the tags in `rows`: every one of its keys, values and pairs of them must be there. */
const tagged = (request: Request, rows: Sql): Sql[] => {
  const asked = request.indexed('filter[tagged]', 'key', 'value');
  const pick = (wanted: (tag: { key: string; value: string }) => string | undefined): string[] => [
    ...new Set(asked.flatMap(({ key = '', value = '' }) => wanted({ key, value }) ?? [])),
  ];
  // A list of one length after another would be as many statements: three conditions serve for any number of filters.
  const all = (column: Sql, wanted: readonly string[]): Sql[] =>
    wanted.length === 0
      ? []
      : [
          sql`(select count(distinct ${column}) from (${rows}) as page where ${column} in (${wanted})) = ${wanted.length}`,
        ];
  const keys = pick(({ key, value }) => (key !== '' && value === '' ? key : undefined));
  const values = pick(({ key, value }) => (key === '' && value !== '' ? value : undefined));
  const pairs = pick(({ key, value }) => (key !== '' && value !== '' ? `${key} ${value}` : undefined));
  return [...all(sql`key`, keys), ...all(sql`value`, values), ...all(sql`key || ' ' || value`, pairs)];
};

/** For a query over `projects`. */
export const taggedProjects = (request: Request): Sql[] => tagged(request, rowsOfProject(sql`projects.id`));
/** For a query over `workspaces`; what a workspace inherits counts as its own. */
export const taggedWorkspaces = (request: Request): Sql[] =>
  tagged(request, rowsOfWorkspace(sql`workspaces.id`, sql`workspaces.project_id`));

// Changes

export const mostTags = 10;

type Changing = Pick<Request, 'tx' | 'now' | 'newId'>;

/** What becomes of the tags when these keys are given these values, and the others stay or go. */
const changed = (
  request: Changing,
  present: readonly TagBinding[],
  wished: WishedTags,
  others: 'stay' | 'go',
  pointer: string,
): TagBinding[] => {
  const keys = wished.map(({ attributes }) => attributes.key);
  const repeated = keys.findIndex((key, index) => keys.indexOf(key) < index);
  if (repeated >= 0)
    throw invalid({ pointer: `${pointer}/${repeated}/attributes/key`, detail: `key ${keys[repeated]} is there twice` });
  const values = new Map(wished.map(({ attributes: { key, value } }) => [key, value ?? '']));
  const staying = present
    .filter(({ key }) => others === 'stay' || values.has(key))
    .map(tag => ({ ...tag, value: values.get(tag.key) ?? tag.value }));
  const added = [...values]
    .filter(([key]) => !present.some(tag => tag.key === key))
    .map(([key, value]) => ({ id: request.newId('tb'), key, value, createdAt: request.now }));
  const next = [...staying, ...added];
  if (next.length > mostTags)
    throw invalid({ pointer, detail: `Tags cannot exceed ${mostTags} bindings per resource` });
  return next;
};

export const saveChanged = async (
  request: Changing,
  owner: Owner,
  present: readonly TagBinding[],
  ...change: [wished: WishedTags, others: 'stay' | 'go', pointer: string]
): Promise<TagBinding[]> => {
  const next = changed(request, present, ...change);
  await saveAll(request.tx, owner, present, next);
  return next;
};

/** Makes these all the tags of a project or a workspace; what was and what is, for the audit row. */
export const saveTags = async (request: Changing, owner: Owner, wished: WishedTags) => {
  const present = await loadTags(request.tx, owner);
  const next = await saveChanged(request, owner, present, wished, 'go', pointerToTags);
  return { before: { 'tag-bindings': told(present) }, after: { 'tag-bindings': told(next) } };
};

// Operations

type Kind = {
  readonly type: Owner['type'];
  readonly noun: string;
  readonly place: (id: string) => Sql;
  readonly mayRead: (standing: Standing) => boolean;
  readonly mayChange: (standing: Standing) => boolean;
  /** Of one project or workspace, by its id. */
  readonly effective: (id: string) => Sql;
};

type Asked<B = unknown> = Request<'/:id', B>;

const operationsOn = ({ type, noun, place, mayRead, mayChange, effective }: Kind) => {
  const reached = async ({ tx, caller, params }: Asked, may: (standing: Standing) => boolean) => {
    const stand = found(await standing(tx, caller, place(params.id)), may);
    return { stand, owner: { type, id: params.id } };
  };

  const read = async (request: Asked) => {
    const { owner } = await reached(request, mayRead);
    return documentOf(await loadTags(request.tx, owner));
  };

  const change = async (request: Asked<Static<typeof Wish>>, others: 'stay' | 'go') => {
    const { stand, owner } = await reached(request, mayChange);
    const present = await loadTags(request.tx, owner);
    request.expectUnchanged(documentOf(present));
    const next = await saveChanged(request, owner, present, request.body().data, others, '/data');
    const [before, after] = [present, next].map(tags => ({ 'tag-bindings': told(tags) }));
    const { organization, project } = stand;
    return { answer: documentOf(next), change: { organization, project, id: owner.id, before, after } };
  };

  const path = `/api/v2/${type}/:id/tag-bindings` as const;
  const relationship = `/api/v2/${type}/:id/relationships/tag-bindings` as const;
  const common = { family: 'tag-bindings', since: 'after the dated list' } as const;
  const reading = { ...common, success: 200, answer: wholeList(TagBindingResource), failures: [404] } as const;
  const changing = {
    ...common,
    audit: { resource: noun, action: 'update' },
    body: Wish,
    failures: [404, 412, 422],
  } as const;

  return [
    get({ ...reading, path, summary: `List the tags of a ${noun}`, run: request => read(request) }),

    get({
      ...reading,
      path: relationship,
      summary: `List the tags of a ${noun}, as a relationship`,
      run: request => read(request),
    }),

    get({
      ...reading,
      path: `/api/v2/${type}/:id/effective-tag-bindings`,
      summary: `List the tags of a ${noun} with those that it inherits`,
      answer: wholeList(EffectiveTagBindingResource),
      run: async request => {
        const { owner } = await reached(request, mayRead);
        const row = await request.tx.row<[tags: string | null]>(effective(owner.id));
        return { data: unpackedTags(row?.[0] ?? null).map(shownEffective) };
      },
    }),

    patch({
      ...changing,
      path,
      summary: `Add tags to a ${noun}, or give them other values`,
      success: 200,
      answer: wholeList(TagBindingResource),
      run: request => change(request, 'stay'),
    }),

    post({
      ...changing,
      path: relationship,
      summary: `Add tags to a ${noun}, or give them other values, without an answer`,
      success: 204,
      run: async request => ({ ...(await change(request, 'stay')), answer: undefined }),
    }),

    patch({
      ...changing,
      path: relationship,
      summary: `Replace all tags of a ${noun}`,
      success: 204,
      run: async request => ({ ...(await change(request, 'go')), answer: undefined }),
    }),
  ];
};

export const tagBindings = [
  ...operationsOn({
    type: 'projects',
    noun: 'project',
    place: onProject,
    mayRead: mayReadProject,
    mayChange: mayUpdateProject,
    effective: id => sql`select ${tagsOfProject(sql`projects.id`)} from projects where id = ${id}`,
  }),
  ...operationsOn({
    type: 'workspaces',
    noun: 'workspace',
    place: onWorkspace,
    mayRead: mayReadWorkspace,
    mayChange: mayAdministerWorkspace,
    effective: id =>
      sql`select ${tagsOfWorkspace(sql`workspaces.id`, sql`workspaces.project_id`)} from workspaces where id = ${id}`,
  }),
];
