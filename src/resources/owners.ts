/** What an organization never loses: an owner, and a way in for one. */

import { Fault, invalid, refused } from '../core/fault.ts';
import { sql } from '../store/sql.ts';
import { ownersTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { single } from './authentication-token-resource.ts';

/** An organization is never left without an owner that exists. */
export const expectAnOwner = async (tx: Tx, organization: string): Promise<void> => {
  const owner = await tx.row(sql`
    select organization_memberships.user_id
    from teams
    join team_memberships on team_memberships.team_id = teams.id
    join organization_memberships on organization_memberships.id = team_memberships.membership_id
    where teams.organization_id = ${organization} and teams.name = ${ownersTeam} and organization_memberships.user_id is not null
    limit 1`);
  if (!owner)
    throw new Fault({
      kind: 'forbidden',
      detail: 'An organization must keep an owner: this would remove the last one.',
    });
};

/** An organization without user tokens keeps a token of its own or of its owners: nobody else could let the users in again. */
export const expectAWayBack = async (tx: Tx, organization: string, now: string, pointer?: string): Promise<void> => {
  const isAlive = sql`(expired_at is null or expired_at > ${now})`;
  const lost = await tx.row(sql`
    select id
    from organizations
    where id = ${organization} and user_tokens_enabled = 0
      and not exists (
        select 1
        from authentication_tokens
        where organization_id = ${organization} and slot = ${single} and ${isAlive}
      )
      and not exists (
        select 1
        from authentication_tokens
        where team_id in (select id from teams where organization_id = ${organization} and name = ${ownersTeam})
          and ${isAlive}
      )`);
  if (!lost) return;
  const detail =
    'While user tokens are disabled, the owners team or the organization needs a token that has not expired: nobody could enable them again';
  throw pointer === undefined ? refused(detail) : invalid({ pointer, detail });
};
