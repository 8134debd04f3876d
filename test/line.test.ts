/** The line in which changes wait for their turn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as moment } from 'node:timers/promises';
import { Line, type Outcome } from '../src/store/line.ts';
import { Unavailable } from '../src/store/store.ts';
import { onlyOn } from './support/engine.ts';

const long = 60_000;
// Against a test that hangs, not a measure of anything.
const guard = { timeout: 15_000 };

type Work = () => Promise<unknown>;

const outcomeOf = (work: Work): Promise<Outcome> =>
  work().then(
    value => ({ value }),
    error => ({ error }),
  );

/** A line whose turns are kept in `turns`, by how many had them; `atOnce` of them are served in each. */
const lineOf = (limits?: { most: number; patience: number }, atOnce = Number.POSITIVE_INFINITY) => {
  const turns: number[] = [];
  let within = 0;
  const line = new Line<Work>(async works => {
    assert.equal(++within, 1, 'two turns at once');
    const outcomes: Outcome[] = [];
    for (const work of works.slice(0, atOnce)) outcomes.push(await outcomeOf(work));
    turns.push(outcomes.length);
    within--;
    return outcomes;
  }, limits);
  return { line, turns };
};

/** Takes its turn, and keeps it until it is let go. */
const held = async (line: Line<Work>) => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const done = line.inTurn(() => {
    begun.resolve();
    return gate.promise;
  });
  await begun.promise;
  return { done, release: () => gate.resolve() };
};

const busy = (message: RegExp) => (error: unknown) =>
  error instanceof Unavailable && error.reason === 'busy' && message.test(error.message);

const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

// Of no engine: once is enough.
onlyOn('sqlite', () => {
  test('in the order in which they came, those that come together at one turn', guard, async () => {
    const { line, turns } = lineOf();
    const seen: number[] = [];
    await Promise.all(
      numbers(20).map(number =>
        line.inTurn(async () => {
          await moment();
          seen.push(number);
        }),
      ),
    );
    assert.deepEqual(seen, numbers(20));
    assert.deepEqual(turns, [20]);
  });

  test('what comes while others have their turn has the next one together', guard, async () => {
    const { line, turns } = lineOf();
    const first = await held(line);
    const seen: number[] = [];
    const others = numbers(5).map(number => line.inTurn(async () => void seen.push(number)));
    await moment();
    assert.deepEqual(seen, []);
    first.release();
    await Promise.all([first.done, ...others]);
    assert.deepEqual(turns, [1, 5]);
  });

  test('those that a turn has no time for come first in the next', guard, async () => {
    const { line, turns } = lineOf(undefined, 3);
    const seen: number[] = [];
    await Promise.all(numbers(8).map(number => line.inTurn(async () => void seen.push(number))));
    assert.deepEqual(seen, numbers(8));
    assert.deepEqual(turns, [3, 3, 2]);
  });

  test('a turn is not had by any number', guard, async () => {
    const { line, turns } = lineOf();
    await Promise.all(numbers(1000).map(() => line.inTurn(async () => {})));
    assert.ok(Math.max(...turns) < 100, `${turns}`);
  });

  test('nobody is answered before the turn is over, and where it fails it has failed for all', guard, async () => {
    const gate = Promise.withResolvers<readonly Outcome[]>();
    const line = new Line<number>(() => gate.promise);
    const answers: unknown[] = [];
    const all = numbers(3).map(number =>
      line.inTurn(number).then(
        value => answers.push(value),
        error => answers.push(error),
      ),
    );
    await moment();
    await moment();
    assert.deepEqual(answers, []);
    const error = new Error('not committed');
    gate.reject(error);
    await Promise.all(all);
    assert.deepEqual(answers, [error, error, error]);
  });

  test(
    'no more wait than may: the next one is refused at once, and those who wait have their turn',
    guard,
    async () => {
      const { line } = lineOf({ most: 2, patience: long });
      const first = await held(line);
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

  test('nobody waits longer than the patience lasts, and whoever left is not waited for', guard, async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { line } = lineOf({ most: 10, patience: 5 });
    const first = await held(line);
    const seen: number[] = [];
    const waiting = line.inTurn(async () => void seen.push(1));
    t.mock.timers.tick(4);
    assert.equal(line.length, 1);
    t.mock.timers.tick(1);
    await assert.rejects(waiting, busy(/waited too long/));
    assert.equal(line.length, 0);
    first.release();
    // It took longer than the patience lasts, but it did not wait.
    await first.done;
    await line.inTurn(async () => void seen.push(2));
    assert.deepEqual(seen, [2]);
  });

  test('nor does whoever was taken into a turn that did not come to it', guard, async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { line, turns } = lineOf({ most: 10, patience: 5 }, 1);
    const gate = Promise.withResolvers<void>();
    const seen: number[] = [];
    const first = line.inTurn(async () => gate.promise);
    const taken = [1, 2].map(number => line.inTurn(async () => void seen.push(number)));
    await moment();
    assert.equal(line.length, 0, 'all have the turn together');
    t.mock.timers.tick(4);
    const later = line.inTurn(async () => void seen.push(3));
    t.mock.timers.tick(1);
    gate.resolve();
    await first;
    for (const each of taken) await assert.rejects(each, busy(/waited too long/));
    await later;
    assert.deepEqual([seen, turns], [[3], [1, 1]]);
  });

  test(
    'all who wait are sent away with one word; whoever has the turn finishes, and the line goes on',
    guard,
    async () => {
      const { line } = lineOf({ most: 10, patience: long });
      const first = await held(line);
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
    const { line } = lineOf();
    const failing = line.inTurn(() => Promise.reject(new Error('failed')));
    const next = line.inTurn(async () => 'next');
    await assert.rejects(failing, /^Error: failed$/);
    assert.equal(await next, 'next');
  });
});
