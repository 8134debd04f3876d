/** All arms that take part in a run on one world. */

import type { Arm, Role } from '../arm.ts';
import { type Operation, writes } from '../operations.ts';
import type { World } from '../world/plan.ts';
import { engines, type Worlds } from '../worlds.ts';
import { bailiwick } from './bailiwick.ts';
import { bareHttp } from './bare-http.ts';
import { commits, driver, join, statements } from './floors.ts';
import { naive } from './naive.ts';
import { type Peers, peersOn } from './peers.ts';

type TakesPart = (name: string, role: Role) => boolean;

export type Cast = Peers & { readonly close: () => Promise<void> };

/** A floor takes part where one of these operations is measured. */
const isFloorOf = (operations: readonly Operation[], ...those: readonly Operation[]): boolean =>
  those.some(operation => operations.includes(operation));

export const castOf = async (
  worlds: Worlds,
  world: World,
  operations: readonly Operation[],
  takesPart: TakesPart,
): Promise<Cast> => {
  const { size } = world;
  const arms: Arm[] = [];
  const started: Arm[] = [];
  const add = async (name: string, role: Role, start: () => Promise<Arm>, isNeeded = true): Promise<void> => {
    if (!isNeeded || !takesPart(name, role)) return;
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
  const reads = operations.some(operation => !writes.includes(operation));
  const [shows, creates] = [isFloorOf(operations, 'show one'), isFloorOf(operations, 'create')];
  const decides = isFloorOf(operations, 'one decision', 'batch of 50 decisions');
  for (const engine of engines) {
    await add(
      ...([`the bare statements, ${engine}`, 'floor'] as const),
      () => statements(worlds, size, engine, operations),
      reads,
    );
    await add(`the driver alone (select 1), ${engine}`, 'floor', () => driver(worlds, engine), shows);
  }
  await add('bare commits, SQLite', 'floor', () => commits(worlds, size), creates);
  await add('the join in memory', 'floor', () => join(size), decides);
  const peers = await peersOn(worlds, world, name => takesPart(name, 'peer'));
  arms.push(...peers.arms);
  started.push(...peers.arms);
  return {
    ...peers,
    arms,
    close: async () => {
      for (const arm of started.reverse()) await arm.close();
    },
  };
};
