/** From bytes to JSON: what is not clean text or not JSON goes no further. */

import { isUtf8 } from 'node:buffer';
import { Fault } from '../core/fault.ts';
import { mediaType } from './document.ts';

/** JSON:API allows the parameters `profile`, which may be ignored, and `ext`, of which we support none. */
export const expectMediaType = (header: string | undefined): void => {
  const [type, ...parameters] = (header ?? '').split(';').map(part => part.trim().toLowerCase());
  if (type === mediaType && parameters.every(parameter => parameter === '' || parameter.startsWith('profile='))) return;
  throw new Fault({
    kind: 'unsupported media type',
    detail: `A request with a body needs the header Content-Type: ${mediaType}, without parameters.`,
  });
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

export const expectCleanText = (source: string, body: unknown): void => {
  if (suspicious.test(source) && !isClean(body))
    throw new Fault({
      kind: 'bad request',
      detail: 'The body has a string with a NUL or half a surrogate pair in it.',
    });
};
