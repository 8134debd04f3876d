/** Searches in text, whatever its case. Case is that of ASCII letters, as in SQL on both engines. */

import { type Sql, sql } from './sql.ts';

const escaped = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

const isLike = (column: Sql, pattern: string): Sql =>
  sql`lower(${column}) like lower(cast(${pattern} as ctext)) escape '\\'`;

export const contains = (column: Sql, text: string): Sql => isLike(column, `%${escaped(text)}%`);

/** Where a `*` stands for any text. */
export const matchesWildcards = (column: Sql, pattern: string): Sql =>
  isLike(column, pattern.split('*').map(escaped).join('%'));

const lowered = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase());

export const isAmong = (column: Sql, texts: readonly string[]): Sql => sql`lower(${column}) in (${texts.map(lowered)})`;
