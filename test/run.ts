/**
 * The whole suite on SQLite, and again on PostgreSQL. `--engine sqlite|postgres|both` chooses; what else is given goes
 * to node's own test runner: names of test files, or options such as --test-name-pattern=….
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Databases } from './support/databases.ts';
import { type Postgres, startPostgres } from './support/postgres.ts';

const engines = ['sqlite', 'postgres'] as const;
type Engine = (typeof engines)[number];
type Given = {
  readonly chosen: readonly Engine[];
  readonly options: readonly string[];
  readonly files: readonly string[];
};

const fail = (reason: string): never => {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
};

const read = (args: readonly string[]): Given => {
  const rest = [...args];
  const place = rest.findIndex(arg => /^--engine(=|$)/.test(arg));
  const [flag = '', next] = place < 0 ? ['--engine=both'] : rest.splice(place, rest[place] === '--engine' ? 2 : 1);
  const wanted = flag.split('=')[1] ?? next;
  const chosen = engines.filter(engine => wanted === 'both' || wanted === engine);
  if (chosen.length === 0) fail(`--engine must be ${engines.join(', ')} or both`);
  return {
    chosen,
    options: rest.filter(arg => arg.startsWith('-')),
    files: rest.filter(arg => !arg.startsWith('-')),
  };
};

/** Never a run without it that looks like one with it. */
const postgresFor = async (): Promise<{ url: string; label: string; server?: Postgres }> => {
  const given = process.env.BAILIWICK_TEST_POSTGRES;
  try {
    if (!given) {
      const server = await startPostgres();
      return { url: server.url(), label: `PostgreSQL ${server.version} from ${server.origin}`, server };
    }
    const databases = new Databases(given);
    const label = `PostgreSQL ${await databases.version()} at ${new URL(given).host}`;
    await databases.close();
    return { url: given, label };
  } catch (error) {
    return fail(`No tests were run, since there is no PostgreSQL to run them on: ${(error as Error).message}`);
  }
};

const { chosen, options, files } = read(process.argv.slice(2));
const postgres = chosen.includes('postgres') ? await postgresFor() : undefined;
const labels = { sqlite: `SQLite ${process.versions.sqlite}`, postgres: postgres?.label ?? '' };

const folder = mkdtempSync(join(tmpdir(), 'bailiwick-suite-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const failuresOn = (engine: Engine): string => join(folder, `${engine}.txt`);

/** A reporter that is asked for takes the place of both. */
const reporters = (engine: Engine): string[] =>
  options.some(option => option.startsWith('--test-reporter'))
    ? []
    : [
        ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
        ...['--test-reporter=./test/support/failures.ts', `--test-reporter-destination=${failuresOn(engine)}`],
      ];

const run = async (engine: Engine): Promise<boolean> => {
  // Of three files on two cores, one mostly waits: for PostgreSQL, for a program that starts, for a clock.
  const how = ['--test', '--test-concurrency=3', ...reporters(engine), ...options];
  const tests = files.length > 0 ? files : ['test/**/*.test.ts'];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...how, ...tests], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdio: 'inherit',
    env: {
      ...process.env,
      // What one process compiles, the others need not.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      BAILIWICK_TEST_ENGINE: engine,
      ...(postgres && { BAILIWICK_TEST_POSTGRES: postgres.url }),
    },
  });
  const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', passOn).on('SIGTERM', passOn);
  const [code] = await once(child, 'close');
  process.off('SIGINT', passOn).off('SIGTERM', passOn);
  return code === 0;
};

const outcomes = [];
let allPassed = true;
for (const engine of chosen) {
  process.stdout.write(`\n━━ The suite on ${labels[engine]} ━━\n\n`);
  const begun = Date.now();
  const passed = await run(engine);
  allPassed &&= passed;
  outcomes.push(`${labels[engine]}: ${passed ? 'passed' : 'FAILED'} in ${Math.round((Date.now() - begun) / 1000)} s`);
}
await postgres?.server?.end();
// What failed at first is far above by now: once more, and the names last of all.
const names: string[] = [];
for (const engine of chosen) {
  const failures = existsSync(failuresOn(engine)) ? readFileSync(failuresOn(engine), 'utf8') : '';
  if (!failures) continue;
  process.stdout.write(`\n━━ What failed on ${labels[engine]} ━━\n\n${failures}`);
  names.push(
    ...failures
      .split('\n')
      .filter(line => line.startsWith('✖'))
      .map(line => `${line} on ${labels[engine]}`),
  );
}
process.stdout.write(`${names.join('\n')}\n━━ ${outcomes.join('; ')} ━━\n`);
process.exitCode = allPassed ? 0 : 1;
