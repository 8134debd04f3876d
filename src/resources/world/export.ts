/** The present world, as a seed file would have it: one statement for each table, whatever their size. */

import type { Access, Grant, WorkspaceGrant, WorkspaceLevel } from '../../core/access.ts';
import { bitOf, isSiteAdmin, type OrganizationAccess, organizationPermissions } from '../../core/authority.ts';
import { found } from '../../core/fault.ts';
import { type Sql, sql } from '../../store/sql.ts';
import { grantOf } from '../../store/standing.ts';
import type { Row, Tx } from '../../store/store.ts';
import { auditTrails, decisions } from '../../store/token.ts';
import type { TProperties } from '../../wire/schemas.ts';
import { single } from '../authentication-token-resource.ts';
import { plainGet } from '../operation.ts';
import { shownOnProject } from '../team-projects.ts';
import { shownOnWorkspace } from '../team-workspaces.ts';
import { settings, World } from './shape.ts';

/** What each thing owns, in the order of the rows. The first column is the owner's id. */
const owned = async <R extends Row, T>(
  tx: Tx,
  statement: Sql,
  shown: (row: R) => T,
): Promise<(owner: string) => T[]> => {
  const rows = await tx.rows<[owner: string, ...Row]>(statement);
  const grouped = Map.groupBy(rows, ([owner]) => owner);
  return owner => (grouped.get(owner) ?? []).map(([, ...row]) => shown(row as Row as R));
};

/** Those that were set, in the order in which the schema has them. */
const set = <P extends TProperties>(settable: P, stored: string): { [K in keyof P]?: never } =>
  known(settable, JSON.parse(stored)) as { [K in keyof P]?: never };

/** Without what clients have added of their own, which the API ignores and a seed refuses. */
const known = (properties: TProperties, values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => (values[name] ?? null) !== null)
      .map(([name, schema]) => {
        const { properties: inner } = schema as { properties?: TProperties };
        return [name, inner ? known(inner, values[name] as Record<string, unknown>) : values[name]];
      }),
  );

const held = (access: OrganizationAccess) =>
  Object.fromEntries(
    organizationPermissions.filter(each => (access & bitOf(each)) !== 0).map(permission => [permission, true]),
  );

type TokenRow = [
  id: string,
  createdAt: string,
  slot: string | null,
  description: string | null,
  createdBy: string,
  expiredAt: string | null,
];

const loadTokens = async (tx: Tx) => {
  const tokens = await owned(
    tx,
    sql`
      select coalesce(user_id, team_id, organization_id), id, created_at, slot, description, created_by_id, expired_at
      from authentication_tokens
      order by created_at, id`,
    ([id, createdAt, slot, description, createdBy, expiredAt]: TokenRow) => {
      const made = { id, 'created-at': createdAt };
      const rest = { 'created-by': createdBy, 'expired-at': expiredAt };
      return { slot, token: slot === null ? { ...made, description, ...rest } : { ...made, ...rest } };
    },
  );
  const inSlot = (owner: string, wanted: string | null) =>
    tokens(owner)
      .filter(({ slot }) => slot === wanted)
      .map(({ token }) => token);
  return {
    tokens: (owner: string) => ({ tokens: inSlot(owner, null) }),
    token: (owner: string, slot: string, name: 'token' | 'audit-trails-token' | 'decisions-token') => {
      const [token] = inSlot(owner, slot);
      return token && { [name]: token };
    },
  };
};

const loadTags = (tx: Tx) =>
  owned(
    tx,
    sql`
      select coalesce(project_id, workspace_id), id, created_at, key, value
      from tag_bindings
      order by ordinal, id`,
    ([id, createdAt, key, value]: [string, string, string, string]) => ({ id, 'created-at': createdAt, key, value }),
  );

type GrantRow<A> = [
  id: string,
  createdAt: string,
  team: string,
  access: A,
  chosen: number | null,
  beyond: number | null,
];

/** A fixed level says it all. */
const shownGrant = <G extends { readonly access: string }>(grant: G, shown: (grant: G) => object) => ({
  access: grant.access as G['access'],
  ...(grant.access === 'custom' && shown(grant)),
});

const loadTeamProjects = (tx: Tx) =>
  owned(
    tx,
    sql`
      select team_projects.project_id, team_projects.id, team_projects.created_at, teams.name, team_projects.access,
        team_projects.chosen, team_projects.beyond
      from team_projects
      join teams on teams.id = team_projects.team_id
      order by team_projects.project_id, team_projects.created_at, team_projects.id`,
    ([id, createdAt, team, access, chosen, beyond]: GrantRow<Access>) => {
      const grant = grantOf(access, chosen, beyond) as Grant;
      return { id, 'created-at': createdAt, team, ...shownGrant(grant, shownOnProject) };
    },
  );

const loadTeamWorkspaces = (tx: Tx) =>
  owned(
    tx,
    sql`
      select team_workspaces.workspace_id, team_workspaces.id, team_workspaces.created_at, teams.name,
        team_workspaces.access, team_workspaces.chosen, team_workspaces.beyond
      from team_workspaces
      join teams on teams.id = team_workspaces.team_id
      order by team_workspaces.workspace_id, team_workspaces.created_at, team_workspaces.id`,
    ([id, createdAt, team, access, chosen, beyond]: GrantRow<Access<WorkspaceLevel>>) => {
      const grant = grantOf(access, chosen, beyond) as WorkspaceGrant;
      return { id, 'created-at': createdAt, team, ...shownGrant(grant, shownOnWorkspace) };
    },
  );

type WorkspaceRow = [
  id: string,
  createdAt: string,
  updatedAt: string,
  name: string,
  stored: string,
  lockedBy: string | null,
  lockReason: string | null,
];

const loadWorkspaces = async (tx: Tx, tags: Awaited<ReturnType<typeof loadTags>>) => {
  const access = await loadTeamWorkspaces(tx);
  return owned(
    tx,
    sql`
      select project_id, id, created_at, updated_at, name, settings, locked_by_id, lock_reason
      from workspaces
      order by project_id, created_at, id`,
    ([id, createdAt, updatedAt, name, stored, lockedBy, reason]: WorkspaceRow) => ({
      id,
      'created-at': createdAt,
      'updated-at': updatedAt,
      name,
      ...set(settings.workspace, stored),
      tags: tags(id),
      ...(lockedBy !== null && { lock: { by: lockedBy, reason } }),
      'team-access': access(id),
    }),
  );
};

type ProjectRow = [
  id: string,
  createdAt: string,
  name: string,
  description: string | null,
  stored: string,
  isDefault: number,
];

const loadProjects = async (tx: Tx) => {
  const tags = await loadTags(tx);
  const [access, workspaces] = [await loadTeamProjects(tx), await loadWorkspaces(tx, tags)];
  return owned(
    tx,
    sql`
      select organization_id, id, created_at, name, description, settings, is_default
      from projects
      order by organization_id, created_at, id`,
    ([id, createdAt, name, description, stored, isDefault]: ProjectRow) => ({
      isDefault: isDefault === 1,
      project: {
        id,
        'created-at': createdAt,
        name,
        ...set(settings.project, stored),
        description,
        tags: tags(id),
        'team-access': access(id),
        workspaces: workspaces(id),
      },
    }),
  );
};

type Tokens = Awaited<ReturnType<typeof loadTokens>>;

type TeamRow = [
  id: string,
  createdAt: string,
  name: string,
  visibility: 'secret' | 'organization',
  ssoTeamId: string | null,
  memberTokens: number,
  organizationAccess: number,
];

const loadTeams = async (tx: Tx, { token, tokens }: Tokens) => {
  const members = await owned(
    tx,
    sql`
      select team_memberships.team_id, coalesce(users.username, organization_memberships.invited_email)
      from team_memberships
      join organization_memberships on organization_memberships.id = team_memberships.membership_id
      left join users on users.id = organization_memberships.user_id
      order by team_memberships.team_id, team_memberships.created_at, team_memberships.membership_id`,
    ([member]: [string]) => member,
  );
  return owned(
    tx,
    sql`
      select organization_id, id, created_at, name, visibility, sso_team_id, allow_member_token_management,
        organization_access
      from teams
      order by organization_id, created_at, id`,
    ([id, createdAt, name, visibility, ssoTeamId, memberTokens, organizationAccess]: TeamRow) => ({
      id,
      'created-at': createdAt,
      name,
      visibility,
      'sso-team-id': ssoTeamId,
      'allow-member-token-management': memberTokens === 1,
      'organization-access': held(organizationAccess),
      members: members(id),
      ...token(id, single, 'token'),
      ...tokens(id),
    }),
  );
};

const loadMemberships = (tx: Tx) =>
  owned(
    tx,
    sql`
      select organization_memberships.organization_id, organization_memberships.id, organization_memberships.created_at,
        users.username, organization_memberships.invited_email
      from organization_memberships
      left join users on users.id = organization_memberships.user_id
      order by organization_memberships.organization_id, organization_memberships.created_at,
        organization_memberships.id`,
    ([id, createdAt, user, email]: [string, string, string | null, string | null]) => ({
      id,
      'created-at': createdAt,
      ...(user === null ? { email: email ?? '' } : { user }),
    }),
  );

type UserRow = [
  id: string,
  createdAt: string,
  username: string,
  email: string,
  unconfirmedEmail: string | null,
  isAdmin: number,
];
type OrganizationRow = [id: string, createdAt: string, name: string, email: string, userTokens: number, stored: string];

export const exported = async (tx: Tx): Promise<World> => {
  const tokens = await loadTokens(tx);
  const users = await tx.rows<UserRow>(sql`
    select id, created_at, username, email, unconfirmed_email, is_admin
    from users
    order by created_at, id`);
  const organizations = await tx.rows<OrganizationRow>(sql`
    select id, created_at, name, email, user_tokens_enabled, settings
    from organizations
    order by created_at, id`);
  const memberships = await loadMemberships(tx);
  const teams = await loadTeams(tx, tokens);
  const projects = await loadProjects(tx);
  return {
    users: users.map(([id, createdAt, username, email, unconfirmedEmail, isAdmin]) => ({
      id,
      'created-at': createdAt,
      username,
      email,
      'unconfirmed-email': unconfirmedEmail,
      'is-admin': isAdmin === 1,
      ...tokens.tokens(id),
    })),
    organizations: organizations.map(([id, createdAt, name, email, userTokens, stored]) => {
      const inside = projects(id);
      return {
        id,
        'created-at': createdAt,
        name,
        email,
        'user-tokens-enabled': userTokens === 1,
        ...set(settings.organization, stored),
        'default-project': inside.find(({ isDefault }) => isDefault)?.project.name ?? '',
        ...tokens.token(id, single, 'token'),
        ...tokens.token(id, auditTrails, 'audit-trails-token'),
        ...tokens.token(id, decisions, 'decisions-token'),
        memberships: memberships(id),
        teams: teams(id),
        projects: inside.map(({ project }) => project),
      };
    }),
  };
};

// Operations

export const world = [
  plainGet({
    family: 'world',
    since: 'not of the interface',
    path: '/api/v2/admin/export',
    summary: 'Give all that the server holds but secrets, as a seed file has it (site admin)',
    plain: 'indented',
    success: 200,
    answer: World,
    failures: [404],
    run: async ({ tx, caller }) => {
      found(caller, isSiteAdmin);
      return exported(tx);
    },
  }),
];
