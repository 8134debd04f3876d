/** Organizations: each has an `owners` team with its creator in it, and a default project. */

import {
  type Caller,
  mayCreateOrganization,
  mayManageOrganization,
  mayReadOrganization,
  mayReadProject,
  type Standing,
} from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { contains } from '../store/search.ts';
import { type Sql, sql } from '../store/sql.ts';
import { belonging, onDefaultProjects, standing, standings } from '../store/standing.ts';
import { type Document, one } from '../wire/document.ts';
import { largestPageSize } from '../wire/limits.ts';
import {
  emailAddress,
  literal,
  oneDocument,
  open,
  optional,
  pagedDocument,
  type Static,
  text,
} from '../wire/schemas.ts';
import { EntitlementSetResource, shownEntitlements } from './entitlement-set.ts';
import { get, list, patch, post, put, remove } from './operation.ts';
import { addMembership } from './organization-membership-resource.ts';
import {
  addOrganization,
  type Columns,
  fromRow,
  load,
  type Organization,
  OrganizationResource,
  organizationName,
  save,
  selected,
  settableOfOrganization,
  shown,
} from './organization-resource.ts';
import { agentPoolWished, expectAgentPool, withSettings } from './organization-settings.ts';
import { expectAWayBack } from './owners.ts';
import { addProject, defaultProject, ProjectResource, projectSeen, shown as shownProject } from './project-resource.ts';
import type { Request } from './request.ts';
import { addTeam, addTeamMember, newOwnersTeam } from './team-resource.ts';

// Shape of requests

const Creation = open({
  data: open({
    type: literal('organizations'),
    attributes: open({ name: organizationName, email: emailAddress, ...settableOfOrganization }),
    relationships: agentPoolWished,
  }),
});

const Update = open({
  data: open({
    type: optional(literal('organizations')),
    id: optional(text),
    attributes: optional(
      open({ name: optional(organizationName), email: optional(emailAddress), ...settableOfOrganization }),
    ),
    relationships: agentPoolWished,
  }),
});

// Operations

const documentOf = (organization: Organization, standing: Standing): Document => one(shown(organization, standing));

const path = '/api/v2/organizations';
const pathOfOne = '/api/v2/organizations/:organization';
const common = { family: 'organizations', since: 'before the dated list' } as const;
const answer = oneDocument(OrganizationResource);
const userTokensPointer = '/data/attributes/user-tokens-enabled';

const reached = async ({ tx, caller, params }: Request<typeof pathOfOne>, may: (standing: Standing) => boolean) => {
  const named = sql`lower(organizations.name) = lower(cast(${params.organization} as ctext))`;
  const stand = found(await standing(tx, caller, onDefaultProjects(named)), may);
  return { stand, present: found(await load(tx, stand.organization)) };
};

type Attributes = NonNullable<Static<typeof Update>['data']['attributes']>;

/** The organization with what a request says of it; what it does not say stays. */
export const changedOrganization = (present: Organization, attributes: Attributes): Organization => {
  const { name = present.name, email = present.email, 'user-tokens-enabled': userTokens } = attributes;
  return {
    ...present,
    name,
    email,
    userTokens: userTokens ?? present.userTokens,
    settings: withSettings(present.settings, attributes),
  };
};

/** What the query searches for; `q` alone counts where it is there. */
const matching = (request: Request): Sql => {
  const [anywhere, name, email] = ['q', 'q[name]', 'q[email]'].map(parameter => request.parameter(parameter));
  const has = (column: Sql, text: string | undefined) => (text === undefined ? sql`1 = 1` : contains(column, text));
  const [inName, inEmail] = [sql`organizations.name`, sql`organizations.email`];
  return anywhere === undefined
    ? sql`${has(inName, name)} and ${has(inEmail, email)}`
    : sql`(${has(inName, anywhere)} or ${has(inEmail, anywhere)})`;
};

const updating = {
  ...common,
  path: pathOfOne,
  summary: 'Update an organization',
  audit: { resource: 'organization', action: 'update' },
  body: Update,
  success: 200,
  answer,
  failures: [404, 412, 422],
  run: async (request: Request<typeof pathOfOne, Static<typeof Update>>) => {
    const { tx, now } = request;
    const { stand, present } = await reached(request, mayManageOrganization);
    const before = documentOf(present, stand);
    request.expectUnchanged(before);
    const { attributes = {}, relationships } = request.body().data;
    const next = changedOrganization(present, attributes);
    expectAgentPool(next.settings, relationships);
    if (next.userTokens !== present.userTokens) await request.affecting({ organization: next.id });
    await save(tx, next);
    await expectAWayBack(tx, next.id, now, userTokensPointer);
    const answer = documentOf(next, stand);
    return { answer, change: { organization: next.id, id: next.id, before: before.data, after: answer.data } };
  },
} as const;

export const organizations = [
  list({
    ...common,
    path,
    summary: 'List the organizations that the caller belongs to',
    filters: ['q', 'q[name]', 'q[email]'],
    includes: ['subscription'],
    pageSizes: { unasked: largestPageSize },
    success: 200,
    answer: pagedDocument(OrganizationResource),
    failures: [],
    run: async request => {
      const { tx, caller, page } = request;
      // There are no subscriptions, so there is none to include.
      request.includes('subscription');
      const visible = sql`${selected} where ${belonging(caller)} and ${matching(request)}`;
      const { items, total } = await pageOf<Columns>(tx, visible, page);
      const ids = items.map(([id]) => id);
      const stands = await standings(tx, caller, onDefaultProjects(sql`organizations.id in (${ids})`));
      const rows = items.map(row => ({
        organization: fromRow(row),
        stand: found(stands.find(stand => stand.organization === row[0])),
      }));
      return request.paged({ items: rows, total }, ({ organization, stand }) => shown(organization, stand));
    },
  }),

  get({
    ...common,
    path: pathOfOne,
    summary: 'Show an organization',
    includes: ['default-project', 'entitlement-set', 'subscription'],
    success: 200,
    answer: oneDocument(OrganizationResource, ProjectResource, EntitlementSetResource),
    failures: [404],
    run: async request => {
      const { stand, present } = await reached(request, mayReadOrganization);
      const included = [
        ...(request.includes('default-project') && mayReadProject(stand)
          ? [shownProject(found(await projectSeen(request, stand, stand.project ?? '')))]
          : []),
        ...(request.includes('entitlement-set') ? [shownEntitlements(present.id)] : []),
      ];
      return one(shown(present, stand), request.parameter('include') ? included : undefined);
    },
  }),

  post({
    ...common,
    path,
    summary: 'Create an organization; the caller becomes its first owner',
    audit: { resource: 'organization', action: 'create' },
    body: Creation,
    success: 201,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, now } = request;
      const { user } = found(caller, mayCreateOrganization) as Caller & { kind: 'user' };
      const { attributes, relationships } = request.body().data;
      const { name, email } = attributes;
      const blank = { id: request.newId('org'), name, email, createdAt: now, userTokens: true, settings: {} };
      const organization = changedOrganization(blank, attributes);
      expectAgentPool(organization.settings, relationships);
      const [membership, team, home] = [request.newId('ou'), request.newId('team'), request.newId('prj')];
      await request.affecting({ organization: organization.id, teams: [team], users: [user], projects: [home] });
      await addOrganization(tx, organization);
      await expectAWayBack(tx, organization.id, now, userTokensPointer);
      await addMembership(tx, membership, organization.id, user, now);
      await addTeam(tx, newOwnersTeam(team, name), organization.id, now);
      await addTeamMember(tx, organization.id, team, membership, now);
      const project = { id: home, name: defaultProject, description: null, createdAt: now };
      await addProject(tx, project, organization.id, true);
      const place = onDefaultProjects(sql`organizations.id = ${organization.id}`);
      const answer = documentOf(organization, found(await standing(tx, caller, place)));
      return {
        answer,
        change: { organization: organization.id, id: organization.id, before: null, after: answer.data },
      };
    },
  }),

  patch(updating),
  put(updating),

  remove({
    ...common,
    path: pathOfOne,
    summary: 'Delete an organization and everything in it',
    audit: { resource: 'organization', action: 'destroy' },
    success: 204,
    failures: [404, 412],
    run: async request => {
      const { stand, present } = await reached(request, mayManageOrganization);
      const before = documentOf(present, stand);
      request.expectUnchanged(before);
      await request.affecting({ organization: present.id, teams: 'holders', projects: 'all' });
      await request.tx.run(sql`delete from organizations where id = ${present.id}`);
      const change = { organization: present.id, id: present.id, before: before.data, after: null };
      return { answer: undefined, change };
    },
  }),
];
