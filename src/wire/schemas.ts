/** The schemas that families share: for requests, which ignore what they do not know, and for answers, which are exact. */

import { accesses } from '../core/access.ts';
import { timeForm } from './time.ts';
import { type Static, type TObject, type TOptional, type TProperties, type TSchema, Type } from './type.ts';

export type { Static, TOptional, TProperties, TSchema };

export { Type };

export const text = Type.String();
export const flag = Type.Boolean();
export const nothing = Type.Null();
export const count = Type.Integer({ minimum: 0 });
export const time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' });

export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: values });

export const orNull = <S extends TSchema>(schema: S) =>
  Type.Unsafe<Static<S> | null>({ ...schema, type: [(schema as { type?: string }).type, 'null'] });

/** An object with whatever keys. */
export const anyKeys = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' });

export const optional = Type.Optional;
export const eachOptional = <P extends TProperties>(properties: P) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])) as {
    [K in keyof P]: TOptional<P[K]>;
  };
export const listOf = Type.Array;

export const upTo = (maxLength: number) => Type.String({ maxLength });

/** Text of a length within limits, with the sentence that a client reads when it is too short. */
export const textOf = (minLength: number, maxLength: number, description: string) =>
  Type.String({ minLength, maxLength, description });

/** A whole number within limits, with the sentence that a client reads when it is none. */
export const between = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });

/** Text with a rule of its own, which is also what a client reads when it is broken. */
export const ruled = (pattern: string, description: string) => Type.String({ pattern, description });

/** A time in any of the forms that clients send. */
export const instant = (name: string) => ruled(timeForm, `${name} must be a time such as 2030-01-31T12:00:00Z`);

/** Something that looks like an e-mail address; the proof is a delivered message. */
export const emailAddress = ruled('^[^\\s@]{1,64}@[^\\s@]{1,255}$', 'Email must be an e-mail address');

export const access = oneOf(...accesses);

// Requests

export const open = <P extends TProperties>(properties: P) => Type.Object(properties);

export const literal = (value: string) => Type.Literal(value);

export const reference = (type: string) => Type.Object({ type: Type.Literal(type), id: Type.String() });

const referenceDocument = (type: string) => Type.Object({ data: reference(type) });

export const creation = <A extends TProperties>(type: string, attributes: A) =>
  Type.Object({ data: Type.Object({ type: Type.Literal(type), attributes: Type.Object(attributes) }) });

const linking = <A extends TProperties, R extends string>(
  type: string,
  attributes: A,
  relationships: Readonly<Record<R, string>>,
) => {
  const references = Object.entries<string>(relationships).map(([name, of]) => [name, referenceDocument(of)]);
  return {
    type: Type.Literal(type),
    attributes: Type.Object(attributes),
    relationships: Type.Object(Object.fromEntries(references) as Record<R, ReturnType<typeof referenceDocument>>),
  };
};

/** The creation of a resource that relates others, by the name and type of each. */
export const linkingCreation = <A extends TProperties, R extends string>(...given: Parameters<typeof linking<A, R>>) =>
  Type.Object({ data: Type.Object(linking(...given)) });

/** One of a list that is given whole: made if it is not there yet, which its id, if it has one, says that it is. */
export const linkingItem = <A extends TProperties, R extends string>(...given: Parameters<typeof linking<A, R>>) =>
  Type.Object({ id: Type.Optional(Type.String()), ...linking(...given) });

export const update = <A extends TProperties>(type: string, attributes: A) =>
  Type.Object({
    data: Type.Object({
      type: Type.Optional(Type.Literal(type)),
      id: Type.Optional(Type.String()),
      attributes: Type.Optional(Type.Object(attributes)),
    }),
  });

/** The body of a request that adds to or removes from a relationship. */
export const references = (type: string) => Type.Object({ data: Type.Array(reference(type), { minItems: 1 }) });

/** The same schema, for what is written by hand: there, a name that nobody knows is a slip of the pen. */
export const closed = <S extends TSchema>(schema: S): S => closedValue(schema) as S;

const closedValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closedValue);
  if (typeof value !== 'object' || value === null) return value;
  const whole = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closedValue(inner)]));
  const isObject = [whole.type].flat().includes('object') && whole.properties !== undefined;
  return isObject ? { ...whole, additionalProperties: false } : whole;
};

// Answers

export const exactly = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false });

const identified = (type: string) => exactly({ id: text, type: Type.Literal(type) });

const relatedLink = exactly({ related: text });

export const related = (type: string) => exactly({ data: identified(type), links: relatedLink });
/** To what may be hidden from the caller, or not there at all. */
export const relatedOrNone = (type: string) =>
  exactly({ data: Type.Unsafe({ anyOf: [identified(type), Type.Null()] }), links: optional(relatedLink) });
/** To what may not be there to be read yet. */
export const relatedPerhaps = (type: string) => exactly({ data: identified(type), links: optional(relatedLink) });
export const relatedMany = (type: string) => exactly({ data: Type.Array(identified(type)) });
export const relatedAny = (...types: string[]) => exactly({ data: exactly({ id: text, type: oneOf(...types) }) });

/** To one of several types, or to none. */
export const relatedAnyOrNone = (...types: string[]) =>
  exactly({ data: Type.Unsafe({ anyOf: [exactly({ id: text, type: oneOf(...types) }), Type.Null()] }) });
/** What clients look for and this server never has. */
export const nothingRelated = exactly({ data: Type.Null() });
/** Found at a path of its own. */
export const linked = exactly({ links: relatedLink });
/** The same, and named where the request asks for them to be included. */
export const linkedMany = (type: string) =>
  exactly({ data: Type.Optional(Type.Array(identified(type))), links: relatedLink });

const selfLink = exactly({ self: text });

export const resource = (
  type: string,
  attributes: TProperties,
  relationships: TProperties = {},
  links: TSchema | null = selfLink,
) =>
  exactly({
    id: text,
    type: Type.Literal(type),
    attributes: exactly(attributes),
    ...(Object.keys(relationships).length > 0 && { relationships: exactly(relationships) }),
    ...(links && { links }),
  });

const includedPerhaps = (included: readonly TSchema[]): TProperties =>
  included.length === 0 ? {} : { included: optional(Type.Array(Type.Unsafe({ anyOf: included }))) };

/** `included` are the schemas of what the document may include. */
export const oneDocument = (data: TSchema, ...included: TSchema[]) => exactly({ data, ...includedPerhaps(included) });

const link = orNull(text);
const pageNumber = orNull(count);

export const pagination = {
  'current-page': count,
  'page-size': count,
  'prev-page': pageNumber,
  'next-page': pageNumber,
  'total-pages': count,
  'total-count': count,
};

/** A list that always comes whole. */
export const wholeList = (data: TSchema, meta?: TProperties) =>
  exactly({ data: Type.Array(data), ...(meta && { meta: exactly(meta) }) });

export const pagedDocument = (
  data: TSchema,
  { included = [], meta = {} }: { included?: readonly TSchema[]; meta?: TProperties } = {},
) =>
  exactly({
    data: Type.Array(data),
    ...includedPerhaps(included),
    links: exactly({ self: link, first: link, prev: link, next: link, last: link }),
    meta: exactly({ pagination: exactly(pagination), ...meta }),
  });

export const errorDocument = exactly({
  errors: Type.Array(
    exactly({
      status: Type.String({ pattern: '^[45]\\d\\d$' }),
      title: text,
      detail: optional(text),
      source: optional(Type.Unsafe({ oneOf: [exactly({ pointer: text }), exactly({ parameter: text })] })),
      meta: optional(Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } })),
    }),
    { minItems: 1 },
  ),
});
