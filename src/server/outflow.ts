/** An answer that goes out as it is made, through one buffer: however long it gets, it takes no more memory than that. */

import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { Out } from '../resources/operation.ts';

const size = 256 * 1024;
/** For what is still added when there is little room. */
const reserve = 32 * 1024;

/** Of a character in UTF-8. */
const mostBytes = 3;

export class Outflow implements Out {
  readonly #response: ServerResponse;
  readonly #bytes = Buffer.allocUnsafeSlow(size);
  #used = 0;
  /** What not even the reserve had room for. */
  #late = '';

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  add(text: string): boolean {
    if (this.#late === '' && text.length * mostBytes <= size - this.#used)
      this.#used += this.#bytes.write(text, this.#used);
    else this.#late += text;
    return this.#used <= size - reserve;
  }

  async sent(): Promise<void> {
    const late = this.#late;
    if (this.#used > 0) await this.#write(this.#bytes.subarray(0, this.#used));
    if (late !== '') await this.#write(late);
    this.#used = 0;
    this.#late = '';
    // Others have theirs, however fast the client reads.
    await turn();
  }

  /** Resolves when the buffer may be used again; a client that is gone takes nothing more. */
  #write(chunk: Buffer | string): Promise<void> {
    const response = this.#response;
    return new Promise((resolve, reject) => {
      const gone = () => reject(new ClientGone());
      if (response.destroyed) return gone();
      response.once('close', gone);
      response.write(chunk, error => {
        response.off('close', gone);
        if (error) gone();
        else resolve();
      });
    });
  }
}

export class ClientGone extends Error {}
