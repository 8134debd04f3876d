/** PostgreSQL restarted, and its backends killed, under write load: nothing acknowledged is lost, and service is back by itself. */

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openPostgres } from '../src/store/postgres.ts';
import type { Postgres } from '../test/support/postgres.ts';
import { signal } from '../test/support/processes.ts';
import { Ledger } from './support/ledger.ts';
import { Load } from './support/load.ts';
import { Patience, Stage, spread, until } from './support/stage.ts';
import type { Trial } from './trial.ts';

const clients = 8;
const backWithin = 2_000;
/** PostgreSQL itself, which is not on trial. */
const comesBack = 60_000;

type Fault = (postgres: Postgres, database: string) => Promise<unknown>;

const asked = async (url: string, text: string, within = 0): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: within });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    client.end().catch(() => {});
  }
};

/** The connections that the server has. */
const ours = "from pg_stat_activity where application_name = 'bailiwick'";

const faults: Readonly<Record<string, Fault>> = {
  'fast restart': async postgres => {
    await postgres.stop('fast');
    await postgres.start();
  },
  'immediate restart': async postgres => {
    await postgres.stop('immediate');
    await postgres.start();
  },
  'every backend terminated': (_, database) => asked(database, `select pg_terminate_backend(pid) ${ours}`),
  // PostgreSQL takes it for a crash of its own, and begins anew by itself.
  'kill -9 of a backend': async (postgres, database) => {
    const [backend] = await asked(database, `select pid ${ours} order by state = 'active' desc limit 1`);
    signal(Number(backend?.pid), 'SIGKILL');
    await noticed(postgres);
  },
};

const crash = /all server processes terminated; reinitializing/g;
let crashes = 0;
const noticed = async (postgres: Postgres): Promise<void> => {
  crashes++;
  const seen = () => (postgres.log().match(crash)?.length ?? 0) >= crashes;
  assert.ok((await until(seen, comesBack)) !== undefined, 'PostgreSQL takes no notice of the end of its backend');
};

const accepts = (database: string): Promise<boolean> =>
  asked(database, 'select 1', 1_000).then(
    () => true,
    () => false,
  );

export const restart: Trial = {
  name: 'restart',
  fault: 'PostgreSQL restarted (fast, immediate) and backends killed, under write load',
  short: 4,
  long: 50,
  run: async (times, progress, late) => {
    await using stage = new Stage();
    const postgres = await stage.postgres();
    const database = await postgres.newDatabase();
    const server = await stage.serveFirst(database);
    const ledger = new Ledger();
    const told = new Map<number, number>();
    let succeeded = 0;
    const load = new Load(ledger, clients, ({ status }) => {
      told.set(status, (told.get(status) ?? 0) + 1);
      if (status >= 200 && status < 300) succeeded = performance.now();
    });
    const patience = new Patience(late);
    const back: number[] = [];
    const kinds = Object.entries(faults);
    crashes = 0;
    for (let round = 0; round < times; round++) {
      const [kind, fault] = kinds[round % kinds.length] as [string, Fault];
      load.begin(server);
      const some = ledger.acknowledged + Math.random() * 40;
      await load.until('writes are acknowledged', () => ledger.acknowledged > some);
      // Somewhere in the middle of one of the next writes.
      await pause(Math.random() * 50);
      await fault(postgres, database);
      const accepted = await until(() => accepts(database), comesBack, 5);
      assert.ok(accepted !== undefined, `PostgreSQL itself is not back after ${kind}`);
      const accepting = performance.now();
      await load.until(`a write is done after ${kind}`, () => succeeded > accepting);
      back.push(succeeded - accepting);
      patience.judge(`to serve again after ${kind}`, succeeded - accepting, backWithin);
      await load.end();
      await ledger.verify(server, round === times - 1);
      progress(`${round + 1} faults, ${ledger.acknowledged} writes acknowledged`);
    }
    await server.stop();
    const store = openPostgres(database, { connections: 1 });
    await ledger.audit(store).finally(() => store.close());
    const [refused, closed] = [told.get(503) ?? 0, told.get(0) ?? 0];
    return [
      `${times} faults: of ${ledger.acknowledged} acknowledged writes 0 lost, ${refused} answered 503 (${ledger.unknown} of them that the change may have been made), ${closed} connections closed, nothing else; service back after the database: ${spread(back)}${patience.remark}`,
    ];
  },
};
