/** All arms in turn, operation by operation, round by round: what else the machine does falls on all of them. */

import type { Arm, Role } from './arm.ts';
import { cpuOf } from './cpu.ts';
import { type Generator, type Measured, unknown } from './load.ts';
import type { Operation } from './operations.ts';

export type Plan = {
  readonly operations: readonly Operation[];
  readonly rounds: number;
  /** Of each measurement, closed and open. */
  readonly seconds: number;
  /** Before the first that counts. */
  readonly warmUp: number;
  readonly connections: number;
  /** Also at half of the rate. */
  readonly atHalfLoad: boolean;
};

/** Of one operation and one arm, a measurement for each round. */
export type Taken = {
  readonly operation: Operation;
  readonly arm: { readonly name: string; readonly role: Role; readonly kind: Arm['kind'] };
  readonly rounds: Round[];
};

/** At the full rate; the latency, and CPU again, at half of it. */
export type Round = Measured & { readonly cpuAtHalf: number };

const once = async (
  arm: Arm,
  operation: Operation,
  { seconds, connections, atHalfLoad }: Plan,
  generator: Generator,
): Promise<Round | undefined> => {
  if (arm.kind === 'embedded') {
    const before = cpuOf(arm.database?.() ?? []);
    const sample = await arm.measure(operation, seconds);
    if (!sample) return undefined;
    const spent = cpuOf(arm.database?.() ?? []) - before;
    return {
      ...sample,
      ...{ seconds, database: spent / (sample.rate * seconds), latency: unknown, cpuAtHalf: Number.NaN },
    };
  }
  const closed = await generator.measured(arm, operation, { connections, seconds });
  if (!closed || !atHalfLoad) return closed && { ...closed, latency: unknown, cpuAtHalf: Number.NaN };
  const open = await generator.measured(arm, operation, { connections, seconds, rate: closed.rate / 2 });
  return open && { ...closed, latency: open.latency, cpuAtHalf: open.cpu };
};

const warmedUp: typeof once = async (arm, operation, { connections, warmUp, ...plan }, generator) => {
  const longer = { ...plan, connections, warmUp, seconds: warmUp, atHalfLoad: false };
  if (arm.kind === 'embedded') return once(arm, operation, longer, generator);
  const measured = await generator.warmedUp(arm, operation, { connections, seconds: warmUp });
  return measured && { ...measured, cpuAtHalf: Number.NaN };
};

/** The first round is to warm up, takes longer and does not count. */
export const inRounds = async (
  arms: readonly Arm[],
  plan: Plan,
  generator: Generator,
  progress: (what: string) => void,
  failed: (what: string) => void = () => {},
): Promise<readonly Taken[]> => {
  const taken = plan.operations.flatMap(operation => arms.map(arm => ({ operation, arm, rounds: [] as Round[] })));
  const impossible = new Set<unknown>();
  for (let round = 0; round <= plan.rounds; round++)
    for (const each of taken) {
      const { operation, arm, rounds } = each;
      progress(`${round === 0 ? 'warming up' : `round ${round} of ${plan.rounds}`}: ${operation}, ${arm.name}`);
      if (impossible.has(each)) continue;
      const measured = await (round === 0 ? warmedUp : once)(arm, operation, plan, generator).catch(error => {
        // What others answer wrongly is theirs to mend: the run goes on without it, and says so.
        if (arm.role !== 'peer') throw error;
        failed(`${operation}, ${arm.name}: ${(error as Error).message.split('\n', 1)[0]}`);
        rounds.length = 0;
        return undefined;
      });
      if (!measured) impossible.add(each);
      else if (round > 0) rounds.push(measured);
    }
  return taken.map(({ operation, arm: { name, role, kind }, rounds }) => ({
    operation,
    arm: { name, role, kind },
    rounds,
  }));
};

/** How many steps that has. */
export const stepsOf = (arms: number, { operations, rounds }: Plan): number => arms * operations.length * (rounds + 1);
