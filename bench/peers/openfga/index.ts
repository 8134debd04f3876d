/** The arms of OpenFGA: a store for each engine, and for each a server that keeps nothing and one that caches. */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Served } from '../../arm.ts';
import type { World } from '../../world/plan.ts';
import { openfgaArm, type Store } from './arm.ts';
import { loadTuples } from './load.ts';
import { authorizationModel } from './model.ts';
import { buildOpenfga, type Datastore, migrateOpenfga, startOpenfga } from './server.ts';

export type Ground = {
  readonly world: World;
  /** A fresh database, and the processes of its server. */
  readonly postgres?:
    | (() => Promise<{ readonly url: string; readonly processes: () => readonly number[] }>)
    | undefined;
  readonly folder: string;
  readonly core?: number | undefined;
  readonly questions: number;
  readonly say: (text: string) => void;
};

const engines = { SQLite: 'sqlite', PostgreSQL: 'postgres' } as const;
type Engine = keyof typeof engines;

export const openfgaNames = (Object.keys(engines) as Engine[]).flatMap(engine => [
  { name: `OpenFGA, ${engine}`, engine, cached: false },
  { name: `OpenFGA with its caches, ${engine}`, engine, cached: true },
]);

/** A store with its model and all tuples of the world. */
const prepared = async (binary: string, datastore: Datastore, world: World): Promise<Store> => {
  await migrateOpenfga(binary, datastore);
  const server = await startOpenfga(binary, datastore, { cached: false, core: undefined });
  try {
    const { id } = await server.ask<{ id: string }>('POST', '/stores', { name: 'bailiwick' });
    const { authorization_model_id: model } = await server.ask<{ authorization_model_id: string }>(
      'POST',
      `/stores/${id}/authorization-models`,
      authorizationModel,
    );
    await server.close();
    await loadTuples(datastore.engine, datastore.uri, id, world);
    return { id, model };
  } finally {
    await server.close();
  }
};

/** The arms of one engine that are wanted, by name; a text says why one is left out. */
export const openfgaArms = async (
  engine: Engine,
  wanted: (name: string) => boolean,
  { world, postgres, folder, core, questions, say }: Ground,
): Promise<ReadonlyMap<string, Served | string>> => {
  const arms = new Map<string, Served | string>();
  const names = openfgaNames.filter(each => each.engine === engine && wanted(each.name));
  if (names.length === 0) return arms;
  try {
    const binary = await buildOpenfga(say);
    const database = engine === 'PostgreSQL' ? await postgres?.() : undefined;
    if (engine === 'PostgreSQL' && database === undefined) throw new Error('no PostgreSQL is given');
    const datastore = {
      engine: engines[engine],
      uri: database?.url ?? `file:${join(mkdtempSync(join(folder, 'openfga-')), 'tuples.db')}`,
    };
    const store = await prepared(binary, datastore, world);
    for (const { name, cached } of names) {
      say(`${name}, ${world.size.name}: ${questions} questions before it takes part`);
      const server = await startOpenfga(binary, datastore, { cached, core });
      const processes = database?.processes ?? (() => []);
      const arm = await openfgaArm(server, store, world, { name, cached, database: processes, questions }).catch(
        error => String(error),
      );
      if (typeof arm === 'string') await server.close();
      arms.set(name, arm);
    }
  } catch (error) {
    for (const { name } of names)
      if (!arms.has(name)) arms.set(name, error instanceof Error ? error.message : String(error));
  }
  return arms;
};
