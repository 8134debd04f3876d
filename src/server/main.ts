/** Starts the server, says how to use it, and stops it gracefully. */

import type { FastifyInstance } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import { secureRandom } from '../store/id.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.ts';
import { StartFault, type Store } from '../store/store.ts';
import { isWellMade } from '../store/token.ts';
import { mediaType } from '../wire/document.ts';
import { buildApp } from './app.ts';
import { fillDemo } from './demo.ts';
import { addSiteAdmin, isEmpty, isKnownToken, renewAdminToken, tokenKey } from './first-start.ts';
import { helpText, readFlags, readSettings, type Settings } from './settings.ts';

const { version } = packageJson;

export const main = async (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> => {
  try {
    const flags = readFlags(args);
    if (flags.help) return void process.stdout.write(helpText());
    if (flags.version) return void process.stdout.write(`${version}\n`);
    await start(readSettings(flags, environment));
  } catch (error) {
    if (!(error instanceof StartFault)) throw error;
    process.stderr.write(`bailiwick: ${error.message.replace(/\s+/g, ' ')}\n`);
    process.exit(2);
  }
};

const start = async (settings: Settings): Promise<void> => {
  // The data holds hashes of tokens: it is for this user's eyes alone.
  process.umask(0o077);
  if (settings.adminToken !== undefined && !isWellMade(settings.adminToken))
    throw new StartFault('the admin token looks like one of ours, but its checksum is wrong');
  const store = openSqlite(settings.database.replace(/^sqlite:/, ''));
  const now = () => new Date();
  await migrate(store, now).catch(error => {
    if (error instanceof StartFault) throw error;
    throw new StartFault(`cannot make the tables in ${settings.database}: ${error.message}`);
  });
  if (settings.demo && !(await isEmpty(store)))
    throw new StartFault(
      `--demo needs an empty database, and ${settings.database} has users in it: try --database sqlite:./data/demo.db`,
    );
  const key = await tokenKey(store, secureRandom);

  let publicUrl = settings.publicUrl ?? '';
  const services = { publicUrl: () => publicUrl, tokenKey: key, now, random: secureRandom };
  const app = buildApp({ store, services, version, logLevel: settings.logLevel });
  const port = await listen(app, settings);
  publicUrl ||= `http://${reachable(settings.host)}:${port}`;
  stopOnSignal(app, store);

  process.stdout.write(`Bailiwick ${version} serves ${publicUrl} with its data in ${settings.database}\n`);
  const making = { key, random: secureRandom, now };
  const token = await addSiteAdmin(store, making, settings.adminToken);
  if (token !== undefined) {
    process.stdout.write(firstStartText(publicUrl, token, settings.adminToken !== undefined));
    if (settings.demo) process.stdout.write(demoText(publicUrl, await fillDemo(app, token)));
  } else if (settings.newAdminToken) {
    const { username, token } = await renewAdminToken(store, making);
    process.stdout.write(`\nA new token of the site admin '${username}'; it is not shown again:\n\n  ${token}\n`);
  } else if (settings.adminToken !== undefined && !(await isKnownToken(store, key, settings.adminToken)))
    process.stdout.write('The admin token was not used: it is set on the first start only.\n');
};

const listen = async (app: FastifyInstance, { host, port }: Settings): Promise<number> => {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      EADDRINUSE: 'the port is in use',
      EACCES: 'the port needs more rights',
      EADDRNOTAVAIL: 'this machine has no such address',
      ENOTFOUND: 'there is no such host',
    };
    throw new StartFault(`cannot listen on ${host}:${port}: ${reasons[code ?? ''] ?? message}`);
  }
  const address = app.server.address();
  return typeof address === 'object' && address ? address.port : port;
};

/** How a client on this machine names the host. */
const reachable = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
};

const stopOnSignal = (app: FastifyInstance, store: Store): void => {
  let stopping = false;
  const stop = async (): Promise<void> => {
    // A terminal and the launcher may both pass on one Ctrl-C.
    if (stopping) return;
    stopping = true;
    await app.close();
    await store.close();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // npm hands a signal to the shell between us, which dies of it without a word: an orphan under npm stops too.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && stop(), 250).unref();
};

const curl = (authorization: string, url: string): string => `curl -g -H ${authorization} '${url}'`;

const bearer = (token: string): string => `'Authorization: Bearer ${token}'`;

const firstStartText = (url: string, token: string, given: boolean): string => {
  const details = `${url}/api/v2/account/details`;
  return given
    ? `
This is the first start. The site admin is 'admin', and its token is the one you gave. With it in BAILIWICK_ADMIN_TOKEN, try:

  ${curl('"Authorization: Bearer $BAILIWICK_ADMIN_TOKEN"', details)}
`
    : `
This is the first start. The site admin is 'admin'. This is its token; it is not shown again:

  ${token}

Try it:

  ${curl(bearer(token), details)}
`;
};

const demoText = (url: string, { project, grantOfRita, rows }: Awaited<ReturnType<typeof fillDemo>>): string => {
  const as = (who: string): string => bearer(rows.find(row => row.who === who)?.token ?? '');
  const list = `${url}/api/v2/team-projects?filter[project][id]=${project}`;
  const body = (access: string) => `{"data":{"type":"team-projects","attributes":{"access":"${access}"}}}`;
  return `
The demo: organization 'demo', project 'production' (${project}).

${rows.map(({ who, shows, token }) => `  ${who.padEnd(7)} ${shows}\n          ${token}`).join('\n')}

Lines to try:

  # the owner sees every team's access, the secret one too
  ${curl(as('olivia'), list)}
  # a member of the secret team sees its own
  ${curl(as('sam'), list)}
  # a custom grant with teams = read sees the visible teams
  ${curl(as('cleo'), list)}
  # a plain member sees an empty list, an outsider 404
  ${curl(as('nora'), list)}
  ${curl(as('otto'), list)}
  # max holds only 'read' here, but manage-projects makes an admin: so max may raise rita's team
  curl -X PATCH -H ${as('max')} -H 'Content-Type: ${mediaType}' \\
    -d '${body('maintain')}' '${url}/api/v2/team-projects/${grantOfRita}'
`;
};
