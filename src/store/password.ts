/** Passwords as they are kept: salted and hashed, with what it takes to hash the next one alike. */

import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** 16 MiB and some ten milliseconds. */
const cost = { N: 2 ** 14, r: 8, p: 1 };

const hashed = (password: string, salt: Buffer, { N, r, p }: typeof cost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, 32, { N, r, p }, (error, hash) => (error ? reject(error) : resolve(hash)));
  });

export const keptPassword = async (password: string): Promise<string> => {
  const salt = randomBytes(16);
  const hash = await hashed(password, salt, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$');
};

export const isPassword = async (password: string, kept: string): Promise<boolean> => {
  const [, N, r, p, salt = '', hash = ''] = kept.split('$');
  const given = await hashed(password, Buffer.from(salt, 'base64url'), { N: Number(N), r: Number(r), p: Number(p) });
  return timingSafeEqual(given, Buffer.from(hash, 'base64url'));
};
