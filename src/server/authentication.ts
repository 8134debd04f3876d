/** From a header to a caller. Whatever is wrong with a token, the answer is one and the same. */

import type { Caller } from '../core/authority.ts';
import { Fault } from '../core/fault.ts';
import { single } from '../resources/authentication-token-resource.ts';
import { sql } from '../store/sql.ts';
import type { Tx } from '../store/store.ts';
import { auditTrails, decisions, isSameHash, kept } from '../store/token.ts';

type Columns = [
  id: string,
  hash: string,
  expiredAt: string | null,
  user: string | null,
  admin: number,
  team: string | null,
  teamOrganization: string,
  organization: string | null,
  slot: string | null,
  name: string,
];

/** With what it is called now, for the audit trail to tell later. */
export type Known = Caller & { readonly name: string };

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
): Promise<Known> => {
  const presented = bearer.exec(header ?? '')?.[1];
  const wanted = presented === undefined ? undefined : kept(tokenKey, presented);
  const row = wanted && (await load(tx, wanted.lookup));
  if (presented === undefined || !wanted || !row) throw new Fault({ kind: 'unauthorized' });
  const [token, hash, expiredAt, user, admin, team, teamOrganization, organization, slot, name] = row;
  const known = slot === decisions ? kept(tokenKey, presented, slot) : wanted;
  const valid = known && isSameHash(hash, known.hash) && (expiredAt === null || expiredAt > now);
  if (!valid) throw new Fault({ kind: 'unauthorized' });
  if (user !== null) return { token, name, kind: 'user', user, admin: admin === 1 };
  if (team !== null) return { token, name, kind: 'team', team, organization: teamOrganization };
  const kind = kinds.get(slot);
  if (organization === null || kind === undefined) throw new Fault({ kind: 'unauthorized' });
  return { token, name, kind, organization };
};

const load = (tx: Tx, lookup: string): Promise<Columns | undefined> =>
  tx.row<Columns>(sql`
    select tokens.id, tokens.hash, tokens.expired_at, tokens.user_id, users.is_admin, tokens.team_id,
      teams.organization_id, tokens.organization_id, tokens.slot,
      coalesce(users.username, teams.name, organizations.name)
    from authentication_tokens as tokens
    left join users on users.id = tokens.user_id
    left join teams on teams.id = tokens.team_id
    left join organizations on organizations.id = tokens.organization_id
    where tokens.lookup = ${lookup}`);
