/** A world of a size, made from a seed: who is in which team, and what each team holds. Numbers only; the names are made of them. */

import {
  type Grant,
  type Level,
  levels,
  onProjects,
  onWorkspaces,
  type WorkspaceLevel,
} from '../../src/core/access.ts';
import { bitOf } from '../../src/core/authority.ts';

export type Size = {
  readonly name: string;
  readonly grants: number;
  readonly organizations: number;
  readonly teams: number;
  readonly projects: number;
  readonly users: number;
};

/** Twenty grants on a project on average, at every size: what grows is the world, not the page. */
export const sizes: readonly Size[] = [
  { name: '10³', grants: 1_000, organizations: 2, teams: 100, projects: 50, users: 200 },
  { name: '10⁵', grants: 100_000, organizations: 4, teams: 2_000, projects: 5_000, users: 20_000 },
  { name: '10⁶', grants: 1_000_000, organizations: 8, teams: 10_000, projects: 50_000, users: 100_000 },
];

/** Numbers from a seed, each below its bound. */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }

  /** The lower, the likelier: the first hundredth is drawn one time in ten. */
  skewed(bound: number): number {
    return Math.floor(this.fraction() ** 2 * bound);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

const custom = (seed: number): Grant => {
  const draw = new Draw(seed);
  const values = onProjects.choosable
    .filter(({ later }) => !later)
    .map(permission => ({ permission, value: draw.of(permission.values) }));
  return onProjects.changed(undefined, { access: 'custom', values }) as Grant;
};

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** What a team may be granted; a grant of the world is a place in this list. */
export const projectGrants: readonly Grant[] = [
  ...levels.map((access: Level) => ({ access })),
  ...numbers(8).map(index => custom(index + 1)),
];
export const workspaceGrants: readonly Grant<WorkspaceLevel>[] = onWorkspaces.levels.map(access => ({ access }));

/** The shares of the organizations, the first the largest: where each begins, and the end. */
const shared = (total: number, shares: number): number[] => {
  const whole = numbers(shares).reduce((sum, index) => sum + 1 / (index + 1), 0);
  let sum = 0;
  const starts = numbers(shares).map(index => {
    const start = Math.round((sum / whole) * total);
    sum += 1 / (index + 1);
    return start;
  });
  return [...starts, total];
};

/** Pairs without repetition, as two columns. */
class Pairs {
  readonly left: Uint32Array;
  readonly right: Uint32Array;
  readonly what: Uint8Array;
  readonly #seen = new Set<number>();
  length = 0;

  constructor(most: number) {
    this.left = new Uint32Array(most);
    this.right = new Uint32Array(most);
    this.what = new Uint8Array(most);
  }

  add(left: number, right: number, what: number): boolean {
    const key = left * 2 ** 20 + right;
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    this.left[this.length] = left;
    this.right[this.length] = right;
    this.what[this.length++] = what;
    return true;
  }
}

/** For each number of a column, the places where it stands. */
const placesBy = (column: Uint32Array, length: number, most: number): ((number: number) => Uint32Array) => {
  const at = (list: Uint32Array, index: number): number => list[index] as number;
  const from = new Uint32Array(most + 1);
  for (let place = 0; place < length; place++) from[at(column, place) + 1] = at(from, at(column, place) + 1) + 1;
  for (let index = 0; index < most; index++) from[index + 1] = at(from, index + 1) + at(from, index);
  const places = new Uint32Array(length);
  const next = from.slice();
  for (let place = 0; place < length; place++) {
    const number = at(column, place);
    places[at(next, number)] = place;
    next[number] = at(next, number) + 1;
  }
  return number => places.subarray(from[number], from[number + 1]);
};

const index = (starts: readonly number[], number: number): number => starts.findLastIndex(start => start <= number);

/**
 * Teams, projects and users are numbered through; those of an organization stand together. The first team of each is its
 * owners, the first project its default project. Every project has one workspace, of the same number.
 */
export class World {
  readonly size: Size;
  readonly seed: number;
  readonly teamStarts: readonly number[];
  readonly projectStarts: readonly number[];
  readonly userStarts: readonly number[];
  /** The organization-level permissions of each team, and whether it is secret. */
  readonly teamAccess: Uint32Array;
  readonly teamSecret: Uint8Array;
  /** Teams and projects; teams and workspaces; users and teams. */
  readonly grants: Pairs;
  readonly workspaceGrants: Pairs;
  readonly memberships: Pairs;
  /** Places in `grants`, by team and by project; in `memberships`, by user. */
  readonly grantsOfTeam: (team: number) => Uint32Array;
  readonly grantsOfProject: (project: number) => Uint32Array;
  readonly membershipsOf: (user: number) => Uint32Array;

  constructor(size: Size, seed = 1) {
    const { organizations, teams, projects, users } = size;
    const draw = new Draw(seed);
    this.size = size;
    this.seed = seed;
    this.teamStarts = shared(teams, organizations);
    this.projectStarts = shared(projects, organizations);
    this.userStarts = shared(users, organizations);
    this.teamAccess = new Uint32Array(teams);
    this.teamSecret = new Uint8Array(teams);
    this.grants = new Pairs(size.grants);
    this.workspaceGrants = new Pairs(Math.floor(size.grants / 20));
    this.memberships = new Pairs(users * 10);
    for (let team = 0; team < teams; team++) {
      const chance = draw.fraction();
      this.teamSecret[team] = draw.fraction() < 0.2 ? 1 : 0;
      if (this.isOwners(team)) continue;
      if (chance < 0.01) this.teamAccess[team] = bitOf('manage-projects');
      else if (chance < 0.04) this.teamAccess[team] = bitOf('read-projects');
      else if (chance < 0.06) this.teamAccess[team] = bitOf('manage-workspaces') | bitOf('read-projects');
      else if (chance < 0.08) this.teamAccess[team] = bitOf('read-workspaces');
    }
    const teamsFor = (organization: number) => {
      const [from, to] = [this.teamStarts[organization] as number, this.teamStarts[organization + 1] as number];
      return { from: from + 1, count: to - from - 1 };
    };
    for (let user = 0; user < users; user++) {
      const { from, count } = teamsFor(this.organizationOfUser(user));
      const wanted = Math.min(1 + Math.floor(9 * draw.fraction() ** 3), count);
      // The first users of each organization are its owners.
      if (user - (this.userStarts[this.organizationOfUser(user)] as number) < 2)
        this.memberships.add(user, from - 1, 0);
      for (let joined = 0; joined < wanted; )
        joined += this.memberships.add(user, from + draw.skewed(count), 0) ? 1 : 0;
    }
    const granting = (pairs: Pairs, most: number, kinds: number, drawn: () => number) => {
      const ends = shared(most, organizations);
      for (let organization = 0; organization < organizations; organization++) {
        const { from, count } = teamsFor(organization);
        const first = this.projectStarts[organization] as number;
        const places = (this.projectStarts[organization + 1] as number) - first;
        while (pairs.length < (ends[organization + 1] as number))
          pairs.add(from + draw.skewed(count), first + draw.skewed(places), Math.min(drawn(), kinds - 1));
      }
    };
    // Half of the grants read, and one in ten is custom.
    granting(this.grants, size.grants, projectGrants.length, () => {
      const chance = draw.fraction();
      if (chance < 0.5) return 0;
      if (chance < 0.75) return 1;
      if (chance < 0.85) return 2;
      return chance < 0.9 ? 3 : levels.length + draw.below(projectGrants.length - levels.length);
    });
    granting(this.workspaceGrants, Math.floor(size.grants / 20), workspaceGrants.length, () => draw.below(4));
    this.grantsOfTeam = placesBy(this.grants.left, this.grants.length, teams);
    this.grantsOfProject = placesBy(this.grants.right, this.grants.length, projects);
    this.membershipsOf = placesBy(this.memberships.left, this.memberships.length, users);
  }

  isOwners(team: number): boolean {
    return this.teamStarts.includes(team);
  }

  isDefault(project: number): boolean {
    return this.projectStarts.includes(project);
  }

  organizationOfTeam(team: number): number {
    return index(this.teamStarts, team);
  }

  organizationOfProject(project: number): number {
    return index(this.projectStarts, project);
  }

  organizationOfUser(user: number): number {
    return index(this.userStarts, user);
  }

  /** The first owner of an organization. */
  ownerOf(organization: number): number {
    return this.userStarts[organization] as number;
  }
}
