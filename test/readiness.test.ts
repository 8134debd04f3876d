/** A server that is alive and not ready: what it says, and that it comes by itself. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { Ending } from '../src/server/ending.ts';
import { Readiness } from '../src/server/readiness.ts';
import { migrate } from '../src/store/migrations.ts';
import type { Store } from '../src/store/store.ts';
import { Client } from './support/client.ts';
import { newStore, onlyOn } from './support/engine.ts';
import { startPostgres } from './support/postgres.ts';
import { chosenToken, guard, newGround } from './support/program.ts';
import { type Entry, recording } from './support/recording.ts';

const listens = /listens on (\S+) and is not ready\. (.+)/;

test('however many ask at once, the database is asked once: nobody without a token keeps it busy', async t => {
  const log: Entry[] = [];
  const store = recording(await newStore(), log);
  t.after(() => store.close());
  await migrate(store, () => new Date());
  const readiness = new Readiness(store, new Ending());
  const { length } = log;
  const answers = await Promise.all(Array.from({ length: 100 }, () => readiness.now()));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(log.length - length, 1);
  assert.equal((await readiness.now()).status, 200);
  assert.equal(log.length - length, 2, 'and again for whoever asks later');
});

// Of no engine: once is enough.
onlyOn('sqlite', () =>
  test('a database whose answer lies there when the patience is over has answered; one that is silent has not', async t => {
    const store = await newStore();
    t.after(() => store.close());
    await migrate(store, () => new Date());
    for (const [isThere, status] of [
      [true, 200],
      [false, 503],
    ] as const) {
      const come = Promise.withResolvers<void>();
      const read = Promise.withResolvers<void>();
      const slow: Store = {
        ...store,
        read: async work => {
          const result = await store.read(work);
          come.resolve();
          await read.promise;
          return result;
        },
      };
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const told = new Readiness(slow, new Ending()).now();
      await come.promise;
      t.mock.timers.tick(1_500);
      if (isThere) read.resolve();
      assert.equal((await told).status, status);
      t.mock.timers.reset();
      read.resolve();
    }
  }),
);

onlyOn('postgres', () =>
  describe('a start without its database', () => {
    test('alive, not ready, 503 with Retry-After; ready by itself once it is there', guard, async t => {
      const postgres = await startPostgres();
      t.after(() => postgres.end());
      const url = await postgres.newDatabase();
      await postgres.stop('fast');
      const server = (await newGround(t)).start(['--database', url, '--admin-token', chosenToken]);
      const [, address = '', reason] = await server.printed(listens);
      assert.equal(reason, 'The database does not answer.');
      const client = new Client(address);
      t.after(() => client.close());
      assert.equal((await client.send('GET', '/healthz')).status, 200);
      const ready = await client.send('GET', '/readyz');
      assert.deepEqual([ready.status, ready.body?.database], [503, 'does not answer']);
      const asked = await client.send('GET', '/api/v2/organizations', {
        headers: { authorization: `Bearer ${chosenToken}` },
      });
      assert.deepEqual(
        [asked.status, asked.headers['retry-after'], asked.body.errors[0].detail],
        [503, '1', 'The database does not answer.'],
      );
      await postgres.start();
      assert.equal((await (await server.actor(chosenToken)).get('/organizations')).status, 200);
      await server.stop();
    });

    test('it stops when it is told to, with 0', guard, async t => {
      const nobody = createServer().listen(0, '127.0.0.1');
      await once(nobody, 'listening');
      const { port } = nobody.address() as AddressInfo;
      nobody.close();
      const server = (await newGround(t)).start(['--database', `postgres://postgres@127.0.0.1:${port}/nothing`]);
      await server.printed(listens);
      await server.stop();
    });
  }),
);
