/** `bailiwick migrate`: the schema apart from the server, such as by a role that owns it. */

import { migrate } from '../store/migrations.ts';
import { openStore, shownUrl } from '../store/open.ts';
import { StartFault, Unavailable } from '../store/store.ts';
import type { Settings } from './settings.ts';

export const runMigrate = async (settings: Settings): Promise<void> => {
  const where = shownUrl(settings.database);
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const store = await openStore(settings.database, settings);
  try {
    const applied = await migrate(store, () => new Date(), say);
    say(`The schema of ${where} is up to date${applied.length === 0 ? ', and was so before' : ''}.`);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const { code, message } = (error.cause ?? {}) as NodeJS.ErrnoException;
    const reason = code === '42501' ? `this role may not change the schema: ${message}` : error.message;
    throw new StartFault(`cannot migrate ${where}: ${error.hopeless ?? reason}`);
  } finally {
    await store.close();
  }
};
