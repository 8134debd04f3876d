/** This revision beside another: fails where an operation takes more CPU than it may. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tokenKey } from '../src/server/first-start.ts';
import { secureRandom } from '../src/store/id.ts';
import { openStore } from '../src/store/open.ts';
import { Running } from '../test/support/program.ts';
import type { Served } from './arm.ts';
import { bailiwick } from './arms/bailiwick.ts';
import { Generator } from './load.ts';
import type { Operation } from './operations.ts';
import type { Options } from './options.ts';
import { Remaining } from './progress.ts';
import { table } from './report.ts';
import { type Figure, figureOf, ratioOf } from './statistics.ts';
import { type Engine, engines, Worlds } from './worlds.ts';

/** So many times the CPU of the other revision. */
export const most = 1.15;

/** How often what looks too much is tried again. */
const again = 2;

const root = fileURLToPath(new URL('..', import.meta.url));

/** The files of a revision, gone when this process ends. */
const worktreeOf = (
  revision: string,
): { readonly folder: string; readonly commit: string; readonly end: () => void } => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const commit = git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`);
  const above = mkdtempSync(join(tmpdir(), 'bailiwick-against-'));
  const folder = join(above, 'revision');
  const end = (): void => {
    process.off('exit', end);
    spawnSync('git', ['worktree', 'remove', '--force', folder], { cwd: root });
    rmSync(above, { recursive: true, force: true });
    spawnSync('git', ['worktree', 'prune'], { cwd: root });
  };
  process.on('exit', end);
  git('worktree', 'add', '--detach', '--quiet', folder, commit);
  symlinkSync(realpathSync(join(root, 'node_modules')), join(folder, 'node_modules'));
  return { folder, commit, end };
};

const migrationsIn = (folder: string): number =>
  existsSync(join(folder, 'migrations')) ? readdirSync(join(folder, 'migrations')).length : 0;

/** The tables as another revision makes them; each server brings its copy to its own. */
const foundedBy =
  (program: string) =>
  async (url: string): Promise<string> => {
    const running = new Running(tmpdir(), ['--port', '0', '--database', url, '--log-level', 'error'], {}, [program]);
    await running.url();
    await running.stop();
    const store = await openStore(url, {});
    try {
      return await tokenKey(store, secureRandom);
    } finally {
      await store.close();
    }
  };

/** In seconds under load, for each operation. */
const toWarmUp = 2;

type Compared = { readonly engine: Engine; readonly operation: Operation };
const keyOf = ({ engine, operation }: Compared): string => `${engine}, ${operation}`;
type Verdict = Compared & { readonly before: Figure; readonly after: Figure; readonly ratio: Figure };

export const against = async (revision: string, options: Options): Promise<number> => {
  const { folder, commit, end } = worktreeOf(revision);
  const program = join(folder, 'bin', 'bailiwick.js');
  const isOlder = migrationsIn(folder) < migrationsIn(root);
  const worlds = new Worlds(isOlder ? foundedBy(program) : undefined);
  const generator = new Generator();
  const remaining = new Remaining();
  const size = options.sizes[0] as (typeof options.sizes)[number];
  const { rounds, seconds, connections } = options;

  const compared = async (wanted: readonly Compared[]): Promise<Verdict[]> => {
    const verdicts: Verdict[] = [];
    for (const engine of engines) {
      const operations = wanted.filter(each => each.engine === engine).map(({ operation }) => operation);
      if (operations.length === 0) continue;
      const world = worlds.of(size);
      const before = await bailiwick(worlds, world, engine, { name: `${revision}, ${engine}`, program });
      const after = await bailiwick(worlds, world, engine, { name: `this, ${engine}` });
      const taken = operations.map(operation => ({ operation, before: [] as number[], after: [] as number[] }));
      for (let round = 0; round <= rounds; round++)
        for (const each of taken) {
          remaining.step(`${engine}, ${each.operation}: round ${round} of ${rounds}`);
          const cost = async (arm: Served, into: number[]): Promise<void> => {
            const sample = await (round === 0
              ? generator.warmedUp(arm, each.operation, { connections, seconds: toWarmUp })
              : generator.measured(arm, each.operation, { connections, seconds }));
            if (sample && round > 0) into.push(sample.cpu + sample.database);
          };
          // Each goes first as often as the other.
          const turns = [() => cost(before, each.before), () => cost(after, each.after)];
          for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
        }
      for (const each of taken)
        verdicts.push({
          ...{ engine, operation: each.operation, before: figureOf(each.before), after: figureOf(each.after) },
          ratio: ratioOf(each.after, each.before),
        });
      await after.close();
      await before.close();
    }
    return verdicts;
  };

  const tooMuch = ({ ratio }: Verdict): boolean => ratio.median > most;
  try {
    const all = engines
      .filter(engine => options.takesPart(`Bailiwick, ${engine}`, 'ours'))
      .flatMap(engine => options.operations.map(operation => ({ engine, operation })));
    remaining.expect(all.length * (rounds + 1));
    const first = await compared(all);
    const tries = new Map(first.map(each => [keyOf(each), [each.ratio]]));
    // Two processes of the same code can differ, and so can two minutes: what looks too much is tried again with fresh ones.
    let suspected = first.filter(tooMuch);
    for (let left = again; left > 0 && suspected.length > 0; left--) {
      remaining.expect(suspected.length * (rounds + 1));
      const verdicts = await compared(suspected);
      for (const each of verdicts) tries.get(keyOf(each))?.push(each.ratio);
      suspected = verdicts.filter(tooMuch);
    }
    remaining.end();
    const number = (figure: Figure): string => `${figure.median.toFixed(1)}${figure.isWide ? ' ~' : ''}`;
    const rows = first.map(each => [
      ...[each.engine, each.operation, number(each.before), number(each.after)],
      (tries.get(keyOf(each)) ?? []).map(({ median }) => `${median.toFixed(2)} ×`).join(', then '),
      suspected.some(failed => keyOf(failed) === keyOf(each)) ? '**too much**' : '',
    ]);
    const head = ['', 'CPU µs, the database with it', `at ${commit.slice(0, 12)}`, 'here', 'ratio', ''];
    process.stdout.write(`${table(head, rows)}\n\n`);
    for (const { engine, operation, ratio } of suspected)
      process.stdout.write(
        `${operation} on ${engine} takes ${((ratio.median - 1) * 100).toFixed(0)} % more CPU than at ${revision}; ${((most - 1) * 100).toFixed(0)} % is the most\n`,
      );
    if (suspected.length === 0)
      process.stdout.write(
        `Nothing takes more than ${((most - 1) * 100).toFixed(0)} % more CPU than at ${revision}.\n`,
      );
    return suspected.length === 0 ? 0 : 1;
  } finally {
    await generator.end();
    await worlds.end();
    end();
  }
};
