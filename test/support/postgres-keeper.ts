/**
 * Ends a PostgreSQL and removes its folder as soon as whoever started it closes the pipe, or dies, however it dies.
 * What comes through the pipe is the process id of the server, line by line as it is started and stopped (0).
 */

import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { childrenOf, gone, signal } from './processes.ts';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('which folder?');

let pid = 0;
for await (const line of createInterface({ input: process.stdin })) pid = Number(line);

if (pid) {
  const family = [pid, ...childrenOf(pid)];
  // The server itself gives back what it has of the system; it may have been frozen.
  signal(pid, 'SIGQUIT');
  for (const member of family) signal(member, 'SIGCONT');
  if (!(await gone(family, 5000))) for (const member of family) signal(member, 'SIGKILL');
  await gone(family, 1000);
}
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
