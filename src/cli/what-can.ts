/** Where one subject may do something. */

import { type EffectiveAccess, heldOf, type Need, needFrom, shownReason, shownValue } from './access.ts';
import { atLeast, type Command, exit, subjectFlags } from './command.ts';
import { clean, counted, json, table } from './text.ts';

/** What is shown of each place where nothing is asked for in particular. */
const summary = ['runs', 'variables', 'state-versions'] as const;

const tableOf = (data: readonly EffectiveAccess[], kind: string, need: Need | undefined): string => {
  const nameOf = ({ attributes }: EffectiveAccess): string[] =>
    kind === 'project'
      ? [attributes['project-name'] ?? '']
      : [attributes['workspace-name'] ?? '', attributes['project-name'] ?? '-'];
  const head = kind === 'project' ? ['PROJECT', 'ACCESS'] : ['WORKSPACE', 'PROJECT', 'ACCESS'];
  if (!need) {
    const more = kind === 'project' ? (['settings', 'teams'] as const) : [];
    const rows = data.map(access => [
      ...nameOf(access),
      access.attributes.access,
      ...more.map(key => shownValue(access.attributes['project-access'][key] ?? null)),
      ...summary.map(key => shownValue(access.attributes['workspace-access'][key] ?? null)),
    ]);
    return table([...head, ...[...more, ...summary].map(key => key.toUpperCase())], rows);
  }
  const rows = data.map(access => {
    const { value, reasons } = heldOf(access, need);
    const full = reasons.filter(reason => reason.value === value).map(shownReason);
    return [...nameOf(access), access.attributes.access, shownValue(value), full.join('; ')];
  });
  return table([...head, (need.name.split('.')[1] ?? '').toUpperCase(), 'BY'], rows);
};

export const whatCan: Command = {
  name: 'what-can',
  usage: '[--user NAME | --team NAME] [PERMISSION[=VALUE]] [--workspaces]',
  help: 'where a user, a team or the token itself may do anything, or something in particular',
  more: [
    'PERMISSION is such as runs=apply; without a value, its highest is meant.',
    atLeast,
    'Exit code 0 where there is such a place, 1 where there is none.',
  ],
  flags: [...subjectFlags, { flag: 'workspaces', help: 'list workspaces instead of projects' }],
  words: [0, 1],
  run: async ({ server, names, options, print }) => {
    const [word] = options.words;
    const given = options.oneOf(['user', 'team']);
    const need = word === undefined ? undefined : await needFrom(server, word);
    const subject = await names.subject(given);
    const kind = options.isOn('workspaces') ? 'workspace' : 'project';
    const data = await server.all<EffectiveAccess>(`${subject.path}/effective-access`, {
      ...need?.filter,
      'filter[resource]': `${kind}s`,
      'filter[organization][name]': await names.organization(),
    });
    if (options.isOn('json')) print(json({ data }));
    else {
      const asked = need ? `${need.name}=${need.value}` : 'anything';
      const where = data.length === 0 ? `no ${kind}` : counted(data.length, kind);
      print(`${clean(subject.name)}, ${asked}: ${where}\n`);
      if (data.length > 0) print(`\n${tableOf(data, kind, need)}`);
    }
    return data.length > 0 ? exit.yes : exit.no;
  },
};
