/** What one subject may do in one place, and why. */

import { type EffectiveAccess, permissionsOf, shownReason, shownValue } from './access.ts';
import { atLeast, type Command, exit, placeFlags, subjectFlags } from './command.ts';
import { clean, json, table } from './text.ts';

export const explain: Command = {
  name: 'explain',
  usage: '[--user NAME | --team NAME] (--project NAME | --workspace NAME)',
  help: 'what a user, a team or the token itself may do in a place, and through which team and grant',
  more: [atLeast, 'Exit code 0 where it may do anything, 1 where nothing.'],
  flags: [...subjectFlags, ...placeFlags],
  words: [0, 0],
  run: async ({ server, names, options, print }) => {
    const place = await names.place(options.requiredOneOf(['project', 'workspace']));
    const subject = await names.subject(options.oneOf(['user', 'team']));
    const data = await server.all<EffectiveAccess>(`${subject.path}/effective-access`, {
      [`filter[${place.word}][id]`]: place.id,
      ...(options.get('organization') !== undefined && { 'filter[organization][name]': await names.organization() }),
    });
    const [access] = data;
    if (options.isOn('json')) print(json({ data }));
    else if (!access)
      print(`${clean(`${subject.name} may do nothing on ${place.word} ${place.name}`)}, as far as this token sees\n`);
    else {
      const { attributes } = access;
      const where = attributes[`${place.word}-name`] ?? place.name;
      print(`${clean(`${subject.name} on ${place.word} ${where}`)}: ${clean(attributes.access)}\n\n`);
      const rows = permissionsOf(access).flatMap(({ name, value, reasons }) => {
        const [first, ...others] = reasons.map(reason => [shownReason(reason), shownValue(reason.value)]);
        return [[name, shownValue(value), ...(first ?? [])], ...others.map(other => ['', '', ...other])];
      });
      print(table(['PERMISSION', 'VALUE', 'BY', 'GIVES'], rows));
    }
    return access ? exit.yes : exit.no;
  },
};
