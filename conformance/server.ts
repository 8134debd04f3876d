/** The server under test, on a free loopback port with a certificate of its own. */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { Fault } from './go.ts';
import { start } from './processes.ts';

export type Answer = { readonly status: number; readonly body: string };

export type Server = {
  /** Such as https://localhost:12345. */
  readonly address: string;
  /** The host and port of it. */
  readonly host: string;
  readonly token: string;
  /** Where it was started. */
  readonly folder: string;
  readonly certificate: string;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Answer>;
  /** What it logged, for when something went wrong. */
  readonly log: () => string;
};

const program = join(import.meta.dirname, '..', 'bin', 'bailiwick.js');

/** Settings of whoever runs this are not those of the server under test. */
const unset = Object.fromEntries(
  Object.keys(process.env)
    .filter(name => /^(BAILIWICK_|DATABASE_URL$)/.test(name))
    .map(name => [name, undefined]),
);

export const startServer = async (folder: string): Promise<Server> => {
  const token = randomBytes(24).toString('hex');
  const child = start(process.execPath, [program, '--port', '0', '--tls-self-signed', '--log-level', 'warn'], {
    cwd: folder,
    env: { ...unset, BAILIWICK_ADMIN_TOKEN: token },
  });
  let printed = '';
  let logged = '';
  child.stdout?.setEncoding('utf8').on('data', text => {
    printed += text;
  });
  child.stderr?.setEncoding('utf8').on('data', text => {
    logged += text;
  });
  const end = Date.now() + 20_000;
  let port: string | undefined;
  while (!port) {
    port = / serves https:\/\/[^\s:]+:(\d+)/.exec(printed)?.[1];
    if (child.exitCode !== null || Date.now() > end) throw new Fault(`the server did not start: ${logged || printed}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  const certificate = join(folder, 'data', 'tls', 'certificate.pem');
  const ca = readFileSync(certificate);
  const host = `localhost:${port}`;

  const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' };
      const sent = request(`https://${host}${path}`, { method, ca, headers }, answer => {
        let text = '';
        answer.setEncoding('utf8').on('data', chunk => {
          text += chunk;
        });
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body: text }));
      });
      sent.once('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return { address: `https://${host}`, host, token, folder, certificate, ask, log: () => logged };
};
