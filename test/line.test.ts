/** The line in which changes wait for their turn on PostgreSQL. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as moment } from 'node:timers/promises';
import { Line } from '../src/store/line.ts';
import { Unavailable } from '../src/store/store.ts';
import { onlyOn } from './support/engine.ts';

const long = 60_000;
// Against a test that hangs, not a measure of anything.
const guard = { timeout: 15_000 };

/** Takes its turn, and keeps it until it is let go. */
const held = (line: Line) => {
  let release = (): void => {};
  const gate = new Promise<void>(resolve => {
    release = resolve;
  });
  return { done: line.inTurn(() => gate), release: () => release() };
};

const busy = (message: RegExp) => (error: unknown) =>
  error instanceof Unavailable && error.reason === 'busy' && message.test(error.message);

// Of no engine: once is enough.
onlyOn('sqlite', () => {
  test('one at a time, in the order in which they came', guard, async () => {
    const line = new Line(100, long);
    const seen: number[] = [];
    let within = 0;
    await Promise.all(
      Array.from({ length: 20 }, (_, number) =>
        line.inTurn(async () => {
          assert.equal(++within, 1, 'two at once');
          await moment();
          seen.push(number);
          within--;
        }),
      ),
    );
    assert.deepEqual(
      seen,
      Array.from({ length: 20 }, (_, number) => number),
    );
  });

  test(
    'no more wait than may: the next one is refused at once, and those who wait have their turn',
    guard,
    async () => {
      const line = new Line(2, long);
      const first = held(line);
      const seen: number[] = [];
      const waiting = [1, 2].map(number => line.inTurn(async () => void seen.push(number)));
      assert.equal(line.length, 2);
      await assert.rejects(
        line.inTurn(async () => void seen.push(3)),
        busy(/^Too many/),
      );
      first.release();
      await Promise.all([first.done, ...waiting]);
      assert.deepEqual(seen, [1, 2]);
      assert.equal(line.length, 0);
    },
  );

  test('nobody waits longer than the patience lasts, and whoever left is not waited for', guard, async () => {
    const line = new Line(10, 5);
    const first = held(line);
    const seen: number[] = [];
    await assert.rejects(
      line.inTurn(async () => void seen.push(1)),
      busy(/waited too long/),
    );
    assert.equal(line.length, 0);
    first.release();
    await first.done;
    await line.inTurn(async () => void seen.push(2));
    assert.deepEqual(seen, [2]);
  });

  test(
    'all who wait are sent away with one word; whoever has the turn finishes, and the line goes on',
    guard,
    async () => {
      const line = new Line(10, long);
      const first = held(line);
      const never = () => Promise.reject(new Error('it had its turn'));
      const waiting = [line.inTurn(never), line.inTurn(never)];
      const word = new Unavailable('gone', 'The database does not answer.');
      line.sendAway(word);
      for (const each of waiting) await assert.rejects(each, error => error === word);
      assert.equal(line.length, 0);
      first.release();
      await first.done;
      assert.equal(await line.inTurn(async () => 'next'), 'next');
    },
  );

  test('work that fails gives its turn to the next', guard, async () => {
    const line = new Line(10, long);
    const failing = line.inTurn(() => Promise.reject(new Error('failed')));
    const next = line.inTurn(async () => 'next');
    await assert.rejects(failing, /^Error: failed$/);
    assert.equal(await next, 'next');
  });
});
