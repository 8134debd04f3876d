/** Starts the server, says how to use it, and stops it gracefully. */

import { lookup } from 'node:dns/promises';
import type { Server as TlsServer } from 'node:https';
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import { secureRandom } from '../store/id.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.ts';
import { StartFault, type Store } from '../store/store.ts';
import { isWellMade } from '../store/token.ts';
import { TokenUses } from '../store/token-uses.ts';
import { buildApp } from './app.ts';
import { commandOf, commands } from './commands.ts';
import { fillDemo } from './demo.ts';
import { addSiteAdmin, giveAdminToken, isAdminToken, isEmpty, tokenKey } from './first-start.ts';
import { helpText, readArguments, readSettings, type Settings } from './settings.ts';
import { demoText, firstStartText, reachOf, trustText } from './texts.ts';
import { type Tls, tlsFrom } from './tls.ts';

const { version } = packageJson;

export const main = async (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> => {
  try {
    const { flags, words } = readArguments(args);
    if (flags.help) return void process.stdout.write(helpText(commands));
    if (flags.version) return void process.stdout.write(`${version}\n`);
    const run = commandOf(words) ?? start;
    await run(readSettings(flags, environment));
  } catch (error) {
    if (!(error instanceof StartFault)) throw error;
    process.stderr.write(error.details.map(line => `${line}\n`).join(''));
    process.stderr.write(`bailiwick: ${error.message.replace(/\s+/g, ' ')}\n`);
    process.exit(2);
  }
};

const start = async (settings: Settings): Promise<void> => {
  // The data holds hashes of tokens: it is for this user's eyes alone.
  process.umask(0o077);
  if (settings.adminToken !== undefined && !isWellMade(settings.adminToken))
    throw new StartFault('the admin token looks like one of ours, but its checksum is wrong');
  if (settings.seed !== undefined && settings.demo)
    throw new StartFault('--demo and --seed each need an empty database: choose one');
  // Loaded only where there is something to plant; and read first, so that a bad file leaves nothing.
  const seed = settings.seed === undefined ? undefined : await (await import('./seed.ts')).seedFrom(settings.seed);
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
  const making = { key, random: secureRandom, now };

  const given = settings.adminToken;
  let publicUrl = settings.publicUrl ?? '';
  const services = { publicUrl: () => publicUrl, tokenKey: key, now, random: secureRandom };
  const tls = tlsFrom(settings, now);
  const loaded = tls?.load();
  const uses = new TokenUses();
  const app = buildApp({ store, services, version, logLevel: settings.logLevel, tls: loaded?.context, uses });
  const writeUses = () => uses.flush(store).catch(error => app.log.error({ err: error }, 'uses of tokens not written'));
  // Before the port is open, so that whoever reaches the server finds the world.
  if (seed) process.stdout.write(await seed(store, making, given));
  // The port opens last, and within the transaction: where it cannot be opened, no token is lost that nobody saw.
  const { token, renewed, port } = await store.write(async tx => {
    const token = await addSiteAdmin(tx, making, given);
    const renewed = token === undefined && settings.newAdminToken ? await giveAdminToken(tx, making) : undefined;
    return { token, renewed, port: await listen(app, settings) };
  });
  publicUrl ||= `${tls ? 'https' : 'http'}://${reachable(settings.host)}:${port}`;
  setInterval(writeUses, 60_000).unref();
  stopOnSignal(app, store, writeUses);
  reloadOnHangup(app, tls);

  process.stdout.write(`Bailiwick ${version} serves ${publicUrl} with its data in ${settings.database}\n`);
  const reach = reachOf(publicUrl, tls);
  if (loaded && tls?.ownMade) process.stdout.write(trustText(reach, loaded.news));
  if (token !== undefined) {
    process.stdout.write(firstStartText(reach, token, given !== undefined));
    if (settings.demo) process.stdout.write(demoText(reach, await fillDemo(app, token)));
  } else if (renewed) {
    const { username, token } = renewed;
    process.stdout.write(`\nA new token of the site admin '${username}'; it is not shown again:\n\n  ${token}\n`);
  } else if (given !== undefined && !(await store.read(tx => isAdminToken(tx, making, given))))
    process.stdout.write('The admin token was not used: it is set on the first start only.\n');
};

const listen = async (app: FastifyInstance, { host, port }: Settings): Promise<number> => {
  try {
    // One address: for a name with several, the framework would open further listeners without our handlers on them.
    const { address } = isIP(host) ? { address: host } : await lookup(host, { order: 'ipv4first' });
    await app.listen({ host: address, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      EADDRINUSE: 'the port is in use',
      EACCES: 'the port needs more rights',
      EADDRNOTAVAIL: 'this machine has no such address',
      ENOTFOUND: 'there is no such host',
      EAI_AGAIN: 'the name of the host is not resolved',
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

const stopOnSignal = (app: FastifyInstance, store: Store, lastly: () => Promise<void>): void => {
  let stopping = false;
  const stop = async (): Promise<void> => {
    // A terminal and the launcher may both pass on one Ctrl-C.
    if (stopping) return;
    stopping = true;
    await app.close();
    await lastly();
    await store.close();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // npm hands a signal to the shell between us, which dies of it without a word: an orphan under npm stops too.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && stop(), 250).unref();
};

/** A hangup is how a renewed certificate is announced; without TLS there is nothing to do, and no reason to die. */
const reloadOnHangup = (app: FastifyInstance, tls: Tls | undefined): void => {
  process.on('SIGHUP', () => {
    if (!tls) return app.log.info('hangup: no certificate is read again, since TLS is off');
    try {
      const { context, news } = tls.load();
      (app.server as TlsServer).setSecureContext(context);
      app.log.info(`hangup: ${news}`);
    } catch (error) {
      app.log.error(`hangup: ${(error as Error).message}; the certificate of before stays in use`);
    }
  });
};
