/** What a command is, and what it is given. */

import type { Names } from './names.ts';
import type { Flag, Options } from './options.ts';
import type { Server } from './server.ts';

/** Yes, something was found, nothing differs; no, nobody, a difference; it could not be told. */
export const exit = { yes: 0, no: 1, unknown: 2 } as const;

export type Exit = (typeof exit)[keyof typeof exit];

export type Context = {
  readonly server: Server;
  readonly names: Names;
  readonly options: Options;
  /** For whoever asked: text for people, or where --json is given a document. */
  readonly print: (text: string) => void;
  /** For people, beside what is printed. */
  readonly remark: (text: string) => void;
};

export type Command = {
  readonly name: string;
  /** Its arguments and its own flags in short. */
  readonly usage: string;
  readonly help: string;
  /** What else there is to say. */
  readonly more?: readonly string[];
  readonly flags: readonly Flag[];
  /** The least and the most of its words. */
  readonly words: readonly [least: number, most: number];
  readonly run: (context: Context) => Promise<Exit>;
};

/** Said of every answer about others than the token. */
export const atLeast = "An owner's token is told all; any other is told what it may see, and there may be more.";

export const placeFlags: readonly Flag[] = [
  { flag: 'project', value: 'NAME', help: 'the project, by name or id' },
  { flag: 'workspace', value: 'NAME', help: 'the workspace, by name or id' },
];

export const subjectFlags: readonly Flag[] = [
  { flag: 'user', value: 'NAME', help: 'a member, by username, e-mail or id' },
  { flag: 'team', value: 'NAME', help: 'a team, by name or id' },
];
