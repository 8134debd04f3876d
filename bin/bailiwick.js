#!/usr/bin/env node
// Runs the program on Node 24 or newer: this one if it is new enough, else the one that comes as a package.
import { spawn } from 'node:child_process';
import module, { createRequire } from 'node:module';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const oldest = 24;
// Questions to a running server need none of the server's code.
const asks = process.argv[2] === 'access';
const program = new URL(asks ? '../src/cli/main.ts' : '../src/server/main.ts', import.meta.url);
// Young objects get 16 MB of room and not 64, which they would fill before anything is freed.
const flags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=8'];

const majorOf = version => Number(/^v?(\d+)/.exec(version)?.[1] ?? 0);

/** Under npm the packaged Node comes first in the path; the system's is preferred where it is new enough. */
const systemNode = () => {
  const version = / node\/v(\d+)/.exec(process.env.npm_config_user_agent ?? '')?.[1];
  return Number(version) >= oldest ? process.env.npm_node_execpath : undefined;
};

const packagedNode = () => {
  const { platform, arch } = process;
  const require = createRequire(import.meta.url);
  for (const name of [
    `node-${platform}-${arch}`,
    `node-bin-${platform}-${arch}`,
    `node-${platform.slice(0, 3)}-${arch}`,
  ])
    try {
      const path = require.resolve(`${name}/package.json`);
      return path.replace(/package\.json$/, platform === 'win32' ? 'bin/node.exe' : 'bin/node');
    } catch {
      // Another name may be there.
    }
};

if (process.env.BAILIWICK_LAUNCHED || (majorOf(process.version) >= oldest && !systemNode())) {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`);
  });
  // Kept with the program itself: in a folder for all, somebody else could put code in its place.
  module.enableCompileCache(fileURLToPath(new URL('../.cache', import.meta.url)));
  const { main } = await import(program.href);
  await main(process.argv.slice(asks ? 3 : 2), process.env);
} else {
  const node = systemNode() ?? packagedNode();
  if (!node) {
    process.stderr.write(
      `bailiwick: needs Node ${oldest} or newer, and this is ${process.version}: install a newer Node, or run npm ci in its folder\n`,
    );
    process.exit(2);
  }
  const child = spawn(node, [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, BAILIWICK_LAUNCHED: '1' },
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}
