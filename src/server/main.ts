/** Starts the server, says how to use it, and stops it gracefully. */

import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../package.json' with { type: 'json' };
import { secureRandom } from '../store/id.ts';
import { openStore, shownUrl } from '../store/open.ts';
import { StartFault } from '../store/store.ts';
import { isWellMade } from '../store/token.ts';
import { TokenUses } from '../store/token-uses.ts';
import { buildApp } from './app.ts';
import { commandOf, commands } from './commands.ts';
import { patiently, settleSchema } from './database.ts';
import { fillDemo } from './demo.ts';
import { Ending } from './ending.ts';
import { addSiteAdmin, giveAdminToken, isAdminToken, isEmpty, tokenKey } from './first-start.ts';
import { listen, reachable } from './listen.ts';
import { Readiness } from './readiness.ts';
import { helpText, readArguments, readSettings, type Settings } from './settings.ts';
import { endLate, endOnFault, reloadOnHangup, stopOnSignal } from './signals.ts';
import { demoText, firstStartText, reachOf, trustText } from './texts.ts';
import { tlsFrom } from './tls.ts';

const { version } = packageJson;

export const main = async (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> => {
  // The data holds hashes of tokens: whatever is made is for this user's eyes alone.
  process.umask(0o077);
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
  if (settings.adminToken !== undefined && !isWellMade(settings.adminToken))
    throw new StartFault('the admin token looks like one of ours, but its checksum is wrong');
  if (settings.seed !== undefined && settings.demo)
    throw new StartFault('--demo and --seed each need an empty database: choose one');
  // Loaded only where there is something to plant; and read first, so that a bad file leaves nothing.
  const seed = settings.seed === undefined ? undefined : await (await import('./seed.ts')).seedFrom(settings.seed);
  const now = () => new Date();
  const where = shownUrl(settings.database);
  const store = await openStore(settings.database, { ...settings, news: text => app.log.warn(text) });
  const ending = new Ending();
  const readiness = new Readiness(store, ending);
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
    ending,
  });
  endOnFault(app);
  const writeUses = () => uses.flush(store).catch(error => app.log.error({ err: error }, 'uses of tokens not written'));

  // The port opens first: where it cannot be opened, no token is made that nobody saw; and who asks is told to wait.
  readiness.startingBecause = 'The server is starting.';
  const port = await listen(app, settings);
  publicUrl ||= `${tls ? 'https' : 'http'}://${reachable(settings.host)}:${port}`;
  setInterval(writeUses, 60_000).unref();
  stopOnSignal(async () => {
    ending.begin();
    await sleep(settings.shutdownDelay * 1000);
    endLate(app);
    await app.close();
    await Promise.race([writeUses(), sleep(1_000, undefined, { ref: false })]);
    await store.close();
    await tracing?.end();
  });
  reloadOnHangup(app, tls);

  /** Whatever a database needs before it can be served; what was done already is not done again. */
  const prepare = async () => {
    await settleSchema(store, settings, now, app.log);
    if (settings.demo && !(await isEmpty(store)))
      throw new StartFault(
        `--demo needs an empty database, and ${where} has users in it: try --database sqlite:./data/demo.db`,
      );
    key = await tokenKey(store, secureRandom);
    const making = { key, random: secureRandom, now };
    if (seed) process.stdout.write(await seed(store, making, given));
    return store.write(async tx => {
      const token = await addSiteAdmin(tx, making, given);
      const renewed = token === undefined && settings.newAdminToken ? await giveAdminToken(tx, making) : undefined;
      const unused = given !== undefined && token === undefined && !(await isAdminToken(tx, making, given));
      return { token, renewed, unused };
    });
  };
  const { token, renewed, unused } = await patiently(prepare, where, reason => {
    readiness.startingBecause = reason;
    app.log.warn(reason);
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
