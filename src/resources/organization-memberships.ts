/** Who belongs to an organization. A user is invited by e-mail, and active as soon as a user with that e-mail exists. */

import {
  type Caller,
  isUser,
  mayInvite,
  mayManageTeamMembership,
  mayReadOrganization,
  mayRemoveMember,
  type Standing,
  visibleTeams,
} from '../core/authority.ts';
import { Fault, found, invalid } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { contains, isAmong } from '../store/search.ts';
import { teamOnView, within } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { belonging, inOrganizationNamed, inOrganizationOfMembership, ownersTeam, standing } from '../store/standing.ts';
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
  count,
  emailAddress,
  exactly,
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
import { addTeamMember, shownTeamsOf, TeamResource } from './team-resource.ts';
import { shownFellow, shownInvited, UserResource } from './user-resource.ts';

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
const idOfInvited = (membership: string): string => `user-${membership.slice('ou-'.length)}`;

const userOf = (membership: string, user: string | null): Relationship =>
  user === null ? { data: identifier('users', idOfInvited(membership)) } : toOne('users', user);

/** The user that a membership names, whole. */
const shownUserOf = ([id, , user, email, , , , username]: MembershipColumns): Resource =>
  user === null || username === null
    ? shownInvited(idOfInvited(id), email)
    : shownFellow({ id: user, username, email });

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
  username: string | null,
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
    ) as teams,
    users.username
  from organization_memberships
  join organizations on organizations.id = organization_memberships.organization_id
  left join users on users.id = organization_memberships.user_id`;

/** The memberships of an organization, each with those of its teams that the caller sees. */
export const membershipsIn = (stand: Standing, caller: Caller, narrowed: Sql): Sql => sql`
  ${selected(within(visibleTeams(stand), caller))}
  where organization_memberships.organization_id = ${stand.organization} and ${narrowed}`;

/** How many there are of each status; nobody is inactive here. */
const counted = (what: Sql, stand: Standing, narrowed: Sql): Sql => sql`
  (
    select count(${what})
    from organization_memberships
    left join users on users.id = organization_memberships.user_id
    where organization_memberships.organization_id = ${stand.organization} and ${narrowed}
  )`;

const load = (tx: Tx, stand: Standing, caller: Caller, id: string): Promise<MembershipColumns | undefined> =>
  tx.row<MembershipColumns>(membershipsIn(stand, caller, sql`organization_memberships.id = ${id}`));

/** For documents that include memberships. */
export const membershipsShown = async (tx: Tx, stand: Standing, caller: Caller, which: Sql): Promise<Resource[]> => {
  const rows = await tx.rows<MembershipColumns>(sql`
    ${membershipsIn(stand, caller, which)}
    order by organization_memberships.created_at, organization_memberships.id`);
  return rows.map(shownMembership);
};

export const addMembership = (tx: Tx, id: string, organization: string, user: string, now: string): Promise<number> =>
  tx.run(sql`
    insert into organization_memberships (id, organization_id, user_id, invited_email, created_at)
    values (${id}, ${organization}, ${user}, null, ${now})
    on conflict (user_id, organization_id) do nothing`);

export const addInvitation = (tx: Tx, id: string, organization: string, email: string, now: string): Promise<number> =>
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
const includes = ['user', 'teams'];
const included = [UserResource, TeamResource];

const statuses: Readonly<Record<string, Sql>> = {
  active: sql`organization_memberships.user_id is not null`,
  invited: sql`organization_memberships.user_id is null`,
  inactive: sql`1 = 0`,
};

const ofStatus = (request: Request): Sql => {
  const asked = request.parameter('filter[status]');
  if (!asked) return sql`1 = 1`;
  const status = Object.hasOwn(statuses, asked) ? statuses[asked] : undefined;
  if (status) return status;
  const detail = `filter[status] must be one of ${Object.keys(statuses).join(', ')}`;
  throw new Fault({ kind: 'bad parameter', parameter: 'filter[status]', detail });
};

/** Whose name or e-mail the query searches for. */
const matching = (request: Request): Sql => {
  const email = sql`coalesce(users.email, organization_memberships.invited_email)`;
  const text = request.parameter('q');
  const emails = request.valuesOf('filter[email]') ?? [];
  const anywhere = (text: string) => sql`(${contains(sql`users.username`, text)} or ${contains(email, text)})`;
  return sql`
    ${text === undefined ? sql`1 = 1` : anywhere(text)} and ${emails.length === 0 ? sql`1 = 1` : isAmong(email, emails)}`;
};

/** What the query asks to be included with these memberships. */
const includedWith = async (request: Request, stand: Standing, rows: readonly MembershipColumns[]) => {
  const [users, teams] = [request.includes('user'), request.includes('teams')];
  if (!users && !teams) return undefined;
  const ids = rows.map(([id]) => id);
  return [
    ...(users ? rows.map(shownUserOf) : []),
    ...(teams ? await shownTeamsOf(request.tx, stand, request.caller, ids) : []),
  ];
};

const reached = async ({ tx, caller, params }: Request<typeof path>) => {
  const stand = found(await standing(tx, caller, inOrganizationOfMembership(params.id)), mayReadOrganization);
  return { stand, present: found(await load(tx, stand, caller, params.id)) };
};

export const organizationMemberships = [
  list({
    ...common,
    path: inOrganization,
    summary: 'List the memberships of an organization',
    filters: ['q', 'filter[status]', 'filter[email]'],
    includes,
    success: 200,
    answer: pagedDocument(MembershipResource, {
      included,
      meta: { 'status-counts': exactly({ total: count, active: count, invited: count }) },
    }),
    failures: [404],
    run: async request => {
      const { tx, caller, params } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
      const matches = matching(request);
      const { items, total, totals } = await pageOf<MembershipColumns>(
        tx,
        membershipsIn(stand, caller, sql`${matches} and ${ofStatus(request)}`),
        request.page,
        undefined,
        { totals: [counted(sql`*`, stand, matches), counted(sql`organization_memberships.user_id`, stand, matches)] },
      );
      const [all = 0, active = 0] = totals;
      const counts = { total: all, active, invited: all - active };
      return request.paged({ items, total }, shownMembership, {
        included: await includedWith(request, stand, items),
        meta: { 'status-counts': counts },
      });
    },
  }),

  list({
    ...common,
    path: own,
    summary: "List the caller's own memberships",
    success: 200,
    answer: pagedDocument(MembershipResource),
    failures: [],
    run: async request => {
      const { tx, caller } = request;
      const user = caller.kind === 'user' ? caller.user : '';
      // Whoever is in a team sees it.
      const rows = await pageOf<MembershipColumns>(
        tx,
        sql`${selected(sql`1 = 1`)} where organization_memberships.user_id = ${user} and ${belonging(caller)}`,
        request.page,
      );
      return request.paged(rows, shownMembership);
    },
  }),

  get({
    ...common,
    path,
    summary: 'Show a membership',
    includes,
    success: 200,
    answer: oneDocument(MembershipResource, ...included),
    failures: [404],
    run: async request => {
      const { stand, present } = await reached(request);
      return one(shownMembership(present), await includedWith(request, stand, [present]));
    },
  }),

  post({
    ...common,
    path: inOrganization,
    summary: 'Invite a user to an organization, and to teams of it, by e-mail',
    audit: { resource: 'organization_user', action: 'create' },
    body: Creation,
    success: 201,
    answer: oneDocument(MembershipResource, UserResource),
    failures: [404, 422],
    run: async request => {
      const { tx, caller, params, now } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayInvite);
      const { data } = request.body();
      const { email } = data.attributes;
      const id = request.newId('ou');
      await invite(tx, id, stand.organization, email, now);
      for (const [index, named] of (data.relationships?.teams?.data ?? []).entries()) {
        const team = found(
          await teamOnView(tx, named.id),
          team => team.organization === stand.organization && mayManageTeamMembership(stand, team),
          `/data/relationships/teams/data/${index}`,
        );
        await addTeamMember(tx, stand.organization, team.id, id, now);
      }
      const row = found(await load(tx, stand, caller, id));
      const tagged = documentOf(row);
      const answer = one(shownMembership(row), [shownUserOf(row)]);
      return { answer, tagged, change: { organization: stand.organization, id, before: null, after: tagged.data } };
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
