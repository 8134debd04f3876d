/** What takes part in a run. */

import type { Operation } from './operations.ts';

/** The least that the work can cost; what we built; what a competent developer would build; what others built. */
export type Role = 'floor' | 'ours' | 'naive' | 'peer';

export type HttpRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

type Named = { readonly name: string; readonly role: Role; close(): Promise<void> };

/** Answers over HTTP, and is put under load from another process. */
export type Served = Named & {
  readonly kind: 'served';
  /** Where it listens on loopback. */
  readonly port: number;
  /** The processes of the server, and those of its database besides. */
  readonly server: () => readonly number[];
  readonly database: () => readonly number[];
  /** To be sent in turn; undefined for what it cannot express. What is asked for a second time follows what was given before. */
  readonly requests: (operation: Operation) => Promise<readonly HttpRequest[] | undefined>;
};

/** CPU in microseconds for each operation, operations a second by the clock, and the peak of resident bytes. */
export type Sample = { readonly cpu: number; readonly rate: number; readonly memory: number };

/** Answers within a process of its own, which measures itself. */
export type Embedded = Named & {
  readonly kind: 'embedded';
  /** For about so many seconds; undefined for what it cannot express. */
  readonly measure: (operation: Operation, seconds: number) => Promise<Sample | undefined>;
  /** The processes of its database, where that is not within it. */
  readonly database?: () => readonly number[];
};

export type Arm = Served | Embedded;
