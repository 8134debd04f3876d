/** The connections of the pool are held up by a lock: requests are refused in time, the server lives, and goes on afterwards. */

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openPostgres } from '../src/store/postgres.ts';
import { Ledger } from './support/ledger.ts';
import { Load } from './support/load.ts';
import { organization, Patience, type Reply, Stage, spread } from './support/stage.ts';
import type { Trial } from './trial.ts';

const writers = 8;
const readers = 24;
const answeredWithin = 5_000;
const resumesWithin = 2_000;
/** Longer than any answer may take. */
const held = 7_000;

/** What is locked, and whether reads have to wait for it: every request looks up its token; only writes take turns. */
const locks = [
  { table: 'authentication_tokens', stopsReads: true },
  { table: 'write_turns', stopsReads: false },
] as const;

export const poolExhausted: Trial = {
  name: 'pool-exhausted',
  fault:
    'all connections of a small pool, or all turns to write, are held up by a lock in PostgreSQL, under reads and writes',
  short: 2,
  long: 10,
  run: async (times, progress, late) => {
    await using stage = new Stage();
    const database = await (await stage.postgres()).newDatabase();
    const server = await stage.serveFirst(database, { args: ['--database-connections', '2'] });
    const holder = new pg.Client({ connectionString: database });
    await holder.connect();
    stage.after(() => holder.end());
    const ledger = new Ledger();
    const refusals = { reads: 0, writes: 0 };
    let slowest = 0;
    let succeeded = 0;
    const noted = (kind: keyof typeof refusals, { status, ms }: Reply): void => {
      assert.ok([200, 201, 204, 503].includes(status), `an answer of ${status}`);
      slowest = Math.max(slowest, ms);
      if (status === 503) refusals[kind]++;
      else if (kind === 'writes') succeeded = performance.now();
    };
    const load = new Load(ledger, writers, reply => noted('writes', reply));
    load.also(readers, async () => {
      noted('reads', await server.ask('GET', `/api/v2/organizations/${organization}/projects`));
      await pause(20);
    });
    load.also(1, async () => {
      assert.equal((await server.ask('GET', '/healthz')).status, 200, 'liveness is down');
      await pause(50);
    });
    const patience = new Patience(late);
    const resumed: number[] = [];
    for (let round = 0; round < times; round++) {
      const { table, stopsReads } = locks[round % locks.length] as (typeof locks)[number];
      load.begin(server);
      const some = ledger.acknowledged + 20;
      await load.until('writes are acknowledged', () => ledger.acknowledged > some);
      await holder.query(`begin; lock table ${table} in access exclusive mode`);
      const before = { ...refusals };
      await pause(held);
      await load.until('writes are refused', () => refusals.writes > before.writes);
      if (stopsReads) await load.until('reads are refused', () => refusals.reads > before.reads);
      else if (refusals.reads > before.reads) late('a read was refused, for which there was a connection');
      await holder.query('commit');
      const released = performance.now();
      await load.until('a write is done after the release', () => succeeded > released);
      resumed.push(succeeded - released);
      await load.end();
      progress(`${round + 1} times held up, ${refusals.reads + refusals.writes} answered 503`);
    }
    await ledger.verify(server, true);
    await server.stop();
    const store = openPostgres(database, { connections: 1 });
    await ledger.audit(store).finally(() => store.close());
    patience.judge('an answer', slowest, answeredWithin);
    patience.judge('to write again', Math.max(...resumed), resumesWithin);
    return [
      `${times} times held up for ${held / 1000} s: ${refusals.reads} reads and ${refusals.writes} writes answered 503, slowest answer ${Math.round(slowest)} ms, liveness 200 throughout; a write done after the release: ${spread(resumed)}; of ${ledger.acknowledged} acknowledged writes 0 lost${patience.remark}`,
    ];
  },
};
