/** What processes have cost so far, as Linux tells it; elsewhere it cannot be measured, and is NaN. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

export const isMeasurable = process.platform === 'linux';

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
};

/** A hundredth of a second, in which the system counts what has ended. */
const tick = 10_000;

/** What the children cost that have ended since: a connection may be closed while it is measured. */
const cpuOfEnded = (pid: number): number => {
  const [, , , , , , , , , , , , , user = 0, system = 0] = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  return (user + system) * tick;
};

/** In microseconds, of all their threads. */
export const cpuOf = (pids: readonly number[]): number => {
  if (!isMeasurable) return Number.NaN;
  let nanoseconds = 0;
  for (const pid of pids)
    for (const thread of threadsOf(pid))
      nanoseconds += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ', 1)[0]);
  return nanoseconds / 1000 + pids.reduce((sum, pid) => sum + cpuOfEnded(pid), 0);
};

const memoryOf = (pids: readonly number[], field: 'VmHWM' | 'VmRSS'): number => {
  if (!isMeasurable) return Number.NaN;
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm');
  return pids.reduce((sum, pid) => sum + Number(line.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024, 0);
};

/** The peak of resident bytes since the process began, or since `forgetPeak`. */
export const peakOf = (pids: readonly number[]): number => memoryOf(pids, 'VmHWM');

export const residentOf = (pids: readonly number[]): number => memoryOf(pids, 'VmRSS');

export const forgetPeak = (pids: readonly number[]): void => {
  for (const pid of pids)
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch {
      // Then the peak is that of its whole life.
    }
};
