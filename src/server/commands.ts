/** What the program does to a database beside serving it; each command is loaded only when it is called. */

import { StartFault } from '../store/store.ts';
import type { Settings } from './settings.ts';

type Run = (settings: Settings, args: readonly string[]) => Promise<void>;

type Command = {
  /** Its words, and the names of its arguments in capitals. */
  readonly usage: string;
  readonly help: string;
  readonly load: () => Promise<Run>;
};

export const commands: readonly Command[] = [
  {
    usage: 'migrate',
    help: 'bring the database to the schema of this version',
    load: async () => (await import('./migrate.ts')).runMigrate,
  },
  {
    usage: 'audit verify',
    help: 'recompute the audit trail: exit code 0 when it is whole, 1 when it is not, 2 when that cannot be told',
    load: async () => (await import('./audit-verify.ts')).runAuditVerify,
  },
  {
    usage: 'backup FILE',
    help: 'copy an SQLite database as it is now, whether or not a server is writing to it',
    load: async () => (await import('./backup.ts')).runBackup,
  },
  {
    usage: 'restore FILE',
    help: 'put a backup in the place of the SQLite database, which is kept aside',
    load: async () => (await import('./restore.ts')).runRestore,
  },
];

const isArgument = (word: string): boolean => /^[A-Z]+$/.test(word);

/** What these words ask for; undefined where there are none, which is to serve. */
export const commandOf = (words: readonly string[]): ((settings: Settings) => Promise<void>) | undefined => {
  if (words.length === 0) return undefined;
  for (const { usage, load } of commands) {
    const wanted = usage.split(' ');
    const named = wanted.filter(word => !isArgument(word));
    if (!named.every((word, index) => words[index] === word)) continue;
    if (words.length !== wanted.length) throw new StartFault(`the command is: bailiwick ${usage}`);
    return async settings => (await load())(settings, words.slice(named.length));
  }
  const near = commands.filter(({ usage }) => usage.startsWith(`${words[0]} `)).map(({ usage }) => usage);
  const hint = near.length > 0 ? `there is: bailiwick ${near.join(', bailiwick ')}` : '--help lists them';
  throw new StartFault(`there is no such command; ${hint}`);
};
