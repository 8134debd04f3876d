/** What Bailiwick costs, beside the least that it could cost and what others cost: all arms in one run. */

import { bailiwick } from './arms/bailiwick.ts';
import { bareHttp } from './arms/bare-http.ts';
import { Generator } from './load.ts';
import { operations } from './operations.ts';
import { note, operationTable } from './report.ts';
import { inRounds } from './rounds.ts';
import { sizes } from './world/plan.ts';
import { Worlds } from './worlds.ts';

const size = sizes[0] as (typeof sizes)[number];
const worlds = new Worlds();
const generator = new Generator();
const world = worlds.of(size);
const ours = await bailiwick(worlds, world, 'SQLite');
const arms = [await bareHttp(world, ours), ours];
const chosen = process.argv[2]
  ? operations.filter(each => each.includes(process.argv[2] as string))
  : operations.slice(0, 3);
const taken = await inRounds(
  arms,
  { operations: chosen, rounds: 5, seconds: 0.5, connections: 16, atHalfLoad: true },
  generator,
  what => console.error(what),
);
for (const operation of chosen) console.log(`\n${operation}\n\n${operationTable(taken, operation)}`);
console.log(`\n${note}`);
for (const arm of arms) await arm.close();
await generator.end();
await worlds.end();
