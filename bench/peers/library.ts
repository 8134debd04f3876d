/** The libraries that are measured beside us: in a folder of their own, installed when they are needed. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../conformance/processes.ts';

const here = import.meta.dirname;

export const installed = (): boolean => existsSync(join(here, 'node_modules', '.package-lock.json'));

/** Of the lock file, and undefined or a reason why there is nothing. */
export const install = async (say: (text: string) => void): Promise<string | undefined> => {
  if (installed()) return undefined;
  say('installing the libraries of bench/peers');
  const { code, stderr } = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here }).catch(
    () => ({ code: 1, stderr: 'there is no "npm" in the path' }),
  );
  return code === 0 ? undefined : `not installed: ${stderr.trim().split('\n').at(-1)}`;
};

/** The name is no literal, so that nothing has to be installed for the types to be checked. */
export const library = async <T>(name: string): Promise<T> => await import(name);

export const versionOf = (name: string): string => {
  const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return dependencies[name] ?? 'unknown';
};
