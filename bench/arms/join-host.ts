/** A decision with all facts in memory: what a user's teams hold in a place, by the functions of the core. */

import type { Grant, WorkspaceGrant } from '../../src/core/access.ts';
import { permits, type TeamFacts } from '../../src/core/authority.ts';
import { idOf } from '../world/names.ts';
import { projectGrants, type Size, World, workspaceGrants } from '../world/plan.ts';
import { questionsAbout } from '../world/questions.ts';
import { host, type Works } from './hosted.ts';

type Team = Pick<TeamFacts, 'id' | 'owners' | 'organizationAccess'> & {
  readonly grants: Map<string, Grant>;
  readonly workspaceGrants: Map<string, WorkspaceGrant>;
};

host(({ size }: { readonly size: Size }): Works => {
  const world = new World(size);
  const teams: Team[] = Array.from({ length: size.teams }, (_, team) => ({
    id: idOf('team', team),
    owners: world.isOwners(team),
    organizationAccess: world.teamAccess[team] ?? 0,
    grants: new Map(),
    workspaceGrants: new Map(),
  }));
  const at = (list: Uint32Array | Uint8Array, place: number) => list[place] as number;
  const { grants, workspaceGrants: onWorkspaces } = world;
  for (let place = 0; place < grants.length; place++)
    teams[at(grants.left, place)]?.grants.set(
      idOf('prj', at(grants.right, place)),
      projectGrants[at(grants.what, place)] as Grant,
    );
  for (let place = 0; place < onWorkspaces.length; place++)
    teams[at(onWorkspaces.left, place)]?.workspaceGrants.set(
      idOf('ws', at(onWorkspaces.right, place)),
      workspaceGrants[at(onWorkspaces.what, place)] as WorkspaceGrant,
    );
  const teamsOf = new Map(
    Array.from({ length: size.users }, (_, user) => [
      idOf('user', user),
      Array.from(world.membershipsOf(user), place => teams[at(world.memberships.right, place)] as Team),
    ]),
  );
  const questions = questionsAbout(world, 2_000, 7).map(({ organization, user, type, place, action }) => ({
    organization: idOf('org', organization),
    user: idOf('user', user),
    type,
    project: idOf('prj', place),
    workspace: type === 'workspace' ? idOf('ws', place) : null,
    onDefaultProject: world.isDefault(place),
    action,
  }));
  let next = 0;
  let allowed = 0;
  const decide = (): void => {
    const { user, type, action, ...where } = questions[next++ % questions.length] as (typeof questions)[number];
    const held = (teamsOf.get(user) ?? []).map(team => ({
      id: team.id,
      owners: team.owners,
      organizationAccess: team.organizationAccess,
      grant: team.grants.get(where.project),
      workspaceGrant: where.workspace === null ? undefined : team.workspaceGrants.get(where.workspace),
    }));
    const standing = { ...where, member: true, organizationToken: false, teams: held };
    if (permits(standing, type, action)) allowed++;
  };
  return {
    'one decision': decide,
    'batch of 50 decisions': () => {
      for (let index = 0; index < 50; index++) decide();
      return allowed;
    },
  };
});
