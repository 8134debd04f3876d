/** Who belongs to an organization. A user is invited by e-mail, and active as soon as a user with that e-mail exists. */

import {
  type Caller,
  isUser,
  mayInvite,
  mayManageTeamMembership,
  mayReadOrganization,
  mayRemoveMember,
  type Standing,
  type TeamInQuestion,
  visibleTeams,
} from '../core/authority.ts';
import { Fault, found, invalid } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { within } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { inOrganizationNamed, inOrganizationOfMembership, ownersTeam, standing } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import {
  type Document,
  identifier,
  one,
  pathOf,
  type Relationship,
  type Resource,
  toMany,
  toOne,
} from '../wire/document.ts';
import {
  emailAddress,
  listOf,
  literal,
  oneDocument,
  oneOf,
  open,
  optional,
  pagedDocument,
  reference,
  related,
  relatedMany,
  relatedPerhaps,
  resource,
  text,
  time,
} from '../wire/schemas.ts';
import { get, list, post, type Request, remove } from './operation.ts';
import { expectAnOwner } from './owners.ts';
import { addTeamMember, reachedTeam } from './teams.ts';

// Shape

const Creation = open({
  data: open({
    type: literal('organization-memberships'),
    attributes: open({ email: emailAddress }),
    relationships: optional(open({ teams: optional(open({ data: listOf(reference('teams')) })) })),
  }),
});

export const MembershipResource = resource(
  'organization-memberships',
  { status: oneOf('active', 'invited'), email: text, 'created-at': time },
  { organization: related('organizations'), user: relatedPerhaps('users'), teams: relatedMany('teams') },
);

/** Who is only invited has an id of the invitation's own, which tells nothing of other organizations and leads nowhere. */
const userOf = (membership: string, user: string | null): Relationship =>
  user === null ? { data: identifier('users', `user-${membership.slice('ou-'.length)}`) } : toOne('users', user);

export const shownMembership = ([id, organization, user, email, createdAt, , teams]: MembershipColumns): Resource => ({
  id,
  type: 'organization-memberships',
  attributes: { status: user === null ? 'invited' : 'active', email, 'created-at': createdAt },
  relationships: {
    organization: toOne('organizations', organization),
    user: userOf(id, user),
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
export const membershipsIn = (stand: Standing, caller: Caller, narrowed: Sql): Sql => sql`
  ${selected(within(visibleTeams(stand), caller))}
  where organization_memberships.organization_id = ${stand.organization} and ${narrowed}`;

const load = (tx: Tx, stand: Standing, caller: Caller, id: string): Promise<MembershipColumns | undefined> =>
  tx.row<MembershipColumns>(membershipsIn(stand, caller, sql`organization_memberships.id = ${id}`));

export const addMembership = (tx: Tx, id: string, organization: string, user: string, now: string): Promise<number> =>
  tx.run(sql`
    insert into organization_memberships (id, organization_id, user_id, invited_email, created_at)
    values (${id}, ${organization}, ${user}, null, ${now})
    on conflict (user_id, organization_id) do nothing`);

const addInvitation = (tx: Tx, id: string, organization: string, email: string, now: string): Promise<number> =>
  tx.run(sql`
    insert into organization_memberships (id, organization_id, user_id, invited_email, created_at)
    values (${id}, ${organization}, null, ${email}, ${now})
    on conflict (lower(invited_email), organization_id) do nothing`);

/** A membership of the user with that e-mail, or an invitation until there is one. */
const invite = async (tx: Tx, id: string, organization: string, email: string, now: string): Promise<void> => {
  const user = await tx.row<[id: string]>(
    sql`select id from users where lower(email) = lower(cast(${email} as ctext))`,
  );
  const added = user
    ? await addMembership(tx, id, organization, user[0], now)
    : await addInvitation(tx, id, organization, email, now);
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
  return { stand, present: found(await load(tx, stand, caller, params.id)) };
};

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
      const rows = await pageOf<MembershipColumns>(tx, membershipsIn(stand, caller, sql`1 = 1`), request.page);
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
    summary: 'Invite a user to an organization, and to teams of it, by e-mail',
    audit: { resource: 'organization_user', action: 'create' },
    body: Creation,
    success: 201,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, params, now } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayInvite);
      const { data } = request.body();
      const { email } = data.attributes;
      const id = request.newId('ou');
      await invite(tx, id, stand.organization, email, now);
      for (const [index, team] of (data.relationships?.teams?.data ?? []).entries()) {
        const may = (joined: Standing, team: TeamInQuestion) =>
          joined.organization === stand.organization && mayManageTeamMembership(joined, team);
        await reachedTeam({ tx, caller, params: team }, may, `/data/relationships/teams/data/${index}`);
        await addTeamMember(tx, stand.organization, team.id, id, now);
      }
      const answer = documentOf(found(await load(tx, stand, caller, id)));
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
      const [id, , user, , , owner] = present;
      const member = { owner: Boolean(owner), self: isUser(caller, user ?? '') };
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
