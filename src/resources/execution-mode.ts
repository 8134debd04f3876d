/** Where runs are executed: one rule for organizations, projects and workspaces. It is kept for those who run things. */

import type { Flaw } from '../core/fault.ts';
import { oneOf, type Static } from '../wire/schemas.ts';

export const executionMode = oneOf('remote', 'local', 'agent');
export type Mode = Static<typeof executionMode>;

export const defaultMode: Mode = 'remote';

export const flawAt = (attribute: string, detail: string): Flaw => ({
  pointer: `/data/attributes/${attribute}`,
  detail,
});

/** What `setting-overwrites` says: whether the mode and the pool are a place's own, or inherited. */
type Overwrites = { readonly mode: boolean | undefined; readonly pool: boolean | undefined };

/** Mode and pool go together: whether both are to be the place's own, where the request says so. */
export const isOwn = ({ mode, pool }: Overwrites): boolean | undefined => mode ?? pool;

/** The mode that the request names, the one that is the place's own after it, and the one that it inherits. */
type Modes = { readonly named: Mode | undefined; readonly own: Mode | null; readonly inherited: Mode };

/** `attribute` is the one of the mode. The wording is one that clients look for. */
export const flawsOfOverwrites = (
  overwrites: Overwrites,
  attribute: string,
  { named, own, inherited }: Modes,
): Flaw[] => {
  const { mode, pool } = overwrites;
  const flaw = (detail: string) => [flawAt('setting-overwrites', detail)];
  if (mode !== undefined && pool !== undefined && mode !== pool)
    return flaw(
      'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.',
    );
  // A client may send back what it read: the inherited mode, and that it is not the place's own.
  if (isOwn(overwrites) === false && (named ?? inherited) !== inherited)
    return flaw(`setting-overwrites cannot be false with another ${attribute} than the inherited one`);
  if (isOwn(overwrites) === true && own === null) return flaw(`setting-overwrites cannot be true without ${attribute}`);
  return [];
};

/** Agents need a pool, and nothing else may have one. No pool is served here, so that no mode leads to one. */
export const flawsOfPool = (
  { pointer, subject }: { readonly pointer: string; readonly subject: 'Agent pool' | 'Default agent pool' },
  pool: string | null | undefined,
  { named, own, inherited }: Modes,
): Flaw[] => {
  const flaw = (detail: string) => [{ pointer, detail: `${subject} ${detail}` }];
  if (pool)
    return flaw(
      (own ?? inherited) === 'agent'
        ? "not found: this server has no agent pools, use the execution mode 'remote' or 'local'"
        : "must not be specified unless using 'agent' execution mode",
    );
  return named === 'agent' ? flaw("must be specified when using 'agent' execution mode") : [];
};
