/** Puts a world into a database of either engine, past the service: a million grants in about a minute. */

import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { addSiteAdmin, tokenKey } from '../../src/server/first-start.ts';
import { secureRandom } from '../../src/store/id.ts';
import { migrate } from '../../src/store/migrations.ts';
import { openStore } from '../../src/store/open.ts';
import type { Value } from '../../src/store/sql.ts';
import type { World } from './plan.ts';
import { Progress } from './progress.ts';
import { type Table, tablesOf } from './rows.ts';

const inOnePiece = 5_000;

/** The tables and the keys, as a first start makes them. */
const prepared = async (url: string): Promise<string> => {
  const store = await openStore(url, {});
  try {
    const now = () => new Date();
    await migrate(store, now, () => {});
    const key = await tokenKey(store, secureRandom);
    await store.write(tx => addSiteAdmin(tx, { key, now, random: secureRandom }));
    return key;
  } finally {
    await store.close();
  }
};

const intoSqlite = async (path: string, tables: readonly Table[], done: (rows: number) => void): Promise<void> => {
  const database = new DatabaseSync(path);
  database.exec('pragma synchronous = off; pragma foreign_keys = off; pragma cache_size = -500000; begin');
  for (const { name, columns, count, row } of tables) {
    const holes = columns.map(() => '?').join(', ');
    const add = database.prepare(`insert into ${name} (${columns.join(', ')}) values (${holes})`);
    for (let number = 0; number < count; number++) {
      add.run(...row(number));
      if ((number + 1) % inOnePiece === 0 || number + 1 === count) done((number % inOnePiece) + 1);
    }
  }
  database.exec('commit; pragma wal_checkpoint(truncate)');
  database.close();
};

const intoPostgres = async (url: string, tables: readonly Table[], done: (rows: number) => void): Promise<void> => {
  const client = new pg.Client(url);
  await client.connect();
  try {
    // What refers to what is known to be there.
    await client.query("set session_replication_role = 'replica'; set synchronous_commit = off; begin");
    for (const { name, columns, count, row } of tables) {
      const first = count > 0 ? row(0) : [];
      const types = columns.map((column, index) =>
        typeof first[index] === 'number' || ['chosen', 'beyond'].includes(column) ? 'int' : 'text',
      );
      const text = `insert into ${name} (${columns.join(', ')})
        select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`;
      for (let from = 0; from < count; from += inOnePiece) {
        const some = Math.min(inOnePiece, count - from);
        const values: Value[][] = columns.map(() => []);
        for (let number = from; number < from + some; number++)
          row(number).forEach((value, index) => void values[index]?.push(value));
        await client.query(text, values);
        done(some);
      }
    }
    await client.query('commit');
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
};

/** `url` is that of a database without tables; `found` makes them, and gives back the key of the tokens. */
export const load = async (world: World, url: string, label: string, found = prepared): Promise<void> => {
  const tables = tablesOf(world, await found(url));
  const progress = new Progress(
    label,
    tables.reduce((sum, { count }) => sum + count, 0),
  );
  const into = url.startsWith('sqlite:') ? intoSqlite : intoPostgres;
  await into(url.replace(/^sqlite:/, ''), tables, rows => progress.add(rows));
  progress.end();
};
