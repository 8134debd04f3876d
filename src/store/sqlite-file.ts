/** An SQLite database as a file: who owns it, whether it is one of ours and whole, and how it gets its name. */

import { closeSync, existsSync, fsyncSync, linkSync, openSync, realpathSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { compared, migrationNames, reasonTooNew } from './migrations.ts';
import { StartFault } from './store.ts';

export const inMemory = ':memory:';

/** The file behind a database's URL; a command that is about files has no use for any other. */
export const fileOf = (database: string): string => {
  const path = database.replace(/^sqlite:/, '');
  if (path === inMemory) throw new StartFault('a database in memory has no file: --database names one that has');
  if (path !== database) return path;
  throw new StartFault(
    'this command is for SQLite; for PostgreSQL, docs/operations.md tells how to use pg_dump and pg_restore, its own tools',
  );
};

/** The file itself, whatever links lead to it, so that it has one lock. */
const realPath = (path: string): string =>
  existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));

/**
 * Owns a database until released, or until the process ends in whatever way: nobody else can own it meanwhile, though
 * others may read. The lock is one on an empty file beside it, which stays: removed, two could own one each.
 */
export const own = (path: string): (() => void) => {
  if (path === inMemory) return () => {};
  const lock = new DatabaseSync(`${realPath(path)}-lock`, { timeout: 1000 });
  try {
    lock.exec('pragma journal_mode = memory');
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    throw error;
  }
  return () => lock.close();
};

export const reasonOf = (error: unknown): string => {
  const { message, code } = error as NodeJS.ErrnoException;
  if (message === 'database is locked') return 'another process has it open';
  if (code === 'ENOENT') return 'the folder above it does not exist';
  if (code === 'ENOSPC' || message === 'database or disk is full') return 'the disk is full';
  const unwritable =
    ['EACCES', 'EPERM', 'EROFS'].includes(code ?? '') || /unable to open|readonly|disk I\/O/.test(message);
  return unwritable ? 'the file or its folder cannot be written' : message;
};

const notOurs = 'it is not a database of Bailiwick';

/** What keeps a file from being served, if anything: it is none of ours, it is damaged, or it is of a later time. */
export const flawOf = (path: string): string | undefined => {
  const database = new DatabaseSync(path);
  try {
    const [state] = database.prepare('pragma integrity_check(1)').all();
    if (state?.integrity_check !== 'ok') return `it is damaged: ${state?.integrity_check}`;
    if (!database.prepare("select 1 from sqlite_schema where name = 'schema_migrations'").get()) return notOurs;
    const [stray] = database.prepare('pragma foreign_key_check').all();
    if (stray) return `it is damaged: a row of ${stray.table} refers to one of ${stray.parent} that is not there`;
    const applied = database.prepare('select name from schema_migrations order by name').all();
    return reasonTooNew(
      compared(
        applied.map(({ name }) => `${name}`),
        migrationNames(),
      ),
    );
  } catch (error) {
    const { errcode = 0, message } = error as Error & { errcode?: number };
    if (errcode === notADatabase) return notOurs;
    return `it is damaged: ${message}`;
  } finally {
    database.close();
  }
};

const notADatabase = 26;

const synced = (path: string, flags: 'r' | 'r+'): void => {
  const file = openSync(path, flags);
  fsyncSync(file);
  closeSync(file);
};

/** What is in the file outlives a power cut. */
export const syncFile = (path: string): void => synced(path, 'r+');

/** And so do the names in the folder; Windows keeps those by itself. */
export const syncFolder = (path: string): void => {
  if (process.platform !== 'win32') synced(path, 'r');
};

/** A second name for a file, never that of another; where the file system has no such thing, its only name. */
export const alsoName = (path: string, name: string): void => {
  try {
    linkSync(path, name);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code) || existsSync(name)) throw error;
    renameSync(path, name);
  }
};

export const sizeOf = (path: string): string => `${(statSync(path).size / 1024 / 1024).toFixed(1)} MiB`;
