/** Who is in a team, by username and by organization membership. */

import { mayManageTeamMembership } from '../core/authority.ts';
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
import { reachedTeam } from './teams.ts';

// Storage

/** The memberships of the team's organization that the ids name: usernames or user ids, or membership ids. */
const matching = {
  users: (id: string): Sql => sql`
    (lower(users.username) = lower(${id}) or users.id = ${id})`,
  'organization-memberships': (id: string): Sql => sql`organization_memberships.id = ${id}`,
};

type Kind = keyof typeof matching;

const membershipNamed = async (tx: Tx, organization: string, kind: Kind, id: string): Promise<string | undefined> => {
  const row = await tx.row<[id: string]>(sql`
    select organization_memberships.id
    from organization_memberships
    left join users on users.id = organization_memberships.user_id
    where organization_memberships.organization_id = ${organization} and ${matching[kind](id)}`);
  return row?.[0];
};

const add = (tx: Tx, organization: string, team: string, membership: string, now: string) =>
  tx.run(sql`
    insert into team_memberships (organization_id, team_id, membership_id, created_at)
    values (${organization}, ${team}, ${membership}, ${now})
    on conflict (team_id, membership_id) do nothing`);

const drop = (tx: Tx, team: string, membership: string) =>
  tx.run(sql`delete from team_memberships where team_id = ${team} and membership_id = ${membership}`);

// Operations

type Body = Static<ReturnType<typeof references>>;
type MembershipRequest = Request<`/api/v2/teams/:id/relationships/${Kind}`, Body>;

const common = { family: 'team-memberships', since: 'before the dated list', success: 204 } as const;

const changeOf = (
  organization: string,
  team: string,
  kind: Kind,
  before: readonly string[],
  after: readonly string[],
) => ({
  answer: undefined,
  change: { organization, id: team, before: { [kind]: before }, after: { [kind]: after } },
});

const named = (request: MembershipRequest): string[] => request.body().data.map(({ id }) => id);

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
      const ids = named(request);
      const memberships = [];
      for (const [index, id] of ids.entries()) {
        const membership = await membershipNamed(request.tx, stand.organization, kind, id);
        if (membership === undefined)
          throw invalid({ pointer: `/data/${index}/id`, detail: `${id} is not a member of the organization` });
        memberships.push(membership);
      }
      for (const membership of memberships) await add(request.tx, stand.organization, team.id, membership, request.now);
      return changeOf(stand.organization, team.id, kind, [], ids);
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
      const ids = named(request);
      for (const id of ids) {
        const membership = await membershipNamed(request.tx, stand.organization, kind, id);
        if (membership !== undefined) await drop(request.tx, team.id, membership);
      }
      if (team.owners) await expectAnOwner(request.tx, stand.organization);
      return changeOf(stand.organization, team.id, kind, ids, []);
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
    const { tx } = request;
    const { stand, team } = await reachedTeam(request, () => true);
    const inTeam = sql`
      organization_memberships.id in (select membership_id from team_memberships where team_id = ${team.id})`;
    const rows = await pageOf<MembershipColumns>(tx, membershipsIn(stand, inTeam), request.page);
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
