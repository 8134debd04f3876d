/** The peers in process as arms: each in a process of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Embedded, Sample } from '../arm.ts';
import type { World } from '../world/plan.ts';
import type { Question } from '../world/questions.ts';
import { refusal } from './differences.ts';
import type { InProcess } from './in-process.ts';
import type { Order } from './in-process-child.ts';

type Answer = { readonly different?: readonly Question[]; readonly sample?: Sample };

const asks = async (child: ChildProcess, order?: Order): Promise<Answer> => {
  const ended = new AbortController();
  try {
    if (order) child.send(order);
    return await Promise.race([
      once(child, 'message', { signal: ended.signal }).then(([answer]) => answer as Answer),
      once(child, 'exit', { signal: ended.signal }).then(([code, signal]) => {
        throw new Error(`its process ended: ${signal ?? code}`);
      }),
    ]);
  } finally {
    ended.abort();
  }
};

/** On one core, where one is named and can be chosen. */
export const pinned = (core: number | undefined, command: readonly string[]): readonly [string, ...string[]] =>
  (core === undefined || process.platform !== 'linux'
    ? command
    : ['taskset', '-c', `${core}`, ...command]) as readonly [string, ...string[]];

/** The arm, or why it is left out. */
export const embedded = async (
  { name, open: _, library }: InProcess,
  world: World,
  core: number | undefined,
  questions: number,
): Promise<Embedded | string> => {
  const [command, ...words] = pinned(core, [
    process.execPath,
    '--expose-gc',
    '--max-old-space-size=8192',
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'in-process-child.ts'),
    ...[name, JSON.stringify(world.size), `${world.seed}`],
  ]);
  const child = spawn(command, words, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const close = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  try {
    await asks(child);
    const { different = [] } = await asks(child, { verify: questions });
    const refused = refusal(different, questions);
    if (refused !== undefined) throw new Error(refused);
  } catch (error) {
    await close();
    return `${library}: ${error instanceof Error ? error.message : error}`;
  }
  return {
    kind: 'embedded',
    name,
    role: 'peer',
    measure: async (operation, seconds) => (await asks(child, { operation, seconds })).sample,
    close,
  };
};
