/** A turn for changing the schema: one server has it and shows signs of life; the others wait, and see whether it lives. */

import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInTheWay, isLockedOut, Lost, unreached } from './postgres-errors.ts';
import { sql } from './sql.ts';
import { type Tx, Unavailable } from './store.ts';

/** Any number that nobody else locks; the first letters of our name. */
const key = 0x6261696c;

/** In milliseconds. */
const beat = 1_000;
const silentForTooLong = 10_000;
const betweenTries = 250;
const patience = 120_000;

/** Nothing may end a long change but its own end; but it must not make requests wait long for a lock that it waits for. */
const begin = `
  begin;
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local lock_timeout = 500`;

/** Of this engine alone: a domain for the texts of both, and a row in which whoever has the turn shows signs of life. */
const prelude = `
  do $$ begin
    if to_regtype('ctext') is null then create domain ctext as text collate "C"; end if;
  end $$;
  create table if not exists schema_turns (
    id integer primary key check (id = 1),
    holder text not null,
    beat_at timestamptz not null
  )`;

const me = `${hostname()} (process ${process.pid})`;

type Transaction = <T>(beginning: string, work: (tx: Tx) => Promise<T>) => Promise<T>;

export const aloneOn = async <T>(
  transaction: Transaction,
  work: (tx: Tx) => Promise<T>,
  waiting: (news: string) => void = () => {},
): Promise<T> => {
  await inTurn(transaction, waiting, tx => tx.script(prelude), false);
  return inTurn(transaction, waiting, work, true);
};

/** What is undone is tried again: a request held a lock that it needed, or another server believed this one dead. */
const inTurn = async <T>(
  transaction: Transaction,
  waiting: (news: string) => void,
  work: (tx: Tx) => Promise<T>,
  beating: boolean,
): Promise<T> => {
  const since = Date.now();
  let told = '';
  for (;;) {
    try {
      const outcome = await transaction(begin, async tx => {
        const [mine] = (await tx.row<[number]>(sql`select pg_try_advisory_xact_lock(${key})`)) ?? [0];
        return mine ? { result: await (beating ? withHeartbeat(transaction, () => work(tx)) : work(tx)) } : undefined;
      });
      if (outcome) return outcome.result;
      const news = await lookAfter(transaction, Date.now() - since);
      if (news !== told) waiting(news);
      told = news;
    } catch (error) {
      const isLost = error instanceof Lost;
      if (!(isLost || isLockedOut(error) || isInTheWay(error))) throw error;
      if (Date.now() - since > patience)
        throw isLost
          ? unreached(error.cause)
          : new Unavailable('busy', 'The schema cannot be changed: other work holds its tables.', { cause: error });
    }
    await sleep(betweenTries);
  }
};

const withHeartbeat = async <T>(transaction: Transaction, work: () => Promise<T>): Promise<T> => {
  const show = () =>
    transaction('begin', tx =>
      tx.run(sql`
        insert into schema_turns (id, holder, beat_at)
        values (1, ${me}, clock_timestamp())
        on conflict (id) do update set holder = excluded.holder, beat_at = excluded.beat_at`),
    ).catch(() => 0);
  await show();
  const timer = setInterval(show, beat);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
};

/**
 * Who has the turn. One that has shown no sign of life for long, and for as long as it was looked at, is ended, and all
 * that it did with it: the last sign may be of another's turn, long ago.
 */
const lookAfter = (transaction: Transaction, looked: number): Promise<string> =>
  transaction('begin', async tx => {
    const [holder, silence] = (await tx.row<[string, number]>(sql`
      select holder, extract(epoch from clock_timestamp() - beat_at) * 1000
      from schema_turns`)) ?? ['another server', 0];
    if (Math.min(silence, looked) < silentForTooLong) return `${holder} is changing the schema`;
    await tx.rows(sql`
      select pg_terminate_backend(pid)
      from pg_locks
      where locktype = 'advisory' and classid = 0 and objid = ${key} and granted and pid <> pg_backend_pid()
        and database = (select oid from pg_database where datname = current_database())`);
    return `${holder} was changing the schema and shows no sign of life: its change is undone`;
  }).catch(error => {
    // Before the first turn there is no such table.
    if (/schema_turns/.test(`${error}`)) return 'another server is changing the schema';
    throw error;
  });
