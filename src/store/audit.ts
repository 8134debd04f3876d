/** One row for every change, stored in the same transaction: who, with which token, what, before and after. */

import { sql } from './sql.ts';
import type { Tx } from './store.ts';

/** The type of an actor that is no user, team or organization but the server itself. */
export const ownDoing = 'server';

export type AuditEvent = {
  readonly id: string;
  readonly organization: string | null;
  readonly action: string;
  readonly resource: { readonly type: string; readonly id: string };
  /** With its name at the time. */
  readonly actor: { readonly type: string; readonly id: string; readonly name: string };
  readonly token: string;
  readonly request: string;
  readonly createdAt: string;
  readonly before: unknown;
  readonly after: unknown;
};

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export const addAuditEvent = (tx: Tx, event: AuditEvent): Promise<number> =>
  tx.run(sql`
    insert into audit_events (
      id, organization_id, action, resource_type, resource_id, actor_type, actor_id, actor_name, token_id, request_id, created_at,
      before_change, after_change
    )
    values (
      ${event.id}, ${event.organization}, ${event.action}, ${event.resource.type}, ${event.resource.id},
      ${event.actor.type}, ${event.actor.id}, ${event.actor.name}, ${event.token}, ${event.request}, ${event.createdAt},
      ${json(event.before)}, ${json(event.after)}
    )`);
