/** A `permissions` block: a table of rights, each a rule of authority, as its schema and as what it says to one caller. */

import type { Standing } from '../core/authority.ts';
import { exactly, flag } from '../wire/schemas.ts';

type Right = (standing: Standing) => boolean;

export const permissionsBlock = <N extends string>(rights: Readonly<Record<N, Right>>) => {
  const each = <T>(value: (may: Right) => T) =>
    Object.fromEntries(Object.entries<Right>(rights).map(([name, may]) => [name, value(may)])) as Record<N, T>;
  return { schema: exactly(each(() => flag)), of: (standing: Standing) => each(may => may(standing)) };
};
