/** The README's two examples, run as they are printed there. */

import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Clients } from './build.ts';
import { environmentFor } from './opentofu.ts';
import { type Outcome, run } from './processes.ts';
import type { Server } from './server.ts';

export type ExampleRow = { readonly name: string; readonly ok: boolean; readonly detail: string };

const folderOf = join(import.meta.dirname, 'opentofu', 'readme');

const row = (name: string, { code, stdout, stderr }: Outcome): ExampleRow => ({
  name,
  ok: code === 0,
  detail: code === 0 ? '' : `${stdout}${stderr}`.trim(),
});

/** Runs the commands with this server's address and token for those of the README, and without a question at the end. */
const useCommands = (clients: Clients, server: Server, folder: string): Promise<Outcome> => {
  const provider = clients.providers.flatMap(({ version, binary }) => (binary ? [{ version, binary }] : []))[0];
  if (!provider) throw new Error('there is no provider to run the README with');
  const work = join(folder, 'work');
  cpSync(folderOf, work, { recursive: true });
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(clients.tofu.binary, join(bin, 'tofu'));
  const commands = readFileSync(join(folderOf, 'commands.sh'), 'utf8')
    .replace('localhost:8080', server.host)
    .replace('the-token-of-the-first-start', server.token)
    .replace('path/to/bailiwick', server.folder)
    .replace('tofu apply', 'tofu apply -auto-approve');
  const env = environmentFor(provider, server, folder);
  const path = `${bin}${delimiter}${process.env.PATH}`;
  return run('sh', ['-euc', commands], {
    cwd: work,
    env: { ...env, TFE_HOSTNAME: undefined, TFE_TOKEN: undefined, SSL_CERT_FILE: undefined, PATH: path },
    limit: 60_000,
  });
};

export const useExamples = async (clients: Clients, server: Server, folder: string): Promise<ExampleRow[]> => [
  row('Use it with Terraform or OpenTofu', await useCommands(clients, server, folder)),
  row(
    'Use it in a Go test',
    await run(clients.example, ['-test.v'], {
      env: { BAILIWICK: join(import.meta.dirname, '..'), TFE_ADDRESS: undefined, TFE_TOKEN: undefined },
      limit: 60_000,
    }),
  ),
];
