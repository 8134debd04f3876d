/** The peers of the benchmarks are measured against the reference model: it has to agree with what they are compared with. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coreOf } from '../bench/peers/core.ts';
import { Reference } from '../bench/peers/reference.ts';
import { sizes, World } from '../bench/world/plan.ts';
import { questionsAbout } from '../bench/world/questions.ts';

const [smallest] = sizes;
assert.ok(smallest);
const world = new World(smallest);
const questions = questionsAbout(world, 10_000, 11);

test('the reference of the benchmarks and the core give one answer to 10,000 questions', () => {
  const [reference, core] = [new Reference(world), coreOf(world)];
  assert.deepEqual(
    questions.filter(question => reference.answer(question) !== core(question)),
    [],
  );
});

test('the questions are about every action, and each is answered both ways somewhere', () => {
  const reference = new Reference(world);
  const seen = new Map<string, Set<boolean>>();
  for (const question of questions) {
    const name = `${question.type} ${question.action}`;
    seen.set(name, (seen.get(name) ?? new Set()).add(reference.answer(question)));
  }
  assert.equal(seen.size, 24);
  assert.deepEqual(
    [...seen].filter(([, answers]) => answers.size < 2).map(([name]) => name),
    [],
  );
});
