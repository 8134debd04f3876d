/** Builds the clients from their Go modules, outside the repository, and keeps the binaries. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { NoCommand, run } from './processes.ts';

/** A provider without a binary is one that the registry does not have. */
export type Provider = { readonly version: string; readonly optional: boolean; readonly binary: string | undefined };

type Walk = { readonly name: string; readonly version: string; readonly remark: string; readonly binary: string };

export type Clients = {
  readonly walks: readonly Walk[];
  /** The README's Go test. */
  readonly example: string;
  readonly tofu: { readonly version: string; readonly binary: string };
  readonly providers: readonly Provider[];
};

/** A fault that is told in one line. */
export class Fault extends Error {}

/** The registry does not have a version, or does not hand it out. */
class Refused extends Fault {}

const here = import.meta.dirname;
const walkFolder = join(here, 'walk');

export const tofuVersion = '1.12.6';

/** An optional version runs where the registry has it; not every registry does. */
const providerVersions = [
  { version: '0.80.0', optional: true },
  { version: '0.79.0', optional: false },
];

const walkClients = [
  { folder: 'v1', module: 'github.com/hashicorp/go-tfe', name: 'go-tfe v1', remark: '' },
  {
    folder: 'v2',
    module: 'github.com/hashicorp/go-tfe/v2',
    name: 'go-tfe v2',
    remark: 'The provider 0.80.0 has 2.4.0 inside, which is not yet run.',
  },
];

/** Go compiles much faster without optimizing, and these programs mostly wait for the server. */
const flags = ['-trimpath', '-gcflags=all=-N -l'];
const environment = { CGO_ENABLED: '0', GOWORK: 'off' };
const oldest = [1, 26] as const;

const cacheFolder = (): string =>
  process.env.BAILIWICK_CONFORMANCE_CACHE ||
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'bailiwick', 'conformance');

/** Asked for in the walks' folder, where a Go that is older than they need gets a newer one if it can. */
export const checkGo = async (): Promise<string> => {
  const needed = `conformance: needs Go ${oldest.join('.')} or newer`;
  const { code, stdout, stderr } = await run('go', ['env', '-C', walkFolder, 'GOVERSION']).catch(error => {
    throw error instanceof NoCommand ? new Fault(`${needed}, and there is no "go" in the path`) : error;
  });
  if (code !== 0) throw new Fault(`${needed}: ${stderr.trim()}`);
  const [major = 0, minor = 0] = stdout.trim().replace(/^go/, '').split('.').map(Number);
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    throw new Fault(`${needed}, and this is ${stdout.trim()}`);
  return stdout.trim();
};

const go = async (args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await run('go', args, { env: environment });
  if (code !== 0) throw new Fault(`go ${args[0]} ${args[1]} failed: ${stderr.trim() || stdout.trim()}`);
  return stdout;
};

/** Where the source of a module is after it was downloaded. */
const download = async (module: string): Promise<string> => {
  const { stdout, stderr } = await run('go', ['mod', 'download', '-json', module], { env: environment });
  const { Dir: folder, Error: fault = stderr } = JSON.parse(stdout || '{}');
  if (folder) return folder;
  throw new (/: (403|404|410) /.test(fault) ? Refused : Fault)(`go mod download ${module} failed: ${fault.trim()}`);
};

/** The binary of that name, built if it is not there yet. */
const kept = async (
  name: string,
  say: (text: string) => void,
  build: (target: string) => Promise<unknown>,
): Promise<string> => {
  const folder = join(cacheFolder(), 'bin');
  const binary = join(folder, process.platform === 'win32' ? `${name}.exe` : name);
  if (existsSync(binary)) return binary;
  say(`building ${name}`);
  mkdirSync(folder, { recursive: true });
  const unfinished = `${binary}.${process.pid}`;
  try {
    await build(unfinished);
    renameSync(unfinished, binary);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return binary;
};

const isKept = (name: string): boolean => existsSync(join(cacheFolder(), 'bin', name));

/** The walks are built anew when any of their files changes. */
const walkHash = (): string => {
  const hash = createHash('sha256');
  for (const path of readdirSync(walkFolder, { recursive: true, encoding: 'utf8' }).sort())
    if (/\.go$|go\.(mod|sum)$/.test(path)) hash.update(`${path}\0${readFileSync(join(walkFolder, path), 'utf8')}\0`);
  return hash.digest('hex').slice(0, 12);
};

const walkVersion = (module: string): string => {
  const line = readFileSync(join(walkFolder, 'go.mod'), 'utf8')
    .split('\n')
    .find(line => line.trim().startsWith(`${module} v`));
  return line?.trim().split(' ')[1]?.slice(1) ?? 'unknown';
};

export const buildClients = async (goVersion: string, say: (text: string) => void): Promise<Clients> => {
  const tofuName = `tofu-${tofuVersion}-${goVersion}`;
  // What OpenTofu needs is most of what there is to download; that goes on while the small ones are compiled.
  const tofuSource = isKept(tofuName)
    ? undefined
    : download(`github.com/opentofu/opentofu@v${tofuVersion}`).then(async source => {
        await go(['list', '-C', source, '-deps', './cmd/tofu']);
        return source;
      });
  tofuSource?.catch(() => {});

  const hash = walkHash();
  const walks: Walk[] = [];
  for (const { folder, module, name, remark } of walkClients) {
    const binary = await kept(`walk-${folder}-${hash}-${goVersion}`, say, target =>
      go(['build', '-C', walkFolder, ...flags, '-ldflags=-s -w', '-o', target, `./${folder}`]),
    );
    walks.push({ name, version: walkVersion(module), remark, binary });
  }
  const example = await kept(`walk-readme-${hash}-${goVersion}`, say, target =>
    go(['test', '-C', walkFolder, '-c', ...flags, '-o', target, './readme']),
  );

  const providers: Provider[] = [];
  for (const { version, optional } of providerVersions) {
    const module = 'github.com/hashicorp/terraform-provider-tfe';
    const name = `terraform-provider-tfe-${version}-${goVersion}`;
    try {
      const source = isKept(name) ? '' : await download(`${module}@v${version}`);
      const variables = `-s -w -X ${module}/version.ProviderVersion=${version}`;
      const binary = await kept(name, say, target =>
        go(['build', '-C', source, ...flags, `-ldflags=${variables}`, '-o', target, '.']),
      );
      providers.push({ version, optional, binary });
    } catch (error) {
      if (!optional || !(error instanceof Refused)) throw error;
      say(`the provider ${version} is not run: the registry does not have it`);
      providers.push({ version, optional, binary: undefined });
    }
  }

  const tofu = await kept(tofuName, say, async target => {
    const source = await tofuSource;
    const variables = '-s -w -X github.com/opentofu/opentofu/version.dev=no';
    await go(['build', '-C', source ?? '', ...flags, `-ldflags=${variables}`, '-o', target, './cmd/tofu']);
  });
  return { walks, example, tofu: { version: tofuVersion, binary: tofu }, providers };
};
