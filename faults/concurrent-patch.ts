/** Two changes of one row at once end as one after the other would, and each answer tells which came first. */

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Answer, Json } from '../test/support/client.ts';
import { Dice, testSeed, toRepeat } from '../test/support/dice.ts';
import { randomChoices } from '../test/support/random-world.ts';
import { expectStatus, inLanes, on, onReplicas } from './support/replicas.ts';
import type { Trial } from './trial.ts';

const lanes = 4;
const groups = ['project-access', 'workspace-access'];

/** What a custom grant shows after a change of it: what was not sent stays. */
const applied = (attributes: Json, change: Json): Json => ({
  ...attributes,
  ...Object.fromEntries(groups.map(group => [group, { ...attributes[group], ...change[group] }])),
});

/** How each of the two says which state it is about. */
const conditions = ['neither', 'both', 'one'] as const;

export const concurrentPatch: Trial = {
  name: 'concurrent-patch',
  fault: 'two PATCHes of one row at once over two replicas, with and without If-Match',
  short: 60,
  long: 10_000,
  run: (times, progress) =>
    onReplicas(async ({ servers, directory }) => {
      const dice = new Dice(testSeed);
      const { actor: owner } = await directory.user('owner');
      await directory.organization(owner, 'shared');
      const project = await directory.project(owner, 'shared', 'place');
      const rows: string[] = [];
      for (let lane = 0; lane < lanes; lane++) {
        const team = await directory.team(owner, 'shared', { name: `team ${lane}` });
        const attributes = { access: 'custom', ...randomChoices(dice, 1) };
        rows.push(await directory.grant(owner, project, team, attributes));
      }
      const first = [0, 0];
      const count = { done: 0, refused: 0, stale: 0 };

      await inLanes(times, lanes, async (index, lane) => {
        const path = `/team-projects/${rows[lane]}`;
        const before = await owner.get(path);
        const base = before.body.data.attributes;
        const condition = conditions[index % conditions.length];
        // Whole sets would show a mixture, and parts show that neither is lost; none of them changes nothing.
        const isWhole = dice.chance(0.5);
        const choice = (): Json => {
          for (;;) {
            const change = randomChoices(dice, isWhole ? 1 : 0.4);
            if (!isDeepStrictEqual(applied(base, change), base)) return change;
          }
        };
        const changes = [choice(), choice()] as const;
        // Neither replica is always asked first.
        const replicaOf = (side: number) => servers[(side + index) % 2 === 0 ? 0 : 1];
        const tags = changes.map((_, side) => condition === 'both' || (condition === 'one' && side === 0));
        const answers = (await Promise.all(
          changes.map((change, side) => {
            const headers = tags[side] ? { 'if-match': `${before.headers.etag}` } : undefined;
            return on(replicaOf(side), owner).patch(path, { attributes: change }, headers);
          }),
        )) as [Answer, Answer];
        const after = await on(replicaOf(dice.below(2)), owner).get(path);

        /** What both would be answered, and what would be there, if this one came first. */
        const serial = (one: 0 | 1): Json => {
          const other = one === 0 ? 1 : 0;
          const told: Json[] = [];
          const then = applied(base, changes[one]);
          told[one] = then;
          const isStale = tags[other] && !isDeepStrictEqual(then, base);
          const last = isStale ? then : applied(then, changes[other]);
          told[other] = isStale ? 412 : last;
          return { told, last };
        };
        const seen = {
          told: answers.map(({ status, body }) => (status === 200 ? body.data.attributes : status)),
          last: after.body.data.attributes,
        };
        const order = ([0, 1] as const).find(one => isDeepStrictEqual(seen, serial(one)));
        assert.ok(
          order !== undefined,
          `a mixture (${toRepeat}): ${JSON.stringify({ base, changes, tags, seen, serial: [serial(0), serial(1)] })}`,
        );
        const replica = (order + index) % 2;
        first[replica] = (first[replica] ?? 0) + 1;
        const refused = answers.filter(({ status }) => status === 412).length;
        if (condition === 'both') assert.equal(refused, 1, 'of two with one tag, one is done and one is refused');
        count.done += 2 - refused;
        count.refused += refused;

        // Whatever came of it, the tag of before is stale now, on either replica.
        if (after.headers.etag !== before.headers.etag) {
          const stale = { 'if-match': `${before.headers.etag}` };
          const late = on(servers[dice.below(2) === 0 ? 0 : 1], owner).patch(path, { attributes: choice() }, stale);
          expectStatus(await late, 412, 'a stale If-Match');
          count.stale++;
        }
        progress(`${index + 1} of ${times} pairs`);
      });
      for (const number of first) assert.ok(number >= times / 20, `one replica was first ${number} times of ${times}`);
      return [
        `${times} pairs, 0 mixtures (first came the one replica ${first[0]} times, the other ${first[1]} times)`,
        `${count.done} changes, ${count.refused} refused with 412 since the other came first; ${count.stale} stale tags, 0 accepted`,
      ];
    }),
};
