/** What Bailiwick's own core answers, with all facts of a world in memory. */

import { permits, type Standing } from '../../src/core/authority.ts';
import { idOf } from '../world/names.ts';
import { projectGrants, type World, workspaceGrants } from '../world/plan.ts';
import type { Question } from '../world/questions.ts';
import { between } from './between.ts';

export const coreOf = (world: World): ((question: Question) => boolean) => {
  const onProject = between(world.grants);
  const onWorkspace = between(world.workspaceGrants);
  return ({ organization, user, type, place, action }) => {
    const standing: Standing = {
      organization: idOf('org', organization),
      project: idOf('prj', place),
      onDefaultProject: world.isDefault(place),
      workspace: type === 'workspace' ? idOf('ws', place) : null,
      member: true,
      organizationToken: false,
      teams: Array.from(world.membershipsOf(user), membership => {
        const team = world.memberships.right[membership] as number;
        return {
          id: idOf('team', team),
          owners: world.isOwners(team),
          organizationAccess: world.teamAccess[team] ?? 0,
          grant: projectGrants[onProject(team, place) ?? -1],
          workspaceGrant: type === 'workspace' ? workspaceGrants[onWorkspace(team, place) ?? -1] : undefined,
        };
      }),
    };
    return permits(standing, type, action);
  };
};
