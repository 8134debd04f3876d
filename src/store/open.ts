/** The engine that an address asks for. */

import type { PostgresOptions } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import type { Store } from './store.ts';

export const isPostgres = (url: string): boolean => /^postgres(ql)?:\/\//.test(url);

/** The driver is loaded only where it is used. */
export const openStore = async (
  url: string,
  options: PostgresOptions & { readonly readOnly?: boolean } = {},
): Promise<Store> =>
  isPostgres(url)
    ? (await import('./postgres.ts')).openPostgres(url, options)
    : openSqlite(url.replace(/^sqlite:/, ''), options);

/** An address as it may be shown: without a password. */
export const shownUrl = (url: string): string => {
  if (!isPostgres(url)) return url;
  const { username, host, pathname } = new URL(url);
  return `postgres://${username && `${username}@`}${host}${pathname}`;
};
