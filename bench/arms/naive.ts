/** The version without authorization or audit: see its server. */

import type { Served } from '../arm.ts';
import { Child } from '../children.ts';
import { onServerCore } from '../cores.ts';
import type { World } from '../world/plan.ts';
import type { Engine, Worlds } from '../worlds.ts';
import { Requests } from './requests.ts';

export const naive = async (worlds: Worlds, world: World, engine: Engine, atOnce?: number): Promise<Served> => {
  const url = await worlds.copy(world.size, engine);
  const child = new Child<{ readonly url: string }, number>('arms/naive-server.ts', onServerCore);
  const port = await child.ask({ url });
  const requests = new Requests(world, port, atOnce);
  return {
    kind: 'served',
    name: `naive, ${engine}`,
    role: 'naive',
    port,
    server: () => [child.pid],
    database: await worlds.processes(engine),
    // Who has what, and why, is what it leaves out.
    requests: async operation => (operation === 'everybody on a project' ? undefined : requests.of(operation)),
    close: async () => {
      await child.end();
      await worlds.drop(url);
    },
  };
};
