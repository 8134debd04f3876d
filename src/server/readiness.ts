/** Whether requests can be served: the database answers, its schema is new enough, and the server is not shutting down. */

import { behind, reasonTooNew, type Schema, schemaOf } from '../store/migrations.ts';
import { StartFault, type Store } from '../store/store.ts';
import type { Ending } from './ending.ts';

/** In milliseconds. Whoever asks has more important things to do than to wait for a database. */
const patience = 1_500;

export class Readiness {
  readonly #store: Store;
  readonly #ending: Ending;
  #asking: Promise<Schema | StartFault | undefined> | undefined;
  /** Why no request is served yet; undefined from the end of the start on. */
  startingBecause: string | undefined;

  constructor(store: Store, ending: Ending) {
    this.#store = store;
    this.#ending = ending;
  }

  async now() {
    if (this.#ending.begun) return notReady('The server is shutting down.');
    const schema = await this.#schema();
    if (schema instanceof StartFault) return notReady(schema.message, { database: 'answers' });
    if (schema === undefined) return notReady('The database does not answer.', { database: 'does not answer' });
    const found = { database: 'answers', schema: told(schema) };
    const reason = reasonTooNew(schema) ?? (schema.missing.length > 0 ? behind(schema).message : this.startingBecause);
    return reason === undefined ? { status: 200, body: { status: 'ready', ...found } } : notReady(reason, found);
  }

  /** One question for all who ask at once: nobody without a token keeps the database busy. */
  #schema(): Promise<Schema | StartFault | undefined> {
    this.#asking ??= new Promise(resolve => {
      // Where it was we who were late, the answer is there already, and is read before this.
      const timer = setTimeout(() => setImmediate(() => resolve(undefined)), patience);
      schemaOf(this.#store)
        .catch(error => (error instanceof StartFault ? error : undefined))
        .then(schema => {
          clearTimeout(timer);
          this.#asking = undefined;
          resolve(schema);
        });
    });
    return this.#asking;
  }
}

type Found = { readonly database?: string; readonly schema?: string };

const notReady = (reason: string, found: Found = {}) => ({
  status: 503,
  body: { status: 'not ready', reason, ...found },
});

const told = ({ missing, unknown }: Schema): string => {
  if (missing.length > 0) return `lacks ${missing.join(', ')}`;
  return unknown.length > 0 ? `newer by ${unknown.join(', ')}` : 'up to date';
};
