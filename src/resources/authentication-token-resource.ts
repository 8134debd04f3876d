/** A token as it is shown, once with its secret, and as it is stored, by its hash alone. */

import { type Caller, type Sight, sees, type TeamInQuestion } from '../core/authority.ts';
import { invalid } from '../core/fault.ts';
import { type Sql, sql } from '../store/sql.ts';
import { ownersTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { kept } from '../store/token.ts';
import { identifier, pathOf, type Resource } from '../wire/document.ts';
import {
  instant,
  optional,
  orNull,
  relatedAny,
  relatedAnyOrNone,
  resource,
  text,
  time,
  upTo,
} from '../wire/schemas.ts';

// Shape

export const settableOfToken = {
  description: optional(orNull(upTo(256))),
  'expired-at': optional(orNull(instant('expired-at'))),
};

const owners = ['users', 'teams', 'organizations'] as const;
type OwnerType = (typeof owners)[number];

export const TokenResource = resource(
  'authentication-tokens',
  {
    'created-at': time,
    'last-used-at': orNull(time),
    description: orNull(text),
    token: orNull(text),
    'expired-at': orNull(time),
  },
  { 'created-by': relatedAnyOrNone(...owners), team: optional(relatedAny('teams')) },
);

type TeamOfToken = TeamInQuestion & { readonly organization: string; readonly memberTokens: boolean };

export type Token = {
  readonly id: string;
  readonly owner: { readonly type: OwnerType; readonly id: string };
  /** Of a team's token, the team. */
  readonly team?: TeamOfToken | undefined;
  readonly slot: string | null;
  readonly description: string | null;
  readonly createdBy: { readonly type: string; readonly id: string };
  /** Of a team that made it, who sees that team; nobody does when it is gone from the organization. */
  readonly makerVisibility?: string | null;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiredAt: string | null;
};

/** Where no organization is in question, no team is seen. */
export const noTeams: Sight = { own: new Set(), listed: false };

/** Whoever made it, where the caller sees it: a secret team makes tokens without a name. */
const maker = ({ createdBy: { type, id }, makerVisibility: visibility = null }: Token, sight: Sight) =>
  type !== 'teams' || (visibility !== null && sees(sight, { id, visibility })) ? identifier(type, id) : null;

export const shownToken = (token: Token, sight: Sight, secret?: string): Resource => ({
  id: token.id,
  type: 'authentication-tokens',
  attributes: {
    'created-at': token.createdAt,
    'last-used-at': token.lastUsedAt,
    description: token.description,
    token: secret ?? null,
    'expired-at': token.expiredAt,
  },
  relationships: {
    'created-by': { data: maker(token, sight) },
    ...(token.owner.type === 'teams' && { team: { data: identifier('teams', token.owner.id) } }),
  },
  links: { self: pathOf('authentication-tokens', token.id) },
});

export const actorOf = (caller: Caller): { type: OwnerType; id: string } => {
  switch (caller.kind) {
    case 'user':
      return { type: 'users', id: caller.user };
    case 'team':
      return { type: 'teams', id: caller.team };
    case 'organization':
    case 'audit-trails':
    case 'decisions':
      return { type: 'organizations', id: caller.organization };
  }
};

// Storage

export type Columns = [
  id: string,
  user: string | null,
  team: string | null,
  organization: string | null,
  slot: string | null,
  description: string | null,
  createdByType: string,
  createdBy: string,
  createdAt: string,
  lastUsedAt: string | null,
  expiredAt: string | null,
  teamOrganization: string | null,
  teamName: string,
  teamVisibility: string,
  memberTokens: number,
  makerVisibility: string | null,
];

export const selected = sql`
  select authentication_tokens.id, authentication_tokens.user_id, authentication_tokens.team_id,
    authentication_tokens.organization_id, authentication_tokens.slot, authentication_tokens.description,
    authentication_tokens.created_by_type,
    coalesce(
      (select name from organizations where organizations.id = authentication_tokens.created_by_id),
      authentication_tokens.created_by_id
    ) as created_by,
    authentication_tokens.created_at, authentication_tokens.last_used_at, authentication_tokens.expired_at,
    teams.organization_id as team_organization_id, teams.name as team_name, teams.visibility,
    teams.allow_member_token_management,
    (
      select maker.visibility
      from teams as maker
      where maker.id = authentication_tokens.created_by_id
        and maker.organization_id = coalesce(teams.organization_id, authentication_tokens.organization_id)
    ) as maker_visibility
  from authentication_tokens
  left join teams on teams.id = authentication_tokens.team_id`;

const ownerOf = (user: string | null, team: string | null, organization: string | null): Token['owner'] => {
  if (user !== null) return { type: 'users', id: user };
  return team !== null ? { type: 'teams', id: team } : { type: 'organizations', id: organization ?? '' };
};

export const fromRow = (row: Columns): Token => {
  const [id, user, teamId, organization, slot, description, byType, byId, createdAt, lastUsedAt, ...rest] = row;
  const [expiredAt, teamOrganization, name, visibility, memberTokens, makerVisibility] = rest;
  return {
    id,
    owner: ownerOf(user, teamId, organization),
    team:
      teamId === null
        ? undefined
        : {
            id: teamId,
            organization: teamOrganization ?? '',
            owners: name === ownersTeam,
            visibility,
            memberTokens: memberTokens === 1,
          },
    slot,
    description,
    createdBy: { type: byType, id: byId },
    makerVisibility,
    createdAt,
    lastUsedAt,
    expiredAt,
  };
};

export const load = async (tx: Tx, which: Sql): Promise<Token | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where ${which}`);
  return row && fromRow(row);
};

export const loadTokens = async (tx: Tx, which: Sql): Promise<Token[]> => {
  const rows = await tx.rows<Columns>(sql`
    ${selected}
    where ${which}
    order by authentication_tokens.created_at, authentication_tokens.id`);
  return rows.map(fromRow);
};

export const heldBy = ({ type, id }: Token['owner']): Sql => {
  switch (type) {
    case 'users':
      return sql`authentication_tokens.user_id = ${id}`;
    case 'teams':
      return sql`authentication_tokens.team_id = ${id}`;
    case 'organizations':
      return sql`authentication_tokens.organization_id = ${id}`;
  }
};

/** The slot of a token that knows no others beside it. */
export const single = 'single';

export const inSlot = (owner: Token['owner'], slot: string): Sql =>
  sql`${heldBy(owner)} and authentication_tokens.slot = ${slot}`;

/** Keeps a token by its hash alone. */
export const addToken = async (
  tx: Tx,
  token: Omit<Token, 'lastUsedAt'>,
  secret: string,
  key: string,
): Promise<void> => {
  const { id, owner, slot, description, createdBy, createdAt, expiredAt } = token;
  const known = kept(key, secret, slot);
  if (!known) throw new Error('a new token is well made');
  const { lookup, hash } = known;
  const of = (type: OwnerType) => (owner.type === type ? owner.id : null);
  const added = await tx.run(sql`
    insert into authentication_tokens (
      id, lookup, hash, user_id, team_id, organization_id, slot, description,
      created_by_type, created_by_id, created_at, expired_at
    )
    values (
      ${id}, ${lookup}, ${hash}, ${of('users')}, ${of('teams')}, ${of('organizations')}, ${slot}, ${description},
      ${createdBy.type}, ${createdBy.id}, ${createdAt}, ${expiredAt}
    )
    on conflict do nothing`);
  if (added === 0)
    throw invalid({
      pointer: '/data/attributes/description',
      // The Go client knows the conflict by these very words.
      title: 'invalid attributes',
      detail: 'Validation failed: Description has already been taken',
    });
};

export const removeTokens = (tx: Tx, ids: readonly string[]) =>
  tx.run(sql`delete from authentication_tokens where id in (${ids})`);

export const organizationOf = ({ owner, team }: Token): string | null =>
  team?.organization ?? (owner.type === 'organizations' ? owner.id : null);
