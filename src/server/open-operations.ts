/** What is answered without a token: whether the server lives, whether it is ready, and what it serves. */

import type { Operation } from '../resources/operation.ts';
import { sql } from '../store/sql.ts';
import type { Store } from '../store/store.ts';
import { exactly, oneOf, open, type TSchema, text } from '../wire/schemas.ts';
import { openapi } from './openapi.ts';

export type OpenOperation = {
  readonly authentication: 'none';
  readonly method: 'GET';
  readonly path: string;
  readonly family: string;
  readonly summary: string;
  readonly answers: Readonly<Record<number, TSchema>>;
  readonly run: () => Promise<{ readonly status: number; readonly body: unknown }>;
};

const common = { authentication: 'none', method: 'GET', family: 'server' } as const;

export const openOperations = (
  operations: readonly Operation[],
  server: {
    readonly store: Store;
    readonly version: string;
    readonly publicUrl: () => string;
    readonly isClosing: () => boolean;
  },
): OpenOperation[] => {
  let document: unknown;
  const served: OpenOperation[] = [
    {
      ...common,
      path: '/healthz',
      summary: 'Whether the process lives',
      answers: { 200: exactly({ status: oneOf('ok') }) },
      run: async () => ({ status: 200, body: { status: 'ok' } }),
    },
    {
      ...common,
      path: '/readyz',
      summary: 'Whether requests are served: the database answers, and the server is not shutting down',
      answers: { 200: exactly({ status: oneOf('ready') }), 503: exactly({ status: oneOf('not ready'), reason: text }) },
      run: async () => {
        const reason = server.isClosing() ? 'shutting down' : await reasonNotReady(server.store);
        return reason === undefined
          ? { status: 200, body: { status: 'ready' } }
          : { status: 503, body: { status: 'not ready', reason } };
      },
    },
    {
      ...common,
      path: '/openapi.json',
      summary: 'The OpenAPI document of this server',
      answers: { 200: open({ openapi: text }) },
      run: async () => {
        document ??= openapi([...operations, ...served], server.version, server.publicUrl());
        return { status: 200, body: document };
      },
    },
  ];
  return served;
};

const reasonNotReady = async (store: Store): Promise<string | undefined> => {
  try {
    await store.read(tx => tx.row(sql`select 1`));
    return undefined;
  } catch {
    return 'the database does not answer';
  }
};
