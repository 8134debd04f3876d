/** What grants on projects and on workspaces have in common: what a request wishes, and what the caller may give. */

import { type Access, type Grant, type Kind, nothing, type Permission, type Value, type Wish } from '../core/access.ts';
import { excess, type Standing } from '../core/authority.ts';
import { invalid } from '../core/fault.ts';
import { flag, oneOf, type TSchema } from '../wire/schemas.ts';

export const valueSchema = ({ values }: Permission): TSchema =>
  typeof values[0] === 'boolean' ? flag : oneOf(...(values as string[]));

/** How a kind of grant is spoken of: where its permissions stand in a body, and what it says of those it refuses. */
export type Wording = {
  readonly place: 'project' | 'workspace';
  readonly pointerAt: (permission: Permission) => string;
  readonly refusal: (permission: Permission, access: string) => string;
};

/** The wish of a body, whose permissions are found by `sent`. */
export const wishOf = <L extends string>(
  { choosable }: Kind<L>,
  access: Access<L> | undefined,
  sent: (permission: Permission) => unknown,
): Wish<L> => ({
  access,
  values: choosable.flatMap(permission => {
    const value = sent(permission);
    return value === undefined ? [] : [{ permission, value: value as Value }];
  }),
});

/** What the wish makes of the present grant, as far as the caller may give it. */
export const decided = <L extends string>(
  { granted, changed }: Kind<L>,
  caller: Standing,
  wish: Wish<L>,
  present: Grant<L> | undefined,
  { place, pointerAt, refusal }: Wording,
): Grant<L> => {
  const next = changed(present, wish);
  if ('refused' in next) {
    const access = wish.access ?? present?.access ?? '';
    throw invalid(...next.refused.map(each => ({ pointer: pointerAt(each), detail: refusal(each, access) })));
  }
  const beyondReach = excess(caller, granted(next), present ? granted(present) : nothing);
  if (beyondReach.length > 0) {
    const detail = `would be more than your own access to this ${place}`;
    throw next.access === 'custom'
      ? invalid(...beyondReach.map(each => ({ pointer: pointerAt(each), detail: `${each.key} ${detail}` })))
      : invalid({ pointer: '/data/attributes/access', detail: `'${next.access}' ${detail}` });
  }
  return next;
};
