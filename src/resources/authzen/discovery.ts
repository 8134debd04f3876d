/** Where an organization answers questions: each is a policy decision point of its own, known by its name. */

import { found } from '../../core/fault.ts';
import { exactly, text } from '../../wire/schemas.ts';
import { organizationNameForm } from '../organization-resource.ts';

/** Below the path of an organization. */
export const endpoints = {
  access_evaluation_endpoint: '/access/v1/evaluation',
  access_evaluations_endpoint: '/access/v1/evaluations',
  search_subject_endpoint: '/access/v1/search/subject',
  search_resource_endpoint: '/access/v1/search/resource',
  search_action_endpoint: '/access/v1/search/action',
} as const;

export const PdpConfiguration = exactly({
  policy_decision_point: text,
  ...(Object.fromEntries(Object.keys(endpoints).map(name => [name, text])) as Record<
    keyof typeof endpoints,
    typeof text
  >),
});

const form = new RegExp(organizationNameForm);

/** For every name that an organization may have, so that nobody learns which there are. */
export const configurationOf = (publicUrl: string, organization: string) => {
  const identifier = `${publicUrl}/organizations/${found(organization, name => form.test(name))}`;
  const addresses = Object.entries(endpoints).map(([name, path]) => [name, identifier + path]);
  return { policy_decision_point: identifier, ...Object.fromEntries(addresses) };
};
