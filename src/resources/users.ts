/** Users: added by a site admin; anyone sees themselves and those they share an organization with. */

import { type Caller, isSiteAdmin } from '../core/authority.ts';
import { found, invalid, refused } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import { ownersTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource } from '../wire/document.ts';
import {
  creation,
  emailAddress,
  exactly,
  flag,
  oneDocument,
  optional,
  orNull,
  pagedDocument,
  resource,
  ruled,
  text,
  update,
} from '../wire/schemas.ts';
import { get, list, patch, post, type Request, remove } from './operation.ts';
import { expectAnOwner } from './owners.ts';

// Shape

const username = ruled(
  '^(?![uU][sS][eE][rR]-)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$',
  'Username may only contain letters, digits, dots, hyphens and underscores, with 1 to 64 characters, and not begin with user-',
);

const Creation = creation('users', { username, email: emailAddress, 'is-admin': optional(flag) });
const Update = update('users', {
  username: optional(username),
  email: optional(emailAddress),
  'is-admin': optional(flag),
});

/** Whether somebody is a site admin is shown to site admins and to themselves. */
const UserResource = resource(
  'users',
  { username: text, email: orNull(text), 'is-service-account': flag, 'is-admin': optional(flag) },
  {},
  optional(exactly({ self: text })),
);

type User = {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly admin: boolean;
};

const shown = ({ id, username, email }: User, more: Readonly<Record<string, unknown>> = {}): Resource => ({
  id,
  type: 'users',
  attributes: { username, email, 'is-service-account': false, ...more },
  links: { self: pathOf('users', id) },
});

const shownWhole = (user: User): Resource => shown(user, { 'is-admin': user.admin });

/** A team or an organization appears as a service account under its own token, and nowhere else. */
const shownService = (id: string): Resource => ({
  id: `user-${id.split('-')[1]}`,
  type: 'users',
  attributes: { username: `api-${id}`, email: null, 'is-service-account': true, 'is-admin': false },
});

const documentOf = (user: User): Document => one(shownWhole(user));

// Storage

type Columns = [id: string, username: string, email: string, isAdmin: number, createdAt: string];

const selected = sql`
  select users.id, users.username, users.email, users.is_admin, users.created_at
  from users`;

const fromRow = ([id, username, email, isAdmin]: Columns): User => ({ id, username, email, admin: isAdmin === 1 });

/** The users that share an organization with the caller, and the caller itself; all of them for a site admin. */
export const visibleTo = (caller: Caller): Sql => {
  if (isSiteAdmin(caller)) return sql`1 = 1`;
  const organizations =
    caller.kind === 'user'
      ? sql`select organization_id from organization_memberships where user_id = ${caller.user}`
      : sql`${caller.organization}`;
  const shared = sql`
    users.id in (select user_id from organization_memberships where organization_id in (${organizations}))`;
  return caller.kind === 'user' ? sql`(users.id = ${caller.user} or ${shared})` : shared;
};

const load = async (tx: Tx, id: string, visible = sql`1 = 1`): Promise<User | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where users.id = ${id} and ${visible}`);
  return row && fromRow(row);
};

const expectFree = async (tx: Tx, { id, username, email }: User): Promise<void> => {
  const others = await tx.rows<[username: number, email: number]>(sql`
    select case when lower(username) = lower(cast(${username} as ctext)) then 1 else 0 end,
      case when lower(email) = lower(cast(${email} as ctext)) then 1 else 0 end
    from users
    where (lower(username) = lower(cast(${username} as ctext)) or lower(email) = lower(cast(${email} as ctext))) and id <> ${id}`);
  const flaws = (['username', 'email'] as const)
    .filter((_, column) => others.some(other => other[column] === 1))
    .map(name => ({
      pointer: `/data/attributes/${name}`,
      detail: `${name === 'email' ? 'Email' : 'Username'} has already been taken`,
    }));
  if (flaws.length > 0) throw invalid(...flaws);
};

/** Invitations under a user's e-mail become its memberships; where it is a member already, their teams become its teams. */
const acceptInvitations = async (tx: Tx, { id, email }: User): Promise<string[]> => {
  const invited = await tx.rows<[id: string]>(sql`
    select id
    from organization_memberships
    where lower(invited_email) = lower(cast(${email} as ctext))`);
  await tx.run(sql`
    insert into team_memberships (organization_id, team_id, membership_id, created_at)
    select team_memberships.organization_id, team_memberships.team_id, own.id, team_memberships.created_at
    from organization_memberships as invited
    join organization_memberships as own on own.organization_id = invited.organization_id and own.user_id = ${id}
    join team_memberships on team_memberships.membership_id = invited.id
    where lower(invited.invited_email) = lower(cast(${email} as ctext))
    on conflict (team_id, membership_id) do nothing`);
  await tx.run(sql`
    delete from organization_memberships
    where lower(invited_email) = lower(cast(${email} as ctext))
      and organization_id in (select organization_id from organization_memberships where user_id = ${id})`);
  await tx.run(sql`
    update organization_memberships
    set user_id = ${id}, invited_email = null
    where lower(invited_email) = lower(cast(${email} as ctext))`);
  return invited.map(([membership]) => membership);
};

/** Gives back the invitations that the user accepted by coming to be. */
export const addUser = async (tx: Tx, user: User, now: string): Promise<string[]> => {
  const { id, username, email, admin } = user;
  await expectFree(tx, user);
  await tx.run(sql`
    insert into users (id, username, email, is_admin, created_at)
    values (${id}, ${username}, ${email}, ${admin ? 1 : 0}, ${now})`);
  return acceptInvitations(tx, user);
};

const save = async (tx: Tx, user: User): Promise<string[]> => {
  const { id, username, email, admin } = user;
  await expectFree(tx, user);
  await tx.run(sql`
    update users
    set username = ${username}, email = ${email}, is_admin = ${admin ? 1 : 0}
    where id = ${id}`);
  return acceptInvitations(tx, user);
};

const expectAnAdmin = async (tx: Tx): Promise<void> => {
  const admin = await tx.row(sql`select id from users where is_admin = 1 limit 1`);
  if (!admin) throw refused('A server must keep a site admin: this would remove the last one.');
};

/** The organizations whose owner the user is. */
const ownedBy = async (tx: Tx, id: string): Promise<string[]> => {
  const rows = await tx.rows<[organization: string]>(sql`
    select teams.organization_id
    from organization_memberships
    join team_memberships on team_memberships.membership_id = organization_memberships.id
    join teams on teams.id = team_memberships.team_id
    where organization_memberships.user_id = ${id} and teams.name = ${ownersTeam}`);
  return rows.map(([organization]) => organization);
};

// Operations

const path = '/api/v2/admin/users';
const common = { family: 'users', since: 'before the dated list' } as const;
const answer = oneDocument(UserResource);

const expectSiteAdmin = (caller: Caller): void => {
  found(caller, isSiteAdmin);
};

const reached = async ({ tx, caller, params }: Request<`${typeof path}/:id`>): Promise<User> => {
  expectSiteAdmin(caller);
  return found(await load(tx, params.id));
};

export const users = [
  get({
    ...common,
    path: '/api/v2/account/details',
    summary: 'Show whom the token belongs to',
    success: 200,
    answer,
    failures: [],
    run: async ({ tx, caller }) => {
      if (caller.kind !== 'user') return one(shownService(caller.kind === 'team' ? caller.team : caller.organization));
      return documentOf(found(await load(tx, caller.user)));
    },
  }),

  get({
    ...common,
    path: '/api/v2/users/:id',
    summary: 'Show a user',
    success: 200,
    answer,
    failures: [404],
    run: async ({ tx, caller, params }) => one(shown(found(await load(tx, params.id, visibleTo(caller))))),
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
      const user = { id: request.newId('user'), username, email, admin };
      const accepted = await addUser(request.tx, user, request.now);
      const answer = documentOf(user);
      return { answer, change: { organization: null, id: user.id, before: null, after: { ...answer.data, accepted } } };
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
      const next = { ...present, username, email, admin };
      const accepted = await save(request.tx, next);
      await expectAnAdmin(request.tx);
      const answer = documentOf(next);
      const after = { ...answer.data, accepted };
      return { answer, change: { organization: null, id: next.id, before: before.data, after } };
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
      await tx.run(sql`delete from users where id = ${present.id}`);
      await expectAnAdmin(tx);
      for (const organization of owned) await expectAnOwner(tx, organization);
      return { answer: undefined, change: { organization: null, id: present.id, before: before.data, after: null } };
    },
  }),
];
