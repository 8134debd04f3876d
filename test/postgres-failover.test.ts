/** What the PostgreSQL engine promises where connections are lost, stay silent, or lead to another server than before. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Fault } from '../src/core/fault.ts';
import { openPostgres, type PostgresOptions } from '../src/store/postgres.ts';
import { translated } from '../src/store/postgres-errors.ts';
import { sql } from '../src/store/sql.ts';
import type { Store, Tx } from '../src/store/store.ts';
import { Unavailable } from '../src/store/store.ts';
import { newDatabase, onlyOn } from './support/engine.ts';
import { guard } from './support/program.ts';

type Pair = { readonly client: Socket; readonly server: Socket };

/** A way to the database on which connections can be cut, or left open without anything coming through. */
class Way {
  readonly url: string;
  readonly pairs: Pair[] = [];
  /** Told of what a client sends, before it is passed on. */
  sent = (_: Buffer, __: Pair): void => {};

  constructor(url: string) {
    this.url = url;
  }

  static async open(t: TestContext, url: string): Promise<Way> {
    const { hostname, port } = new URL(url);
    const listener = createServer(client => way.#pass(client, connect(Number(port), hostname)));
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const through = new URL(url);
    through.hostname = '127.0.0.1';
    through.port = `${(listener.address() as AddressInfo).port}`;
    const way = new Way(through.href);
    t.after(() => {
      for (const pair of way.pairs) way.cut(pair);
      listener.close();
    });
    return way;
  }

  #pass(client: Socket, server: Socket): void {
    const pair = { client, server };
    this.pairs.push(pair);
    client.on('error', () => server.destroy()).on('close', () => server.destroy());
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('data', (data: Buffer) => {
      this.sent(data, pair);
      server.write(data);
    });
    server.on('data', data => client.write(data));
  }

  cut({ client, server }: Pair): void {
    client.destroy();
    server.destroy();
  }

  /** As after a failover: nobody is at the other end of the connections that there are, and nobody says so. */
  strand(): void {
    for (const { client, server } of this.pairs) {
      client.removeAllListeners('data').resume();
      server.removeAllListeners('close').destroy();
    }
  }
}

const onWay = async (t: TestContext, options?: PostgresOptions): Promise<{ store: Store; way: Way; url: string }> => {
  const { url = '', drop } = await newDatabase();
  t.after(drop);
  const way = await Way.open(t, url);
  const store = openPostgres(way.url, options);
  t.after(() => store.close());
  await store.alone(tx => tx.script('create table write_turns (id ctext primary key); create table t (x integer)'));
  return { store, way, url };
};

/** By somebody else, on a connection of its own. */
const done = async (url: string, text: string): Promise<void> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
};

const add = (store: Store, x: number) => store.write(tx => tx.run(sql`insert into t values (${x})`));
const all = async (store: Store) => (await store.read(tx => tx.rows<[number]>(sql`select x from t order by x`))).flat();

const isUnavailable = (reason: string, message: RegExp) => (error: unknown) =>
  error instanceof Unavailable && error.reason === reason && message.test(error.message);

const losses = (): void => {
  test('a connection that is cut before the commit: the work is done again on another', guard, async t => {
    const { store, way } = await onWay(t);
    let cuts = 0;
    way.sent = (data, pair) => {
      if (data.includes('insert into t') && cuts++ === 0) way.cut(pair);
    };
    await add(store, 1);
    assert.deepEqual([await all(store), cuts, store.figures().retries], [[1], 2, 1]);
  });

  test(
    'one that is cut during the commit: the answer says that nobody knows, and nothing is done twice',
    guard,
    async t => {
      const { store, way } = await onWay(t);
      let tries = 0;
      way.sent = (data, pair) => {
        if (!data.includes('commit\0')) return;
        way.sent = () => {};
        // The database has it all the same.
        pair.client.removeAllListeners('close').destroy();
      };
      const write = store.write(async tx => {
        tries++;
        await tx.run(sql`insert into t values (${1})`);
      });
      await assert.rejects(write, isUnavailable('gone', /may have been made/));
      while ((await all(store)).length === 0) await sleep(10);
      assert.deepEqual([await all(store), tries], [[1], 1]);
    },
  );

  test(
    'connections that lead nowhere since a failover are given up, all of them, while new ones work',
    guard,
    async t => {
      const { store, way } = await onWay(t);
      await Promise.all(Array.from({ length: 10 }, () => all(store)));
      assert.ok(store.figures().open > 5);
      way.strand();
      await add(store, 1);
      assert.deepEqual(await all(store), [1]);
      assert.ok(store.figures().retries <= 2, `${store.figures().retries} tries on dead connections`);
    },
  );

  test('what the work says is what is told, though its connection dies on the way back', guard, async t => {
    const { store, url } = await onWay(t);
    const refused = new Fault({ kind: 'not found' });
    const write = store.write(async tx => {
      const [pid] = (await tx.row<[number]>(sql`select pg_backend_pid()`)) ?? [];
      await done(url, `select pg_terminate_backend(${pid})`);
      throw refused;
    });
    await assert.rejects(write, error => error === refused);
  });

  test('a statement that failed unheard is not taken for a commit', guard, async t => {
    const { store } = await onWay(t);
    const write = store.write(async tx => {
      await tx.run(sql`insert into t values (${1})`);
      await tx.run(sql`insert into nowhere values (${1})`).catch(() => {});
    });
    await assert.rejects(write, /nothing was committed/);
    assert.deepEqual(await all(store), []);
  });

  test('a database that has no room for one more connection is still there', guard, async t => {
    const { url = '', drop } = await newDatabase();
    const role = `narrow_${process.pid}`;
    await done(url, `create role ${role} login connection limit 1`);
    t.after(() => done(url, `drop role ${role}`).finally(drop));
    const narrow = new URL(url);
    narrow.username = role;
    const news: string[] = [];
    const store = openPostgres(narrow.href, { news: text => news.push(text) });
    // Longer than the engine waits before it wonders.
    const [slept] = (await store.read(tx => tx.row<[number]>(sql`select 1 from pg_sleep(1.6)`))) ?? [];
    await store.close();
    assert.deepEqual([slept, news], [1, []]);
  });

  test('a standby, which knows no serializable transactions, takes no changes now', () => {
    const error = Object.assign(new Error('cannot use serializable mode in a hot standby'), { code: '0A000' });
    assert.equal(translated(error)?.reason, 'full');
  });

  test('a write waits for its beginning, so that nothing is ever written outside of a transaction', guard, async t => {
    const { store } = await onWay(t);
    await store.alone(tx => tx.script('drop table write_turns'));
    let begun = false;
    const write = store.write(async (tx: Tx) => {
      begun = true;
      await tx.run(sql`insert into t values (${1})`);
    });
    await assert.rejects(write, /write_turns/);
    assert.equal(begun, false);
  });
};

onlyOn('postgres', () => describe('connections', losses));
