/** Ids: a prefix and 16 base58 characters, from a source of randomness that tests may replace. */

import { randomBytes } from 'node:crypto';

export type Random = (bytes: number) => Uint8Array;

export const secureRandom: Random = randomBytes;

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
export const base62 = `${base58}0IOl`;

/** Characters of an alphabet, each equally likely: bytes beyond the last whole multiple are drawn again. */
export const randomText = (random: Random, alphabet: string, length: number): string => {
  const fair = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length)
    for (const byte of random(length - text.length)) if (byte < fair) text += alphabet[byte % alphabet.length];
  return text;
};

export type Prefix = 'tprj' | 'prj' | 'team' | 'org' | 'user' | 'ou' | 'at' | 'ae' | 'ws' | 'tws' | 'tb';

export const newId = (random: Random, prefix: Prefix): string => `${prefix}-${randomText(random, base58, 16)}`;
