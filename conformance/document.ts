/** The tables of docs/compatibility.md. They follow from a run alone: no times, nothing of the machine. */

import type { Clients } from './build.ts';
import type { StepRow } from './opentofu.ts';
import type { WalkRow } from './walks.ts';

export type Results = {
  readonly clients: Clients;
  readonly served: readonly string[];
  readonly walks: readonly WalkRow[];
  readonly steps: readonly StepRow[];
};

const yes = '✓';
const no = '✗';
const nothing = '–';
const ownRequest = '(by address)';

const mark = (rows: readonly { readonly ok: boolean }[]): string =>
  rows.length === 0 ? nothing : rows.every(({ ok }) => ok) ? yes : no;

const walkMark = (rows: readonly WalkRow[]): string =>
  rows.length > 0 && rows.every(({ byAddress }) => byAddress) ? `${mark(rows)} ${ownRequest}` : mark(rows);

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');

const unique = <T>(values: Iterable<T>): T[] => [...new Set(values)];

/** Forgets the names of the parameters, so that two ways to name one path are the same. */
export const shape = (operation: string): string => operation.replace(/\{[^}]*\}/g, '{}');

const walkTables = ({ clients, walks, served }: Results): string => {
  const names = clients.walks.map(({ name }) => name);
  const parts: string[] = [];
  for (const family of unique(walks.map(row => row.family))) {
    const rows = walks.filter(row => row.family === family);
    const operations = unique(rows.map(({ operation }) => operation)).sort(byPath);
    parts.push(
      `### ${family}`,
      table(
        ['Operation', ...names, 'Checks'],
        operations.map(operation => {
          const own = rows.filter(row => row.operation === operation);
          return [
            `\`${operation.replace('/api/v2', '')}\``,
            ...names.map(name => walkMark(own.filter(({ client }) => client === name))),
            unique(own.map(({ check }) => check)).join('; '),
          ];
        }),
      ),
    );
  }
  const walked = new Set(walks.map(({ operation }) => shape(operation)));
  const own = served.filter(operation => !walked.has(shape(operation))).sort(byPath);
  if (own.length > 0)
    parts.push(
      '### Without a method in either client',
      'The server has these besides, and its own tests cover them:',
      own.map(operation => `- \`${operation.replace('/api/v2', '')}\``).join('\n'),
    );
  return parts.join('\n\n');
};

/** By path first, and then in the order in which a resource lives. */
const byPath = (one: string, other: string): number => {
  const order = ['POST', 'GET', 'PATCH', 'PUT', 'DELETE'];
  const [method = '', path = ''] = one.split(' ');
  const [otherMethod = '', otherPath = ''] = other.split(' ');
  return path < otherPath ? -1 : path > otherPath ? 1 : order.indexOf(method) - order.indexOf(otherMethod);
};

const providerTables = (steps: readonly StepRow[]): string => {
  const columns = [
    'create',
    'plan after create',
    'update',
    'plan after update',
    'import',
    'plan after import',
    'destroy',
    'gone',
  ];
  const of = (kind: StepRow['kind']) => steps.filter(row => row.kind === kind);
  const names = (rows: readonly StepRow[]) => unique(rows.map(({ name }) => name));
  const cell = (rows: readonly StepRow[], name: string, step: string) =>
    mark(rows.filter(row => row.name === name && row.step === step));
  const resources = of('resource');
  const level = of('level');
  const data = of('data');
  return [
    table(
      ['Resource', ...columns],
      names(resources)
        .sort()
        .map(name => [`\`${name}\``, ...columns.map(step => cell(resources, name, step))]),
    ),
    table(
      ['`tfe_team_project_access` and `tfe_team_access`, one step after the other', 'apply', 'no changes', 'values'],
      names(level).map(name => [name, ...['apply', 'no changes', 'values'].map(step => cell(level, name, step))]),
    ),
    table(
      ['Data source', 'finds what was made'],
      names(data)
        .sort()
        .map(name => [`\`${name}\``, cell(data, name, 'read')]),
    ),
  ].join('\n\n');
};

const notRun = 'Not yet run.';

const providerHeading = (version: string): string => `### Provider ${version}`;

/** The part of a document that is about one version of the provider, without its heading. */
const sectionOf = (document: string, version: string): string | undefined => {
  const [, rest] = document.split(`${providerHeading(version)}\n\n`);
  return rest?.split(/\n\n#{2,3} /)[0]?.trimEnd();
};

/**
 * The document that a run gives. What it says of an optional version is written only by a run that has it, and held against
 * no other: whether the registry has it is not ours to promise.
 */
export const compose = (results: Results, present: string, write: boolean): string => {
  const { clients, steps } = results;
  const sections = clients.providers.map(({ version, optional, binary }) => {
    const kept = optional && !(write && binary) ? sectionOf(present, version) : undefined;
    const ran = steps.filter(({ provider }) => provider === version);
    return [providerHeading(version), kept ?? (binary ? providerTables(ran) : notRun)];
  });
  return `${[
    '# Compatibility',
    'What the real clients do against the server, written by `npm run conformance -- --write`. Do not edit it: `npm run conformance` fails when it is not what a run gives.',
    `${yes} all checks hold, ${no} some do not, ${nothing} the client has no method for it, or the resource no such step.`,
    '## Clients',
    table(
      ['Client', 'Version', 'Remark'],
      [
        ...clients.walks.map(({ name, version, remark }) => [name, version, remark]),
        ['OpenTofu', clients.tofu.version, ''],
        ...clients.providers.map(({ version }, index) => [
          '`tfe` provider',
          version,
          sections[index]?.[1] === notRun ? 'not yet run' : '',
        ]),
      ],
    ),
    '## Operations',
    `Each client walks the operations it has a method for, and compares what it decoded. Paths are under \`/api/v2\`. Where the provider uses a method that this version of its client lacks or has broken, the walk sends the same request through the client by its address: ${yes} ${ownRequest}.`,
    walkTables(results),
    '## OpenTofu with the `tfe` provider',
    'Every resource is created, planned again, updated, planned again, imported into an empty state, planned again, and destroyed; a plan has to come out empty. After the end the server has to answer 404 for everything that has an address of its own.',
    ...sections.flat(),
  ].join('\n\n')}\n`;
};
