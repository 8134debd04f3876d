import type { Caller, Sight, TokenReach } from '../core/authority.ts';
import { type Sql, sql } from './sql.ts';
import { ownersTeam, ownTeams } from './standing.ts';
import type { Tx } from './store.ts';

/** What `sees` says of one team, said of every row of a query over `teams`. */
export const within = (sight: Sight, caller: Caller): Sql => {
  if (sight === 'all') return sql`1 = 1`;
  return sight.listed
    ? sql`(teams.visibility = 'organization' or teams.id in (${ownTeams(caller)}))`
    : sql`teams.id in (${ownTeams(caller)})`;
};

/** What `mayManageTokens` says of one team, said of every row of a query over `teams`. */
export const withManageableTokens = (reach: TokenReach, caller: Caller): Sql => {
  if (reach === 'all') return sql`1 = 1`;
  const managed = reach.managed ? sql`(teams.name <> ${ownersTeam} and ${within(reach.managed, caller)})` : sql`1 = 0`;
  const own = sql`(teams.allow_member_token_management = 1 and teams.id in (${ownTeams(caller)}))`;
  return sql`(${managed} or ${reach.own.size > 0 ? own : sql`1 = 0`})`;
};

/** As much of each team as it takes to say who sees and manages it. */
export const teamsOnView = async (tx: Tx, ids: readonly string[]) => {
  const rows = await tx.rows<[id: string, organization: string, name: string, visibility: string]>(sql`
    select id, organization_id, name, visibility
    from teams
    where id in (${ids})
    order by id`);
  return rows.map(([id, organization, name, visibility]) => ({
    id,
    organization,
    owners: name === ownersTeam,
    visibility,
  }));
};

export const teamOnView = async (tx: Tx, id: string) => (await teamsOnView(tx, [id]))[0];
