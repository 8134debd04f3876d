/** An HTTP client that believes nothing: every answer is held against the server's own OpenAPI document. */

import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { Document } from './document.ts';

export const mediaType = 'application/vnd.api+json';
export const plainMediaType = 'application/json';

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent
export type Json = any;

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Json;
};

export class Client {
  readonly #url: URL;
  readonly #agent: Agent;
  #document: Document | undefined;
  /** How many answers were held against the document, and which statuses were seen where. */
  checked = 0;
  readonly seen = new Set<string>();

  /** Over TLS, `ca` is the one certificate that is trusted. */
  constructor(url: string, ca?: string) {
    this.#url = new URL(url);
    const options = { keepAlive: true, maxSockets: 64 };
    this.#agent = this.#isSecured ? new TlsAgent({ ...options, ...(ca !== undefined && { ca }) }) : new Agent(options);
  }

  get #isSecured(): boolean {
    return this.#url.protocol === 'https:';
  }

  close(): void {
    this.#agent.destroy();
  }

  async learn(): Promise<void> {
    this.#document = Document.of((await this.send('GET', '/openapi.json')).text);
  }

  /** Any request at all, unchecked. */
  send(
    method: string,
    path: string,
    { headers = {}, payload }: { headers?: Record<string, string>; payload?: string | Buffer } = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#url;
      const send = this.#isSecured ? tlsRequest : request;
      const outgoing = send({ hostname, port, method, path, headers, agent: this.#agent }, incoming => {
        const chunks: Buffer[] = [];
        incoming.on('data', chunk => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const { statusCode: status = 0, headers } = incoming;
          const type = headers['content-type'] ?? '';
          const isJson = /json/.test(type) && text !== '';
          try {
            const body = isJson ? JSON.parse(text) : /^text\//.test(type) ? text : undefined;
            resolve({ status, headers, text, body });
          } catch (cause) {
            reject(new Error(`${method} ${path} answered ${status} with what is no JSON: ${text}`, { cause }));
          }
        });
      });
      outgoing.on('error', reject);
      outgoing.end(payload);
    });
  }

  /** A request as a well-behaved client makes it; the answer must be one that the document declares. */
  async call(
    token: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await this.send(method, path, {
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(payload !== undefined && { 'content-type': mediaType, 'content-length': `${Buffer.byteLength(payload)}` }),
        ...headers,
      },
      ...(payload !== undefined && { payload }),
    });
    this.conforms(method, path, answer);
    return answer;
  }

  conforms(method: string, url: string, { status, headers, body, text }: Answer): void {
    const path = url.split('?')[0] ?? '';
    const where = `${method} ${path} answered ${status}`;
    assert.ok(headers['x-request-id'], `${where} without a request id`);
    const known = this.#document?.knows(path);
    const operation = known?.methods[method.toLowerCase()];
    if (status >= 400 && isQuestion(path)) assert.equal(typeof body, 'string', `${where} without a sentence`);
    else if (status >= 400) assertErrors(status, headers, body, where);
    if (!operation) {
      assert.ok(status === 404 || status === 405, `${where} on a route that is not documented`);
      return;
    }
    const answer = operation.responses[status];
    assert.ok(answer, `${where}, which its operation does not declare`);
    if (status < 300)
      assert.equal(body?.meta?.effect !== undefined, isDryRun(method, url), `${where}: an effect, in a dry run alone`);
    this.checked++;
    this.seen.add(`${method} ${known?.path} ${status}`);
    const medias: (string | undefined)[] = answer.content ? Object.keys(answer.content) : [undefined];
    assert.ok(medias.includes(headers['content-type']), `${where} with another media type`);
    const content = answer.content?.[headers['content-type'] ?? ''];
    if (!content) {
      assert.equal(text, '', `${where} with a body`);
      return;
    }
    if (status < 300 && isDryRun(method, url))
      assert.equal(headers.etag, undefined, `${where} with an ETag of nothing`);
    else if (status < 300 && path.startsWith('/api/'))
      assert.match(headers.etag ?? '', answer.headers.ETag ? /^"[\w-]{22}"$/ : /^$/, `${where} without an ETag`);
    const name = `${method} ${known?.path} ${status} ${headers['content-type']}`;
    const isOurs = /^\/(api|organizations)\//.test(path);
    const validate = this.#document?.validator(name, isOurs, content.schema);
    assert.ok(validate?.(body), `${where}: ${JSON.stringify(validate?.errors)} in ${text}`);
  }
}

const isDryRun = (method: string, url: string): boolean => method !== 'GET' && /[?&]dry-run=true(&|$)/.test(url);

/** Below these paths, a failure is one sentence, whether or not there is such an operation. */
export const isQuestion = (path: string): boolean => /^\/organizations\/[^/]*\/access\/v1\//.test(path);

export const assertErrors = (status: number, headers: IncomingHttpHeaders, body: Json, where: string): void => {
  assert.equal(headers['content-type'], mediaType, `${where} with another media type`);
  assert.ok(Array.isArray(body?.errors) && body.errors.length > 0, `${where} without errors: ${JSON.stringify(body)}`);
  for (const error of body.errors) {
    assert.equal(error.status, `${status}`, `${where}: an error's status is the answer's, as a string`);
    assert.equal(typeof error.title, 'string', `${where}: an error has a title`);
  }
};
