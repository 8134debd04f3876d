/** One server on each engine, with the same clock and the same chance: whatever both are asked, they answer alike. */

import assert from 'node:assert/strict';
import { openPostgres } from '../../src/store/postgres.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { type Answer, Client } from '../../test/support/client.ts';
import { startServer } from '../../test/support/server.ts';
import { Directory } from '../../test/support/world.ts';
import { ourPostgres } from './replicas.ts';

/** Of the connection, not of the answer. */
const asideFrom = ['date', 'connection', 'keep-alive'];

/** Asks both, and believes the answer only if both gave it, byte for byte. */
class TwinClient extends Client {
  readonly #other: Client;
  readonly #names: readonly [string, string];
  asked = 0;

  constructor(url: string, otherUrl: string, names: readonly [string, string]) {
    super(url);
    this.#other = new Client(otherUrl);
    this.#names = names;
  }

  override async send(...[method, path, options = {}]: Parameters<Client['send']>): Promise<Answer> {
    // Otherwise each server would give a name of its own to the request.
    const headers = { 'x-request-id': `request-${++this.asked}`, ...options.headers };
    const both = await Promise.all([
      super.send(method, path, { ...options, headers }),
      this.#other.send(method, path, { ...options, headers }),
    ]);
    const [told, other] = both.map(({ status, headers, text }) => ({
      status,
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !asideFrom.includes(name))),
      text,
    }));
    assert.deepEqual(
      other,
      told,
      `${this.#names.toReversed().join(' and ')} differ on ${method} ${path} ${options.payload ?? ''}`,
    );
    return both[0];
  }

  override close(): void {
    super.close();
    this.#other.close();
  }
}

export type Twins = { readonly directory: Directory; readonly client: TwinClient };

export const onTwins = async <T>(seed: number, work: (twins: Twins) => Promise<T>): Promise<T> => {
  const url = await (await ourPostgres()).newDatabase();
  const first = await startServer({ seed, store: openSqlite(':memory:') });
  const second = await startServer({ seed, store: openPostgres(url) });
  const client = new TwinClient(first.url, second.url, ['SQLite', 'PostgreSQL']);
  try {
    assert.equal(first.adminToken, second.adminToken);
    await client.learn();
    return await work({ directory: new Directory({ ...first, client }), client });
  } finally {
    client.close();
    await first.close();
    await second.close();
  }
};
