/** A database before it is served: brought to the schema of this version, or waited for. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { behind, migrate, migrationNames, type News, schemaOf } from '../store/migrations.ts';
import { shownUrl } from '../store/open.ts';
import { StartFault, type Store, Unavailable } from '../store/store.ts';
import type { Settings } from './settings.ts';

export const settleSchema = async (
  store: Store,
  { migrateApart, database }: Settings,
  now: () => Date,
  log: FastifyInstance['log'],
): Promise<void> => {
  const schema = await schemaOf(store);
  if (migrateApart && schema.missing.length > 0) {
    const old = behind(schema);
    // Whoever waits has the file, and nobody else could migrate it.
    throw store.engine === 'sqlite' ? new StartFault(`cannot serve ${shownUrl(database)}: ${old.message}`) : old;
  }
  const isNew = schema.missing.length === migrationNames().length;
  // Of what is made in a new database there is nothing to tell.
  const tell: News = (text, about) => log[isNew && about === 'applied' ? 'debug' : 'info'](text);
  await migrate(store, now, tell).catch(error => {
    if (error instanceof StartFault || error instanceof Unavailable) throw error;
    throw new StartFault(`cannot make the tables in ${shownUrl(database)}: ${error.message}`);
  });
  if (schema.unknown.length > 0)
    log.warn(`the database was made for a newer version, which this one can serve: ${schema.unknown.join(', ')}`);
};

/** In milliseconds. */
const betweenTries = 500;

/** Waits for a database that cannot be used yet, and tells so once for each reason. */
export const patiently = async <T>(
  work: () => Promise<T>,
  where: string,
  waiting: (reason: string) => void,
): Promise<T> => {
  let told: string | undefined;
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      if (error.hopeless) throw new StartFault(`cannot open the database ${where}: ${error.hopeless}`);
      if (error.message !== told) waiting(error.message);
      told = error.message;
      await sleep(betweenTries);
    }
};
