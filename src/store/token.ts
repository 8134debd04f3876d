/** How a token looks, and what is kept of it: a public part to find it by, and a keyed hash to know it by. */

import { hash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62, type Random, randomText } from './id.ts';

const form = /^([0-9A-Za-z]{14})\.atlasv1\.[0-9A-Za-z]{67}$/;
const checksumLength = 6;

const checksum = (text: string): string => {
  let rest = crc32(text);
  let sum = '';
  for (let place = 0; place < checksumLength; place++) {
    sum += base62[rest % base62.length];
    rest = Math.floor(rest / base62.length);
  }
  return sum;
};

/** What a token that somebody chose must be; its length is its protection. */
export const chosenToken = {
  pattern: '^[!-~]{20,256}$',
  rule: 'must have 20 to 256 visible ASCII characters without spaces',
} as const;

/** A token from all of its characters but the checksum. */
export const sealed = (body: string): string => body + checksum(body);

/** The slots of an organization's tokens that do one thing and nothing else: read the audit trail; ask who may do what. */
export const auditTrails = 'audit-trails';
export const decisions = 'decisions';

export const newToken = (random: Random): string =>
  sealed(`${randomText(random, base62, 14)}.atlasv1.${randomText(random, base62, 67 - checksumLength)}`);

export type Kept = { readonly lookup: string; readonly hash: string };

const padded = (key: string, pad: number): string =>
  String.fromCharCode(...Array.from({ length: 64 }, (_, place) => (key.charCodeAt(place) || 0) ^ pad));

/** What a key of ours is: ASCII, and no longer than a block of the hash. */
export const isKey = (key: string): boolean => /^[!-~]{1,64}$/.test(key);

const padsOf = (key: string) => {
  if (!isKey(key)) throw new TypeError('the key of the token hashes is none of ours');
  return { key, inner: padded(key, 0x36), outer: padded(key, 0x5c) };
};

let pads: ReturnType<typeof padsOf> | undefined;

/**
 * HMAC-SHA-256 by two whole hashes: one that is fed piece by piece costs as much again as the hashing. The inner pad of such
 * a key is ASCII, so pad and text are hashed as one string.
 */
export const keyedHash = (key: string, text: string): string => {
  if (pads?.key !== key) pads = padsOf(key);
  const inside = hash('sha256', pads.inner + text, 'latin1');
  return hash('sha256', Buffer.from(pads.outer + inside, 'latin1'), 'base64url');
};

/** False for a token of our form whose checksum is wrong: it was mistyped or made up. */
export const isWellMade = (token: string): boolean =>
  !form.test(token) || token === sealed(token.slice(0, -checksumLength));

/** The part of a token that is no secret; one that somebody chose has none. */
export const publicPartOf = (token: string): string | undefined => form.exec(token)?.[1];

/** What a token is found by; undefined for one that needs no query to be refused. */
export const lookupOf = (key: string, token: string): string | undefined => {
  const own = publicPartOf(token);
  // A token that an administrator chose has no public part; a second hash stands for it.
  if (own === undefined) return keyedHash(key, `lookup ${token}`);
  return token.endsWith(checksum(token.slice(0, -checksumLength))) ? own : undefined;
};

/**
 * What a token is known by. Versions that do not know the slot of decisions would take such a token for the organization's
 * own: its hash is another one, so that they know no such token.
 */
export const hashOf = (key: string, token: string, slot?: string | null): string =>
  keyedHash(key, slot === decisions ? `${decisions} ${token}` : token);

export const kept = (key: string, token: string, slot?: string | null): Kept | undefined => {
  const lookup = lookupOf(key, token);
  return lookup === undefined ? undefined : { lookup, hash: hashOf(key, token, slot) };
};

export const isSameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b));
