/** Teams: who works together, who may see that they do, and what they may do in the whole organization. */

import {
  bitOf,
  mayCreateTeam,
  mayManageTeam,
  mayReadOrganization,
  maySeeTeam,
  organizationPermissions,
  refusedOrganizationAccess,
  type Standing,
  visibleTeams,
} from '../core/authority.ts';
import { found, invalid, refused } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { contains, isAmong } from '../store/search.ts';
import { within } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { inOrganizationNamed, standing, standingAtTeam } from '../store/standing.ts';
import { one, type Resource } from '../wire/document.ts';
import {
  creation,
  flag,
  oneDocument,
  open,
  optional,
  orNull,
  pagedDocument,
  ruled,
  update,
  upTo,
} from '../wire/schemas.ts';
import { get, list, patch, post, remove } from './operation.ts';
import { MembershipResource, membershipsShown } from './organization-membership-resource.ts';
import type { Request } from './request.ts';
import {
  addTeam,
  loadTeam,
  newTeam,
  reachedTeam,
  saveTeam,
  selectedTeams,
  shownTeam,
  type Team,
  type TeamColumns,
  TeamResource,
  teamFrom,
  visibility,
} from './team-resource.ts';
import { UserResource, usersShown } from './user-resource.ts';

// Shape of requests

export const teamName = ruled(
  '^(?=.{1,90}$)[^\\s\\p{C}\\p{DI}]([^\\p{C}\\p{DI}]*[^\\s\\p{C}\\p{DI}])?$',
  'Name must have 1 to 90 characters, without control or invisible characters and with no space at either end',
);

export const settableOfTeam = {
  visibility: optional(visibility),
  'sso-team-id': optional(orNull(upTo(256))),
  'allow-member-token-management': optional(flag),
  'organization-access': optional(
    open(Object.fromEntries(organizationPermissions.map(permission => [permission, optional(flag)]))),
  ),
};

const Creation = creation('teams', { name: teamName, ...settableOfTeam });
const Update = update('teams', { name: optional(teamName), ...settableOfTeam });

type Attributes = {
  name?: string;
  visibility?: string;
  'sso-team-id'?: string | null;
  'allow-member-token-management'?: boolean;
  'organization-access'?: Readonly<Record<string, boolean | undefined>>;
};

/** The team with what is said of it; what is not said stays. */
export const changedTeam = (team: Team, attributes: Attributes): Team => {
  const sent = attributes['organization-access'] ?? {};
  const ssoTeamId = attributes['sso-team-id'];
  return {
    ...team,
    name: attributes.name ?? team.name,
    visibility: attributes.visibility ?? team.visibility,
    // An empty one clears it.
    ssoTeamId: ssoTeamId === undefined ? team.ssoTeamId : ssoTeamId || null,
    memberTokens: attributes['allow-member-token-management'] ?? team.memberTokens,
    organizationAccess: organizationPermissions.reduce((access, permission) => {
      if (sent[permission] === undefined) return access;
      return sent[permission] ? access | bitOf(permission) : access & ~bitOf(permission);
    }, team.organizationAccess),
  };
};

/** The same as far as the caller may change it so. */
const decided = (team: Team, attributes: Attributes, stand: Standing): Team => {
  const next = changedTeam(team, attributes);
  const { name, visibility, organizationAccess } = next;
  const beyondReach = refusedOrganizationAccess(stand, team, organizationAccess, team.organizationAccess);
  const flaws = beyondReach.map(permission => ({
    pointer: `/data/attributes/organization-access/${permission}`,
    detail: `${permission} is not yours to change: nobody gives more than they hold`,
  }));
  const flawed = (key: string, detail: string) => flaws.push({ pointer: `/data/attributes/${key}`, detail });
  if (team.owners && name !== team.name) flawed('name', 'The owners team cannot be renamed');
  if (team.owners && visibility !== team.visibility) flawed('visibility', 'The owners team is visible to all members');
  if (!maySeeTeam(stand, { id: team.id, visibility }))
    flawed('visibility', 'A secret team would be hidden from you: visibility must be organization');
  if (flaws.length > 0) throw invalid(...flaws);
  return next;
};

// Operations

const inOrganization = '/api/v2/organizations/:organization/teams';
const path = '/api/v2/teams/:id';
const common = { family: 'teams', since: 'before the dated list' } as const;
const includes = ['users', 'organization-memberships'];
const includedSchemas = [UserResource, MembershipResource];
const answer = oneDocument(TeamResource, ...includedSchemas);

/** The members of these teams, as users and as memberships, where the query asks for them: one statement for each. */
const included = async (
  request: Request,
  stand: Standing,
  teams: readonly string[],
): Promise<Resource[] | undefined> => {
  const { tx, caller } = request;
  const wanted = includes.filter(name => request.includes(name));
  if (wanted.length === 0) return undefined;
  const members = sql`select membership_id from team_memberships where team_id in (${teams})`;
  const users = sql`select user_id from organization_memberships where id in (${members})`;
  return [
    ...(wanted.includes('users') ? await usersShown(tx, sql`users.id in (${users})`) : []),
    ...(wanted.includes('organization-memberships')
      ? await membershipsShown(tx, stand, caller, sql`organization_memberships.id in (${members})`)
      : []),
  ];
};

/** What `q` and `filter[names]` leave of the list. */
const narrowed = (request: Request): Sql => {
  const names = request.valuesOf('filter[names]') ?? [];
  return sql`
    ${contains(sql`teams.name`, request.parameter('q') ?? '')}
    and ${names.length === 0 ? sql`1 = 1` : isAmong(sql`teams.name`, names)}`;
};

const reached = async (request: Request<typeof path>, may: Parameters<typeof reachedTeam>[1]) => {
  const { stand } = await reachedTeam(request, may);
  return { stand, present: found(await loadTeam(request.tx, request.params.id)) };
};

const about = ({ organization }: Standing, { id }: { readonly id: string }) => ({ organization, id, team: id });

export const teams = [
  list({
    ...common,
    path: inOrganization,
    summary: 'List the teams of an organization that the caller sees',
    filters: ['filter[names]', 'q'],
    includes,
    success: 200,
    answer: pagedDocument(TeamResource, { included: includedSchemas }),
    failures: [404],
    run: async request => {
      const { tx, caller, params, page } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
      const rows = await pageOf<TeamColumns>(
        tx,
        sql`${selectedTeams}
          where teams.organization_id = ${stand.organization}
            and ${within(visibleTeams(stand), caller)}
            and ${narrowed(request)}`,
        page,
      );
      const ids = rows.items.map(([id]) => id);
      return request.paged(rows, row => shownTeam(teamFrom(row), stand, caller), {
        included: await included(request, stand, ids),
      });
    },
  }),

  get({
    ...common,
    path,
    summary: 'Show a team',
    includes,
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { stand, present } = await reached(request, maySeeTeam);
      return one(shownTeam(present, stand, request.caller), await included(request, stand, [present.id]));
    },
  }),

  post({
    ...common,
    path: inOrganization,
    summary: 'Create a team',
    audit: { resource: 'team', action: 'create' },
    body: Creation,
    includes,
    success: 200,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, params, now } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayCreateTeam);
      const { attributes } = request.body().data;
      const blank = newTeam(request.newId('team'), params.organization, attributes.name);
      const made = decided(blank, attributes, stand);
      if (made.organizationAccess !== 0)
        await request.affecting({ organization: stand.organization, teams: [made.id], projects: 'all' });
      await addTeam(tx, made, stand.organization, now);
      const team = shownTeam(found(await loadTeam(tx, blank.id)), stand, caller);
      const answer = one(team, await included(request, stand, [blank.id]));
      return { answer, change: { ...about(stand, blank), before: null, after: team } };
    },
  }),

  patch({
    ...common,
    path,
    summary: 'Update a team',
    audit: { resource: 'team', action: 'update' },
    body: Update,
    includes,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const { stand, present } = await reached(request, mayManageTeam);
      const before = one(shownTeam(present, stand, request.caller));
      request.expectUnchanged(before);
      const next = decided(present, request.body().data.attributes ?? {}, stand);
      const { organization } = stand;
      if (next.organizationAccess !== present.organizationAccess)
        await request.affecting({ organization, teams: [next.id], projects: 'all', through: [next.id] });
      await saveTeam(request.tx, next, organization);
      // The change may have touched the caller's own standing.
      const { stand: after } = found(await standingAtTeam(request.tx, request.caller, present.id));
      const team = shownTeam(next, after, request.caller);
      const answer = one(team, await included(request, after, [next.id]));
      const change = { ...about(stand, next), before: before.data, after: team };
      return { answer, change };
    },
  }),

  remove({
    ...common,
    path,
    summary: 'Delete a team and all its access',
    audit: { resource: 'team', action: 'destroy' },
    success: 204,
    failures: [404, 412, 422],
    run: async request => {
      const { stand, present } = await reached(request, mayManageTeam);
      const before = one(shownTeam(present, stand, request.caller));
      request.expectUnchanged(before);
      if (present.owners) throw refused('The owners team cannot be deleted.');
      await request.affecting({ organization: stand.organization, teams: [present.id], through: [present.id] });
      await request.tx.run(sql`delete from teams where id = ${present.id}`);
      const change = { ...about(stand, present), before: before.data, after: null };
      return { answer: undefined, change };
    },
  }),
];
