/** What a run of the suite tells once more at its end. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { onlyOn } from './support/engine.ts';
import failures from './support/failures.ts';

const failed = (name: string, error: object, more = {}) =>
  ({
    type: 'test:fail',
    data: { name, file: join(process.cwd(), 'test/x.test.ts'), line: 7, details: { error }, ...more },
  }) as unknown as TestEvent;

const told = async (...events: TestEvent[]): Promise<string> => {
  const source = (async function* () {
    yield* events;
  })();
  let text = '';
  for await (const piece of failures(source)) text += piece;
  return text;
};

// Of no engine: once is enough.
onlyOn('sqlite', () => {
  test('each failure with its place and its cause; not what passed, what is to do, or what only contains one', async () => {
    const passed = { type: 'test:pass', data: { name: 'good' } } as TestEvent;
    const text = await told(
      passed,
      failed('first', { cause: new Error('the cause') }),
      failed('a suite', { failureType: 'subtestsFailed', cause: '1 subtest failed' }),
      failed('later', { cause: new Error('not yet') }, { todo: true }),
      failed('last', { cause: 'test failed' }),
    );
    assert.match(text, /^✖ first \(test\/x\.test\.ts:7\)\nError: the cause\n {4}at /);
    assert.deepEqual(text.match(/^✖.*/gm), ['✖ first (test/x.test.ts:7)', '✖ last (test/x.test.ts:7)']);
  });

  test('a long one is cut', async () => {
    const text = await told(failed('long', { cause: new Error('line\n'.repeat(100)) }));
    assert.equal(text.split('line').length - 1, 40);
    assert.match(text, /\n…\n\n$/);
  });
});
