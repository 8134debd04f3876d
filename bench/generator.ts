/**
 * The process that puts a server under load. It is told a load, gets ready and says so; told to go, it sends it, and says
 * what came of it.
 */

import type { HttpRequest } from './arm.ts';
import { bytesOf, Connection } from './connection.ts';
import { quantile } from './statistics.ts';

export type Load = {
  readonly port: number;
  readonly requests: readonly HttpRequest[];
  readonly connections: number;
  readonly seconds: number;
  /** So many a second, whether or not they are answered; otherwise each connection sends as soon as it is answered. */
  readonly rate?: number;
  /** Each request is sent once at most; otherwise they begin anew. */
  readonly once: boolean;
  /** It has a core of its own, and need not sleep between two requests. */
  readonly alone: boolean;
};

/** In milliseconds, from when a request should have been sent. */
export type Latency = { readonly p50: number; readonly p99: number; readonly p999: number };

export type Outcome = {
  readonly answered: number;
  readonly seconds: number;
  readonly latency: Latency;
  /** The first few answers that are no success. */
  readonly refused: number;
  readonly refusals: readonly string[];
};

export type ToGenerator = { readonly prepare: Load } | 'go';
export type FromGenerator = 'ready' | { readonly done: Outcome } | { readonly failed: string };

const say = (message: FromGenerator): void => void process.send?.(message);

/** Connections that are opened together, fewer than a server lets wait. */
const atOnce = 200;

class Run {
  readonly #load: Load;
  readonly #requests: readonly Buffer[];
  readonly #connections: Connection[];
  readonly #latencies: number[] = [];
  readonly #refusals: string[] = [];
  readonly #most: number;
  #begun = 0;
  #last = 0;
  #sent = 0;
  #refused = 0;
  #waiting = 0;

  private constructor(load: Load, connections: Connection[]) {
    this.#load = load;
    this.#requests = load.requests.map(request => bytesOf(load.port, request));
    this.#connections = connections;
    this.#most = load.once ? load.requests.length : Number.POSITIVE_INFINITY;
  }

  static async ready(load: Load, failed: (error: Error) => void): Promise<Run> {
    const connections: Connection[] = [];
    while (connections.length < load.connections) {
      const some = Math.min(atOnce, load.connections - connections.length);
      const opened = Array.from({ length: some }, () => Connection.open(load.port, failed));
      connections.push(...(await Promise.all(opened)));
    }
    return new Run(load, connections);
  }

  start(done: (outcome: Outcome) => void): void {
    this.#begun = performance.now();
    this.#last = this.#begun;
    if (this.#load.rate === undefined) this.#closed(done);
    else this.#open(this.#load.rate, done);
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #send(connection: Connection, since: number, then: (now: number) => void): void {
    const request = this.#requests[this.#sent++ % this.#requests.length] as Buffer;
    this.#waiting++;
    connection.send(request, (status, text) => {
      const now = performance.now();
      this.#waiting--;
      this.#last = now;
      this.#latencies.push(now - since);
      if (status < 200 || status > 299) {
        this.#refused++;
        if (this.#refusals.length < 3) this.#refusals.push(`${status} ${text.slice(0, 300)}`);
      }
      then(now);
    });
  }

  #closed(done: (outcome: Outcome) => void): void {
    const end = this.#begun + this.#load.seconds * 1000;
    const next = (connection: Connection, now: number): void => {
      if (now < end && this.#sent < this.#most) this.#send(connection, now, later => next(connection, later));
      else if (this.#waiting === 0) done(this.#outcome());
    };
    for (const connection of this.#connections) next(connection, this.#begun);
  }

  /** A request that finds no connection idle waits for one, and its time counts from when it should have been sent. */
  #open(rate: number, done: (outcome: Outcome) => void): void {
    const whole = Math.min(Math.max(1, Math.floor(rate * this.#load.seconds)), this.#most);
    const dueAt = (index: number): number => this.#begun + (index * 1000) / rate;
    // The one that was idle longest is the next.
    const idle = [...this.#connections];
    let next = 0;
    const dispatch = (now: number): void => {
      while (this.#sent < whole && dueAt(this.#sent) <= now) {
        const connection = idle[next];
        if (!connection) return;
        next++;
        this.#send(connection, dueAt(this.#sent), later => {
          idle.push(connection);
          dispatch(later);
        });
      }
    };
    const turn = (): void => {
      dispatch(performance.now());
      if (this.#sent === whole && this.#waiting === 0) done(this.#outcome());
      else if (this.#load.alone) setImmediate(turn);
      else setTimeout(turn, 1);
    };
    turn();
  }

  #outcome(): Outcome {
    const [p50, p99, p999] = [0.5, 0.99, 0.999].map(share => quantile(this.#latencies, share)) as [
      number,
      number,
      number,
    ];
    return {
      answered: this.#latencies.length,
      seconds: (this.#last - this.#begun) / 1000,
      latency: { p50, p99, p999 },
      refused: this.#refused,
      refusals: this.#refusals,
    };
  }
}

if (process.send) {
  let run: Run | undefined;
  const failed = (error: Error): void => {
    run?.close();
    say({ failed: error.message });
  };
  process.on('message', async (message: ToGenerator) => {
    if (message === 'go')
      run?.start(outcome => {
        run?.close();
        say({ done: outcome });
      });
    else
      try {
        run = await Run.ready(message.prepare, failed);
        say('ready');
      } catch {
        // Said already.
      }
  });
  process.on('disconnect', () => process.exit());
}
