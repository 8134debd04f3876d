import type { Sight } from '../core/authority.ts';
import { type Sql, sql } from './sql.ts';
import type { Tx } from './store.ts';

/** What `sees` says of one team, said of every row of a query over `teams`. */
export const within = (sight: Sight): Sql => {
  if (sight === 'all') return sql`1 = 1`;
  return sight.listed
    ? sql`(teams.visibility = 'organization' or teams.id in (${sight.own}))`
    : sql`teams.id in (${sight.own})`;
};

/** As much of a team as it takes to say who sees it. */
export const teamOnView = async (tx: Tx, id: string) => {
  const row = await tx.row<[id: string, organization: string, visibility: string]>(sql`
    select id, organization_id, visibility
    from teams
    where id = ${id}`);
  return row && { id: row[0], organization: row[1], visibility: row[2] };
};
