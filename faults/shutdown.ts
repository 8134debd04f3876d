/** SIGTERM while clients that keep their connections are busy, on both engines in turn. */

import { startPostgres } from '../test/support/postgres.ts';
import { Ground } from '../test/support/program.ts';
import { stopUnderLoad } from '../test/support/stopping.ts';
import { judge } from './support/stage.ts';
import type { Trial } from './trial.ts';

const goneWithin = 10_000;

export const shutdown: Trial = {
  name: 'shutdown',
  fault: 'SIGTERM under load with keep-alive clients',
  short: 2,
  long: 100,
  run: async (times, progress, late) => {
    const endings: (() => unknown)[] = [];
    const context = { after: (end: () => unknown) => void endings.unshift(end) };
    const postgres = await startPostgres();
    context.after(() => postgres.end());
    try {
      const url = await postgres.newDatabase();
      const grounds = [
        new Ground(context, { url: undefined, drop: () => {} }),
        new Ground(context, { url, drop: () => {} }),
      ];
      let answered = 0;
      let longest = 0;
      for (let time = 0; time < times; time++) {
        const stopped = await stopUnderLoad(grounds[time % grounds.length] as Ground);
        answered += stopped.answered;
        longest = Math.max(longest, stopped.took);
        judge(late, 'a stop', stopped.took, goneWithin);
        progress(`${time + 1} of ${times}`);
      }
      return [
        `${times} stops, half on each engine: ${answered} requests answered, 0 of those taken failed`,
        `exit code 0 each time, ${(longest / 1000).toFixed(1)} s after the signal at the latest`,
      ];
    } finally {
      for (const end of endings) await end();
    }
  },
};
