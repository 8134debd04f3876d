/** A team's tokens, which act as the team: as many as it needs, and a single one for clients that know no others. */

import { mayManageSomeTokens, mayReadOrganization, reachOfTokens, visibleTeams } from '../core/authority.ts';
import { Fault, found } from '../core/fault.ts';
import { contains } from '../store/search.ts';
import { within, withManageableTokens } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { inOrganizationNamed, standing } from '../store/standing.ts';
import { references } from '../wire/schemas.ts';
import { heldBy, loadTokens, shownToken, single } from './authentication-token-resource.ts';
import {
  common,
  creating,
  destroyed,
  type Holder,
  listed,
  mayManageTokensAs,
  revokeTokens,
  revoking,
  type Slot,
  showing,
  tokenPage,
} from './authentication-tokens.ts';
import { list, remove } from './operation.ts';
import type { Request } from './request.ts';
import { reachedTeam } from './team-resource.ts';

const theOne = '/api/v2/teams/:id/authentication-token';
const several = '/api/v2/teams/:id/authentication-tokens';
const inOrganization = '/api/v2/organizations/:organization/team-tokens';

const reach = async (request: Request<typeof several>): Promise<Holder> => {
  const { stand, team } = await reachedTeam(request, mayManageTokensAs(request.caller));
  return { owner: { type: 'teams', id: team.id }, organization: stand.organization, sight: visibleTeams(stand) };
};

const reachTheOne = async (request: Request<typeof theOne>): Promise<Holder & Slot> => ({
  ...(await reach(request)),
  slot: single,
});

/** The tokens of an organization's teams that the caller manages. */
const manageable = async ({ tx, caller, params }: Request<typeof inOrganization>) => {
  const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
  const { organization } = stand;
  const reach = reachOfTokens(stand, caller);
  const which = sql`teams.organization_id = ${organization} and ${withManageableTokens(reach, caller)}`;
  const sight = visibleTeams(stand);
  return { organization, reach, which, sight, seen: within(sight, caller) };
};

/**
 * What is sorted by, never null. Who never expires comes last and who was never used first; who made it, by name: a team
 * that is not `seen` by none.
 */
const sorts: Readonly<Record<string, (seen: Sql) => Sql>> = {
  'team-name': () => sql`lower(tokens.team_name)`,
  'created-by': seen => sql`
    case tokens.created_by_type
      when 'teams' then coalesce(
        (
          select lower(teams.name)
          from teams
          where teams.id = tokens.created_by and teams.organization_id = tokens.team_organization_id and ${seen}
        ),
        ''
      )
      else coalesce((select lower(username) from users where users.id = tokens.created_by), lower(tokens.created_by))
    end`,
  'expired-at': () => sql`coalesce(tokens.expired_at, '~')`,
  'last-used-at': () => sql`coalesce(tokens.last_used_at, '')`,
};

const daysAfter = (now: string, days: number): string => new Date(Date.parse(now) + days * 86_400_000).toISOString();

/** What each status says of a token; of several, one is enough. */
const statuses: Readonly<Record<string, (now: string) => Sql>> = {
  active: now => sql`(authentication_tokens.expired_at is null or authentication_tokens.expired_at > ${now})`,
  expiring_in_7_days: now => expiringWithin(now, 7),
  expiring_in_30_days: now => expiringWithin(now, 30),
  expired: now => sql`authentication_tokens.expired_at <= ${now}`,
  no_expiration: () => sql`authentication_tokens.expired_at is null`,
};

const expiringWithin = (now: string, days: number): Sql =>
  sql`(authentication_tokens.expired_at > ${now} and authentication_tokens.expired_at <= ${daysAfter(now, days)})`;

/** The client's model calls it by the first name, the documentation by the second. */
const statusFilters = ['filter[expiry_status]', 'filter[status]'];

const ofStatus = (request: Request, parameter: string): Sql => {
  const asked = new Set(request.valuesOf(parameter));
  const unknown = [...asked].find(status => !Object.hasOwn(statuses, status));
  if (unknown !== undefined) {
    const detail = `${parameter} may name ${Object.keys(statuses).join(', ')}; it does not know '${unknown}'`;
    throw new Fault({ kind: 'bad parameter', parameter, detail });
  }
  const wanted = Object.entries(statuses).filter(([status]) => asked.has(status));
  if (wanted.length === 0) return sql`1 = 1`;
  return sql`(${wanted.map(([, said]) => said(request.now)).reduce((all, next) => sql`${all} or ${next}`)})`;
};

export const teamTokens = [
  creating(several, { summary: "Create one of a team's tokens", since: 'after the dated list' }, reach),
  list({
    ...common,
    path: several,
    since: 'after the dated list',
    summary: "List a team's tokens",
    success: 200,
    answer: tokenPage,
    failures: [404],
    run: async request => {
      const { owner, sight } = await reach(request);
      return listed(request, heldBy(owner), sight);
    },
  }),
  creating(theOne, { summary: "Create a team's single token, and revoke the one before" }, reachTheOne),
  showing(theOne, { summary: "Show a team's single token" }, reachTheOne),
  revoking(theOne, { summary: "Revoke a team's single token" }, reachTheOne),

  list({
    ...common,
    path: inOrganization,
    since: '2024-08-14',
    summary: "List the tokens of an organization's teams that the caller may manage, the first to expire first",
    filters: ['q', ...statusFilters],
    sorts: Object.keys(sorts),
    success: 200,
    answer: tokenPage,
    failures: [404],
    run: async request => {
      const { by, descending } = request.sort ?? { by: 'expired-at', descending: false };
      const [byModel, byPage] = statusFilters.map(name => ofStatus(request, name)) as [Sql, Sql];
      const { which, sight, seen } = await manageable(request);
      return listed(
        request,
        sql`${which} and ${contains(sql`teams.name`, request.parameter('q') ?? '')} and ${byModel} and ${byPage}`,
        sight,
        { column: (sorts[by] as (seen: Sql) => Sql)(seen), descending },
      );
    },
  }),
  remove({
    ...common,
    path: inOrganization,
    since: 'after the dated list',
    summary: "Revoke several tokens of an organization's teams: all that are named, or none",
    audit: destroyed,
    body: references('authentication-tokens'),
    success: 204,
    failures: [404, 422],
    run: async request => {
      const { organization, reach, which, sight } = await manageable(request);
      found(reach, mayManageSomeTokens);
      const named = request.body().data.map(({ id }) => id);
      const tokens = await loadTokens(request.tx, sql`${which} and authentication_tokens.id in (${named})`);
      const ids = tokens.map(({ id }) => id);
      for (const [index, id] of named.entries()) found(id, id => ids.includes(id), `/data/${index}/id`);
      await request.affecting({ organization });
      await revokeTokens(request.tx, tokens, request.now);
      const [team, ...others] = new Set(tokens.map(({ owner }) => owner.id));
      const change = {
        organization,
        id: ids.join(','),
        // Several are no one team's.
        team: others.length === 0 ? team : undefined,
        before: tokens.map(token => shownToken(token, sight)),
        after: null,
      };
      return { answer: undefined, change };
    },
  }),
];
