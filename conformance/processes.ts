/** Child processes, every one of which is stopped when the run ends. */

import { type ChildProcess, spawn } from 'node:child_process';

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type Options = {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds after which the process is stopped. */
  readonly limit?: number;
};

/** The command is not there. */
export class NoCommand extends Error {}

const children = new Set<ChildProcess>();

/** Starts a process in a group of its own, so that those that it starts in turn end with it. */
export const start = (command: string, args: readonly string[], { cwd, env }: Options = {}): ChildProcess => {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
};

/** Waits for a process to end and gives what it printed. */
export const run = (command: string, args: readonly string[], options: Options = {}): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const child = start(command, args, options);
    const printed = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.setEncoding('utf8').on('data', text => {
        printed[stream] += text;
      });
    const timer = setTimeout(() => stop(child, 'SIGKILL'), options.limit ?? 15 * 60_000);
    child.once('error', error => {
      clearTimeout(timer);
      children.delete(child);
      reject('code' in error && error.code === 'ENOENT' ? new NoCommand(command) : error);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (signal) printed.stderr += `\n${command} was ended by ${signal}`;
      resolve({ code: code ?? 1, ...printed });
    });
  });

/** Stops a process that was started here, with its group. */
export const stop = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It ended in the meantime.
  }
};

/** Stops whatever still runs: politely, and after a while by force. */
export const stopAll = async (): Promise<void> => {
  for (const child of children) stop(child, 'SIGTERM');
  const end = Date.now() + 10_000;
  while (children.size > 0 && Date.now() < end) await new Promise(resolve => setTimeout(resolve, 20));
  for (const child of children) stop(child, 'SIGKILL');
};
