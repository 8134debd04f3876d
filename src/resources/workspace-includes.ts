/** What a document about workspaces includes when it is asked to: whole resources, as far as the caller sees them. */

import { type Standing, withoutGrants } from '../core/authority.ts';
import { sql } from '../store/sql.ts';
import type { Identifier, Resource } from '../wire/document.ts';
import { OrganizationResource, organizationShown } from './organization-resource.ts';
import { ProjectResource, pageOfProjects, shown as shownProject } from './project-resource.ts';
import type { Request } from './request.ts';
import {
  type EffectiveTag,
  EffectiveTagBindingResource,
  shownEffective,
  tagsOfWorkspace,
  unpackedTags,
} from './tag-bindings.ts';
import { TeamResource, teamsShown } from './team-resource.ts';
import { UserResource, usersShown } from './user-resource.ts';
import { lockedBy, type Workspace } from './workspace-resource.ts';

/** Those of runs, state and configurations are known and never there. */
export const includes = [
  'organization',
  'project',
  'locked-by',
  'effective-tag-bindings',
  'current-configuration-version',
  'current-configuration-version.ingress-attributes',
  'current-run',
  'current-run.plan',
  'current-run.configuration-version',
  'current-run.configuration-version.ingress-attributes',
  'current-state-version',
  'outputs',
  'readme',
];

export const includable = [
  OrganizationResource,
  ProjectResource,
  UserResource,
  TeamResource,
  EffectiveTagBindingResource,
];

export type Tags = ReadonlyMap<string, readonly EffectiveTag[]>;

/** The effective tags of these workspaces, where they are asked for. */
export const tagsAsked = async (request: Request, workspaces: readonly Workspace[]): Promise<Tags | undefined> => {
  if (!request.includes('effective-tag-bindings')) return undefined;
  const rows = await request.tx.rows<[id: string, tags: string | null]>(sql`
    select workspaces.id, ${tagsOfWorkspace(sql`workspaces.id`, sql`workspaces.project_id`)}
    from workspaces
    where workspaces.id in (${workspaces.map(({ id }) => id)})`);
  const byId = new Map(rows);
  // In the order of the page: that of the rows is up to the engine.
  return new Map(workspaces.map(({ id }) => [id, unpackedTags(byId.get(id) ?? null)]));
};

const projectsOf = async (request: Request, stand: Standing, ids: readonly string[]): Promise<Resource[]> => {
  const page = { number: 1, size: ids.length };
  const { items } = await pageOfProjects(request, stand, [sql`projects.id in (${ids})`], page, undefined, false);
  return items.map(shownProject);
};

const lockersOf = async (request: Request, stand: Standing, lockers: readonly Identifier[]): Promise<Resource[]> => {
  const of = (type: string) => lockers.filter(locker => locker.type === type).map(({ id }) => id);
  const [users, teams] = [of('users'), of('teams')];
  return [
    ...(users.length > 0 ? await usersShown(request.tx, sql`users.id in (${users})`) : []),
    ...(teams.length > 0 ? await teamsShown(request.tx, stand, request.caller, sql`teams.id in (${teams})`) : []),
  ];
};

/** Undefined where nothing is asked for. `there` is the caller's standing in the organization of all of them. */
export const includedWith = async (
  request: Request,
  there: Standing,
  workspaces: readonly Workspace[],
  tags: Tags | undefined,
): Promise<Resource[] | undefined> => {
  if (!request.parameter('include')) return undefined;
  if (workspaces.length === 0) return [];
  const stand = withoutGrants(there);
  const lockers = workspaces.flatMap(workspace => lockedBy(workspace, stand) ?? []);
  return [
    ...(request.includes('organization') ? [await organizationShown(request, there.organization)] : []),
    ...(request.includes('project')
      ? await projectsOf(request, stand, [...new Set(workspaces.map(({ project }) => project))])
      : []),
    ...(request.includes('locked-by') ? await lockersOf(request, stand, lockers) : []),
    ...distinct([...(tags?.values() ?? [])].flat()).map(shownEffective),
  ];
};

/** Workspaces of one project inherit the same tags. */
const distinct = (tags: readonly EffectiveTag[]): EffectiveTag[] => [
  ...new Map(tags.map(tag => [`${tag.id} ${tag.inheritedFrom}`, tag])).values(),
];
