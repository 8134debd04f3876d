/** SQLite inside the process, which owns the file: one connection, one piece of work at a time. */

import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Change, together } from './group.ts';
import { Line } from './line.ts';
import type { Sql } from './sql.ts';
import { inMemory, own, reasonOf } from './sqlite-file.ts';
import { type Row, StartFault, type Store, type Tx, Unavailable } from './store.ts';

/** In milliseconds, for which changes keep the reads behind them waiting, unless one alone takes longer. */
const longest = 20;

/** More than the server has without the many lengths that lists in a query can have. */
const mostPrepared = 500;

/** Whoever only reads needs not own it. */
export const openSqlite = (path: string, { readOnly = false } = {}): Store => {
  const { database, release } = readOnly ? openReader(path) : open(path);
  /** By the text's own array, which is one for equal texts. */
  const prepared = new Map<Sql['chunks'], StatementSync>();

  const prepare = ({ chunks }: Sql): StatementSync => {
    const known = prepared.get(chunks);
    const statement = known ?? database.prepare(chunks.join('?'));
    if (!known) statement.setReturnArrays(true);
    // The one used last is the last to go.
    prepared.delete(chunks);
    prepared.set(chunks, statement);
    if (prepared.size > mostPrepared) prepared.delete(prepared.keys().next().value as Sql['chunks']);
    return statement;
  };

  const tx: Tx = {
    rows: async <R extends Row>(statement: Sql) => prepare(statement).all(...statement.values) as unknown as R[],
    row: async <R extends Row>(statement: Sql) =>
      prepare(statement).get(...statement.values) as unknown as R | undefined,
    run: async statement => Number(prepare(statement).run(...statement.values).changes),
    script: async text => database.exec(text),
  };

  const failures = { gone: 0, busy: 0, full: 0 };
  /** What fails for want of a disk is told as such, and counted. */
  const told = (error: unknown): unknown => {
    const translated = error instanceof Unavailable ? error : unavailable(error);
    if (translated) failures[translated.reason]++;
    return translated ?? error;
  };

  // Work that awaits in the middle must not see changes, or its changes be seen: while there are any to make, all stands
  // in one line; else reads go side by side.
  let last: Promise<unknown> = Promise.resolve();
  let writes = 0;
  let reads = 0;
  let readsDone = () => {};
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };

  /** Beside another process that writes, only a transaction sees one state. */
  const readBeside = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTurn(async () => {
      try {
        database.exec('begin');
        return await work(tx);
      } catch (error) {
        throw told(error);
      } finally {
        if (database.isTransaction) database.exec('rollback');
      }
    });

  const read = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    try {
      if (writes > 0) return await inTurn(() => work(tx));
      reads++;
      try {
        return await work(tx);
      } finally {
        if (--reads === 0) readsDone();
      }
    } catch (error) {
      throw told(error);
    }
  };

  const [begin, commit, rollback] = ['begin immediate', 'commit', 'rollback'].map(text => database.prepare(text)) as [
    StatementSync,
    StatementSync,
    StatementSync,
  ];
  const write = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    writes++;
    try {
      return await inTurn(async () => {
        if (reads > 0)
          await new Promise<void>(resolve => {
            readsDone = resolve;
          });
        begin.run();
        try {
          const result = await work(tx);
          commit.run();
          return result;
        } catch (error) {
          if (database.isTransaction) rollback.run();
          throw error;
        }
      });
    } catch (error) {
      throw unavailable(error) ?? error;
    } finally {
      writes--;
    }
  };

  // A failing disk undoes the whole transaction, or makes its commit fail.
  const failsAll = (error: unknown) => unavailable(error) !== undefined;
  const line = new Line<Change>(changes => write(together(changes, { longest, failsAll })));
  return {
    engine: 'sqlite',
    read: readOnly ? readBeside : read,
    look: read,
    write: work => line.inTurn<Awaited<ReturnType<typeof work>>>(work).catch(error => Promise.reject(told(error))),
    // One process owns the file.
    alone: work => write(work).catch(error => Promise.reject(told(error))),
    figures: () => ({ open: 1, idle: 0, waiting: 0, most: 1, failures, retries: 0 }),
    close: async () => {
      // Those who came before have their turn.
      await line.inTurn(async () => {}).catch(() => {});
      await inTurn(async () => {
        database.close();
        release();
      });
    },
  };
};

const full = 13;
const ioError = 10;

/** A disk without room fails writes alone, and the next may succeed; so may what follows an error of the disk. */
const unavailable = (error: unknown): Unavailable | undefined => {
  switch (((error as { errcode?: number }).errcode ?? 0) & 0xff) {
    case full:
      return new Unavailable('full', 'The disk is full.', { cause: error });
    case ioError:
      return new Unavailable('gone', 'The disk does not do what it is asked.', { cause: error });
    default:
      return undefined;
  }
};

const openReader = (path: string): Opened => {
  try {
    return { database: new DatabaseSync(path, { timeout: 1000, readOnly: true }), release: () => {} };
  } catch (error) {
    throw new StartFault(`cannot open the database sqlite:${path}: ${reasonOf(error)}`);
  }
};

type Opened = { readonly database: DatabaseSync; readonly release: () => void };

const open = (path: string): Opened => {
  let release = () => {};
  try {
    if (path !== inMemory && !existsSync(dirname(path))) mkdirSync(dirname(path));
    // A second server on the same file fails at its start; a backup, which only reads, is let in.
    release = own(path);
    const database = new DatabaseSync(path, { timeout: 1000 });
    database.exec('pragma journal_mode = wal');
    database.exec('pragma synchronous = full');
    database.exec('pragma foreign_keys = on');
    database.exec('pragma trusted_schema = off');
    // What it takes to undo one change among several would go to a file of its own.
    database.exec('pragma temp_store = memory');
    // In KiB: enough for the upper pages of every index, which each look-up walks down.
    database.exec('pragma cache_size = -16000');
    // Where it cannot be written, the start is the time to say so.
    database.exec('begin immediate; commit');
    return { database, release };
  } catch (error) {
    release();
    throw new StartFault(`cannot open the database sqlite:${path}: ${reasonOf(error)}`);
  }
};
