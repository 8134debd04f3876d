import { Fault } from '../core/fault.ts';
import { sql } from '../store/sql.ts';
import { ownersTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';

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
