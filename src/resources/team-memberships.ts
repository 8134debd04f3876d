/** Who is in a team, by username and by organization membership. */

import { mayManageTeamMembership, maySeeTeam } from '../core/authority.ts';
import { invalid } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import type { Tx } from '../store/store.ts';
import { pagedDocument, references, type Static } from '../wire/schemas.ts';
import { list, post, type Request, remove } from './operation.ts';
import {
  type MembershipColumns,
  MembershipResource,
  membershipsIn,
  shownMembership,
} from './organization-memberships.ts';
import { expectAnOwner } from './owners.ts';
import { addTeamMember, reachedTeam } from './teams.ts';

// Storage

/** The memberships that an id names: a username or a user's id, or a membership's id. */
const matching = {
  users: (id: string): Sql =>
    sql`user_id in (select id from users where lower(username) = lower(cast(${id} as ctext)) or id = ${id})`,
  'organization-memberships': (id: string): Sql => sql`id = ${id}`,
};

type Kind = keyof typeof matching;

const membershipNamed = async (tx: Tx, organization: string, kind: Kind, id: string): Promise<string | undefined> => {
  const row = await tx.row<[id: string]>(sql`
    select id
    from organization_memberships
    where organization_id = ${organization} and ${matching[kind](id)}`);
  return row?.[0];
};

/** Whether it was in the team. */
const removeTeamMember = async (tx: Tx, team: string, membership: string) =>
  (await tx.run(sql`delete from team_memberships where team_id = ${team} and membership_id = ${membership}`)) === 1;

// Operations

type Body = Static<ReturnType<typeof references>>;
type MembershipRequest = Request<`/api/v2/teams/:id/relationships/${Kind}`, Body>;

const common = { family: 'team-memberships', since: 'before the dated list', success: 204 } as const;

/** Each id that the body names, with its membership in the team's organization, if there is one. */
const named = async (request: MembershipRequest, organization: string, kind: Kind) => {
  const ids = request.body().data.map(({ id }) => id);
  const memberships = [];
  for (const id of ids) memberships.push({ id, membership: await membershipNamed(request.tx, organization, kind, id) });
  return memberships;
};

/** The members that came or went, and nobody who was named in vain. */
const changeOf = (organization: string, team: string, before: readonly string[], after: readonly string[]) => ({
  answer: undefined,
  change: {
    organization,
    id: team,
    before: { 'organization-memberships': before },
    after: { 'organization-memberships': after },
  },
});

const adding = (kind: Kind) =>
  post({
    ...common,
    path: `/api/v2/teams/:id/relationships/${kind}`,
    summary: `Add ${kind} to a team; those already in it stay`,
    audit: { resource: 'team', action: 'add_member' },
    body: references(kind),
    failures: [404, 422],
    run: async request => {
      const { stand, team } = await reachedTeam(request, mayManageTeamMembership);
      const members = await named(request, stand.organization, kind);
      const flaws = members.flatMap(({ id, membership }, index) =>
        membership === undefined
          ? [{ pointer: `/data/${index}/id`, detail: `${id} is not a member of the organization` }]
          : [],
      );
      if (flaws.length > 0) throw invalid(...flaws);
      const added = [];
      for (const { membership = '' } of members)
        if (await addTeamMember(request.tx, stand.organization, team.id, membership, request.now))
          added.push(membership);
      return changeOf(stand.organization, team.id, [], added);
    },
  });

const removing = (kind: Kind) =>
  remove({
    ...common,
    path: `/api/v2/teams/:id/relationships/${kind}`,
    summary: `Remove ${kind} from a team; those not in it do not matter`,
    audit: { resource: 'team', action: 'remove_member' },
    body: references(kind),
    failures: [403, 404, 422],
    run: async request => {
      const { stand, team } = await reachedTeam(request, mayManageTeamMembership);
      const removed = [];
      for (const { membership = '' } of await named(request, stand.organization, kind))
        if (await removeTeamMember(request.tx, team.id, membership)) removed.push(membership);
      if (team.owners) await expectAnOwner(request.tx, stand.organization);
      return changeOf(stand.organization, team.id, removed, []);
    },
  });

const listing = list({
  ...common,
  path: '/api/v2/teams/:id/relationships/organization-memberships',
  summary: 'List the memberships in a team',
  success: 200,
  answer: pagedDocument(MembershipResource),
  failures: [404],
  run: async request => {
    const { stand, team } = await reachedTeam(request, maySeeTeam);
    const inTeam = sql`
      organization_memberships.id in (select membership_id from team_memberships where team_id = ${team.id})`;
    const rows = await pageOf<MembershipColumns>(
      request.tx,
      membershipsIn(stand, request.caller, inTeam),
      request.page,
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
