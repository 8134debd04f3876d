/** Searches within text, whatever its case. */

import { type Sql, sql } from './sql.ts';

const escaped = (text: string): string => text.toLowerCase().replace(/[\\%_]/g, '\\$&');

const isLike = (column: Sql, pattern: string): Sql =>
  sql`lower(${column}) like lower(cast(${pattern} as ctext)) escape '\\'`;

export const contains = (column: Sql, text: string): Sql => isLike(column, `%${escaped(text)}%`);

/** Where a `*` stands for any text. */
export const matchesWildcards = (column: Sql, pattern: string): Sql =>
  isLike(column, pattern.split('*').map(escaped).join('%'));
