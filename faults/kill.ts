/** `kill -9` of the server during writes: what was acknowledged is there, with its audit row, and nothing is half done. */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { openPostgres } from '../src/store/postgres.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Store } from '../src/store/store.ts';
import { Ledger } from './support/ledger.ts';
import { Load } from './support/load.ts';
import { judge, Stage, spread } from './support/stage.ts';
import type { Told, Trial } from './trial.ts';

const clients = 8;
const readyWithin = 2_000;
const betweenAudits = 20;
const mostBetweenKills = 60;

/** The database as the last kill left it, to be looked at: an SQLite file is copied, so that recovery is left to the server. */
type Place = { readonly database: string; readonly left: () => { readonly url: string; readonly store: Store } };

const onSqlite = (stage: Stage): Place => {
  const file = stage.path('trial.db');
  return {
    database: `sqlite:${file}`,
    left: () => {
      const copy = stage.path('copy.db');
      for (const part of ['', '-wal']) if (existsSync(file + part)) copyFileSync(file + part, copy + part);
      return { url: `sqlite:${copy}`, store: openSqlite(copy) };
    },
  };
};

const onPostgres = async (stage: Stage): Promise<Place> => {
  const database = await (await stage.postgres()).newDatabase();
  return { database, left: () => ({ url: database, store: openPostgres(database, { connections: 1 }) }) };
};

const killed = async (stage: Stage, { database, left }: Place, times: number, progress: Told, late: Told) => {
  const ledger = new Ledger();
  const load = new Load(ledger, clients);
  const ready: number[] = [];
  const unhindered: number[] = [];
  const audit = async (): Promise<void> => {
    const { url, store } = left();
    await ledger.audit(store).finally(() => store.close());
    const verifying = stage.run(['audit', 'verify', '--database', url]);
    const { code } = await verifying.exited;
    assert.equal(code, 0, `audit verify: ${verifying.out}${verifying.error}`);
  };
  let server = await stage.serveFirst(database);
  for (let kills = 1; kills <= times; kills++) {
    load.begin(server);
    // Somewhere in the middle of one of the next writes.
    const goal = ledger.acknowledged + Math.random() * mostBetweenKills;
    await load.until('writes are acknowledged', () => ledger.acknowledged > goal);
    await pause(Math.random() * 10);
    await server.kill();
    await load.end();
    if (kills % betweenAudits === 0) await audit();
    server = await stage.serve(database);
    ready.push(server.readyAfter);
    unhindered.push(server.readyAfter - server.heldUp);
    await ledger.verify(server, kills === times);
    progress(`${kills} kills, ${ledger.acknowledged} writes acknowledged`);
  }
  await server.stop();
  await audit();
  judge(late, 'to be ready again', Math.max(...unhindered), readyWithin);
  return `${times} kills: of ${ledger.acknowledged} acknowledged writes 0 lost, ${ledger.unknown} without an answer are whole or undone, 0 audit rows too many or too few, integrity clean; ready again: ${spread(ready)}; judged without what it waited for a processor: ${spread(unhindered)}`;
};

export const kill: Trial = {
  name: 'kill',
  fault: 'kill -9 of the server during writes, on SQLite and on PostgreSQL',
  short: 3,
  long: 200,
  run: async (times, progress, late) => {
    await using stage = new Stage();
    const sqlite = await killed(stage, onSqlite(stage), times, text => progress(`SQLite: ${text}`), late);
    const postgres = await killed(stage, await onPostgres(stage), times, text => progress(`PostgreSQL: ${text}`), late);
    return [`SQLite: ${sqlite}`, `PostgreSQL: ${postgres}`];
  },
};
