/** When each token was last used: remembered here and written now and then, so that a read stays a read. */

import { sql } from './sql.ts';
import type { Store } from './store.ts';

/** Few enough that other changes do not wait long for their turn. */
const most = 100;

const inPieces = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / most) }, (_, index) => all.slice(index * most, (index + 1) * most));

/** What is shown stays the same while a token is in use. */
const toTheMinute = (now: string): string => `${now.slice(0, 'yyyy-mm-ddThh:mm'.length)}:00.000Z`;

export class TokenUses {
  #uses = new Map<string, string>();

  note(token: string, now: string): void {
    this.#uses.set(token, now);
  }

  /** Writes what is remembered; of a token that was revoked meanwhile, nothing. Other servers may have written a later use. */
  async flush(store: Store): Promise<void> {
    const uses = this.#uses;
    if (uses.size === 0) return;
    this.#uses = new Map();
    try {
      for (const some of inPieces([...uses]))
        await store.write(async tx => {
          for (const [token, now] of some) {
            const time = toTheMinute(now);
            await tx.run(sql`
              update authentication_tokens
              set last_used_at = ${time}
              where id = ${token} and coalesce(last_used_at, '') < ${time}`);
          }
        });
    } catch (error) {
      // For the next time, behind what came meanwhile.
      this.#uses = new Map([...uses, ...this.#uses]);
      throw error;
    }
  }
}
