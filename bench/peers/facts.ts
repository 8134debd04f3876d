/** A world as a program would hold it in memory: by id, and told in actions instead of bits. For the peers in process. */

import { law } from '../../test/support/action-law.ts';
import { onProjects, onWorkspaces } from '../../test/support/model-grants.ts';
import { idOf } from '../world/names.ts';
import { projectGrants, type World, workspaceGrants } from '../world/plan.ts';
import type { Question } from '../world/questions.ts';
import { actionsOf, heldByProjectGrant, heldByRole, heldByWorkspaceGrant, rolesOf } from './reference.ts';

export type Type = Question['type'];
type Held = Parameters<typeof actionsOf>[0];

/** What something lets do to a project, and to the workspaces in it. */
export type Given = Readonly<Record<Type, readonly string[]>>;

const given = (held: Held): Given => ({ project: actionsOf(held, 'project'), workspace: actionsOf(held, 'workspace') });

const byName = (
  names: readonly string[],
  held: (name: string, index: number) => Held,
): Readonly<Record<string, Given>> => Object.fromEntries(names.map((name, index) => [name, given(held(name, index))]));

/** What each level gives on a project and on a workspace, and what a role in the organization gives on all of its projects. */
export const byLevel = byName(onProjects.levels, (_, index) => heldByProjectGrant[index] as Held);
export const byWorkspaceLevel = byName(onWorkspaces.levels, (_, index) => heldByWorkspaceGrant[index] as Held);
export const byRole = byName(
  ['owners', 'manage-projects', 'manage-workspaces', 'read-projects', 'read-workspaces'],
  name => heldByRole(name, false),
);
/** And besides on the default project. */
export const besidesOnDefault = {
  role: 'manage-workspaces',
  actions: actionsOf(heldByRole('manage-workspaces', true), 'project').filter(
    action => !byRole['manage-workspaces']?.project.includes(action),
  ),
};

export const allActions: readonly (readonly [type: Type, action: string])[] = (
  ['project', 'workspace'] as const
).flatMap(type => Object.keys(law[type] ?? {}).map(action => [type, action] as const));

/** A level by its name, or what was chosen. */
export type Grant = { readonly level: string } | { readonly chosen: Given };

export const projectGrant: readonly Grant[] = projectGrants.map(({ access }, index) =>
  access === 'custom' ? { chosen: given(heldByProjectGrant[index] as Held) } : { level: access },
);
/** Those of a world are levels. */
export const workspaceLevel: readonly string[] = workspaceGrants.map(({ access }) => access);

export type Team = {
  readonly id: string;
  readonly organization: string;
  readonly roles: readonly string[];
  /** By the id of the project. */
  readonly grants: Map<string, Grant>;
  /** By the id of the workspace. */
  readonly levels: Map<string, string>;
};

export type Place = {
  readonly project: string;
  readonly organization: string;
  readonly isDefault: boolean;
};

export type Facts = {
  readonly teams: readonly Team[];
  readonly teamsOf: ReadonlyMap<string, readonly Team[]>;
  /** By the id of a project, or of a workspace. */
  readonly places: ReadonlyMap<string, Place>;
};

export const factsOf = (world: World): Facts => {
  const { teams: teamCount, projects, users } = world.size;
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
  const organizations = numbers(world.size.organizations).map(number => idOf('org', number));
  const projectIds = numbers(projects).map(number => idOf('prj', number));
  const workspaceIds = numbers(projects).map(number => idOf('ws', number));
  const teams: Team[] = numbers(teamCount).map(team => ({
    id: idOf('team', team),
    organization: organizations[world.organizationOfTeam(team)] as string,
    roles: rolesOf(world, team),
    grants: new Map(),
    levels: new Map(),
  }));
  const { grants, workspaceGrants: onWorkspace, memberships } = world;
  for (let place = 0; place < grants.length; place++)
    teams[grants.left[place] as number]?.grants.set(
      projectIds[grants.right[place] as number] as string,
      projectGrant[grants.what[place] as number] as Grant,
    );
  for (let place = 0; place < onWorkspace.length; place++)
    teams[onWorkspace.left[place] as number]?.levels.set(
      workspaceIds[onWorkspace.right[place] as number] as string,
      workspaceLevel[onWorkspace.what[place] as number] as string,
    );
  const places = new Map<string, Place>();
  for (let number = 0; number < projects; number++) {
    const project = projectIds[number] as string;
    const organization = organizations[world.organizationOfProject(number)] as string;
    const place = { project, organization, isDefault: world.isDefault(number) };
    places.set(project, place);
    places.set(workspaceIds[number] as string, place);
  }
  const teamsOf = new Map(
    numbers(users).map(user => [
      idOf('user', user),
      Array.from(world.membershipsOf(user), place => teams[memberships.right[place] as number] as Team),
    ]),
  );
  return { teams, teamsOf, places };
};

/** A question by ids, as it comes from outside. */
export type Asked = { readonly user: string; readonly action: string; readonly type: Type; readonly id: string };

export const askedOf = ({ user, action, type, place }: Question): Asked => ({
  user: idOf('user', user),
  action,
  type,
  id: idOf(type === 'project' ? 'prj' : 'ws', place),
});
