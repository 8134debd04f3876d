/** `bailiwick backup FILE`: the database as it is at this moment, in one file, while writes go on. */

import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { alsoName, fileOf, flawOf, reasonOf, sizeOf, syncFile, syncFolder } from '../store/sqlite-file.ts';
import { StartFault } from '../store/store.ts';
import type { Settings } from './settings.ts';

export const runBackup = async ({ database }: Settings, [file = '']: readonly string[]): Promise<void> => {
  const path = fileOf(database);
  if (!existsSync(path)) throw new StartFault(`there is no database ${database} to back up`);
  if (existsSync(file)) throw new StartFault(`${file} exists, and a backup overwrites nothing: choose another name`);
  if (!existsSync(dirname(file))) throw new StartFault(`cannot write ${file}: the folder above it does not exist`);
  // It gets its name when it is whole: one that was cut off cannot be taken for a backup.
  const partial = `${file}.partial-${process.pid}`;
  try {
    process.stdout.write(`Copying ${database}, which has ${sizeOf(path)}\n`);
    copy(path, partial);
    const flaw = flawOf(partial);
    if (flaw !== undefined) throw new StartFault(`${database} cannot be backed up: ${flaw}`);
    syncFile(partial);
    alsoName(partial, file);
    rmSync(partial, { force: true });
    syncFolder(dirname(file));
  } catch (error) {
    if (error instanceof StartFault) throw error;
    throw new StartFault(`cannot back up ${database} to ${file}: ${reasonOf(error)}`);
  } finally {
    rmSync(partial, { force: true });
  }
  process.stdout.write(`Backed up to ${file}, which has ${sizeOf(file)} and was checked\n`);
};

/** One statement sees one state, and ends however much is written meanwhile; a copy page by page would start again. */
const copy = (path: string, to: string): void => {
  // Not as one that may only read, which would leave its own files behind where no server runs.
  const source = new DatabaseSync(path, { timeout: 5000 });
  try {
    source.prepare('vacuum into ?').run(to);
  } finally {
    source.close();
  }
};
