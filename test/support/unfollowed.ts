/**
 * Loaded before a test file. Node's test runner follows every promise, to tell which test an error that nobody caught
 * belongs to; that took a fifth of the suite's time. Such an error ends the file at once instead, with its stack.
 */

import hooks from 'node:async_hooks';
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';

const { createHook } = hooks;
const idle: ReturnType<typeof createHook> = { enable: () => idle, disable: () => idle };
Object.assign(hooks, { createHook: () => idle });
await import('node:test');
Object.assign(hooks, { createHook });

for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, error => {
    writeSync(2, `${event}: ${inspect(error)}\n`);
    process.exit(1);
  });
