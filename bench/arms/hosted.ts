/** Arms that answer within a process of their own: the process, and whoever asks it. */

import type { Embedded, Role, Sample } from '../arm.ts';
import { Child } from '../children.ts';
import { onServerCore } from '../cores.ts';
import { peakOf } from '../cpu.ts';
import type { Operation } from '../operations.ts';

/** One operation, done once. */
export type Work = () => unknown;
export type Works = Partial<Record<Operation, Work>>;

type Told<I> = { readonly begin: I } | { readonly operation: Operation; readonly seconds: number };
type Said = 'begun' | 'impossible' | Sample | { readonly failed: string };

/** So many between two looks at the clock. */
const inOneGo = 16;

const measured = async (work: Work, seconds: number): Promise<Sample> => {
  const [begun, before] = [performance.now(), process.cpuUsage()];
  const end = begun + seconds * 1000;
  let [done, now] = [0, begun];
  for (; now < end; now = performance.now())
    for (let turn = 0; turn < inOneGo; turn++, done++) {
      const result = work();
      if (result instanceof Promise) await result;
    }
  const { user, system } = process.cpuUsage(before);
  // Not what the process itself is told: that begins with the peak of whoever started it.
  const memory = peakOf([process.pid]);
  return { cpu: (user + system) / done, rate: (done * 1000) / (now - begun), memory };
};

/** The process of an arm: makes its works of what it is told first. */
export const host = <I>(begin: (told: I) => Promise<Works> | Works): void => {
  let works: Works = {};
  const answer = async (told: Told<I>): Promise<Said> => {
    if ('begin' in told) {
      works = await begin(told.begin);
      return 'begun';
    }
    const work = works[told.operation];
    return work ? measured(work, told.seconds) : 'impossible';
  };
  process.on('message', async (told: Told<I>) => {
    const said = await answer(told).catch((error: Error) => ({ failed: error.stack ?? error.message }));
    process.send?.(said);
  });
  process.on('disconnect', () => process.exit());
};

type Hosted<I> = {
  readonly name: string;
  readonly role: Role;
  /** Beside this file. */
  readonly script: string;
  readonly begin: I;
  readonly database?: () => readonly number[];
  readonly after?: () => Promise<void>;
};

export const hosted = async <I>({ name, role, script, begin, database, after }: Hosted<I>): Promise<Embedded> => {
  const child = new Child<Told<I>, Said>(`arms/${script}`, onServerCore);
  const told = async (what: Told<I>): Promise<Said> => {
    const said = await child.ask(what);
    if (typeof said === 'object' && 'failed' in said) throw new Error(`${name}: ${said.failed}`);
    return said;
  };
  await told({ begin });
  return {
    kind: 'embedded',
    name,
    role,
    measure: async (operation, seconds) => {
      const said = await told({ operation, seconds });
      return typeof said === 'object' && 'cpu' in said ? said : undefined;
    },
    ...(database && { database }),
    close: async () => {
      await child.end();
      await after?.();
    },
  };
};
