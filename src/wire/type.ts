/** JSON Schemas that carry their TypeScript type: one text for both, so that the two cannot drift. */

declare const carried: unique symbol;
const optional = Symbol('optional');

/** A schema of values of type T, which is known to the compiler alone. */
export type TSchema<T = unknown> = { readonly [carried]: T };
export type TOptional<S extends TSchema> = S & { readonly [optional]: true };
export type TProperties = Readonly<Record<string, TSchema>>;
export type TObject<P extends TProperties = TProperties> = TSchema<Shown<ObjectOf<P>>> & { readonly properties: P };

export type Static<S extends TSchema> = S[typeof carried];

type OptionalKeys<P> = { [K in keyof P]: P[K] extends { readonly [optional]: true } ? K : never }[keyof P];
type ObjectOf<P extends TProperties> = { -readonly [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]> } & {
  -readonly [K in OptionalKeys<P>]?: Static<P[K]>;
};
/** The same, as one object in what the compiler shows. */
type Shown<T> = { [K in keyof T]: T[K] };

type Keywords = Readonly<Record<string, unknown>>;

const of = <T>(keywords: Keywords): TSchema<T> => keywords as unknown as TSchema<T>;

const isRequired = ([, schema]: readonly [string, TSchema]): boolean => !(optional in schema);

const object = <P extends TProperties>(properties: P, keywords: Keywords = {}): TObject<P> => {
  const required = Object.entries(properties)
    .filter(isRequired)
    .map(([name]) => name);
  return {
    type: 'object',
    ...(required.length > 0 && { required }),
    properties,
    ...keywords,
  } as unknown as TObject<P>;
};

export const Type = {
  String: (keywords: Keywords = {}) => of<string>({ type: 'string', ...keywords }),
  Boolean: () => of<boolean>({ type: 'boolean' }),
  Integer: (keywords: Keywords = {}) => of<number>({ type: 'integer', ...keywords }),
  Null: () => of<null>({ type: 'null' }),
  Literal: <const V extends string>(value: V) => of<V>({ type: 'string', const: value }),
  Array: <S extends TSchema>(items: S, keywords: Keywords = {}) =>
    of<Static<S>[]>({ type: 'array', items, ...keywords }),
  Object: object,
  /** Any schema at all, and the type that it is said to have. */
  Unsafe: <T>(keywords: object) => of<T>(keywords as Keywords),
  /** As a property, it may be missing. */
  Optional: <S extends TSchema>(schema: S): TOptional<S> => ({ ...schema, [optional]: true }),
};
