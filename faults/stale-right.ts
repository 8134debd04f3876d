/** A caller loses its right while its own change runs: the change is committed before the loss, or not at all. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Answer } from '../test/support/client.ts';
import { Dice, testSeed, toRepeat } from '../test/support/dice.ts';
import { expectStatus, Holder, inLanes, type Loss, losses, onReplicas } from './support/replicas.ts';
import type { Trial } from './trial.ts';

const lanes = 3;

type Span = { readonly answer: Answer; readonly from: number; readonly to: number };

const timed = async (delay: number, work: () => Promise<Answer>): Promise<Span> => {
  if (delay > 0) await sleep(delay);
  const from = performance.now();
  return { answer: await work(), from, to: performance.now() };
};

/** Both requests were under way at once. */
const overlap = (one: Span, other: Span): boolean => one.from < other.to && other.from < one.to;

type Round = { readonly loss: Loss; readonly change: Span; readonly taking: Span };

/** The database's own word for when each request was committed, in microseconds. Those that wrote nothing are not in it. */
const commitsIn = async (url: string): Promise<Map<string, bigint>> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(`
    select request_id, (extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000000)::bigint as at
    from audit_events`);
  await client.end();
  return new Map(rows.map(({ request_id, at }) => [request_id, BigInt(at)]));
};

const idOf = ({ answer }: Span): string => `${answer.headers['x-request-id']}`;

export const staleRight: Trial = {
  name: 'stale-right',
  fault: 'a caller loses its right on one replica while its own PATCH runs on the other',
  short: 100,
  long: 10_000,
  run: (times, progress) =>
    onReplicas(async ({ url, servers, directory }) => {
      const dice = new Dice(testSeed);
      const rounds: Round[] = [];
      const each = Math.ceil(times / losses.length);
      for (const loss of losses) {
        const holders = await Promise.all(Array.from({ length: lanes }, () => Holder.found(directory, loss)));
        // How much later the loss is sent, in milliseconds: it is moved to where either may come first.
        const ahead = holders.map(() => 0);
        let overlapping = 0;
        const isEnough = (begun: number): boolean => {
          assert.ok(begun <= each * 4 + 50, `only ${overlapping} of ${begun} rounds overlap (${toRepeat})`);
          return overlapping >= each;
        };
        await inLanes(isEnough, lanes, async (_, lane) => {
          const holder = holders[lane] as Holder;
          const [here, there] = dice.chance(0.5) ? servers : [servers[1], servers[0]];
          await holder.restore();
          const delay = (ahead[lane] ?? 0) + dice.below(4) - 1.5;
          const [change, taking] = await Promise.all([
            timed(-delay, () => holder.change(here)),
            timed(delay, () => holder.lose(there)),
          ]);
          expectStatus(taking.answer, holder.lost.taking, `taking the ${loss} away`);
          const isDone = change.answer.status === 200;
          if (!isDone) expectStatus(change.answer, holder.lost.asking, `a change without the ${loss}`);
          ahead[lane] = Math.max(-20, Math.min(20, (ahead[lane] ?? 0) + (isDone ? -0.5 : 0.5)));
          rounds.push({ loss, change, taking });
          if (overlap(change, taking)) overlapping++;
          progress(`${loss}: ${overlapping} of ${each}`);
        });
      }

      const commits = await commitsIn(url);
      const count = { done: 0, refused: 0, overlapping: 0 };
      for (const { loss, change, taking } of rounds) {
        const taken = commits.get(idOf(taking));
        const changed = commits.get(idOf(change));
        assert.ok(taken !== undefined, `a loss of the ${loss} without its commit`);
        const isDone = change.answer.status === 200;
        assert.equal(changed !== undefined, isDone, `${loss}: answered ${change.answer.status}, committed ${changed}`);
        if (changed !== undefined)
          assert.ok(changed < taken, `a commit ${changed - taken} µs after the loss of the ${loss}`);
        count[isDone ? 'done' : 'refused']++;
        if (overlap(change, taking)) count.overlapping++;
      }
      assert.ok(count.overlapping >= times);
      // Otherwise nothing was proved.
      for (const [what, number] of Object.entries(count))
        assert.ok(number >= rounds.length / 10, `only ${number} of ${rounds.length} ${what} (${toRepeat})`);
      return [
        `${count.overlapping} interleavings with both requests under way at once, and ${rounds.length - count.overlapping} with one after the other`,
        `${count.done} changes committed, all before the loss; ${count.refused} refused, none of them committed`,
      ];
    }),
};
