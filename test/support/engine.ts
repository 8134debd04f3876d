/** The engine under test: the whole suite is run on each, and BAILIWICK_TEST_ENGINE says on which. */

import { openPostgres } from '../../src/store/postgres.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { Databases } from './databases.ts';
import { startPostgres } from './postgres.ts';

export type Engine = Store['engine'];
export const engines: readonly Engine[] = ['sqlite', 'postgres'];

const asked = process.env.BAILIWICK_TEST_ENGINE ?? 'sqlite';
export const engine = engines.find(each => each === asked) as Engine;
if (!engine) throw new Error(`BAILIWICK_TEST_ENGINE must be ${engines.join(' or ')}`);

/** For what is promised of one engine alone; on the other there are no such tests. */
export const onlyOn = (wanted: Engine, tests: () => void): void => {
  if (engine === wanted) tests();
};

let databases: Promise<Databases> | undefined;
const ourDatabases = (): Promise<Databases> => {
  databases ??= (async () => new Databases(process.env.BAILIWICK_TEST_POSTGRES ?? (await startPostgres()).url()))();
  return databases;
};

export type Database = {
  /** As the program is told it; what it takes by itself, if it is not. */
  readonly url: string | undefined;
  /** Does not wait for it: the next test has a database of its own. */
  readonly drop: () => void;
};

/** A fresh and empty one for a program. */
export const newDatabase = async (): Promise<Database> => {
  if (engine === 'sqlite') return { url: undefined, drop: () => {} };
  const on = await ourDatabases();
  const url = await on.create();
  return { url, drop: () => void on.drop(url) };
};

/** A fresh and empty one, opened; it is gone when it is closed. */
export const newStore = async (): Promise<Store> => {
  const { url, drop } = await newDatabase();
  if (url === undefined) return openSqlite(':memory:');
  const store = openPostgres(url);
  return { ...store, close: () => store.close().finally(drop) };
};
