/** Organizations: each has an `owners` team with its creator in it, and a default project. */

import {
  type Caller,
  mayCreateOrganization,
  mayCreateProject,
  mayCreateTeam,
  mayManageOrganization,
  mayReadOrganization,
  type Standing,
} from '../core/authority.ts';
import { found, nameTaken } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { sql } from '../store/sql.ts';
import {
  belonging,
  inOrganization,
  inOrganizationNamed,
  inOrganizations,
  standing,
  standings,
} from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource } from '../wire/document.ts';
import {
  creation,
  emailAddress,
  exactly,
  flag,
  oneDocument,
  optional,
  pagedDocument,
  resource,
  ruled,
  text,
  time,
  update,
} from '../wire/schemas.ts';
import { get, list, patch, post, type Request, remove } from './operation.ts';
import { addMembership } from './organization-memberships.ts';
import { addProject, defaultProject } from './projects.ts';
import { addTeam, addTeamMember, newOwnersTeam } from './teams.ts';

// Shape

const name = ruled(
  '^[A-Za-z0-9_-]{1,64}$',
  'Name may only contain letters, digits, hyphens and underscores, with 1 to 64 characters',
);

const Creation = creation('organizations', { name, email: emailAddress });
const Update = update('organizations', { name: optional(name), email: optional(emailAddress) });

const may = (standing: Standing) => ({
  'can-update': mayManageOrganization(standing),
  'can-destroy': mayManageOrganization(standing),
  'can-create-team': mayCreateTeam(standing),
  'can-create-project': mayCreateProject(standing),
  'can-update-api-token': mayManageOrganization(standing),
  'can-traverse': mayReadOrganization(standing),
});

const OrganizationResource = resource('organizations', {
  name: text,
  email: text,
  'external-id': text,
  'created-at': time,
  permissions: exactly({
    'can-update': flag,
    'can-destroy': flag,
    'can-create-team': flag,
    'can-create-project': flag,
    'can-update-api-token': flag,
    'can-traverse': flag,
  }),
});

type Organization = {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly createdAt: string;
};

/** Clients know an organization by its name; the id behind it outlives a change of name. */
const shown = ({ id, name, email, createdAt }: Organization, standing: Standing): Resource => ({
  id: name,
  type: 'organizations',
  attributes: { name, email, 'external-id': id, 'created-at': createdAt, permissions: may(standing) },
  links: { self: pathOf('organizations', name) },
});

const documentOf = (organization: Organization, standing: Standing): Document => one(shown(organization, standing));

// Storage

type Columns = [id: string, name: string, email: string, createdAt: string];

const selected = sql`
  select organizations.id, organizations.name, organizations.email, organizations.created_at
  from organizations`;

const fromRow = ([id, name, email, createdAt]: Columns): Organization => ({ id, name, email, createdAt });

const load = async (tx: Tx, id: string): Promise<Organization | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where organizations.id = ${id}`);
  return row && fromRow(row);
};

const add = async (tx: Tx, { id, name, email, createdAt }: Organization): Promise<void> => {
  const added = await tx.run(sql`
    insert into organizations (id, name, email, created_at)
    values (${id}, ${name}, ${email}, ${createdAt})
    on conflict (lower(name)) do nothing`);
  if (added === 0) throw nameTaken();
};

const save = async (tx: Tx, { id, name, email }: Organization): Promise<void> => {
  const saved = await tx.run(sql`
    update organizations
    set name = ${name}, email = ${email}
    where id = ${id} and not exists (
      select 1
      from organizations as other
      where lower(other.name) = lower(cast(${name} as ctext)) and other.id <> ${id}
    )`);
  if (saved === 0) throw nameTaken();
};

// Operations

const path = '/api/v2/organizations';
const pathOfOne = '/api/v2/organizations/:organization';
const common = { family: 'organizations', since: 'before the dated list' } as const;
const answer = oneDocument(OrganizationResource);

const reached = async ({ tx, caller, params }: Request<typeof pathOfOne>, may: (standing: Standing) => boolean) => {
  const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), may);
  return { stand, present: found(await load(tx, stand.organization)) };
};

export const organizations = [
  list({
    ...common,
    path,
    summary: 'List the organizations that the caller belongs to',
    success: 200,
    answer: pagedDocument(OrganizationResource),
    failures: [],
    run: async request => {
      const { tx, caller, page } = request;
      const { items, total } = await pageOf<Columns>(tx, sql`${selected} where ${belonging(caller)}`, page);
      const ids = items.map(([id]) => id);
      const stands = await standings(tx, caller, inOrganizations(ids));
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
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { stand, present } = await reached(request, mayReadOrganization);
      return documentOf(present, stand);
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
      const { name, email } = request.body().data.attributes;
      const organization = { id: request.newId('org'), name, email, createdAt: now };
      await add(tx, organization);
      const [membership, team] = [request.newId('ou'), request.newId('team')];
      await addMembership(tx, membership, organization.id, user, now);
      await addTeam(tx, newOwnersTeam(team, name), organization.id, now);
      await addTeamMember(tx, organization.id, team, membership, now);
      const project = { id: request.newId('prj'), name: defaultProject, description: null, createdAt: now };
      await addProject(tx, project, organization.id, true);
      const answer = documentOf(organization, found(await standing(tx, caller, inOrganization(organization.id))));
      return {
        answer,
        change: { organization: organization.id, id: organization.id, before: null, after: answer.data },
      };
    },
  }),

  patch({
    ...common,
    path: pathOfOne,
    summary: 'Update an organization',
    audit: { resource: 'organization', action: 'update' },
    body: Update,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const { stand, present } = await reached(request, mayManageOrganization);
      const before = documentOf(present, stand);
      request.expectUnchanged(before);
      const { name = present.name, email = present.email } = request.body().data.attributes ?? {};
      const next = { ...present, name, email };
      await save(request.tx, next);
      const answer = documentOf(next, stand);
      return { answer, change: { organization: next.id, id: next.id, before: before.data, after: answer.data } };
    },
  }),

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
      await request.tx.run(sql`delete from organizations where id = ${present.id}`);
      const change = { organization: present.id, id: present.id, before: before.data, after: null };
      return { answer: undefined, change };
    },
  }),
];
