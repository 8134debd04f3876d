/** What an error of PostgreSQL, or of the way to it, means for the work that met it. */

import pg from 'pg';
import { type Unavailability, Unavailable } from './store.ts';

/** A connection was lost before anything was committed on it. */
export class Lost extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost', { cause });
  }
}

const codeOf = (error: unknown): string => `${(error as { code?: unknown } | undefined)?.code ?? ''}`;

/** Whether the connection is of no more use: what is fatal to it, and whatever does not come from the database itself. */
export const endsConnection = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || ['FATAL', 'PANIC'].includes(error.severity ?? '') || isUnderPooler(error);

/** A statement that was prepared before the schema changed, and has to be prepared anew. */
export const isStale = (error: unknown): boolean =>
  codeOf(error) === '0A000' && /cached plan/.test((error as Error).message);

/** It is read-only, or a copy that follows another, which knows no serializable transactions. */
export const takesNoChanges = (error: unknown): boolean =>
  codeOf(error) === '25006' || (codeOf(error) === '0A000' && /hot standby/.test((error as Error).message));

/** A statement that was prepared on a connection which a pooler has given to somebody else. */
const isUnderPooler = (error: unknown): boolean => ['26000', '42P05'].includes(codeOf(error));

/** Serialization failures and deadlocks: the same work may well succeed when it is begun again. */
export const isInTheWay = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error)) || isStale(error);

export const isLockedOut = (error: unknown): boolean => codeOf(error) === '55P03';

/** By SQLSTATE, or by its class; the first that fits. */
const reasons: readonly [pattern: RegExp, reason: Unavailability, message: string][] = [
  [/^53100|^58030/, 'full', 'The database has no room for more data.'],
  [/^53/, 'busy', 'The database has no resources left.'],
  [/^57014|^55P03|^25P03/, 'busy', 'The database took too long.'],
  [/^40001|^40P01/, 'busy', 'Too many changes were made at the same time.'],
  [/^26000|^42P05/, 'gone', 'A pooler is between this server and the database: start it with --database-pooled.'],
  [/^08|^57|^28|^3D/, 'gone', 'The database does not answer.'],
];

/** What a client is told of it; undefined for what is a fault of ours. */
export const translated = (error: unknown): Unavailable | undefined => {
  if (error instanceof Unavailable) return error;
  const code = codeOf(error);
  if (/^timeout exceeded/.test((error as Error).message))
    return new Unavailable('busy', 'Too many requests wait for the database.', { cause: error });
  if (takesNoChanges(error)) return new Unavailable('full', 'The database takes no changes now.', { cause: error });
  const known = reasons.find(([pattern]) => pattern.test(code));
  if (known) return new Unavailable(known[1], known[2], { cause: error });
  return undefined;
};

const hopeless: Readonly<Record<string, string>> = {
  '28P01': 'the password is wrong',
  '28000': 'this role may not connect',
  '3D000': 'there is no such database',
  ENOTFOUND: 'there is no such host',
  ERR_INVALID_URL: 'this is no address',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted: sslrootcert=FILE names whom to trust',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted: sslrootcert=FILE names whom to trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted: sslrootcert=FILE names whom to trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted: sslrootcert=FILE names whom to trust',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is of another host',
  CERT_HAS_EXPIRED: 'its certificate has expired',
};

const reasonToGiveUp = (error: unknown): string | undefined => {
  const { message, syscall, path } = error as NodeJS.ErrnoException;
  if (/does not support SSL/.test(message)) return 'it does not speak TLS, and sslmode asks for it';
  if (/unsupported startup parameter|support command-line options/.test(message))
    return 'a pooler is between this server and the database: --database-pooled gets along with it';
  if (syscall === 'open') return `${path} cannot be read`;
  return hopeless[codeOf(error)];
};

/** The same, of what happened on the way to the database: whatever it is, the database was not reached. */
export const unreached = (error: unknown): Unavailable => {
  const known = translated(error);
  if (known && known.reason !== 'gone') return known;
  return new Unavailable('gone', 'The database does not answer.', { cause: error, hopeless: reasonToGiveUp(error) });
};
