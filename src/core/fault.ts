/** The closed set of ways in which a request fails by the caller's doing. */

/** One thing wrong with a body, and where. */
export type Flaw = {
  readonly pointer: string;
  readonly detail: string;
  /** Where a client knows the flaw by its title. */
  readonly title?: string;
  readonly meta?: Readonly<Record<string, string>>;
};

export type Problem =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'not found'; readonly pointers?: readonly string[] }
  | { readonly kind: 'no such path' }
  | { readonly kind: 'method not allowed'; readonly allowed: readonly string[] }
  | { readonly kind: 'bad request'; readonly detail: string }
  | { readonly kind: 'bad parameter'; readonly parameter: string; readonly detail: string }
  | { readonly kind: 'invalid'; readonly flaws: readonly Flaw[] }
  | { readonly kind: 'refused'; readonly detail: string }
  | { readonly kind: 'forbidden'; readonly detail: string }
  | { readonly kind: 'conflict'; readonly detail: string }
  | { readonly kind: 'not acceptable'; readonly forms: readonly string[] }
  | { readonly kind: 'changed meanwhile' }
  | { readonly kind: 'unsupported media type'; readonly detail: string }
  | { readonly kind: 'body too large'; readonly most: number }
  | { readonly kind: 'headers too large' }
  | { readonly kind: 'too slow' };

export class Fault extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.kind);
    this.problem = problem;
  }
}

/** Absent, hidden and forbidden are one word. */
export const found = <T>(value: T | undefined, allowed: (value: T) => boolean = () => true, pointer?: string): T => {
  if (value === undefined || !allowed(value)) throw notFound(...(pointer ? [pointer] : []));
  return value;
};

/** Where a body names what is not found, each place in it. */
export const notFound = (...pointers: string[]): Fault => new Fault({ kind: 'not found', pointers });

export const invalid = (...flaws: Flaw[]): Fault => new Fault({ kind: 'invalid', flaws });

export const nameTaken = (): Fault =>
  invalid({ pointer: '/data/attributes/name', detail: 'Name has already been taken' });

/** What is well said and permitted, but must not be done. */
export const refused = (detail: string): Fault => new Fault({ kind: 'refused', detail });
