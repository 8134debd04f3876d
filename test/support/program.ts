/** The program as a user starts it, in a folder of its own. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client as PostgresClient } from 'pg';
import packageJson from '../../package.json' with { type: 'json' };
import { Client } from './client.ts';
import { type Database, newDatabase } from './engine.ts';
import { Actor } from './world.ts';

const program = fileURLToPath(new URL('../../bin/bailiwick.js', import.meta.url));
/** Those that `npm start` gives to Node. */
const flags = packageJson.scripts.start.split(' ').filter(word => word.startsWith('--'));
export const chosenToken = 'a-token-that-somebody-chose';
export const ourToken = /[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67}/;

// No process outlives this one, however it ends.
const running = new Set<ChildProcess>();
const killAll = (): void => {
  for (const child of running) child.kill('SIGKILL');
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

export type Environment = Readonly<Record<string, string>>;

const shared = process.env.NODE_COMPILE_CACHE;
const compiled = shared || mkdtempSync(join(tmpdir(), 'bailiwick-compiled-'));
process.on('exit', () => {
  killAll();
  if (!shared) rmSync(compiled, { recursive: true, force: true });
});

/** The environment of the tests, without what would set the program; what one start compiles, the others need not. */
const plainEnvironment: Environment = {
  ...(Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(BAILIWICK_|OTEL_|npm_|NODE_TEST_|DATABASE_URL$)/.test(name)),
  ) as Environment),
  NODE_COMPILE_CACHE: compiled,
};

export class Running {
  readonly child: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  #out = '';
  #error = '';
  #client: Client | undefined;

  constructor(
    folder: string,
    args: readonly string[],
    environment: Environment,
    starting: readonly string[] = [...flags, program],
    /** Another program, and its arguments, that starts this one. */
    through: readonly string[] = [],
  ) {
    const [command, ...words] = [...through, process.execPath, ...starting, ...args] as [string, ...string[]];
    this.child = spawn(command, words, {
      cwd: folder,
      env: { ...plainEnvironment, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this.child);
    this.child.stdout?.setEncoding('utf8').on('data', text => {
      this.#out += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', text => {
      this.#error += text;
    });
    this.exited = once(this.child, 'close').then(([code, signal]) => {
      running.delete(this.child);
      return { code, signal };
    });
  }

  /** Everything printed so far; whole once the process has exited. */
  get out(): string {
    return this.#out;
  }

  get error(): string {
    return this.#error;
  }

  /** The first match in what is printed, as soon as it is there. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#awaited(pattern, this.child.stdout, () => this.#out);
  }

  /** The same in the log. */
  logged(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#awaited(pattern, this.child.stderr, () => this.#error);
  }

  async #awaited(pattern: RegExp, stream: Readable | null, text: () => string): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(text());
      if (match) return match;
      const more = stream ? once(stream, 'data') : Promise.reject(new Error('no output'));
      const end = this.exited.then(({ code }) => {
        if (!pattern.test(text())) throw new Error(`exited with ${code} before there was ${pattern}: ${this.#error}`);
      });
      await Promise.race([more, end]);
    }
  }

  async url(): Promise<string> {
    return (await this.printed(/serves (http\S+) with/))[1] ?? '';
  }

  /** The certificate to trust, where the program says so. */
  async #anchor(): Promise<string | undefined> {
    if (!(await this.url()).startsWith('https:')) return undefined;
    const [, file = ''] = await this.printed(/^ {2}curl --cacert '([^']+)'/m);
    return readFileSync(file, 'utf8');
  }

  async client(ca?: string): Promise<Client> {
    if (!this.#client) {
      this.#client = new Client(await this.url(), ca ?? (await this.#anchor()));
      await this.#client.learn();
    }
    return this.#client;
  }

  async actor(token: string | undefined): Promise<Actor> {
    return new Actor(await this.client(), token);
  }

  /** As the user's Ctrl-C or an init system does; what was printed is whole after it. */
  async stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    this.#client?.close();
    this.child.kill(signal);
    const exit = await this.exited;
    assert.deepEqual(exit, signal === 'SIGKILL' ? { code: null, signal } : { code: 0, signal: null }, this.#error);
  }

  async end(): Promise<void> {
    this.#client?.close();
    if (!running.has(this.child)) return;
    this.child.kill('SIGKILL');
    await this.exited;
  }
}

/** A folder and a database of its own for a test, and the processes started there. */
export class Ground {
  readonly folder = mkdtempSync(join(tmpdir(), 'bailiwick-'));
  readonly #started: Running[] = [];
  readonly #database: Database;

  constructor(t: Pick<TestContext, 'after'>, database: Database) {
    this.#database = database;
    t.after(async () => {
      for (const started of this.#started) await started.end();
      database.drop();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** As given, with nothing added. */
  run(args: readonly string[], environment: Environment = {}): Running {
    return this.#run(args, environment);
  }

  /** A piece of a program, before the launcher has its turn with these arguments. */
  evaluate(code: string, args: readonly string[] = ['--version'], environment: Environment = {}): Running {
    const whole = `${code}; process.argv.splice(1, 0, 'x'); await import(${JSON.stringify(program)})`;
    return this.#run(args, environment, ['--input-type=module', '-e', whole, '--']);
  }

  /** Done to its database while no program has it open. */
  async script(text: string): Promise<void> {
    const { url } = this.#database;
    if (url === undefined) {
      mkdirSync(this.path('data'), { recursive: true });
      const file = new DatabaseSync(this.path('data/bailiwick.db'));
      file.exec(text);
      file.close();
    } else {
      const client = new PostgresClient({ connectionString: url });
      await client.connect();
      await client.query(text);
      await client.end();
    }
  }

  /** On the database of the ground, unless a flag or the environment names another. */
  #run(args: readonly string[], environment: Environment, starting?: readonly string[]): Running {
    const { url } = this.#database;
    const named = url === undefined ? {} : { DATABASE_URL: url };
    const started = new Running(this.folder, args, { ...named, ...environment }, starting);
    this.#started.push(started);
    return started;
  }

  start(args: readonly string[] = [], environment: Environment = {}): Running {
    return this.run(['--port', '0', ...args], environment);
  }
}

export const newGround = async (t: TestContext): Promise<Ground> => new Ground(t, await newDatabase());

// Against a test that hangs, not a measure of anything.
export const guard = { timeout: 60_000 };
export const brief = { timeout: 15_000 };
export const together = { concurrency: 3 };
