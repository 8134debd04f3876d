/** An operation is data: the router, the OpenAPI document and the census of routes read the same list. */

import type { Sql } from '../store/sql.ts';
import type { Document, Written } from '../wire/document.ts';
import type { PageSizes } from '../wire/paging.ts';
import type { Static, TSchema } from '../wire/schemas.ts';
import { type Check, checker, wayTo } from '../wire/validation.ts';
import type { Incoming, Request } from './request.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The date in the interface's list of changes that brought the operation. */
export type Since =
  | `${number}-${number}-${number}`
  | 'before the dated list'
  | 'after the dated list'
  | 'not of the interface';

/** What a write did, for the audit row that is stored in the same transaction. */
export type Change = {
  readonly organization: string | null;
  readonly id: string;
  readonly before: unknown;
  readonly after: unknown;
  /** The project and the team that it concerns, whose trails it is read in. */
  readonly project?: string | null | undefined;
  readonly team?: string | null | undefined;
};

export type Changed = {
  readonly answer: Document | undefined;
  /** What the ETag is of, where the answer shows something once only. */
  readonly tagged?: Document;
  readonly change: Change;
  /** What it did besides, for audit rows of their own: where another organization is to read of it, or a row tells of each part. */
  readonly besides?: readonly (Change & Pick<Write, 'audit'>)[];
};

/** What a filter means, and what it may be where that is one of a few words. */
export type Note = { readonly means?: string; readonly words?: readonly string[] };

type Common = {
  readonly path: string;
  /** Where it is asked, as far as the request says: the caller's standing there is known together with the caller. */
  readonly at?: (incoming: Incoming) => Sql | undefined;
  /** Whether it takes one statement at most beside that: then it needs no state that others share. */
  readonly alone?: boolean | ((incoming: Pick<Incoming, 'body'>) => boolean);
  readonly authentication: 'token';
  readonly since: Since;
  readonly summary: string;
  readonly family: string;
  /** The status of success and what its body holds; none for 204. */
  readonly success: 200 | 201 | 204;
  readonly answer?: TSchema;
  /** The statuses of failure that are this operation's own; those of every request go without saying. */
  readonly failures: readonly (400 | 403 | 404 | 406 | 409 | 412 | 422)[];
  /** Query parameters beside the page's: what a list is of, and what narrows it; `[i]` stands for any index. */
  readonly requiredFilters?: readonly string[];
  readonly filters?: readonly string[];
  /** What the document says of a filter. */
  readonly notes?: Readonly<Record<string, Note>>;
  /** What `include` may name, with hyphens. */
  readonly includes?: readonly string[];
  /** What `sort` may name; a `-` before it turns it round. */
  readonly sorts?: readonly string[];
  readonly paged?: boolean;
  /** In bytes, where a body may be larger than everywhere else. */
  readonly largestBody?: number;
  /** Where pages are of another size than everywhere else. */
  readonly pageSizes?: Partial<PageSizes>;
};

export type Read = Common & {
  readonly method: 'GET';
  readonly asks?: never;
  readonly audit?: never;
  readonly body?: never;
  readonly check?: never;
  /** Answers JSON of its own form, where the interface does not speak JSON:API; indented, where people read it. */
  readonly plain?: boolean | 'indented';
  readonly run: (request: Request) => Promise<object>;
};

export type Write = Common & {
  readonly method: Exclude<Method, 'GET'>;
  readonly asks?: never;
  readonly plain?: never;
  readonly audit: { readonly resource: string; readonly action: string };
  readonly body?: TSchema;
  readonly check?: Check<unknown>;
  readonly run: (request: Request) => Promise<Changed>;
};

/** What a stream is given: any number of reads, each of one state of the database. */
export type Streaming<P extends string = string> = {
  /** The caller is known anew each time: one whose token was revoked meanwhile reads no more. */
  readonly read: <T>(work: (request: Request<P>) => Promise<T>) => Promise<T>;
  /** The media type that the client takes. Ask for it only after authority is decided. */
  readonly form: () => string;
};

/** Where a stream goes. */
export type Out = {
  /** Whether there is room for more; if not, what was added must be sent first. */
  add(text: string): boolean;
  /** Waits for the client to take what was added. */
  sent(): Promise<void>;
};

/** What begins with success: whoever may not have it, or asks for it wrongly, is told before. */
export type Streamed = {
  readonly headers?: Readonly<Record<string, string>>;
  /** Where it fails, the connection is cut. Gives back what follows the body. */
  readonly flow: (out: Out) => Promise<Readonly<Record<string, string>>>;
  /** The names of what follows. */
  readonly trailers?: readonly string[];
};

/** An answer that is too long to be held: text that goes out as it is made, in one of several forms. */
export type Stream = Omit<Common, 'answer'> & {
  readonly method: 'GET';
  readonly asks?: never;
  readonly audit?: never;
  readonly body?: never;
  readonly check?: never;
  /** What the answer holds, by media type, the one for whoever has no preference first. */
  readonly forms: Readonly<Record<string, TSchema>>;
  /** Its own headers, and what each of them tells. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly run: (streaming: Streaming) => Promise<Streamed>;
};

/** A read whose question is a body. It speaks plain JSON, and what is wrong with a question is told in one sentence. */
export type Ask = Common & {
  readonly method: 'POST';
  readonly asks: true;
  readonly plain: true;
  readonly audit?: never;
  readonly body: TSchema;
  readonly check: Check<unknown>;
  readonly run: (request: Request) => Promise<object>;
};

export type Operation = Read | Write | Stream | Ask;

type Given<O, P extends string> = Omit<
  O,
  'path' | 'authentication' | 'run' | 'body' | 'check' | 'method' | 'paged' | 'plain'
> & {
  readonly path: P;
};

export const get = <const P extends string>(
  operation: Given<Read, P> & { readonly run: (request: Request<P>) => Promise<Document | Written> },
): Read => ({ ...operation, authentication: 'token', method: 'GET', run: operation.run as Read['run'] });

/** An answer in a form of its own. */
export const plainGet = <const P extends string>(
  operation: Given<Read, P> & Pick<Read, 'plain'> & { readonly run: (request: Request<P>) => Promise<object> },
): Read => ({ plain: true, ...operation, authentication: 'token', method: 'GET', run: operation.run as Read['run'] });

/** A list in a form of its own. */
export const plainList = <const P extends string>(operation: Parameters<typeof plainGet<P>>[0]): Read => ({
  ...plainGet(operation),
  paged: true,
});

/** A list that goes out as it is made. */
export const stream = <const P extends string>(
  operation: Given<Stream, P> & { readonly run: (streaming: Streaming<P>) => Promise<Streamed> },
): Stream => ({ ...operation, authentication: 'token', method: 'GET', run: operation.run as Stream['run'] });

/** A list: the same, with pages. */
export const list = <const P extends string>(operation: Parameters<typeof get<P>>[0]): Read => ({
  ...get(operation),
  paged: true,
});

/** A question with its answer. */
export const ask = <const P extends string, S extends TSchema>(
  operation: Omit<Given<Ask, P>, 'asks'> & {
    readonly body: S;
    readonly run: (request: Request<P, Static<S>>) => Promise<object>;
  },
): Ask => ({
  ...operation,
  authentication: 'token',
  method: 'POST',
  asks: true,
  plain: true,
  check: checker(operation.body, wayTo),
  run: operation.run as Ask['run'],
});

const writing =
  (method: Write['method']) =>
  <const P extends string, S extends TSchema>(
    operation: Given<Write, P> & {
      readonly body?: S;
      readonly run: (request: Request<P, Static<S>>) => Promise<Changed>;
    },
  ): Write => ({
    ...operation,
    authentication: 'token',
    method,
    ...(operation.body && { check: checker(operation.body) }),
    run: operation.run as Write['run'],
  });

export const post = writing('POST');
export const patch = writing('PATCH');
export const put = writing('PUT');
export const remove = writing('DELETE');
