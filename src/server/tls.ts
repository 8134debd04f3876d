/** TLS: with a certificate of the operator's, or with one of our own making. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { domainToASCII } from 'node:url';
import { isPostgres } from '../store/open.ts';
import { StartFault } from '../store/store.ts';
import { selfSigned } from './certificate.ts';
import type { Files, Settings } from './settings.ts';

export type Tls = {
  /** Its file. */
  readonly certificate: string;
  /** Whether clients have to be told to trust it. */
  readonly ownMade: boolean;
  /** Reads anew what is on the disk, which may have been replaced. */
  readonly load: () => Loaded;
};

export type Loaded = {
  readonly context: SecureContextOptions;
  readonly certificate: X509Certificate;
  /** A sentence on it, for whoever runs the server. */
  readonly news: string;
};

export const tlsFrom = ({ tls, database, host, publicUrl }: Settings, now: () => Date): Tls | undefined => {
  if (tls === undefined) return undefined;
  if (tls !== 'self-signed') return { certificate: tls.certificate, ownMade: false, load: () => loaded(tls) };
  const files = {
    certificate: join(folderBeside(database), 'certificate.pem'),
    key: join(folderBeside(database), 'key.pem'),
  };
  return {
    certificate: files.certificate,
    ownMade: true,
    load: () => loadedOrMade(files, namesOf(host, publicUrl), now()),
  };
};

/** Beside the data; where that is in memory or on another machine, where it would be otherwise. */
const folderBeside = (database: string): string => {
  const path = database.replace(/^sqlite:/, '');
  return resolve(path === ':memory:' || isPostgres(path) ? './data' : dirname(path), 'tls');
};

/** This machine's own, and those by which others reach it. */
const namesOf = (host: string, publicUrl: string | undefined): string[] => {
  const named = publicUrl === undefined ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')];
  const others = [host.replace(/%.*/, ''), ...named].filter(name => name !== '0.0.0.0' && name !== '::');
  return [...new Set(['localhost', '127.0.0.1', '::1', ...others.map(name => domainToASCII(name) || name)])];
};

/** One of our own: made at the first start and kept, and made again when it no longer serves. */
const loadedOrMade = (files: Files, names: readonly string[], now: Date): Loaded => {
  const reason = whyMake(files, names, now);
  if (reason !== undefined) make(files, names, now);
  const its = loaded(files);
  return reason === undefined ? its : { ...its, news: `A new certificate was made, because ${reason}. ${its.news}` };
};

const day = 24 * 60 * 60 * 1000;
/** The longest that clients of every kind accept. */
const lifetime = 825 * day;
const lastDays = 30 * day;
/** For clients whose clock is behind. */
const headStart = day;

/** Why the certificate on the disk does not serve, if so. */
const whyMake = (files: Files, names: readonly string[], now: Date): string | undefined => {
  let certificate: X509Certificate;
  try {
    ({ certificate } = loaded(files));
  } catch (error) {
    if (error instanceof Missing) return 'there was none';
    if (error instanceof StartFault) return error.message;
    throw error;
  }
  const until = certificate.validToDate;
  if (until.getTime() < now.getTime() + lastDays) return `the one before ends on ${dayOf(until)}`;
  const other = names.find(name => !(isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)));
  return other && `the one before is not for ${other}`;
};

const make = ({ certificate, key }: Files, names: readonly string[], now: Date): void => {
  const folder = dirname(key);
  const from = now.getTime() - headStart;
  const pair = selfSigned(names, new Date(from), new Date(from + lifetime));
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Each file is whole at any moment, and the key never readable for others.
    for (const [file, text] of [
      [key, pair.key],
      [certificate, pair.cert],
    ] as const) {
      writeFileSync(`${file}.new`, text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
    }
  } catch (error) {
    throw new StartFault(`cannot keep a certificate in ${folder}: ${reasonOf(error)}`);
  }
};

class Missing extends StartFault {}

const loaded = (files: Files): Loaded => {
  const cert = contentOf('certificate', files.certificate);
  const key = contentOf('key', files.key);
  const certificate = parsed(() => new X509Certificate(cert), `there is no certificate in PEM in ${files.certificate}`);
  if (/^-----BEGIN ENCRYPTED|^Proc-Type:.*ENCRYPTED/m.test(key))
    throw new StartFault(`the key in ${files.key} is encrypted: the server needs one without a passphrase`);
  const privateKey = parsed(() => createPrivateKey(key), `there is no private key in PEM in ${files.key}`);
  if (!certificate.checkPrivateKey(privateKey))
    throw new StartFault(`the key in ${files.key} is not that of the first certificate in ${files.certificate}`);
  const context = { cert, key, minVersion: 'TLSv1.2' } as const;
  try {
    createSecureContext(context);
  } catch (error) {
    throw new StartFault(`the certificate in ${files.certificate} cannot be used: ${reasonOf(error)}`);
  }
  const news = `The certificate in ${files.certificate} is valid until ${dayOf(certificate.validToDate)}.`;
  return { context, certificate, news };
};

const contentOf = (what: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new (code === 'ENOENT' ? Missing : StartFault)(`cannot read the ${what} in ${file}: ${reasonOf(error)}`);
  }
};

const parsed = <T>(parse: () => T, otherwise: string): T => {
  try {
    return parse();
  } catch {
    throw new StartFault(otherwise);
  }
};

const reasonOf = (error: unknown): string => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    ENOTDIR: 'there is no such folder',
    EISDIR: 'it is a folder',
    EACCES: 'this user may not',
    EPERM: 'this user may not',
    EROFS: 'nothing can be written there',
  };
  return reasons[code] ?? message;
};

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);
