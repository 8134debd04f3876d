/** Who works where: servers and their databases on one core, the load on another, where the machine lets us. */

import { spawnSync } from 'node:child_process';
import { childrenOf } from '../test/support/processes.ts';

/** The cores that this process may use. */
const usable = (): number[] => {
  const said = spawnSync('taskset', ['-cp', `${process.pid}`], { encoding: 'utf8' });
  const list = /: ([\d,-]+)\s*$/.exec(said.stdout ?? '')?.[1] ?? '';
  return list.split(',').flatMap(part => {
    const [from = Number.NaN, to = from] = part.split('-').map(Number);
    return Number.isNaN(from) ? [] : Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
};

const [first, second] = usable();

export const arePinned = first !== undefined && second !== undefined;

/** Where everything but the load is pinned to. */
export const serverCore: number | undefined = arePinned ? first : undefined;

/** What a command is started through. */
export const onServerCore: readonly string[] = arePinned ? ['taskset', '-c', `${first}`] : [];
export const onLoadCore: readonly string[] = arePinned ? ['taskset', '-c', `${second}`] : [];

/** One that runs already, and its children; what they start later follows them. */
export const moveToServerCore = (pid: number): void => {
  if (!arePinned) return;
  for (const each of [pid, ...childrenOf(pid)]) spawnSync('taskset', ['-a', '-cp', `${first}`, `${each}`]);
};
