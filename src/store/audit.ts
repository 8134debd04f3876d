/**
 * One row for every change, stored in the same transaction: who, with which token, what, before and after.
 * The rows of an organization are a chain: each has the hash of the one before it, and of all that it says itself.
 */

import { hash } from 'node:crypto';
import { listed, sql } from './sql.ts';
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
  /** What it did to effective access; null where it did nothing to it. */
  readonly effect?: unknown;
  /** The project and the team that it concerns. */
  readonly project?: string | null | undefined;
  readonly team?: string | null | undefined;
};

/** What every row says since the first, in the order in which it is hashed. */
export const toldAtFirst = sql`
  id, organization_id, action, resource_type, resource_id, actor_type, actor_id, actor_name, token_id, request_id, created_at,
  before_change, after_change`;

/** All that a row says. What comes later is put at the end. */
export const told = sql`${toldAtFirst}, effect, project_id, team_id`;

export type ToldAtFirst = readonly [
  id: string,
  organization: string | null,
  action: string,
  resourceType: string,
  resource: string,
  actorType: string,
  actor: string,
  actorName: string | null,
  token: string,
  request: string,
  createdAt: string,
  before: string | null,
  after: string | null,
];

/** What a row concerns; the indexes have the same words. One from before says it only where it is its resource. */
export const concernedProject = sql`coalesce(project_id, case resource_type when 'project' then resource_id end)`;
export const concernedTeam = sql`coalesce(team_id, case resource_type when 'team' then resource_id end)`;

export type Told = readonly [...ToldAtFirst, effect: string | null, project: string | null, team: string | null];

const countAtFirst: ToldAtFirst['length'] = 13;

/** What belongs to no organization is a chain of its own; no id of an organization is spelled like it. */
export const siteChain = 'site';

export const chainOf = (organization: string | null): string => organization ?? siteChain;

/** The last row of a chain. */
export type Head = { readonly position: number; readonly hash: string };

/**
 * As a JSON array, so that no two rows are written alike. It ends with the last column that says anything, but not before
 * those of the first rows: a column that comes later leaves the hashes before it as they are.
 */
export const hashOf = (chain: string, position: number, previous: string | null, row: ToldAtFirst | Told): string => {
  const last = row.findLastIndex((value, index) => index < countAtFirst || value !== null);
  return hash('sha256', JSON.stringify([chain, position, previous, ...row.slice(0, last + 1)]));
};

/** Where a row stands once it follows the last of its chain. */
export const following = (
  chain: string,
  last: Head | undefined,
  row: ToldAtFirst | Told,
): Head & { previous: string | null } => {
  const position = (last?.position ?? 0) + 1;
  const previous = last?.hash ?? null;
  return { position, previous, hash: hashOf(chain, position, previous, row) };
};

export const moveHead = (tx: Tx, chain: string, { position, hash }: Head): Promise<number> =>
  tx.run(sql`
    insert into audit_heads (chain, position, hash)
    values (${chain}, ${position}, ${hash})
    on conflict (chain) do update set position = excluded.position, hash = excluded.hash`);

const json = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value));

const toldOf = (event: AuditEvent): Told => {
  const { id, organization, action, resource, actor, token, request, createdAt } = event;
  return [
    ...([id, organization, action, resource.type, resource.id, actor.type, actor.id, actor.name] as const),
    ...([token, request, createdAt, json(event.before), json(event.after)] as const),
    ...([json(event.effect), event.project ?? null, event.team ?? null] as const),
  ];
};

/** Where the chains of these organizations are now. */
export const headsOf = async (tx: Tx, organizations: readonly (string | null)[]): Promise<Map<string, Head>> => {
  const rows = await tx.rows<[chain: string, position: number, hash: string]>(sql`
    select chain, position, hash
    from audit_heads
    where chain in (${organizations.map(chainOf)})
    order by chain`);
  return new Map(rows.map(([chain, position, hash]) => [chain, { position, hash }]));
};

/** Only within a write, which no other overtakes: two rows that follow the same one are refused. Moves the heads on. */
export const addAuditEvents = async (
  tx: Tx,
  heads: Map<string, Head>,
  events: readonly AuditEvent[],
): Promise<void> => {
  const added = events.map(event => {
    const row = toldOf(event);
    const chain = chainOf(event.organization);
    const link = following(chain, heads.get(chain), row);
    heads.set(chain, link);
    return tx.run(sql`
      insert into audit_events (${told}, chain, position, previous_hash, hash)
      values (${listed([...row, chain, link.position, link.previous, link.hash])})`);
  });
  // None needs the answer to another: they go out together.
  await Promise.all([...added, ...[...heads].map(([chain, head]) => moveHead(tx, chain, head))]);
};

export const addAuditEvent = async (tx: Tx, event: AuditEvent): Promise<void> =>
  addAuditEvents(tx, await headsOf(tx, [event.organization]), [event]);
