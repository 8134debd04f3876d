/**
 * The long form of every trial, or of those that are named: `npm run faults -- [NAME ...] [--times N]`.
 * Prints a table, which `npm run faults -- --write` keeps in docs/faults.md: of all trials, each in full.
 * Exits with 1 if a trial failed or was left out.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { trials } from './index.ts';
import { LeftOut } from './trial.ts';

const refuse = (reason: string): never => {
  console.error(reason);
  process.exit(2);
};

const asked = () => {
  try {
    return parseArgs({
      options: { times: { type: 'string' }, write: { type: 'boolean' } },
      allowPositionals: true,
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
};

const { values, positionals: names } = asked();
const unknown = names.filter(name => !trials.some(trial => trial.name === name));
if (unknown.length > 0)
  refuse(`there is no trial '${unknown.join(' ')}'; there are ${trials.map(({ name }) => name).join(', ')}`);
if (values.times !== undefined && !/^[1-9]\d{0,8}$/.test(values.times))
  refuse(`--times takes a whole number from 1 on, not '${values.times}'`);
if (values.write && (names.length > 0 || values.times !== undefined))
  refuse('--write keeps a run of all trials in full: it goes without names and without --times');

type Outcome = { readonly word: 'passed' | 'FAILED' | 'left out'; readonly figures: readonly string[] };

const failure = (error: unknown): Outcome =>
  error instanceof LeftOut
    ? { word: 'left out', figures: [`left out: ${error.message}`, ...error.figures] }
    : { word: 'FAILED', figures: [`${(error as Error)?.stack ?? error}`] };

const rows: string[] = [];
const count = { passed: 0, FAILED: 0, 'left out': 0 };
for (const { name, fault, long, run } of trials) {
  if (names.length > 0 && !names.includes(name)) continue;
  const started = Date.now();
  let last = 0;
  const progress = (text: string): void => {
    if (Date.now() - last < 2_000) return;
    last = Date.now();
    console.error(`  ${name}: ${text}`);
  };
  const { word, figures } = await run(Number(values.times ?? long), progress, assert.fail).then(
    (figures): Outcome => ({ word: 'passed', figures }),
    failure,
  );
  count[word]++;
  const seconds = Math.round((Date.now() - started) / 1000);
  console.log(`${word} ${name} (${seconds} s)\n  ${figures.join('\n  ')}`);
  rows.push(`| ${fault} | ${word === 'FAILED' ? 'failed' : figures.join('; ')} | ${seconds} s |`);
}
const table = `| Fault | Figures | Time |\n|---|---|---|\n${rows.join('\n')}\n`;
console.log(`\n${table}`);
if (values.write)
  writeFileSync(
    new URL('../docs/faults.md', import.meta.url),
    `# Faults provoked

By \`npm run faults -- --write\`, last on ${new Date().toISOString().slice(0, 10)}: Node ${process.versions.node}, SQLite ${process.versions.sqlite}, ${cpus().length} cores. The short form of each is in the test suite, which does not judge how long things take. Every trial fails where a promise is broken, so a row with figures is a promise kept; what a machine cannot show is left out, and the row says so. \`faults/\` says exactly what is done and what must hold.

${table}`,
  );
console.log(`${count.passed} passed, ${count.FAILED} failed, ${count['left out']} left out`);
process.exit(count.FAILED + count['left out'] > 0 ? 1 : 0);
