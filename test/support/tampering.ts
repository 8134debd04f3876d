/** What somebody who writes to the database may do to the audit trail, without linking all of it anew. */

import { hashOf, type Told, told } from '../../src/store/audit.ts';
import { newUuid } from '../../src/store/id.ts';
import { type Sql, sql, type Value } from '../../src/store/sql.ts';
import type { Tx } from '../../src/store/store.ts';
import type { Dice } from './dice.ts';

export type Event = {
  readonly id: string;
  readonly chain: string;
  readonly position: number;
  readonly told: Told;
};

const raw = (text: string): Sql => ({ chunks: [text], values: [] });

const toldColumns = told.chunks
  .join('')
  .split(',')
  .map(name => name.trim());
const linkColumns = ['chain', 'position', 'previous_hash', 'hash'];

export const eventsIn = async (tx: Tx): Promise<Event[]> => {
  const rows = await tx.rows<[chain: string, position: number, ...told: Told]>(sql`
    select chain, position, ${told}
    from audit_events
    order by chain, position`);
  return rows.map(([chain, position, ...told]) => ({ id: told[0], chain, position, told }));
};

const joined = (parts: readonly Sql[]): Sql => parts.reduce((all, next) => sql`${all}, ${next}`);

export const set = (tx: Tx, { id }: Event, values: Readonly<Record<string, Value>>): Promise<number> => {
  const settings = Object.entries(values).map(([column, value]) => sql`${raw(column)} = ${value}`);
  return tx.run(sql`update audit_events set ${joined(settings)} where id = ${id}`);
};

export const remove = (tx: Tx, events: readonly Event[]): Promise<number> =>
  tx.run(sql`delete from audit_events where id in (${events.map(({ id }) => id)})`);

export const removeChain = async (tx: Tx, chain: string): Promise<void> => {
  await tx.run(sql`delete from audit_events where chain = ${chain}`);
  await tx.run(sql`delete from audit_heads where chain = ${chain}`);
};

export const valuesOf = async (tx: Tx, { id }: Event, columns: readonly string[]): Promise<readonly Value[]> =>
  (await tx.row(sql`select ${raw(columns.join(', '))} from audit_events where id = ${id}`)) ?? [];

/** Exchanges columns of two rows, by way of a place and an id that nothing has. */
export const exchange = async (tx: Tx, one: Event, other: Event, columns: readonly string[]): Promise<void> => {
  const record = (values: readonly Value[]) =>
    Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
  const ofOne = record(await valuesOf(tx, one, columns));
  const ofOther = record(await valuesOf(tx, other, columns));
  const aside = { ...one, id: 'aside' };
  await set(tx, one, { id: aside.id, position: -1 });
  await set(tx, other, ofOne);
  await set(tx, aside, { id: one.id, position: one.position, ...ofOther });
};

/** The rows after one make room or close a gap, by way of places that nothing has. */
export const shift = async (tx: Tx, { chain, position }: Event, by: 1 | -1): Promise<void> => {
  await tx.run(sql`
    update audit_events
    set position = -position - ${by}
    where chain = ${chain} and position > ${position}`);
  await tx.run(sql`update audit_events set position = -position where chain = ${chain} and position < 0`);
};

type Link = { readonly chain: string | null; readonly position: number | null; readonly previous?: string | null };

/** A row that was never written, with a hash that is right for it. */
export const forge = async (tx: Tx, like: Event, { chain, position, previous = null }: Link): Promise<void> => {
  const [, ...rest] = like.told;
  const row: Told = [newUuid(size => new Uint8Array(size).fill(7)), ...rest];
  const hash = chain === null || position === null ? null : hashOf(chain, position, previous, row);
  const values = [...row, chain, position, previous, hash].map(value => sql`${value}`);
  await tx.run(sql`insert into audit_events (${told}, ${raw(linkColumns.join(', '))}) values (${joined(values)})`);
};

type Tampering = (
  dice: Dice,
  event: Event,
  events: readonly Event[],
) => readonly [string, (tx: Tx) => Promise<unknown>];

const edited = (dice: Dice, value: Value): Value => {
  if (typeof value === 'number') return dice.pick([-value, value - 1000, value + 1000]);
  if (value === null || value === '') return dice.pick(['null', 'x']);
  const at = dice.below(value.length);
  return dice.pick([
    `${value} `,
    `${value.slice(0, at)}${value.slice(at + 1)}`,
    `${value.slice(0, at)}\u0301${value.slice(at)}`,
    value.toUpperCase() === value ? `${value.toLowerCase()}_` : value.toUpperCase(),
  ]);
};

const later = ['effect', 'project_id', 'team_id'];
const nullable = ['organization_id', 'actor_name', 'before_change', 'after_change', ...later, ...linkColumns];

/** Of the same chain, and another row. */
const neighbour = (dice: Dice, { id, chain }: Event, events: readonly Event[]): Event =>
  dice.pick(events.filter(event => event.chain === chain && event.id !== id));

const edit =
  (column: string): Tampering =>
  (dice, event) => {
    const erases = nullable.includes(column) && dice.chance(0.3);
    return [
      `of ${event.id}`,
      async tx => {
        const [value = null] = await valuesOf(tx, event, [column]);
        await set(tx, event, { [column]: erases && value !== null ? null : edited(dice, value) });
      },
    ];
  };

const tamperings: Readonly<Record<string, Tampering>> = {
  ...Object.fromEntries([...toldColumns, ...linkColumns].map(column => [`edit of ${column}`, edit(column)])),
  removal: (dice, event, events) => {
    const gone = [event, ...dice.some(events, dice.pick([0, 0, 0.1, 0.5]))];
    return [`${gone.length} rows`, tx => remove(tx, gone)];
  },
  'removal without a gap': (_, event) => [
    `${event.position}`,
    async tx => {
      await remove(tx, [event]);
      await shift(tx, event, -1);
      await tx.run(sql`update audit_heads set position = position - 1 where chain = ${event.chain}`);
    },
  ],
  'swap of contents': (dice, event, events) => {
    const other = dice.pick(events.filter(({ id }) => id !== event.id));
    // The id is in every choice: two rows may have all else in common.
    const columns = ['id', ...dice.some(toldColumns.slice(1), dice.pick([0, 0.5, 1]))];
    return [columns.join(' '), tx => exchange(tx, event, other, columns)];
  },
  'swap of places': (dice, event, events) => {
    const other = neighbour(dice, event, events);
    const columns = ['position', ...dice.some(['previous_hash', 'hash'], 0.5)];
    return [`${event.position} and ${other.position}, ${columns}`, tx => exchange(tx, event, other, columns)];
  },
  'cut end': (dice, event, events) => {
    const gone = events.filter(({ chain, position }) => chain === event.chain && position >= event.position);
    const head = dice.pick(['left', 'set back', 'removed']);
    return [
      `${gone.length} rows, the head ${head}`,
      async tx => {
        await remove(tx, gone);
        if (head === 'set back')
          await tx.run(sql`update audit_heads set position = ${event.position - 1} where chain = ${event.chain}`);
        const isAll = event.position === 1;
        if (head === 'removed' && !isAll) await tx.run(sql`delete from audit_heads where chain = ${event.chain}`);
      },
    ];
  },
  'cut beginning': (_, event, events) => {
    const gone = events.filter(({ chain, position }) => chain === event.chain && position <= event.position);
    return [`${gone.length} rows`, tx => remove(tx, gone)];
  },
  'forged end': (_, event, events) => {
    const last = events.findLast(({ chain }) => chain === event.chain) as Event;
    return [
      'a right hash, and the head left',
      async tx => {
        const [previous] = await valuesOf(tx, last, ['hash']);
        await forge(tx, event, { ...last, position: last.position + 1, previous: previous as string });
      },
    ];
  },
  'forged row between': (_, event) => [
    `after ${event.position}`,
    async tx => {
      const [previous] = await valuesOf(tx, event, ['hash']);
      await shift(tx, event, 1);
      await forge(tx, event, { ...event, position: event.position + 1, previous: previous as string });
      await tx.run(sql`update audit_heads set position = position + 1 where chain = ${event.chain}`);
    },
  ],
  'forged row elsewhere': (dice, event) => {
    const link = dice.pick([
      { chain: null, position: null },
      { chain: event.chain, position: null },
      { chain: null, position: 1 },
      { chain: event.chain, position: 0 },
      { chain: event.chain, position: -event.position },
      { chain: 'org-unknown', position: 1 },
    ]);
    return [JSON.stringify(link), tx => forge(tx, event, link)];
  },
  'move to another chain': (dice, event, events) => {
    const last = events.findLast(({ chain }) => chain !== event.chain) as Event;
    const organization_id = last.chain === 'site' ? null : last.chain;
    const belongs = dice.pick([{ organization_id }, {}]);
    return [`to ${last.chain}`, tx => set(tx, event, { ...belongs, chain: last.chain, position: last.position + 1 })];
  },
  head: (dice, { chain }) => {
    const by = dice.pick([-2, -1, 1, 2]);
    return dice.pick([
      ['position', tx => tx.run(sql`update audit_heads set position = position + ${by} where chain = ${chain}`)],
      ['hash', tx => tx.run(sql`update audit_heads set hash = ${'0'.repeat(64)} where chain = ${chain}`)],
      ['chain', tx => tx.run(sql`update audit_heads set chain = 'org-unknown' where chain = ${chain}`)],
      ['removed', tx => tx.run(sql`delete from audit_heads where chain = ${chain}`)],
      ['added', tx => tx.run(sql`insert into audit_heads (chain, position, hash) values ('org-unknown', 1, 'x')`)],
    ] satisfies ReturnType<Tampering>[]);
  },
};

export const kinds = Object.keys(tamperings);

export const anyTampering = (dice: Dice, events: readonly Event[]) => {
  const kind = dice.pick(kinds);
  const [what, work] = (tamperings[kind] as Tampering)(dice, dice.pick(events), events);
  return { what: `${kind}: ${what}`, work };
};
