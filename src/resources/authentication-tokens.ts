/** Tokens of users, teams and organizations: shown once, kept as a hash. */

import {
  type Caller,
  mayManageOrganization,
  mayManageTokens,
  mayManageTokensOfUser,
  mayReadOrganization,
  reachOfTokens,
  type Standing,
  type TeamInQuestion,
} from '../core/authority.ts';
import { Fault, found, invalid } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { withManageableTokens } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { inOrganization, inOrganizationNamed, ownersTeam, standing } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { kept, newToken } from '../store/token.ts';
import { identifier, one, pathOf, type Resource } from '../wire/document.ts';
import {
  oneDocument,
  open,
  optional,
  orNull,
  pagedDocument,
  relatedAny,
  resource,
  ruled,
  text,
  time,
  upTo,
} from '../wire/schemas.ts';
import { get, list, post, type Request, remove } from './operation.ts';
import { reachedTeam } from './team.ts';
import { visibleTo } from './users.ts';

// Shape

const instant = ruled(
  '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
  'expired-at must be a time such as 2030-01-31T12:00:00Z',
);

/** Clients send this without a type, with an empty one or with several spellings of it, and some send nothing at all. */
const Creation = open({
  data: optional(
    open({
      attributes: optional(open({ description: optional(orNull(upTo(256))), 'expired-at': optional(orNull(instant)) })),
    }),
  ),
});

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
  { 'created-by': relatedAny(...owners), team: optional(relatedAny('teams')) },
);

type TeamOfToken = TeamInQuestion & { readonly organization: string; readonly memberTokens: boolean };

type Token = {
  readonly id: string;
  readonly owner: { readonly type: OwnerType; readonly id: string };
  /** Of a team's token, the team. */
  readonly team?: TeamOfToken | undefined;
  readonly slot: string | null;
  readonly description: string | null;
  readonly createdBy: { readonly type: string; readonly id: string };
  readonly createdAt: string;
  readonly expiredAt: string | null;
};

const shown = ({ id, owner, description, createdBy, createdAt, expiredAt }: Token, secret?: string): Resource => ({
  id,
  type: 'authentication-tokens',
  attributes: {
    'created-at': createdAt,
    'last-used-at': null,
    description,
    token: secret ?? null,
    'expired-at': expiredAt,
  },
  relationships: {
    'created-by': { data: identifier(createdBy.type, createdBy.id) },
    ...(owner.type === 'teams' && { team: { data: identifier('teams', owner.id) } }),
  },
  links: { self: pathOf('authentication-tokens', id) },
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
  createdById: string,
  createdAt: string,
  expiredAt: string | null,
  teamOrganization: string | null,
  teamName: string,
  teamVisibility: string,
  memberTokens: number,
];

const selected = sql`
  select authentication_tokens.id, authentication_tokens.user_id, authentication_tokens.team_id,
    authentication_tokens.organization_id, authentication_tokens.slot, authentication_tokens.description,
    authentication_tokens.created_by_type,
    coalesce(
      (select name from organizations where organizations.id = authentication_tokens.created_by_id),
      authentication_tokens.created_by_id
    ) as created_by,
    authentication_tokens.created_at,
    authentication_tokens.expired_at,
    teams.organization_id as team_organization_id, teams.name, teams.visibility, teams.allow_member_token_management
  from authentication_tokens
  left join teams on teams.id = authentication_tokens.team_id`;

const ownerOf = (user: string | null, team: string | null, organization: string | null): Token['owner'] => {
  if (user !== null) return { type: 'users', id: user };
  return team !== null ? { type: 'teams', id: team } : { type: 'organizations', id: organization ?? '' };
};

const fromRow = (row: Columns): Token => {
  const [id, user, teamId, organization, slot, description, byType, byId, createdAt, expiredAt, ...team] = row;
  const [teamOrganization, name, visibility, memberTokens] = team;
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
    createdAt,
    expiredAt,
  };
};

const load = async (tx: Tx, which: Sql): Promise<Token | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where ${which}`);
  return row && fromRow(row);
};

const heldBy = ({ type, id }: Token['owner']): Sql => {
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
export const addToken = async (tx: Tx, token: Token, secret: string, key: string): Promise<void> => {
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
    throw invalid({ pointer: '/data/attributes/description', detail: 'Description has already been taken' });
};

const revoke = (tx: Tx, id: string) => tx.run(sql`delete from authentication_tokens where id = ${id}`);

// Operations

const lifetimeInYears = 2;

const afterYears = (now: string, years: number): string => {
  const end = new Date(now);
  end.setUTCFullYear(end.getUTCFullYear() + years);
  return end.toISOString();
};

const expiryOf = (asked: string | null | undefined, now: string): string => {
  if (asked === undefined || asked === null) return afterYears(now, lifetimeInYears);
  const end = new Date(asked);
  if (Number.isNaN(end.getTime()) || end.toISOString() <= now)
    throw invalid({ pointer: '/data/attributes/expired-at', detail: 'expired-at must be a time to come' });
  return end.toISOString();
};

/** Whose tokens a request is about, and in which organization; reached only by those who may manage them. */
type Holder = { readonly owner: Token['owner']; readonly organization: string | null };
type Reach<P extends string> = (request: Request<P>) => Promise<Holder>;

const mayManageTokensAs =
  (caller: Caller) =>
  (stand: Standing, team: Parameters<typeof mayManageTokens>[1]): boolean =>
    mayManageTokens(reachOfTokens(stand, caller), team);

const ofUser = '/api/v2/users/:id/authentication-tokens';
const ofTeam = '/api/v2/teams/:id/authentication-tokens';
const theOneOfTeam = '/api/v2/teams/:id/authentication-token';
const theOneOfOrganization = '/api/v2/organizations/:organization/authentication-token';
const path = '/api/v2/authentication-tokens/:id';

const reachUser: Reach<typeof ofUser> = async ({ tx, caller, params }) => {
  const user = await tx.row(sql`select id from users where id = ${params.id}`);
  found(user, () => mayManageTokensOfUser(caller, params.id));
  return { owner: { type: 'users', id: params.id }, organization: null };
};

const reachTeam: Reach<typeof ofTeam> = async request => {
  const { stand, team } = await reachedTeam(request, mayManageTokensAs(request.caller));
  return { owner: { type: 'teams', id: team.id }, organization: stand.organization };
};

const reachOrganization: Reach<typeof theOneOfOrganization> = async request => {
  const { tx, caller, params } = request;
  const place = inOrganizationNamed(params.organization);
  const { organization } = found(await standing(tx, caller, place), mayManageOrganization);
  // There are kinds of it elsewhere; to give out this one for another would be giving too much.
  if (request.parameter('token') !== undefined)
    throw new Fault({
      kind: 'bad parameter',
      parameter: 'token',
      detail: 'There is no other kind of organization token',
    });
  return { owner: { type: 'organizations', id: organization }, organization };
};

const reachedToken = async ({ tx, caller, params }: Request<typeof path>) => {
  const token = found(await load(tx, sql`authentication_tokens.id = ${params.id}`));
  const { owner, team } = token;
  if (owner.type === 'users') found(token, () => mayManageTokensOfUser(caller, owner.id));
  else {
    const stand = found(await standing(tx, caller, inOrganization(team?.organization ?? owner.id)));
    found(token, () => (team ? mayManageTokensAs(caller)(stand, team) : mayManageOrganization(stand)));
  }
  return token;
};

const organizationOf = ({ owner, team }: Token): string | null =>
  team?.organization ?? (owner.type === 'organizations' ? owner.id : null);

const common = { family: 'authentication-tokens', since: 'before the dated list' } as const;
const answer = oneDocument(TokenResource);
const pageAnswer = pagedDocument(TokenResource);
const created = { resource: 'authentication_token', action: 'create' } as const;
const destroyed = { resource: 'authentication_token', action: 'destroy' } as const;

/** In a slot there is one token at most: a new one revokes the old. */
const creating = <const P extends string>(path: P, summary: string, reach: Reach<P>, slot: string | null = null) =>
  post({
    ...common,
    path,
    summary,
    audit: created,
    body: Creation,
    success: 201,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, services, now } = request;
      const { owner, organization } = await reach(request);
      const attributes = request.body().data?.attributes ?? {};
      const token: Token = {
        id: request.newId('at'),
        owner,
        slot,
        description: slot === null ? (attributes.description ?? null) : null,
        createdBy: actorOf(caller),
        createdAt: now,
        expiredAt: expiryOf(attributes['expired-at'], now),
      };
      const old = slot === null ? undefined : await load(tx, inSlot(owner, slot));
      if (old) await revoke(tx, old.id);
      const secret = newToken(services.random);
      await addToken(tx, token, secret, services.tokenKey);
      const made = found(await load(tx, sql`authentication_tokens.id = ${token.id}`));
      const change = { organization, id: made.id, before: old ? shown(old) : null, after: shown(made) };
      return { answer: one(shown(made, secret)), tagged: one(shown(made)), change };
    },
  });

const showing = <const P extends string>(path: P, summary: string, reach: Reach<P>, slot: string) =>
  get({
    ...common,
    path,
    summary,
    success: 200,
    answer,
    failures: [404],
    run: async request => one(shown(found(await load(request.tx, inSlot((await reach(request)).owner, slot))))),
  });

const revoking = <const P extends string>(path: P, summary: string, reach: Reach<P>, slot: string) =>
  remove({
    ...common,
    path,
    summary,
    audit: destroyed,
    success: 204,
    failures: [404, 412],
    run: async request => {
      const { owner, organization } = await reach(request);
      const token = found(await load(request.tx, inSlot(owner, slot)));
      request.expectUnchanged(one(shown(token)));
      await revoke(request.tx, token.id);
      return { answer: undefined, change: { organization, id: token.id, before: shown(token), after: null } };
    },
  });

const listed = async (request: Request, which: Sql) =>
  request.paged(await pageOf<Columns>(request.tx, sql`${selected} where ${which}`, request.page), row =>
    shown(fromRow(row)),
  );

export const authenticationTokens = [
  creating(ofUser, "Create a user's token (the user, or a site admin)", reachUser),
  list({
    ...common,
    path: ofUser,
    summary: "List a user's tokens; those of somebody else are an empty list",
    success: 200,
    answer: pageAnswer,
    failures: [404],
    run: async request => {
      const { tx, caller, params } = request;
      found(await tx.row(sql`select id from users where users.id = ${params.id} and ${visibleTo(caller)}`));
      const own = mayManageTokensOfUser(caller, params.id) ? sql`1 = 1` : sql`1 = 0`;
      return listed(request, sql`${heldBy({ type: 'users', id: params.id })} and ${own}`);
    },
  }),

  creating(ofTeam, "Create one of a team's tokens", reachTeam),
  list({
    ...common,
    path: ofTeam,
    summary: "List a team's tokens",
    success: 200,
    answer: pageAnswer,
    failures: [404],
    run: async request => listed(request, heldBy((await reachTeam(request)).owner)),
  }),
  creating(theOneOfTeam, "Create a team's single token, and revoke the one before", reachTeam, 'single'),
  showing(theOneOfTeam, "Show a team's single token", reachTeam, 'single'),
  revoking(theOneOfTeam, "Revoke a team's single token", reachTeam, 'single'),
  list({
    ...common,
    path: '/api/v2/organizations/:organization/team-tokens',
    since: '2024-08-14',
    summary: "List the tokens of an organization's teams that the caller may manage",
    success: 200,
    answer: pageAnswer,
    failures: [404],
    run: async request => {
      const { tx, caller, params } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
      return listed(
        request,
        sql`teams.organization_id = ${stand.organization} and ${withManageableTokens(reachOfTokens(stand, caller), caller)}`,
      );
    },
  }),

  creating(
    theOneOfOrganization,
    "Create the organization's token, and revoke the one before",
    reachOrganization,
    'single',
  ),
  showing(theOneOfOrganization, "Show the organization's token", reachOrganization, 'single'),
  revoking(theOneOfOrganization, "Revoke the organization's token", reachOrganization, 'single'),

  get({
    ...common,
    path,
    summary: 'Show a token of any kind',
    success: 200,
    answer,
    failures: [404],
    run: async request => one(shown(await reachedToken(request))),
  }),
  remove({
    ...common,
    path,
    summary: 'Revoke a token of any kind',
    audit: destroyed,
    success: 204,
    failures: [404, 412],
    run: async request => {
      const token = await reachedToken(request);
      request.expectUnchanged(one(shown(token)));
      await revoke(request.tx, token.id);
      const change = { organization: organizationOf(token), id: token.id, before: shown(token), after: null };
      return { answer: undefined, change };
    },
  }),
];
