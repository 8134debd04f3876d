/** Entity tags: the hash of an answer's text, so that two answers have one tag exactly when they are the same. */

import { hash } from 'node:crypto';

export const etag = (text: string): string => `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;

/** Whether an `If-Match` header holds for the present tag. A weak tag never does. */
export const matches = (ifMatch: string, present: string): boolean =>
  ifMatch.trim() === '*' || ifMatch.split(',').some(tag => tag.trim() === present);
