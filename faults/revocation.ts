/** What one replica has taken away, no other accepts any more: from the moment of the answer on. */

import { expectStatus, Holder, inLanes, losses, onReplicas } from './support/replicas.ts';
import type { Trial } from './trial.ts';

const lanes = 6;

export const revocation: Trial = {
  name: 'revocation',
  fault: 'revoked on replica A, asked on replica B right after the answer of A',
  short: 25,
  long: 10_000,
  run: (times, progress) =>
    onReplicas(async ({ servers, directory }) => {
      const figures = [];
      for (const loss of losses) {
        const holders = await Promise.all(Array.from({ length: lanes }, () => Holder.found(directory, loss)));
        let asked = 0;
        await inLanes(times, lanes, async (index, lane) => {
          const holder = holders[lane] as Holder;
          // All lanes go the same way for a while: the changes of one on B must not refresh what another finds there.
          const quarter = Math.floor((4 * index) / times);
          const [a, b] = quarter % 2 === 0 ? servers : [servers[1], servers[0]];
          await holder.restore();
          // Proof that it is this right which opens the door, on the replica that is asked later.
          const proof = quarter < 2 ? holder.read(b) : holder.change(b);
          expectStatus(await proof, 200, `with its ${loss}, the caller`);
          const { taking, asking } = holder.lost;
          expectStatus(await holder.lose(a), taking, `taking the ${loss} away`);
          const answers = await Promise.all([holder.read(b), holder.change(b)]);
          for (const answer of answers) expectStatus(answer, asking, `without its ${loss}, the caller`);
          asked += answers.length;
          progress(`${loss}: ${index + 1} of ${times}`);
        });
        figures.push(`${loss}: ${times} times taken away, ${asked} reads and writes after it, 0 accepted`);
      }
      return figures;
    }),
};
