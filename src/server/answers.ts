/** Documents and errors as HTTP answers. */

import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault, type Problem } from '../core/fault.ts';
import type { Streamed } from '../resources/operation.ts';
import { Unavailable } from '../store/store.ts';
import { type Document, mediaType, Written, withoutIncluded } from '../wire/document.ts';
import {
  answerTo,
  type ErrorAnswer,
  faultOfOurs,
  inOneSentence,
  type PlainErrorAnswer,
  plainAnswerTo,
  unavailable,
} from '../wire/errors.ts';
import { etag } from '../wire/etag.ts';
import { largestBody } from '../wire/limits.ts';
import { ClientGone, Outflow } from './outflow.ts';

/** What every answer carries, whatever it is. */
export const everyAnswer = (requestId: string) => ({
  'x-request-id': requestId,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
});

/** The text as it is: without a serializer of its own, the framework adds a charset, which JSON:API forbids. */
export const sendText = (reply: FastifyReply, status: number, type: string, text: string): FastifyReply =>
  reply.code(status).header('content-type', type).serializer(asItIs).send(text);

const asItIs = (text: unknown): string => text as string;

export const plainMediaType = 'application/json';

type Sent = { readonly tagged?: object | undefined; readonly type?: string; readonly indented?: boolean };

export const sendDocument = (
  reply: FastifyReply,
  status: number,
  document: object,
  { tagged, type = mediaType, indented = false }: Sent = {},
): FastifyReply => {
  const written = document instanceof Written ? document : writtenOf(document, tagged, indented);
  return sendText(reply.header('etag', etag(written.tagged)), status, type, written.text);
};

/** A tag is of the resource, whatever else the document includes: it must hold in an If-Match. */
const writtenOf = (document: object, tagged: object | undefined, indented: boolean): Written => {
  const text = indented ? `${JSON.stringify(document, null, 2)}\n` : JSON.stringify(document);
  const resource = tagged ?? ('included' in document ? withoutIncluded(document as Document) : undefined);
  return new Written(text, resource && JSON.stringify(resource));
};

/** What fails on the way is cut, so that nobody takes a part for the whole. */
export const sendFlow = async (
  request: FastifyRequest,
  reply: FastifyReply,
  flow: Streamed['flow'],
  trailers: readonly string[],
): Promise<FastifyReply> => {
  const { raw } = reply.hijack();
  // What speaks HTTP/1.0, as many a proxy does, takes none.
  const following = trailers.length > 0 && raw.useChunkedEncodingByDefault ? { trailer: trailers.join(', ') } : {};
  raw.writeHead(reply.statusCode, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...following });
  try {
    const out = new Outflow(raw);
    const values = await flow(out);
    await out.sent();
    raw.addTrailers(values);
    raw.end();
  } catch (error) {
    raw.destroy();
    if (!(error instanceof ClientGone))
      request.log.warn({ requestId: request.id, cause: (error as Error).message }, 'an answer was cut');
  }
  return reply;
};

const ascii = /^[\x20-\x7e]*$/;

/** Sent together with text, a header that is not ASCII would not be what it was: then the body goes as bytes. */
export const sendPlain = (reply: FastifyReply, status: number, value: unknown): FastifyReply => {
  const text = JSON.stringify(value);
  return ascii.test(`${reply.getHeader('x-request-id')}`)
    ? sendText(reply, status, plainMediaType, text)
    : reply.code(status).header('content-type', plainMediaType).send(Buffer.from(text));
};

const questions = /^\/organizations\/[^/?#]*\/access\/v1\//;

/** Whether a request is a question of plain JSON, which is answered in kind; also where it is none that is served. */
export const isAsked = ({ routeOptions, url }: FastifyRequest): boolean =>
  (routeOptions?.config as { asks?: boolean } | undefined)?.asks === true || questions.test(url);

const sendErrors = (reply: FastifyReply, { status, errors, headers = {} }: ErrorAnswer): FastifyReply =>
  sendText(reply.headers(headers), status, mediaType, JSON.stringify({ errors }));

const sendSentence = (reply: FastifyReply, { status, message, headers = {} }: PlainErrorAnswer): FastifyReply =>
  sendPlain(reply.headers(headers), status, message);

const sendFailure = (request: FastifyRequest, reply: FastifyReply, answer: ErrorAnswer): FastifyReply =>
  isAsked(request) ? sendSentence(reply, inOneSentence(answer)) : sendErrors(reply, answer);

/** What the framework itself refuses, by its error code. */
const frameworkProblems: Readonly<Record<string, (request: FastifyRequest) => Problem>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) => ({
    kind: 'body too large',
    most: routeOptions.bodyLimit ?? largestBody,
  }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => ({
    kind: 'unsupported media type',
    detail: 'The Content-Type header is malformed.',
  }),
};

const problemOf = (error: unknown, request: FastifyRequest): Problem | undefined => {
  if (error instanceof Fault) return error.problem;
  const { code = '', statusCode = 500, message } = error as { code?: string; statusCode?: number; message: string };
  const known = frameworkProblems[code];
  if (known) return known(request);
  return statusCode < 500 ? { kind: 'bad request', detail: message } : undefined;
};

export const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
  if (error instanceof Unavailable) {
    const { message: cause } = (error.cause ?? {}) as { message?: string };
    request.log.warn({ requestId: request.id, reason: error.reason, cause }, error.message);
    return void sendFailure(request, reply, unavailable(request.id, error.message));
  }
  const problem = problemOf(error, request);
  if (!problem) request.log.error({ err: error, requestId: request.id }, 'a request failed by a fault of ours');
  if (!problem) sendFailure(request, reply, faultOfOurs(request.id));
  else if (isAsked(request)) sendSentence(reply, plainAnswerTo(problem));
  else sendErrors(reply, answerTo(problem));
};
