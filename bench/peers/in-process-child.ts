/** One peer in a process of its own, which measures itself: `node in-process-child.ts NAME SIZE SEED`, and then as it is told. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Sample } from '../arm.ts';
import type { Operation } from '../operations.ts';
import { type Size, World } from '../world/plan.ts';
import { questionsAbout } from '../world/questions.ts';
import { differences } from './differences.ts';
import { askedOf, factsOf } from './facts.ts';
import { type Decide, inProcess } from './in-process.ts';

export type Order = { readonly verify: number } | { readonly operation: Operation; readonly seconds: number };

const [name, size, seed] = process.argv.slice(2) as [string, string, string];
const peer = inProcess.find(each => each.name === name);
if (peer === undefined) throw new Error(`there is no peer ${name}`);

const world = new World(JSON.parse(size) as Size, Number(seed));
const decide: Decide = await peer.open(factsOf(world));

/** As many and the same as are asked of the others. */
const asked = questionsAbout(world, 2_000, 7).map(askedOf);

let next = 0;
const one = (): void => {
  const question = asked[next];
  next = (next + 1) % asked.length;
  if (question !== undefined) decide(question);
};
// What is made at the first question of a user is there before anything is measured.
for (const question of asked) decide(question);

const fifty = (): void => {
  for (let count = 0; count < 50; count++) one();
};
const works: Partial<Record<Operation, () => void>> = { 'one decision': one, 'batch of 50 decisions': fifty };

const measured = async (work: () => void, seconds: number): Promise<Sample> => {
  globalThis.gc?.();
  const [cpu, begun] = [process.cpuUsage(), performance.now()];
  let [count, memory] = [0, process.memoryUsage.rss()];
  while (performance.now() - begun < seconds * 1_000) {
    const until = performance.now() + 20;
    while (performance.now() < until) {
      work();
      count++;
    }
    memory = Math.max(memory, process.memoryUsage.rss());
    await pause(0);
  }
  const { user, system } = process.cpuUsage(cpu);
  return {
    cpu: (user + system) / count,
    rate: (count * 1_000) / (performance.now() - begun),
    memory,
  };
};

process.on('message', async (order: Order) => {
  if ('verify' in order)
    process.send?.({
      different: await differences(world, questions => questions.map(each => decide(askedOf(each))), order.verify),
    });
  else {
    const work = works[order.operation];
    process.send?.({ sample: work && (await measured(work, order.seconds)) });
  }
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
