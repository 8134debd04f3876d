/** Changes that wait for their turn: not too many, and none for too long. Those that wait together have it together. */

import { Unavailable } from './store.ts';

/** What became of one, told once it is settled for all who had the turn together. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** Does some of it, in order, the first at least; the rest waits on. Where it fails, it has failed for all. */
export type Serve<W> = (works: readonly [W, ...W[]], waited: number) => Promise<readonly Outcome[]>;

type Limits = {
  /** Of those who wait. */
  readonly most: number;
  /** In milliseconds. */
  readonly patience: number;
};

type Waiting<W> = {
  readonly work: W;
  readonly since: number;
  readonly settle: (outcome: Outcome) => void;
  isLate: boolean;
};

const tooLate = (): Outcome => ({
  error: new Unavailable('busy', 'The change has waited too long for its turn.'),
});

const mostTogether = 64;

export class Line<W> {
  readonly #serve: Serve<W>;
  readonly #limits: Limits | undefined;
  readonly #waiting: Waiting<W>[] = [];
  #called = false;

  constructor(serve: Serve<W>, limits?: Limits) {
    this.#serve = serve;
    this.#limits = limits;
  }

  get length(): number {
    return this.#waiting.length;
  }

  inTurn<T>(work: W): Promise<T> {
    const { most, patience } = this.#limits ?? { most: Number.POSITIVE_INFINITY };
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= most) throw new Unavailable('busy', 'Too many changes wait for their turn.');
      const leave = () => {
        waiting.isLate = true;
        const place = this.#waiting.indexOf(waiting);
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        waiting.settle(tooLate());
      };
      const timer = patience === undefined ? undefined : setTimeout(leave, patience);
      const waiting: Waiting<W> = {
        work,
        since: performance.now(),
        settle: outcome => {
          clearTimeout(timer);
          if ('error' in outcome) reject(outcome.error);
          else resolve(outcome.value as T);
        },
        isLate: false,
      };
      this.#waiting.push(waiting);
      this.#call();
    });
  }

  /** Whoever waits need not wait any longer. */
  sendAway(error: Unavailable): void {
    for (const { settle } of this.#waiting.splice(0)) settle({ error });
  }

  /** After what else this turn of the event loop brings: connections are read one after the other. */
  #call(): void {
    if (this.#called) return;
    this.#called = true;
    setImmediate(() => void this.#turn());
  }

  async #turn(): Promise<void> {
    const some = this.#waiting.splice(0, mostTogether);
    const [first, ...others] = some;
    if (first) {
      const works = [first.work, ...others.map(({ work }) => work)] as const;
      const outcomes = await this.#serve(works, performance.now() - first.since).catch(error =>
        some.map(() => ({ error })),
      );
      outcomes.forEach((outcome, index) => void some[index]?.settle(outcome));
      // Whom the turn did not come to waits on, unless it became too late meanwhile.
      const rest = some.slice(outcomes.length);
      for (const { isLate, settle } of rest) if (isLate) settle(tooLate());
      this.#waiting.unshift(...rest.filter(({ isLate }) => !isLate));
    }
    this.#called = false;
    if (this.#waiting.length > 0) this.#call();
  }
}
