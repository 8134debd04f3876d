/** PostgreSQL: a bounded pool, one write at a time over all servers, and a clear word when the database cannot be asked. */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { parse, toClientConfig } from 'pg-connection-string';
import { type Change, together } from './group.ts';
import { Line } from './line.ts';
import { shownUrl } from './open.ts';
import { aloneOn } from './postgres-alone.ts';
import { endsConnection, isInTheWay, isStale, Lost, takesNoChanges, translated, unreached } from './postgres-errors.ts';
import { type Busy, busyBackends, isThere } from './postgres-probe.ts';
import { type Prepared, Statements } from './postgres-statements.ts';
import type { Sql } from './sql.ts';
import { type Row, StartFault, type Store, type Tx, Unavailable } from './store.ts';

export type PostgresOptions = {
  /** Connections at most. */
  readonly connections?: number;
  /** Whether there is a pooler in between that hands a connection to another after each transaction. */
  readonly pooled?: boolean;
  /** Told when the database is lost and when it is found again. */
  readonly news?: (text: string) => void;
};

/** In milliseconds. Together they answer every request within five seconds, unless the database is at work on it. */
const limits = {
  connect: 1_500,
  turn: 3_000,
  lock: 2_000,
  leastLock: 500,
  statement: 30_000,
  /** After which we ask whether the database is still there. */
  silence: 1_000,
  idleInTransaction: 5_000,
  betweenProbes: 200,
  /** For which changes that share a transaction keep those of other servers waiting, unless one alone takes longer. */
  together: 100,
};

const mostWaiting = 1_000;
const mostAttempts = 5;

const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: text => (text === 't' ? 1 : 0),
  20: Number,
  21: Number,
  23: Number,
  701: Number,
  1700: Number,
};
const types = { getTypeParser: (oid: number) => parsers[oid] ?? String } as pg.CustomTypesConfig;

const serverLimits = {
  statement_timeout: limits.statement,
  lock_timeout: limits.lock,
  idle_in_transaction_session_timeout: limits.idleInTransaction,
};

/** All is looked up by index, and what is asked for often lies in memory: to read small tables whole costs twice as much. */
const planning = 'random_page_cost=1.1';

/** A pooler takes no settings for a connection, so each transaction brings them along. */
const localSettings = [...Object.entries(serverLimits).map(([name, value]) => `${name} = ${value}`), planning]
  .map(setting => ` set local ${setting};`)
  .join('');

/** With two things that the driver has and does not tell of. */
type Connection = pg.PoolClient & {
  readonly processID: number;
  readonly connection: Prepared & { readonly stream: { destroy(): void } };
};

type Kind = 'read' | 'write' | 'schema';

export const openPostgres = (url: string, options: PostgresOptions = {}): Store => {
  const { connections = 10, pooled = false, news = () => {} } = options;
  const address = addressIn(url);
  const config = {
    ...address,
    application_name: 'bailiwick',
    connectionTimeoutMillis: limits.connect,
    keepAlive: true,
    types,
    // So that the beginning of a transaction goes out together with its first statement.
    pipeline: true,
    ...(pooled
      ? {}
      : {
          ...serverLimits,
          options: [`-c ${planning}`, address.options || process.env.PGOPTIONS || ''].join(' '),
        }),
  };
  const pool = new pg.Pool({
    ...config,
    max: connections,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: 1_800,
    allowExitOnIdle: true,
  });
  // A connection that breaks fails the work on it; without work on it there is nothing to fail.
  pool.on('error', () => {});
  pool.on('connect', client => {
    client.on('error', () => {});
    eras.set(client, era);
  });
  // A failover leaves connections that nobody will ever answer on: where one was found, the others are not used again.
  let era = 0;
  const eras = new WeakMap<pg.PoolClient, number>();

  const failures = { gone: 0, busy: 0, full: 0 };
  let retries = 0;
  let closed = false;
  let reached = false;
  let lost = false;

  /** While the database is lost, requests are refused at once, and one probe looks for it. */
  const lose = async (): Promise<void> => {
    if (lost || closed) return;
    lost = true;
    era++;
    news('the database does not answer');
    line.sendAway(gone());
    while (!closed && !(await isThere(config))) await sleep(limits.betweenProbes, undefined, { ref: false });
    lost = false;
    if (!closed) news('the database answers again');
  };

  const connect = async (): Promise<Connection> => {
    if (lost) throw gone();
    if (pool.waitingCount >= mostWaiting) throw new Unavailable('busy', 'Too many requests wait for the database.');
    try {
      for (;;) {
        const connection = (await pool.connect()) as Connection;
        reached = true;
        if (eras.get(connection) === era) return connection;
        connection.release(true);
      }
    } catch (error) {
      const reason = unreached(error);
      // Of one that was never reached and never can be, the start tells in its own words.
      if (reason.reason === 'gone' && (reached || !reason.hopeless)) void lose();
      throw reason;
    }
  };

  let asking: Promise<Busy | undefined> | undefined;
  /** Where the database is at work, if it answers at all: it is asked on another connection, by one for all. */
  const atWork = (): Promise<Busy | undefined> => {
    asking ??= busyBackends(config).finally(() => {
      asking = undefined;
    });
    return asking;
  };

  const broken = new WeakSet<Connection>();
  const statements = new Statements();
  /** What a connection is asked. It may take its time while the database is at work on it; else the connection is ended. */
  const attended = async <T>(connection: Connection, longest: number, asked: () => Promise<T>): Promise<T> => {
    const latest = performance.now() + longest;
    let answered = false;
    const doubt = async (): Promise<void> => {
      const busy = answered ? undefined : await atWork();
      if (answered) return;
      // Through a pooler, nobody knows who is whose.
      const isSlow = busy !== undefined && (pooled || busy.has(connection.processID)) && performance.now() < latest;
      if (isSlow) {
        timer = setTimeout(wake, limits.silence);
        return;
      }
      if (busy) era++;
      else void lose();
      connection.connection.stream.destroy();
    };
    // Where it was we who were late, the answer is there already, and is read before this.
    const wake = () => void setImmediate(doubt);
    let timer = setTimeout(wake, limits.silence);
    try {
      return await asked();
    } catch (error) {
      if (endsConnection(error)) broken.add(connection);
      if (isStale(error)) statements.outdate();
      // It may take some on a new connection, since whether it does is decided when one is made: this one goes after its work.
      if (takesNoChanges(error)) eras.delete(connection);
      throw error;
    } finally {
      answered = true;
      clearTimeout(timer);
    }
  };

  const txOn = (connection: Connection, longest: number): Tx => {
    const ask = (statement: Sql): Promise<pg.QueryArrayResult<unknown[]>> => {
      const text = textOf(statement);
      const named = pooled ? {} : { name: statements.nameOn(connection, text) };
      const query = { text, values: statement.values as unknown[], rowMode: 'array' as const, ...named };
      return attended(connection, longest, () => connection.query(query));
    };
    return {
      rows: async <R extends Row>(statement: Sql) => (await ask(statement)).rows as unknown as R[],
      row: async <R extends Row>(statement: Sql) => (await ask(statement)).rows[0] as unknown as R | undefined,
      run: async statement => (await ask(statement)).rowCount ?? 0,
      script: async text => void (await attended(connection, longest, () => connection.query(text))),
    };
  };

  /** Work in a transaction of its own, once. A connection that may be in the middle of something is not used again. */
  const once = async <T>(beginning: string, work: (tx: Tx) => Promise<T>, kind: Kind): Promise<T> => {
    const connection = await connect();
    const longest = kind === 'schema' ? Number.POSITIVE_INFINITY : limits.statement + limits.silence;
    const say = (text: string) => attended(connection, longest, () => connection.query(text));
    let committing = false;
    let settled = false;
    try {
      const begun = say(beginning);
      begun.catch(() => {});
      try {
        // What is only read may go out with the beginning; what is written must not go out without one.
        if (kind !== 'read') await begun;
        const result = await work(txOn(connection, longest));
        await begun;
        committing = true;
        const { command } = await say('commit');
        settled = true;
        // It is how the database says that a statement had failed before, whoever did not listen.
        if (kind !== 'read' && command !== 'COMMIT')
          throw new Error('nothing was committed, since a statement had failed');
        return result;
      } catch (late) {
        const error = await begun.then(
          () => late,
          early => early,
        );
        if (broken.has(connection))
          throw committing && kind === 'write'
            ? new Unavailable('gone', outcomeUnknown, { cause: error, hopeless: outcomeUnknownAtStart })
            : new Lost(error);
        // Whatever becomes of the connection, what is told is what became of the work.
        settled = await say('rollback').then(
          () => true,
          () => false,
        );
        throw error;
      }
    } finally {
      connection.release(!settled);
    }
  };

  /** Statements that are transactions by themselves. */
  const glance = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const connection = await connect();
    const { rows, row } = txOn(connection, limits.statement + limits.silence);
    const refused = () => Promise.reject(new Error('a look changes nothing'));
    try {
      return await work({ rows, row, run: refused, script: refused });
    } catch (error) {
      throw broken.has(connection) ? new Lost(error) : error;
    } finally {
      connection.release(broken.has(connection));
    }
  };

  /** Begins again what was undone through nobody's fault: in the way of others, or its connection lost before the commit. */
  const persistently = async <T>(attempt: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++)
      try {
        return await attempt();
      } catch (error) {
        const isLost = error instanceof Lost;
        if (!(isLost || isInTheWay(error)) || tries === mostAttempts || lost)
          throw isLost ? unreached(error.cause) : error;
        retries++;
        await sleep(Math.random() * 5 * 2 ** tries);
      }
  };

  /** What fails for want of a database is told as such, and counted. */
  const counted = <T>(work: Promise<T>): Promise<T> =>
    work.catch(error => {
      const reason = translated(error);
      if (reason) failures[reason.reason]++;
      throw reason ?? error;
    });

  const begin = (mode: string) => `begin isolation level ${mode};${pooled ? localSettings : ''}`;
  const beginRead = begin('repeatable read read only');
  /** Whoever has waited long for its turn among the changes of this server waits the less for those of others. */
  const beginWrite = (waited: number): string => {
    const left = Math.ceil(Math.max(limits.turn - waited, limits.leastLock));
    const shorter = left < limits.lock ? ` set local lock_timeout = ${left};` : '';
    return `${begin('serializable')}${shorter} lock table write_turns in exclusive mode`;
  };

  // One turn at a time here too: changes that wait for theirs must not hold the connections that reads need.
  const line = new Line<Change>(
    (changes, waited) =>
      persistently(() =>
        once(beginWrite(waited), together(changes, { longest: limits.together, failsAll: isInTheWay }), 'write'),
      ),
    { most: mostWaiting, patience: limits.turn },
  );

  return {
    engine: 'postgres',
    read: work => counted(persistently(() => once(beginRead, work, 'read'))),
    // Through a pooler, it is the transaction that has the limits.
    look: work => counted(persistently(() => (pooled ? once(beginRead, work, 'read') : glance(work)))),
    write: work => counted(line.inTurn(work)),
    alone: (work, waiting) => aloneOn((beginning, work) => once(beginning, work, 'schema'), work, waiting),
    figures: () => ({
      open: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount + line.length,
      most: connections,
      failures: { ...failures },
      retries,
    }),
    close: async () => {
      closed = true;
      // A database that stands still does not even say goodbye.
      await Promise.race([pool.end(), sleep(limits.connect, undefined, { ref: false })]);
    },
  };
};

const gone = (): Unavailable => new Unavailable('gone', 'The database does not answer.');

const outcomeUnknown =
  'The database was lost while it took the change. Read before you try again: the change may have been made.';

/** A start makes tokens that are shown once: it must not guess whether they were made. */
const outcomeUnknownAtStart =
  'it was lost while the first tokens were made; start again, with --new-admin-token if no token is printed then';

/** With the files that it names, read once. The modes of TLS are those of PostgreSQL's own tools. */
const addressIn = (url: string): pg.ClientConfig => {
  try {
    return toClientConfig(parse(url, { useLibpqCompat: /[?&]sslmode=/.test(url) }));
  } catch (error) {
    const { syscall, path, message } = error as NodeJS.ErrnoException;
    const reason = syscall === 'open' ? `${path} cannot be read` : message;
    throw new StartFault(`cannot open the database ${shownUrl(url)}: ${reason}`);
  }
};

const textOf = ({ chunks }: Sql): string => {
  const known =
    texts.get(chunks) ?? chunks.reduce((text, chunk, index) => (index === 0 ? chunk : `${text}$${index}${chunk}`), '');
  texts.set(chunks, known);
  return known;
};

const texts = new WeakMap<Sql['chunks'], string>();
