/** What was measured, as text. */

import { judged, type Results } from './bars.ts';
import type { Measured } from './load.ts';
import type { Operation } from './operations.ts';
import type { Round, Taken } from './rounds.ts';
import { type Figure, figureOf, ratioOf, widest } from './statistics.ts';

const digits = (value: number): string => {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
};

/** Marked where it is too wide to trust. */
const shown = ({ median, low, high, isWide }: Figure): string =>
  Number.isNaN(median) ? '–' : `${digits(median)}${isWide ? ' ~' : ''} (${digits(low)}–${digits(high)})`;

const times = ({ median }: Figure): string => (Number.isFinite(median) ? ` · ${digits(median)} ×` : '');

const columns: readonly { readonly title: string; readonly of: (round: Round) => number }[] = [
  { title: 'CPU µs', of: ({ cpu }) => cpu },
  { title: 'database CPU µs', of: ({ database }) => database },
  { title: 'a second', of: ({ rate }) => rate },
  { title: 'CPU µs at half load', of: ({ cpuAtHalf }) => cpuAtHalf },
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
  const floor = arms.find(({ arm }) => arm.name === 'bare node:http')?.rounds ?? [];
  const rows = arms
    // A floor that has nothing to do with the operation is none of it.
    .filter(({ arm, rounds }) => rounds.length > 0 || arm.role !== 'floor')
    .map(({ arm, rounds }) => [
      arm.name,
      ...columns.map(({ of }) => {
        if (rounds.length === 0) return 'n/a';
        const values = rounds.map(of);
        // No database besides, or nobody who waits for an answer.
        if (values.every(value => value === 0 || Number.isNaN(value))) return '–';
        return `${shown(figureOf(values))}${times(ratioOf(values, floor.map(of)))}`;
      }),
    ]);
  return table(['', ...columns.map(({ title }) => title)], rows);
};

/** How many of the figures that are compared were too far apart from round to round. */
const doubts = ({ sizes }: Results): string => {
  const figures = sizes.flatMap(({ taken }) =>
    taken.filter(({ rounds }) => rounds.length > 0).map(({ rounds }) => figureOf(rounds.map(({ cpu }) => cpu))),
  );
  const wide = figures.filter(({ isWide }) => isWide).length;
  return wide === 0
    ? 'No CPU time of this run was too far apart from round to round to be trusted.'
    : `**The spread of ${wide} of ${figures.length} CPU times is too wide to trust: the machine had other work to do. Run it again.**`;
};

const explanation = `Median of the rounds (and quartiles) · how many times bare \`node:http\` in the same round. CPU is that of the server with all its threads, for each request; that of the database's own processes stands beside it. Latency is counted from when a request should have been sent, at half of the rate that the arm reached. ~ marks a figure whose middle half of the rounds spans more than ${widest * 100} % of the median: too wide to trust.`;

const barsTable = (results: Results): string => table(['what', 'bar', 'measured', '', 'moonshot'], judged(results));

const millisecond = (value: number): string => `${value.toFixed(2)} ms`;

const trials = ({ alone, creations, growth, connections }: Results): string[] => [
  ...(alone
    ? [
        '### One at a time',
        table(
          ['CPU µs, SQLite, one client', 'bare node:http', 'Bailiwick', 'naive'],
          alone.map(({ operation, bare, ours, naive }) => [
            ...[operation, shown(figureOf(bare))],
            ...[ours, naive].map(arm => `${shown(figureOf(arm))}${times(ratioOf(arm, bare))}`),
          ]),
        ),
      ]
    : []),
  ...(creations
    ? [
        '### Commits',
        table(
          ['created a second, durably, SQLite', ''],
          [
            ['bare commits', shown(figureOf(creations.bare))],
            ['one client', `${shown(figureOf(creations.one))}${times(ratioOf(creations.one, creations.bare))}`],
            ['32 clients', `${shown(figureOf(creations.many))}${times(ratioOf(creations.many, creations.bare))}`],
          ],
        ),
      ]
    : []),
  ...(growth
    ? [
        '### Growth',
        table(
          ['CPU µs, SQLite', '10³', '10⁶', ''],
          growth.map(({ operation, small, large }) => [
            ...[operation, shown(figureOf(small)), shown(figureOf(large))],
            `${digits(ratioOf(large, small).median)} ×`,
          ]),
        ),
      ]
    : []),
  ...(connections
    ? [
        `### ${connections.wanted.toLocaleString('en')} connections`,
        connections.refused === undefined
          ? table(
              ['', 'p50', 'p99', 'p99.9', 'peak MiB'],
              (['bare', 'ours'] as const).map(key => {
                const of = (value: (round: Measured) => number) => figureOf(connections[key].map(value)).median;
                return [
                  key === 'bare' ? 'bare node:http' : 'Bailiwick, SQLite',
                  ...(['p50', 'p99', 'p999'] as const).map(share => millisecond(of(({ latency }) => latency[share]))),
                  digits(of(({ memory }) => memory) / 2 ** 20),
                ];
              }),
            )
          : `It did not work: ${connections.refused}`,
      ]
    : []),
];

const memoryTable = ({ sizes }: Results): string =>
  table(
    ['resident MiB', 'grants', 'idle', 'after all operations'],
    sizes.flatMap(({ size, memory }) =>
      memory.map(({ name, idle, after }) => [name, size.name, digits(idle / 2 ** 20), digits(after / 2 ** 20)]),
    ),
  );

/** The whole of it, in Markdown. */
export const reportOf = (results: Results, facts: readonly string[]): string =>
  [
    ...facts,
    doubts(results),
    ...['### Bars', barsTable(results)],
    ...trials(results),
    ...(results.sizes.length > 0 ? ['### Memory', memoryTable(results)] : []),
    ...(results.sizes.length > 0 ? ['### Operations', explanation] : []),
    ...results.sizes.flatMap(({ size, taken }) =>
      [...new Set(taken.map(({ operation }) => operation))].flatMap(operation => [
        `#### ${operation}, ${size.name} grants`,
        operationTable(taken, operation),
      ]),
    ),
  ].join('\n\n');

/** The document with this text as one of its sections; the others stay as they are. */
export const withSection = (document: string, title: string, text: string): string => {
  const [head = '', ...sections] = document.split(/^(?=## )/m);
  const isIt = (section: string): boolean => section.startsWith(`## ${title}\n`);
  const section = `## ${title}\n\n${text}\n\n`;
  const all = sections.some(isIt) ? sections.map(each => (isIt(each) ? section : each)) : [section, ...sections];
  return `${[head, ...all].join('').trimEnd()}\n`;
};
