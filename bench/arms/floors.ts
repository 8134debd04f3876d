/** The least that each part of the work can cost, within a process: see the hosts of the same names. */

import type { Embedded } from '../arm.ts';
import type { Size } from '../world/plan.ts';
import type { Engine, Worlds } from '../worlds.ts';
import { hosted } from './hosted.ts';

const onCopy = async (worlds: Worlds, size: Size, engine: Engine, name: string, script: string): Promise<Embedded> => {
  const url = await worlds.copy(size, engine);
  return hosted({
    name: `${name}, ${engine}`,
    role: 'floor',
    script,
    begin: { url, size },
    database: await worlds.processes(engine),
    after: () => worlds.drop(url),
  });
};

export const statements = (worlds: Worlds, size: Size, engine: Engine): Promise<Embedded> =>
  onCopy(worlds, size, engine, 'the bare statements', 'statements-host.ts');

export const driver = (worlds: Worlds, size: Size, engine: Engine): Promise<Embedded> =>
  onCopy(worlds, size, engine, 'the driver alone (select 1)', 'driver-host.ts');

export const commits = (worlds: Worlds, size: Size): Promise<Embedded> =>
  onCopy(worlds, size, 'SQLite', 'bare commits', 'commits-host.ts');

export const join = (size: Size): Promise<Embedded> =>
  hosted({ name: 'the join in memory', role: 'floor', script: 'join-host.ts', begin: { size } });
