/** What clients keep on an organization: stored and shown as it was set. By itself it decides nothing. */

import { invalid } from '../core/fault.ts';
import {
  between,
  eachOptional,
  flag,
  oneOf,
  open,
  optional,
  orNull,
  reference,
  type Static,
  upTo,
} from '../wire/schemas.ts';
import { defaultMode, executionMode, flawsOfPool } from './execution-mode.ts';
import { pointerTo } from './request.ts';

const mostMinutes = 2 ** 31 - 1;
const minutes = orNull(between(1, mostMinutes, `A session must have 1 to ${mostMinutes} minutes`));

/** Every setting, as an answer has it. */
export const settings = {
  'aggregated-commit-status-enabled': flag,
  'allow-force-delete-workspaces': flag,
  'assessments-enforced': flag,
  'collaborator-auth-policy': oneOf('password', 'two_factor_mandatory'),
  'cost-estimation-enabled': flag,
  'default-execution-mode': executionMode,
  'enforce-hyok': flag,
  'max-ttl-enabled': flag,
  'owners-team-saml-role-id': orNull(upTo(256)),
  'send-passing-statuses-for-untriggered-speculative-plans': flag,
  'session-remember': minutes,
  'session-timeout': minutes,
  'speculative-plan-management-enabled': flag,
  'stacks-enabled': flag,
};

/** And as a request may set it. */
export const settable = eachOptional(settings);

/** Those that were set. */
const Settings = open(settable);
export type Settings = Static<typeof Settings>;

const defaults: Required<Settings> = {
  'aggregated-commit-status-enabled': true,
  'allow-force-delete-workspaces': false,
  'assessments-enforced': false,
  'collaborator-auth-policy': 'password',
  'cost-estimation-enabled': false,
  'default-execution-mode': defaultMode,
  'enforce-hyok': false,
  'max-ttl-enabled': false,
  'owners-team-saml-role-id': null,
  'send-passing-statuses-for-untriggered-speculative-plans': false,
  'session-remember': null,
  'session-timeout': null,
  'speculative-plan-management-enabled': true,
  'stacks-enabled': false,
};

export const inForce = (set: Settings): Required<Settings> => ({ ...defaults, ...set });

/** The settings with those among these attributes; what is not sent stays. */
export const withSettings = (set: Settings, attributes: Settings): Settings => ({
  ...set,
  ...Object.fromEntries(Object.entries(attributes).filter(([name]) => Object.hasOwn(settings, name))),
});

export const agentPoolWished = optional(
  open({ 'default-agent-pool': optional(open({ data: optional(orNull(reference('agent-pools'))) })) }),
);

export const expectAgentPool = (set: Settings, wished: Static<typeof agentPoolWished> | undefined): void => {
  const mode = inForce(set)['default-execution-mode'];
  const where = { pointer: pointerTo('default-agent-pool'), subject: 'Default agent pool' } as const;
  const flaws = flawsOfPool(where, wished?.['default-agent-pool']?.data?.id, {
    named: mode,
    own: mode,
    inherited: defaultMode,
  });
  if (flaws.length > 0) throw invalid(...flaws);
};
