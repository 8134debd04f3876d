/** Who belongs to an organization. A user is invited by e-mail, and active as soon as a user with that e-mail exists. */

import { mayInvite, mayReadOrganization, mayRemoveMember, type Standing, visibleTeams } from '../core/authority.ts';
import { Fault, found, invalid } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { within } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import {
  type Caller,
  inOrganizationNamed,
  inOrganizationOfMembership,
  ownersTeam,
  standing,
} from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource, toMany, toOne } from '../wire/document.ts';
import {
  creation,
  emailAddress,
  oneDocument,
  oneOf,
  pagedDocument,
  related,
  relatedMany,
  resource,
  text,
  time,
} from '../wire/schemas.ts';
import { get, list, post, type Request, remove } from './operation.ts';
import { expectAnOwner } from './owners.ts';

// Shape

const Creation = creation('organization-memberships', { email: emailAddress });

export const MembershipResource = resource(
  'organization-memberships',
  { status: oneOf('active', 'invited'), email: text, 'created-at': time },
  { organization: related('organizations'), user: related('users'), teams: relatedMany('teams') },
);

/** Who is only invited has an id of the invitation's own, which tells nothing of other organizations. */
const userOf = (membership: string, user: string | null): string => user ?? `user-${membership.slice('ou-'.length)}`;

export const shownMembership = ([id, organization, user, email, createdAt, , teams]: MembershipColumns): Resource => ({
  id,
  type: 'organization-memberships',
  attributes: { status: user === null ? 'invited' : 'active', email, 'created-at': createdAt },
  relationships: {
    organization: toOne('organizations', organization),
    user: toOne('users', userOf(id, user)),
    teams: toMany('teams', teams?.split(',') ?? []),
  },
  links: { self: pathOf('organization-memberships', id) },
});

const documentOf = (row: MembershipColumns): Document => one(shownMembership(row));

// Storage

export type MembershipColumns = [
  id: string,
  organization: string,
  user: string | null,
  email: string,
  createdAt: string,
  owner: number,
  teams: string | null,
];

const selected = (teamsSeen: Sql): Sql => sql`
  select organization_memberships.id, organizations.name as organization_name, organization_memberships.user_id,
    coalesce(users.email, organization_memberships.invited_email) as email, organization_memberships.created_at,
    exists (
      select 1
      from team_memberships
      join teams on teams.id = team_memberships.team_id
      where team_memberships.membership_id = organization_memberships.id and teams.name = ${ownersTeam}
    ) as is_owner,
    (
      select string_agg(teams.id, ',' order by teams.created_at, teams.id)
      from team_memberships
      join teams on teams.id = team_memberships.team_id
      where team_memberships.membership_id = organization_memberships.id and ${teamsSeen}
    ) as teams
  from organization_memberships
  join organizations on organizations.id = organization_memberships.organization_id
  left join users on users.id = organization_memberships.user_id`;

/** The memberships of an organization, each with those of its teams that the caller sees. */
export const membershipsIn = (stand: Standing, narrowed: Sql): Sql => sql`
  ${selected(within(visibleTeams(stand)))}
  where organization_memberships.organization_id = ${stand.organization} and ${narrowed}`;

const load = (tx: Tx, stand: Standing, id: string): Promise<MembershipColumns | undefined> =>
  tx.row<MembershipColumns>(membershipsIn(stand, sql`organization_memberships.id = ${id}`));

/** A membership of the user with that e-mail, or an invitation until there is one. */
const add = async (tx: Tx, id: string, organization: string, email: string, now: string): Promise<void> => {
  const user = await tx.row<[id: string]>(sql`select id from users where lower(email) = lower(${email})`);
  const added = await tx.run(sql`
    insert into organization_memberships (id, organization_id, user_id, invited_email, created_at)
    values (${id}, ${organization}, ${user?.[0] ?? null}, ${user ? null : email}, ${now})
    on conflict do nothing`);
  if (added === 0)
    throw invalid({
      pointer: '/data/attributes/email',
      detail: 'Email belongs to a member of the organization already',
    });
};

// Operations

const inOrganization = '/api/v2/organizations/:organization/organization-memberships';
const own = '/api/v2/organization-memberships';
const path = '/api/v2/organization-memberships/:id';
const common = { family: 'organization-memberships', since: 'before the dated list' } as const;
const answer = oneDocument(MembershipResource);
const page = pagedDocument(MembershipResource);

const reached = async ({ tx, caller, params }: Request<typeof path>) => {
  const stand = found(await standing(tx, caller, inOrganizationOfMembership(params.id)), mayReadOrganization);
  return { stand, present: found(await load(tx, stand, params.id)) };
};

const isSelf = (caller: Caller, [, , user]: MembershipColumns): boolean =>
  caller.kind === 'user' && caller.user === user;

export const organizationMemberships = [
  list({
    ...common,
    path: inOrganization,
    summary: 'List the memberships of an organization',
    success: 200,
    answer: page,
    failures: [404],
    run: async request => {
      const { tx, caller, params } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
      const rows = await pageOf<MembershipColumns>(tx, membershipsIn(stand, sql`1 = 1`), request.page);
      return request.paged(rows, shownMembership);
    },
  }),

  list({
    ...common,
    path: own,
    summary: "List the caller's own memberships",
    success: 200,
    answer: page,
    failures: [],
    run: async request => {
      const { tx, caller } = request;
      const user = caller.kind === 'user' ? caller.user : '';
      // Whoever is in a team sees it.
      const rows = await pageOf<MembershipColumns>(
        tx,
        sql`${selected(sql`1 = 1`)} where organization_memberships.user_id = ${user}`,
        request.page,
      );
      return request.paged(rows, shownMembership);
    },
  }),

  get({
    ...common,
    path,
    summary: 'Show a membership',
    success: 200,
    answer,
    failures: [404],
    run: async request => documentOf((await reached(request)).present),
  }),

  post({
    ...common,
    path: inOrganization,
    summary: 'Invite a user to an organization by e-mail',
    audit: { resource: 'organization_user', action: 'create' },
    body: Creation,
    success: 201,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, params, now } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayInvite);
      const { email } = request.body().data.attributes;
      const id = request.newId('ou');
      await add(tx, id, stand.organization, email, now);
      const answer = documentOf(found(await load(tx, stand, id)));
      return { answer, change: { organization: stand.organization, id, before: null, after: answer.data } };
    },
  }),

  remove({
    ...common,
    path,
    summary: 'Remove a user from an organization and all its teams',
    audit: { resource: 'organization_user', action: 'destroy' },
    success: 204,
    failures: [403, 404, 412],
    run: async request => {
      const { tx, caller } = request;
      const { stand, present } = await reached(request);
      const [id, , , , , owner] = present;
      const member = { owner: Boolean(owner), self: isSelf(caller, present) };
      found(stand, stand => mayRemoveMember(stand, member));
      const before = documentOf(present);
      request.expectUnchanged(before);
      if (member.owner && member.self)
        throw new Fault({ kind: 'forbidden', detail: 'An owner cannot leave: leave the owners team first.' });
      await tx.run(sql`delete from organization_memberships where id = ${id}`);
      if (member.owner) await expectAnOwner(tx, stand.organization);
      const change = { organization: stand.organization, id, before: before.data, after: null };
      return { answer: undefined, change };
    },
  }),
];
