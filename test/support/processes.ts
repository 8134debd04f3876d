/** Other processes, as the system knows them. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

type Process = { readonly pid: number; readonly parent: number; readonly isDead: boolean };

/** A dead one that nobody asked about is still listed; it is told by its state. */
const parsed = (pid: number, parent: number, state: string): Process => ({ pid, parent, isDead: /^[ZX]/.test(state) });

const inProc = (pid: number): Process | undefined => {
  try {
    // The name is in brackets, and may have brackets and spaces in it.
    const [state = '', parent = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return parsed(pid, Number(parent), state);
  } catch {
    return undefined;
  }
};

const all = (): Process[] => {
  if (process.platform === 'linux')
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .flatMap(name => inProc(Number(name)) ?? []);
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines.map(line => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/);
    return parsed(Number(pid), Number(parent), state);
  });
};

const alive = (): Process[] => all().filter(({ isDead }) => !isDead);

export const childrenOf = (parent: number): number[] =>
  alive()
    .filter(each => each.parent === parent)
    .map(({ pid }) => pid);

export const isAlive = (pid: number): boolean =>
  process.platform === 'linux' ? inProc(pid)?.isDead === false : alive().some(each => each.pid === pid);

/** False if there is none, or none any more. */
export const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
};

/** Whether they all were gone before the time was over. */
export const gone = async (pids: readonly number[], milliseconds: number): Promise<boolean> => {
  for (const end = Date.now() + milliseconds; pids.some(isAlive); await pause(10)) if (Date.now() > end) return false;
  return true;
};
