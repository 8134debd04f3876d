/** What is run. */

import { parseArgs } from 'node:util';
import { type Operation, operations } from './operations.ts';
import { type Size, sizes } from './world/plan.ts';

export const help = `npm run bench -- [OPTION ...]

  What Bailiwick costs, beside the least that it could cost and what others cost: all arms in one run, in turn.
  Without options, everything: about an hour and a half, and docs/benchmarks.md is written anew.

  --quick             two minutes: 1,000 grants, the operations used most, fewer arms
  --sizes LIST        of ${sizes.map(({ grants }) => grants).join(', ')} grants
  --operations LIST   by any part of their names: ${operations.join('; ')}
  --arms LIST         by any part of their names or roles (floor, ours, naive, peer)
  --rounds COUNT      that count; one more is to warm up
  --seconds COUNT     of each measurement
  --connections COUNT of the load
  --against REV       compares with another revision, and fails above 15 % more CPU for any operation
  --trials            with commits, growth and many connections, and docs/benchmarks.md, also where something is chosen
  --json FILE         writes all that was measured
  --help

  A LIST is parted by commas; by semicolons where a name has a comma, as in --arms 'bare node:http; Bailiwick, SQLite'.
`;

export type Options = {
  readonly form: 'quick' | 'chosen' | 'full';
  readonly sizes: readonly Size[];
  readonly operations: readonly Operation[];
  /** Whether an arm of this name and role takes part. */
  readonly takesPart: (name: string, role: string) => boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly against: string | undefined;
  readonly json: string | undefined;
  /** Whether the trials are part of it, and the document is written. */
  readonly trials: boolean;
};

/** What is wrong with the command line. */
export class WrongOption extends Error {}

/** By commas, or by semicolons where there are any: names have commas. */
const listOf = (text: string | undefined): string[] | undefined =>
  text
    ?.split(text.includes(';') ? ';' : ',')
    .map(part => part.trim())
    .filter(part => part !== '');

const chosen = <T>(
  known: readonly T[],
  wanted: string[] | undefined,
  what: string,
  is: (one: T, word: string) => boolean,
) => {
  for (const word of wanted ?? [])
    if (!known.some(one => is(one, word))) throw new WrongOption(`there is no ${what} '${word}'`);
  return wanted ? known.filter(one => wanted.some(word => is(one, word))) : known;
};

const counted = (text: string | undefined, otherwise: number, what: string): number => {
  const number = text === undefined ? otherwise : Number(text);
  if (!(number > 0)) throw new WrongOption(`--${what} takes a number above 0, not '${text}'`);
  return number;
};

const quickOperations: readonly Operation[] = ['show one', 'page of 20', 'one decision', 'create'];
const quickArms = ['bare node:http', 'Bailiwick', 'naive, SQLite', 'bare statements, SQLite', 'bare commits'];

export const optionsOf = (args: readonly string[]): Options | 'help' => {
  const text = { type: 'string' } as const;
  const known = {
    quick: { type: 'boolean' },
    help: { type: 'boolean' },
    trials: { type: 'boolean' },
    ...{ sizes: text, operations: text, arms: text, rounds: text, seconds: text, connections: text },
    ...{ against: text, json: text },
  } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof known }>>['values'];
  try {
    ({ values } = parseArgs({ args: [...args], options: known }));
  } catch (error) {
    throw new WrongOption((error as Error).message);
  }
  if (values.help) return 'help';
  const { quick = false, against, json } = values;
  const isChosen = [values.sizes, values.operations, values.arms].some(value => value !== undefined);
  const arms = listOf(values.arms) ?? (quick ? quickArms : undefined);
  const wantedSizes = listOf(values.sizes) ?? (quick || against !== undefined ? ['1000'] : undefined);
  const rounds = counted(values.rounds, against === undefined ? 5 : 21, 'rounds');
  return {
    form: quick ? 'quick' : isChosen ? 'chosen' : 'full',
    sizes: chosen(sizes, wantedSizes, 'size', ({ grants, name }, word) => Number(word) === grants || word === name),
    operations: chosen(
      values.operations === undefined && quick ? quickOperations : operations,
      listOf(values.operations),
      'operation',
      (operation, word) => operation.includes(word),
    ),
    takesPart: (name, role) => arms === undefined || arms.some(word => role === word || name.includes(word)),
    rounds,
    seconds: counted(values.seconds, against !== undefined ? 0.12 : quick ? 0.2 : 0.4, 'seconds'),
    connections: counted(values.connections, 16, 'connections'),
    against,
    json,
    trials: values.trials ?? (!quick && !isChosen),
  };
};
