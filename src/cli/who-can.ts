/** Who may do something in one place, and why. */

import { type EffectiveAccess, heldOf, needFrom, shownReason, shownValue } from './access.ts';
import { atLeast, type Command, exit, placeFlags } from './command.ts';
import { clean, counted, json, table } from './text.ts';

export const whoCan: Command = {
  name: 'who-can',
  usage: 'PERMISSION[=VALUE] (--project NAME | --workspace NAME) [--teams]',
  help: 'who has a permission in a place, at this value or higher',
  more: [
    'PERMISSION is such as runs=apply or workspace-access.runs=apply; without a value, its highest is meant.',
    atLeast,
    'Exit code 0 where there is somebody, 1 where nobody.',
  ],
  flags: [...placeFlags, { flag: 'teams', help: 'list teams instead of users' }],
  words: [1, 1],
  run: async ({ server, names, options, print }) => {
    const given = options.requiredOneOf(['project', 'workspace']);
    const need = await needFrom(server, options.words[0] ?? '');
    const place = await names.place(given);
    const kind = options.isOn('teams') ? 'team' : 'user';
    const path = `/api/v2/${place.kind}/${encodeURIComponent(place.id)}/effective-access`;
    const data = await server.all<EffectiveAccess>(path, { ...need.filter, 'filter[subject]': `${kind}s` });
    if (options.isOn('json')) print(json({ data }));
    else {
      const asked = `${need.name}=${need.value} on ${place.word} ${clean(place.name)}`;
      print(`${asked}: ${data.length === 0 ? 'nobody' : counted(data.length, kind)}\n`);
      if (data.length > 0) {
        const rows = data.map(access => {
          const { value, reasons } = heldOf(access, need);
          const name = access.attributes['subject-name'] ?? access.relationships?.subject?.data?.id ?? '';
          const full = reasons.filter(reason => reason.value === value);
          return [name, shownValue(value), full.map(shownReason).join('; ')];
        });
        print(`\n${table([kind.toUpperCase(), 'VALUE', 'BY'], rows)}`);
      }
    }
    return data.length > 0 ? exit.yes : exit.no;
  },
};
