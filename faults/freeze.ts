/** PostgreSQL frozen under load: readiness says so, every request is answered, memory stays flat, and it recovers by itself. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { openPostgres } from '../src/store/postgres.ts';
import { Ledger } from './support/ledger.ts';
import { Load } from './support/load.ts';
import { hangs, organization, Patience, type Reply, Stage, until } from './support/stage.ts';
import type { Trial } from './trial.ts';

const writers = 8;
const readers = 16;
const notReadyWithin = 3_000;
const answeredWithin = 5_000;
const readyAgainWithin = 2_000;
const mostGrowth = 30;

/** Of a process, in MiB. */
const memoryOf = (pid: number): number => {
  if (process.platform !== 'linux')
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', `${pid}`], { encoding: 'utf8' })) / 1024;
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
};

export const freeze: Trial = {
  name: 'freeze',
  fault: 'PostgreSQL frozen (SIGSTOP) for so many seconds, under reads and writes',
  short: 8,
  long: 30,
  run: async (seconds, progress, late) => {
    await using stage = new Stage();
    const postgres = await stage.postgres();
    const database = await postgres.newDatabase();
    const server = await stage.serveFirst(database);
    const ledger = new Ledger();
    const statuses = new Map<number, number>();
    let answered = 0;
    let slowest = 0;
    let succeeded = 0;
    const noted = ({ status, ms }: Reply): void => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      answered++;
      slowest = Math.max(slowest, ms);
      assert.ok(status === 200 || status === 204 || status === 201 || status === 503, `an answer of ${status}`);
    };
    const load = new Load(ledger, writers, reply => {
      noted(reply);
      if (reply.status < 300) succeeded = performance.now();
    });
    const probed = { '/healthz': 0, '/readyz': 0 };
    const probe = async (path: keyof typeof probed): Promise<number> => {
      const { status, ms } = await server.ask('GET', path);
      probed[path] = Math.max(probed[path], ms);
      return status;
    };
    load.also(readers, async () => {
      noted(await server.ask('GET', `/api/v2/organizations/${organization}/projects`));
      await pause(10);
    });
    load.also(1, async () => {
      assert.equal(await probe('/healthz'), 200, 'liveness is down');
      await pause(50);
    });
    stage.after(() => postgres.thaw());
    load.begin(server);
    // What a server needs in the long run, it has after a while.
    await load.until('2,000 answers', () => answered >= 2_000);
    const patience = new Patience(late);
    const isReady = async (): Promise<boolean> => (await probe('/readyz')) === 200;
    const memory = [memoryOf(server.pid)];

    postgres.freeze();
    const frozen = performance.now();
    const noticed = await until(async () => !(await isReady()), hangs);
    assert.ok(noticed !== undefined, 'ready for ever with a database that is frozen');
    patience.judge('to be not ready', noticed, notReadyWithin);
    while (performance.now() - frozen < seconds * 1_000) {
      await pause(250);
      memory.push(memoryOf(server.pid));
      assert.equal(await isReady(), false, 'ready with a database that is frozen');
      progress(
        `frozen for ${Math.round((performance.now() - frozen) / 1_000)} s, ${Math.round(memory.at(-1) ?? 0)} MiB`,
      );
    }
    postgres.thaw();
    const thawed = performance.now();
    const ready = await until(isReady, hangs);
    assert.ok(ready !== undefined, 'never ready again');
    await load.until('a write is done after the thaw', () => succeeded > thawed);
    const wrote = succeeded - thawed;
    patience.judge('to be ready again', ready, readyAgainWithin);
    patience.judge('to write again', wrote, readyAgainWithin);
    await load.end();
    patience.judge('an answer', slowest, answeredWithin);
    for (const [path, longest] of Object.entries(probed))
      patience.judge(`an answer of ${path}`, longest, answeredWithin);
    const [first = 0] = memory;
    const growth = Math.max(...memory) - first;
    assert.ok(growth <= mostGrowth, `memory grew by ${Math.round(growth)} MiB`);
    await ledger.verify(server, true);
    await server.stop();
    const store = openPostgres(database, { connections: 1 });
    await ledger.audit(store).finally(() => store.close());
    const shown = (ms = 0) => `${Math.round(ms)} ms`;
    return [
      `frozen for ${seconds} s: not ready after ${shown(noticed)}, slowest answer ${shown(slowest)}, ${statuses.get(503) ?? 0} answered 503, liveness 200 throughout (slowest ${shown(probed['/healthz'])}; of readiness ${shown(probed['/readyz'])}), memory ${Math.round(first)} MiB and at most ${Math.round(growth)} more; thawed: ready after ${shown(ready)}, a write done after ${shown(wrote)}; 0 acknowledged writes lost${patience.remark}`,
    ];
  },
};
