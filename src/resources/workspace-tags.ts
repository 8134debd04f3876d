/** The older way to tag a workspace: names alone. A name is a tag binding without a value. */

import { mayAdministerWorkspace, mayReadWorkspace, type Standing } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { contains } from '../store/search.ts';
import { sql } from '../store/sql.ts';
import { onWorkspace, standing } from '../store/standing.ts';
import type { Resource } from '../wire/document.ts';
import { exactly, listOf, literal, open, optional, pagedDocument, text, time } from '../wire/schemas.ts';
import { list, type Operation, post, remove } from './operation.ts';
import type { Request } from './request.ts';
import { key, loadTags, type Owner, saveAll, saveChanged, type TagBinding, told } from './tag-bindings.ts';

// Shape

const Naming = open({
  data: listOf(
    open({ type: literal('tags'), id: optional(text), attributes: optional(open({ name: optional(key) })) }),
    { minItems: 1 },
  ),
});

const TagResource = exactly({
  id: text,
  type: literal('tags'),
  attributes: exactly({ name: text, 'created-at': time }),
});

const idOf = (binding: string): string => `tag-${binding.slice('tb-'.length)}`;

const shown = ([id, name, createdAt]: [id: string, name: string, createdAt: string]): Resource => ({
  id: idOf(id),
  type: 'tags',
  attributes: { name, 'created-at': createdAt },
});

// Operations

const path = '/api/v2/workspaces/:id/relationships/tags';
const common = { family: 'workspaces', since: '2021-07-30', path } as const;

const reached = async ({ tx, caller, params }: Request<typeof path>, may: (standing: Standing) => boolean) => {
  const stand = found(await standing(tx, caller, onWorkspace(params.id)), may);
  const owner: Owner = { type: 'workspaces', id: params.id };
  return { stand, owner };
};

const changeOf = (
  { organization, project }: Standing,
  { id }: Owner,
  was: readonly TagBinding[],
  is: readonly TagBinding[],
) => ({
  answer: undefined,
  change: { organization, project, id, before: { 'tag-bindings': told(was) }, after: { 'tag-bindings': told(is) } },
});

export const workspaceTags: readonly Operation[] = [
  list({
    ...common,
    summary: 'List the tags of a workspace that are names alone',
    filters: ['q', 'name'],
    success: 200,
    answer: pagedDocument(TagResource),
    failures: [404],
    run: async request => {
      const { owner } = await reached(request, mayReadWorkspace);
      // The Go client calls the search by the other name.
      const part = request.parameter('q') ?? request.parameter('name') ?? '';
      const rows = await pageOf<[string, string, string]>(
        request.tx,
        sql`
          select id, key, created_at
          from tag_bindings
          where workspace_id = ${owner.id} and value = '' and ${part === '' ? sql`1 = 1` : contains(sql`key`, part)}`,
        request.page,
      );
      return request.paged(rows, shown);
    },
  }),

  post({
    ...common,
    summary: 'Add tags to a workspace by name',
    audit: { resource: 'workspace', action: 'update' },
    body: Naming,
    success: 204,
    failures: [404, 422],
    run: async request => {
      const { stand, owner } = await reached(request, mayAdministerWorkspace);
      const present = await loadTags(request.tx, owner);
      const names = request.body().data.flatMap(({ attributes }) => attributes?.name ?? []);
      const missing = [...new Set(names)].filter(name => !present.some(tag => tag.key === name));
      const wished = missing.map(name => ({ type: 'tag-bindings', attributes: { key: name } }));
      return changeOf(stand, owner, present, await saveChanged(request, owner, present, wished, 'stay', '/data'));
    },
  }),

  remove({
    ...common,
    summary: 'Remove tags from a workspace by name or by id',
    audit: { resource: 'workspace', action: 'update' },
    body: Naming,
    success: 204,
    failures: [404, 422],
    run: async request => {
      const { stand, owner } = await reached(request, mayAdministerWorkspace);
      const present = await loadTags(request.tx, owner);
      const named = request.body().data;
      const isNamed = (tag: TagBinding) =>
        tag.value === '' && named.some(({ id, attributes }) => id === idOf(tag.id) || attributes?.name === tag.key);
      const staying = present.filter(tag => !isNamed(tag));
      await saveAll(request.tx, owner, present, staying);
      return changeOf(stand, owner, present, staying);
    },
  }),
];
