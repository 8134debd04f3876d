/** The least that each part of the work can cost, within a process: see the hosts of the same names. */

import type { Embedded } from '../arm.ts';
import type { Operation } from '../operations.ts';
import type { Size } from '../world/plan.ts';
import type { Engine, Worlds } from '../worlds.ts';
import { hosted } from './hosted.ts';

export const statements = async (
  worlds: Worlds,
  size: Size,
  engine: Engine,
  operations: readonly Operation[],
): Promise<Embedded> => {
  const url = await worlds.copy(size, engine);
  return hosted({
    name: `the bare statements, ${engine}`,
    role: 'floor',
    script: 'statements-host.ts',
    begin: { url, size, operations },
    database: await worlds.processes(engine),
    after: () => worlds.drop(url),
  });
};

/** `select 1` needs no world. */
export const driver = async (worlds: Worlds, engine: Engine): Promise<Embedded> =>
  hosted({
    name: `the driver alone (select 1), ${engine}`,
    role: 'floor',
    script: 'driver-host.ts',
    begin: engine === 'SQLite' ? {} : { url: (await worlds.postgres()).server.url() },
    database: await worlds.processes(engine),
  });

export const commits = async (worlds: Worlds, size: Size): Promise<Embedded> => {
  const url = await worlds.copy(size, 'SQLite');
  return hosted({
    ...{ name: 'bare commits, SQLite', role: 'floor', script: 'commits-host.ts', begin: { url } },
    after: () => worlds.drop(url),
  });
};

export const join = (size: Size): Promise<Embedded> =>
  hosted({ name: 'the join in memory', role: 'floor', script: 'join-host.ts', begin: { size } });
