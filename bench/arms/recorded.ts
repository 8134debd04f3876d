/** The statements that our server sends for an operation. */

import { openStore } from '../../src/store/open.ts';
import type { Sql, Value } from '../../src/store/sql.ts';
import { type Entry, recording } from '../../test/support/recording.ts';
import { startServer } from '../../test/support/server.ts';
import { callsOf, type Operation } from '../operations.ts';
import type { World } from '../world/plan.ts';
import { asked, requestOf } from './requests.ts';

export type Statement = { readonly text: string; readonly values: readonly Value[] };

/** Both engines take `$1`; here SQLite gets what its engine gives it. */
const written = (isPostgres: boolean, { chunks, values }: Sql): Statement => ({
  text: isPostgres
    ? chunks.reduce((text, chunk, index) => (index === 0 ? chunk : `${text}$${index}${chunk}`), '')
    : chunks.join('?'),
  values: [...values],
});

/** For each of so many requests, its statements; the database is in nobody else's hands, and then free again. */
export const recordedOf = async (
  url: string,
  world: World,
  operations: readonly Operation[],
  count: number,
): Promise<ReadonlyMap<Operation, readonly (readonly Statement[])[]>> => {
  const log: Entry[] = [];
  const server = await startServer({ store: recording(await openStore(url, {}), log) });
  const port = Number(new URL(server.url).port);
  const recorded = new Map<Operation, Statement[][]>();
  for (const operation of operations) {
    const all: Statement[][] = [];
    for (const call of callsOf(world, operation).slice(0, count)) {
      log.length = 0;
      const { status, text } = await asked(port, requestOf(call));
      if (status > 299) throw new Error(`${operation}: answered ${status} ${text}`);
      all.push(log.flatMap(({ statements }) => statements).map(each => written(url.startsWith('postgres'), each)));
    }
    recorded.set(operation, all);
  }
  await server.close();
  return recorded;
};
