/** Brings a database to the schema that this version needs: each file once, in order, whole or not at all. */

import { readdirSync, readFileSync } from 'node:fs';
import { sql } from './sql.ts';
import { StartFault, type Store } from './store.ts';

const folder = new URL('../../migrations/', import.meta.url);

export const migrationNames = (): string[] =>
  readdirSync(folder)
    .filter(name => /^\d{4}_\w+\.sql$/.test(name))
    .sort();

/** The names of the migrations that were applied now. */
export const migrate = async (store: Store, now: () => Date): Promise<string[]> => {
  const wanted = migrationNames();
  return store.write(async tx => {
    await tx.script(`
      create table if not exists schema_migrations (
        name ctext primary key,
        applied_at ctext not null
      )`);
    const rows = await tx.rows<[name: string]>(sql`select name from schema_migrations order by name`);
    const applied = rows.map(([name]) => name);
    const unknown = applied.find(name => !wanted.includes(name));
    if (unknown !== undefined)
      throw new StartFault(`the database was made by a newer version: this one does not know its migration ${unknown}`);
    const missing = wanted.filter(name => !applied.includes(name));
    for (const name of missing) {
      await tx.script(readFileSync(new URL(name, folder), 'utf8'));
      await tx.run(sql`insert into schema_migrations (name, applied_at) values (${name}, ${now().toISOString()})`);
    }
    return missing;
  });
};
