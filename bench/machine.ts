/** Where it was measured, and with what: nothing that tells whose machine it is. */

import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, totalmem } from 'node:os';
import { arePinned } from './cores.ts';
import { isMeasurable } from './cpu.ts';
import { median } from './statistics.ts';

/** A page written and synced, in microseconds: the median of some hundred. */
export const fsyncTime = (path: string): number => {
  const [file, page] = [openSync(path, 'w'), Buffer.alloc(4096, 1)];
  const times = Array.from({ length: 300 }, (_, index) => {
    writeSync(file, page, 0, page.length, index * page.length);
    const begun = performance.now();
    fsyncSync(file);
    return (performance.now() - begun) * 1000;
  });
  closeSync(file);
  rmSync(path);
  return median(times);
};

const require = createRequire(import.meta.url);

export const machine = (): string => {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores (${model}), ${memory} GiB, ${process.platform}/${process.arch}`;
};

export const versions = (postgres: string, peers: readonly string[]): string =>
  [
    `Node ${process.versions.node}`,
    `SQLite ${process.versions.sqlite}`,
    `PostgreSQL ${postgres}`,
    `Fastify ${require('fastify/package.json').version}`,
    `pg ${require('pg/package.json').version}`,
    ...peers,
  ].join(', ');

export const placement = (): string =>
  [
    arePinned
      ? 'Servers and their databases have one core, the load has another.'
      : 'Nothing is pinned to a core: there is only one, or no taskset.',
    ...(isMeasurable ? [] : ['CPU time and memory of servers are not measured: only Linux tells them.']),
  ].join(' ');
