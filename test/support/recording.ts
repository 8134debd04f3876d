import type { Sql } from '../../src/store/sql.ts';
import type { Store, Tx } from '../../src/store/store.ts';

export type Entry = { readonly kind: 'read' | 'look' | 'write'; readonly statements: Sql[] };

/** A store that keeps every statement, piece of work by piece of work; `before` may fail one of them. */
export const recording = (store: Store, log: Entry[], before: (statement: Sql) => void = () => {}): Store => {
  const recorded = (tx: Tx, { statements }: Entry): Tx => {
    const noted =
      <T>(run: (statement: Sql) => Promise<T>) =>
      async (statement: Sql): Promise<T> => {
        statements.push(statement);
        before(statement);
        return run(statement);
      };
    return {
      rows: noted(tx.rows) as Tx['rows'],
      row: noted(tx.row) as Tx['row'],
      run: noted(tx.run),
      script: tx.script,
    };
  };
  const within =
    (kind: Entry['kind']) =>
    <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
      const entry: Entry = { kind, statements: [] };
      log.push(entry);
      return store[kind](tx => work(recorded(tx, entry)));
    };
  return { ...store, read: within('read'), look: within('look'), write: within('write') };
};
