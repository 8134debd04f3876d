/** Text for terminals and for programs. Whatever a name holds, it is seen and not obeyed. */

import { styleText } from 'node:util';

/** Control characters, those that turn the direction of writing, and whatever else is not to be seen. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu;

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

export const clean = (text: string): string => text.replace(unseen, escaped);

/** The same for lines of text, which stay lines. */
export const cleanLines = (text: string): string => text.replace(/[^\r\n]+/g, clean);

/** The same in JSON, where it means the same. */
export const json = (value: unknown): string =>
  `${JSON.stringify(value, null, 2).replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;

type Style = Parameters<typeof styleText>[0];

/** Colours for a terminal that wants them, and for nothing else. */
export const styled = (style: Style, text: string): string => styleText(style, text, { stream: process.stdout });

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

/** How many columns of a terminal it takes. */
const widthOf = (text: string): number =>
  [...text].reduce((sum, character) => sum + (/\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1), 0);

/** Aligned columns under their names. A row that is a string is a line of its own. */
export const table = (names: readonly string[], rows: readonly (readonly string[])[]): string => {
  const cells = rows.map(row => row.map(clean));
  const widths = names.map((name, column) => Math.max(...[name, ...cells.map(row => row[column] ?? '')].map(widthOf)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd();
  return `${[styled('bold', line(names)), ...cells.map(line)].join('\n')}\n`;
};

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
