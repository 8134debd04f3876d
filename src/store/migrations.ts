/** Brings a database to the schema that this version needs: each file once, in order, whole or not at all. */

import { readdirSync, readFileSync } from 'node:fs';
import { chainOldEvents } from './audit-chain.ts';
import { sql } from './sql.ts';
import { StartFault, type Store, type Tx, Unavailable } from './store.ts';

const ownFolder = new URL('../../migrations/', import.meta.url);

/** A server that does not know a migration serves on with it, unless its name ends in `.breaking.sql`. */
const isBreaking = (name: string): boolean => name.endsWith('.breaking.sql');

export const migrationNames = (folder = ownFolder): string[] =>
  readdirSync(folder)
    .filter(name => /^\d{4}_\w+(\.breaking)?\.sql$/.test(name))
    .sort();

/** What a migration does beyond its SQL, after it and in its transaction. */
const steps: Readonly<Record<string, (tx: Tx) => Promise<void>>> = { '0004_audit_chain.sql': tx => chainOldEvents(tx) };

/** As they are when the program is loaded: an upgrade that lies beside a server is not yet its own. */
const ownNames = migrationNames();

export type Schema = {
  /** What this version needs and the database has not. */
  readonly missing: readonly string[];
  /** What the database has from a newer version. */
  readonly unknown: readonly string[];
};

export const schemaOf = (store: Store, folder = ownFolder): Promise<Schema> =>
  store.read(async tx => compared(await appliedIn(tx), folder === ownFolder ? ownNames : migrationNames(folder)));

export const compared = (applied: readonly string[], wanted: readonly string[]): Schema => ({
  missing: wanted.filter(name => !applied.includes(name)),
  unknown: applied.filter(name => !wanted.includes(name)),
});

const appliedIn = async (tx: Tx): Promise<string[]> => {
  try {
    const rows = await tx.rows<[name: string]>(sql`select name from schema_migrations order by name`);
    return rows.map(([name]) => name);
  } catch (error) {
    if (isNoTable(error)) return [];
    if (isForbidden(error)) throw new StartFault(`this role may not use the database: ${(error as Error).message}`);
    throw error;
  }
};

const isNoTable = (error: unknown): boolean => {
  const { code, message } = error as { code?: string; message: string };
  return code === '42P01' || /^no such table: schema_migrations/.test(message);
};

const isForbidden = (error: unknown): boolean => (error as { code?: string }).code === '42501';

/** Where somebody else has to change the schema, this server waits for it. */
export const behind = ({ missing }: Schema, options?: ErrorOptions): Unavailable =>
  new Unavailable(
    'gone',
    `The schema of the database is older than this version needs, it lacks ${missing.join(', ')}: run bailiwick migrate.`,
    options,
  );

/** Why this version cannot serve such a database, whatever is done to it. */
export const reasonTooNew = ({ unknown }: Pick<Schema, 'unknown'>): string | undefined => {
  const breaking = unknown.find(isBreaking);
  return breaking && `the database was made for a newer version: this one cannot serve it since ${breaking}`;
};

/** Told of what was applied, and of another process for which this one waits. */
export type News = (text: string, about: 'applied' | 'waiting') => void;

/** The names of the migrations that were applied now, by this process. */
export const migrate = async (
  store: Store,
  now: () => Date,
  news: News = () => {},
  folder = ownFolder,
): Promise<string[]> => {
  const schema = await schemaOf(store, folder);
  const tooNew = reasonTooNew(schema);
  if (tooNew) throw new StartFault(tooNew);
  const applied = [];
  for (const name of schema.missing) {
    const isMine = await store
      .alone(
        tx => apply(tx, name, folder, now),
        text => news(text, 'waiting'),
      )
      .catch(error => {
        throw isForbidden(error) ? behind(schema, { cause: error }) : error;
      });
    if (!isMine) continue;
    news(`applied ${name}`, 'applied');
    applied.push(name);
  }
  return applied;
};

/** False where another process was first. */
const apply = async (tx: Tx, name: string, folder: URL, now: () => Date): Promise<boolean> => {
  await tx.script(`
    create table if not exists schema_migrations (
      name ctext primary key,
      applied_at ctext not null
    )`);
  if (await tx.row(sql`select name from schema_migrations where name = ${name}`)) return false;
  await tx.script(readFileSync(new URL(name, folder), 'utf8'));
  await steps[name]?.(tx);
  await tx.run(sql`insert into schema_migrations (name, applied_at) values (${name}, ${now().toISOString()})`);
  return true;
};
