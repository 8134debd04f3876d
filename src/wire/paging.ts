/** Pages of a list: what a query asks for, and the links and totals of the answer. */

import { Fault } from '../core/fault.ts';
import type { Document, Resource } from './document.ts';
import { defaultPageSize, largestPageSize } from './limits.ts';

export type Page = { readonly number: number; readonly size: number };

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A query parameter's one value, if it has one. */
export const oneValue = (query: Query, name: string): string | undefined => {
  const value = query[name];
  // No text of ours holds a NUL, and not every database can be asked for one.
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : undefined;
};

/** The same, which must not have several. */
export const parameter = (query: Query, name: string): string | undefined => {
  if (query[name] === undefined || typeof query[name] === 'string') return oneValue(query, name);
  throw new Fault({ kind: 'bad parameter', parameter: name, detail: `${name} is given more than once` });
};

const wholeNumber = (query: Query, name: string, otherwise: number, most: number): number => {
  const text = parameter(query, name);
  if (text === undefined) return otherwise;
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= most) return number;
  throw new Fault({ kind: 'bad parameter', parameter: name, detail: `${name} must be a whole number, 1 or more` });
};

/** How many a page has at most, where its size is not said, and where the query has no word of pages. */
export type PageSizes = { readonly largest: number; readonly byDefault: number; readonly unasked: number };

export const sizesOf = ({
  largest = largestPageSize,
  byDefault = defaultPageSize,
  unasked = byDefault,
}: Partial<PageSizes> = {}): PageSizes => ({ largest, byDefault, unasked });

export const pageAsked = (query: Query, sizes?: Partial<PageSizes>): Page => {
  const { largest, byDefault, unasked } = sizesOf(sizes);
  const otherwise = query['page[number]'] === undefined ? unasked : byDefault;
  return {
    number: wholeNumber(query, 'page[number]', 1, Number.MAX_SAFE_INTEGER),
    size: Math.min(wholeNumber(query, 'page[size]', otherwise, Number.POSITIVE_INFINITY), largest),
  };
};

export type Listing<T> = { readonly items: readonly T[]; readonly total: number };

/** What a list carries beside its page: whole resources that it names, and totals of its own. */
export type Extras = {
  readonly included?: readonly Resource[] | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
};

/** Where a page stands among the others. An empty list still has its first page. */
export const placeOf = ({ number, size }: Page, total: number) => {
  const pages = Math.max(1, Math.ceil(total / size));
  return { pages, previous: number > 1 ? Math.min(number - 1, pages) : null, next: number < pages ? number + 1 : null };
};

/** The rest of a page, beside its data: `address` is the list's full URL without a query; `filters` are the parameters that the links carry on. */
export const frameOf = (
  total: number,
  page: Page,
  address: string,
  filters: Readonly<Record<string, string | undefined>>,
  { included, meta }: Extras = {},
): Omit<Document, 'data'> => {
  const { number, size } = page;
  const { pages, previous, next } = placeOf(page, total);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.append(name, value);
  const kept = query.size > 0 ? `${query}&` : '';
  const link = (page: number | null): string | null =>
    page === null ? null : `${address}?${kept}page%5Bnumber%5D=${page}&page%5Bsize%5D=${size}`;
  return {
    ...(included && { included }),
    links: { self: link(number), first: link(1), prev: link(previous), next: link(next), last: link(pages) },
    meta: {
      pagination: {
        'current-page': number,
        'page-size': size,
        'prev-page': previous,
        'next-page': next,
        'total-pages': pages,
        'total-count': total,
      },
      ...meta,
    },
  };
};
