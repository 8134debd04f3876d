/** Pages of a search. A token is opaque, holds for the search that it came from, and cannot be made by anyone else. */

import { Fault } from '../../core/fault.ts';
import { isSameHash, keyedHash } from '../../store/token.ts';
import type { Listing, Page } from '../../wire/paging.ts';
import { placeOf } from '../../wire/paging.ts';
import { defaultSearchPage, largestSearchPage, type PageAsked } from './shapes.ts';

/** What makes a search the one that it is. */
export type Search = readonly (string | undefined)[];

/** No token of a caller has a space in it, so none has the hash of such a text. */
const sealOf = (key: string, search: Search, { number, size }: Page): string =>
  keyedHash(key, `page ${JSON.stringify([number, size, ...search.map(each => each ?? null)])}`);

const tokenOf = (key: string, search: Search, page: Page): string =>
  Buffer.from(`${page.number} ${page.size} ${sealOf(key, search, page)}`).toString('base64url');

const form = /^(\d{1,15}) (\d{1,4}) ([\w-]{43})$/;

const refused = (detail: string): Fault => new Fault({ kind: 'bad request', detail });

/** The first page, or that of which a token tells; an empty token is none. */
export const pageFor = (key: string, search: Search, { token = '', limit }: NonNullable<PageAsked> = {}): Page => {
  const size = limit === undefined ? undefined : Math.min(limit, largestSearchPage);
  if (token === '') return { number: 1, size: size ?? defaultSearchPage };
  const parts = form.exec(Buffer.from(token, 'base64url').toString('latin1'));
  const page = { number: Number(parts?.[1]), size: Number(parts?.[2]) };
  const isOurs = parts !== null && isSameHash(parts[3] ?? '', sealOf(key, search, page));
  if (!isOurs) throw refused('page.token is not of this search: begin again without it, or ask as before');
  if (size !== undefined && size !== page.size)
    throw refused(`page.limit must be ${page.size} as before, or absent, where a page.token is given`);
  return page;
};

export const pageShown = <T, R>(
  key: string,
  search: Search,
  page: Page,
  { items, total }: Listing<T>,
  shown: (item: T) => R,
) => {
  const { next } = placeOf(page, total);
  return {
    results: items.map(shown),
    page: {
      next_token: next === null ? '' : tokenOf(key, search, { ...page, number: next }),
      count: items.length,
      total,
    },
  };
};

/** A page of a list that is there as a whole. */
export const cut = <T>(all: readonly T[], { number, size }: Page): Listing<T> => ({
  items: all.slice((number - 1) * size, number * size),
  total: all.length,
});
