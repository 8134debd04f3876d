/** Whether something gives the answers of the reference model. */

import type { World } from '../world/plan.ts';
import { type Question, questionsAbout } from '../world/questions.ts';
import { Reference } from './reference.ts';

export const enough = 10_000;

/** Other questions than those that are measured. */
const seed = 11;

/** Those of the questions that are answered otherwise. */
export const differences = async (
  world: World,
  answers: (questions: readonly Question[]) => readonly boolean[] | Promise<readonly boolean[]>,
  count = enough,
): Promise<readonly Question[]> => {
  const questions = questionsAbout(world, count, seed);
  const given = await answers(questions);
  const reference = new Reference(world);
  return questions.filter((question, index) => given[index] !== reference.answer(question));
};

/** Why an arm does not take part, or nothing. */
export const refusal = (different: readonly Question[], count = enough): string | undefined =>
  different.length === 0
    ? undefined
    : `gives another answer than the reference to ${different.length} of ${count} questions, first ${JSON.stringify(different[0])}`;
