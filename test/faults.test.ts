/** The short form of every trial in faults/; `npm run faults` runs the long one. */

import { test } from 'node:test';
import { trials } from '../faults/index.ts';
import { onlyOn } from './support/engine.ts';

// Each trial brings the engines that it is about: once is enough.
onlyOn('sqlite', () => {
  for (const { name, fault, short, run } of trials)
    test(`${name}: ${fault}`, async t => {
      for (const figure of await run(short, () => {})) t.diagnostic(figure);
    });
});
