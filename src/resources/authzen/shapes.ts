/** Questions and answers as the AuthZEN Authorization API 1.0 writes them. */

import { Fault } from '../../core/fault.ts';
import {
  anyKeys,
  count,
  exactly,
  flag,
  listOf,
  oneOf,
  open,
  optional,
  type Static,
  type TSchema,
  Type,
  text,
} from '../../wire/schemas.ts';
import { checker, wayTo } from '../../wire/validation.ts';

// Questions

const properties = optional(anyKeys);

const Entity = open({ type: text, id: text, properties });
/** Of what is searched for, an id is ignored, whatever it is. */
const Sought = open({ type: text, properties });
const Action = open({ name: text, properties });
const context = optional(anyKeys);

export const Evaluation = open({ subject: Entity, action: Action, resource: Entity, context });

export const mostEvaluations = 1_000;

export const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;

/** What an item lacks comes from here, whole: only then is it known whether anything is missing. */
const part = optional(anyKeys);

export const Evaluations = open({
  subject: part,
  action: part,
  resource: part,
  context,
  evaluations: optional(listOf(Type.Unsafe<unknown>({}), { maxItems: mostEvaluations })),
  options: optional(open({ evaluations_semantic: optional(oneOf(...semantics)) })),
});

/** More counts as this. */
export const largestSearchPage = 1_000;
export const defaultSearchPage = 100;

const page = optional(
  open({ token: optional(text), limit: optional(Type.Integer({ minimum: 1 })), properties: optional(anyKeys) }),
);

export const SubjectSearch = open({ subject: Sought, action: Action, resource: Entity, context, page });
export const ResourceSearch = open({ subject: Entity, action: Action, resource: Sought, context, page });
export const ActionSearch = open({ subject: Entity, resource: Entity, context, page });

export type PageAsked = Static<typeof SubjectSearch>['page'];

export const checkEvaluation = checker(Evaluation, wayTo);

/** One question, once it is well said. */
export type Question = {
  readonly subject: { readonly type: string; readonly id: string };
  readonly action: { readonly name: string; readonly destination?: string | undefined };
  readonly resource: { readonly type: string; readonly id: string };
};

/** The project that a workspace is to be moved to; of every other action, the properties mean nothing here. */
export const actionAsked = (
  { name, properties = {} }: Static<typeof Action>,
  { type }: { readonly type: string },
): Question['action'] => {
  if (!isMove(type, name) || !Object.hasOwn(properties, 'destination')) return { name };
  const { destination } = properties;
  if (typeof destination === 'string') return { name, destination };
  throw new Fault({ kind: 'bad request', detail: 'action.properties.destination must be a string: a project id' });
};

export const isMove = (type: string, name: string): boolean => type === 'project' && name === 'move-workspace';

export const questionOf = ({ subject, action, resource }: Static<typeof Evaluation>): Question => ({
  subject: { type: subject.type, id: subject.id },
  action: actionAsked(action, resource),
  resource: { type: resource.type, id: resource.id },
});

// Answers

const value = Type.Unsafe<string | boolean>({ type: ['string', 'boolean'] });
const at = optional(oneOf('destination'));

/** What is null elsewhere is left out here, as the specification wishes. */
const Reason = exactly({
  permission: text,
  scope: oneOf('organization', 'project', 'workspace'),
  'team-id': optional(text),
  'team-name': optional(text),
  'grant-id': optional(text),
  'organization-permission': optional(text),
  value,
  at,
});
export type ShownReason = Static<typeof Reason>;

const Missing = exactly({ permission: text, value, held: optional(value), at });
export type ShownMissing = Static<typeof Missing>;

const DecisionContext = exactly({
  revision: optional(count),
  reasons: optional(listOf(Reason)),
  missing: optional(Missing),
  reason: optional(text),
  note: optional(text),
  error: optional(exactly({ status: Type.Integer(), message: text })),
});

export const Decision = exactly({ decision: flag, context: optional(DecisionContext) });
export type Decision = Static<typeof Decision>;

export const Decisions = Type.Unsafe<Decision | { evaluations: Decision[] }>({
  anyOf: [exactly({ evaluations: listOf(Decision) }), Decision],
});

export const results = (each: TSchema) =>
  exactly({
    results: listOf(each),
    page: exactly({ next_token: text, count, total: count }),
    context: optional(exactly({ revision: count })),
  });

export const FoundEntity = exactly({ type: text, id: text });
export const FoundAction = exactly({ name: text });
