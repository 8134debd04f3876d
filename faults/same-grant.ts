/** One team, one project and many who create its access at once: one of them does, and the others are told which it is. */

import assert from 'node:assert/strict';
import { grantBody } from '../test/support/world.ts';
import { expectStatus, on, onReplicas } from './support/replicas.ts';
import type { Trial } from './trial.ts';

const clients = 64;
const levels = ['read', 'write', 'maintain', 'admin'];

export const sameGrant: Trial = {
  name: 'same-grant',
  fault: `the same team and project created by ${clients} clients through two replicas`,
  short: 8,
  long: 500,
  run: (times, progress) =>
    onReplicas(async ({ servers, directory }) => {
      const { actor: owner } = await directory.user('owner');
      await directory.organization(owner, 'contested');
      const side = Math.ceil(Math.sqrt(times));
      const numbers = Array.from({ length: side }, (_, index) => index);
      const teams: string[] = [];
      const projects: string[] = [];
      for (const number of numbers) {
        teams.push(await directory.team(owner, 'contested', { name: `team ${number}` }));
        projects.push(await directory.project(owner, 'contested', `project ${number}`));
      }
      const pairs = teams.flatMap(team => projects.map(project => ({ team, project }))).slice(0, times);
      let refused = 0;
      const won = [0, 0];
      for (const [index, { team, project }] of pairs.entries()) {
        const answers = await Promise.all(
          Array.from({ length: clients }, async (_, client) => {
            const server = servers[client % 2 === 0 ? 0 : 1];
            const access = levels[(client >> 1) % levels.length] as string;
            const answer = await on(server, owner).post('/team-projects', grantBody(project, team, { access }));
            return { client, answer };
          }),
        );
        const winners = answers.filter(({ answer }) => answer.status === 200);
        assert.equal(winners.length, 1, `${winners.length} of ${clients} created the access of one pair`);
        const [{ client, answer: created }] = winners as [(typeof winners)[0]];
        won[client % 2] = (won[client % 2] ?? 0) + 1;
        const { id } = created.body.data;
        for (const { answer } of answers) {
          if (answer === created) continue;
          expectStatus(answer, 422, 'a second creation');
          const [error, ...more] = answer.body.errors;
          assert.deepEqual(
            { more: more.length, source: error.source, meta: error.meta },
            { more: 0, source: { pointer: '/data/relationships/team' }, meta: { id } },
          );
          refused++;
        }
        for (const server of servers) {
          const shown = await on(server, owner).get(`/team-projects/${id}`);
          assert.equal(shown.text, created.text, 'what is there is what was created');
        }
        progress(`${index + 1} of ${times} pairs`);
      }
      return [
        `${pairs.length} pairs, one 200 each (${won[0]} by the one replica, ${won[1]} by the other)`,
        `${refused} times the documented 422, 0 other answers`,
      ];
    }),
};
