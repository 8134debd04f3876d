/** Tokens of every kind: shown once, kept as a hash. Whose they are is said in the files of users', teams' and organizations' tokens. */

import {
  type Caller,
  mayManageOrganization,
  mayManageTokens,
  mayManageTokensOfUser,
  reachOfTokens,
  type Sight,
  type Standing,
  sees,
  type TeamInQuestion,
  visibleTeams,
} from '../core/authority.ts';
import { found, invalid } from '../core/fault.ts';
import { byCreation, pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import { inOrganization, ownersTeam, standing } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { kept, newToken } from '../store/token.ts';
import { identifier, one, pathOf, type Resource } from '../wire/document.ts';
import {
  instant,
  oneDocument,
  open,
  optional,
  orNull,
  pagedDocument,
  relatedAny,
  relatedAnyOrNone,
  resource,
  text,
  time,
  upTo,
} from '../wire/schemas.ts';
import { instantOf } from '../wire/time.ts';
import { get, post, type Request, remove, type Since } from './operation.ts';
import { expectAWayBack } from './owners.ts';

// Shape

export const settableOfToken = {
  description: optional(orNull(upTo(256))),
  'expired-at': optional(orNull(instant('expired-at'))),
};

/** Clients send this without a type, with an empty one or with several spellings of it, and some send nothing at all. */
const Creation = open({ data: optional(open({ attributes: optional(open(settableOfToken)) })) });

const owners = ['users', 'teams', 'organizations'] as const;
type OwnerType = (typeof owners)[number];

const TokenResource = resource(
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
export const noTeams: Sight = { own: [], listed: false };

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
      return { type: 'organizations', id: caller.organization };
  }
};

// Storage

type Columns = [
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

const selected = sql`
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

const fromRow = (row: Columns): Token => {
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

const load = async (tx: Tx, which: Sql): Promise<Token | undefined> => {
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

const inSlot = (owner: Token['owner'], slot: string): Sql =>
  sql`${heldBy(owner)} and authentication_tokens.slot = ${slot}`;

/** Keeps a token by its hash alone. */
export const addToken = async (
  tx: Tx,
  token: Omit<Token, 'lastUsedAt'>,
  secret: string,
  key: string,
): Promise<void> => {
  const { id, owner, slot, description, createdBy, createdAt, expiredAt } = token;
  const known = kept(key, secret);
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

const removeTokens = (tx: Tx, ids: readonly string[]) =>
  tx.run(sql`delete from authentication_tokens where id in (${ids})`);

const organizationOf = ({ owner, team }: Token): string | null =>
  team?.organization ?? (owner.type === 'organizations' ? owner.id : null);

/** Without another in their place: the last that could let the users in again stays. */
export const revokeTokens = async (tx: Tx, tokens: readonly Token[], now: string): Promise<void> => {
  const ids = tokens.map(({ id }) => id);
  await removeTokens(tx, ids);
  const ofOwners = tokens.filter(({ owner, team }) => team?.owners ?? owner.type === 'organizations');
  for (const organization of new Set(ofOwners.map(organizationOf))) await expectAWayBack(tx, organization ?? '', now);
};

// What the operations on a holder's tokens share

/** Whose tokens a request is about, and in which organization; reached only by those who may manage them. */
export type Holder = {
  readonly owner: Token['owner'];
  readonly organization: string | null;
  readonly sight: Sight;
};

/** A place for one token at most: a new one revokes the old. In some, a token without an expiry never expires. */
export type Slot = { readonly slot: string; readonly lasting?: boolean };

type Reach<P extends string, H> = (request: Request<P>) => Promise<H>;
type Told = { readonly summary: string; readonly since?: Since; readonly filters?: readonly string[] };

/** The slot of a token that knows no others beside it. */
export const single = 'single';

export const common = { family: 'authentication-tokens', since: 'before the dated list' } as const;
export const tokenPage = pagedDocument(TokenResource);
const answer = oneDocument(TokenResource);
export const destroyed = { resource: 'authentication_token', action: 'destroy' } as const;

const lifetimeInYears = 2;

const afterYears = (now: string, years: number): string => {
  const end = new Date(now);
  end.setUTCFullYear(end.getUTCFullYear() + years);
  return end.toISOString();
};

const expiryOf = (asked: string | null | undefined, now: string, lasting = false): string | null => {
  if (asked === undefined || asked === null) return lasting ? null : afterYears(now, lifetimeInYears);
  const end = instantOf(asked);
  if (end === undefined || end <= now)
    throw invalid({ pointer: '/data/attributes/expired-at', detail: 'expired-at must be a time to come' });
  return end;
};

export const creating = <const P extends string>(path: P, told: Told, reach: Reach<P, Holder & Partial<Slot>>) =>
  post({
    ...common,
    ...told,
    path,
    audit: { resource: 'authentication_token', action: 'create' },
    body: Creation,
    success: 201,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, services, now } = request;
      const { owner, organization, sight, slot, lasting } = await reach(request);
      const { description = null, 'expired-at': expiredAt } = request.body().data?.attributes ?? {};
      const old = slot === undefined ? undefined : await load(tx, inSlot(owner, slot));
      if (old) await removeTokens(tx, [old.id]);
      const id = request.newId('at');
      const secret = newToken(services.random);
      const token = {
        id,
        owner,
        slot: slot ?? null,
        description: slot === undefined ? description : null,
        createdBy: actorOf(caller),
        createdAt: now,
        expiredAt: expiryOf(expiredAt, now, lasting),
      };
      await addToken(tx, token, secret, services.tokenKey);
      const made = found(await load(tx, sql`authentication_tokens.id = ${id}`));
      const shown = shownToken(made, sight);
      const change = { organization, id, before: old ? shownToken(old, sight) : null, after: shown };
      return { answer: one(shownToken(made, sight, secret)), tagged: one(shown), change };
    },
  });

export const showing = <const P extends string>(path: P, told: Told, reach: Reach<P, Holder & Slot>) =>
  get({
    ...common,
    ...told,
    path,
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { owner, sight, slot } = await reach(request);
      return one(shownToken(found(await load(request.tx, inSlot(owner, slot))), sight));
    },
  });

export const revoking = <const P extends string>(path: P, told: Told, reach: Reach<P, Holder & Slot>) =>
  remove({
    ...common,
    ...told,
    path,
    audit: destroyed,
    success: 204,
    failures: [404, 412, 422],
    run: async request => {
      const { owner, organization, sight, slot } = await reach(request);
      const token = found(await load(request.tx, inSlot(owner, slot)));
      const before = shownToken(token, sight);
      request.expectUnchanged(one(before));
      await revokeTokens(request.tx, [token], request.now);
      return { answer: undefined, change: { organization, id: token.id, before, after: null } };
    },
  });

/** The tokens that `which` says, in the order of `by`: a column that is never null. */
export const listed = async (
  request: Request,
  which: Sql,
  sight: Sight,
  by?: { column: Sql; descending?: boolean },
) => {
  const { tx, page } = request;
  const visible = sql`${selected} where ${which}`;
  const rows = by
    ? await pageOf<Columns>(tx, sql`select tokens.*, ${by.column} as place from (${visible}) as tokens`, page, [
        { ...by, column: sql`place` },
        ...byCreation,
      ])
    : await pageOf<Columns>(tx, visible, page);
  return request.paged(rows, row => shownToken(fromRow(row), sight));
};

// Operations on one token of whatever kind

const path = '/api/v2/authentication-tokens/:id';

export const mayManageTokensAs =
  (caller: Caller) =>
  (stand: Standing, team: Parameters<typeof mayManageTokens>[1]): boolean =>
    mayManageTokens(reachOfTokens(stand, caller), team);

const reachedToken = async ({ tx, caller, params }: Request<typeof path>) => {
  const token = found(await load(tx, sql`authentication_tokens.id = ${params.id}`));
  const { owner, team } = token;
  if (owner.type === 'users') {
    found(token, () => mayManageTokensOfUser(caller, owner.id));
    return { token, sight: noTeams };
  }
  const stand = found(await standing(tx, caller, inOrganization(team?.organization ?? owner.id)));
  found(token, () => (team ? mayManageTokensAs(caller)(stand, team) : mayManageOrganization(stand)));
  return { token, sight: visibleTeams(stand) };
};

export const authenticationTokens = [
  get({
    ...common,
    path,
    summary: 'Show a token of any kind',
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { token, sight } = await reachedToken(request);
      return one(shownToken(token, sight));
    },
  }),
  remove({
    ...common,
    path,
    summary: 'Revoke a token of any kind',
    audit: destroyed,
    success: 204,
    failures: [404, 412, 422],
    run: async request => {
      const { token, sight } = await reachedToken(request);
      const before = shownToken(token, sight);
      request.expectUnchanged(one(before));
      await revokeTokens(request.tx, [token], request.now);
      const change = { organization: organizationOf(token), id: token.id, before, after: null };
      return { answer: undefined, change };
    },
  }),
];
