/** What we hold ourselves to, and what came of it. */

import type { Operation } from './operations.ts';
import type { Taken } from './rounds.ts';
import { type Figure, figureOf, ratioOf } from './statistics.ts';
import type { Alone, Connections, Creations, Growth } from './trials.ts';
import type { Size } from './world/plan.ts';

/** Resident bytes of a server before its first request and after its last. */
export type Memory = { readonly name: string; readonly idle: number; readonly after: number };

export type Results = {
  readonly sizes: readonly {
    readonly size: Size;
    readonly taken: readonly Taken[];
    readonly memory: readonly Memory[];
  }[];
  readonly alone?: readonly Alone[];
  readonly creations?: Creations;
  readonly growth?: readonly Growth[];
  readonly statements?: number;
  readonly connections?: Connections;
};

type Bar = {
  readonly what: string;
  readonly bar: string;
  readonly moonshot: string;
  /** Undefined for what was not measured this time. */
  readonly measured: (results: Results) => Figure | undefined;
  readonly shown: (value: number) => string;
  /** Whether it is good enough, and whether it is as good as we dream of. */
  readonly isMet: (value: number) => boolean;
  readonly isMoonshot: (value: number) => boolean;
};

const times = (value: number): string => `${value.toFixed(2)} ×`;
const more = (value: number): string => `${value >= 1 ? '+' : '−'}${Math.abs((value - 1) * 100).toFixed(0)} %`;
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;
const mebibytes = (value: number): string => `${(value / 2 ** 20).toFixed(0)} MiB`;
const mega = 1e6;

const atMost = (limit: number, dream: number) => ({
  isMet: (value: number) => value <= limit,
  isMoonshot: (value: number) => value <= dream,
});
const atLeast = (limit: number, dream: number) => ({
  isMet: (value: number) => value >= limit,
  isMoonshot: (value: number) => value >= dream,
});

const roundsOf = ({ sizes }: Results, operation: Operation, name: RegExp, which: 'first' | 'last' = 'first') => {
  const of = which === 'first' ? sizes[0] : sizes.at(-1);
  const rounds = of?.taken.find(each => each.operation === operation && name.test(each.arm.name))?.rounds;
  return rounds && rounds.length > 0 ? rounds : undefined;
};

const ours = /^Bailiwick, SQLite$/;

const cpuRatio = (operation: Operation, one: RegExp, other: RegExp) => (results: Results) => {
  const [mine, theirs] = [roundsOf(results, operation, one), roundsOf(results, operation, other)];
  const cpu = ({ cpu, database }: { cpu: number; database: number }) => cpu + database;
  return mine && theirs && ratioOf(mine.map(cpu), theirs.map(cpu));
};

const against = (operation: Operation, other: RegExp) => cpuRatio(operation, ours, other);

/** The same where requests come one at a time: what an answer costs a server that is not busy. */
const alone =
  (operation: Operation, other: 'bare' | 'naive') =>
  ({ alone: taken }: Results): Figure | undefined => {
    const of = taken?.find(each => each.operation === operation);
    return of && ratioOf(of.ours, of[other]);
  };

const worst = (figures: readonly (Figure | undefined)[]): Figure | undefined =>
  figures.filter(figure => figure !== undefined).sort((a, b) => b.median - a.median)[0];

const bare = /^bare node:http$/;

export const bars: readonly Bar[] = [
  ...(
    [
      ['show one', 'show one, SQLite, CPU against bare `node:http` with the same bytes', 2.5, 1.6],
      ['one decision', 'one decision, SQLite, same floor', 2.2, 1.5],
      ['page of 20', 'page of 20, SQLite, against the bare page', 3, 2],
    ] as const
  ).flatMap(([operation, what, most, dream]) => {
    const common = { bar: `≤ ${most} ×`, moonshot: `${dream} ×`, shown: times, ...atMost(most, dream) };
    return [
      { what: `${what}: one at a time`, ...common, measured: alone(operation, 'bare') },
      { what: 'the same: many at a time', ...common, measured: against(operation, bare) },
    ];
  }),
  {
    what: 'show one on PostgreSQL: statements per request',
    ...{ bar: '≤ 2', moonshot: '1', shown: String },
    measured: ({ statements }) => (statements === undefined ? undefined : figureOf([statements])),
    ...atMost(2, 1),
  },
  {
    what: 'create, durable, SQLite, one client: rate against bare commits',
    ...{ bar: '≥ 0.5 ×', moonshot: '0.7 ×', shown: times },
    measured: ({ creations }) => creations && ratioOf(creations.one, creations.bare),
    ...atLeast(0.5, 0.7),
  },
  {
    what: 'the same: 32 clients against one',
    ...{ bar: '≥ 3 ×', moonshot: '6 ×', shown: times },
    measured: ({ creations }) => creations && ratioOf(creations.many, creations.one),
    ...atLeast(3, 6),
  },
  {
    what: '10³ → 10⁶ grants, SQLite: CPU of show, decision, page 1 (the one that grows most)',
    ...{ bar: '+ ≤ 25 %', moonshot: '+ ≤ 10 %', shown: more },
    measured: ({ growth }) => worst(growth?.map(({ small, large }) => ratioOf(large, small)) ?? []),
    ...atMost(1.25, 1.1),
  },
  {
    what: 'decisions for each second of CPU against OpenFGA, SQLite',
    ...{ bar: '≥ 3 ×', moonshot: '10 ×', shown: times },
    measured: cpuRatio('one decision', /^OpenFGA, SQLite$/, ours),
    ...atLeast(3, 10),
  },
  {
    what: 'the same on PostgreSQL, the CPU of the database with it',
    ...{ bar: '≥ 3 ×', moonshot: '10 ×', shown: times },
    measured: cpuRatio('one decision', /^OpenFGA, PostgreSQL$/, /^Bailiwick, PostgreSQL$/),
    ...atLeast(3, 10),
  },
  {
    what: 'show one, SQLite, CPU against the naive version: one at a time',
    ...{ bar: '≤ 1.4 ×', moonshot: '1.1 ×', measured: alone('show one', 'naive'), shown: times },
    ...atMost(1.4, 1.1),
  },
  {
    what: 'the same: many at a time',
    ...{ bar: '≤ 1.4 ×', moonshot: '1.1 ×', measured: against('show one', /^naive, SQLite$/), shown: times },
    ...atMost(1.4, 1.1),
  },
  {
    what: '10,000 open connections, SQLite: peak memory',
    ...{ bar: '0 refused, ≤ 300 MB', moonshot: '–', shown: mebibytes },
    measured: ({ connections: taken }) =>
      taken &&
      figureOf(taken.refused === undefined ? taken.ours.map(({ memory }) => memory) : [Number.POSITIVE_INFINITY]),
    ...atMost(300 * mega, 0),
  },
  {
    what: 'the same: p99 against bare Node',
    ...{ bar: '≤ 3 ×', moonshot: '2 ×', shown: times },
    measured: ({ connections: taken }) => {
      if (!taken) return undefined;
      if (taken.refused !== undefined) return figureOf([Number.POSITIVE_INFINITY]);
      const [mine, floor] = [taken.ours, taken.bare].map(rounds => rounds.map(({ latency }) => latency.p99));
      return ratioOf(mine ?? [], floor ?? []);
    },
    ...atMost(3, 2),
  },
  {
    what: 'p99 at half load, SQLite (the worst of show, page and decision)',
    ...{ bar: '≤ 10 ms', moonshot: '5 ms', shown: milliseconds },
    measured: results =>
      worst(
        (['show one', 'page of 20', 'one decision'] as const).map(operation => {
          const rounds = roundsOf(results, operation, ours);
          return rounds && figureOf(rounds.map(({ latency }) => latency.p99));
        }),
      ),
    ...atMost(10, 5),
  },
  {
    what: 'peak memory at 10⁶ grants, SQLite, over all operations',
    ...{ bar: '≤ 200 MB', moonshot: '120 MB', shown: mebibytes },
    measured: ({ sizes }) => {
      const taken = sizes.find(({ size }) => size.grants === 1_000_000)?.taken;
      const peaks = taken?.filter(({ arm }) => ours.test(arm.name)).flatMap(({ rounds }) => rounds.map(r => r.memory));
      return peaks && peaks.length > 0 ? figureOf([Math.max(...peaks)]) : undefined;
    },
    ...atMost(200 * mega, 120 * mega),
  },
];

/** Each of them, and what was not measured this time. */
export const judged = (results: Results): readonly (readonly string[])[] =>
  bars.map(({ what, bar, moonshot, measured, shown, isMet, isMoonshot }) => {
    const { median: value, isWide } = measured(results) ?? figureOf([]);
    if (Number.isNaN(value)) return [what, bar, '–', 'not measured', moonshot];
    const outcome = isMoonshot(value) ? '**moonshot**' : isMet(value) ? 'met' : '**missed**';
    const text = Number.isFinite(value) ? shown(value) : 'refused';
    return [what, bar, `${text}${isWide ? ' ~' : ''}`, outcome, moonshot];
  });
