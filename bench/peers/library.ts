/** The libraries that are measured beside us: in a folder of their own, installed when they are needed. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../conformance/processes.ts';

const here = import.meta.dirname;

const read = (...path: string[]) =>
  JSON.parse(readFileSync(join(here, ...path), 'utf8')) as {
    readonly version?: string;
    readonly dependencies?: Readonly<Record<string, string>>;
  };

const { dependencies: wanted = {} } = read('package.json');

const isInstalled = (): boolean => {
  try {
    return Object.entries(wanted).every(
      ([name, version]) => read('node_modules', name, 'package.json').version === version,
    );
  } catch {
    return false;
  }
};

/** From the lock file; what is given is the reason why it could not be. */
export const install = async (say: (text: string) => void): Promise<string | undefined> => {
  if (isInstalled()) return undefined;
  say('installing the libraries of bench/peers');
  const { code, stderr } = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here }).catch(
    () => ({ code: 1, stderr: 'there is no "npm" in the path' }),
  );
  return code === 0 ? undefined : `not installed: ${stderr.trim().split('\n').at(-1)}`;
};

/** The name is no literal, so that nothing has to be installed for the types to be checked. */
export const library = async <T>(name: string): Promise<T> => await import(name);

export const versionOf = (name: string): string => wanted[name] ?? 'unknown';
