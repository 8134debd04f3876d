/** Ids: a prefix and 16 base58 characters, from a source of randomness that tests may replace. */

import { randomBytes } from 'node:crypto';

export type Random = (bytes: number) => Uint8Array;

const supply = 4096;
let bytes = randomBytes(supply);
let used = 0;

/** From a supply, since each time that the system is asked costs as much as a look-up. None is given twice. */
export const secureRandom: Random = count => {
  if (count > supply) return randomBytes(count);
  if (used + count > supply) [bytes, used] = [randomBytes(supply), 0];
  used += count;
  return bytes.subarray(used - count, used);
};

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

export type Prefix = 'tprj' | 'prj' | 'team' | 'org' | 'user' | 'ou' | 'at' | 'ws' | 'tws' | 'tb';

export const newId = (random: Random, prefix: Prefix): string => `${prefix}-${randomText(random, base58, 16)}`;

/** Version 4, which is random but for six bits. */
export const newUuid = (random: Random): string => {
  const bytes = Buffer.from(random(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};
