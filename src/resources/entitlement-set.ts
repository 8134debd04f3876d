/** What an organization is entitled to. There is no licence here: nothing is withheld, and nothing is counted. */

import { mayReadOrganization } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { inOrganizationNamed, standing } from '../store/standing.ts';
import { one, pathOf, type Resource } from '../wire/document.ts';
import { count, flag, oneDocument, orNull, resource } from '../wire/schemas.ts';
import { get } from './operation.ts';

// Shape

/** As clients expect of a standard plan; what is served is another matter, which the OpenAPI document tells. */
const entitlements = {
  agents: true,
  'audit-logging': true,
  'configuration-designer': false,
  'cost-estimation': true,
  'global-run-tasks': false,
  infragraph: true,
  'infragraph-with-nrtu': false,
  'module-tests-generation': false,
  operations: true,
  'policy-enforcement': false,
  'private-module-registry': true,
  'private-policy-agents': false,
  'private-run-tasks': false,
  'private-vcs': false,
  'run-tasks': false,
  'self-serve-billing': false,
  sentinel: true,
  sso: true,
  'state-storage': true,
  teams: true,
  'usage-reporting': false,
  'vcs-integrations': true,
  'waypoint-actions': false,
  'waypoint-templates-and-addons': true,
};

const unlimited = {
  'policy-limit': null,
  'policy-mandatory-enforcement-limit': null,
  'policy-set-limit': null,
  'run-task-limit': null,
  'run-task-mandatory-enforcement-limit': null,
  'run-task-workspace-limit': null,
  'user-limit': null,
  'versioned-policy-set-limit': null,
};

const each = (names: object, schema: typeof flag | ReturnType<typeof orNull>) =>
  Object.fromEntries(Object.keys(names).map(name => [name, schema]));

export const EntitlementSetResource = resource('entitlement-sets', {
  ...each(entitlements, flag),
  ...each(unlimited, orNull(count)),
});

export const shownEntitlements = (organization: string): Resource => ({
  id: organization,
  type: 'entitlement-sets',
  attributes: { ...entitlements, ...unlimited },
  links: { self: pathOf('entitlement-sets', organization) },
});

// Operations

export const entitlementSets = [
  get({
    path: '/api/v2/organizations/:organization/entitlement-set',
    family: 'entitlement-sets',
    since: 'before the dated list',
    summary: 'Show what an organization is entitled to',
    success: 200,
    answer: oneDocument(EntitlementSetResource),
    failures: [404],
    run: async ({ tx, caller, params }) => {
      const place = inOrganizationNamed(params.organization);
      const { organization } = found(await standing(tx, caller, place), mayReadOrganization);
      return one(shownEntitlements(organization));
    },
  }),
];
