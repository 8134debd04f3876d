/** A membership as it is shown and stored, or an invitation until there is a user with its e-mail. */

import { type Caller, type Standing, visibleTeams } from '../core/authority.ts';
import { invalid } from '../core/fault.ts';
import { within } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { ownersTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { identifier, pathOf, type Relationship, type Resource, toMany, toOne } from '../wire/document.ts';
import { oneOf, related, relatedMany, relatedPerhaps, resource, text, time } from '../wire/schemas.ts';
import { shownFellow, shownInvited } from './user-resource.ts';

// Shape

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
export const shownUserOf = ([id, , user, email, , , , username]: MembershipColumns): Resource =>
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

export const selected = (teamsSeen: Sql): Sql => sql`
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
export const counted = (what: Sql, stand: Standing, narrowed: Sql): Sql => sql`
  (
    select count(${what})
    from organization_memberships
    left join users on users.id = organization_memberships.user_id
    where organization_memberships.organization_id = ${stand.organization} and ${narrowed}
  )`;

export const load = (tx: Tx, stand: Standing, caller: Caller, id: string): Promise<MembershipColumns | undefined> =>
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

export const userWith = async (tx: Tx, email: string): Promise<string | undefined> => {
  const row = await tx.row<[id: string]>(sql`select id from users where lower(email) = lower(cast(${email} as ctext))`);
  return row?.[0];
};

/** A membership of the user with that e-mail, or an invitation until there is one. */
export const invite = async (tx: Tx, id: string, organization: string, email: string, now: string): Promise<void> => {
  const user = await userWith(tx, email);
  const added = user
    ? await addMembership(tx, id, organization, user, now)
    : await addInvitation(tx, id, organization, email, now);
  if (added === 0)
    throw invalid({
      pointer: '/data/attributes/email',
      detail: 'Email belongs to a member of the organization already',
    });
};
