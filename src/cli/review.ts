/** Everything at once: passed on as it comes, however long it is. */

import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Readable, Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, type Context, exit } from './command.ts';
import { csvRows } from './csv.ts';
import { Failure } from './fault.ts';
import { queryOf, reasonOf } from './server.ts';
import { clean, cleanLines } from './text.ts';

/** Without the apostrophe that keeps a spreadsheet from taking it for a formula. */
const shown = (cell: string): string => clean(cell.replace(/^'(?=\s*[=+\-@＝＋－＠])/u, ''));

/** A heading for each user and each project, and a line for each permission. */
async function* forPeople(incoming: IncomingMessage): AsyncGenerator<string> {
  let [user, project]: (string | undefined)[] = [];
  let isHead = true;
  for await (const row of csvRows(incoming.setEncoding('utf8'))) {
    const [userId, username = '', email = '', projectId, name = '', permission = '', value = '', origins = ''] = row;
    if (!isHead) {
      if (userId !== user) yield `${user === undefined ? '' : '\n'}${`${shown(username)} <${shown(email)}>`}\n`;
      if (userId !== user || projectId !== project) yield `  ${shown(name)}\n`;
      yield `    ${permission.padEnd(34)}${value.padEnd(14)}${shown(origins)}\n`;
      [user, project] = [userId, projectId];
    }
    isHead = false;
  }
}

/** A terminal gets no control characters; a file and a program get every byte. */
const forTerminals = () =>
  new Transform({
    decodeStrings: false,
    transform: (chunk: Buffer, _encoding, done) => done(null, cleanLines(chunk.toString('utf8'))),
  });

/** A file that is there is whole: it takes its name when it is. */
const intoFile = async (source: Readable, file: string): Promise<void> => {
  const part = `${file}.part`;
  try {
    await pipeline(source, createWriteStream(part, { mode: 0o600 }));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    const { syscall, code } = error as NodeJS.ErrnoException;
    throw syscall === 'open' || syscall === 'rename' ? new Failure(`${file} cannot be written: ${code}`) : error;
  }
};

const intoOutput = async (source: Readable, isRaw: boolean): Promise<void> => {
  const steps = isRaw && process.stdout.isTTY ? [forTerminals()] : [];
  await pipeline([source, ...steps, process.stdout as Writable], { end: false });
};

export const review: Command = {
  name: 'review',
  usage: '[--csv] [--output FILE] [--user NAME] [--project NAME]',
  help: 'what every member may do on every project, and why; for owners',
  more: [
    'With --json it is the JSON:API document. A file is written under its name when it is whole.',
    'Exit code 0 where it is whole, 2 where it is not.',
  ],
  flags: [
    { flag: 'csv', help: 'as CSV, for a spreadsheet' },
    { flag: 'output', value: 'FILE', help: 'write it to a file' },
    { flag: 'user', value: 'NAME', help: 'of this member alone, by username, e-mail or id' },
    { flag: 'project', value: 'NAME', help: 'on this project alone, by name or id' },
  ],
  words: [0, 0],
  run: async ({ server, names, options, remark }: Context) => {
    const isJson = options.isOn('json');
    const isCsv = options.isOn('csv');
    if (isJson && isCsv) throw new Failure('give --csv or --json, not both');
    const [user, project] = [options.get('user'), options.get('project')];
    const query = queryOf({
      'filter[user][id]': user && (await names.user(user)).id,
      'filter[project][id]': project && (await names.project(project)).id,
    });
    const path = `/api/v2/organizations/${encodeURIComponent(await names.organization())}/access-review?${query}`;
    const incoming = await server.open('GET', path, { ...(!isJson && { accept: 'text/csv' }) });
    const isRaw = isJson || isCsv;
    const source = isRaw ? incoming : Readable.from(forPeople(incoming));
    const file = options.get('output');
    try {
      await (file === undefined ? intoOutput(source, isRaw) : intoFile(source, file));
    } catch (error) {
      if (error instanceof Failure || (error as NodeJS.ErrnoException).code === 'EPIPE') throw error;
      throw new Failure(`the review was cut before its end, and is not whole: ${reasonOf(error as Error)}`);
    }
    const first = incoming.headers['bailiwick-revision'];
    const last = incoming.trailers['bailiwick-last-revision'];
    if (last !== undefined && first !== last)
      remark(
        `the organization was changed meanwhile (revision ${first} to ${last}): the rows are not all of one moment`,
      );
    return exit.yes;
  },
};
