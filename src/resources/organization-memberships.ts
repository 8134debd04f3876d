/** Who belongs to an organization. A user is invited by e-mail, and active as soon as a user with that e-mail exists. */

import {
  isUser,
  mayInvite,
  mayManageTeamMembership,
  mayReadOrganization,
  mayRemoveMember,
  type Standing,
} from '../core/authority.ts';
import { Fault, found } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { contains, isAmong } from '../store/search.ts';
import { teamOnView } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { belonging, inOrganizationNamed, inOrganizationOfMembership, standing } from '../store/standing.ts';
import { type Document, one } from '../wire/document.ts';
import {
  count,
  emailAddress,
  exactly,
  listOf,
  literal,
  oneDocument,
  open,
  optional,
  pagedDocument,
  reference,
} from '../wire/schemas.ts';
import { get, list, post, remove } from './operation.ts';
import {
  counted,
  invite,
  load,
  type MembershipColumns,
  MembershipResource,
  membershipsIn,
  selected,
  shownMembership,
  shownUserOf,
  userWith,
} from './organization-membership-resource.ts';
import { expectAnOwner } from './owners.ts';
import type { Request } from './request.ts';
import { addTeamMember, shownTeamsOf, TeamResource } from './team-resource.ts';
import { UserResource } from './user-resource.ts';

// Shape of requests

const Creation = open({
  data: open({
    type: literal('organization-memberships'),
    attributes: open({ email: emailAddress }),
    relationships: optional(open({ teams: optional(open({ data: listOf(reference('teams')) })) })),
  }),
});

// Operations

const documentOf = (row: MembershipColumns): Document => one(shownMembership(row));

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
      const teams = data.relationships?.teams?.data ?? [];
      const { organization } = stand;
      const user = await userWith(tx, email);
      if (user !== undefined)
        await request.affecting({ organization, users: [user], through: teams.map(({ id }) => id) });
      await invite(tx, id, organization, email, now);
      for (const [index, named] of teams.entries()) {
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
      if (user !== null)
        await request.affecting({ organization: stand.organization, users: [user], through: 'theirs' });
      await tx.run(sql`delete from organization_memberships where id = ${id}`);
      if (member.owner) await expectAnOwner(tx, stand.organization);
      const change = { organization: stand.organization, id, before: before.data, after: null };
      return { answer: undefined, change };
    },
  }),
];
