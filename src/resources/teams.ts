/** Teams: who works together, who may see that they do, and what they may do in the whole organization. */

import {
  bitOf,
  type Caller,
  mayCreateTeam,
  mayManageOrganizationAccess,
  mayManageTeam,
  mayManageTeamMembership,
  mayManageTokens,
  mayReadOrganization,
  maySeeTeam,
  type OrganizationAccess,
  organizationPermissions,
  reachOfTokens,
  refusedOrganizationAccess,
  type Standing,
  visibleTeams,
} from '../core/authority.ts';
import { found, invalid, nameTaken, refused } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { within } from '../store/sight.ts';
import { sql } from '../store/sql.ts';
import { inOrganizationNamed, ownersTeam, standing, standingAtTeam } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource, toMany, toOne } from '../wire/document.ts';
import {
  count,
  creation,
  exactly,
  flag,
  oneDocument,
  oneOf,
  open,
  optional,
  orNull,
  pagedDocument,
  related,
  relatedMany,
  resource,
  ruled,
  text,
  update,
  upTo,
} from '../wire/schemas.ts';
import { get, list, patch, post, type Request, remove } from './operation.ts';

// Shape

const name = ruled(
  '^(?=.{1,90}$)[^\\s\\p{C}\\p{DI}]([^\\p{C}\\p{DI}]*[^\\s\\p{C}\\p{DI}])?$',
  'Name may have 1 to 90 characters, without control or invisible characters and with no space at either end',
);
const visibility = oneOf('secret', 'organization');

const settable = {
  visibility: optional(visibility),
  'sso-team-id': optional(orNull(upTo(256))),
  'allow-member-token-management': optional(flag),
  'organization-access': optional(
    open(Object.fromEntries(organizationPermissions.map(permission => [permission, optional(flag)]))),
  ),
};

const Creation = creation('teams', { name, ...settable });
const Update = update('teams', { name: optional(name), ...settable });

export const TeamResource = resource(
  'teams',
  {
    name: text,
    'users-count': count,
    visibility,
    'sso-team-id': orNull(text),
    'allow-member-token-management': flag,
    'organization-access': exactly(Object.fromEntries(organizationPermissions.map(permission => [permission, flag]))),
    permissions: exactly({
      'can-update-membership': flag,
      'can-destroy': flag,
      'can-update-organization-access': flag,
      'can-update-api-token': flag,
      'can-update-visibility': flag,
      'can-update-name': flag,
      'can-update-sso-team-id': flag,
      'can-update-member-token-management': flag,
      'can-view-api-token': flag,
    }),
  },
  {
    organization: related('organizations'),
    users: relatedMany('users'),
    'organization-memberships': relatedMany('organization-memberships'),
  },
);

export type Team = {
  readonly id: string;
  readonly organization: string;
  readonly name: string;
  readonly visibility: string;
  readonly ssoTeamId: string | null;
  readonly memberTokens: boolean;
  readonly organizationAccess: OrganizationAccess;
  readonly owners: boolean;
  readonly users: readonly string[];
  readonly memberships: readonly string[];
};

const may = (standing: Standing, team: Team, caller: Caller) => {
  const manages = mayManageTeam(standing, team);
  const managesTokens = mayManageTokens(reachOfTokens(standing, caller), team);
  return {
    'can-update-membership': mayManageTeamMembership(standing, team),
    'can-destroy': manages && !team.owners,
    'can-update-organization-access': mayManageOrganizationAccess(standing, team),
    'can-update-api-token': managesTokens,
    'can-update-visibility': manages,
    'can-update-name': manages && !team.owners,
    'can-update-sso-team-id': manages,
    'can-update-member-token-management': manages,
    'can-view-api-token': managesTokens,
  };
};

/** Organization access is shown as it was sent: what one permission implies of another is a matter of authority. */
const shown = (team: Team, standing: Standing, caller: Caller): Resource => ({
  id: team.id,
  type: 'teams',
  attributes: {
    name: team.name,
    'users-count': team.users.length,
    visibility: team.visibility,
    'sso-team-id': team.ssoTeamId,
    'allow-member-token-management': team.memberTokens,
    'organization-access': Object.fromEntries(
      organizationPermissions.map(permission => [permission, (team.organizationAccess & bitOf(permission)) !== 0]),
    ),
    permissions: may(standing, team, caller),
  },
  relationships: {
    organization: toOne('organizations', team.organization),
    users: toMany('users', team.users),
    'organization-memberships': toMany('organization-memberships', team.memberships),
  },
  links: { self: pathOf('teams', team.id) },
});

const documentOf = (team: Team, standing: Standing, caller: Caller): Document => one(shown(team, standing, caller));

// Storage

type Columns = [
  id: string,
  organization: string,
  name: string,
  visibility: string,
  ssoTeamId: string | null,
  memberTokens: number,
  organizationAccess: number,
  createdAt: string,
  members: string | null,
];

const selected = sql`
  select teams.id, organizations.name as organization_name, teams.name, teams.visibility, teams.sso_team_id,
    teams.allow_member_token_management, teams.organization_access, teams.created_at,
    (
      select string_agg(
        organization_memberships.id || ' ' || coalesce(organization_memberships.user_id, ''),
        ',' order by team_memberships.created_at, team_memberships.membership_id
      )
      from team_memberships
      join organization_memberships on organization_memberships.id = team_memberships.membership_id
      where team_memberships.team_id = teams.id
    ) as members
  from teams
  join organizations on organizations.id = teams.organization_id`;

const fromRow = ([id, organization, name, visibility, ssoTeamId, memberTokens, access, , members]: Columns): Team => {
  const pairs = members?.split(',').map(member => member.split(' ') as [membership: string, user: string]) ?? [];
  return {
    id,
    organization,
    name,
    visibility,
    ssoTeamId,
    memberTokens: memberTokens === 1,
    organizationAccess: access,
    owners: name === ownersTeam,
    users: pairs.flatMap(([, user]) => (user === '' ? [] : [user])),
    memberships: pairs.map(([membership]) => membership),
  };
};

const load = async (tx: Tx, id: string): Promise<Team | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where teams.id = ${id}`);
  return row && fromRow(row);
};

/** Those teams of these memberships that the caller sees, whole. */
export const shownTeamsOf = async (
  tx: Tx,
  stand: Standing,
  caller: Caller,
  memberships: readonly string[],
): Promise<Resource[]> => {
  const rows = await tx.rows<Columns>(sql`
    ${selected}
    where teams.organization_id = ${stand.organization}
      and teams.id in (select team_id from team_memberships where membership_id in (${memberships}))
      and ${within(visibleTeams(stand), caller)}
    order by teams.created_at, teams.id`);
  return rows.map(row => shown(fromRow(row), stand, caller));
};

const newTeam = (id: string, organization: string, name: string): Team => ({
  id,
  organization,
  name,
  visibility: 'secret',
  ssoTeamId: null,
  memberTokens: true,
  organizationAccess: 0,
  owners: false,
  users: [],
  memberships: [],
});

export const newOwnersTeam = (id: string, organization: string): Team => ({
  ...newTeam(id, organization, ownersTeam),
  visibility: 'organization',
  owners: true,
});

export const addTeam = async (tx: Tx, team: Team, organizationId: string, now: string): Promise<void> => {
  const added = await tx.run(sql`
    insert into teams (
      id, organization_id, name, visibility, sso_team_id, allow_member_token_management, organization_access, created_at
    )
    values (
      ${team.id}, ${organizationId}, ${team.name}, ${team.visibility}, ${team.ssoTeamId}, ${team.memberTokens ? 1 : 0},
      ${team.organizationAccess}, ${now}
    )
    on conflict (organization_id, lower(name)) do nothing`);
  if (added === 0) throw nameTaken();
};

/** Whether it was not in the team before. */
export const addTeamMember = async (tx: Tx, organization: string, team: string, membership: string, now: string) =>
  (await tx.run(sql`
    insert into team_memberships (organization_id, team_id, membership_id, created_at)
    values (${organization}, ${team}, ${membership}, ${now})
    on conflict (team_id, membership_id) do nothing`)) === 1;

const save = async (tx: Tx, team: Team, organizationId: string): Promise<void> => {
  const saved = await tx.run(sql`
    update teams
    set name = ${team.name}, visibility = ${team.visibility}, sso_team_id = ${team.ssoTeamId},
      allow_member_token_management = ${team.memberTokens ? 1 : 0}, organization_access = ${team.organizationAccess}
    where id = ${team.id} and not exists (
      select 1
      from teams as other
      where other.organization_id = ${organizationId}
        and lower(other.name) = lower(cast(${team.name} as ctext))
        and other.id <> ${team.id}
    )`);
  if (saved === 0) throw nameTaken();
};

// Operations

type Attributes = {
  name?: string;
  visibility?: string;
  'sso-team-id'?: string | null;
  'allow-member-token-management'?: boolean;
  'organization-access'?: Readonly<Record<string, boolean | undefined>>;
};

/** The team with what a request says of it; what it does not say stays. */
const decided = (team: Team, attributes: Attributes, stand: Standing): Team => {
  const sent = attributes['organization-access'] ?? {};
  const organizationAccess = organizationPermissions.reduce((access, permission) => {
    if (sent[permission] === undefined) return access;
    return sent[permission] ? access | bitOf(permission) : access & ~bitOf(permission);
  }, team.organizationAccess);
  const visibility = attributes.visibility ?? team.visibility;
  const name = attributes.name ?? team.name;
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
  const ssoTeamId = attributes['sso-team-id'];
  return {
    ...team,
    name,
    visibility,
    // An empty one clears it.
    ssoTeamId: ssoTeamId === undefined ? team.ssoTeamId : ssoTeamId || null,
    memberTokens: attributes['allow-member-token-management'] ?? team.memberTokens,
    organizationAccess,
  };
};

const inOrganization = '/api/v2/organizations/:organization/teams';
const path = '/api/v2/teams/:id';
const common = { family: 'teams', since: 'before the dated list' } as const;
const answer = oneDocument(TeamResource);

type TeamFound = NonNullable<Awaited<ReturnType<typeof standingAtTeam>>>;

/** A team that the caller sees and may do this with, and the caller's standing. */
export const reachedTeam = async (
  { tx, caller, params }: Pick<Request<typeof path>, 'tx' | 'caller' | 'params'>,
  may: (standing: Standing, team: TeamFound['team']) => boolean,
  pointer?: string,
): Promise<TeamFound> =>
  found(
    await standingAtTeam(tx, caller, params.id),
    ({ stand, team }) => maySeeTeam(stand, team) && may(stand, team),
    pointer,
  );

const reached = async (request: Request<typeof path>, may: Parameters<typeof reachedTeam>[1]) => {
  const { stand } = await reachedTeam(request, may);
  return { stand, present: found(await load(request.tx, request.params.id)) };
};

export const teams = [
  list({
    ...common,
    path: inOrganization,
    summary: 'List the teams of an organization that the caller sees',
    success: 200,
    answer: pagedDocument(TeamResource),
    failures: [404],
    run: async request => {
      const { tx, caller, params, page } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayReadOrganization);
      const rows = await pageOf<Columns>(
        tx,
        sql`${selected} where teams.organization_id = ${stand.organization} and ${within(visibleTeams(stand), caller)}`,
        page,
      );
      return request.paged(rows, row => shown(fromRow(row), stand, caller));
    },
  }),

  get({
    ...common,
    path,
    summary: 'Show a team',
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { stand, present } = await reached(request, maySeeTeam);
      return documentOf(present, stand, request.caller);
    },
  }),

  post({
    ...common,
    path: inOrganization,
    summary: 'Create a team',
    audit: { resource: 'team', action: 'create' },
    body: Creation,
    success: 200,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, params, now } = request;
      const stand = found(await standing(tx, caller, inOrganizationNamed(params.organization)), mayCreateTeam);
      const { attributes } = request.body().data;
      const blank = newTeam(request.newId('team'), params.organization, attributes.name);
      await addTeam(tx, decided(blank, attributes, stand), stand.organization, now);
      const answer = documentOf(found(await load(tx, blank.id)), stand, caller);
      return { answer, change: { organization: stand.organization, id: blank.id, before: null, after: answer.data } };
    },
  }),

  patch({
    ...common,
    path,
    summary: 'Update a team',
    audit: { resource: 'team', action: 'update' },
    body: Update,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const { stand, present } = await reached(request, mayManageTeam);
      const before = documentOf(present, stand, request.caller);
      request.expectUnchanged(before);
      const next = decided(present, request.body().data.attributes ?? {}, stand);
      await save(request.tx, next, stand.organization);
      // The change may have touched the caller's own standing.
      const { stand: after } = found(await standingAtTeam(request.tx, request.caller, present.id));
      const answer = documentOf(next, after, request.caller);
      const change = { organization: stand.organization, id: next.id, before: before.data, after: answer.data };
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
      const before = documentOf(present, stand, request.caller);
      request.expectUnchanged(before);
      if (present.owners) throw refused('The owners team cannot be deleted.');
      await request.tx.run(sql`delete from teams where id = ${present.id}`);
      const change = { organization: stand.organization, id: present.id, before: before.data, after: null };
      return { answer: undefined, change };
    },
  }),
];
