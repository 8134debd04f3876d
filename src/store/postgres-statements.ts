/** Which statements are prepared on which connection, and under which names. */

import { hash } from 'node:crypto';

/** What the driver knows to be prepared, by name. */
export type Prepared = { readonly parsedStatements: Record<string, string> };

type Connection = { readonly connection: Prepared; query(text: string): Promise<unknown> };

const most = 500;

export class Statements {
  readonly #names = new WeakMap<Connection, { readonly schema: number; readonly names: Map<string, string> }>();
  /** How often the schema was found changed: what was prepared before is stale, on every connection. */
  #schema = 0;

  /** The name of a text on this connection; the one that was not used for longest makes room. */
  nameOn(connection: Connection, text: string): string {
    const names = this.#namesOn(connection);
    const name = names.get(text) ?? this.#nameOf(text);
    names.delete(text);
    names.set(text, name);
    const [oldest] = names;
    if (names.size > most && oldest) {
      names.delete(oldest[0]);
      forget(connection, oldest[1]);
    }
    return name;
  }

  outdate(): void {
    this.#schema++;
  }

  /** By what it says: whoever shares the connection through a pooler cannot mean another by the same name. */
  #nameOf(text: string): string {
    return `s${this.#schema}_${hash('sha256', text).slice(0, 32)}`;
  }

  #namesOn(connection: Connection): Map<string, string> {
    const known = this.#names.get(connection);
    if (known?.schema === this.#schema) return known.names;
    if (known) for (const name of known.names.values()) forget(connection, name);
    const names = new Map<string, string>();
    this.#names.set(connection, { schema: this.#schema, names });
    return names;
  }
}

/** Only what is prepared: anything else would fail, and the transaction with it. */
const forget = (connection: Connection, name: string): void => {
  const { parsedStatements } = connection.connection;
  if (parsedStatements[name] === undefined) return;
  delete parsedStatements[name];
  connection.query(`deallocate ${name}`).catch(() => {});
};
