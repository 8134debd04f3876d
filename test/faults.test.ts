/** The short form of every trial in faults/; `npm run faults` runs the long one, and judges how long things take too. */

import { test } from 'node:test';
import { trials } from '../faults/index.ts';
import { LeftOut } from '../faults/trial.ts';
import { onlyOn } from './support/engine.ts';

// Against a hang, not a measure of anything.
const patience = { timeout: 300_000 };

// Each trial brings the engines that it is about: once is enough.
onlyOn('sqlite', () => {
  for (const { name, fault, short, run } of trials)
    test(`${name}: ${fault}`, patience, async t => {
      const told = (text: string) => t.diagnostic(text);
      try {
        for (const figure of await run(short, () => {}, told)) told(figure);
      } catch (error) {
        if (!(error instanceof LeftOut)) throw error;
        for (const figure of error.figures) told(figure);
        t.skip(`left out: ${error.message}`);
      }
    });
});
