/** Puts a world into the tables of OpenFGA, past its API: a million grants would take it many minutes. */

import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { World } from '../../world/plan.ts';
import { Progress } from '../../world/progress.ts';
import { columns, rowOf, tuplesOf } from './tuples.ts';

const inOnePiece = 5_000;

const intoSqlite = (path: string, store: string, world: World, done: (rows: number) => void): void => {
  const database = new DatabaseSync(path);
  database.exec('pragma synchronous = off; pragma cache_size = -500000; begin');
  const holes = columns.sqlite.map(() => '?').join(', ');
  const add = database.prepare(`insert into tuple (${columns.sqlite.join(', ')}) values (${holes})`);
  let number = 0;
  for (const tuple of tuplesOf(world)) {
    add.run(...rowOf('sqlite', store, tuple, number++));
    if (number % inOnePiece === 0) done(inOnePiece);
  }
  done(number % inOnePiece);
  database.exec('commit; analyze; pragma wal_checkpoint(truncate)');
  database.close();
};

const intoPostgres = async (url: string, store: string, world: World, done: (rows: number) => void): Promise<void> => {
  const client = new pg.Client(url);
  await client.connect();
  const types = columns.postgres.map(
    (name, index) => `$${index + 1}::${name === 'inserted_at' ? 'timestamptz' : 'text'}[]`,
  );
  const text = `insert into tuple (${columns.postgres.join(', ')}) select * from unnest(${types.join(', ')})`;
  let rows: (readonly string[])[] = [];
  const flush = async (): Promise<void> => {
    await client.query(
      text,
      columns.postgres.map((_, index) => rows.map(row => row[index])),
    );
    done(rows.length);
    rows = [];
  };
  try {
    await client.query('set synchronous_commit = off; begin');
    let number = 0;
    for (const tuple of tuplesOf(world)) {
      rows.push(rowOf('postgres', store, tuple, number++));
      if (rows.length === inOnePiece) await flush();
    }
    await flush();
    await client.query('commit');
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
};

export const loadTuples = async (
  engine: keyof typeof columns,
  uri: string,
  store: string,
  world: World,
): Promise<void> => {
  let whole = 0;
  for (const _ of tuplesOf(world)) whole++;
  const progress = new Progress(`OpenFGA ${engine} ${world.size.name}`, whole);
  if (engine === 'sqlite') intoSqlite(uri.replace(/^file:/, ''), store, world, rows => progress.add(rows));
  else await intoPostgres(uri, store, world, rows => progress.add(rows));
  progress.end();
};
