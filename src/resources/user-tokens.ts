/** A user's tokens, each with all that the user may do. */

import { mayManageTokensOfUser } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { sql } from '../store/sql.ts';
import { largestPageSize } from '../wire/limits.ts';
import { heldBy, noTeams } from './authentication-token-resource.ts';
import { common, creating, listed, tokenPage } from './authentication-tokens.ts';
import { list } from './operation.ts';
import { visibleTo } from './user-resource.ts';

const path = '/api/v2/users/:id/authentication-tokens';

export const userTokens = [
  creating(path, { summary: "Create a user's token (the user, or a site admin)" }, async ({ tx, caller, params }) => {
    const user = await tx.row(sql`select id from users where id = ${params.id}`);
    found(user, () => mayManageTokensOfUser(caller, params.id));
    return { owner: { type: 'users', id: params.id }, organization: null, sight: noTeams };
  }),
  list({
    ...common,
    path,
    summary: "List a user's tokens; those of somebody else are an empty list",
    pageSizes: { unasked: largestPageSize },
    success: 200,
    answer: tokenPage,
    failures: [404],
    run: async request => {
      const { tx, caller, params } = request;
      found(await tx.row(sql`select id from users where users.id = ${params.id} and ${visibleTo(caller)}`));
      const own = mayManageTokensOfUser(caller, params.id) ? sql`1 = 1` : sql`1 = 0`;
      return listed(request, sql`${heldBy({ type: 'users', id: params.id })} and ${own}`, noTeams);
    },
  }),
];
