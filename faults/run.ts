/**
 * The long form of every trial, or of those that are named: `npm run faults -- [NAME ...] [--times N] [--write]`.
 * Prints a table; `--write` keeps it in docs/faults.md.
 */

import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { trials } from './index.ts';

const { values, positionals } = parseArgs({
  options: { times: { type: 'string' }, write: { type: 'boolean' } },
  allowPositionals: true,
});
const unknown = positionals.filter(name => !trials.some(trial => trial.name === name));
if (unknown.length > 0) {
  console.error(`there is no trial '${unknown.join(' ')}'; there are ${trials.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

const rows: string[] = [];
let failed = 0;
for (const { name, fault, long, run } of trials) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const times = Number(values.times ?? long);
  const started = Date.now();
  let last = 0;
  const progress = (text: string): void => {
    if (Date.now() - last < 2_000) return;
    last = Date.now();
    console.error(`  ${name}: ${text}`);
  };
  const outcome = await run(times, progress).then(
    figures => ({ passed: true, figures }),
    error => ({ passed: false, figures: [`${error?.stack ?? error}`] }),
  );
  if (!outcome.passed) failed++;
  const seconds = Math.round((Date.now() - started) / 1000);
  console.log(`${outcome.passed ? 'passed' : 'FAILED'} ${name} (${seconds} s)\n  ${outcome.figures.join('\n  ')}`);
  rows.push(`| ${fault} | ${outcome.passed ? outcome.figures.join('; ') : 'failed'} | ${seconds} s |`);
}
const table = `| Fault | Figures | Time |\n|---|---|---|\n${rows.join('\n')}\n`;
console.log(`\n${table}`);
if (values.write)
  writeFileSync(
    new URL('../docs/faults.md', import.meta.url),
    `# Faults provoked

By \`npm run faults -- --write\`, last on ${new Date().toISOString().slice(0, 10)}: Node ${process.versions.node}, SQLite ${process.versions.sqlite}, ${cpus().length} cores. The short form of each is in the test suite. Every trial fails where a promise is broken, so a row here is a promise kept; \`faults/\` says exactly what is done and what must hold.

${table}`,
  );
console.log(`${rows.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
