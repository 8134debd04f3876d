/** Fresh databases on a PostgreSQL, and their end. */

import { Client as PgClient } from 'pg';

/** Its types forget that it may be told not to keep the process from its end. */
type Client = PgClient & { ref(): void; unref(): void };

export const inDatabase = (url: string, database: string): string => {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
};

export class Databases {
  readonly url: string;
  #client: Promise<Client> | undefined;
  #line: Promise<unknown> = Promise.resolve();
  #made = 0;

  constructor(url: string) {
    this.url = url;
  }

  /** One connection for all, one question after the other; it keeps no process from its end unless it is asked something. */
  #ask(text: string): Promise<Record<string, unknown>[]> {
    const answer = this.#line.then(async () => {
      this.#client ??= this.#connected();
      const client = await this.#client;
      client.ref();
      try {
        return (await client.query(text)).rows;
      } finally {
        client.unref();
      }
    });
    this.#line = answer.catch(() => {});
    return answer;
  }

  async #connected(): Promise<Client> {
    const client = new PgClient({ connectionString: this.url }) as Client;
    // A server that was restarted is connected to anew.
    const forget = (): void => {
      this.#client = undefined;
    };
    client.on('error', forget).on('end', forget);
    await client.connect().catch(error => {
      forget();
      throw error;
    });
    return client;
  }

  async version(): Promise<string> {
    const [row] = await this.#ask('show server_version');
    return `${row?.server_version}`.split(' ')[0] ?? '';
  }

  /** The url of a new one, empty or a copy of the template. */
  async create(template = 'template0'): Promise<string> {
    const name = `bailiwick_test_${process.pid}_${Date.now().toString(36)}_${++this.#made}`;
    await this.#ask(`create database ${name} template ${template} strategy file_copy`);
    return inDatabase(this.url, name);
  }

  /** With whatever is connected to it. */
  async drop(url: string): Promise<void> {
    await this.#ask(`drop database if exists ${new URL(url).pathname.slice(1)} with (force)`);
  }

  async close(): Promise<void> {
    await this.#line;
    const client = await this.#client?.catch(() => undefined);
    client?.ref();
    await client?.end();
  }
}
