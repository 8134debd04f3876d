/** Says what is done now and how long all of it will take, on standard error. */

/** On what is no terminal, a line every so many milliseconds. */
const between = 5_000;

const inWords = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds / 5) * 5} s` : `${Math.ceil(seconds / 60)} min`;

export class Remaining {
  #begun: number | undefined;
  #whole = 0;
  #done = 0;
  #said = Number.NEGATIVE_INFINITY;

  /** So many more steps than were known. */
  expect(steps: number): void {
    this.#whole += steps;
  }

  /** The next step is this. */
  step(what: string): void {
    const now = performance.now();
    // What was prepared before the first step will not take that long again.
    this.#begun ??= now;
    const share = this.#done++ / this.#whole;
    if (!process.stderr.isTTY && now - this.#said < between) return;
    this.#said = now;
    const left = share > 0 ? `, about ${inWords((((now - this.#begun) / share) * (1 - share)) / 1000)} left` : '';
    const line = `${Math.floor(share * 100)} %${left}: ${what}`;
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[2K${line}` : `${line}\n`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[2K');
  }
}
