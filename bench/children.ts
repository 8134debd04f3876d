/** Processes that are told what to do and answer; none outlives this one. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class Child<Told, Said> {
  readonly #child: ChildProcess;
  readonly #what: string;
  #heard: ((said: Said | Error) => void) | undefined;

  /** `script` beside this file, started through another program where one is given. */
  constructor(script: string, through: readonly string[] = [], args: readonly string[] = []) {
    this.#what = script;
    const flags = ['--disable-warning=ExperimentalWarning'];
    const file = fileURLToPath(new URL(script, import.meta.url));
    const [command, ...words] = [...through, process.execPath, ...flags, file, ...args] as [string, ...string[]];
    this.#child = spawn(command, words, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
      env: { ...process.env, NODE_ENV: 'production' },
    });
    running.add(this.#child);
    this.#child.on('message', said => this.#hear(said as Said));
    this.#child.once('exit', code => {
      running.delete(this.#child);
      this.#hear(new Error(`${this.#what} ended with ${code}`));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  #hear(said: Said | Error): void {
    const heard = this.#heard;
    this.#heard = undefined;
    heard?.(said);
  }

  /** What it says next. */
  ask(told: Told): Promise<Said> {
    return new Promise((resolve, reject) => {
      this.#heard = said => (said instanceof Error ? reject(said) : resolve(said));
      this.#child.send(told as object, error => {
        if (error) this.#hear(error);
      });
    });
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
