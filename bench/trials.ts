/** What the tables of the operations do not tell: shared commits, growth, statements, and many connections. */

import { bailiwick } from './arms/bailiwick.ts';
import { bareHttp } from './arms/bare-http.ts';
import { commits } from './arms/floors.ts';
import { naive } from './arms/naive.ts';
import { recordedOf } from './arms/recorded.ts';
import { Generator, type Measured } from './load.ts';
import type { Operation } from './operations.ts';
import type { Size } from './world/plan.ts';
import type { Worlds } from './worlds.ts';

export type Trial = {
  readonly worlds: Worlds;
  readonly generator: Generator;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly step: (what: string) => void;
};

/** Durable creations a second: by one client, by 32, and the rate of bare commits on the same disk. */
export type Creations = { readonly one: number[]; readonly many: number[]; readonly bare: number[] };

export const creations = async (
  { worlds, generator, rounds, seconds, warmUp, step }: Trial,
  size: Size,
): Promise<Creations> => {
  const ours = await bailiwick(worlds, worlds.of(size), 'SQLite');
  const bare = await commits(worlds, size);
  const taken: Creations = { one: [], many: [], bare: [] };
  step('creations by one client and by 32: warming up');
  // Writes come by the hundred where reads come by the thousand, and take as much longer to be compiled.
  await generator.warmedUp(ours, 'create', { connections: 32, seconds: 4 * warmUp });
  await bare.measure('create', 4 * warmUp);
  for (let round = 1; round <= rounds; round++) {
    step(`creations by one client and by 32: round ${round} of ${rounds}`);
    const one = await generator.measured(ours, 'create', { connections: 1, seconds });
    const many = await generator.measured(ours, 'create', { connections: 32, seconds });
    const floor = await bare.measure('create', seconds);
    taken.one.push(one?.rate ?? Number.NaN);
    taken.many.push(many?.rate ?? Number.NaN);
    taken.bare.push(floor?.rate ?? Number.NaN);
  }
  await bare.close();
  await ours.close();
  return taken;
};

/** What is asked one at a time. */
export const asked: readonly Operation[] = ['show one', 'one decision', 'page of 20'];

/**
 * CPU of each request where they come one at a time, as on a server that is not busy: each wakes it up. Where many come at
 * once, they share that, and a floor that does nothing else has little left.
 */
export type Alone = {
  readonly operation: Operation;
  readonly bare: number[];
  readonly ours: number[];
  readonly naive: number[];
};

export const oneAtATime = async (
  { worlds, generator, rounds, seconds, warmUp, step }: Trial,
  size: Size,
): Promise<readonly Alone[]> => {
  const world = worlds.of(size);
  const ours = await bailiwick(worlds, world, 'SQLite');
  const arms = { bare: await bareHttp(world, ours), ours, naive: await naive(worlds, world, 'SQLite') };
  const taken = asked.map(operation => ({ operation, bare: [], ours: [], naive: [] }) as Alone);
  for (let round = 0; round <= rounds; round++)
    for (const each of taken) {
      step(`one at a time: round ${round} of ${rounds}, ${each.operation}`);
      for (const [name, arm] of Object.entries(arms)) {
        if (round === 0) await generator.warmedUp(arm, each.operation, { connections: 16, seconds: warmUp });
        const measured = await generator.measured(arm, each.operation, { connections: 1, seconds });
        if (round > 0) each[name as keyof typeof arms].push(measured?.cpu ?? Number.NaN);
      }
    }
  for (const arm of [arms.naive, arms.bare, ours]) await arm.close();
  return taken;
};

export const growing: readonly Operation[] = ['show one', 'one decision', 'page of 20'];

/** CPU of each request in the smallest and in the largest world, in turn. */
export type Growth = { readonly operation: Operation; readonly small: number[]; readonly large: number[] };

export const growth = async (
  { worlds, generator, rounds, seconds, warmUp, step }: Trial,
  small: Size,
  large: Size,
): Promise<readonly Growth[]> => {
  const servers = [
    await bailiwick(worlds, worlds.of(small), 'SQLite'),
    await bailiwick(worlds, worlds.of(large), 'SQLite'),
  ] as const;
  const taken = growing.map(operation => ({ operation, small: [] as number[], large: [] as number[] }));
  for (let round = 0; round <= rounds; round++)
    for (const each of taken) {
      step(`from ${small.name} to ${large.name}: round ${round} of ${rounds}, ${each.operation}`);
      for (const [server, into] of [
        [servers[0], each.small],
        [servers[1], each.large],
      ] as const)
        if (round === 0) await generator.warmedUp(server, each.operation, { connections: 16, seconds: warmUp });
        else
          into.push(
            (await generator.measured(server, each.operation, { connections: 16, seconds }))?.cpu ?? Number.NaN,
          );
    }
  for (const server of servers) await server.close();
  return taken;
};

/** The statements of a show on PostgreSQL, that of the token among them. */
export const statementsOfShow = async (worlds: Worlds, size: Size): Promise<number> => {
  const url = await worlds.copy(size, 'PostgreSQL');
  const recorded = await recordedOf(url, worlds.of(size), ['show one'], 5);
  await worlds.drop(url);
  return Math.max(...(recorded.get('show one') ?? []).map(({ length }) => length));
};

export type Connections = {
  readonly wanted: number;
  /** Why there are none, such as a connection that was refused. */
  readonly refused?: string;
  readonly ours: Measured[];
  readonly bare: Measured[];
};

/** As many open files as the system gives, if that is more. */
const withManyFiles = ['sh', '-c', 'ulimit -n $(ulimit -Hn) 2> /dev/null; exec "$@"', 'sh'];

/** Many open connections, each of which asks now and then. The servers of each round are fresh, so that none holds what others left. */
export const connections = async (
  { worlds, rounds, warmUp, step }: Trial,
  size: Size,
  wanted = 10_000,
  rate = 1_000,
): Promise<Connections> => {
  const world = worlds.of(size);
  const generator = new Generator(withManyFiles);
  const taken = { ours: [] as Measured[], bare: [] as Measured[] };
  // Every connection has its turn.
  const manner = { connections: wanted, seconds: (1.2 * wanted) / rate, rate };
  try {
    for (let round = 1; round <= rounds; round++) {
      const ours = await bailiwick(worlds, world, 'SQLite', { through: withManyFiles });
      const bare = await bareHttp(world, ours, withManyFiles);
      for (const [key, arm] of [
        ['bare', bare],
        ['ours', ours],
      ] as const) {
        step(`${wanted} connections: round ${round} of ${rounds}, ${arm.name}`);
        await generator.warmedUp(arm, 'show one', { connections: 16, seconds: warmUp });
        const measured = await generator.measured(arm, 'show one', manner);
        if (measured) taken[key].push(measured);
      }
      await bare.close();
      await ours.close();
    }
    return { wanted, ...taken };
  } catch (error) {
    return { wanted, ...taken, refused: (error as Error).message };
  } finally {
    await generator.end();
  }
};
