/** What others built, on the same data and the same questions: the arms, who is left out and why, and what is not to be had. */

import type { Arm } from '../arm.ts';
import type { Operation } from '../operations.ts';
import type { World } from '../world/plan.ts';
import { enough } from './differences.ts';
import { embedded } from './embedded.ts';
import { inProcess } from './in-process.ts';
import { install, versionOf } from './library.ts';
import { type Ground, openfgaArms, openfgaNames } from './openfga/index.ts';
import { openfgaVersion } from './openfga/server.ts';

export type Needs = {
  readonly world: World;
  /** A folder for the databases of SQLite, which is the caller's to remove. */
  readonly folder: string;
  /** A fresh database, and the processes of its server; without it there is nothing on PostgreSQL. */
  readonly postgres?: Ground['postgres'];
  /** The core that they run on. */
  readonly core?: number;
  /** By name; all of them otherwise. */
  readonly wanted?: (name: string) => boolean;
  /** How many answers are compared before an arm may take part. */
  readonly questions?: number;
  readonly say?: (text: string) => void;
};

export type Peers = {
  readonly arms: readonly Arm[];
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
};

export const peers = async (needs: Needs): Promise<Peers> => {
  const { world, core, wanted = () => true, questions = enough, say = () => {} } = needs;
  const found = new Map<string, Arm | string>();
  const libraries = inProcess.filter(({ name }) => wanted(name));
  const missing = libraries.length > 0 ? await install(say) : undefined;
  for (const peer of libraries) {
    say(`${peer.name}, ${world.size.name}: ${questions} questions before it takes part`);
    found.set(peer.name, missing ?? (await embedded(peer, world, core, questions)));
  }
  for (const engine of ['SQLite', 'PostgreSQL'] as const)
    for (const [name, arm] of await openfgaArms(engine, wanted, { ...needs, questions, say })) found.set(name, arm);
  const entries = [...found];
  return {
    arms: entries.flatMap(([, arm]) => (typeof arm === 'string' ? [] : [arm])),
    leftOut: entries.flatMap(([name, arm]) => (typeof arm === 'string' ? [{ name, reason: arm }] : [])),
  };
};

export const versions = (): Readonly<Record<string, string>> => ({
  OpenFGA: openfgaVersion(),
  casbin: versionOf('casbin'),
  CASL: versionOf('@casl/ability'),
  Cedar: versionOf('@cedar-policy/cedar-wasm'),
});

export type Note = {
  readonly peers: readonly string[];
  readonly operations: readonly Operation[];
  readonly note: string;
};

const [openfga, libraries] = [openfgaNames.map(({ name }) => name), inProcess.map(({ name }) => name)];

/** Why there is no figure, or in what a figure is about less than ours. */
export const notes: readonly Note[] = [
  {
    peers: openfga,
    operations: ['show one', 'page of 20'],
    note: 'n/a: Read gives tuples to whoever asks; who may see a grant is not its question',
  },
  {
    peers: openfga,
    operations: ['create', 'update', 'delete', '95 % decisions, 5 % writes'],
    note: 'a Write of one tuple, or of two for a change of level: without the question whether the caller may, and without an audit row',
  },
  {
    peers: openfga,
    operations: ["a member's list"],
    note: 'ListObjects: the ids of all projects that the user may read, up to 1,000; no order, no page of 20, no resource',
  },
  {
    peers: openfga,
    operations: ['everybody on a project'],
    note: 'ListUsers: the ids of all who may read the project, up to 1,000; nothing of what else they may do, and why',
  },
  {
    peers: libraries,
    operations: ['show one', 'page of 20', 'create', 'update', 'delete', '95 % decisions, 5 % writes'],
    note: 'n/a: a library without a durable store',
  },
  {
    peers: libraries,
    operations: ["a member's list", 'everybody on a project'],
    note: 'n/a: answers about one place and one user at a time',
  },
];
