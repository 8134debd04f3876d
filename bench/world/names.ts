/** What the numbers of a world are called: ids that look as ours do, spread as random ones are, and tokens. */

import { sealed } from '../../src/store/token.ts';

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

type Prefix = 'org' | 'team' | 'prj' | 'ws' | 'user' | 'ou' | 'tprj' | 'tws' | 'at';

/** Well mixed, and told apart by the number at the end. */
const text = (kind: string, number: number, length: number): string => {
  let state = (number + 1) * 0x9e3779b1;
  for (let index = 0; index < kind.length; index++) state = Math.imul(state ^ kind.charCodeAt(index), 0x85ebca6b);
  let made = '';
  while (made.length < length - 5) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b1;
    made += base58[(state >>> 8) % 58];
  }
  let rest = number;
  for (let place = 0; place < 5; place++) {
    made += base58[rest % 58];
    rest = Math.floor(rest / 58);
  }
  return made;
};

export const idOf = (prefix: Prefix, number: number): string => `${prefix}-${text(prefix, number, 16)}`;

/** Each user has one, and each organization one of its own and one for questions. */
export const tokenOf = (kind: 'user' | 'organization' | 'decisions', number: number): string =>
  sealed(`${text(kind, number, 14)}.atlasv1.${text(`${kind} secret`, number, 61)}`);

export const nameOf = (kind: 'organization' | 'team' | 'project' | 'workspace' | 'user', number: number): string =>
  `${kind}-${number}`;
