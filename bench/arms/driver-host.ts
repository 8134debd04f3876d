/** The smallest statement there is, through the driver: what any statement costs before it does anything. */

import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { host, type Works } from './hosted.ts';

host(async ({ url }: { readonly url?: string }): Promise<Works> => {
  if (url !== undefined) {
    const client = new pg.Client(url);
    await client.connect();
    return { 'show one': () => client.query({ name: 'one', text: 'select 1', rowMode: 'array' }) };
  }
  const one = new DatabaseSync(':memory:').prepare('select 1');
  one.setReturnArrays(true);
  return { 'show one': () => one.get() };
});
