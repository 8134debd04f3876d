/** Faults as JSON:API error documents. */

import type { Problem } from '../core/fault.ts';
import { inKiB, largestHead } from './limits.ts';

export type ErrorObject = {
  /** A string: a number makes the Go clients lose the message. */
  readonly status: string;
  readonly title: string;
  readonly detail?: string;
  readonly source?: { readonly pointer: string } | { readonly parameter: string };
  readonly meta?: Readonly<Record<string, string>>;
};

export type ErrorAnswer = {
  readonly status: number;
  readonly errors: readonly ErrorObject[];
  readonly headers?: Readonly<Record<string, string>>;
};

const single = (
  status: number,
  title: string,
  more: Omit<ErrorObject, 'status' | 'title'> = {},
  headers: Readonly<Record<string, string>> = {},
): ErrorAnswer => ({ status, errors: [{ status: `${status}`, title, ...more }], headers });

/** One and the same for what is absent, what is hidden and what is forbidden. */
const notFound = 'There is no such resource, or this token may not see it or do this to it.';

export const answerTo = (problem: Problem): ErrorAnswer => {
  switch (problem.kind) {
    case 'unauthorized':
      return single(
        401,
        'unauthorized',
        { detail: 'Send the header Authorization: Bearer TOKEN with a valid token.' },
        { 'www-authenticate': 'Bearer' },
      );
    case 'not found': {
      const { pointers = [] } = problem;
      const error = { status: '404', title: 'not found', detail: notFound };
      const errors = pointers.map(pointer => ({ ...error, source: { pointer } }));
      return { status: 404, errors: errors.length > 0 ? errors : [error] };
    }
    case 'no such path':
      return single(404, 'not found', { detail: 'There is no such path; /openapi.json lists those that there are.' });
    case 'method not allowed': {
      const allow = problem.allowed.join(', ');
      return single(405, 'method not allowed', { detail: `This path answers to ${allow}.` }, { allow });
    }
    case 'bad request':
      return single(400, 'bad request', { detail: problem.detail });
    case 'bad parameter':
      return single(400, 'bad request', { detail: problem.detail, source: { parameter: problem.parameter } });
    case 'invalid':
      return {
        status: 422,
        errors: problem.flaws.map(({ pointer, detail, title = 'invalid attribute', meta }) => ({
          status: '422',
          title,
          detail,
          source: { pointer },
          ...(meta && { meta }),
        })),
      };
    case 'refused':
      return single(422, 'unprocessable', { detail: problem.detail });
    case 'forbidden':
      return single(403, 'forbidden', { detail: problem.detail });
    case 'conflict':
      return single(409, 'conflict', { detail: problem.detail });
    case 'not acceptable':
      return single(406, 'not acceptable', { detail: `The Accept header takes none of ${problem.forms.join(', ')}.` });
    case 'changed meanwhile':
      return single(412, 'precondition failed', {
        detail: 'The resource is no longer as the If-Match header says: read it again.',
      });
    case 'unsupported media type':
      return single(415, 'unsupported media type', { detail: problem.detail });
    case 'body too large':
      return single(413, 'payload too large', { detail: `The body may have ${inKiB(problem.most)} at most.` });
    case 'too slow':
      return single(408, 'request timeout', { detail: 'The request did not arrive as a whole in time.' });
    case 'headers too large':
      return single(431, 'request header fields too large', {
        detail: `The address and the headers may have ${inKiB(largestHead)} at most.`,
      });
  }
};

/** To whom JSON:API is not spoken: a status, and one sentence. */
export type PlainErrorAnswer = Omit<ErrorAnswer, 'errors'> & { readonly message: string };

/** The same in one sentence; whatever is wrong with a body is 400. */
export const inOneSentence = ({ status, errors, headers = {} }: ErrorAnswer): PlainErrorAnswer => {
  const message = errors
    .map(({ detail, title, meta }) => [detail ?? title, ...Object.values(meta ?? {})].join(' '))
    .join('; ');
  return { status: status === 415 || status === 422 ? 400 : status, message, headers };
};

const notForYou = 'This token may not ask this: only about itself, and in an organization that it belongs to.';

/** To whoever asks, what is absent, hidden or forbidden is 403, in one and the same words. */
export const plainAnswerTo = (problem: Problem): PlainErrorAnswer =>
  inOneSentence(answerTo(problem.kind === 'not found' ? { kind: 'forbidden', detail: notForYou } : problem));

/** A fault of ours: the caller gets the id under which the log tells more. */
export const faultOfOurs = (requestId: string): ErrorAnswer =>
  single(500, 'internal server error', {
    detail: 'The fault is ours and nothing was changed. The log has more under this request id.',
    meta: { 'request-id': requestId },
  });

/** In seconds: how soon a client may try again. */
const patience = 1;

/** Nothing is wrong with the request: the same one may succeed later. */
export const unavailable = (requestId: string, detail: string): ErrorAnswer =>
  single(503, 'service unavailable', { detail, meta: { 'request-id': requestId } }, { 'retry-after': `${patience}` });
