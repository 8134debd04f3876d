/** The program as an older or a newer version of it: a copy with other migrations. */

import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { chosenToken, Running } from '../../test/support/program.ts';
import { schemaQuery } from '../../test/support/schema.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

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

/** Of a file that no process has open, or of a database on PostgreSQL. */
const askAny = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  if (!url.startsWith('sqlite:')) return ask(url, text);
  const file = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  const rows = file.prepare(text).all();
  file.close();
  return rows;
};

export const schemaIn = async (url: string): Promise<string[]> => {
  const rows = await askAny(url, schemaQuery[url.startsWith('sqlite:') ? 'sqlite' : 'postgres']);
  return rows.map(({ line }) => `${line}`);
};

/** What was applied, each as often as it was noted. */
export const notedIn = async (url: string): Promise<string[]> => {
  const rows = await askAny(url, 'select name from schema_migrations order by name');
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
