/** What Bailiwick costs, beside the least that it could cost and what others cost: all arms in one run. See `--help`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { against } from './against.ts';
import { castOf } from './arms/index.ts';
import type { Results } from './bars.ts';
import { residentOf } from './cpu.ts';
import { Generator } from './load.ts';
import { fsyncTime, machine, placement, versions } from './machine.ts';
import { help, type Options, optionsOf, WrongOption } from './options.ts';
import { Remaining } from './progress.ts';
import { reportOf, withSection } from './report.ts';
import { inRounds, stepsOf } from './rounds.ts';
import { asked, connections, creations, growing, growth, oneAtATime, statementsOfShow, type Trial } from './trials.ts';
import { sizes } from './world/plan.ts';
import { Worlds } from './worlds.ts';

// A signal ends the process, and that ends whatever it has started and removes what it has written.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Grants. */
const mostForPeers = 100_000;

/** In seconds under load, for each operation. */
const toWarmUp = { quick: 1, chosen: 3, full: 3 };

const measured = async (
  options: Options,
  worlds: Worlds,
  generator: Generator,
): Promise<{ readonly results: Results; readonly remarks: readonly string[]; readonly peers: readonly string[] }> => {
  const { form, rounds, seconds, operations } = options;
  const remaining = new Remaining();
  const plan = {
    ...{ operations, rounds, seconds, connections: options.connections },
    ...{ warmUp: toWarmUp[form], atHalfLoad: true },
  };
  const trial: Trial = {
    worlds,
    generator,
    rounds,
    seconds,
    warmUp: toWarmUp[form],
    step: what => remaining.step(what),
  };
  const [small, large] = [sizes[0], sizes.at(-1)] as [(typeof sizes)[number], (typeof sizes)[number]];
  const { trials } = options;
  const more = { creations: trials || form === 'quick', growth: trials, connections: trials };
  const guess = form === 'quick' ? 6 : 14;
  remaining.expect(options.sizes.length * stepsOf(guess, plan));
  remaining.expect((rounds + 1) * ((more.growth ? growing.length : 0) + (more.creations ? 1 + asked.length : 0)));
  remaining.expect(more.connections ? 2 * rounds : 0);
  const results: { -readonly [key in keyof Results]: Results[key] } & { sizes: Results['sizes'][number][] } = {
    sizes: [],
  };
  const [remarks, peers] = [new Set<string>(), new Set<string>()];
  for (const size of options.sizes) {
    const hasPeers = form !== 'full' || size.grants <= mostForPeers;
    if (!hasPeers)
      remarks.add(`At ${size.name} grants the peers take part only where --arms names them: to load them takes long.`);
    const cast = await castOf(
      ...([worlds, worlds.of(size), operations] as const),
      (name, role) => options.takesPart(name, role) && (hasPeers || role !== 'peer'),
    );
    for (const each of cast.left) remarks.add(`Left out: ${each}.`);
    for (const each of cast.notes) remarks.add(`${each}.`);
    for (const each of cast.versions) peers.add(each);
    remaining.expect(stepsOf(cast.arms.length, plan) - stepsOf(guess, plan));
    const servers = cast.arms.filter(arm => arm.kind === 'served');
    const idle = servers.map(({ server }) => residentOf(server()));
    const taken = await inRounds(
      ...([cast.arms, plan, generator] as const),
      what => remaining.step(`${size.name}, ${what}`),
      what => remarks.add(`Given up at ${size.name} grants: ${what}.`),
    );
    const memory = servers.map(({ name, server }, index) => ({
      ...{ name, idle: idle[index] ?? Number.NaN, after: residentOf(server()) },
    }));
    results.sizes.push({ size, taken, memory });
    await cast.close();
  }
  if (more.creations) {
    results.alone = await oneAtATime(trial, small);
    results.creations = await creations(trial, small);
    results.statements = await statementsOfShow(worlds, small);
  }
  if (more.growth) results.growth = await growth(trial, small, large);
  if (more.connections) results.connections = await connections(trial, small);
  remaining.end();
  return { results, remarks: [...remarks], peers: [...peers] };
};

const main = async (options: Options): Promise<number> => {
  if (options.against !== undefined) return against(options.against, options);
  const worlds = new Worlds();
  const generator = new Generator();
  try {
    const fsync = fsyncTime(worlds.path('fsync'));
    const { results, remarks, peers } = await measured(options, worlds, generator);
    const facts = [
      `By \`npm run bench\`, on ${machine()}. ${placement()} ${options.rounds} rounds of ${options.seconds} s, ${options.connections} connections.`,
      `${versions((await worlds.postgres()).server.version, peers)}. A page written and synced takes ${fsync.toFixed(0)} µs.`,
      ...remarks,
    ];
    const report = reportOf(results, facts);
    process.stdout.write(`${report}\n`);
    if (options.json !== undefined) writeFileSync(options.json, JSON.stringify({ facts, ...results }, undefined, 1));
    if (options.trials) {
      const file = new URL('../docs/benchmarks.md', import.meta.url);
      writeFileSync(file, withSection(readFileSync(file, 'utf8'), 'One server', report));
    }
    return 0;
  } finally {
    await generator.end();
    await worlds.end();
  }
};

try {
  const options = optionsOf(process.argv.slice(2));
  if (options === 'help') process.stdout.write(help);
  else process.exitCode = await main(options);
} catch (error) {
  process.stderr.write(`\n${error instanceof WrongOption ? `${error.message}; see --help` : (error as Error).stack}\n`);
  process.exitCode = 2;
}
