/** Questions, one or many: is this subject permitted to do this here? */

import { mayAskAbout } from '../../core/authority.ts';
import { Fault, found } from '../../core/fault.ts';
import { packedQuestion } from '../../store/one-question.ts';
import type { Named } from '../../store/questions.ts';
import { inOrganizationWithRevision } from '../../store/standing.ts';
import { plainAnswerTo } from '../../wire/errors.ts';
import { largestList } from '../../wire/limits.ts';
import type { Static } from '../../wire/schemas.ts';
import { ask } from '../operation.ts';
import type { Request } from '../request.ts';
import { decisionOn, resourcesIn } from './decision.ts';
import { endpoints } from './discovery.ts';
import {
  checkEvaluation,
  Decision,
  Decisions,
  Evaluation,
  Evaluations,
  isMove,
  type Question,
  questionOf,
  type semantics,
} from './shapes.ts';
import { type Asking, asked, knowledge, knowledgeOfOne, ofQuestions } from './subjects.ts';

/** A question that the caller may ask. */
const allowed = ({ caller }: Request, { stand }: Asking, body: Static<typeof Evaluation>): Question =>
  found(questionOf(body), ({ subject }) => mayAskAbout(stand, caller, subject));

const one = async (request: Request, asking: Asking, body: Static<typeof Evaluation>): Promise<Decision> => {
  const question = allowed(request, asking, body);
  return decisionOn(await knowledge(request, asking, [question.subject], resourcesIn(question)), asking, question);
};

const isNamed = (value: unknown): value is Named => {
  const { type, id } = (value ?? {}) as Partial<Record<keyof Named, unknown>>;
  return typeof type === 'string' && typeof id === 'string';
};

/** Of whom and what a body asks that may be none, where one text tells all that it takes. */
const plainIn = (body: unknown): { readonly subject: Named; readonly resource: Named } | undefined => {
  const { subject, action, resource } = (body ?? {}) as Partial<Record<'subject' | 'action' | 'resource', unknown>>;
  if (!isNamed(subject) || !isNamed(resource)) return undefined;
  const { name, properties } = (action ?? {}) as { name?: unknown; properties?: unknown };
  const mayHaveDestination = properties !== undefined && typeof name === 'string' && isMove(resource.type, name);
  return (subject.type === 'user' || subject.type === 'team') && !mayHaveDestination
    ? { subject, resource }
    : undefined;
};

const failed = (problem: Fault['problem']): Decision => {
  const { status, message } = plainAnswerTo(problem);
  return { decision: false, context: { error: { status, message } } };
};

type Item = { readonly question: Question } | { readonly failure: Decision };

/** The question of an item with what it takes from the whole, or why there is none: that is no failure of the others. */
const questionIn = (
  request: Request,
  asking: Asking,
  item: unknown,
  { subject, action, resource, context }: Static<typeof Evaluations>,
): Item => {
  try {
    const isObject = typeof item === 'object' && item !== null && !Array.isArray(item);
    if (!isObject) throw new Fault({ kind: 'bad request', detail: 'An evaluation must be an object' });
    const defaults = Object.entries({ subject, action, resource, context }).filter(([, value]) => value !== undefined);
    return { question: allowed(request, asking, checkEvaluation({ ...Object.fromEntries(defaults), ...item })) };
  } catch (error) {
    if (error instanceof Fault) return { failure: failed(error.problem) };
    throw error;
  }
};

/** The decision after which no more are wanted. */
const lastOf: Readonly<Record<(typeof semantics)[number], boolean | undefined>> = {
  execute_all: undefined,
  deny_on_first_deny: false,
  permit_on_first_permit: true,
};

const many = async (
  request: Request,
  asking: Asking,
  body: Static<typeof Evaluations>,
  evaluations: readonly unknown[],
): Promise<{ evaluations: Decision[] }> => {
  const items = evaluations.map(item => questionIn(request, asking, item, body));
  const questions = items.flatMap(item => ('question' in item ? [item.question] : []));
  const subjects = questions.map(({ subject }) => subject);
  const known = await knowledge(request, asking, subjects, questions.flatMap(resourcesIn));
  const last = lastOf[body.options?.evaluations_semantic ?? 'execute_all'];
  const decisions: Decision[] = [];
  for (const item of items) {
    const decision = 'question' in item ? decisionOn(known, asking, item.question) : item.failure;
    decisions.push(decision);
    if (decision.decision === last) break;
  }
  return { evaluations: decisions };
};

export const evaluations = [
  ask({
    ...ofQuestions,
    path: `/organizations/:organization${endpoints.access_evaluation_endpoint}`,
    summary: 'Decide whether a subject is permitted an action on a resource, and say why (AuthZEN)',
    body: Evaluation,
    answer: Decision,
    at: ({ params: { organization = '' }, body }) => {
      const plain = plainIn(body);
      return inOrganizationWithRevision(organization, plain && packedQuestion(plain.subject, plain.resource));
    },
    alone: ({ body }) => plainIn(body) !== undefined,
    run: async request => {
      const { asking, body } = await asked(request);
      if (!plainIn(body)) return one(request, asking, body);
      const question = allowed(request, asking, body);
      return decisionOn(knowledgeOfOne(asking, question.subject, question.resource), asking, question);
    },
  }),

  ask({
    ...ofQuestions,
    path: `/organizations/:organization${endpoints.access_evaluations_endpoint}`,
    summary: 'Decide several questions at once, in their order (AuthZEN)',
    body: Evaluations,
    largestBody: largestList,
    answer: Decisions,
    run: async request => {
      const { asking, body } = await asked(request);
      const { evaluations = [] } = body;
      return evaluations.length === 0
        ? one(request, asking, checkEvaluation(body))
        : many(request, asking, body, evaluations);
    },
  }),
];
