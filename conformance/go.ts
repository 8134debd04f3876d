/** Programs that are built from their Go modules, outside the repository, and kept. */

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { NoCommand, run } from './processes.ts';

/** A fault that is told in one line. */
export class Fault extends Error {}

/** The registry does not have a version, or does not hand it out. */
export class Refused extends Fault {}

const environment = { CGO_ENABLED: '0', GOWORK: 'off' };
const oldest = [1, 26] as const;

export const cacheOf = (what: string): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'bailiwick', what);

/** Asked for in the module's folder, where a Go that is older than it needs gets a newer one if it can. */
export const goVersion = async (who: string, folder: string): Promise<string> => {
  const needed = `${who}: needs Go ${oldest.join('.')} or newer`;
  const { code, stdout, stderr } = await run('go', ['env', '-C', folder, 'GOVERSION']).catch(error => {
    throw error instanceof NoCommand ? new Fault(`${needed}, and there is no "go" in the path`) : error;
  });
  if (code !== 0) throw new Fault(`${needed}: ${stderr.trim()}`);
  const [major = 0, minor = 0] = stdout.trim().replace(/^go/, '').split('.').map(Number);
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    throw new Fault(`${needed}, and this is ${stdout.trim()}`);
  return stdout.trim();
};

export const go = async (args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await run('go', args, { env: environment });
  if (code !== 0) throw new Fault(`go ${args[0]} ${args[1]} failed: ${stderr.trim() || stdout.trim()}`);
  return stdout;
};

/** Where the source of a module is after it was downloaded. */
export const download = async (module: string): Promise<string> => {
  const { stdout, stderr } = await run('go', ['mod', 'download', '-json', module], { env: environment });
  const { Dir: folder, Error: fault = stderr } = JSON.parse(stdout || '{}');
  if (folder) return folder;
  throw new (/: (403|404|410) /.test(fault) ? Refused : Fault)(`go mod download ${module} failed: ${fault.trim()}`);
};

/** The binary of that name, built if it is not there yet. */
export const keptIn =
  (cache: string) =>
  async (name: string, say: (text: string) => void, build: (target: string) => Promise<unknown>): Promise<string> => {
    const folder = join(cache, 'bin');
    const binary = join(folder, process.platform === 'win32' ? `${name}.exe` : name);
    if (existsSync(binary)) return binary;
    say(`building ${name}`);
    mkdirSync(folder, { recursive: true });
    const unfinished = `${binary}.${process.pid}`;
    try {
      await build(unfinished);
      renameSync(unfinished, binary);
    } finally {
      rmSync(unfinished, { force: true });
    }
    return binary;
  };
