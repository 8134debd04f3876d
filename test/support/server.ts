/** A server of the real parts on an empty database, with a clock and randomness that repeat. */

import type { NewSecret } from '../../src/resources/world/plant.ts';
import type { World } from '../../src/resources/world/shape.ts';
import { buildApp } from '../../src/server/app.ts';
import { addSiteAdmin, tokenKey } from '../../src/server/first-start.ts';
import { sow } from '../../src/server/seed.ts';
import type { Random } from '../../src/store/id.ts';
import { migrate } from '../../src/store/migrations.ts';
import type { Store } from '../../src/store/store.ts';
import { TokenUses } from '../../src/store/token-uses.ts';
import { Client } from './client.ts';
import { newStore } from './engine.ts';

export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

export type TestServer = {
  readonly client: Client;
  readonly store: Store;
  /** Of a world that has a site admin, the first token that was made for it. */
  readonly adminToken: string;
  /** The tokens that were made for a world. */
  readonly secrets: readonly NewSecret[];
  readonly url: string;
  /** The certificate to trust, where TLS is served. */
  readonly ca: string | undefined;
  /** Sets the clock and the randomness anew, so that two servers make the same ids and times from here on. */
  readonly reseed: (seed: number) => void;
  /** Writes down which tokens were used; nothing else here does. */
  readonly writeUses: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export const startServer = async ({
  seed = 1,
  store: given = undefined as Store | undefined,
  publicUrl = 'https://bailiwick.example',
  tls = undefined as { readonly cert: string; readonly key: string } | undefined,
  world = undefined as World | undefined,
} = {}): Promise<TestServer> => {
  const store = given ?? (await newStore());
  let next = seeded(seed);
  let time = Date.parse('2026-01-01T00:00:00.000Z');
  const now = () => new Date(time++);
  const random: Random = bytes => Uint8Array.from({ length: bytes }, () => Math.floor(next() * 256));
  await migrate(store, now);
  const key = await tokenKey(store, random);
  const making = { key, random, now };
  const secrets = (world && (await sow(store, 'world', world, making, undefined))) ?? [];
  const adminToken = (await store.write(tx => addSiteAdmin(tx, making))) ?? secrets[0]?.secret ?? '';
  const services = { publicUrl: () => publicUrl, tokenKey: key, now, random };
  const uses = new TokenUses();
  const app = buildApp({ store, services, version: '0.0.0', logLevel: 'silent', tls, uses });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const client = new Client(url, tls?.cert);
  await client.learn();
  return {
    client,
    store,
    adminToken,
    secrets,
    url,
    ca: tls?.cert,
    reseed: seed => {
      next = seeded(seed);
      time = Date.parse('2027-01-01T00:00:00.000Z');
    },
    writeUses: () => uses.flush(store),
    close: async () => {
      client.close();
      await app.close();
      await store.close();
    },
  };
};
