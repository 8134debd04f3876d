/** Settings by flag and by environment; a flag wins. */

import { parseArgs } from 'node:util';
import { isPostgres } from '../store/open.ts';
import { StartFault } from '../store/store.ts';
import { chosenToken } from '../store/token.ts';

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

type Setting = {
  readonly flag: string;
  readonly variable: string;
  readonly value: string;
  readonly help: string;
  readonly otherwise?: string;
  /** Not repeated in an error, not even to whoever mistyped it. */
  readonly secret?: true;
  /** What is wrong with a value, if anything. */
  readonly wrong: (value: string) => string | undefined;
};

const flawOfSqlite = (url: string): string | undefined =>
  /^sqlite:./.test(url) ? undefined : 'must be sqlite:PATH, sqlite::memory: or postgres://USER:PASSWORD@HOST/NAME';

/** Those of PostgreSQL's own tools, without the ones that fall back to no encryption in silence. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'];

const isDecodable = (url: string): boolean => {
  try {
    const { username, password, pathname } = new URL(url);
    return [username, password, pathname].every(part => decodeURIComponent(part) !== undefined);
  } catch {
    return false;
  }
};

const flawOfPostgres = (url: string): string | undefined => {
  if (!isDecodable(url))
    return 'is no well-formed address: a password with special characters in it is percent-encoded';
  const { searchParams } = new URL(url);
  const mode = searchParams.get('sslmode');
  if (mode !== null && !sslModes.includes(mode)) return `has an sslmode that is none of ${sslModes.join(', ')}`;
  return mode === 'verify-ca' && !searchParams.get('sslrootcert')
    ? 'has sslmode=verify-ca without sslrootcert=FILE, which names whom to trust'
    : undefined;
};

const settings = [
  {
    flag: 'host',
    variable: 'BAILIWICK_HOST',
    value: 'ADDRESS',
    help: 'address to listen on',
    otherwise: '127.0.0.1',
    wrong: value => (value === '' ? 'must not be empty' : undefined),
  },
  {
    flag: 'port',
    variable: 'BAILIWICK_PORT',
    value: 'PORT',
    help: 'port to listen on; 0 takes a free one',
    otherwise: '8080',
    wrong: value =>
      /^\d{1,5}$/.test(value) && Number(value) <= 65535 ? undefined : 'must be a whole number from 0 to 65535',
  },
  {
    flag: 'database',
    variable: 'DATABASE_URL',
    value: 'URL',
    help: 'where the data is: sqlite:PATH, sqlite::memory: to forget it at the end, or postgres://USER:PASSWORD@HOST/NAME',
    otherwise: 'sqlite:./data/bailiwick.db',
    secret: true,
    wrong: value => (isPostgres(value) ? flawOfPostgres(value) : flawOfSqlite(value)),
  },
  {
    flag: 'database-connections',
    variable: 'BAILIWICK_DATABASE_CONNECTIONS',
    value: 'NUMBER',
    help: 'connections to PostgreSQL at most',
    otherwise: '10',
    // A change of the schema holds one, and shows signs of life on another.
    wrong: value =>
      /^\d{1,4}$/.test(value) && Number(value) >= 2 ? undefined : 'must be a whole number from 2 to 9999',
  },
  {
    flag: 'public-url',
    variable: 'BAILIWICK_PUBLIC_URL',
    value: 'URL',
    help: 'how clients reach the server; links carry it (default: from host and port)',
    wrong: value =>
      /^https?:\/\//.test(value) && URL.canParse(value) && !/[?#]/.test(value)
        ? undefined
        : 'must be an http or https URL without query',
  },
  {
    flag: 'admin-token',
    variable: 'BAILIWICK_ADMIN_TOKEN',
    value: 'TOKEN',
    help: "the site admin's token, set on the first start, 20 characters or more (default: a new one, printed once)",
    secret: true,
    wrong: value => (new RegExp(chosenToken.pattern).test(value) ? undefined : chosenToken.rule),
  },
  {
    flag: 'tls-cert',
    variable: 'BAILIWICK_TLS_CERT',
    value: 'FILE',
    help: 'serve TLS with this certificate, in PEM, its chain after it; SIGHUP reads it again',
    wrong: value => (value === '' ? 'must not be empty' : undefined),
  },
  {
    flag: 'tls-key',
    variable: 'BAILIWICK_TLS_KEY',
    value: 'FILE',
    help: 'the private key of the certificate, in PEM',
    wrong: value => (value === '' ? 'must not be empty' : undefined),
  },
  {
    flag: 'seed',
    variable: 'BAILIWICK_SEED',
    value: 'FILE',
    help: 'plant the world of a JSON or YAML file in an empty database; docs/seed.md tells its form',
    wrong: value => (value === '' ? 'must not be empty' : undefined),
  },
  {
    flag: 'anchors',
    variable: 'BAILIWICK_ANCHORS',
    value: 'FILE',
    help: 'for audit verify: compare with the ends of the chains in this file, and write them there when all is well',
    wrong: value => (value === '' ? 'must not be empty' : undefined),
  },
  {
    flag: 'shutdown-delay',
    variable: 'BAILIWICK_SHUTDOWN_DELAY',
    value: 'SECONDS',
    help: 'on SIGTERM, serve on for so long, though not ready, so that a load balancer takes note',
    otherwise: '0',
    wrong: value => (/^\d{1,3}$/.test(value) ? undefined : 'must be a whole number from 0 to 999'),
  },
  {
    flag: 'log-level',
    variable: 'BAILIWICK_LOG_LEVEL',
    value: 'LEVEL',
    help: `one of ${logLevels.join(', ')}; debug logs every request`,
    otherwise: 'info',
    wrong: value => (logLevels.includes(value) ? undefined : `must be one of ${logLevels.join(', ')}`),
  },
] as const satisfies readonly Setting[];

type Flag = (typeof settings)[number]['flag'];

type Switch = { readonly flag: string; readonly variable?: string; readonly help: string };

const switches = [
  {
    flag: 'database-pooled',
    variable: 'BAILIWICK_DATABASE_POOLED',
    help: 'a pooler such as PgBouncer in transaction mode is in front of PostgreSQL',
  },
  {
    flag: 'migrate-apart',
    variable: 'BAILIWICK_MIGRATE_APART',
    help: 'leave the schema to bailiwick migrate, and wait for it',
  },
  {
    flag: 'tls-self-signed',
    variable: 'BAILIWICK_TLS_SELF_SIGNED',
    help: 'serve TLS with a certificate of its own making, kept beside the data',
  },
  { flag: 'demo', help: 'fill an empty database with an organization that shows every rule' },
  { flag: 'new-admin-token', help: 'make another token for the site admin, and print it once' },
] as const satisfies readonly Switch[];

/** A certificate with its chain, and its key, each in PEM. */
export type Files = { readonly certificate: string; readonly key: string };

export type Settings = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly connections: number;
  readonly pooled: boolean;
  readonly migrateApart: boolean;
  readonly publicUrl: string | undefined;
  readonly adminToken: string | undefined;
  readonly tls: Files | 'self-signed' | undefined;
  readonly seed: string | undefined;
  readonly anchors: string | undefined;
  readonly shutdownDelay: number;
  readonly logLevel: string;
  readonly demo: boolean;
  readonly newAdminToken: boolean;
  /** Whether traces are exported: the exporter itself reads where, and how, from the environment. */
  readonly traces: boolean;
};

type Flags = Readonly<Record<string, string | boolean | undefined>>;

export const readSettings = (flags: Flags, environment: NodeJS.ProcessEnv): Settings => {
  const chosen = (flag: Flag): string | undefined => {
    const setting: Setting = settings.find(setting => setting.flag === flag) as Setting;
    const fromFlag = flags[flag] as string | undefined;
    const value = fromFlag ?? (environment[setting.variable] || undefined);
    const wrong = value === undefined ? undefined : setting.wrong(value);
    if (wrong !== undefined) {
      const name = fromFlag === undefined ? setting.variable : `--${flag}`;
      throw new StartFault(setting.secret || value === '' ? `${name} ${wrong}` : `${name} ${wrong}, not '${value}'`);
    }
    return value ?? setting.otherwise;
  };
  const isOn = (flag: (typeof switches)[number]['flag']): boolean => {
    const { variable }: Switch = switches.find(each => each.flag === flag) as Switch;
    const value = (variable !== undefined && environment[variable]) || 'false';
    if (flags[flag] === true || value === 'true') return true;
    if (value === 'false') return false;
    throw new StartFault(`${variable} must be true or false, not '${value}'`);
  };
  return {
    host: chosen('host') as string,
    port: Number(chosen('port')),
    database: chosen('database') as string,
    connections: Number(chosen('database-connections')),
    pooled: isOn('database-pooled'),
    migrateApart: isOn('migrate-apart'),
    publicUrl: chosen('public-url')?.replace(/\/+$/, ''),
    adminToken: chosen('admin-token'),
    tls: tlsOf(chosen('tls-cert'), chosen('tls-key'), isOn('tls-self-signed')),
    seed: chosen('seed'),
    anchors: chosen('anchors'),
    shutdownDelay: Number(chosen('shutdown-delay')),
    logLevel: chosen('log-level') as string,
    demo: isOn('demo'),
    newAdminToken: isOn('new-admin-token'),
    traces: hasCollector(environment),
  };
};

/** As every OpenTelemetry SDK is told where its collector is. */
const hasCollector = (environment: NodeJS.ProcessEnv): boolean => {
  if (environment.OTEL_SDK_DISABLED === 'true') return false;
  const given = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].filter(name => environment[name]);
  for (const name of given)
    if (!/^https?:\/\//.test(environment[name] ?? '') || !URL.canParse(environment[name] ?? ''))
      throw new StartFault(`${name} must be an http or https URL`);
  return given.length > 0;
};

const tlsOf = (certificate: string | undefined, key: string | undefined, selfSigned: boolean): Settings['tls'] => {
  if (selfSigned && (certificate ?? key) !== undefined)
    throw new StartFault('--tls-self-signed makes its own certificate: it goes without --tls-cert and --tls-key');
  if (selfSigned) return 'self-signed';
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined)
    throw new StartFault(`--tls-cert and --tls-key go together, and --tls-${key ? 'cert' : 'key'} is missing`);
  return { certificate, key };
};

/** The settings, and the words between them: a command and what it is about. */
export const readArguments = (
  args: readonly string[],
): { readonly flags: Flags; readonly words: readonly string[] } => {
  try {
    const valued = Object.fromEntries(settings.map(({ flag }) => [flag, { type: 'string' as const }]));
    const bare = {
      ...Object.fromEntries(switches.map(({ flag }) => [flag, { type: 'boolean' as const }])),
      help: { type: 'boolean' as const, short: 'h' },
      version: { type: 'boolean' as const },
    };
    const options = { ...valued, ...bare };
    const { values, positionals } = parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
    return { flags: values as Flags, words: positionals };
  } catch (error) {
    const [reason] = (error as Error).message.split(/[.\n]/);
    throw new StartFault(`${reason}; --help lists the settings`);
  }
};

export const helpText = (commands: readonly { readonly usage: string; readonly help: string }[]): string => {
  const rows = [
    ...settings.map(({ flag, value, variable, help, ...rest }) => ({
      left: `  --${flag} ${value}`,
      middle: variable,
      right: 'otherwise' in rest ? `${help} (default: ${rest.otherwise})` : help,
    })),
    ...switches.map(({ flag, help, ...rest }) => ({
      left: `  --${flag}`,
      middle: 'variable' in rest ? rest.variable : '',
      right: help,
    })),
    { left: '  --help', middle: '', right: 'this text' },
    { left: '  --version', middle: '', right: 'the version' },
  ];
  const width = (column: 'left' | 'middle'): number => Math.max(...rows.map(row => row[column].length)) + 2;
  const widest = Math.max(...commands.map(({ usage }) => usage.length)) + 2;
  return [
    'Usage: bailiwick [COMMAND] [SETTING ...]',
    '',
    'Serves what each team may do on each project, over the API v2 of Terraform’s own tools.',
    'With a command it does something else to the database, and ends:',
    '',
    ...commands.map(({ usage, help }) => `  ${usage.padEnd(widest)}${help}`),
    '',
    'bailiwick access asks a running server who may do what, where, and why: bailiwick access --help.',
    '',
    'A setting is given by flag or by environment variable; the flag wins.',
    '',
    ...rows.map(({ left, middle, right }) => `${left.padEnd(width('left'))}${middle.padEnd(width('middle'))}${right}`),
    '',
    'Traces are exported where OTEL_EXPORTER_OTLP_ENDPOINT names a collector that speaks OTLP over HTTP.',
    '',
  ].join('\n');
};
