/** What others built: from the folder of the peers, where that is here. */

import { existsSync } from 'node:fs';
import type { Arm } from '../arm.ts';
import { serverCore } from '../cores.ts';
import type { World } from '../world/plan.ts';
import type { Worlds } from '../worlds.ts';

export type Peers = {
  readonly arms: readonly Arm[];
  readonly left: readonly string[];
  readonly versions: readonly string[];
  /** Why there is no figure for an operation, or in what a figure is about less than ours. */
  readonly notes: readonly string[];
};

type Needs = {
  readonly world: World;
  readonly folder: string;
  readonly postgres: () => Promise<{ readonly url: string; readonly processes: () => readonly number[] }>;
  readonly core?: number;
  readonly wanted: (name: string) => boolean;
  readonly say: (text: string) => void;
};

type Module = {
  readonly peers: (needs: Needs) => Promise<{
    readonly arms: readonly Arm[];
    readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
  }>;
  readonly versions: () => Readonly<Record<string, string>>;
  readonly notes: readonly {
    readonly peers: readonly string[];
    readonly operations: readonly string[];
    readonly note: string;
  }[];
};

const folder = new URL('../peers/index.ts', import.meta.url);

/** Where something is missing for one of them, it is left out, and the others take part. */
export const peersOn = async (worlds: Worlds, world: World, wanted: (name: string) => boolean): Promise<Peers> => {
  if (!existsSync(folder)) return { arms: [], left: ['the peers: they are not here'], versions: [], notes: [] };
  const module = (await import(folder.href)) as Module;
  const { arms, leftOut } = await module.peers({
    world,
    folder: worlds.folder,
    postgres: async () => ({
      url: await (await worlds.postgres()).databases.create(),
      processes: await worlds.processes('PostgreSQL'),
    }),
    ...(serverCore !== undefined && { core: serverCore }),
    wanted,
    say: text => process.stderr.write(`${text}\n`),
  });
  const taking = new Set(arms.map(({ name }) => name));
  return {
    arms,
    left: leftOut.map(({ name, reason }) => `${name}: ${reason.trim()}`),
    versions: arms.length === 0 ? [] : Object.entries(module.versions()).map(([name, version]) => `${name} ${version}`),
    notes: module.notes
      .filter(({ peers }) => peers.some(name => taking.has(name)))
      .map(({ peers, operations, note }) => `${peers.join('; ')} (${operations.join('; ')}): ${note}`),
  };
};
