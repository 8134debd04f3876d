/** What clients set on a project for its workspaces. It decides nothing here: it is kept for those who run things. */

import { type Flaw, invalid } from '../core/fault.ts';
import { exactly, flag, oneOf, open, optional, orNull, ruled, type Static, text } from '../wire/schemas.ts';

const executionMode = oneOf('remote', 'local', 'agent');
type Mode = Static<typeof executionMode>;

/** The wording is one that clients look for, here as in the other texts of this file. */
const duration = ruled(
  '^(?!0+[dh]$)[0-9]{1,4}[dh]$',
  "Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
);

/** What was set; the rest comes from the organization. */
export type Settings = {
  readonly 'auto-destroy-activity-duration'?: string | null;
  readonly 'default-execution-mode'?: Mode | null;
};

/** What a request may name. */
export const settable = {
  'auto-destroy-activity-duration': optional(orNull(duration)),
  'default-execution-mode': optional(executionMode),
  'default-agent-pool-id': optional(orNull(text)),
  'setting-overwrites': optional(
    open({ 'default-execution-mode': optional(flag), 'default-agent-pool': optional(flag) }),
  ),
};

type Wished = Static<ReturnType<typeof open<typeof settable>>>;

/** What every answer shows. */
export const SettingsShape = {
  'auto-destroy-activity-duration': orNull(text),
  'default-execution-mode': executionMode,
  'setting-overwrites': exactly({ 'default-execution-mode': flag, 'default-agent-pool': flag }),
};

export const shownSettings = (settings: Settings, organization: Settings) => {
  const own = settings['default-execution-mode'] ?? null;
  return {
    'auto-destroy-activity-duration': settings['auto-destroy-activity-duration'] ?? null,
    'default-execution-mode': own ?? inheritedMode(organization),
    'setting-overwrites': { 'default-execution-mode': own !== null, 'default-agent-pool': own !== null },
  };
};

const inheritedMode = (organization: Settings): Mode => organization['default-execution-mode'] ?? 'remote';

/** What a request makes of the settings: what it does not name stays. */
export const changedSettings = (present: Settings, wished: Wished, organization: Settings): Settings => {
  const { 'auto-destroy-activity-duration': duration = present['auto-destroy-activity-duration'] ?? null } = wished;
  const own = present['default-execution-mode'] ?? null;
  const { 'default-execution-mode': named = own } = wished;
  const mode = overwrites(wished) === false ? null : named;
  const flaws = [
    ...flawsOfOverwrites(wished, named, inheritedMode(organization)),
    ...flawsOfPool(wished, mode ?? inheritedMode(organization)),
  ];
  if (flaws.length > 0) throw invalid(...flaws);
  return { 'auto-destroy-activity-duration': duration, 'default-execution-mode': mode };
};

/** Mode and pool go together: whether the project has its own or takes the organization's, where the request says so. */
const overwrites = ({ 'setting-overwrites': overwrites = {} }: Wished): boolean | undefined =>
  overwrites['default-execution-mode'] ?? overwrites['default-agent-pool'];

const flawAt = (attribute: string, detail: string): Flaw => ({ pointer: `/data/attributes/${attribute}`, detail });

const flawsOfOverwrites = (wished: Wished, mode: Mode | null, inherited: Mode): Flaw[] => {
  const { 'default-execution-mode': ofMode, 'default-agent-pool': ofPool } = wished['setting-overwrites'] ?? {};
  const flaw = (detail: string) => [flawAt('setting-overwrites', detail)];
  if (ofMode !== undefined && ofPool !== undefined && ofMode !== ofPool)
    return flaw(
      'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.',
    );
  // A client may send back what it read: the organization's mode, and that it is not the project's own.
  if (overwrites(wished) === false && (wished['default-execution-mode'] ?? inherited) !== inherited)
    return flaw("setting-overwrites cannot be false with another default-execution-mode than the organization's");
  if (overwrites(wished) === true && mode === null)
    return flaw('setting-overwrites cannot be true without a default-execution-mode');
  return [];
};

/** No agent pool is served here, so none can be named. */
const flawsOfPool = (wished: Wished, mode: Mode): Flaw[] => {
  const isNamed = (wished['default-agent-pool-id'] ?? '') !== '';
  const flaw = (detail: string) => [flawAt('default-agent-pool-id', `Default agent pool ${detail}`)];
  if (isNamed)
    return flaw(mode === 'agent' ? 'not found' : "must not be specified unless using 'agent' execution mode");
  return wished['default-execution-mode'] === 'agent'
    ? flaw("must be specified when using 'agent' execution mode")
    : [];
};
