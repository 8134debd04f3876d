/** What is measured, and the requests of each operation to Bailiwick. */

import { idOf, nameOf, tokenOf } from './world/names.ts';
import { Draw, type World } from './world/plan.ts';
import { type Question, questionsAbout } from './world/questions.ts';

export const operations = [
  'show one',
  'page of 20',
  'one decision',
  'batch of 50 decisions',
  'create',
  'update',
  'delete',
  '95 % decisions, 5 % writes',
  "a member's list",
  'everybody on a project',
] as const;
export type Operation = (typeof operations)[number];

/** Those that change something, durably. */
export const writes: readonly Operation[] = ['create', 'update', 'delete', '95 % decisions, 5 % writes'];

/** Those whose requests can be sent once each. */
export const once: readonly Operation[] = ['create', 'delete'];

export type Call = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly token: string;
  readonly body?: unknown;
};

/** Enough that no two in a row are alike, few enough to be made at once. */
const count = 2_000;

const owner = (world: World, organization: number): string => tokenOf('user', world.ownerOf(organization));

/** A grant that a member of its team reads: places in `grants`, and the member. */
export const seenGrants = (world: World, draw: Draw): { readonly place: number; readonly user: number }[] => {
  const seen: { place: number; user: number }[] = [];
  while (seen.length < count) {
    const user = draw.below(world.size.users);
    const team = world.memberships.right[draw.of([...world.membershipsOf(user)])] as number;
    const grants = world.grantsOfTeam(team);
    if (grants.length > 0) seen.push({ place: grants[draw.below(grants.length)] as number, user });
  }
  return seen;
};

const evaluation = ({ user, action, type, place }: Question) => ({
  subject: { type: 'user', id: idOf('user', user) },
  action: { name: action },
  resource: { type, id: idOf(type === 'project' ? 'prj' : 'ws', place) },
});

const decision = (question: Question): Call => ({
  method: 'POST',
  path: `/organizations/${nameOf('organization', question.organization)}/access/v1/evaluation`,
  token: tokenOf('decisions', question.organization),
  body: evaluation(question),
});

const levels = ['read', 'write', 'maintain', 'admin'];

/** As the owner of the organization, changing what a team has. */
const update = (world: World, draw: Draw): Call => {
  const place = draw.below(world.grants.length);
  const organization = world.organizationOfProject(world.grants.right[place] as number);
  return {
    method: 'PATCH',
    path: `/api/v2/team-projects/${idOf('tprj', place)}`,
    token: owner(world, organization),
    body: { data: { type: 'team-projects', attributes: { access: draw.of(levels) } } },
  };
};

/** Projects with as many grants as a page shows, and a few more. */
export const pagedProjects = (world: World): number[] =>
  Array.from({ length: world.size.projects }, (_, project) => project)
    .filter(project => world.grantsOfProject(project).length >= 20 && world.grantsOfProject(project).length <= 30)
    .slice(0, count);

/** Pairs of a team and a project of its organization without a grant. */
export const freePairs = (world: World, draw: Draw, wanted: number) => {
  const taken = new Set<number>();
  const pairs: { readonly team: number; readonly project: number }[] = [];
  while (pairs.length < wanted) {
    const project = draw.below(world.size.projects);
    const organization = world.organizationOfProject(project);
    const first = (world.teamStarts[organization] as number) + 1;
    const team = first + draw.below((world.teamStarts[organization + 1] as number) - first);
    const key = team * 2 ** 20 + project;
    const has = world.grantsOfTeam(team).some(place => world.grants.right[place] === project);
    if (has || taken.has(key)) continue;
    taken.add(key);
    pairs.push({ team, project });
  }
  return pairs;
};

export const creation = (
  world: World,
  { team, project }: { readonly team: number; readonly project: number },
): Call => ({
  method: 'POST',
  path: '/api/v2/team-projects',
  token: owner(world, world.organizationOfProject(project)),
  body: {
    data: {
      type: 'team-projects',
      attributes: { access: 'write' },
      relationships: {
        project: { data: { type: 'projects', id: idOf('prj', project) } },
        team: { data: { type: 'teams', id: idOf('team', team) } },
      },
    },
  },
});

/**
 * The requests of an operation, to be sent in turn from any place on. Those of `create` may be sent once each; `delete`
 * needs the ids that they were answered with, and has none here.
 */
export const callsOf = (world: World, operation: Operation, seed = 7): Call[] => {
  const draw = new Draw(seed);
  const questions = () => questionsAbout(world, count, seed);
  switch (operation) {
    case 'show one':
      return seenGrants(world, draw).map(({ place, user }) => ({
        method: 'GET',
        path: `/api/v2/team-projects/${idOf('tprj', place)}`,
        token: tokenOf('user', user),
      }));
    case 'page of 20':
      return pagedProjects(world).map(project => ({
        method: 'GET',
        path: `/api/v2/team-projects?filter%5Bproject%5D%5Bid%5D=${idOf('prj', project)}&page%5Bsize%5D=20`,
        token: owner(world, world.organizationOfProject(project)),
      }));
    case 'one decision':
      return questions().map(decision);
    case 'batch of 50 decisions': {
      const byOrganization = Object.values(
        Object.groupBy(questionsAbout(world, 20_000, seed), each => each.organization),
      );
      return byOrganization.flatMap((questions = []) =>
        Array.from({ length: Math.floor(questions.length / 50) }, (_, index) => {
          const some = questions.slice(index * 50, (index + 1) * 50);
          const { path, token } = decision(some[0] as Question);
          return { method: 'POST', path: `${path}s`, token, body: { evaluations: some.map(evaluation) } };
        }),
      );
    }
    case 'create':
      return freePairs(world, draw, Math.min(40_000, world.size.grants)).map(pair => creation(world, pair));
    case 'update':
      return Array.from({ length: count }, () => update(world, draw));
    case 'delete':
      return [];
    case '95 % decisions, 5 % writes':
      return questions().map((question, index) => (index % 20 === 0 ? update(world, draw) : decision(question)));
    case "a member's list":
      return seenGrants(world, draw).map(({ user }) => ({
        method: 'GET',
        path: `/api/v2/organizations/${nameOf('organization', world.organizationOfUser(user))}/projects?page%5Bsize%5D=20`,
        token: tokenOf('user', user),
      }));
    case 'everybody on a project':
      return pagedProjects(world).map(project => ({
        method: 'GET',
        path: `/api/v2/projects/${idOf('prj', project)}/effective-access?page%5Bsize%5D=20`,
        token: owner(world, world.organizationOfProject(project)),
      }));
  }
};
