/** Proof with the real clients: builds them, runs them against the server, and compares with docs/compatibility.md. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildClients, checkGo } from './build.ts';
import { compose, shape } from './document.ts';
import { useExamples } from './examples.ts';
import { Fault } from './go.ts';
import { type StepRow, useOpenTofu } from './opentofu.ts';
import { stopAll } from './processes.ts';
import { type Server, startServer } from './server.ts';
import { type WalkRow, walk } from './walks.ts';

const documentPath = join(import.meta.dirname, '..', 'docs', 'compatibility.md');

const started = Date.now();
const say = (text: string): void => {
  process.stdout.write(`${((Date.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
};

/** Operations of the server that are no part of the API that the clients speak. */
const isOurs = (operation: string): boolean => !operation.includes(' /api/v2/');

const operationsOf = async (server: Server): Promise<string[]> => {
  const { body } = await server.ask('GET', '/openapi.json');
  const { paths } = JSON.parse(body) as { paths: Record<string, Record<string, unknown>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter(method => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
      .map(method => `${method.toUpperCase()} ${path}`),
  );
};

const printTable = (head: readonly string[], rows: readonly (readonly string[])[]): void => {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(cells => cells[column]?.length ?? 0)));
  for (const cells of [head, widths.map(width => '-'.repeat(width)), ...rows])
    process.stdout.write(`${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`);
};

const countOf = (rows: readonly { readonly ok: boolean }[]): string[] => [
  String(rows.length),
  String(rows.filter(({ ok }) => !ok).length),
];

const main = async (folder: string, write: boolean): Promise<boolean> => {
  const clients = await buildClients(await checkGo(), say);
  say('starting the server');
  const server = await startServer(folder);
  const served = await operationsOf(server);

  const walks: WalkRow[] = [];
  for (const { name, version, binary } of clients.walks) {
    say(`${name} ${version}`);
    walks.push(...(await walk(name, binary, server)));
  }
  say('the examples of the README');
  const aside = join(folder, 'examples');
  mkdirSync(aside);
  const examples = await useExamples(clients, server, aside);
  const steps: StepRow[] = [];
  for (const { version, binary } of clients.providers) {
    if (binary === undefined) continue;
    const place = join(folder, `provider-${version}`);
    mkdirSync(place);
    steps.push(
      ...(await useOpenTofu(clients.tofu.binary, { version, binary }, server, place, text =>
        say(`OpenTofu ${clients.tofu.version}, provider ${version}: ${text}`),
      )),
    );
  }

  process.stdout.write('\n');
  for (const { client, operation, check, detail, ok } of walks)
    if (!ok) process.stdout.write(`FAILED  ${client}: ${operation}: ${check}\n        ${detail}\n`);
  for (const { provider, name, step, detail, ok } of steps)
    if (!ok) process.stdout.write(`FAILED  provider ${provider}: ${name}: ${step}\n        ${detail}\n`);
  for (const { name, detail, ok } of examples)
    if (!ok) process.stdout.write(`FAILED  README: ${name}\n        ${detail}\n`);
  const walked = new Set(walks.map(({ operation }) => shape(operation)));
  const unwalked = served.filter(operation => !isOurs(operation) && !walked.has(shape(operation)));
  for (const operation of unwalked) process.stdout.write(`no client method for ${operation}\n`);

  process.stdout.write('\n');
  printTable(
    ['part', 'checks', 'failed'],
    [
      ...clients.walks.map(({ name, version }) => [
        `${name} ${version}`,
        ...countOf(walks.filter(({ client }) => client === name)),
      ]),
      ...clients.providers.map(({ version, binary }) =>
        binary === undefined
          ? [`OpenTofu ${clients.tofu.version}, provider ${version}`, 'not run', nothing]
          : [
              `OpenTofu ${clients.tofu.version}, provider ${version}`,
              ...countOf(steps.filter(({ provider }) => provider === version)),
            ],
      ),
      ['examples of the README', ...countOf(examples)],
    ],
  );
  const all = [...walks, ...steps, ...examples];
  const failed = all.filter(({ ok }) => !ok).length;
  process.stdout.write(`\n${all.length - failed} passed, ${failed} failed\n`);
  if (failed > 0 && server.log() !== '') process.stdout.write(`\nThe server's log:\n${server.log()}\n`);

  // What failed is nothing to write down.
  if (failed > 0) return false;
  const present = existsSync(documentPath) ? readFileSync(documentPath, 'utf8') : '';
  const document = compose(
    { clients, served: served.filter(operation => !isOurs(operation)), walks, steps },
    present,
    write,
  );
  if (write) writeFileSync(documentPath, document);
  else if (document !== present)
    throw new Fault('docs/compatibility.md is not what this run gives: npm run conformance -- --write writes it anew');
  return true;
};

const nothing = '–';

const unknown = process.argv.slice(2).filter(argument => argument !== '--write');
if (unknown.length > 0) {
  process.stderr.write(`conformance: takes --write and nothing else, not ${unknown.join(' ')}\n`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'bailiwick-conformance-'));
const cleanUp = async (): Promise<void> => {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    await cleanUp();
    process.exit(1);
  });

try {
  process.exitCode = (await main(folder, process.argv.includes('--write'))) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Fault ? error.message : error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}
