/** What is in the tables, whichever engine keeps them. */

import type { Sql } from '../../src/store/sql.ts';
import { sql } from '../../src/store/sql.ts';
import type { Row, Store, Tx } from '../../src/store/store.ts';
import { type Engine, engine } from './engine.ts';

const names = {
  sqlite: sql`
    select name
    from sqlite_schema
    where type = 'table'
    order by name`,
  postgres: sql`
    select cast(relname as text)
    from pg_class
    where relkind = 'r' and relnamespace = cast('public' as regnamespace)
    order by 1`,
};

export const tableNames = async (tx: Tx): Promise<string[]> =>
  (await tx.rows<[name: string]>(names[engine])).map(([name]) => name);

const plain = (text: string): Sql => ({ chunks: [text], values: [] });

/** Every row of every table; in an order that says nothing of when it was written. */
export const contents = async (tx: Tx): Promise<[table: string, rows: Row[]][]> => {
  const rowsOf = async (name: string): Promise<[string, Row[]]> => {
    const rows = (await tx.rows(plain(`select * from ${name}`))).map(row => ({ row, text: JSON.stringify(row) }));
    return [name, rows.sort((a, b) => (a.text < b.text ? -1 : 1)).map(({ row }) => row)];
  };
  // All at once: PostgreSQL is asked for one table while it answers for another.
  return Promise.all((await tableNames(tx)).map(rowsOf));
};

/** Rows that name others which are not there. */
export const danglingReferences = async (tx: Tx, on: Engine = engine): Promise<Row[]> => {
  if (on === 'sqlite') return tx.rows(sql`pragma foreign_key_check`);
  const queries = await tx.rows<[text: string]>(sql`
    select format(
      'select %L, child.* from %s child where %s and not exists (select 1 from %s parent where %s)',
      conname,
      cast(conrelid as regclass),
      string_agg(format('child.%I is not null', child.attname), ' and '),
      cast(confrelid as regclass),
      string_agg(format('parent.%I = child.%I', parent.attname, child.attname), ' and ')
    )
    from pg_constraint
    cross join unnest(conkey, confkey) as pair (child_key, parent_key)
    join pg_attribute as child on child.attrelid = conrelid and child.attnum = child_key
    join pg_attribute as parent on parent.attrelid = confrelid and parent.attnum = parent_key
    where contype = 'f'
    group by pg_constraint.oid, conname, conrelid, confrelid`);
  const rows = [];
  for (const [text] of queries) rows.push(...(await tx.rows(plain(text))));
  return rows;
};

/** What the engine itself finds wrong with its files. */
export const damages = async (store: Store): Promise<string[]> => {
  if (store.engine === 'sqlite') {
    const rows = await store.read(tx => tx.rows<[string]>(sql`pragma integrity_check`));
    return rows.map(([text]) => text).filter(text => text !== 'ok');
  }
  await store.write(tx => tx.script('create extension if not exists amcheck'));
  const look = sql`
    select cast(bt_index_check(pg_class.oid, true) as text)
    from pg_class
    join pg_am on pg_am.oid = relam and amname = 'btree'
    where relkind = 'i' and relpersistence = 'p'`;
  return store
    .read(tx => tx.rows(look))
    .then(
      () => [],
      error => [`${error.message}`],
    );
};
