/** Who is in a team, by username and by organization membership. */

import { mayManageTeamMembership, maySeeTeam } from '../core/authority.ts';
import { Fault, invalid } from '../core/fault.ts';
import { byCreation, pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import type { Tx } from '../store/store.ts';
import { pagedDocument, references, type Static } from '../wire/schemas.ts';
import { list, post, remove } from './operation.ts';
import {
  type MembershipColumns,
  MembershipResource,
  membershipsIn,
  shownMembership,
} from './organization-membership-resource.ts';
import { expectAnOwner } from './owners.ts';
import type { Request } from './request.ts';
import { addTeamMember, reachedTeam } from './team-resource.ts';

// Storage

/** The memberships that an id names: a username or a user's id, or a membership's id. */
const matching = {
  users: (id: string): Sql =>
    sql`user_id in (select id from users where lower(username) = lower(cast(${id} as ctext)) or id = ${id})`,
  'organization-memberships': (id: string): Sql => sql`organization_memberships.id = ${id}`,
};

type Kind = keyof typeof matching;

/** A membership and what its user is called: by username, or by e-mail who is only invited. */
type Member = { readonly membership: string; readonly called: string; readonly user: string | null };

const memberNamed = async (tx: Tx, organization: string, kind: Kind, id: string): Promise<Member | undefined> => {
  const row = await tx.row<[membership: string, called: string, user: string | null]>(sql`
    select organization_memberships.id, coalesce(users.username, organization_memberships.invited_email), users.id
    from organization_memberships
    left join users on users.id = organization_memberships.user_id
    where organization_id = ${organization} and ${matching[kind](id)}`);
  return row && { membership: row[0], called: row[1], user: row[2] };
};

/** Whether it was in the team. */
const removeTeamMember = async (tx: Tx, team: string, membership: string) =>
  (await tx.run(sql`delete from team_memberships where team_id = ${team} and membership_id = ${membership}`)) === 1;

// Operations

type Body = Static<ReturnType<typeof references>>;
type MembershipRequest = Request<`/api/v2/teams/:id/relationships/${Kind}`, Body>;

const common = { family: 'team-memberships', success: 204 } as const;
const since = { users: 'before the dated list', 'organization-memberships': '2022-10-12' } as const;

/** Each id that the body names, with its member of the team's organization, if there is one. */
const named = async (request: MembershipRequest, organization: string, kind: Kind) => {
  const ids = request.body().data.map(({ id }) => id);
  const members = [];
  for (const id of ids) members.push({ id, member: await memberNamed(request.tx, organization, kind, id) });
  return members;
};

/** Who is only invited has no access yet. */
const affected = (organization: string, team: string, members: Awaited<ReturnType<typeof named>>) => ({
  organization,
  users: members.flatMap(({ member }) => member?.user ?? []),
  through: [team],
});

const told = (members: readonly Member[]) => ({
  'organization-memberships': members.map(({ membership }) => membership),
  users: members.map(({ called }) => called),
});

/** The members that came or went, and nobody who was named in vain. */
const changeOf = (organization: string, team: string, before: readonly Member[], after: readonly Member[]) => ({
  answer: undefined,
  change: { organization, team, id: team, before: told(before), after: told(after) },
});

const adding = (kind: Kind) =>
  post({
    ...common,
    since: since[kind],
    path: `/api/v2/teams/:id/relationships/${kind}`,
    summary: `Add ${kind} to a team; those already in it stay`,
    audit: { resource: 'team', action: 'add_member' },
    body: references(kind),
    failures: [404, 422],
    run: async request => {
      const { stand, team } = await reachedTeam(request, mayManageTeamMembership);
      const members = await named(request, stand.organization, kind);
      const flaws = members.flatMap(({ id, member }, index) =>
        member === undefined
          ? [{ pointer: `/data/${index}/id`, detail: `${id} is not a member of the organization` }]
          : [],
      );
      if (flaws.length > 0) throw invalid(...flaws);
      await request.affecting(affected(stand.organization, team.id, members));
      const added = [];
      for (const { member } of members)
        if (member && (await addTeamMember(request.tx, stand.organization, team.id, member.membership, request.now)))
          added.push(member);
      return changeOf(stand.organization, team.id, [], added);
    },
  });

const removing = (kind: Kind) =>
  remove({
    ...common,
    since: since[kind],
    path: `/api/v2/teams/:id/relationships/${kind}`,
    summary: `Remove ${kind} from a team; those not in it do not matter`,
    audit: { resource: 'team', action: 'remove_member' },
    body: references(kind),
    failures: [403, 404, 422],
    run: async request => {
      const { stand, team } = await reachedTeam(request, mayManageTeamMembership);
      const members = await named(request, stand.organization, kind);
      await request.affecting(affected(stand.organization, team.id, members));
      const removed = [];
      for (const { member } of members)
        if (member && (await removeTeamMember(request.tx, team.id, member.membership))) removed.push(member);
      if (team.owners) await expectAnOwner(request.tx, stand.organization);
      return changeOf(stand.organization, team.id, removed, []);
    },
  });

/** What each value of a filter leaves of the memberships. Nobody is inactive here, and no service account is a member. */
const narrowing: Readonly<Record<string, Readonly<Record<string, Sql>>>> = {
  'filter[status]': {
    active: sql`organization_memberships.user_id is not null`,
    invited: sql`organization_memberships.user_id is null`,
    inactive: sql`1 = 0`,
  },
  'filter[is_service_account]': { true: sql`1 = 0`, false: sql`1 = 1` },
};

const narrowed = (request: Request, parameter: string): Sql => {
  const choices = narrowing[parameter] ?? {};
  const asked = request.parameter(parameter) ?? '';
  const chosen = asked === '' ? sql`1 = 1` : Object.entries(choices).find(([value]) => value === asked)?.[1];
  if (chosen) return chosen;
  const detail = `${parameter} must be one of ${Object.keys(choices).join(', ')}`;
  throw new Fault({ kind: 'bad parameter', parameter, detail });
};

const listing = list({
  ...common,
  since: 'after the dated list',
  path: '/api/v2/teams/:id/relationships/organization-memberships',
  summary: 'List the memberships in a team, of users and of those who are only invited',
  filters: Object.keys(narrowing),
  sorts: ['status'],
  success: 200,
  answer: pagedDocument(MembershipResource),
  failures: [404],
  run: async request => {
    const { tx, caller, page, sort } = request;
    const { stand, team } = await reachedTeam(request, maySeeTeam);
    const inTeam = sql`
      organization_memberships.id in (select membership_id from team_memberships where team_id = ${team.id})
      and ${narrowed(request, 'filter[status]')}
      and ${narrowed(request, 'filter[is_service_account]')}`;
    const byStatus = sort ? [{ column: sql`status`, descending: sort.descending }] : [];
    const rows = await pageOf<MembershipColumns>(
      tx,
      sql`
        select members.*, case when members.user_id is null then 'invited' else 'active' end as status
        from (${membershipsIn(stand, caller, inTeam)}) as members`,
      page,
      [...byStatus, ...byCreation],
    );
    return request.paged(rows, shownMembership);
  },
});

export const teamMemberships = [
  listing,
  adding('users'),
  removing('users'),
  adding('organization-memberships'),
  removing('organization-memberships'),
];
