/** Users: added by a site admin; anyone sees themselves and those they share an organization with. */

import { type Caller, isSiteAdmin, isUser } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { sql } from '../store/sql.ts';
import { type Document, one } from '../wire/document.ts';
import { creation, emailAddress, flag, oneDocument, optional, pagedDocument, update } from '../wire/schemas.ts';
import { get, list, patch, post, remove } from './operation.ts';
import { expectAnOwner } from './owners.ts';
import type { Request } from './request.ts';
import {
  addUser,
  type Columns,
  expectAnAdmin,
  fromRow,
  invitationsTo,
  loadUser,
  type Membership,
  membershipsOf,
  ownedBy,
  saveUser,
  selected,
  shown,
  shownWhole,
  type User,
  UserResource,
  username,
  visibleTo,
} from './user-resource.ts';

// Shape

const Creation = creation('users', { username, email: emailAddress, 'is-admin': optional(flag) });
const Update = update('users', {
  username: optional(username),
  email: optional(emailAddress),
  'is-admin': optional(flag),
});

const documentOf = (user: User): Document => one(shownWhole(user));

// Operations

/** Who comes or goes by a site admin's doing comes or goes in organizations, whose audit trails tell of it. */
const joined = (memberships: readonly Membership[], { id: user, email }: Pick<User, 'id' | 'email'>) =>
  memberships.map(({ id, organization }) => ({
    audit: { resource: 'organization_user', action: 'accept_invitation' },
    organization,
    id,
    before: { status: 'invited', email },
    after: { status: 'active', email, user },
  }));

const gone = (memberships: readonly Membership[], { id: user, email }: Pick<User, 'id' | 'email'>) =>
  memberships.map(({ id, organization }) => ({
    audit: { resource: 'organization_user', action: 'destroy' },
    organization,
    id,
    before: { status: 'active', email, user },
    after: null,
  }));

/** Whoever accepts invitations comes into their teams. */
const accepting = async (request: Request, { id, email }: Pick<User, 'id' | 'email'>): Promise<void> => {
  for (const { organization, teams } of await invitationsTo(request.tx, email))
    await request.affecting({ organization, users: [id], through: teams });
};

const path = '/api/v2/admin/users';
const common = { family: 'users', since: 'before the dated list' } as const;
const answer = oneDocument(UserResource);

const expectSiteAdmin = (caller: Caller): void => {
  found(caller, isSiteAdmin);
};

const reached = async ({ tx, caller, params }: Request<`${typeof path}/:id`>): Promise<User> => {
  expectSiteAdmin(caller);
  return found(await loadUser(tx, params.id));
};

export const users = [
  get({
    ...common,
    path: '/api/v2/users/:id',
    summary: 'Show a user',
    success: 200,
    answer,
    failures: [404],
    run: async ({ tx, caller, params }) => {
      const user = found(await loadUser(tx, params.id, visibleTo(caller)));
      return one(isUser(caller, user.id) ? shownWhole(user) : shown(user));
    },
  }),

  list({
    ...common,
    path,
    summary: 'List all users (site admin)',
    success: 200,
    answer: pagedDocument(UserResource),
    failures: [404],
    run: async request => {
      expectSiteAdmin(request.caller);
      const rows = await pageOf<Columns>(request.tx, selected, request.page);
      return request.paged(rows, row => shownWhole(fromRow(row)));
    },
  }),

  get({
    ...common,
    path: `${path}/:id`,
    summary: 'Show a user (site admin)',
    success: 200,
    answer,
    failures: [404],
    run: async request => documentOf(await reached(request)),
  }),

  post({
    ...common,
    path,
    summary: 'Add a user (site admin)',
    audit: { resource: 'user', action: 'create' },
    body: Creation,
    success: 201,
    answer,
    failures: [404, 422],
    run: async request => {
      expectSiteAdmin(request.caller);
      const { username, email, 'is-admin': admin = false } = request.body().data.attributes;
      const user = { id: request.newId('user'), username, email, unconfirmedEmail: null, admin };
      await accepting(request, user);
      const accepted = await addUser(request.tx, user, request.now);
      const answer = documentOf(user);
      const change = { organization: null, id: user.id, before: null, after: answer.data };
      return { answer, change, besides: joined(accepted, user) };
    },
  }),

  patch({
    ...common,
    path: `${path}/:id`,
    summary: 'Update a user (site admin)',
    audit: { resource: 'user', action: 'update' },
    body: Update,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const present = await reached(request);
      const before = documentOf(present);
      request.expectUnchanged(before);
      const attributes = request.body().data.attributes ?? {};
      const { username = present.username, email = present.email, 'is-admin': admin = present.admin } = attributes;
      // An e-mail that a site admin sets is confirmed by it, also the present one over one that was asked for.
      const unconfirmedEmail = attributes.email === undefined ? present.unconfirmedEmail : null;
      const next = { ...present, username, email, unconfirmedEmail, admin };
      await accepting(request, next);
      const accepted = await saveUser(request.tx, next);
      await expectAnAdmin(request.tx);
      const answer = documentOf(next);
      const change = { organization: null, id: next.id, before: before.data, after: answer.data };
      return { answer, change, besides: joined(accepted, next) };
    },
  }),

  remove({
    ...common,
    path: `${path}/:id`,
    summary: 'Delete a user with all its memberships and tokens (site admin)',
    audit: { resource: 'user', action: 'destroy' },
    success: 204,
    failures: [403, 404, 412, 422],
    run: async request => {
      const { tx } = request;
      const present = await reached(request);
      const before = documentOf(present);
      request.expectUnchanged(before);
      const owned = await ownedBy(tx, present.id);
      const left = await membershipsOf(tx, present.id);
      for (const { organization } of left)
        await request.affecting({ organization, users: [present.id], through: 'theirs' });
      // With its tokens.
      await request.affecting({ organization: null });
      await tx.run(sql`delete from users where id = ${present.id}`);
      await expectAnAdmin(tx);
      for (const organization of owned) await expectAnOwner(tx, organization);
      const change = { organization: null, id: present.id, before: before.data, after: null };
      return { answer: undefined, change, besides: gone(left, present) };
    },
  }),
];
