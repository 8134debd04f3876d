/** Bodies against schemas: every flaw with a pointer and a sentence. */

import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { type Flaw, invalid } from '../core/fault.ts';
import type { Static, TSchema } from './schemas.ts';

let ajv: Ajv2020 | undefined;

/** Loaded and compiled at the first use: a start need not pay for every body there is. */
const compiled = (schema: TSchema): ValidateFunction => {
  const require = createRequire(import.meta.url);
  const { Ajv2020 }: typeof import('ajv/dist/2020.js') = require('ajv/dist/2020.js');
  // The schemas are our own: to check them against the schema of schemas would take longer than to compile them.
  ajv ??= new Ajv2020({ allErrors: true, verbose: true, strict: false, validateFormats: false, validateSchema: false });
  return ajv.compile(schema);
};

/** `known` are flaws that were found already, to be told together with those of the schema. */
export type Check<T> = (body: unknown, known?: readonly Flaw[]) => T;

/** More than anybody reads, and less than a large body could be made to have. */
export const mostFlaws = 100;

/** How a sentence calls what a pointer leads to. */
type Naming = (pointer: string) => string;

export const checker = <S extends TSchema>(schema: S, naming: Naming = nameIn): Check<Static<S>> => {
  let validate: ValidateFunction | undefined;
  return (body, known = []) => {
    validate ??= compiled(schema);
    if (validate(body) && known.length === 0) return body as Static<S>;
    const flaws = new Map<string, Flaw>();
    for (const flaw of [...known, ...(validate.errors ?? []).map(error => flawOf(error, naming))])
      if (!flaws.has(flaw.pointer)) flaws.set(flaw.pointer, flaw);
    throw invalid(...[...flaws.values()].slice(0, mostFlaws));
  };
};

/** Whether a part of a body is sound, where that must be known before the whole is refused. */
export const accepts = <S extends TSchema>(schema: S): ((value: unknown) => value is Static<S>) => {
  let validate: ValidateFunction | undefined;
  return (value): value is Static<S> => {
    validate ??= compiled(schema);
    return validate(value) as boolean;
  };
};

const flawOf = (error: ErrorObject, naming: Naming): Flaw => {
  const { missingProperty, additionalProperty } = error.params;
  const key: string | undefined = missingProperty ?? additionalProperty;
  const pointer = key === undefined ? error.instancePath : `${error.instancePath}/${escaped(key)}`;
  return { pointer, detail: detailOf(error, naming(pointer)) };
};

/** As a JSON pointer writes a key. */
const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

export const pathIn = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'));

/** By the whole way to it, where a sentence is all that a client gets. */
export const wayTo: Naming = pointer => pathIn(pointer).join('.') || 'The body';

const nameIn: Naming = pointer => {
  const [last = 'The body', above] = pathIn(pointer).reverse();
  return above !== undefined && /^\d+$/.test(last) ? `each of ${above}` : last;
};

const articled = (types: string | readonly string[]): string =>
  [types]
    .flat()
    .map(type => (type === 'null' ? 'null' : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`))
    .join(' or ');

const detailOf = ({ keyword, params, parentSchema, message }: ErrorObject, name: string): string => {
  const rule = (parentSchema as { description?: string } | undefined)?.description;
  switch (keyword) {
    case 'required':
      return `${name} is required`;
    case 'additionalProperties':
      return `${name} is not known here`;
    case 'type':
      return `${name} must be ${articled(params.type)}`;
    case 'enum':
      return `${name} must be one of ${params.allowedValues.join(', ')}`;
    case 'const':
      return `${name} must be ${params.allowedValue}`;
    case 'maxLength':
      return `${name} may have ${params.limit} characters at most`;
    case 'maxItems':
      return `${name} may have ${params.limit} at most`;
    case 'minItems':
      return `${name} must not be empty`;
    default:
      return rule ?? `${name} ${message}`;
  }
};
