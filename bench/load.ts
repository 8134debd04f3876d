/** Measures a server while another process puts it under load. */

import type { HttpRequest, Served } from './arm.ts';
import { Child } from './children.ts';
import { arePinned, onLoadCore } from './cores.ts';
import { cpuOf, forgetPeak, peakOf } from './cpu.ts';
import type { FromGenerator, Latency, Load, Outcome, ToGenerator } from './generator.ts';
import { type Operation, once } from './operations.ts';

/** CPU in microseconds for each request. */
export type Measured = {
  /** Under load. */
  readonly seconds: number;
  readonly cpu: number;
  readonly database: number;
  readonly rate: number;
  readonly memory: number;
  readonly latency: Latency;
};

export const unknown: Latency = { p50: Number.NaN, p99: Number.NaN, p999: Number.NaN };

export type Manner = { readonly connections: number; readonly seconds: number; readonly rate?: number };

export class Generator {
  readonly #child: Child<ToGenerator, FromGenerator>;

  /** Started through another program where one is given. */
  constructor(through: readonly string[] = []) {
    this.#child = new Child('generator.ts', [...onLoadCore, ...through]);
  }

  /** An answer that is no success fails the run: what refuses is fast. */
  async measured(arm: Served, operation: Operation, manner: Manner): Promise<Measured | undefined> {
    const requests = await arm.requests(operation);
    return requests && this.sent(arm, requests, operation, manner);
  }

  /** So that what it runs is compiled before it is measured: what can be sent once only is soon at its end, and begun again. */
  async warmedUp(arm: Served, operation: Operation, manner: Manner): Promise<Measured | undefined> {
    let underLoad = 0;
    for (;;) {
      const measured = await this.measured(arm, operation, manner);
      underLoad += measured?.seconds ?? manner.seconds;
      if (underLoad >= 0.9 * manner.seconds) return measured;
    }
  }

  async sent(arm: Served, requests: readonly HttpRequest[], operation: Operation, manner: Manner): Promise<Measured> {
    const where = `${arm.name}, ${operation}`;
    if (requests.length === 0) throw new Error(`${where}: there is nothing to send`);
    const load: Load = { port: arm.port, requests, once: once.includes(operation), alone: arePinned, ...manner };
    await this.#told({ prepare: load }, where);
    forgetPeak(arm.server());
    const before = { server: cpuOf(arm.server()), database: cpuOf(arm.database()) };
    const { done } = (await this.#told('go', where)) as { readonly done: Outcome };
    const spent = cpuOf(arm.server()) - before.server;
    const besides = cpuOf(arm.database()) - before.database;
    if (done.refused > 0)
      throw new Error(
        `${where}: ${done.refused} of ${done.answered} were refused, such as ${done.refusals.join('\n')}`,
      );
    return {
      seconds: done.seconds,
      cpu: spent / done.answered,
      database: besides / done.answered,
      rate: done.answered / done.seconds,
      memory: peakOf(arm.server()),
      latency: done.latency,
    };
  }

  async #told(told: ToGenerator, where: string): Promise<FromGenerator> {
    const said = await this.#child.ask(told);
    if (typeof said === 'object' && 'failed' in said) throw new Error(`${where}: ${said.failed}`);
    return said;
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}
