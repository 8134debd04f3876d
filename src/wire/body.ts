/** From bytes to JSON: what is not clean text or not JSON goes no further. */

import { isUtf8 } from 'node:buffer';
import { Fault } from '../core/fault.ts';
import { mediaType } from './document.ts';

/** JSON:API allows the parameters `profile`, which may be ignored, and `ext`, of which we support none. */
const accepted = /^application\/vnd\.api\+json\s*(;\s*(profile\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]+)\s*)?)*$/i;

export const expectMediaType = (header: string | undefined): void => {
  if (header !== undefined && accepted.test(header.trim())) return;
  throw new Fault({
    kind: 'unsupported media type',
    detail: `A request with a body needs the header Content-Type: ${mediaType}, without parameters other than profile.`,
  });
};

const acceptedPlain = /^application\/json\s*(;|$)/i;

/** The same where plain JSON is spoken, whatever charset is named: JSON has but one. */
export const expectJson = (header: string | undefined): void => {
  if (header !== undefined && acceptedPlain.test(header.trim())) return;
  const detail = 'A request here needs a body of JSON and the header Content-Type: application/json.';
  throw new Fault({ kind: 'unsupported media type', detail });
};

export const decoded = (bytes: Buffer): string => {
  if (!isUtf8(bytes)) throw new Fault({ kind: 'bad request', detail: 'The body is not valid UTF-8.' });
  return bytes.toString('utf8');
};

/** NUL and lone surrogates arrive only as escapes, and no database agrees with another on them. */
const suspicious = /\\u(?:0000|d[89a-f])/i;

export const isCleanText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

const isClean = (value: unknown): boolean => {
  const queue = [value];
  while (queue.length > 0) {
    const next = queue.pop();
    if (typeof next === 'string' && !isCleanText(next)) return false;
    if (typeof next === 'object' && next !== null)
      for (const [key, inner] of Object.entries(next)) queue.push(key, inner);
  }
  return true;
};

type Parser = (text: string, done: (error: Error | null, body?: unknown) => void) => void;

/** `parse` is the framework's own, which refuses keys that would reach a prototype. */
export const parsed = (text: string, parse: Parser): unknown => {
  let outcome: { error: Error | null; body: unknown } = { error: new Error('nothing was parsed'), body: undefined };
  parse(text, (error, body) => {
    outcome = { error, body };
  });
  if (outcome.error) throw new Fault({ kind: 'bad request', detail: whyNotParsed(text) });
  if (suspicious.test(text) && !isClean(outcome.body))
    throw new Fault({
      kind: 'bad request',
      detail: 'The body has a string with a NUL or half a surrogate pair in it.',
    });
  return outcome.body;
};

const whyNotParsed = (text: string): string => {
  try {
    JSON.parse(text);
    return 'The body has a key that is not allowed: __proto__, or prototype within constructor.';
  } catch (error) {
    return `The body is not JSON: ${(error as Error).message}`;
  }
};
