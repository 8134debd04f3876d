/** A user as it is shown, by whom it is seen, and how it is kept. */

import { type Caller, isSiteAdmin } from '../core/authority.ts';
import { invalid, refused } from '../core/fault.ts';
import { type Sql, sql } from '../store/sql.ts';
import { belonging, ownersTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { pathOf, type Resource } from '../wire/document.ts';
import {
  exactly,
  flag,
  linked,
  nothing,
  optional,
  orNull,
  relatedAny,
  resource,
  ruled,
  text,
} from '../wire/schemas.ts';

// Shape

export const username = ruled(
  '^(?![uU][sS][eE][rR]-)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$',
  'Username may only contain letters, digits, dots, hyphens and underscores, with 1 to 64 characters, and not begin with user-',
);

const permissions = [
  'can-create-organizations',
  'can-change-email',
  'can-change-username',
  'can-manage-user-tokens',
  'can-view2fa-settings',
  'can-manage-hcp-account',
] as const;

/** What is shown of anybody, the e-mail to fellow members, and the rest to the user itself and to site admins. */
export const UserResource = resource(
  'users',
  {
    username: orNull(text),
    'avatar-url': text,
    'is-service-account': flag,
    'auth-method': text,
    'v2-only': flag,
    email: optional(orNull(text)),
    'unconfirmed-email': optional(orNull(text)),
    'is-admin': optional(flag),
    'is-site-admin': optional(flag),
    'is-sso-login': optional(flag),
    'two-factor': optional(exactly({ enabled: flag, verified: flag })),
    password: optional(nothing),
    permissions: optional(exactly(Object.fromEntries(permissions.map(name => [name, flag])))),
  },
  {
    'authentication-tokens': optional(linked),
    'authenticated-resource': optional(relatedAny('users', 'teams', 'organizations')),
  },
  optional(exactly({ self: text })),
);

export type User = {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly unconfirmedEmail: string | null;
  readonly admin: boolean;
};

/** One picture for all, within the answer: a picture that is fetched tells a third party who is looked at. */
const avatar =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Ccircle cx='50' cy='50' r='50'/%3E%3C/svg%3E";

const ofAnybody = { 'avatar-url': avatar, 'auth-method': 'tfc', 'v2-only': false };

const ofAccount = (email: string | null, unconfirmedEmail: string | null, admin: boolean) => ({
  email,
  'unconfirmed-email': unconfirmedEmail,
  'is-admin': admin,
  'is-site-admin': admin,
  'is-sso-login': false,
  'two-factor': { enabled: false, verified: false },
  password: null,
});

const rights = (...held: readonly (typeof permissions)[number][]) =>
  Object.fromEntries(permissions.map(name => [name, held.includes(name)]));

export const shown = (
  { id, username }: Pick<User, 'id' | 'username'>,
  more: Readonly<Record<string, unknown>> = {},
): Resource => ({
  id,
  type: 'users',
  attributes: { username, 'is-service-account': false, ...ofAnybody, ...more },
  relationships: { 'authentication-tokens': { links: { related: pathOf('users', `${id}/authentication-tokens`) } } },
  links: { self: pathOf('users', id) },
});

/** To those who share an organization with the user. */
export const shownFellow = (user: Pick<User, 'id' | 'username' | 'email'>): Resource =>
  shown(user, { email: user.email });

/** Who is only invited, under an id of the invitation's own, which leads nowhere. */
export const shownInvited = (id: string, email: string): Resource => ({
  id,
  type: 'users',
  attributes: { username: null, 'is-service-account': false, ...ofAnybody, email },
  relationships: {},
});

/** To the user itself, and to a site admin, who may change the same. */
export const shownWhole = (user: User): Resource =>
  shown(user, {
    ...ofAccount(user.email, user.unconfirmedEmail, user.admin),
    permissions: rights(
      'can-create-organizations',
      'can-change-email',
      'can-change-username',
      'can-manage-user-tokens',
    ),
  });

/** A team or an organization appears as a service account under its own token, and nowhere else. */
export const shownService = (id: string): Resource => ({
  id: `user-${id.split('-')[1]}`,
  type: 'users',
  attributes: {
    username: `api-${id}`,
    'is-service-account': true,
    ...ofAnybody,
    ...ofAccount(null, null, false),
    permissions: rights(),
  },
});

// Storage

export type Columns = [
  id: string,
  username: string,
  email: string,
  unconfirmedEmail: string | null,
  isAdmin: number,
  createdAt: string,
];

export const selected = sql`
  select users.id, users.username, users.email, users.unconfirmed_email, users.is_admin, users.created_at
  from users`;

export const fromRow = ([id, username, email, unconfirmedEmail, isAdmin]: Columns): User => ({
  id,
  username,
  email,
  unconfirmedEmail,
  admin: isAdmin === 1,
});

/** The users that share an organization with the caller, and the caller itself; all of them for a site admin. */
export const visibleTo = (caller: Caller): Sql => {
  if (isSiteAdmin(caller)) return sql`1 = 1`;
  const shared = sql`
    users.id in (
      select organization_memberships.user_id
      from organizations
      join organization_memberships on organization_memberships.organization_id = organizations.id
      where ${belonging(caller)}
    )`;
  return caller.kind === 'user' ? sql`(users.id = ${caller.user} or ${shared})` : shared;
};

export const loadUser = async (tx: Tx, id: string, visible = sql`1 = 1`): Promise<User | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where users.id = ${id} and ${visible}`);
  return row && fromRow(row);
};

/** For documents that include users. */
export const usersShown = async (tx: Tx, which: Sql): Promise<Resource[]> => {
  const rows = await tx.rows<Columns>(sql`${selected} where ${which} order by users.created_at, users.id`);
  return rows.map(row => shownFellow(fromRow(row)));
};

type NewUser = Omit<User, 'unconfirmedEmail'> & Partial<Pick<User, 'unconfirmedEmail'>>;

const expectFree = async (tx: Tx, { id, username, email }: NewUser): Promise<void> => {
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

export type Membership = { readonly id: string; readonly organization: string };

/** The invitations under an e-mail, and the teams that they are to. */
export const invitationsTo = async (tx: Tx, email: string) => {
  const rows = await tx.rows<[organization: string, teams: string | null]>(sql`
    select organization_id, (
      select string_agg(team_id, ',' order by team_id)
      from team_memberships
      where membership_id = organization_memberships.id
    )
    from organization_memberships
    where lower(invited_email) = lower(cast(${email} as ctext))
    order by id`);
  return rows.map(([organization, teams]) => ({ organization, teams: teams?.split(',') ?? [] }));
};

/** Invitations under a user's e-mail become its memberships; where it is a member already, their teams become its teams. */
const acceptInvitations = async (tx: Tx, { id, email }: NewUser): Promise<Membership[]> => {
  const invited = await tx.rows<[id: string, organization: string]>(sql`
    select id, organization_id
    from organization_memberships
    where lower(invited_email) = lower(cast(${email} as ctext))
    order by id`);
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
  return invited.map(([id, organization]) => ({ id, organization }));
};

/** The site admin of a server that was given no other. */
export const firstAdmin = { username: 'admin', email: 'admin@localhost' } as const;

/** Gives back the invitations that the user accepted by coming to be. */
export const addUser = async (tx: Tx, user: NewUser, now: string): Promise<Membership[]> => {
  const { id, username, email, unconfirmedEmail = null, admin } = user;
  await expectFree(tx, user);
  await tx.run(sql`
    insert into users (id, username, email, unconfirmed_email, is_admin, created_at)
    values (${id}, ${username}, ${email}, ${unconfirmedEmail}, ${admin ? 1 : 0}, ${now})`);
  return acceptInvitations(tx, user);
};

export const saveUser = async (tx: Tx, user: User): Promise<Membership[]> => {
  const { id, username, email, unconfirmedEmail, admin } = user;
  await expectFree(tx, user);
  await tx.run(sql`
    update users
    set username = ${username}, email = ${email}, unconfirmed_email = ${unconfirmedEmail}, is_admin = ${admin ? 1 : 0}
    where id = ${id}`);
  return acceptInvitations(tx, user);
};

export const expectAnAdmin = async (tx: Tx): Promise<void> => {
  const admin = await tx.row(sql`select id from users where is_admin = 1 limit 1`);
  if (!admin) throw refused('A server must keep a site admin: this would remove the last one.');
};

export const membershipsOf = async (tx: Tx, user: string): Promise<Membership[]> => {
  const rows = await tx.rows<[id: string, organization: string]>(sql`
    select id, organization_id
    from organization_memberships
    where user_id = ${user}
    order by id`);
  return rows.map(([id, organization]) => ({ id, organization }));
};

/** The organizations whose owner the user is. */
export const ownedBy = async (tx: Tx, id: string): Promise<string[]> => {
  const rows = await tx.rows<[organization: string]>(sql`
    select teams.organization_id
    from organization_memberships
    join team_memberships on team_memberships.membership_id = organization_memberships.id
    join teams on teams.id = team_memberships.team_id
    where organization_memberships.user_id = ${id} and teams.name = ${ownersTeam}
    order by teams.organization_id`);
  return rows.map(([organization]) => organization);
};
