/** A world as the tuples of OpenFGA. */

import { idOf } from '../../world/names.ts';
import type { World } from '../../world/plan.ts';
import { projectGrant, workspaceLevel } from '../facts.ts';
import { rolesOf } from '../reference.ts';
import { actionRelation, levelRelation } from './model.ts';

/** The members of a team, an organization, a project or a user, in a relation to an object. */
export type Tuple = {
  readonly type: 'team' | 'organization' | 'project' | 'workspace';
  readonly id: string;
  readonly relation: string;
  readonly userType: 'user' | 'team' | 'organization' | 'project';
  readonly userId: string;
};

/** A team stands for its members. */
const userRelation = ({ userType }: Tuple): string => (userType === 'team' ? 'member' : '');
export const userOf = (tuple: Tuple): string =>
  `${tuple.userType}:${tuple.userId}${tuple.userType === 'team' ? '#member' : ''}`;

/** As its API takes it. */
export const keyOf = (tuple: Tuple) => ({
  user: userOf(tuple),
  relation: tuple.relation,
  object: `${tuple.type}:${tuple.id}`,
});

export const levelOnProject = (team: number, project: number, level: string): Tuple => ({
  type: 'project',
  id: idOf('prj', project),
  relation: levelRelation(level),
  userType: 'team',
  userId: idOf('team', team),
});

export function* tuplesOf(world: World): Generator<Tuple> {
  const { grants, workspaceGrants, memberships } = world;
  for (let place = 0; place < memberships.length; place++)
    yield {
      type: 'team',
      id: idOf('team', memberships.right[place] as number),
      relation: 'member',
      userType: 'user',
      userId: idOf('user', memberships.left[place] as number),
    };
  for (let team = 0; team < world.size.teams; team++)
    for (const role of rolesOf(world, team))
      yield {
        type: 'organization',
        id: idOf('org', world.organizationOfTeam(team)),
        relation: role,
        userType: 'team',
        userId: idOf('team', team),
      };
  for (let project = 0; project < world.size.projects; project++) {
    const id = idOf('prj', project);
    const organization = idOf('org', world.organizationOfProject(project));
    yield { type: 'project', id, relation: 'organization', userType: 'organization', userId: organization };
    if (world.isDefault(project))
      yield { type: 'project', id, relation: 'default-of', userType: 'organization', userId: organization };
    yield { type: 'workspace', id: idOf('ws', project), relation: 'project', userType: 'project', userId: id };
  }
  for (let place = 0; place < grants.length; place++) {
    const [team, project] = [grants.left[place] as number, grants.right[place] as number];
    const grant = projectGrant[grants.what[place] as number];
    if (grant === undefined) continue;
    if ('level' in grant) yield levelOnProject(team, project, grant.level);
    else
      for (const type of ['project', 'workspace'] as const)
        for (const action of grant.chosen[type])
          yield { ...levelOnProject(team, project, ''), relation: actionRelation(type, action) };
  }
  for (let place = 0; place < workspaceGrants.length; place++)
    yield {
      type: 'workspace',
      id: idOf('ws', workspaceGrants.right[place] as number),
      relation: levelRelation(workspaceLevel[workspaceGrants.what[place] as number] as string),
      userType: 'team',
      userId: idOf('team', workspaceGrants.left[place] as number),
    };
}

/** Times of its ids are long past, so that nothing takes the rows for news. */
const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ulid = (number: number): string => {
  let made = '';
  for (let rest = number; made.length < 16; rest = Math.floor(rest / 32)) made = crockford[rest % 32] + made;
  return `01JG000000${made}`;
};

/** The columns of its table `tuple` on each engine, and a row of it: as Write adds them, but for the log of changes. */
export const columns = {
  sqlite: [
    ...['store', 'object_type', 'object_id', 'relation', 'user_object_type', 'user_object_id', 'user_relation'],
    ...['user_type', 'ulid', 'inserted_at'],
  ],
  postgres: ['store', 'object_type', 'object_id', 'relation', '_user', 'user_type', 'ulid', 'inserted_at'],
} as const;

export const rowOf = (engine: keyof typeof columns, store: string, tuple: Tuple, number: number): readonly string[] => {
  const { type, id, relation, userType, userId } = tuple;
  const user = engine === 'sqlite' ? [userType, userId, userRelation(tuple)] : [userOf(tuple)];
  const kind = userType === 'team' ? 'userset' : 'user';
  return [store, type, id, relation, ...user, kind, ulid(number), '2025-01-01 00:00:00'];
};
