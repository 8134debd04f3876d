/** Tokens of every kind: what is done with them is the same. Whose they are is said in the files of users', teams' and organizations' tokens. */

import {
  type Caller,
  mayManageOrganization,
  mayManageTokens,
  mayManageTokensOfUser,
  reachOfTokens,
  type Sight,
  type Standing,
  visibleTeams,
} from '../core/authority.ts';
import { found, invalid } from '../core/fault.ts';
import { byCreation, pageOf } from '../store/paging.ts';
import { type Sql, sql } from '../store/sql.ts';
import { inOrganization, standing } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { newToken } from '../store/token.ts';
import { one } from '../wire/document.ts';
import { oneDocument, open, optional, pagedDocument } from '../wire/schemas.ts';
import { instantOf } from '../wire/time.ts';
import {
  actorOf,
  addToken,
  type Columns,
  fromRow,
  inSlot,
  load,
  noTeams,
  organizationOf,
  removeTokens,
  selected,
  settableOfToken,
  shownToken,
  type Token,
  TokenResource,
} from './authentication-token-resource.ts';
import { get, type Note, post, remove, type Since } from './operation.ts';
import { expectAWayBack } from './owners.ts';
import type { Request } from './request.ts';

// What the operations on a holder's tokens share

/** Clients send this without a type, with an empty one or with several spellings of it, and some send nothing at all. */
const Creation = open({ data: optional(open({ attributes: optional(open(settableOfToken)) })) });

/** Without another in their place: the last that could let the users in again stays. */
export const revokeTokens = async (tx: Tx, tokens: readonly Token[], now: string): Promise<void> => {
  const ids = tokens.map(({ id }) => id);
  await removeTokens(tx, ids);
  const ofOwners = tokens.filter(({ owner, team }) => team?.owners ?? owner.type === 'organizations');
  for (const organization of new Set(ofOwners.map(organizationOf))) await expectAWayBack(tx, organization ?? '', now);
};

/** Whose tokens a request is about, and in which organization; reached only by those who may manage them. */
export type Holder = {
  readonly owner: Token['owner'];
  readonly organization: string | null;
  readonly sight: Sight;
};

/** A place for one token at most: a new one revokes the old. In some, a token without an expiry never expires. */
export type Slot = { readonly slot: string; readonly lasting?: boolean };

type Reach<P extends string, H> = (request: Request<P>) => Promise<H>;
type Told = {
  readonly summary: string;
  readonly since?: Since;
  readonly filters?: readonly string[];
  readonly notes?: Readonly<Record<string, Note>>;
};

export const common = { family: 'authentication-tokens', since: 'before the dated list' } as const;
export const tokenPage = pagedDocument(TokenResource);
const answer = oneDocument(TokenResource);
export const destroyed = { resource: 'authentication_token', action: 'destroy' } as const;

const teamOf = ({ type, id }: Token['owner']): string | undefined => (type === 'teams' ? id : undefined);

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
      if (old) {
        await request.affecting({ organization });
        await removeTokens(tx, [old.id]);
      }
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
      const change = {
        organization,
        id,
        team: teamOf(owner),
        before: old ? shownToken(old, sight) : null,
        after: shown,
      };
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
      await request.affecting({ organization });
      await revokeTokens(request.tx, [token], request.now);
      return { answer: undefined, change: { organization, id: token.id, team: teamOf(owner), before, after: null } };
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
      await request.affecting({ organization: organizationOf(token) });
      await revokeTokens(request.tx, [token], request.now);
      const change = { organization: organizationOf(token), id: token.id, team: token.team?.id, before, after: null };
      return { answer: undefined, change };
    },
  }),
];
