/** A bar on a terminal; elsewhere, a line for each quarter. */

const width = 30;

export class Progress {
  readonly #label: string;
  readonly #whole: number;
  readonly #begun = performance.now();
  #done = 0;
  #shown = -1;

  constructor(label: string, whole: number) {
    this.#label = label;
    this.#whole = whole;
  }

  add(some: number): void {
    this.#done += some;
    const percent = Math.floor((this.#done / this.#whole) * 100);
    const step = process.stderr.isTTY ? percent : Math.floor(percent / 25) * 25;
    if (step === this.#shown) return;
    this.#shown = step;
    const filled = Math.round((step / 100) * width);
    const bar = `${'█'.repeat(filled)}${'·'.repeat(width - filled)}`;
    const seconds = ((performance.now() - this.#begun) / 1000).toFixed(0);
    const line = `${this.#label} ${bar} ${step} % of ${this.#whole.toLocaleString('en')} rows, ${seconds} s`;
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[2K${line}` : `${line}\n`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\n');
  }
}
