/**
 * How long a start takes: from the command to the first answer of /api/v2/ping, with the data in memory.
 *
 *   node bench/start.ts [ROUNDS [NODE ...]]
 *
 * Every NODE has three arms: doing nothing, which is the floor; the server as at any start; and as at the first one
 * after an installation, when nothing is compiled yet. The arms take turns, so that what else the machine does falls on
 * all of them. CPU time counts the launcher and what it starts, where the system tells it (Linux). The process stops
 * what it has started.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

type Sample = { readonly wall: number; readonly cpu: number };

const [rounds = '15', ...given] = process.argv.slice(2);
const nodes = given.length > 0 ? given.map(node => (node.includes('/') ? resolve(node) : node)) : [process.execPath];
const program = fileURLToPath(new URL('../bin/bailiwick.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bailiwick-bench-'));
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(BAILIWICK_|npm_|NODE_|DATABASE_URL$)/.test(name)),
);

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const started = (node: string, args: readonly string[], more = {}): ChildProcess => {
  const child = spawn(node, args, {
    cwd: folder,
    env: { ...environment, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
};

/** Of a process and its children, ended or not, in milliseconds; ticks are of ten. */
const cpuOf = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
    return children.reduce((sum, child) => sum + cpuOf(Number(child)), own);
  } catch {
    return Number.NaN;
  }
};

const server = async (node: string, more = {}): Promise<Sample> => {
  const from = performance.now();
  const args = [program, '--port', '0', '--database', 'sqlite::memory:', '--log-level', 'silent'];
  const child = started(node, args, more);
  let out = '';
  let url: string | undefined;
  while (url === undefined) {
    const [text] = await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
    out += text;
    url = /serves (\S+) with/.exec(out)?.[1];
  }
  const { status } = await fetch(`${url}/api/v2/ping`);
  const sample = { wall: performance.now() - from, cpu: cpuOf(child.pid as number) };
  if (status !== 204) throw new Error(`ping answered ${status}`);
  child.kill('SIGTERM');
  await once(child, 'close');
  return sample;
};

const floor = async (node: string): Promise<Sample> => {
  const from = performance.now();
  // It says its own CPU time, since nobody can ask it once it has ended.
  const said = 'const { user, system } = process.cpuUsage(); console.log((user + system) / 1000)';
  const child = started(node, ['-e', said]);
  let cpu = '';
  child.stdout?.on('data', text => {
    cpu += text;
  });
  await once(child, 'close');
  return { wall: performance.now() - from, cpu: Number(cpu) };
};

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.round((values.length - 1) * share)] ?? Number.NaN;

const arms = nodes.flatMap(node => {
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  return [
    { name: `${version} -e 0`, run: () => floor(node), samples: [] as Sample[] },
    { name: `${version} bailiwick`, run: () => server(node), samples: [] as Sample[] },
    {
      name: `${version} bailiwick, first`,
      run: () => server(node, { NODE_COMPILE_CACHE: mkdtempSync(join(folder, 'compiled-')) }),
      samples: [] as Sample[],
    },
  ];
});

// The first turn warms the caches of the disk and of compiled code, and does not count.
for (let round = 0; round <= Number(rounds); round++)
  for (const { run, samples } of arms) {
    const sample = await run();
    if (round > 0) samples.push(sample);
  }

const column = (value: number | string): string =>
  `${typeof value === 'number' ? value.toFixed(0) : value}`.padStart(9);
process.stdout.write(
  `${'ms'.padEnd(28)}${['median', '10 %', '90 %', 'CPU', '× floor', 'CPU ×'].map(column).join('')}\n`,
);
for (const [index, { name, samples }] of arms.entries()) {
  const walls = samples.map(({ wall }) => wall);
  const cpu = at(
    samples.map(({ cpu }) => cpu),
    0.5,
  );
  const below = arms[index - (index % 3)]?.samples ?? [];
  const ratio =
    at(walls, 0.5) /
    at(
      below.map(({ wall }) => wall),
      0.5,
    );
  const cpuRatio =
    cpu /
    at(
      below.map(({ cpu }) => cpu),
      0.5,
    );
  const cells = [at(walls, 0.5), at(walls, 0.1), at(walls, 0.9), cpu, ratio.toFixed(1), cpuRatio.toFixed(1)];
  process.stdout.write(`${name.padEnd(28)}${cells.map(column).join('')}\n`);
}
