/** What trials share: real servers as processes, asked over connections that are kept, and all of it gone at the end. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, assertErrors, Client, mediaType } from '../../test/support/client.ts';
import { type Postgres, type PostgresOptions, startPostgres } from '../../test/support/postgres.ts';
import { childrenOf, signal } from '../../test/support/processes.ts';
import { chosenToken, type Environment, Running } from '../../test/support/program.ts';
import type { Told } from '../trial.ts';

export const organization = 'trial';

/** Far beyond what any answer may take: whoever waits so long waits for ever. */
export const hangs = 20_000;

/** An answer and how long it took, in milliseconds; without a status, the connection was closed. */
export type Reply = Partial<Answer> & { readonly status: number; readonly ms: number };

/** What is refused for a while is refused in one form, whatever the reason. */
const assertRefusal = (where: string, { status, headers, body }: Answer): void => {
  assert.equal(status, 503, `${where} answered ${status}: ${JSON.stringify(body)}`);
  assert.match(`${headers['retry-after']}`, /^\d+$/, `${where} answered 503 without Retry-After`);
  assertErrors(status, headers, body, where);
};

/** A connection that was refused, closed or lost; anything else, such as an answer that is none, fails the trial. */
const closed = (error: NodeJS.ErrnoException): undefined => {
  if (!['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(error.code ?? '')) throw error;
};

export class Server {
  readonly running: Running;
  readonly url: string;
  /** From the start of the process to the answer that it is ready, in milliseconds; and how long it had to wait for a processor. */
  readonly readyAfter: number;
  readonly heldUp: number;
  readonly #client: Client;

  constructor(running: Running, url: string, readyAfter: number) {
    this.running = running;
    this.url = url;
    this.readyAfter = readyAfter;
    this.heldUp = turns(this.pid).waited / 1e6;
    this.#client = new Client(url);
  }

  get pid(): number {
    return this.running.child.pid ?? 0;
  }

  /** As the site admin, unless the path is open to all. An answer of 500 or more is a 503 in due form, or the trial fails. */
  async ask(method: string, path: string, data?: unknown, id: string = randomUUID()): Promise<Reply> {
    const begun = performance.now();
    const payload = data === undefined ? undefined : JSON.stringify({ data });
    const headers = {
      'x-request-id': id,
      ...(path.startsWith('/api/') && { authorization: `Bearer ${chosenToken}` }),
      ...(payload && { 'content-type': mediaType, 'content-length': `${Buffer.byteLength(payload)}` }),
    };
    const where = `${method} ${path}`;
    const late = new AbortController();
    const answer = await Promise.race([
      this.#client.send(method, path, { headers, ...(payload && { payload }) }).catch(closed),
      pause(hangs, undefined, late).then(
        () => assert.fail(`${where} was not answered in ${hangs / 1000} s`),
        () => undefined,
      ),
    ]);
    late.abort();
    const ms = performance.now() - begun;
    if (!answer) return { status: 0, ms };
    if (answer.status >= 500 && path.startsWith('/api/')) assertRefusal(where, answer);
    return { ...answer, ms };
  }

  /** Something that is needed before the trial; its id. */
  async make(path: string, data: unknown): Promise<string> {
    const { status, text, body } = await this.ask('POST', `/api/v2${path}`, data);
    assert.ok(status > 0 && status < 300, `POST ${path} answered ${status}: ${text}`);
    return body.data.id;
  }

  async kill(): Promise<void> {
    this.#client.close();
    for (const child of childrenOf(this.pid)) signal(child, 'SIGKILL');
    await this.running.end();
  }

  /** As an init system does; it must exit with 0. */
  async stop(): Promise<void> {
    this.#client.close();
    await this.running.stop();
  }
}

/** A folder, and whatever a trial starts: used with `await using`, all of it is ended, the last first. */
export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'bailiwick-trial-'));
  readonly #ends: (() => unknown)[] = [];

  constructor() {
    this.afterAll(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
  }

  after(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Also where this process is made to end before the trial does. */
  afterAll(end: () => unknown): void {
    process.once('exit', end);
    this.after(() => {
      process.off('exit', end);
      return end();
    });
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** What it commits is on its disk. */
  async postgres(options: PostgresOptions = {}): Promise<Postgres> {
    const postgres = await startPostgres({ durable: true, ...options });
    this.after(() => postgres.end());
    return postgres;
  }

  run(args: readonly string[], { environment = {}, through }: How = {}): Running {
    const running = new Running(this.folder, args, environment, undefined, through);
    this.after(() => running.end());
    return running;
  }

  /** Ready for requests. */
  async serve(database: string, { args = [], ...how }: How = {}): Promise<Server> {
    const begun = performance.now();
    const fixed = ['--port', '0', '--database', database, '--admin-token', chosenToken, '--log-level', 'error'];
    const running = this.run([...fixed, ...args], how);
    const url = await running.url();
    const isReady = await until(async () => (await fetch(`${url}/readyz`)).status === 200, hangs);
    assert.ok(isReady !== undefined, 'it is never ready');
    const server = new Server(running, url, performance.now() - begun);
    this.after(() => server.kill());
    return server;
  }

  /** The same on a database without data, and an organization in it. */
  async serveFirst(database: string, how: How = {}): Promise<Server> {
    const server = await this.serve(database, how);
    const attributes = { name: organization, email: 'trial@example.com' };
    await server.make('/organizations', { type: 'organizations', attributes });
    return server;
  }
}

export type How = {
  readonly args?: readonly string[];
  readonly environment?: Environment;
  /** Another program, and its arguments, that starts the server. */
  readonly through?: readonly string[];
};

/** How long until it holds, in milliseconds; undefined if it takes longer than it may. */
export const until = async (
  isTrue: () => boolean | Promise<boolean>,
  most: number,
  between = 20,
): Promise<number | undefined> => {
  for (const begun = performance.now(); ; await pause(between)) {
    if (await isTrue()) return performance.now() - begun;
    if (performance.now() - begun > most) return undefined;
  }
};

/** The middle and the greatest, in words. */
export const spread = (milliseconds: readonly number[]): string => {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const shown = (value = 0) => `${Math.round(value)} ms`;
  return `median ${shown(sorted[sorted.length >> 1])}, longest ${shown(sorted.at(-1))}`;
};

export const judge = (late: Told, what: string, milliseconds: number, most: number): void => {
  if (milliseconds > most) late(`${what} took ${Math.round(milliseconds)} ms, not ${Math.round(most)} at most`);
};

/** In milliseconds. */
const littleWork = 100;

/**
 * The bars are of a machine that has nothing else to do. On one that has, processes wait for their turn, and whatever is
 * work, but not what is waiting for a time to pass, takes longer by a factor, which the figures tell.
 */
export class Patience {
  readonly #begun = turns();
  readonly #late: Told;

  constructor(late: Told) {
    this.#late = late;
  }

  get #factor(): number {
    const { worked, waited } = turns();
    const work = worked - this.#begun.worked;
    return work > 0 ? 1 + (waited - this.#begun.waited) / work : 1;
  }

  /** The limit is for what takes little work on a machine that has nothing else to do. */
  judge(what: string, milliseconds: number, limit: number): void {
    judge(this.#late, what, milliseconds, limit + (this.#factor - 1) * littleWork);
  }

  /** For the end of a line of figures. */
  get remark(): string {
    const factor = this.#factor;
    return factor < 1.2 ? '' : ` (on a machine so busy that everything takes ${factor.toFixed(1)} times as long)`;
  }
}

/** How long a process has worked and how long it has waited to, in nanoseconds, where the system tells. */
const turns = (pid: number | 'self' = 'self'): { readonly worked: number; readonly waited: number } => {
  try {
    const [worked = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { worked, waited };
  } catch {
    return { worked: 0, waited: 0 };
  }
};
