/** What a database needs before it can serve: the key of the token hashes and, once, a site admin. */

import { addToken } from '../resources/authentication-token-resource.ts';
import { addUser, firstAdmin } from '../resources/user-resource.ts';
import type { Making } from '../resources/world/plant.ts';
import { addAuditEvent } from '../store/audit.ts';
import { base62, newId, newUuid, type Random, randomText } from '../store/id.ts';
import { sql } from '../store/sql.ts';
import { StartFault, type Store, type Tx } from '../store/store.ts';
import { isKey, kept, newToken } from '../store/token.ts';

/** Made once and kept with the data, so that a backup holds all that its tokens need. */
export const tokenKey = (store: Store, random: Random): Promise<string> =>
  store.write(async tx => {
    await tx.run(sql`
      insert into server_keys (name, value)
      values ('token', ${randomText(random, base62, 43)})
      on conflict (name) do nothing`);
    const row = await tx.row<[value: string]>(sql`select value from server_keys where name = 'token'`);
    if (!row || !isKey(row[0]))
      throw new StartFault('the key of the token hashes, in server_keys, is damaged or missing');
    return row[0];
  });

export const isEmpty = async (store: Store): Promise<boolean> =>
  (await store.read(tx => tx.row(sql`select id from users limit 1`))) === undefined;

/** Adds the site admin and gives back its token; undefined where there is one already. */
export const addSiteAdmin = async (tx: Tx, making: Making, token?: string): Promise<string | undefined> => {
  const { random, now } = making;
  if (await tx.row(sql`select id from users where is_admin = 1 limit 1`)) return undefined;
  const user = { id: newId(random, 'user'), ...firstAdmin, admin: true };
  await addUser(tx, user, now().toISOString());
  const after = { username: user.username, 'is-admin': true };
  const subject = { type: 'user', id: user.id, after };
  return addAdminToken(tx, making, user, newId(random, 'at'), subject, token ?? newToken(random));
};

/** Another token for the first site admin, such as for whoever has lost the last one and holds the data. */
export const giveAdminToken = async (tx: Tx, making: Making, secret = newToken(making.random)) => {
  const row = await tx.row<[id: string, username: string]>(sql`
    select id, username
    from users
    where is_admin = 1
    order by created_at, id
    limit 1`);
  if (!row) throw new Error('there is no site admin');
  const [id, username] = row;
  const tokenId = newId(making.random, 'at');
  const subject = { type: 'authentication_token', id: tokenId, after: { username } };
  return { username, id: tokenId, token: await addAdminToken(tx, making, { id, username }, tokenId, subject, secret) };
};

const addAdminToken = async (
  tx: Tx,
  { key, random, now }: Making,
  user: { readonly id: string; readonly username: string },
  id: string,
  subject: { readonly type: string; readonly id: string; readonly after: unknown },
  secret: string,
): Promise<string> => {
  const owner = { type: 'users', id: user.id } as const;
  const createdAt = now().toISOString();
  // It does not expire: there may be nobody else to renew it.
  const made = {
    id,
    owner,
    slot: null,
    description: 'made at the start',
    createdBy: owner,
    createdAt,
    expiredAt: null,
  };
  await refuseTaken(tx, key, secret);
  await addToken(tx, made, secret, key);
  await addAuditEvent(tx, {
    id: newUuid(random),
    organization: null,
    action: 'create',
    resource: { type: subject.type, id: subject.id },
    actor: { ...owner, name: user.username },
    token: id,
    request: 'start',
    createdAt,
    before: null,
    after: subject.after,
  });
  return secret;
};

/** Tokens are found by their public part, which must be one token's own. */
export const refuseTaken = async (tx: Tx, key: string, token: string): Promise<void> => {
  const lookup = kept(key, token)?.lookup ?? '';
  if (await tx.row(sql`select id from authentication_tokens where lookup = ${lookup}`))
    throw new StartFault(
      'the admin token cannot be given to the site admin, since another token has it: choose another',
    );
};

/** Whether it lets a site admin in already. */
export const isAdminToken = async (tx: Tx, { key, now }: Making, token: string): Promise<boolean> => {
  const { lookup, hash } = kept(key, token) ?? { lookup: '', hash: '' };
  const row = await tx.row(sql`
    select tokens.id
    from authentication_tokens as tokens
    join users on users.id = tokens.user_id
    where tokens.lookup = ${lookup} and tokens.hash = ${hash} and users.is_admin = 1
      and (tokens.expired_at is null or tokens.expired_at > ${now().toISOString()})`);
  return row !== undefined;
};
