/** The audit trail edited, cut and reordered behind the server's back: all of it is found. */

import { openPostgres } from '../src/store/postgres.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Store } from '../src/store/store.ts';
import { Dice, testSeed } from '../test/support/dice.ts';
import { startServer } from '../test/support/server.ts';
import { tamperAtRandom, writeTrail } from '../test/support/trail.ts';
import { Directory } from '../test/support/world.ts';
import { ourPostgres } from './support/replicas.ts';
import type { Trial } from './trial.ts';

const tampered = async (store: Store, times: number, progress: (done: number) => void): Promise<string> => {
  const server = await startServer({ store });
  try {
    const events = await writeTrail(new Directory(server));
    const counted = await tamperAtRandom(store, events, times, new Dice(testSeed), progress);
    return `${times} tamperings of ${Object.keys(counted).length} kinds, all found; the untouched trail of ${events.length} rows is whole`;
  } finally {
    await server.close();
  }
};

export const auditChain: Trial = {
  name: 'audit-chain',
  fault: 'rows of the audit trail edited, removed, swapped, cut, inserted, and its heads changed, at random',
  short: 50,
  long: 1_000,
  run: async (times, progress) => {
    const engines = {
      SQLite: async () => openSqlite(':memory:'),
      PostgreSQL: async () => openPostgres(await (await ourPostgres()).newDatabase()),
    };
    const figures: string[] = [];
    for (const [engine, open] of Object.entries(engines)) {
      const told = (done: number) => progress(`${engine}: ${done} of ${times}`);
      figures.push(`${engine}: ${await tampered(await open(), times, told)}`);
    }
    return figures;
  },
};
