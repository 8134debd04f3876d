import type { Listing, Page } from '../wire/paging.ts';
import { type Sql, sql } from './sql.ts';
import type { Row, Tx } from './store.ts';

/** A column of what is listed, never null, and its direction. */
export type Order = readonly { readonly column: Sql; readonly descending?: boolean }[];

export const byCreation: Order = [{ column: sql`created_at` }, { column: sql`id` }];

const ordered = (order: Order, prefix: Sql): Sql =>
  order
    .map(({ column, descending }) => sql`${prefix}${column}${descending ? sql` desc` : sql``}`)
    .reduce((all, next) => sql`${all}, ${next}`);

const columns = (list: readonly Sql[]): Sql => list.reduce((all, next) => sql`${all}, ${next}`, sql``);

/** Not a value by itself: of one that is, SQLite makes the limit a part of its plan, and plans anew each time. */
const bound = (number: number): Sql => sql`cast(${number} as bigint)`;

const offsetOf = ({ number, size }: Page): number => Math.min((number - 1) * size, Number.MAX_SAFE_INTEGER);

/**
 * One page and the total, each row packed into one text without commas: an engine gives one text for less than many values.
 * `counted` selects as many rows as `visible`, which has the columns of the order and those that are packed.
 */
export const packedPageOf = async (
  tx: Tx,
  { visible, counted, packed }: { readonly visible: Sql; readonly counted: Sql; readonly packed: Sql },
  page: Page,
  order: Order = byCreation,
): Promise<Listing<string>> => {
  const [total = 0, rows = null] =
    (await tx.row<[total: number, rows: string | null]>(sql`
      select (select count(*) from (${counted}) as counted), (
        select string_agg(${packed}, ',' order by ${ordered(order, sql`page.`)})
        from (
          ${visible}
          order by ${ordered(order, sql``)}
          limit ${bound(page.size)} offset ${bound(offsetOf(page))}
        ) as page
      )`)) ?? [];
  return { items: rows?.split(',') ?? [], total };
};

/** What a page needs beside the rows. */
type Beside = {
  /** Found for the rows of `page` alone, perhaps by a join. */
  readonly columns?: readonly Sql[];
  readonly join?: Sql;
  readonly totals?: readonly Sql[];
  /** Tables of a `with`, before `visible`. */
  readonly given?: Sql;
  /** Has as many rows as `visible`, which then need not be found all. */
  readonly counted?: Sql;
};

/** One page and the total in one statement. `visible` selects every row that the caller may see, with the columns of the order. */
export const pageOf = async <R extends Row>(
  tx: Tx,
  visible: Sql,
  page: Page,
  order: Order = byCreation,
  beside: Beside = {},
): Promise<Listing<R> & { readonly totals: readonly number[] }> => {
  const { totals = [], given, counted } = beside;
  const rows = await tx.rows<[total: number, ...Row]>(sql`
    with ${given ? sql`${given}, ` : sql``}visible as (${visible})
    select (select count(*) from ${counted ? sql`(${counted}) as counted` : sql`visible`})${columns(totals)}, page.*${columns(beside.columns ?? [])}
    from (select 1 as one) as one
    left join (
      select *
      from visible
      order by ${ordered(order, sql``)}
      limit ${bound(page.size)} offset ${bound(offsetOf(page))}
    ) as page on true
    ${beside.join ?? sql``}
    order by ${ordered(order, sql`page.`)}`);
  const [total = 0, ...others] = (rows[0] ?? []).slice(0, 1 + totals.length) as number[];
  // An empty page comes as one row of nulls.
  const items = rows.map(row => row.slice(1 + totals.length) as Row as R).filter(row => row[0] !== null);
  return { items, total, totals: others };
};
