/** `bailiwick migrate`: the schema apart from the server, such as by a role that owns it. */

import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.ts';
import type { Settings } from './settings.ts';

export const runMigrate = async ({ database }: Settings): Promise<void> => {
  const store = openSqlite(database.replace(/^sqlite:/, ''));
  const applied = await migrate(store, () => new Date());
  await store.close();
  process.stdout.write(applied.length === 0 ? 'The schema is up to date.\n' : `Applied: ${applied.join(', ')}\n`);
};
