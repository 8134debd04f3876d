/** Work that waits for its turn, one piece at a time: not too many, and none for too long. */

import { Unavailable } from './store.ts';

type Waiting = { readonly enter: () => void; readonly leave: (error: Unavailable) => void };

export class Line {
  readonly #most: number;
  readonly #patience: number;
  readonly #waiting: Waiting[] = [];
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
      this.#waiting.shift()?.enter();
    }
  }

  /** Whoever waits need not wait any longer. */
  sendAway(error: Unavailable): void {
    for (const { leave } of this.#waiting.splice(0)) leave(error);
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#most) throw new Unavailable('busy', 'Too many changes wait for their turn.');
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        enter: () => {
          clearTimeout(timer);
          // Nobody else gets in between the end of one turn and the beginning of the next.
          this.#taken = true;
          resolve();
        },
        leave: error => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(new Unavailable('busy', 'The change has waited too long for its turn.'));
      }, this.#patience);
      this.#waiting.push(waiting);
    });
  }
}
