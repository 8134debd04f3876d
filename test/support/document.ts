/** A server's own OpenAPI document, and what it says of an answer. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Json } from './client.ts';

type Operation = {
  readonly responses: Readonly<
    Record<string, { readonly headers?: Json; readonly content?: Readonly<Record<string, Json>> }>
  >;
};

type Known = { readonly path: string; readonly matches: RegExp; readonly methods: Readonly<Record<string, Operation>> };

const lengthOf = (path: string): number => path.split('/').length;

export class Document {
  /** Servers of one version have one document: what was compiled for one of them is there for all. */
  static readonly #read = new Map<string, Document>();

  static of(text: string): Document {
    const document = Document.#read.get(text) ?? new Document(JSON.parse(text));
    Document.#read.set(text, document);
    return document;
  }

  // Code that is used a few times is not worth its optimization.
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false } });
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #known: ReadonlyMap<number, readonly Known[]>;

  private constructor({ components, paths }: Json) {
    this.#ajv.addSchema({ $id: 'doc', components: closed(components) });
    const known = Object.entries<Known['methods']>(paths).map(([path, methods]) => ({
      path,
      matches: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
      methods,
    }));
    this.#known = Map.groupBy(known, ({ path }) => lengthOf(path));
  }

  knows(path: string): Known | undefined {
    return this.#known.get(lengthOf(path))?.find(({ matches }) => matches.test(path));
  }

  validator(name: string, isClosed: boolean, schema: Json): ValidateFunction {
    let validate = this.#validators.get(name);
    if (!validate) {
      const resolved = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc#/components'));
      validate = this.#ajv.compile(isClosed ? closed(resolved) : resolved);
      this.#validators.set(name, validate);
    }
    return validate;
  }
}

/** The document is open to attributes that come later; of those that are there now, the tests want each declared. */
const closed = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const whole = Object.fromEntries(Object.entries(schema).map(([key, inner]) => [key, closed(inner)]));
  return schema.type === 'object' && schema.properties ? { ...whole, additionalProperties: false } : whole;
};
