/** Random choices that a seed repeats, and the seed. */

import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { seeded } from './server.ts';

/** Random by default; BAILIWICK_TEST_SEED repeats a run. */
export const testSeed = Number(process.env.BAILIWICK_TEST_SEED ?? randomInt(2 ** 31));

/** Some tests have a long form, which BAILIWICK_TEST_LONG=1 asks for. */
export const inFull = (process.env.BAILIWICK_TEST_LONG ?? '') !== '';

/** What to set to see a failure again. */
export const toRepeat = `BAILIWICK_TEST_SEED=${testSeed}`;

export const printSeed = (t: TestContext): void => t.diagnostic(toRepeat);

export class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('nothing to pick from');
    return items[this.below(items.length)] as T;
  }

  some<T>(items: readonly T[], probability: number): T[] {
    return items.filter(() => this.chance(probability));
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}
