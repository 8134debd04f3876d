/** Builds the clients from their Go modules, outside the repository, and keeps the binaries. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheOf, download, go, goVersion, keptIn, Refused } from './go.ts';

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

const cacheFolder = process.env.BAILIWICK_CONFORMANCE_CACHE || cacheOf('conformance');

export const checkGo = (): Promise<string> => goVersion('conformance', walkFolder);

const kept = keptIn(cacheFolder);

const isKept = (name: string): boolean => existsSync(join(cacheFolder, 'bin', name));

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
