/** Starts the server, says how to use it, and stops it gracefully. */

import { lookup } from 'node:dns/promises';
import type { Server as TlsServer } from 'node:https';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import { secureRandom } from '../store/id.ts';
import { behind, migrate, migrationNames, schemaOf } from '../store/migrations.ts';
import { openStore, shownUrl } from '../store/open.ts';
import { StartFault, type Store, Unavailable } from '../store/store.ts';
import { isWellMade } from '../store/token.ts';
import { TokenUses } from '../store/token-uses.ts';
import { buildApp } from './app.ts';
import { commandOf, commands } from './commands.ts';
import { fillDemo } from './demo.ts';
import { addSiteAdmin, giveAdminToken, isAdminToken, isEmpty, tokenKey } from './first-start.ts';
import { Readiness } from './readiness.ts';
import { helpText, readArguments, readSettings, type Settings } from './settings.ts';
import { demoText, firstStartText, reachOf, trustText } from './texts.ts';
import { type Tls, tlsFrom } from './tls.ts';
import type { Tracing } from './tracing.ts';

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
  const now = () => new Date();
  const where = shownUrl(settings.database);
  const store = await openStore(settings.database, { ...settings, news: text => app.log.warn(text) });
  const readiness = new Readiness(store);
  const given = settings.adminToken;
  let key = '';
  let publicUrl = settings.publicUrl ?? '';
  const services = {
    publicUrl: () => publicUrl,
    get tokenKey() {
      return key;
    },
    now,
    random: secureRandom,
  };
  const tls = tlsFrom(settings, now);
  const loaded = tls?.load();
  const uses = new TokenUses();
  const tracing = settings.traces
    ? (await import('./tracing.ts')).startTracing({
        store,
        version,
        publicUrl: services.publicUrl,
        environment: process.env,
        tell: news => app.log.warn(news),
      })
    : undefined;
  const app = buildApp({
    store,
    services,
    version,
    logLevel: settings.logLevel,
    tls: loaded?.context,
    uses,
    readiness,
    tracing,
  });
  const writeUses = () => uses.flush(store).catch(error => app.log.error({ err: error }, 'uses of tokens not written'));

  let listening: Promise<void> | undefined;
  const open = (): Promise<void> => {
    listening ??= listen(app, settings).then(port => {
      publicUrl ||= `${tls ? 'https' : 'http'}://${reachable(settings.host)}:${port}`;
      setInterval(writeUses, 60_000).unref();
      stopOnSignal(app, store, writeUses, tracing);
      reloadOnHangup(app, tls);
    });
    return listening;
  };

  /** Whatever a database needs before it can be served; what was done already is not done again. */
  const prepare = async () => {
    await settleSchema(store, settings, now, app.log);
    if (settings.demo && !(await isEmpty(store)))
      throw new StartFault(
        `--demo needs an empty database, and ${where} has users in it: try --database sqlite:./data/demo.db`,
      );
    key = await tokenKey(store, secureRandom);
    const making = { key, random: secureRandom, now };
    // Before the port is open, so that whoever reaches the server finds the world.
    if (seed) process.stdout.write(await seed(store, making, given));
    // The port opens last, and within the transaction: where it cannot be opened, no token is lost that nobody saw.
    return store.write(async tx => {
      const token = await addSiteAdmin(tx, making, given);
      const renewed = token === undefined && settings.newAdminToken ? await giveAdminToken(tx, making) : undefined;
      const unused = given !== undefined && token === undefined && !(await isAdminToken(tx, making, given));
      await open();
      return { token, renewed, unused };
    });
  };
  const { token, renewed, unused } = await patiently(prepare, where, async reason => {
    readiness.startingBecause = reason;
    await open();
    process.stdout.write(`Bailiwick ${version} listens on ${publicUrl} and is not ready. ${reason}\n`);
  });
  readiness.startingBecause = undefined;

  process.stdout.write(`Bailiwick ${version} serves ${publicUrl} with its data in ${where}\n`);
  const reach = reachOf(publicUrl, tls);
  if (loaded && tls?.ownMade) process.stdout.write(trustText(reach, loaded.news));
  if (token !== undefined) {
    process.stdout.write(firstStartText(reach, token, given !== undefined));
    if (settings.demo) process.stdout.write(demoText(reach, await fillDemo(app, token)));
  } else if (renewed) {
    const { username, token } = renewed;
    process.stdout.write(`\nA new token of the site admin '${username}'; it is not shown again:\n\n  ${token}\n`);
  } else if (unused) process.stdout.write('The admin token was not used: it is set on the first start only.\n');
};

const settleSchema = async (
  store: Store,
  { migrateApart, database }: Settings,
  now: () => Date,
  log: FastifyInstance['log'],
): Promise<void> => {
  const schema = await schemaOf(store);
  if (migrateApart && schema.missing.length > 0) {
    const old = behind(schema);
    // Whoever waits has the file, and nobody else could migrate it.
    throw store.engine === 'sqlite' ? new StartFault(`cannot serve ${shownUrl(database)}: ${old.message}`) : old;
  }
  // Of a new database there is nothing to tell.
  const level = schema.missing.length === migrationNames().length ? 'debug' : 'info';
  await migrate(store, now, news => log[level](news)).catch(error => {
    if (error instanceof StartFault || error instanceof Unavailable) throw error;
    throw new StartFault(`cannot make the tables in ${shownUrl(database)}: ${error.message}`);
  });
  if (schema.unknown.length > 0)
    log.warn(`the database was made for a newer version, which this one can serve: ${schema.unknown.join(', ')}`);
};

/** In milliseconds. */
const betweenTries = 500;

/** Waits for a database that cannot be used yet, and tells so once for each reason. */
const patiently = async <T>(
  work: () => Promise<T>,
  where: string,
  waiting: (reason: string) => Promise<void>,
): Promise<T> => {
  let told: string | undefined;
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      if (error.hopeless) throw new StartFault(`cannot open the database ${where}: ${error.hopeless}`);
      if (error.message !== told) await waiting(error.message);
      told = error.message;
      await sleep(betweenTries);
    }
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

const stopOnSignal = (
  app: FastifyInstance,
  store: Store,
  lastly: () => Promise<void>,
  tracing: Tracing | undefined,
): void => {
  let stopping = false;
  const stop = async (): Promise<void> => {
    // A terminal and the launcher may both pass on one Ctrl-C.
    if (stopping) return;
    stopping = true;
    await app.close();
    await lastly();
    await store.close();
    await tracing?.end();
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
