/** What clients set on a workspace and read back. Most of it decides nothing here: it is kept for those who run things. */

import { invalid } from '../core/fault.ts';
import {
  eachOptional,
  exactly,
  flag,
  instant,
  listOf,
  open,
  optional,
  orNull,
  ruled,
  type Static,
  text,
  time,
  upTo,
} from '../wire/schemas.ts';
import { instantOf } from '../wire/time.ts';
import { executionMode, flawAt, flawsOfOverwrites, flawsOfPool, isOwn, type Mode } from './execution-mode.ts';
import { autoDestroyDuration } from './project-settings.ts';

const versionPart = '[~<>=! ]*\\d{1,4}\\.\\d{1,4}(\\.\\d{1,4}(-[0-9A-Za-z.]{1,32})?)?';

const version = ruled(
  // Bounded first, and without two parts that match the same: else a long one would take the server's time.
  `^(?=.{1,256}$)(latest|${versionPart}(,${versionPart})*)$`,
  'terraform-version must be a version such as 1.9.8, a constraint such as ~> 1.9.0, or latest',
);

const paths = listOf(upTo(1024), { maxItems: 1000 });

const repository = open({
  identifier: upTo(1024),
  branch: optional(upTo(1024)),
  'ingress-submodules': optional(flag),
  'oauth-token-id': optional(orNull(upTo(256))),
  'github-app-installation-id': optional(orNull(upTo(256))),
  'tags-regex': optional(orNull(upTo(1024))),
});

/** The kinds of the settings that a request may name and every answer shows. */
const kinds = {
  description: orNull(upTo(1024)),
  'allow-destroy-plan': flag,
  'assessments-enabled': flag,
  'auto-apply': flag,
  'auto-apply-run-trigger': flag,
  'file-triggers-enabled': flag,
  'global-remote-state': flag,
  'project-remote-state': flag,
  'migration-environment': orNull(upTo(256)),
  'queue-all-runs': flag,
  'speculative-enabled': flag,
  'source-name': orNull(upTo(256)),
  'source-url': orNull(upTo(2048)),
  'structured-run-output-enabled': flag,
  'terraform-version': version,
  'trigger-prefixes': paths,
  'trigger-patterns': paths,
  'working-directory': orNull(upTo(1024)),
};
type Plain = { readonly [K in keyof typeof kinds]: Static<(typeof kinds)[K]> };

const defaults: Plain = {
  description: null,
  'allow-destroy-plan': true,
  'assessments-enabled': false,
  'auto-apply': false,
  'auto-apply-run-trigger': false,
  'file-triggers-enabled': true,
  'global-remote-state': false,
  'project-remote-state': false,
  'migration-environment': null,
  'queue-all-runs': false,
  'speculative-enabled': true,
  'source-name': null,
  'source-url': null,
  'structured-run-output-enabled': true,
  'terraform-version': '1.14.0',
  'trigger-prefixes': [],
  'trigger-patterns': [],
  'working-directory': '',
};

type Repository = Static<typeof repository>;

/** What was set; the rest has its default, or comes from the project and the organization. */
export type Settings = Partial<Plain> & {
  readonly 'execution-mode'?: Mode | null;
  readonly 'auto-destroy-at'?: string | null;
  readonly 'auto-destroy-activity-duration'?: string | null;
  readonly 'inherits-project-auto-destroy'?: boolean;
  readonly 'vcs-repo'?: Repository | null;
};

/** What a workspace takes from its project and organization where it sets nothing itself. */
export type Inherited = { readonly executionMode: Mode; readonly autoDestroyActivityDuration: string | null };

/** What a request may name. */
export const settable = {
  ...eachOptional(kinds),
  'auto-destroy-at': optional(orNull(instant('auto-destroy-at'))),
  'auto-destroy-activity-duration': optional(orNull(autoDestroyDuration)),
  'inherits-project-auto-destroy': optional(flag),
  'execution-mode': optional(executionMode),
  'agent-pool-id': optional(orNull(text)),
  operations: optional(flag),
  'setting-overwrites': optional(open({ 'execution-mode': optional(flag), 'agent-pool': optional(flag) })),
  'vcs-repo': optional(orNull(repository)),
};

export type Wished = Static<ReturnType<typeof open<typeof settable>>>;

/** What every answer shows. */
export const SettingsShape = {
  ...kinds,
  'auto-destroy-at': orNull(time),
  'auto-destroy-activity-duration': orNull(text),
  'inherits-project-auto-destroy': flag,
  'execution-mode': executionMode,
  'agent-pool-id': orNull(text),
  operations: flag,
  'setting-overwrites': exactly({ 'execution-mode': flag, 'agent-pool': flag }),
  'vcs-repo': orNull(
    exactly({
      identifier: text,
      'display-identifier': text,
      branch: text,
      'ingress-submodules': flag,
      'oauth-token-id': orNull(text),
      'github-app-installation-id': orNull(text),
      'tags-regex': orNull(text),
    }),
  ),
};

const shownRepository = (repository: Repository) => ({
  identifier: repository.identifier,
  'display-identifier': repository.identifier,
  branch: repository.branch ?? '',
  'ingress-submodules': repository['ingress-submodules'] ?? false,
  'oauth-token-id': repository['oauth-token-id'] ?? null,
  'github-app-installation-id': repository['github-app-installation-id'] ?? null,
  'tags-regex': repository['tags-regex'] ?? null,
});

export const shownSettings = (settings: Settings, inherited: Inherited) => {
  const mode = settings['execution-mode'] ?? inherited.executionMode;
  const overwrites = (settings['execution-mode'] ?? null) !== null;
  const { inherits, at, duration } = autoDestroyOf(settings);
  const plain = Object.entries(defaults).map(([name, byDefault]) => [name, settings[name as keyof Plain] ?? byDefault]);
  return {
    ...(Object.fromEntries(plain) as Plain),
    'auto-destroy-at': at,
    'auto-destroy-activity-duration': inherits ? inherited.autoDestroyActivityDuration : duration,
    'inherits-project-auto-destroy': inherits,
    'execution-mode': mode,
    'agent-pool-id': null,
    operations: hasOperations(mode),
    'setting-overwrites': { 'execution-mode': overwrites, 'agent-pool': overwrites },
    'vcs-repo': settings['vcs-repo'] ? shownRepository(settings['vcs-repo']) : null,
  };
};

/** A workspace with a time or a duration of its own inherits none, unless it says so. */
const autoDestroyOf = (settings: Settings) => {
  const at = settings['auto-destroy-at'] ?? null;
  const duration = settings['auto-destroy-activity-duration'] ?? null;
  const inherits = settings['inherits-project-auto-destroy'] ?? (at === null && duration === null);
  return { inherits, at, duration };
};

const pool = { pointer: '/data/attributes/agent-pool-id', subject: 'Agent pool' } as const;

const hasOperations = (mode: Mode): boolean => mode !== 'local';

/** The mode that a workspace has of its own, null where it takes the one of its project; and what is wrong with the wish. */
const modeAfter = (present: Settings, wished: Wished, inherited: Mode) => {
  const { 'execution-mode': sent, operations, 'setting-overwrites': asked, 'agent-pool-id': poolNamed } = wished;
  const overwrites = { mode: asked?.['execution-mode'], pool: asked?.['agent-pool'] };
  const before = present['execution-mode'] ?? null;
  const current = before ?? inherited;
  // An older way to say the same, which clients send back as they read it.
  const meant = operations === undefined || operations === hasOperations(current) ? undefined : modeOf(operations);
  const named = sent ?? meant;
  const otherwise = isOwn(overwrites) ? current : before;
  const own = isOwn(overwrites) === false ? null : (named ?? otherwise);
  const flaws = [
    ...flawsOfOverwrites(overwrites, 'execution-mode', { named, own, inherited }),
    ...flawsOfPool(pool, poolNamed, { named, own, inherited }),
  ];
  if (sent !== undefined && operations !== undefined && operations !== hasOperations(sent))
    flaws.push(flawAt('operations', `operations cannot be ${operations} with the execution-mode '${sent}'`));
  return { own, flaws };
};

const modeOf = (operations: boolean): Mode => (operations ? 'remote' : 'local');

const kept = [
  ...(Object.keys(kinds) as (keyof typeof kinds)[]),
  'auto-destroy-activity-duration',
  'inherits-project-auto-destroy',
  'vcs-repo',
] as const;

/** What a request makes of the settings: what it does not name stays. */
export const changedSettings = (present: Settings, wished: Wished, inherited: Inherited): Settings => {
  const { 'auto-destroy-at': at } = wished;
  const time = typeof at === 'string' ? instantOf(at) : at;
  const { own, flaws: flawsOfMode } = modeAfter(present, wished, inherited.executionMode);
  const flaws = [
    ...(at && time === undefined
      ? [flawAt('auto-destroy-at', 'auto-destroy-at must be a time such as 2030-01-31T12:00:00Z')]
      : []),
    ...flawsOfMode,
  ];
  if (flaws.length > 0) throw invalid(...flaws);
  const named = kept.filter(name => wished[name] !== undefined).map(name => [name, wished[name]]);
  return {
    ...present,
    ...Object.fromEntries(named),
    'execution-mode': own,
    ...(time !== undefined && { 'auto-destroy-at': time }),
  };
};
