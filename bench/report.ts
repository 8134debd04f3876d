/** What was measured, as tables. */

import type { Measured } from './load.ts';
import type { Operation } from './operations.ts';
import type { Taken } from './rounds.ts';
import { type Figure, figureOf, ratioOf, widest } from './statistics.ts';

const digits = (value: number): string => {
  if (Number.isNaN(value)) return '–';
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
};

/** Marked where it is too wide to trust. */
const shown = ({ median, low, high, isWide }: Figure): string =>
  Number.isNaN(median) ? '–' : `${digits(median)}${isWide ? ' ~' : ''} (${digits(low)}–${digits(high)})`;

const ratio = ({ median, isWide }: Figure): string =>
  Number.isNaN(median) ? '–' : `${median.toFixed(2)} ×${isWide ? ' ~' : ''}`;

const columns: readonly { readonly title: string; readonly of: (measured: Measured) => number }[] = [
  { title: 'CPU µs', of: ({ cpu }) => cpu },
  { title: 'database CPU µs', of: ({ database }) => database },
  { title: 'a second', of: ({ rate }) => rate },
  { title: 'p50 ms', of: ({ latency }) => latency.p50 },
  { title: 'p99 ms', of: ({ latency }) => latency.p99 },
  { title: 'p99.9 ms', of: ({ latency }) => latency.p999 },
  { title: 'peak MiB', of: ({ memory }) => memory / 2 ** 20 },
];

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');

/** One operation: an arm in each line, what it takes and how many times the floor that is. */
export const operationTable = (taken: readonly Taken[], operation: Operation): string => {
  const arms = taken.filter(each => each.operation === operation);
  const floor = arms.find(({ arm }) => arm.role === 'floor' && arm.kind === 'served');
  const head = ['', ...columns.flatMap(({ title }) => [title, '× floor'])];
  const rows = arms.map(({ arm, rounds }) => [
    arm.name,
    ...columns.flatMap(({ of }) => {
      if (rounds.length === 0) return ['n/a', ''];
      const values = rounds.map(of);
      const isNone = values.every(value => value === 0);
      return [
        isNone ? '–' : shown(figureOf(values)),
        isNone ? '' : ratio(ratioOf(values, (floor?.rounds ?? []).map(of))),
      ];
    }),
  ]);
  return table(head, rows);
};

export const note = `Median of the rounds, and their quartiles. ~ marks what should not be trusted: there the middle half of the rounds spans more than ${widest * 100} % of the median.`;
