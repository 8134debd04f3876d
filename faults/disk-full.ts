/** A disk without room, then freed: reads go on, writes are refused for as long and resume by themselves, and nothing is lost. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openPostgres } from '../src/store/postgres.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Store } from '../src/store/store.ts';
import { Ledger } from './support/ledger.ts';
import { Load } from './support/load.ts';
import { organization, Patience, type Server, Stage, spread } from './support/stage.ts';
import { LeftOut, type Told, type Trial } from './trial.ts';

const clients = 4;
const resumesWithin = 5_000;
const refusals = 20;

/** A file system of a few MiB in memory. */
type Disk = {
  readonly folder: string;
  /** What starts a server so that it sees the disk, where nobody else does. */
  readonly through: readonly string[];
  /** Where its files are for us, while the server runs. */
  readonly seen: (server: Server) => string;
};

const mountAt = (folder: string, options: string): { readonly problem: string | undefined } => {
  const { error, status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], {
    encoding: 'utf8',
  });
  return { problem: error ? error.message : status === 0 ? undefined : stderr.trim() };
};

const place = (stage: Stage): string => {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-disk-'));
  chmodSync(folder, 0o711);
  stage.afterAll(() => rmdirSync(folder));
  return folder;
};

/** For all to see, which takes the right to mount; or why there is none. */
const sharedDisk = (stage: Stage, size: number, user = process.getuid?.() ?? 0): Disk | string => {
  const folder = place(stage);
  const { problem } = mountAt(folder, `size=${size}m,uid=${user},mode=0700`);
  if (problem !== undefined) return problem;
  stage.afterAll(() => spawnSync('umount', ['-l', folder]));
  return { folder, through: [], seen: () => folder };
};

/** For the server alone, in a namespace of its own, which any user may have on most systems. */
const ownDisk = (stage: Stage, size: number): Disk | string => {
  const folder = place(stage);
  const through = ['unshare', '-rm', 'sh', '-c', `mount -t tmpfs -o size=${size}m tmpfs "$0" && exec "$@"`, folder];
  const [program = '', ...args] = through;
  const { error, status, stderr } = spawnSync(program, [...args, 'true'], { encoding: 'utf8' });
  if (error || status !== 0) return error ? error.message : stderr.trim();
  return { folder, through, seen: ({ pid }) => join(`/proc/${pid}/root`, folder) };
};

/** Takes all the room that is left. */
const fill = (file: string): void => {
  const opened = openSync(file, 'w');
  try {
    for (let size = 1 << 20; size >= 1; )
      try {
        writeSync(opened, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size >>= 1;
      }
  } finally {
    closeSync(opened);
  }
};

const filled = async (
  server: Server,
  ballast: string,
  look: () => Store,
  times: number,
  progress: Told,
  late: Told,
): Promise<string> => {
  const ledger = new Ledger();
  let refused = 0;
  let succeeded = 0;
  const load = new Load(ledger, clients, ({ status }) => {
    if (status === 503) refused++;
    else if (status > 0) succeeded = performance.now();
    assert.notEqual(status, 0, 'a connection was closed');
  });
  let reads = 0;
  load.also(1, async () => {
    for (const path of [`/api/v2/organizations/${organization}/projects`, '/healthz', '/readyz']) {
      const { status, text } = await server.ask('GET', path);
      assert.equal(status, 200, `GET ${path} answered ${status}: ${text}`);
    }
    reads++;
  });
  const patience = new Patience(late);
  const resumed: number[] = [];
  for (let round = 1; round <= times; round++) {
    load.begin(server);
    const some = ledger.acknowledged + 20;
    await load.until('writes are acknowledged', () => ledger.acknowledged > some);
    fill(ballast);
    const before = { refused, reads };
    await load.until(
      'writes are refused and reads go on',
      () => refused >= before.refused + refusals && reads >= before.reads + 5,
    );
    rmSync(ballast);
    const freed = performance.now();
    await load.until('a write is done after the disk was freed', () => succeeded > freed);
    resumed.push(succeeded - freed);
    await load.end();
    await ledger.verify(server, round === times);
    progress(`${round} times full, ${ledger.acknowledged} writes acknowledged`);
  }
  const store = look();
  await ledger.audit(store).finally(() => store.close());
  await server.stop();
  patience.judge('to write again', Math.max(...resumed), resumesWithin);
  return `${times} times full: ${refused} writes answered 503, ${reads} reads, all 200, liveness and readiness too; writes resumed without a restart: ${spread(resumed)}; of ${ledger.acknowledged} acknowledged writes 0 lost, integrity clean${patience.remark}`;
};

const onSqlite = async (stage: Stage, times: number, progress: Told, late: Told): Promise<string> => {
  const shared = sharedDisk(stage, 12);
  const disk = typeof shared === 'string' ? ownDisk(stage, 12) : shared;
  if (typeof disk === 'string') throw new LeftOut(`no small disk can be made here: ${disk}`);
  const server = await stage.serveFirst(`sqlite:${disk.folder}/trial.db`, { through: disk.through });
  const look = (): Store => {
    const copy = stage.path('copy.db');
    for (const part of ['', '-wal']) copyFileSync(join(disk.seen(server), `trial.db${part}`), copy + part);
    return openSqlite(copy);
  };
  return filled(server, join(disk.seen(server), 'ballast'), look, times, progress, late);
};

/** The tables are on the small disk, and PostgreSQL's own log is not: without room for that it would end itself. */
const onPostgres = async (stage: Stage, times: number, progress: Told, late: Told): Promise<string> => {
  const postgres = await stage.postgres();
  const disk = sharedDisk(stage, 24, statSync(`/proc/${postgres.pid}`).uid);
  if (typeof disk === 'string') throw new LeftOut(`no small disk can be mounted here: ${disk}`);
  const client = new pg.Client({ connectionString: postgres.url() });
  await client.connect();
  await client.query(`create tablespace small location '${disk.folder}'`);
  await client.query('create database trial tablespace small template template0');
  await client.end();
  const database = postgres.url('trial');
  const server = await stage.serveFirst(database);
  const look = (): Store => openPostgres(database, { connections: 1 });
  return filled(server, join(disk.folder, 'ballast'), look, times, progress, late);
};

export const diskFull: Trial = {
  name: 'disk-full',
  fault: 'disk full (small tmpfs) under load, then freed; on SQLite, and for the tables of PostgreSQL',
  short: 1,
  long: 10,
  run: async (times, progress, late) => {
    if (process.platform !== 'linux') throw new LeftOut('a small disk is made on Linux alone');
    await using stage = new Stage();
    const figures: string[] = [];
    const leftOut: string[] = [];
    // What keeps us from the one need not keep us from the other.
    for (const [engine, work] of Object.entries({ SQLite: onSqlite, PostgreSQL: onPostgres }))
      try {
        figures.push(`${engine}: ${await work(stage, times, text => progress(`${engine}: ${text}`), late)}`);
      } catch (error) {
        if (!(error instanceof LeftOut)) throw error;
        leftOut.push(`${engine}: ${error.message}`);
      }
    if (leftOut.length > 0) throw new LeftOut(leftOut.join('; '), figures);
    return figures;
  },
};
