/** What it would do to give a project the team access that a file says: the dry run of the whole list. */

import { readFile } from 'node:fs/promises';
import { shownValue } from './access.ts';
import { type Command, exit } from './command.ts';
import { Failure } from './fault.ts';
import type { Named } from './names.ts';
import { type Document, Refused, type Resource, type Server, type Value } from './server.ts';
import { clean, counted, json, styled, table } from './text.ts';

const itemKeys = ['team', 'access', 'project-access', 'workspace-access'] as const;

type Item = { readonly team: string } & Readonly<Record<string, unknown>>;

type Grant = Resource<{
  readonly access: string;
  readonly 'project-access': Readonly<Record<string, Value>>;
  readonly 'workspace-access': Readonly<Record<string, Value>>;
}>;

type Effect = {
  readonly changes: readonly {
    readonly subject: { readonly type: string; readonly id: string; readonly name: string | null };
    readonly project: { readonly id: string; readonly name: string | null };
    readonly workspace?: { readonly name: string };
    readonly permissions: readonly { readonly permission: string; readonly before: Value; readonly after: Value }[];
  }[];
  readonly 'changes-count': number;
  readonly complete: boolean;
  readonly 'caller-locked-out': boolean;
  readonly 'projects-without-admin': readonly { readonly name: string }[];
};

type Outcome = Document<readonly Grant[]> & {
  readonly meta: {
    readonly added: readonly string[];
    readonly changed: readonly string[];
    readonly removed: readonly string[];
    readonly unchanged: number;
    readonly effect: Effect;
  };
};

// The file

const textOf = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch(error => {
    throw new Failure(`${file} cannot be read: ${error.code}`);
  });

const parsed = async (file: string): Promise<unknown> => {
  const text = await textOf(file);
  const { LineCounter, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { schema: 'core', stringKeys: true, prettyErrors: false, lineCounter });
  const [flaw] = document.errors;
  if (flaw) {
    const { line, col } = lineCounter.linePos(flaw.pos[0]);
    throw new Failure(`${file}:${line}:${col}: ${flaw.message}`);
  }
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new Failure(`${file}: ${(error as Error).message}`);
  }
};

const itemsIn = async (file: string): Promise<readonly Item[]> => {
  const items = await parsed(file);
  if (!Array.isArray(items)) throw new Failure(`${file}: it must be a list of teams, each with its access`);
  for (const [index, item] of items.entries()) {
    const where = `${file}: item ${index + 1}`;
    if (typeof item !== 'object' || item === null || typeof item.team !== 'string')
      throw new Failure(`${where} must name its team, as in { team: ops, access: write }`);
    const unknown = Object.keys(item).find(key => !(itemKeys as readonly string[]).includes(key));
    if (unknown !== undefined)
      throw new Failure(`${where}: '${unknown}' is not known; there are ${itemKeys.join(', ')}`);
  }
  return items;
};

// The question

const bodyOf = (file: string, items: readonly Item[], teams: ReadonlyMap<string, Named>) => ({
  data: items.map(({ team: name, ...attributes }, index) => {
    const team = teams.get(name) ?? teams.get(name.toLowerCase());
    if (!team)
      throw new Failure(`${file}: item ${index + 1}: there is no team '${name}', or this token may not see it`);
    return { type: 'team-projects', attributes, relationships: { team: { data: { type: 'teams', id: team.id } } } };
  }),
});

const tried = async (server: Server, path: string, body: object, tag: string | undefined): Promise<Outcome> =>
  (
    await server.ask<Outcome>('PUT', `${path}?dry-run=true`, {
      body,
      ...(tag !== undefined && { headers: { 'if-match': tag } }),
    })
  ).document;

/** What the server finds wrong with a team in the file is told of it. */
const told = (error: Refused, file: string, items: readonly Item[]): Failure => {
  const details = error.errors.flatMap(({ detail, source }) => {
    const index = /^\/data\/(\d+)\//.exec(source?.pointer ?? '')?.[1];
    const item = index === undefined ? undefined : items[Number(index)];
    return detail === undefined || !item ? [] : [`${file}: team ${item.team}: ${detail}`];
  });
  return new Failure(error.message, details);
};

// The answer

const teamOf = ({ relationships }: Grant): string => relationships?.team?.data?.id ?? '';

const groups = ['project-access', 'workspace-access'] as const;

/** The permissions of a grant, and what was chosen where it is custom. */
const valuesOf = ({ attributes }: Grant): Map<string, Value> =>
  new Map(
    groups.flatMap(group =>
      Object.entries(attributes[group]).map(([key, value]) => [`${group}.${key}`, value] as const),
    ),
  );

const shownGrant = (grant: Grant): string => {
  const { access } = grant.attributes;
  if (access !== 'custom') return access;
  const chosen = [...valuesOf(grant)].filter(([, value]) => shownValue(value) !== '-');
  return `custom (${chosen.map(([name, value]) => `${name.split('.')[1]} ${value}`).join(', ')})`;
};

const shownChange = (before: Grant, after: Grant): string => {
  const [was, is] = [before.attributes.access, after.attributes.access];
  if (was !== 'custom' || is !== 'custom') return `${shownGrant(before)} -> ${shownGrant(after)}`;
  const values = valuesOf(before);
  const changed = [...valuesOf(after)].filter(([name, value]) => values.get(name) !== value);
  const parts = changed.map(
    ([name, value]) => `${name.split('.')[1]} ${shownValue(values.get(name) ?? null)} -> ${shownValue(value)}`,
  );
  return `custom (${parts.join(', ')})`;
};

const byId = (grants: readonly Grant[]): Map<string, Grant> => new Map(grants.map(grant => [grant.id, grant]));

const differences = (before: readonly Grant[], { data, meta }: Outcome, nameOf: (grant: Grant) => string): string => {
  const [old, next] = [byId(before), byId(data)];
  const both = <T>(ids: readonly string[], of: (before: Grant | undefined, after: Grant | undefined) => T): T[] =>
    ids.map(id => of(old.get(id), next.get(id)));
  const line = (mark: string, style: 'green' | 'yellow' | 'red', grant: Grant | undefined, text: string) =>
    styled(style, `${mark} ${clean(`${grant ? nameOf(grant) : 'a team that is hidden'}: ${text}`)}`);
  const lines = [
    ...both(meta.added, (_, after) => line('+', 'green', after, after ? shownGrant(after) : 'added')),
    ...both(meta.changed, (was, is) => line('~', 'yellow', is ?? was, was && is ? shownChange(was, is) : 'changed')),
    ...both(meta.removed, was => line('-', 'red', was, was ? shownGrant(was) : 'removed')),
    `  ${counted(meta.unchanged, 'team')} unchanged`,
  ];
  return `${lines.join('\n')}\n`;
};

const shownEffect = (effect: Effect): string => {
  const { changes, complete } = effect;
  if (changes.length === 0 && complete) return '\nNobody’s effective access would change.\n';
  const rows = changes.flatMap(({ subject, project, workspace, permissions }) =>
    permissions.map(({ permission, before, after }) => [
      `${subject.type === 'users' ? 'user' : 'team'} ${subject.name ?? subject.id}`,
      workspace ? `workspace ${workspace.name}` : `project ${project.name ?? project.id}`,
      permission,
      shownValue(before),
      shownValue(after),
    ]),
  );
  const more = complete ? '' : `\nThese are the first of ${effect['changes-count']} or more.\n`;
  return `\n${table(['WHO', 'WHERE', 'PERMISSION', 'BEFORE', 'AFTER'], rows)}${more}`;
};

const warnings = (effect: Effect): string => {
  const orphans = effect['projects-without-admin'].map(({ name }) => clean(name));
  return [
    ...(effect['caller-locked-out'] ? ['You would lock yourself out.'] : []),
    ...(orphans.length > 0 ? [`Left with no admin but the owners: ${orphans.join(', ')}`] : []),
  ]
    .map(line => `\n${styled('red', line)}\n`)
    .join('');
};

export const diff: Command = {
  name: 'diff',
  usage: 'FILE --project NAME',
  help: "how a project's team access differs from what a file says, and what it would do to make it so",
  more: [
    'FILE is YAML or JSON: a list of { team: NAME, access: LEVEL, project-access: {…}, workspace-access: {…} }, the last two',
    'for the level custom alone. The whole list is compared: a team that is not in it would be removed. Nothing is changed.',
    'Exit code 0 where nothing differs, 1 where something does.',
  ],
  flags: [{ flag: 'project', value: 'NAME', help: 'the project, by name or id' }],
  words: [1, 1],
  run: async ({ server, names, options, print }) => {
    const [file = ''] = options.words;
    const { value } = options.requiredOneOf(['project']);
    const items = await itemsIn(file);
    const teams = await names.teams();
    const body = bodyOf(file, items, teams);
    const project = await names.project(value);
    const path = `/api/v2/projects/${encodeURIComponent(project.id)}/team-projects`;
    const { document: before, tag } = await server.ask<Document<readonly Grant[]>>('GET', path);
    const outcome = await tried(server, path, body, tag).catch(error => {
      throw error instanceof Refused ? told(error, file, items) : error;
    });
    const { meta } = outcome;
    if (options.isOn('json')) print(json(outcome));
    else {
      print(`project ${clean(project.name)}, as it is, and as ${clean(file)} has it:\n\n`);
      print(differences(before.data, outcome, grant => teams.get(teamOf(grant))?.name ?? teamOf(grant)));
      print(shownEffect(meta.effect) + warnings(meta.effect));
    }
    return meta.added.length + meta.changed.length + meta.removed.length === 0 ? exit.yes : exit.no;
  },
};
