/** The program as an older or a newer version of it: a copy with other migrations. */

import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { chosenToken, Running } from '../test/support/program.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

export type Changes = {
  /** Texts by name, beside those that there are. */
  readonly more?: Readonly<Record<string, string>>;
  /** Whether it has one of those that there are. */
  readonly has?: (name: string) => boolean;
};

export class Version {
  readonly folder = mkdtempSync(join(tmpdir(), 'bailiwick-version-'));
  readonly #started: Running[] = [];

  constructor({ more = {}, has = () => true }: Changes = {}) {
    for (const part of ['bin', 'src', 'migrations', 'package.json'])
      cpSync(join(root, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    const migrations = join(this.folder, 'migrations');
    for (const name of readdirSync(migrations)) if (!has(name)) rmSync(join(migrations, name));
    for (const [name, text] of Object.entries(more)) writeFileSync(join(migrations, name), text);
  }

  get migrations(): string[] {
    return readdirSync(join(this.folder, 'migrations')).sort();
  }

  run(args: readonly string[]): Running {
    const started = new Running(this.folder, args, {}, [join(this.folder, 'bin', 'bailiwick.js')]);
    this.#started.push(started);
    return started;
  }

  migrate(url: string): Running {
    return this.run(['migrate', '--database', url]);
  }

  serve(url: string, ...args: readonly string[]): Running {
    const fixed = ['--port', '0', '--database', url, '--admin-token', chosenToken, '--log-level', 'debug'];
    return this.run([...fixed, ...args]);
  }

  async end(): Promise<void> {
    for (const started of this.#started) await started.end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The names in what a process has said, each as often as it was said. */
export const appliedBy = ({ out, error }: Running): string[] =>
  [...`${out}${error}`.matchAll(/applied (\d{4}_[\w.]+\.sql)/g)].map(([, name = '']) => name);

export const ask = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
};

/** Everything that makes a schema, in words: two that read alike are alike. */
export const schemaIn = async (url: string): Promise<string[]> => {
  if (url.startsWith('sqlite:')) {
    const file = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
    const rows = file.prepare('select type, name, tbl_name, sql from sqlite_schema order by type, name').all();
    file.close();
    return rows.map(({ type, name, tbl_name, sql }) => `${type} ${name} on ${tbl_name}: ${sql}`);
  }
  const rows = await ask(
    url,
    `
    select format('column %s.%s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod),
      case when attnotnull then 'not null' else '' end, pg_get_expr(adbin, adrelid)) as line
    from pg_attribute
    join pg_class on pg_class.oid = attrelid and relkind = 'r' and relnamespace = 'public'::regnamespace
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and not attisdropped
    union all
    select format('constraint %s on %s: %s', conname, conrelid::regclass, pg_get_constraintdef(oid))
    from pg_constraint
    where connamespace = 'public'::regnamespace
    union all
    select format('index %s', pg_get_indexdef(indexrelid))
    from pg_index
    join pg_class on pg_class.oid = indrelid and relnamespace = 'public'::regnamespace
    union all
    select format('domain %s %s %s', typname, format_type(typbasetype, typtypmod), typcollation::regcollation)
    from pg_type
    where typtype = 'd' and typnamespace = 'public'::regnamespace
    order by line`,
  );
  return rows.map(({ line }) => `${line}`);
};

/** What was applied, each as often as it was noted. */
export const notedIn = async (url: string): Promise<string[]> => {
  const text = 'select name from schema_migrations order by name';
  if (!url.startsWith('sqlite:')) return (await ask(url, text)).map(({ name }) => `${name}`);
  const file = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  const rows = file.prepare(text).all();
  file.close();
  return rows.map(({ name }) => `${name}`);
};

/** A question that takes its time, on either engine; the number makes it longer. */
export const slow = (number: number): string => `
  insert into slow_numbers
  with recursive numbers (number) as (
    select 1
    union all
    select number + 1 from numbers where number < ${number}
  )
  select count(*) from numbers;`;
