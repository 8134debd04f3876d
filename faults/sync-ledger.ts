/** On SQLite, each acknowledged write was synced to the disk before its answer left: seen in the server's own system calls. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { childrenOf, signal } from '../test/support/processes.ts';
import type { Environment } from '../test/support/program.ts';
import { Ledger } from './support/ledger.ts';
import { Load } from './support/load.ts';
import { Stage } from './support/stage.ts';
import { LeftOut, type Trial } from './trial.ts';

/** Every call by which SQLite writes or syncs, and every one by which an answer leaves. */
const calls = 'pwrite64,pwritev,fsync,fdatasync,sync_file_range,write,writev,sendto,sendmsg';

const tracer = (file: string): string[] => ['strace', '-f', '-yy', '-s', '400', '-e', `trace=${calls}`, '-o', file];

/** What keeps this machine from showing the calls of a process, if anything. */
const whyNot = (): string | undefined => {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-e', 'trace=fsync', 'true'], { encoding: 'utf8' });
  if (error) return 'there is no strace on this machine';
  return status === 0 ? undefined : `strace may not be used: ${stderr.trim().split('\n').at(-1)}`;
};

/** Loaded before the server, which has no setting for what this does. */
const preload = (code: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    import { DatabaseSync } from 'node:sqlite';
    const { exec } = DatabaseSync.prototype;${code}`)}`;

/** The server asks for the one and gets the other. */
const weakened = preload(`
    DatabaseSync.prototype.exec = function (text) {
      return exec.call(this, text.replace('synchronous = full', 'synchronous = normal'));
    };`);

/** Has the server say what is set on its connection. */
const telltale = preload(`
  DatabaseSync.prototype.exec = function (text) {
    const result = exec.call(this, text);
    if (/foreign_keys/.test(text)) {
      const [journal] = Object.values(this.prepare('pragma journal_mode').get());
      const [synchronous] = Object.values(this.prepare('pragma synchronous').get());
      process.stderr.write('durability: ' + journal + ' ' + synchronous + '\\n');
    }
    return result;
  };`);

type Seen = { readonly answers: number; readonly exceptions: number };

/** In the order of the one thread that does it all: a commit is written and synced, and only then does its answer leave. */
const seenIn = (trace: string, isAcknowledged: (id: string) => boolean): Seen => {
  let answers = 0;
  let exceptions = 0;
  let isWritten = false;
  let isSynced = false;
  for (const line of trace.split('\n')) {
    const [, call = '', rest = ''] = /^\d+ +(\w+)\((.*)$/.exec(line) ?? [];
    const isLog = /^\d+<[^>]*-wal>/.test(rest);
    if (isLog && call.startsWith('pwrite')) {
      isWritten = true;
      isSynced = false;
    } else if (isLog && call.endsWith('sync')) isSynced = isWritten;
    const [, id = ''] = /"HTTP\/1\.1 20\d .*?x-request-id: (write-\d+)\\r/.exec(rest) ?? [];
    if (!isAcknowledged(id)) continue;
    answers++;
    if (!isSynced) exceptions++;
    isWritten = false;
    isSynced = false;
  }
  return { answers, exceptions };
};

const observed = async (stage: Stage, name: string, times: number, environment: Environment = {}): Promise<Seen> => {
  const file = stage.path(`${name}.trace`);
  const server = await stage.serveFirst(`sqlite:${stage.path(`${name}.db`)}`, { through: tracer(file), environment });
  const ledger = new Ledger();
  const load = new Load(ledger, 1);
  // One after the other, so that each answer has a commit of its own.
  for (let writes = 0; writes < times; writes++) await load.write(server, 0);
  assert.equal(ledger.acknowledged, times);
  for (const child of childrenOf(server.pid)) signal(child, 'SIGTERM');
  assert.deepEqual(await server.running.exited, { code: 0, signal: null });
  const seen = seenIn(readFileSync(file, 'utf8'), id => ledger.isAcknowledged(id));
  assert.equal(seen.answers, times, 'not every answer was seen to leave');
  return seen;
};

/** What can be told without seeing the calls: what the server asks of SQLite, and what SQLite says that it does. */
const asked = async (stage: Stage): Promise<string> => {
  const server = await stage.serveFirst(`sqlite:${stage.path('asked.db')}`, {
    environment: { NODE_OPTIONS: `--import=${telltale}` },
  });
  const [, told] = await server.running.logged(/durability: (.*)/);
  assert.equal(told, 'wal 2');
  return told;
};

export const syncLedger: Trial = {
  name: 'sync-ledger',
  fault: 'on SQLite, each acknowledged write was synced before its answer; and the trial fails with synchronous=NORMAL',
  short: 50,
  long: 500,
  run: async times => {
    await using stage = new Stage();
    const reason = whyNot();
    if (reason) {
      await asked(stage);
      throw new LeftOut(reason, ['no system call was seen; SQLite itself says that it keeps a log and syncs it']);
    }
    const { exceptions } = await observed(stage, 'full', times);
    assert.equal(exceptions, 0, `${exceptions} of ${times} answers left before the write was synced`);
    const weak = await observed(stage, 'normal', times, { NODE_OPTIONS: `--import=${weakened}` });
    assert.ok(weak.exceptions > 0, 'nothing was found with synchronous=NORMAL, so that nothing is proved');
    return [`${times} writes, 0 exceptions; with synchronous=NORMAL ${weak.exceptions} of ${times}`];
  },
};
