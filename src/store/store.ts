/** What both engines promise. */

import type { Sql, Value } from './sql.ts';

export type Row = readonly Value[];

/** Rows come as arrays, in the order of the selected columns. */
export type Tx = {
  rows<R extends Row>(statement: Sql): Promise<R[]>;
  row<R extends Row>(statement: Sql): Promise<R | undefined>;
  /** The number of rows written. */
  run(statement: Sql): Promise<number>;
  /** Several statements without values, for migrations. */
  script(text: string): Promise<void>;
};

export type Store = {
  readonly engine: 'sqlite' | 'postgres';
  /** Sees one committed state throughout. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** The same for what needs no more than one statement: another would see a state of its own. */
  look<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** All or nothing: what `work` writes is durable when the promise resolves, and undone when it rejects. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A write to the schema, which no other process is allowed meanwhile; `waiting` is told while another has its turn. */
  alone<T>(work: (tx: Tx) => Promise<T>, waiting?: (news: string) => void): Promise<T>;
  figures(): Figures;
  close(): Promise<void>;
};

/** What the engine counts, for the metrics. */
export type Figures = {
  /** Connections that are open, those of them that do nothing, and pieces of work that wait for one. */
  readonly open: number;
  readonly idle: number;
  readonly waiting: number;
  readonly most: number;
  /** Failures since the start, by reason. */
  readonly failures: Readonly<Record<Unavailability, number>>;
  /** Pieces of work that were begun again: in the way of others, or their connection lost. */
  readonly retries: number;
};

/** Why the database could not be asked: it does not answer, too many are asking, or it takes no writes for want of room. */
export type Unavailability = 'gone' | 'busy' | 'full';

/** Nothing is wrong with the request, and it may succeed later. */
export class Unavailable extends Error {
  readonly reason: Unavailability;
  /** Why it makes no sense to wait, where it makes none. */
  readonly hopeless: string | undefined;

  constructor(
    reason: Unavailability,
    message: string,
    options?: ErrorOptions & { readonly hopeless?: string | undefined },
  ) {
    super(message, options);
    this.reason = reason;
    this.hopeless = options?.hopeless;
  }
}

/** A start that cannot succeed; its message is the one line that the user reads, after the details if there are any. */
export class StartFault extends Error {
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}
