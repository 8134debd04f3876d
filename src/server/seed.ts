/** Plants a world at the start of the server: into an empty database, once. */

import { hash } from 'node:crypto';
import { type Making, type NewSecret, plant } from '../resources/world/plant.ts';
import type { World } from '../resources/world/shape.ts';
import { sql } from '../store/sql.ts';
import { StartFault, type Store, type Tx } from '../store/store.ts';
import { giveAdminToken, isAdminToken, refuseTaken } from './first-start.ts';
import { readSeed } from './seed-file.ts';

/** What the file says, however it says it. */
const fingerprintOf = (world: World): string => hash('sha256', JSON.stringify(world), 'base64url');

/** Undefined where the same world was planted before: a restart changes nothing. */
export const sow = (
  store: Store,
  file: string,
  world: World,
  making: Making,
  adminToken: string | undefined,
): Promise<readonly NewSecret[] | undefined> =>
  store.write(async tx => {
    const fingerprint = fingerprintOf(world);
    const planted = await tx.row<[value: string]>(sql`select value from server_keys where name = 'seed'`);
    if (planted?.[0] === fingerprint) return undefined;
    if (await tx.row(sql`select id from users limit 1`))
      throw new StartFault(
        `the database ${planted ? 'was planted with another world than' : 'is not empty, so it cannot be planted with'} ${file}: start with an empty one, such as --database sqlite::memory:, or without --seed`,
      );
    const secrets = await plant(tx, world, making);
    await tx.run(sql`insert into server_keys (name, value) values ('seed', ${fingerprint})`);
    return [...secrets, ...(await wayIn(tx, making, adminToken))];
  });

/** Where the world has a site admin: the token that was given, or one of the world's, or else a new one. Otherwise one is made later. */
const wayIn = async (tx: Tx, making: Making, adminToken: string | undefined): Promise<NewSecret[]> => {
  const hasAdmin = await tx.row(sql`select id from users where is_admin = 1 limit 1`);
  if (adminToken !== undefined) {
    // Refused here, a token that the world gives to somebody else leaves nothing planted.
    if (!hasAdmin) await refuseTaken(tx, making.key, adminToken);
    else if (!(await isAdminToken(tx, making, adminToken))) await giveAdminToken(tx, making, adminToken);
    return [];
  }
  if (!hasAdmin) return [];
  const held = await tx.row(sql`
    select tokens.id
    from users
    join authentication_tokens as tokens on tokens.user_id = users.id
    where users.is_admin = 1 and (tokens.expired_at is null or tokens.expired_at > ${making.now().toISOString()})
    limit 1`);
  if (held) return [];
  const { username, id, token: secret } = await giveAdminToken(tx, making);
  return [{ token: id, whose: `user ${username}`, secret }];
};

/** Reads a file, to be planted later; what comes of it is told in a text. */
export const seedFrom = async (file: string) => {
  const world = await readSeed(file);
  return async (store: Store, making: Making, adminToken: string | undefined): Promise<string> => {
    const secrets = await sow(store, file, world, making, adminToken);
    return secrets ? secretsText(file, secrets) : `The world of ${file} was planted before: nothing was changed.\n`;
  };
};

const secretsText = (file: string, secrets: readonly NewSecret[]): string => {
  if (secrets.length === 0) return `The world of ${file} was planted.\n`;
  // A description may hold anything; a terminal gets to see text.
  const lines = secrets.map(({ whose, secret }) => ({ whose: whose.replace(/\p{C}+/gu, ' '), secret }));
  const widest = lines.reduce((width, { whose }) => Math.max(width, whose.length), 0);
  const rows = lines.map(({ whose, secret }) => `  ${whose.padEnd(widest)}  ${secret}`);
  return `The world of ${file} was planted. These tokens were made for it; they are not shown again:\n\n${rows.join('\n')}\n\n`;
};
