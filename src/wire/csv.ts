/** Rows of CSV as RFC 4180 has them, of which no spreadsheet takes a cell for a formula. */

export const csvMediaType = 'text/csv; charset=utf-8';

/** What makes a cell a formula, in either width, after whatever blanks. */
const formula = String.raw`\s*[=+\-@＝＋－＠]`;
/** A control character at the beginning may hide one. */
const atBeginning = new RegExp(`^(${formula}|[\\t\\r\\n])`, 'u');
/** Where a reader of another dialect, which knows no quotes of ours, would begin a new cell. */
const within = new RegExp(`[;\\t\\r\\n](?=${formula})`, 'gu');

/** The apostrophe is how a spreadsheet is told that a cell is text. */
const harmless = (text: string): string => `${atBeginning.test(text) ? "'" : ''}${text.replace(within, "$&'")}`;

/** Text that stands in a cell within quotes, and not at its beginning where it begins like a formula. */
export const csvText = (text: string): string => harmless(text).replaceAll('"', '""');

const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${csvText(text)}"` : harmless(text));

/** A part of a row. */
export const csvCells = (cells: readonly string[]): string => cells.map(cell).join(',');

export const csvRow = (cells: readonly string[]): string => `${csvCells(cells)}\r\n`;
