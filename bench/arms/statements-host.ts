/** Sends what was recorded again, one after the other on one connection, and does nothing with what it gets. */

import { DatabaseSync, type StatementSync } from 'node:sqlite';
import pg from 'pg';
import { type Operation, writes } from '../operations.ts';
import { type Size, World } from '../world/plan.ts';
import { host, type Works } from './hosted.ts';
import { recordedOf, type Statement } from './recorded.ts';

type Begin = { readonly url: string; readonly size: Size; readonly operations: readonly Operation[] };

type Run = (statements: readonly Statement[]) => unknown;

const onSqlite = (path: string): Run => {
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode = wal; pragma synchronous = full');
  const prepared = new Map<string, StatementSync>();
  return statements => {
    for (const { text, values } of statements) {
      let statement = prepared.get(text);
      if (!statement) {
        statement = database.prepare(text);
        statement.setReturnArrays(true);
        prepared.set(text, statement);
      }
      statement.all(...values);
    }
  };
};

const onPostgres = async (url: string): Promise<Run> => {
  const client = new pg.Client(url);
  await client.connect();
  const names = new Map<string, string>();
  return async statements => {
    for (const { text, values } of statements) {
      const name = names.get(text) ?? `s${names.size}`;
      names.set(text, name);
      await client.query({ name, text, values: [...values], rowMode: 'array' });
    }
  };
};

/** So many requests are recorded of each operation. */
const some = 100;

host(async ({ url, size, operations }: Begin): Promise<Works> => {
  // What is written cannot be written again: the floor of writes is bare commits.
  const reads = operations.filter(operation => !writes.includes(operation));
  const recorded = await recordedOf(url, new World(size), reads, some);
  const run = url.startsWith('postgres') ? await onPostgres(url) : onSqlite(url.replace(/^sqlite:/, ''));
  return Object.fromEntries(
    [...recorded].map(([operation, all]) => {
      let next = 0;
      return [operation, () => run(all[next++ % all.length] as readonly Statement[])];
    }),
  );
});
