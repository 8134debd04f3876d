/** `bailiwick restore FILE`: a backup in the place of the database, which is kept aside. */

import { chmodSync, copyFileSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { alsoName, fileOf, flawOf, own, reasonOf, sizeOf, syncFile, syncFolder } from '../store/sqlite-file.ts';
import { StartFault } from '../store/store.ts';
import type { Settings } from './settings.ts';

export const runRestore = async ({ database }: Settings, [file = '']: readonly string[]): Promise<void> => {
  const given = fileOf(database);
  if (!existsSync(file)) throw new StartFault(`there is no ${file} to restore`);
  if (existsSync(given) && realpathSync(given) === realpathSync(file))
    throw new StartFault(`${file} is the database itself`);
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0)
    throw new StartFault(`${file} is no backup but a database in use: what was written last is in ${file}-wal`);
  const { path, release } = owned(given, database);
  const partial = `${path}.restoring`;
  try {
    // Checked where it will stand: what is good cannot become something else on the way.
    copyFileSync(file, partial);
    // A copy has the mode of what it is copied from.
    chmodSync(partial, 0o600);
    const flaw = flawOf(partial);
    if (flaw !== undefined) throw new StartFault(`${file} cannot be restored: ${flaw}`);
    syncFile(partial);
    const aside = existsSync(path) ? putAside(path) : undefined;
    renameSync(partial, path);
    syncFolder(dirname(path));
    process.stdout.write(
      [
        `Restored ${database} from ${file}, which has ${sizeOf(path)} and was checked`,
        aside === undefined ? 'There was no database before' : `The database of before is kept as ${aside}`,
        'Tokens and access that were taken away since the backup was made are in force again: look them through',
        'Start the server as ever; it brings the schema up to date',
        '',
      ].join('\n'),
    );
  } catch (error) {
    if (error instanceof StartFault) throw error;
    throw new StartFault(`cannot restore ${database} from ${file}: ${reasonOf(error)}`);
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${partial}${end}`, { force: true });
    release();
  }
};

/** The file itself, which no server has open, nor can open until it is released. */
const owned = (given: string, database: string): { readonly path: string; readonly release: () => void } => {
  try {
    if (!existsSync(dirname(given))) mkdirSync(dirname(given));
    const release = own(given);
    return { path: existsSync(given) ? realpathSync(given) : given, release };
  } catch (error) {
    const reason = reasonOf(error);
    const hint = reason.startsWith('another process') ? ': stop the server first' : '';
    throw new StartFault(`cannot restore ${database}: ${reason}${hint}`);
  }
};

/** Gives the database another name beside its own, which the backup takes over in one step: at no time is there none. */
const putAside = (path: string): string => {
  const stamp = new Date().toISOString().replace(/[-:.]/g, '');
  const aside = `${path}.before-restore-${stamp}`;
  settle(path);
  alsoName(path, aside);
  // What could not be settled goes along; what is left of it would be taken for the backup's.
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${aside}-wal`);
  rmSync(`${path}-shm`, { force: true });
  return aside;
};

/** Brings what was written last into the file itself; one that is damaged is put aside as it is. */
const settle = (path: string): void => {
  try {
    const database = new DatabaseSync(path, { timeout: 1000 });
    try {
      database.exec('pragma wal_checkpoint(truncate)');
    } finally {
      database.close();
    }
  } catch {
    // It is replaced: nothing of it has to be good.
  }
};
