/** A world of each size in a database of each engine, loaded once; every arm has a copy of its own. */

import { constants, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Databases } from '../test/support/databases.ts';
import { type Postgres, startPostgres } from '../test/support/postgres.ts';
import { childrenOf } from '../test/support/processes.ts';
import { moveToServerCore } from './cores.ts';
import { load } from './world/load.ts';
import { type Size, World } from './world/plan.ts';

export const engines = ['SQLite', 'PostgreSQL'] as const;
export type Engine = (typeof engines)[number];

export class Worlds {
  readonly folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
  readonly #remove = (): void => rmSync(this.folder, { recursive: true, force: true });
  readonly #worlds = new Map<Size, World>();
  readonly #loaded = new Map<string, string>();
  #postgres: Promise<{ server: Postgres; databases: Databases }> | undefined;
  #copies = 0;

  readonly #found: ((url: string) => Promise<string>) | undefined;

  /** `found` makes the tables of a database, where it is not this revision that does. */
  constructor(found?: (url: string) => Promise<string>) {
    this.#found = found;
    process.on('exit', this.#remove);
  }

  of(size: Size): World {
    const world = this.#worlds.get(size) ?? new World(size);
    this.#worlds.set(size, world);
    return world;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** What it commits is on its disk. */
  postgres(): Promise<{ server: Postgres; databases: Databases }> {
    this.#postgres ??= startPostgres({ durable: true }).then(server => {
      moveToServerCore(server.pid);
      return { server, databases: new Databases(server.url()) };
    });
    return this.#postgres;
  }

  /** The processes of a database that is not within the server. */
  async processes(engine: Engine): Promise<() => readonly number[]> {
    if (engine === 'SQLite') return () => [];
    const { server } = await this.postgres();
    return () => [server.pid, ...childrenOf(server.pid)];
  }

  /** The url of a copy. */
  async copy(size: Size, engine: Engine): Promise<string> {
    const key = `${size.name} ${engine}`;
    let original = this.#loaded.get(key);
    if (original === undefined) {
      original = await this.#load(size, engine);
      this.#loaded.set(key, original);
    }
    if (engine === 'PostgreSQL') {
      const { databases } = await this.postgres();
      return databases.create(new URL(original).pathname.slice(1));
    }
    const path = this.path(`copy-${++this.#copies}.db`);
    copyFileSync(original, path, constants.COPYFILE_FICLONE);
    return `sqlite:${path}`;
  }

  async #load(size: Size, engine: Engine): Promise<string> {
    const label = `${size.name} grants into ${engine}`;
    if (engine === 'SQLite') {
      const path = this.path(`${size.grants}.db`);
      await load(this.of(size), `sqlite:${path}`, label, this.#found);
      return path;
    }
    const url = await (await this.postgres()).databases.create();
    await load(this.of(size), url, label, this.#found);
    return url;
  }

  /** A copy that nobody uses any more. */
  async drop(url: string): Promise<void> {
    if (url.startsWith('sqlite:')) rmSync(url.slice('sqlite:'.length), { force: true });
    else await (await this.postgres()).databases.drop(url);
  }

  async end(): Promise<void> {
    const postgres = await this.#postgres?.catch(() => undefined);
    await postgres?.databases.close();
    await postgres?.server.end();
    process.off('exit', this.#remove);
    this.#remove();
  }
}
