/** The program as a user starts it, with its own settings. */

import { childrenOf } from '../../test/support/processes.ts';
import { Running } from '../../test/support/program.ts';
import type { Served } from '../arm.ts';
import { onServerCore } from '../cores.ts';
import type { World } from '../world/plan.ts';
import type { Engine, Worlds } from '../worlds.ts';
import { Requests } from './requests.ts';

export type Bailiwick = {
  readonly name?: string;
  /** The launcher of another revision. */
  readonly program?: string;
  /** What the server is started through, besides its core. */
  readonly through?: readonly string[];
  /** As many as are created at once. */
  readonly atOnce?: number;
};

export const bailiwick = async (
  worlds: Worlds,
  world: World,
  engine: Engine,
  { name = `Bailiwick, ${engine}`, program, through = [], atOnce }: Bailiwick = {},
): Promise<Served> => {
  const database = await worlds.copy(world.size, engine);
  const args = ['--port', '0', '--database', database, '--log-level', 'error'];
  const starting = program === undefined ? undefined : [program];
  const running = new Running(worlds.folder, args, {}, starting, [...onServerCore, ...through]);
  const port = Number(new URL(await running.url()).port);
  const pid = running.child.pid ?? 0;
  const requests = new Requests(world, port, atOnce);
  return {
    kind: 'served',
    name,
    role: 'ours',
    port,
    server: () => [pid, ...childrenOf(pid)],
    database: await worlds.processes(engine),
    requests: operation => requests.of(operation),
    close: async () => {
      await running.stop();
      await worlds.drop(database);
    },
  };
};
