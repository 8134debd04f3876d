/** What was changed, by whom, and what it did to effective access. */

import { type Command, exit } from './command.ts';
import { Failure } from './fault.ts';
import { isId, type Names } from './names.ts';
import type { Resource } from './server.ts';
import { counted, json, table } from './text.ts';

type Event = Resource<{
  readonly action: string;
  readonly 'resource-type': string;
  readonly 'resource-id': string;
  readonly actor: { readonly name: string };
  readonly 'created-at': string;
  readonly effect: {
    readonly 'changes-count': number;
    readonly complete: boolean;
    readonly 'caller-locked-out': boolean;
    readonly 'projects-without-admin': readonly unknown[];
  } | null;
}>;

const defaultLimit = 50;

const limitOf = (text: string): number => {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new Failure('--limit must be a whole number, 1 or more');
};

/** A user, a team, or whatever id the trail has. */
const actorOf = async (names: Names, name: string): Promise<string> =>
  isId('[a-z]+', name) ? name : (await names.user(name)).id;

const effectOf = ({ attributes: { effect } }: Event): string => {
  if (!effect) return '-';
  const { 'changes-count': count, complete, 'projects-without-admin': left } = effect;
  return [
    ...(count === 0 && complete ? [] : [`${count}${complete ? '' : ' or more'} changed`]),
    ...(effect['caller-locked-out'] ? ['actor locked out'] : []),
    ...(left.length > 0 ? [`${counted(left.length, 'project')} left without an admin`] : []),
  ].join(', ');
};

export const audit: Command = {
  name: 'audit',
  usage:
    '[--project NAME] [--team NAME] [--actor NAME] [--action ACTION] [--since TIME] [--until TIME] [--limit NUMBER]',
  help: 'what was changed, the newest first; for owners, and for the tokens of the organization that read its trail',
  more: [
    'An audit-trails token sees no names: with it, --organization is needed, and ids instead of names.',
    'Exit code 0 where there is such a change, 1 where there is none.',
  ],
  flags: [
    { flag: 'project', value: 'NAME', help: 'of this project, by name or id' },
    { flag: 'team', value: 'NAME', help: 'of this team, by name or id' },
    { flag: 'actor', value: 'NAME', help: 'by this user, by username, e-mail or id; a team by its id' },
    { flag: 'action', value: 'ACTION', help: 'of this kind, such as create or update_team_permissions' },
    { flag: 'since', value: 'TIME', help: 'from then on, such as 2026-01-31T12:00:00Z' },
    { flag: 'until', value: 'TIME', help: 'before then' },
    { flag: 'limit', value: 'NUMBER', help: `so many at most (default: ${defaultLimit})` },
  ],
  words: [0, 0],
  run: async ({ server, names, options, print, remark }) => {
    const limit = limitOf(options.get('limit') ?? `${defaultLimit}`);
    const [project, team, actor] = [options.get('project'), options.get('team'), options.get('actor')];
    const query = {
      'filter[project][id]': project && (await names.project(project)).id,
      'filter[team][id]': team && (await names.team(team)).id,
      'filter[actor][id]': actor && (await actorOf(names, actor)),
      'filter[action]': options.get('action'),
      'filter[since]': options.get('since'),
      'filter[until]': options.get('until'),
    };
    const data: Event[] = [];
    let more = false;
    const path = `/api/v2/organizations/${encodeURIComponent(await names.organization())}/audit-events`;
    for await (const page of server.pages<Event>(path, query)) {
      data.push(...page.data);
      more = data.length > limit || (data.length === limit && page.meta?.pagination?.['next-page'] !== null);
      if (data.length >= limit) break;
    }
    const shown = data.slice(0, limit);
    if (options.isOn('json')) print(json({ data: shown }));
    else if (shown.length === 0) print('no such change\n');
    else {
      const rows = shown.map(event => {
        const { attributes } = event;
        const what = `${attributes['resource-type']}.${attributes.action}`;
        return [attributes['created-at'], attributes.actor.name, what, attributes['resource-id'], effectOf(event)];
      });
      print(table(['TIME', 'ACTOR', 'ACTION', 'ON', 'EFFECTIVE ACCESS'], rows));
      if (more) remark(`there are more: --limit shows more than ${limit}`);
    }
    return shown.length > 0 ? exit.yes : exit.no;
  },
};
