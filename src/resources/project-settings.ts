/** What clients set on a project for its workspaces. It decides nothing here: it is kept for those who run things. */

import { invalid } from '../core/fault.ts';
import { exactly, flag, open, optional, orNull, ruled, type Static, text } from '../wire/schemas.ts';
import { defaultMode, executionMode, flawsOfOverwrites, flawsOfPool, isOwn, type Mode } from './execution-mode.ts';

/** The same on a workspace. The wording is one that clients look for. */
export const autoDestroyDuration = ruled(
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
  'auto-destroy-activity-duration': optional(orNull(autoDestroyDuration)),
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

const inheritedMode = (organization: Settings): Mode => organization['default-execution-mode'] ?? defaultMode;

const pool = { pointer: '/data/attributes/default-agent-pool-id', subject: 'Default agent pool' } as const;

/** What a request makes of the settings: what it does not name stays. */
export const changedSettings = (present: Settings, wished: Wished, organization: Settings): Settings => {
  const { 'auto-destroy-activity-duration': duration = present['auto-destroy-activity-duration'] ?? null } = wished;
  const { 'default-execution-mode': named, 'default-agent-pool-id': poolNamed, 'setting-overwrites': sent } = wished;
  const overwrites = { mode: sent?.['default-execution-mode'], pool: sent?.['default-agent-pool'] };
  const own = isOwn(overwrites) === false ? null : (named ?? present['default-execution-mode'] ?? null);
  const modes = { named, own, inherited: inheritedMode(organization) };
  const flaws = [
    ...flawsOfOverwrites(overwrites, 'default-execution-mode', modes),
    ...flawsOfPool(pool, poolNamed, modes),
  ];
  if (flaws.length > 0) throw invalid(...flaws);
  return { 'auto-destroy-activity-duration': duration, 'default-execution-mode': own };
};
