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
import { pointerTo } from './operation.ts';

const mostMinutes = 2 ** 31 - 1;
const minutes = orNull(between(1, mostMinutes, `A session must have 1 to ${mostMinutes} minutes`));

/** Every setting, as an answer has it. */
export const settings = {
  'aggregated-commit-status-enabled': flag,
  'allow-force-delete-workspaces': flag,
  'assessments-enforced': flag,
  'collaborator-auth-policy': oneOf('password', 'two_factor_mandatory'),
  'cost-estimation-enabled': flag,
  'default-execution-mode': oneOf('remote', 'local', 'agent'),
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
  'default-execution-mode': 'remote',
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

/** Agents need a pool, and nothing else may have one. This server has no pools, so that no mode leads to one. */
export const expectAgentPool = (set: Settings, wished: Static<typeof agentPoolWished> | undefined): void => {
  const isNamed = Boolean(wished?.['default-agent-pool']?.data);
  const isNeeded = inForce(set)['default-execution-mode'] === 'agent';
  if (!isNamed && !isNeeded) return;
  const whyNot = {
    needed: "Default agent pool must be specified when using 'agent' execution mode",
    named: "Default agent pool must not be specified unless using 'agent' execution mode",
    both: "Default agent pool must exist, and this server has no agent pools: use the execution mode 'remote' or 'local'",
  }[isNamed && isNeeded ? 'both' : isNamed ? 'named' : 'needed'];
  throw invalid({ pointer: pointerTo('default-agent-pool'), detail: whyNot });
};
