/** The audit trail of an organization: every change in it, the newest first. Plain JSON, as the interface has it. */

import { auditedBy } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { ownDoing } from '../store/audit.ts';
import { pageOf } from '../store/paging.ts';
import { sql } from '../store/sql.ts';
import { placeOf } from '../wire/paging.ts';
import { anyKeys, count, exactly, listOf, oneOf, orNull, text, time } from '../wire/schemas.ts';
import { plainList } from './operation.ts';

// Shape

const AuditTrail = exactly({
  data: listOf(
    exactly({
      id: text,
      version: text,
      type: oneOf('Resource'),
      timestamp: time,
      auth: exactly({
        accessor_id: text,
        description: text,
        type: oneOf('Client', 'System'),
        impersonator_id: orNull(text),
        organization_id: text,
      }),
      request: exactly({ id: text }),
      resource: exactly({ id: text, type: text, action: text, meta: orNull(anyKeys) }),
    }),
  ),
  pagination: exactly({
    current_page: count,
    page_size: count,
    prev_page: orNull(count),
    next_page: orNull(count),
    total_pages: count,
    total_count: count,
  }),
});

type Grant = {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: { readonly team: { readonly data: { readonly id: string } } };
};

/** The team and its access, which is undefined once it is lost; of a custom one, each permission. */
const metaOfAccess = (before: Grant | null, after: Grant | null): object => {
  const { access: permissions, ...chosen } = after?.attributes ?? {};
  const team = (after ?? before)?.relationships.team.data.id;
  return { team, permissions, ...(permissions === 'custom' && chosen) };
};

type Members = { readonly users?: readonly string[] } | null;

/** Several may come or go at once. */
const metaOfMembers = (before: Members, after: Members): object => ({
  user: [before, after].flatMap(members => members?.users ?? []).join(', '),
});

/** What an event tells beside its resource; most tell no more. */
const metas: Readonly<Record<string, (before: never, after: never) => object>> = {
  add_team: metaOfAccess,
  update_team_permissions: metaOfAccess,
  remove_team: metaOfAccess,
  add_member: metaOfMembers,
  remove_member: metaOfMembers,
};

const metaOf = (action: string, before: string | null, after: string | null): object | null =>
  metas[action]?.(JSON.parse(before ?? 'null') as never, JSON.parse(after ?? 'null') as never) ?? null;

const shown = (row: Columns) => {
  const [id, timestamp, organization, action, type, resource, actorType, actor, name, request, before, after] = row;
  return {
    id,
    version: '0',
    type: 'Resource',
    timestamp,
    auth: {
      accessor_id: actor,
      description: name,
      type: actorType === ownDoing ? 'System' : 'Client',
      impersonator_id: null,
      organization_id: organization,
    },
    request: { id: request },
    resource: { id: resource, type, action, meta: metaOf(action, before, after) },
  };
};

// Storage

type Columns = [
  id: string,
  createdAt: string,
  organization: string,
  action: string,
  resourceType: string,
  resource: string,
  actorType: string,
  actor: string,
  actorName: string,
  request: string,
  before: string | null,
  after: string | null,
];

/** Events from before names were kept have the actor's id for its name. */
const eventsOf = (organization: string, since: string) => sql`
  select id, created_at, organization_id, action, resource_type, resource_id, actor_type, actor_id,
    coalesce(actor_name, actor_id) as actor_name, request_id, before_change, after_change
  from audit_events
  where organization_id = ${organization} and created_at > ${since}`;

const newestFirst = [
  { column: sql`created_at`, descending: true },
  { column: sql`id`, descending: true },
];

// Operations

const mostEvents = 1000;

export const auditTrail = [
  plainList({
    path: '/api/v2/organization/audit-trail',
    family: 'audit-trail',
    since: 'before the dated list',
    summary: "List the changes in the organization whose token this is (its own, or the audit trail's)",
    filters: ['since'],
    pageSizes: { largest: mostEvents, byDefault: mostEvents },
    success: 200,
    answer: AuditTrail,
    failures: [404],
    run: async request => {
      const { tx, caller, page } = request;
      const organization = found(auditedBy(caller));
      const { items, total } = await pageOf<Columns>(
        tx,
        eventsOf(organization, request.time('since') ?? ''),
        page,
        newestFirst,
      );
      const { pages, previous, next } = placeOf(page, total);
      return {
        data: items.map(shown),
        pagination: {
          current_page: page.number,
          page_size: page.size,
          prev_page: previous,
          next_page: next,
          total_pages: pages,
          total_count: total,
        },
      };
    },
  }),
];
