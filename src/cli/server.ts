/** The server, over HTTP and nothing else. */

import { readFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { Failure } from './fault.ts';
import type { Options } from './options.ts';

const mediaType = 'application/vnd.api+json';
const defaultAddress = 'http://127.0.0.1:8080';

export type Value = string | boolean | null;
export type Identifier = { readonly id: string; readonly type: string };

export type Resource<A = Readonly<Record<string, unknown>>> = Identifier & {
  readonly attributes: A;
  readonly relationships?: Readonly<Record<string, { readonly data?: Identifier | null }>>;
};

export type Document<R = Resource> = {
  readonly data: R;
  readonly included?: readonly Resource[];
  readonly meta?: { readonly pagination?: { readonly 'next-page': number | null } };
};

type ErrorObject = {
  readonly detail?: string;
  readonly title?: string;
  readonly source?: { readonly pointer?: string };
};

/** An answer that is no success. */
export class Refused extends Failure {
  readonly status: number;
  readonly errors: readonly ErrorObject[];

  constructor(message: string, status: number, errors: readonly ErrorObject[]) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

type Asking = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly accept?: string;
};

const secondsOf = (text: string): number => {
  const seconds = /^\d{1,5}(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds > 0) return seconds;
  throw new Failure('--timeout must be a number of seconds above 0');
};

const addressOf = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '') return url;
  throw new Failure('the address must be an http or https URL such as https://bailiwick.example');
};

const certificateIn = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure(`--ca ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
};

/** One that no header could carry is a slip, such as a line break at its end. */
const tokenOf = (token: string | undefined): string => {
  if (token === undefined) throw new Failure('there is no token: put it into BAILIWICK_TOKEN');
  if (/^[!-~]+$/.test(token)) return token;
  throw new Failure('the token has characters in it that no token has');
};

export class Server {
  readonly #address: URL;
  readonly #token: string;
  readonly #agent: Agent;
  readonly #timeout: number;

  constructor(options: Options) {
    this.#address = addressOf(options.get('address') ?? defaultAddress);
    this.#token = tokenOf(options.get('token'));
    this.#timeout = secondsOf(options.get('timeout') ?? '30') * 1000;
    const ca = options.get('ca');
    this.#agent =
      this.#address.protocol === 'https:'
        ? new TlsAgent({ keepAlive: true, ...(ca !== undefined && { ca: certificateIn(ca) }) })
        : new Agent({ keepAlive: true });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** What fails is told with what was asked, and never with the token. */
  #failed(what: string, reason: string): Failure {
    return new Failure(`${what}: ${reason}`.replaceAll(this.#token, '[token]'));
  }

  /** The head of a successful answer; its body is there to be read. */
  open(
    method: string,
    path: string,
    { body, headers = {}, accept = mediaType }: Asking = {},
  ): Promise<IncomingMessage> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const url = new URL(`${this.#address.pathname.replace(/\/+$/, '')}${path}`, this.#address);
    const what = `${method} ${url.origin}${url.pathname}`;
    const send = url.protocol === 'https:' ? tlsRequest : request;
    return new Promise((resolve, reject) => {
      const outgoing = send(
        url,
        {
          method,
          agent: this.#agent,
          timeout: this.#timeout,
          headers: {
            authorization: `Bearer ${this.#token}`,
            accept,
            'user-agent': 'bailiwick',
            ...(payload !== undefined && { 'content-type': mediaType, 'content-length': Buffer.byteLength(payload) }),
            ...headers,
          },
        },
        incoming => {
          const { statusCode = 0 } = incoming;
          if (statusCode >= 200 && statusCode < 300) resolve(incoming);
          else this.#refusal(what, incoming).then(reject, reject);
        },
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${this.#timeout / 1000} seconds`)));
      outgoing.on('error', error => reject(this.#failed(what, reasonOf(error))));
      outgoing.end(payload);
    });
  }

  async #refusal(what: string, incoming: IncomingMessage): Promise<Failure> {
    const text = await this.#textOf(what, incoming);
    const { statusCode = 0, headers } = incoming;
    const errors = errorsIn(text);
    const details = errors.flatMap(({ detail, title }) => detail ?? title ?? []);
    const id = headers['x-request-id'] === undefined ? '' : ` (request id ${headers['x-request-id']})`;
    const reason = `answered ${statusCode}${details.length > 0 ? `: ${details.join(' ')}` : ''}${id}`;
    return new Refused(this.#failed(what, reason).message, statusCode, errors);
  }

  async #textOf(what: string, incoming: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
    } catch (error) {
      throw this.#failed(what, reasonOf(error as Error));
    }
    return Buffer.concat(chunks).toString();
  }

  /** A document, and its tag where it has one. */
  async ask<D>(
    method: string,
    path: string,
    asking?: Asking,
  ): Promise<{ readonly document: D; readonly tag?: string }> {
    const incoming = await this.open(method, path, asking);
    const what = `${method} ${path.split('?')[0]}`;
    const text = await this.#textOf(what, incoming);
    const { etag } = incoming.headers;
    try {
      return { document: JSON.parse(text), ...(etag !== undefined && { tag: etag }) };
    } catch {
      throw this.#failed(what, 'answered what is no JSON: is this the address of a Bailiwick server?');
    }
  }

  async get<D>(path: string): Promise<D> {
    return (await this.ask<D>('GET', path)).document;
  }

  /** A list page by page, until its end or until there is enough of it. */
  async *pages<R = Resource>(path: string, query: Query = {}): AsyncGenerator<Document<readonly R[]>> {
    for (let page: number | null = 1; page !== null; ) {
      const asked = queryOf({ ...query, 'page[number]': `${page}`, 'page[size]': '100' });
      const document: Document<readonly R[]> = await this.get(`${path}?${asked}`);
      yield document;
      page = document.meta?.pagination?.['next-page'] ?? null;
    }
  }

  async all<R = Resource>(path: string, query: Query = {}): Promise<R[]> {
    const items: R[] = [];
    for await (const { data } of this.pages<R>(path, query)) items.push(...data);
    return items;
  }
}

export type Query = Readonly<Record<string, string | undefined>>;

export const queryOf = (query: Query): string =>
  new URLSearchParams(
    Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString();

const errorsIn = (text: string): readonly ErrorObject[] => {
  try {
    const { errors } = JSON.parse(text) as { errors?: unknown };
    return Array.isArray(errors) ? errors : [];
  } catch {
    return [];
  }
};

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers at this address',
  ENOTFOUND: 'there is no such host',
  ECONNRESET: 'the connection was cut',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted; --ca FILE names one to trust',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted; --ca FILE names one to trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted; --ca FILE names one to trust',
  EPROTO: 'it does not speak TLS there',
};

export const reasonOf = (error: Error): string => reasons[(error as NodeJS.ErrnoException).code ?? ''] ?? error.message;
