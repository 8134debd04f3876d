/** Whether a database that keeps silent is there, and what it is at work on. */

import pg from 'pg';

/** In milliseconds. */
const patience = 1_500;

/** Whether the database answers on a new connection. */
export const isThere = async (config: pg.ClientConfig): Promise<boolean> => (await busyBackends(config)) !== undefined;

export type Busy = { has(backend: number): boolean };

/** The backends of our role that are at work; undefined where the database does not answer. */
export const busyBackends = async (config: pg.ClientConfig): Promise<Busy | undefined> => {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client({ ...config, connectionTimeoutMillis: patience, query_timeout: patience });
    client.on('error', () => {});
    await client.connect();
    const text = "select pid from pg_stat_activity where usename = current_user and state = 'active'";
    const { rows } = await client.query<[number]>({ text, rowMode: 'array' });
    return new Set(rows.map(([pid]) => pid));
  } catch (error) {
    // No room for one more connection, it says: so it answers, and those that we have may go on.
    return (error as { code?: string }).code?.startsWith('53') ? { has: () => true } : undefined;
  } finally {
    client?.end().catch(() => {});
  }
};
