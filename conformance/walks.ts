/** The walks of the Go clients over every operation. */

import { run } from './processes.ts';
import type { Server } from './server.ts';

export type WalkRow = {
  readonly client: string;
  readonly family: string;
  readonly operation: string;
  readonly check: string;
  /** Whether the request is one that we address ourselves, for want of a method. */
  readonly byAddress: boolean;
  readonly ok: boolean;
  readonly detail: string;
};

export const walk = async (name: string, binary: string, server: Server): Promise<WalkRow[]> => {
  const { code, stdout, stderr } = await run(binary, [], {
    env: { BAILIWICK_ADDRESS: server.address, BAILIWICK_TOKEN: server.token, SSL_CERT_FILE: server.certificate },
    limit: 3 * 60_000,
  });
  const rows: WalkRow[] = stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));
  if (rows.length === 0 || (code !== 0 && rows.every(row => row.ok)))
    rows.push({
      client: name,
      family: 'Walk',
      operation: '',
      check: 'the walk itself',
      byAddress: false,
      ok: false,
      detail: stderr.trim() || `it ended with code ${code}`,
    });
  return rows;
};
