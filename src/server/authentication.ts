/** From a header to a caller. Whatever is wrong with a token, the answer is one and the same. */

import type { Caller } from '../core/authority.ts';
import { Fault } from '../core/fault.ts';
import { single } from '../resources/authentication-token-resource.ts';
import { type Sql, sql } from '../store/sql.ts';
import { type Here, tokenInPlace } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { auditTrails, decisions, hashOf, isSameHash, lookupOf } from '../store/token.ts';

type Columns = [
  id: string,
  hash: string,
  expiredAt: string | null,
  user: string | null,
  admin: number | null,
  team: string | null,
  teamOrganization: string,
  organization: string | null,
  slot: string | null,
];

const columns = sql`
  holder.id, holder.hash, holder.expired_at, holder.user_id, admins.is_admin, holder.team_id,
  (select teams.organization_id from teams where teams.id = holder.team_id), holder.organization_id, holder.slot`;

/** Tokens, and which of their holders are site admins. */
const holders = sql`
  authentication_tokens as holder
  left join users as admins on admins.id = holder.user_id and admins.is_admin = 1`;

const count: Columns['length'] = 9;

/** Who asks and, where a place was named, where that is in it; undefined where there is no such place. It is refused when asked for. */
export type Known = { readonly caller: Caller; readonly here: () => Here | undefined };

/** Of an organization's tokens, by slot. One that this version does not know may stand for less than an owner: it is no token. */
const kinds: ReadonlyMap<string | null, 'organization' | 'audit-trails' | 'decisions'> = new Map([
  [single, 'organization'],
  [auditTrails, 'audit-trails'],
  [decisions, 'decisions'],
]);

const bearer = /^bearer +([!-~]+)$/i;

export const authenticate = async (
  tx: Tx,
  header: string | undefined,
  tokenKey: string,
  now: string,
  place?: Sql,
): Promise<Known> => {
  const presented = bearer.exec(header ?? '')?.[1];
  const lookup = presented === undefined ? undefined : lookupOf(tokenKey, presented);
  const found = lookup === undefined ? undefined : await load(tx, lookup, place);
  if (presented === undefined || !found) throw new Fault({ kind: 'unauthorized' });
  const [, hash, expiredAt, , , , , , slot] = found.token;
  const valid = isSameHash(hash, hashOf(tokenKey, presented, slot)) && (expiredAt === null || expiredAt > now);
  if (!valid) throw new Fault({ kind: 'unauthorized' });
  const caller = callerFrom(found.token);
  return { caller, here: () => found.hereFor(caller) };
};

const load = async (tx: Tx, lookup: string, place: Sql | undefined) => {
  const inPlace = place && (await tokenInPlace<Columns>(tx, { columns, count, holders }, lookup, place));
  if (inPlace) return inPlace;
  const token = await tx.row<Columns>(sql`
    select ${columns}
    from ${holders}
    where holder.lookup = ${lookup}`);
  return token && { token, hereFor: () => undefined };
};

const callerFrom = ([token, , , user, admin, team, teamOrganization, organization, slot]: Columns): Caller => {
  if (user !== null) return { token, kind: 'user', user, admin: admin === 1 };
  if (team !== null) return { token, kind: 'team', team, organization: teamOrganization };
  const kind = kinds.get(slot);
  if (organization === null || kind === undefined) throw new Fault({ kind: 'unauthorized' });
  return { token, kind, organization };
};

/** What a caller is called now, for the audit trail to tell later. */
export const nameOf = async (tx: Tx, caller: Caller): Promise<string> => {
  const named =
    caller.kind === 'user'
      ? sql`select username from users where id = ${caller.user}`
      : caller.kind === 'team'
        ? sql`select name from teams where id = ${caller.team}`
        : sql`select name from organizations where id = ${caller.organization}`;
  return (await tx.row<[name: string]>(named))?.[0] ?? '';
};
