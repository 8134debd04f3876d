/** Work that waits for its turn, one piece at a time: not too many, and none for too long. */

import { Unavailable } from './store.ts';

export class Line {
  readonly #most: number;
  readonly #patience: number;
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  /** The patience is in milliseconds. */
  constructor(most: number, patience: number) {
    this.#most = most;
    this.#patience = patience;
  }

  get length(): number {
    return this.#waiting.length;
  }

  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken) await this.#turn();
    this.#taken = true;
    try {
      return await work();
    } finally {
      this.#taken = false;
      this.#waiting.shift()?.();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#most) throw new Unavailable('busy', 'Too many changes wait for their turn.');
    return new Promise((resolve, reject) => {
      const enter = () => {
        clearTimeout(timer);
        // Nobody else gets in between the end of one turn and the beginning of the next.
        this.#taken = true;
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(new Unavailable('busy', 'The change has waited too long for its turn.'));
      }, this.#patience);
      this.#waiting.push(enter);
    });
  }
}
