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
  /** Sees one committed state throughout. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** All or nothing: what `work` writes is durable when the promise resolves, and undone when it rejects. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

/** A start that cannot succeed; its message is the one line that the user reads, after the details if there are any. */
export class StartFault extends Error {
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}
