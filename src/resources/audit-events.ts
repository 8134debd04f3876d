/** The audit trail for people and programs: what was changed, by whom, before and after, and what it did to effective access. */

import { mayReadAuditEvents } from '../core/authority.ts';
import { Fault, found } from '../core/fault.ts';
import { concernedProject, concernedTeam } from '../store/audit.ts';
import { pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import { inOrganizationNamed, standing } from '../store/standing.ts';
import type { Resource } from '../wire/document.ts';
import { count, exactly, orNull, pagedDocument, resource, Type, text, time } from '../wire/schemas.ts';
import { EffectSchema } from './effect.ts';
import { list } from './operation.ts';
import type { Request } from './request.ts';

// Shape

/** What the change was made to, as its operation tells it: a resource, several, or a part of one. */
const told = Type.Unsafe<object | null>({ type: ['object', 'array', 'null'] });

const AuditEventResource = resource(
  'audit-events',
  {
    action: text,
    'resource-type': text,
    'resource-id': text,
    actor: exactly({ type: text, id: text, name: text }),
    'token-id': text,
    'request-id': text,
    'created-at': time,
    before: told,
    after: told,
    effect: orNull(EffectSchema),
    position: count,
    hash: orNull(text),
  },
  {},
  null,
);

const shown = (row: Columns): Resource => {
  const [position, id, hash, action, resourceType, resource, actorType, actor, name, ...rest] = row;
  const [token, request, createdAt, before, after, effect] = rest;
  return {
    id,
    type: 'audit-events',
    attributes: {
      action,
      'resource-type': resourceType,
      'resource-id': resource,
      actor: { type: actorType, id: actor, name },
      'token-id': token,
      'request-id': request,
      'created-at': createdAt,
      before: JSON.parse(before ?? 'null'),
      after: JSON.parse(after ?? 'null'),
      effect: JSON.parse(effect ?? 'null'),
      position,
      hash,
    },
  };
};

// Storage

type Columns = [
  position: number,
  id: string,
  hash: string | null,
  action: string,
  resourceType: string,
  resource: string,
  actorType: string,
  actor: string,
  actorName: string,
  token: string,
  request: string,
  createdAt: string,
  before: string | null,
  after: string | null,
  effect: string | null,
];

/** Events from before names were kept have the actor's id for its name. */
const columns = [
  ...[sql`event.id`, sql`event.hash`, sql`event.action`, sql`event.resource_type`, sql`event.resource_id`],
  ...[sql`event.actor_type`, sql`event.actor_id`, sql`coalesce(event.actor_name, event.actor_id)`],
  ...[sql`event.token_id`, sql`event.request_id`, sql`event.created_at`],
  ...[sql`event.before_change`, sql`event.after_change`, sql`event.effect`],
];

// Operations

const equal: Readonly<Record<string, Sql>> = {
  'filter[project][id]': concernedProject,
  'filter[team][id]': concernedTeam,
  'filter[actor][id]': sql`actor_id`,
  'filter[action]': sql`action`,
};

const [since, until] = ['filter[since]', 'filter[until]'] as const;

/** From one moment on, until just before another, in the organization's own index of times. */
const between = (request: Request, organization: string): Sql => {
  const [from, to] = [request.time(since), request.time(until)];
  if (from !== undefined && to !== undefined && from > to) {
    const detail = `${since} must not be later than ${until}`;
    throw new Fault({ kind: 'bad parameter', parameter: since, detail });
  }
  if (from === undefined && to === undefined) return sql`1 = 1`;
  return sql`organization_id = ${organization} and created_at >= ${from ?? ''} and created_at < ${to ?? '~'}`;
};

const narrowed = (request: Request, organization: string): Sql =>
  Object.entries(equal)
    .flatMap(([name, column]) => {
      const value = request.parameter(name);
      return value === undefined ? [] : [sql`${column} = ${value}`];
    })
    .reduce((all, next) => sql`${all} and ${next}`, between(request, organization));

export const auditEvents = [
  list({
    path: '/api/v2/organizations/:organization/audit-events',
    family: 'audit-events',
    since: 'not of the interface',
    summary: 'List the changes in an organization, the newest first, with what each did to effective access',
    filters: [...Object.keys(equal), since, until],
    notes: {
      'filter[actor][id]': { means: 'A user, a team or an organization' },
      'filter[action]': { means: 'As action is shown, such as add_team' },
      [since]: { means: 'From this moment on, such as 2030-01-31T12:00:00Z' },
      [until]: { means: 'Before this moment' },
    },
    success: 200,
    answer: pagedDocument(AuditEventResource),
    failures: [404],
    run: async request => {
      const { tx, caller, params } = request;
      const { organization } = found(
        await standing(tx, caller, inOrganizationNamed(params.organization)),
        mayReadAuditEvents(caller),
      );
      request.expectKnownFilters();
      // The place in the chain is the true order: clocks may be set back.
      const rows = await pageOf<Columns>(
        tx,
        sql`
          select position
          from audit_events
          where chain = ${organization} and position > 0 and ${narrowed(request, organization)}`,
        request.page,
        [{ column: sql`position`, descending: true }],
        {
          columns,
          join: sql`left join audit_events as event on event.chain = ${organization} and event.position = page.position`,
        },
      );
      return request.paged(rows, shown);
    },
  }),
];
