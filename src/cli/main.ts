/** `bailiwick access`: questions to a running server, over HTTP. */

import { audit } from './audit.ts';
import { type Command, type Exit, exit } from './command.ts';
import { diff } from './diff.ts';
import { explain } from './explain.ts';
import { Failure } from './fault.ts';
import { Names } from './names.ts';
import { helpOfFlags, Options } from './options.ts';
import { review } from './review.ts';
import { Server } from './server.ts';
import { clean, cleanLines } from './text.ts';
import { whatCan } from './what-can.ts';
import { whoCan } from './who-can.ts';

const commands: readonly Command[] = [explain, whoCan, whatCan, review, diff, audit];

const widest = Math.max(...commands.map(({ name }) => name.length)) + 2;

const helpOfAll = (): string =>
  [
    'Usage: bailiwick access COMMAND [FLAG ...]',
    '',
    'Asks a running server who may do what, where, and why:',
    '',
    ...commands.map(({ name, help }) => `  ${name.padEnd(widest)}${help}`),
    '',
    'bailiwick access COMMAND --help tells more. Every command takes:',
    '',
    ...helpOfFlags([]),
    '',
    'Exit code 0: yes, found, no difference; 1: no, nobody, a difference; 2: it could not be told.',
    '',
  ].join('\n');

const helpOf = ({ name, usage, help, more = [], flags }: Command): string =>
  [
    `Usage: bailiwick access ${name} ${usage}`,
    '',
    `${help[0]?.toUpperCase()}${help.slice(1)}.`,
    ...more,
    '',
    ...helpOfFlags(flags),
    '',
  ].join('\n');

const run = async (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Exit> => {
  const print = (text: string): void => void process.stdout.write(text);
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    (name === undefined ? process.stderr : process.stdout).write(helpOfAll());
    return name === undefined ? exit.unknown : exit.yes;
  }
  const command = commands.find(each => each.name === name);
  if (!command)
    throw new Failure(`there is no command '${name}'; there are ${commands.map(({ name }) => name).join(', ')}`);
  const options = new Options(rest, command.flags, environment);
  if (options.isOn('help')) {
    print(helpOf(command));
    return exit.yes;
  }
  const [least, most] = command.words;
  const count = options.words.length;
  if (count < least || count > most) throw new Failure(`the command is: bailiwick access ${name} ${command.usage}`);
  const server = new Server(options);
  const remark = (text: string): void => void process.stderr.write(`bailiwick: ${clean(text)}\n`);
  try {
    return await command.run({ server, names: new Names(server, options), options, print, remark });
  } finally {
    server.close();
  }
};

const isBrokenPipe = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EPIPE';

/** Gives its exit code to the process, which ends when all is printed. */
export const main = async (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> => {
  // Whoever reads no further, as head does, has what it wanted.
  process.stdout.on('error', error => process.exit(isBrokenPipe(error) ? exit.yes : exit.unknown));
  try {
    process.exitCode = await run(args, environment);
  } catch (error) {
    if (isBrokenPipe(error)) return;
    process.exitCode = exit.unknown;
    const { message, details = [] } = error as Partial<Failure> & Error;
    const reason = error instanceof Failure ? message : `the server's answer is not as expected: ${message}`;
    process.stderr.write(details.map(line => `${clean(line)}\n`).join(''));
    process.stderr.write(`bailiwick: ${cleanLines(reason).replace(/\s+/g, ' ')}\n`);
  }
};
