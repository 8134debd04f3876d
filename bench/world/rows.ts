/** The rows of a world, table by table, in the order in which they may be added. */

import type { Grant } from '../../src/core/access.ts';
import { single } from '../../src/resources/authentication-token-resource.ts';
import type { Value } from '../../src/store/sql.ts';
import { columnsOf, ownersTeam } from '../../src/store/standing.ts';
import { decisions, kept } from '../../src/store/token.ts';
import { idOf, nameOf, tokenOf } from './names.ts';
import { projectGrants, type World, workspaceGrants } from './plan.ts';

export type Table = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly count: number;
  readonly row: (number: number) => readonly Value[];
};

const begun = Date.parse('2025-01-01T00:00:00.000Z');
const timeOf = (number: number): string => new Date(begun + number * 1_000).toISOString();

const granted = (grant: Grant<string>): readonly Value[] => {
  const { chosen, beyond } = columnsOf(grant);
  return [grant.access, chosen, beyond];
};

const slots = { user: null, organization: single, decisions } as const;

export const tablesOf = (world: World, tokenKey: string): readonly Table[] => {
  const { organizations, teams, projects, users } = world.size;
  const { grants, workspaceGrants: onWorkspaces, memberships } = world;
  const ofTeam = (team: number) => idOf('org', world.organizationOfTeam(team));
  const token = (kind: keyof typeof slots, number: number, place: number): readonly Value[] => {
    const made = kept(tokenKey, tokenOf(kind, number), slots[kind]);
    const holder = kind === 'user' ? [idOf('user', number), null] : [null, idOf('org', number)];
    return [
      ...[idOf('at', place), made?.lookup ?? '', made?.hash ?? '', ...holder],
      ...[slots[kind], 'users', idOf('user', 0), timeOf(place)],
    ];
  };
  return [
    {
      name: 'users',
      columns: ['id', 'username', 'email', 'is_admin', 'created_at'],
      count: users,
      row: user => [idOf('user', user), nameOf('user', user), `${nameOf('user', user)}@example.com`, 0, timeOf(user)],
    },
    {
      name: 'organizations',
      columns: ['id', 'name', 'email', 'created_at'],
      count: organizations,
      row: each => [idOf('org', each), nameOf('organization', each), 'owner@example.com', timeOf(each)],
    },
    {
      name: 'organization_memberships',
      columns: ['id', 'organization_id', 'user_id', 'created_at'],
      count: users,
      row: user => [
        ...[idOf('ou', user), idOf('org', world.organizationOfUser(user)), idOf('user', user), timeOf(user)],
      ],
    },
    {
      name: 'teams',
      columns: [
        ...['id', 'organization_id', 'name', 'visibility', 'allow_member_token_management', 'organization_access'],
        'created_at',
      ],
      count: teams,
      row: team => [
        ...[idOf('team', team), ofTeam(team), world.isOwners(team) ? ownersTeam : nameOf('team', team)],
        ...[world.teamSecret[team] === 1 ? 'secret' : 'organization', 1, world.teamAccess[team] ?? 0, timeOf(team)],
      ],
    },
    {
      name: 'team_memberships',
      columns: ['organization_id', 'team_id', 'membership_id', 'created_at'],
      count: memberships.length,
      row: place => {
        const [user, team] = [memberships.left[place] as number, memberships.right[place] as number];
        return [ofTeam(team), idOf('team', team), idOf('ou', user), timeOf(place)];
      },
    },
    {
      name: 'projects',
      columns: ['id', 'organization_id', 'name', 'is_default', 'created_at'],
      count: projects,
      row: project => [
        ...[idOf('prj', project), idOf('org', world.organizationOfProject(project)), nameOf('project', project)],
        ...[world.isDefault(project) ? 1 : 0, timeOf(project)],
      ],
    },
    {
      name: 'workspaces',
      columns: ['id', 'organization_id', 'project_id', 'name', 'settings', 'created_at', 'updated_at'],
      count: projects,
      row: each => [
        ...[idOf('ws', each), idOf('org', world.organizationOfProject(each)), idOf('prj', each)],
        ...[nameOf('workspace', each), '{}', timeOf(each), timeOf(each)],
      ],
    },
    {
      name: 'team_projects',
      columns: ['id', 'organization_id', 'project_id', 'team_id', 'access', 'chosen', 'beyond', 'created_at'],
      count: grants.length,
      row: place => {
        const [team, project] = [grants.left[place] as number, grants.right[place] as number];
        const grant = projectGrants[grants.what[place] as number] as Grant;
        return [
          ...[idOf('tprj', place), ofTeam(team), idOf('prj', project), idOf('team', team), ...granted(grant)],
          timeOf(place),
        ];
      },
    },
    {
      name: 'team_workspaces',
      columns: ['id', 'organization_id', 'workspace_id', 'team_id', 'access', 'chosen', 'beyond', 'created_at'],
      count: onWorkspaces.length,
      row: place => {
        const [team, workspace] = [onWorkspaces.left[place] as number, onWorkspaces.right[place] as number];
        const grant = workspaceGrants[onWorkspaces.what[place] as number] as Grant<string>;
        return [
          ...[idOf('tws', place), ofTeam(team), idOf('ws', workspace), idOf('team', team), ...granted(grant)],
          timeOf(place),
        ];
      },
    },
    {
      name: 'authentication_tokens',
      columns: [
        ...['id', 'lookup', 'hash', 'user_id', 'organization_id', 'slot', 'created_by_type', 'created_by_id'],
        'created_at',
      ],
      count: users + 2 * organizations,
      row: place => {
        if (place < users) return token('user', place, place);
        const rest = place - users;
        return rest < organizations
          ? token('organization', rest, place)
          : token('decisions', rest - organizations, place);
      },
    },
  ];
};
