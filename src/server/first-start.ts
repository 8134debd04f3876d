/** What a database needs before it can serve: the key of the token hashes and, once, a site admin. */

import { addToken } from '../resources/authentication-tokens.ts';
import { addUser } from '../resources/users.ts';
import { addAuditEvent } from '../store/audit.ts';
import { base62, newId, type Random, randomText } from '../store/id.ts';
import { sql } from '../store/sql.ts';
import type { Store } from '../store/store.ts';
import { newToken } from '../store/token.ts';

/** Made once and kept with the data, so that a backup holds all that its tokens need. */
export const tokenKey = (store: Store, random: Random): Promise<string> =>
  store.write(async tx => {
    await tx.run(sql`
      insert into server_keys (name, value)
      values ('token', ${randomText(random, base62, 43)})
      on conflict (name) do nothing`);
    const row = await tx.row<[value: string]>(sql`select value from server_keys where name = 'token'`);
    if (!row) throw new Error('the key of the token hashes is missing');
    return row[0];
  });

export const isEmpty = async (store: Store): Promise<boolean> =>
  (await store.read(tx => tx.row(sql`select id from users limit 1`))) === undefined;

/** Adds the site admin and gives back its token; undefined where there are users already. */
export const addSiteAdmin = async (
  store: Store,
  { key, random, now, token }: { key: string; random: Random; now: () => Date; token: string | undefined },
): Promise<string | undefined> => {
  const secret = token ?? newToken(random);
  return store.write(async tx => {
    if (await tx.row(sql`select id from users limit 1`)) return undefined;
    const createdAt = now().toISOString();
    const user = { id: newId(random, 'user'), username: 'admin', email: 'admin@localhost', admin: true };
    await addUser(tx, user, createdAt);
    const owner = { type: 'users', id: user.id } as const;
    const id = newId(random, 'at');
    // It does not expire: there is nobody else to renew it.
    const made = { id, owner, slot: null, description: 'first start', createdBy: owner, createdAt, expiredAt: null };
    await addToken(tx, made, secret, key);
    await addAuditEvent(tx, {
      id: newId(random, 'ae'),
      organization: null,
      action: 'create',
      resource: { type: 'user', id: user.id },
      actor: owner,
      token: id,
      request: 'first-start',
      createdAt,
      before: null,
      after: { username: user.username, 'is-admin': true },
    });
    return secret;
  });
};
