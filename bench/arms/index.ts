/** All arms that take part in a run on one world. */

import { existsSync } from 'node:fs';
import type { Arm, Peers, Role } from '../arm.ts';
import { onServerCore } from '../cores.ts';
import type { World } from '../world/plan.ts';
import { engines, type Worlds } from '../worlds.ts';
import { bailiwick } from './bailiwick.ts';
import { bareHttp } from './bare-http.ts';
import { commits, driver, join, statements } from './floors.ts';
import { naive } from './naive.ts';

type TakesPart = (name: string, role: Role) => boolean;

export type Cast = {
  readonly arms: readonly Arm[];
  /** Which are missing, and why. */
  readonly left: readonly string[];
  readonly close: () => Promise<void>;
};

const peersOn = async (worlds: Worlds, world: World, takesPart: TakesPart): ReturnType<Peers> => {
  const index = new URL('../peers/index.ts', import.meta.url);
  if (!takesPart('peers', 'peer') && !takesPart('OpenFGA', 'peer')) return { arms: [], left: [] };
  if (!existsSync(index)) return { arms: [], left: ['the peers: they are not here'] };
  const { peers } = (await import(index.href)) as { readonly peers: Peers };
  const { databases } = await worlds.postgres();
  const ground = {
    world,
    folder: worlds.folder,
    through: onServerCore,
    newDatabase: () => databases.create(),
    processes: await worlds.processes('PostgreSQL'),
    takesPart: (name: string) => takesPart(name, 'peer'),
  };
  return peers(ground).catch((error: Error) => ({ arms: [], left: [`the peers: ${error.message}`] }));
};

export const castOf = async (worlds: Worlds, world: World, takesPart: TakesPart): Promise<Cast> => {
  const { size } = world;
  const arms: Arm[] = [];
  const started: Arm[] = [];
  const add = async (name: string, role: Role, start: () => Promise<Arm>): Promise<void> => {
    if (!takesPart(name, role)) return;
    const arm = await start();
    started.push(arm);
    arms.push(arm);
  };
  // What the floor answers with is asked of ours.
  const ours = await bailiwick(worlds, world, 'SQLite');
  started.push(ours);
  await add('bare node:http', 'floor', () => bareHttp(world, ours));
  if (takesPart(ours.name, ours.role)) arms.push(ours);
  await add('Bailiwick, PostgreSQL', 'ours', () => bailiwick(worlds, world, 'PostgreSQL'));
  for (const engine of engines) await add(`naive, ${engine}`, 'naive', () => naive(worlds, world, engine));
  for (const engine of engines) {
    await add(`the bare statements, ${engine}`, 'floor', () => statements(worlds, size, engine));
    await add(`the driver alone (select 1), ${engine}`, 'floor', () => driver(worlds, size, engine));
  }
  await add('bare commits, SQLite', 'floor', () => commits(worlds, size));
  await add('the join in memory', 'floor', () => join(size));
  const { arms: peers, left } = await peersOn(worlds, world, takesPart);
  arms.push(...peers);
  started.push(...peers);
  return {
    arms,
    left,
    close: async () => {
      for (const arm of started.reverse()) await arm.close();
    },
  };
};
