/** Changes that share a transaction, and so its commit: each is all or nothing by itself, and sees those before it. */

import type { Outcome } from './line.ts';
import { sql } from './sql.ts';
import type { Tx } from './store.ts';

export type Change = (tx: Tx) => Promise<unknown>;

type Bounds = {
  /** In milliseconds, after which no other is begun. */
  readonly longest: number;
  /** Whether what failed one of them has failed them all. */
  readonly failsAll: (error: unknown) => boolean;
};

const mark = sql`savepoint change`;
const keep = sql`release savepoint change`;
const undo = sql`rollback to savepoint change`;

/** What became of each that was begun, the first at least; it is true once the transaction is committed. */
export const together =
  ([first, ...others]: readonly [Change, ...Change[]], { longest, failsAll }: Bounds) =>
  async (tx: Tx): Promise<readonly Outcome[]> => {
    // Alone, it is the transaction that is all or nothing.
    if (others.length === 0) return [{ value: await first(tx) }];
    const latest = performance.now() + longest;
    const outcomes: Outcome[] = [];
    for (const change of [first, ...others]) {
      if (outcomes.length > 0 && performance.now() > latest) break;
      // Goes out with the first statement. Without it, what follows fails as well.
      tx.run(mark).catch(() => {});
      try {
        const value = await change(tx);
        await tx.run(keep);
        outcomes.push({ value });
      } catch (error) {
        if (failsAll(error)) throw error;
        await tx.run(undo);
        await tx.run(keep);
        outcomes.push({ error });
      }
    }
    return outcomes;
  };
