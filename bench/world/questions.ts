/** Questions about a world: may this user do this here? About half of them yes. */

import { projectActions, workspaceActions } from '../../src/core/actions.ts';
import { Draw, type World } from './plan.ts';

export type Question = {
  readonly organization: number;
  readonly user: number;
  readonly type: 'project' | 'workspace';
  /** The number of the project, or of the workspace. */
  readonly place: number;
  readonly action: string;
};

const actions = { project: Object.keys(projectActions), workspace: Object.keys(workspaceActions) };

/** Most are about a place where one of the user's teams holds something. */
export const questionsAbout = (world: World, count: number, seed: number): Question[] => {
  const draw = new Draw(seed);
  return Array.from({ length: count }, () => {
    const user = draw.below(world.size.users);
    const organization = world.organizationOfUser(user);
    const team = world.memberships.right[draw.of([...world.membershipsOf(user)])] ?? 0;
    const grants = world.grantsOfTeam(team);
    const first = world.projectStarts[organization] as number;
    const anywhere = first + draw.below((world.projectStarts[organization + 1] as number) - first);
    const place =
      grants.length > 0 && draw.fraction() < 0.8
        ? (world.grants.right[grants[draw.below(grants.length)] as number] as number)
        : anywhere;
    const type = draw.fraction() < 0.5 ? 'project' : 'workspace';
    return { organization, user, type, place, action: draw.of(actions[type]) };
  });
};
