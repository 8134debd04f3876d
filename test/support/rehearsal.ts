import type { Store, Tx } from '../../src/store/store.ts';

/** A store with rehearsals: what is written in one is seen by what follows in it, and undone at its end. */
export type Rehearsing = Store & { rehearse<T>(work: () => Promise<T>): Promise<T> };

/** One request after the other in a rehearsal: they all share its transaction. */
export const rehearsing = (store: Store): Rehearsing => {
  let stage: Tx | undefined;
  const curtain = new Error('the end of the rehearsal');

  const scene = async <T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> => {
    await tx.script('savepoint scene');
    try {
      return await work(tx);
    } catch (error) {
      await tx.script('rollback to scene');
      throw error;
    } finally {
      await tx.script('release scene');
    }
  };

  return {
    ...store,
    read: work => (stage ? work(stage) : store.read(work)),
    look: work => (stage ? work(stage) : store.look(work)),
    write: work => (stage ? scene(stage, work) : store.write(work)),
    rehearse: async <T>(work: () => Promise<T>): Promise<T> => {
      let outcome: { result: T } | undefined;
      const play = store.write(async tx => {
        stage = tx;
        try {
          outcome = { result: await work() };
        } finally {
          stage = undefined;
        }
        throw curtain;
      });
      await play.catch(error => {
        if (error !== curtain) throw error;
      });
      return (outcome as unknown as { result: T }).result;
    },
  };
};
