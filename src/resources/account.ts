/** The account that a token belongs to, and what its user may change of it. */

import { type Caller, hasAccount, mayReadAccount } from '../core/authority.ts';
import { found, invalid } from '../core/fault.ts';
import { isPassword, keptPassword } from '../store/password.ts';
import { sql } from '../store/sql.ts';
import type { Tx } from '../store/store.ts';
import { type Document, type Identifier, identifier, one, type Resource } from '../wire/document.ts';
import { emailAddress, literal, oneDocument, open, optional, textOf, update, upTo } from '../wire/schemas.ts';
import { get, patch } from './operation.ts';
import { nameOf } from './organization-resource.ts';
import type { Request } from './request.ts';
import { loadUser, saveUser, shownService, shownWhole, type User, UserResource, username } from './user-resource.ts';

// Shape

const Update = update('users', { username: optional(username), email: optional(emailAddress) });

const longest = 256;

const PasswordChange = open({
  data: open({
    type: optional(literal('users')),
    id: optional(upTo(longest)),
    attributes: open({
      current_password: optional(upTo(longest)),
      password: textOf(10, longest, `password must have 10 to ${longest} characters`),
      password_confirmation: upTo(longest),
    }),
  }),
});

const belongingTo = (resource: Resource, { id, type }: Identifier): Document =>
  one({
    ...resource,
    relationships: { ...resource.relationships, 'authenticated-resource': { data: { id, type } } },
  });

const documentOf = (user: User): Document => belongingTo(shownWhole(user), identifier('users', user.id));

// Storage

const passwordOf = async (tx: Tx, user: string): Promise<string | null> => {
  const row = await tx.row<[hash: string | null]>(sql`select password_hash from users where id = ${user}`);
  return found(row)[0];
};

const savePassword = (tx: Tx, user: string, hash: string): Promise<number> =>
  tx.run(sql`update users set password_hash = ${hash} where id = ${user}`);

// Operations

const common = { family: 'account', since: 'before the dated list' } as const;
const answer = oneDocument(UserResource);

const own = async ({ tx, caller }: Request): Promise<User> => {
  const { user } = found(caller, hasAccount) as Extract<Caller, { kind: 'user' }>;
  return found(await loadUser(tx, user));
};

export const accounts = [
  get({
    ...common,
    path: '/api/v2/account/details',
    summary: 'Show whom the token belongs to',
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { tx, caller } = request;
      found(caller, mayReadAccount);
      if (hasAccount(caller)) return documentOf(await own(request));
      return caller.kind === 'team'
        ? belongingTo(shownService(caller.team), identifier('teams', caller.team))
        : belongingTo(
            shownService(caller.organization),
            identifier('organizations', await nameOf(tx, caller.organization)),
          );
    },
  }),

  patch({
    ...common,
    path: '/api/v2/account/update',
    summary: 'Change the username; ask for another e-mail, which counts when a site admin has set it',
    audit: { resource: 'user', action: 'update' },
    body: Update,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const present = await own(request);
      const before = documentOf(present);
      request.expectUnchanged(before);
      const { username = present.username, email } = request.body().data.attributes ?? {};
      // An e-mail that is not proved to be the user's own must not accept the invitations sent to it.
      const asked = email === present.email ? null : email;
      const next = { ...present, username, unconfirmedEmail: asked === undefined ? present.unconfirmedEmail : asked };
      await saveUser(request.tx, next);
      const answer = documentOf(next);
      return { answer, change: { organization: null, id: next.id, before: before.data, after: answer.data } };
    },
  }),

  patch({
    ...common,
    path: '/api/v2/account/password',
    summary: 'Change the password; where there is none yet, the current one does not matter',
    audit: { resource: 'user', action: 'change_password' },
    body: PasswordChange,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const { tx } = request;
      const user = await own(request);
      const answer = documentOf(user);
      request.expectUnchanged(answer);
      const { current_password: current = '', password, password_confirmation: again } = request.body().data.attributes;
      const flawed = (name: string, detail: string) => invalid({ pointer: `/data/attributes/${name}`, detail });
      if (again !== password)
        throw flawed('password_confirmation', 'password_confirmation is not the same as password');
      const present = await passwordOf(tx, user.id);
      if (present !== null && !(await isPassword(current, present)))
        throw flawed('current_password', 'current_password is not the present password');
      await savePassword(tx, user.id, await keptPassword(password));
      return { answer, change: { organization: null, id: user.id, before: answer.data, after: answer.data } };
    },
  }),
];
