/** Which statements are prepared on which connection, and under which names. */

type Connection = { query(text: string): Promise<unknown> };

type Prepared = { readonly schema: number; readonly names: Map<string, string> };

const most = 500;

export class Statements {
  readonly #prepared = new WeakMap<Connection, Prepared>();
  #names = 0;
  /** How often the schema was found changed: what was prepared before is stale, on every connection. */
  #schema = 0;

  /** The name of a text on this connection; the one that was not used for longest makes room. */
  nameOn(connection: Connection, text: string): string {
    const names = this.#namesOn(connection);
    const name = names.get(text) ?? `s${++this.#names}`;
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

  #namesOn(connection: Connection): Map<string, string> {
    const known = this.#prepared.get(connection);
    if (known?.schema === this.#schema) return known.names;
    if (known) forget(connection, 'all');
    const names = new Map<string, string>();
    this.#prepared.set(connection, { schema: this.#schema, names });
    return names;
  }
}

const forget = (connection: Connection, what: string): void =>
  void connection.query(`deallocate ${what}`).catch(() => {});
