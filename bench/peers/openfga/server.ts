/** OpenFGA, built from its module and started as its users start it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cacheOf, Fault, go, goVersion, keptIn } from '../../../conformance/go.ts';
import { run } from '../../../conformance/processes.ts';
import { pinned } from '../embedded.ts';

const here = import.meta.dirname;
const module = 'github.com/openfga/openfga';

export const openfgaVersion = (): string =>
  new RegExp(`${module} v(\\S+)`).exec(readFileSync(join(here, 'go.mod'), 'utf8'))?.[1] ?? 'unknown';

/** With the compiler's optimizations, unlike the clients of conformance. */
export const buildOpenfga = async (say: (text: string) => void): Promise<string> => {
  const version = await goVersion('bench/peers', here);
  return keptIn(cacheOf('bench'))(`openfga-${openfgaVersion()}-${version}`, say, target =>
    go(['build', '-C', here, '-trimpath', '-ldflags=-s -w', '-o', target, `${module}/cmd/openfga`]),
  );
};

export type Datastore = { readonly engine: 'sqlite' | 'postgres'; readonly uri: string };

const datastore = ({ engine, uri }: Datastore): string[] => ['--datastore-engine', engine, '--datastore-uri', uri];

export const migrateOpenfga = async (binary: string, store: Datastore): Promise<void> => {
  const { code, stdout, stderr } = await run(binary, ['migrate', ...datastore(store)]);
  if (code !== 0) throw new Fault(`openfga migrate failed: ${stderr.trim() || stdout.trim()}`);
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
};

/** Few at a time: with more, some are not answered within its three seconds when it has only one core. */
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

// None outlives this process.
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class OpenfgaServer {
  readonly port: number;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** What it answers; anything but 2xx is a fault. */
  ask<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    return new Promise((resolve, reject) => {
      const sent = request({ agent, method, path, host: '127.0.0.1', port: this.port }, answer => {
        let text = '';
        answer.setEncoding('utf8').on('data', piece => {
          text += piece;
        });
        answer.on('end', () => {
          const status = answer.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve(JSON.parse(text) as T);
          else reject(new Fault(`OpenFGA answers ${status} to ${path}: ${text.trim()}`));
        });
      });
      sent.on('error', reject);
      sent.setHeader('content-type', 'application/json');
      sent.end(body && JSON.stringify(body));
    });
  }

  async close(): Promise<void> {
    if (this.ended) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }
}

/** Its defaults, but for what is not asked of anyone: no playground, metrics, traces and log. */
const quiet = ['--playground-enabled=false', '--metrics-enabled=false', '--trace-enabled=false', '--log-level=none'];

/** The newer way of its Check, which it still calls experimental: the standard one costs up to three times as much here. */
const newer = ['--experimentals=weighted_graph_check'];

/** All of its caches, as long as it keeps things by default. */
const caching = ['--check-query-cache-enabled', '--check-iterator-cache-enabled', '--cache-controller-enabled'];

export const startOpenfga = async (
  binary: string,
  store: Datastore,
  { cached, core }: { readonly cached: boolean; readonly core: number | undefined },
): Promise<OpenfgaServer> => {
  const [port, grpc] = [await freePort(), await freePort()];
  const addresses = ['--http-addr', `127.0.0.1:${port}`, '--grpc-addr', `127.0.0.1:${grpc}`];
  const [command, ...words] = pinned(core, [
    ...[binary, 'run', ...datastore(store), ...addresses, ...quiet, ...newer],
    ...(cached ? caching : []),
  ]);
  // What the environment would set is not what is measured.
  const environment = Object.entries(process.env).filter(([name]) => !/^(OPENFGA_|OTEL_|GOMAXPROCS$)/.test(name));
  const child = spawn(command, words, { stdio: 'ignore', env: Object.fromEntries(environment) });
  child.on('error', () => {});
  running.add(child);
  child.once('exit', () => running.delete(child));
  const server = new OpenfgaServer(child, port);
  for (let tries = 0; ; tries++)
    try {
      await server.ask('GET', '/healthz');
      return server;
    } catch (error) {
      if (tries < 200 && !server.ended && child.pid !== undefined) await pause(50);
      else {
        await server.close();
        throw new Fault(`OpenFGA does not start: ${error instanceof Error ? error.message : error}`);
      }
    }
};
