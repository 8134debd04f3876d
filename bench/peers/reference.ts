/**
 * What the reference model of the tests answers to a question about a world. Of the service it shares how a world writes a
 * grant down, and nothing of what a grant means.
 */

import { type Grant as Kept, permissions, valueIn } from '../../src/core/access.ts';
import { organizationPermissions } from '../../src/core/authority.ts';
import { law, reaches } from '../../test/support/action-law.ts';
import { administeringFlags } from '../../test/support/effective-model.ts';
import {
  administers,
  type Chosen,
  flagGives,
  gives,
  type Kind,
  onProjects,
  onWorkspaces,
  type PermissionSet,
  type Value,
} from '../../test/support/model-grants.ts';
import { projectGrants, type World, workspaceGrants } from '../world/plan.ts';
import type { Question } from '../world/questions.ts';
import { type Between, between } from './between.ts';

const administration = 'workspace-access/administration';

/** By permission; `all` is an owner's. */
type Held = PermissionSet | 'all';

const permissionsOf = (kind: Kind, kept: Kept<string>): PermissionSet =>
  kind.implied[kept.access] ??
  Object.fromEntries(
    permissions.map(permission => [
      `${permission.group}/${permission.key}`,
      valueIn('chosen' in kept ? kept.chosen : 0, permission) as Value,
    ]),
  );

const heldBy = (kind: Kind, kept: Kept<string>): PermissionSet => {
  const chosen: Chosen = { access: kept.access, permissions: permissionsOf(kind, kept), shown: new Set() };
  // No team of a world has policy overrides delegated.
  return {
    ...gives({ id: '', kind, team: '', on: '', chosen }, false),
    [administration]: administers({ kind, chosen }),
  };
};

/** What each grant that a world knows gives, in the order of the plan. */
export const heldByProjectGrant: readonly Held[] = projectGrants.map(grant => heldBy(onProjects, grant));
export const heldByWorkspaceGrant: readonly Held[] = workspaceGrants.map(grant => heldBy(onWorkspaces, grant));

/** What being one of the owners, or an organization-level permission, gives on a project and what is in it. */
export const heldByRole = (role: string, onDefaultProject: boolean): Held =>
  role === 'owners'
    ? 'all'
    : { ...flagGives(role, onDefaultProject), [administration]: administeringFlags.includes(role) };

export const rolesOf = (world: World, team: number): readonly string[] =>
  world.isOwners(team)
    ? ['owners']
    : organizationPermissions.filter((_, bit) => ((world.teamAccess[team] ?? 0) & (1 << bit)) !== 0);

const lets = (held: Held, type: Question['type'], action: string): boolean =>
  held === 'all' || (law[type]?.[action] ?? []).some(need => reaches(held[`${need[0]}/${need[1]}`], need));

/** All that can be done to a place of this type by whoever holds that. */
export const actionsOf = (held: Held, type: Question['type']): readonly string[] =>
  Object.keys(law[type] ?? {}).filter(action => lets(held, type, action));

export class Reference {
  readonly #world: World;
  readonly #onProjects: Between;
  readonly #onWorkspaces: Between;

  constructor(world: World) {
    this.#world = world;
    this.#onProjects = between(world.grants);
    this.#onWorkspaces = between(world.workspaceGrants);
  }

  answer({ user, type, place, action }: Question): boolean {
    const world = this.#world;
    return [...world.membershipsOf(user)].some(membership => {
      const team = world.memberships.right[membership] as number;
      const onProject = this.#onProjects(team, place);
      const onWorkspace = type === 'workspace' ? this.#onWorkspaces(team, place) : undefined;
      const held = [
        ...rolesOf(world, team).map(role => heldByRole(role, world.isDefault(place))),
        ...(onProject === undefined ? [] : [heldByProjectGrant[onProject] as Held]),
        ...(onWorkspace === undefined ? [] : [heldByWorkspaceGrant[onWorkspace] as Held]),
      ];
      return held.some(each => lets(each, type, action));
    });
  }
}
