/** A fault that is provoked many times over, and what must be true each time. */

export type Told = (text: string) => void;

export type Trial = {
  /** Its name on the command line. */
  readonly name: string;
  /** What is done, in a few words. */
  readonly fault: string;
  /** How often in the test suite, and how often by `npm run faults`. */
  readonly short: number;
  readonly long: number;
  /**
   * Fails where a promise was broken, or was not tried (`LeftOut`); otherwise gives the figures. `late` is told what took
   * longer than it may: that is for those to judge who know what else the machine does.
   */
  readonly run: (times: number, progress: Told, late: Told) => Promise<readonly string[]>;
};

/** What could not be tried on this machine, and why: neither kept nor broken. */
export class LeftOut extends Error {
  /** Of what was tried. */
  readonly figures: readonly string[];

  constructor(reason: string, figures: readonly string[] = []) {
    super(reason);
    this.figures = figures;
  }
}
