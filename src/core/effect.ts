/** What a write does to effective access: the facts before it and after it, and the difference. Pure. */

import { type Grant, join, meets, need, nothing, type Permissions, type WorkspaceGrant } from './access.ts';
import {
  type Caller,
  givingOnProjects,
  heldBy,
  isOwner,
  locksOut,
  mayReadProject,
  mayReadWorkspace,
  type Outlook,
  outlook,
  type Standing,
  seenIn,
  sees,
  type TeamFacts,
  type TeamOnView,
  wholeOutlook,
} from './authority.ts';

type Made = { readonly id: string; readonly name: string; readonly createdAt: string };

export type Place = {
  readonly project: Made;
  readonly onDefaultProject: boolean;
  readonly workspace?: Made | undefined;
};
export type Team = Made & TeamOnView & Pick<TeamFacts, 'owners' | 'organizationAccess'>;
export type User = Made & { readonly teams: readonly string[] };

/**
 * Those whom a write may touch, and the caller, as they are at one time. The same map, or the same user, before and after is
 * what the write cannot have changed.
 */
export type People = {
  readonly organization: string;
  readonly exists: boolean;
  /** Whether the caller's token is there, and whether the organization takes those of users. */
  readonly tokenLives: boolean;
  readonly takesUserTokens: boolean;
  readonly teams: ReadonlyMap<string, Team>;
  readonly users: ReadonlyMap<string, User>;
};

/** What is found of each team in each place. */
export type ByPlace<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

/** With where it may, and what they are granted there. */
export type Facts = People & {
  /** By the id of the workspace or the project. */
  readonly places: ReadonlyMap<string, Place>;
  readonly grants: ByPlace<Grant>;
  readonly workspaceGrants: ByPlace<WorkspaceGrant>;
};

/** Whom and where a write may touch. */
export type Reach = {
  readonly teams: readonly string[];
  readonly users: readonly string[];
  readonly places: readonly string[];
};

const inPlace = ({ grants, workspaceGrants }: Facts, team: Team, { project, workspace }: Place): TeamFacts & Team => ({
  ...team,
  grant: grants.get(project.id)?.get(team.id),
  workspaceGrant: workspace && workspaceGrants.get(workspace.id)?.get(team.id),
});

/** The caller's standing in the organization, or in one place of it, as these facts have it; none, where its token is not taken. */
export const standingIn = (facts: Facts, caller: Caller, place?: Place): Standing => {
  const { organization, exists, takesUserTokens, teams, users } = facts;
  const user = caller.kind === 'user' && takesUserTokens ? users.get(caller.user) : undefined;
  const team = caller.kind === 'team' ? teams.get(caller.team) : undefined;
  const organizationToken = caller.kind === 'organization' && exists && caller.organization === organization;
  const own = [...(user?.teams.flatMap(id => teams.get(id) ?? []) ?? []), ...(team ? [team] : [])];
  return {
    organization,
    project: place?.project.id ?? null,
    onDefaultProject: place?.onDefaultProject ?? false,
    workspace: place?.workspace?.id ?? null,
    member: user !== undefined || team !== undefined || organizationToken,
    organizationToken,
    teams: place ? own.map(each => inPlace(facts, each, place)) : own,
  };
};

/** What is seen of a place, and whether its project is known by name; undefined where it is not seen itself. */
export type View = (place: Place) => (Outlook & { readonly namesProject: boolean }) | undefined;

/** The caller's, before the write. Whoever makes an organization sees all of it. */
export const viewOf = (before: Facts, caller: Caller): View | 'all' => {
  const stand = standingIn(before, caller);
  if (!before.exists || isOwner(stand)) return 'all';
  if (!stand.member) return () => undefined;
  return place => {
    const here = standingIn(before, caller, place);
    const namesProject = mayReadProject(here);
    return (place.workspace ? mayReadWorkspace(here) : namesProject) ? { ...outlook(here), namesProject } : undefined;
  };
};

const whole = { ...wholeOutlook, namesProject: true };
export const wholeView: View = () => whole;

/** Without its name, where no more of it is seen than that it is there. */
export type Known = { readonly id: string; readonly name: string | null };

export type Change = {
  readonly subject: { readonly type: 'teams' | 'users' } & Known;
  readonly project: Known;
  readonly workspace: Made | undefined;
  readonly before: Permissions;
  readonly after: Permissions;
};

export type Difference = {
  /** The first of them. */
  readonly changes: readonly Change[];
  readonly count: number;
  /** The projects that somebody who is no owner could manage the team access of, and no longer can. */
  readonly losing: readonly Place[];
};

export const managesTeamAccess = need('project-access.teams', 'manage');

export const manages = (set: Permissions): boolean => meets(set, managesTeamAccess);

const byCreation = (a: Made, b: Made): number => compared(a.createdAt, b.createdAt) || compared(a.id, b.id);
const compared = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** A project comes before its workspaces. */
const inOrder = (a: Place, b: Place): number =>
  byCreation(a.project, b.project) ||
  (a.workspace && b.workspace
    ? byCreation(a.workspace, b.workspace)
    : Number(Boolean(a.workspace)) - Number(Boolean(b.workspace)));

const told = <T>(ids: readonly string[], found: (id: string) => T | undefined): T[] =>
  [...new Set(ids)].flatMap(id => found(id) ?? []);

/** What is seen of one place: what each team holds there, whose members are known, what those of some teams hold, and who is granted anything. */
type Held = {
  readonly by: (team: string) => Permissions;
  readonly knows: (team: string) => boolean;
  readonly byMember: (teams: ReadonlySet<string>) => Permissions;
  readonly granted: readonly string[];
};

const nobody: Held = { by: () => nothing, knows: () => false, byMember: () => nothing, granted: [] };

const remembered = <K, V>(known: Map<K, V>, key: K, found: () => V): V => {
  const value = known.get(key) ?? found();
  known.set(key, value);
  return value;
};

const heldIn = (facts: Facts) => {
  const { teams, grants, workspaceGrants } = facts;
  // Without a grant, what a team holds, and so what its members do, is the same on all projects but the default one.
  const usually = () => ({
    teams: new Map<string, Permissions>(),
    members: new Map<ReadonlySet<string>, Permissions>(),
  });
  const [elsewhere, byDefault] = [usually(), usually()];
  return (place: Place | undefined, seen: Outlook | undefined): Held => {
    if (!place || !seen) return nobody;
    const [here, inside] = [grants.get(place.project.id), workspaceGrants.get(place.workspace?.id ?? '')];
    const granted = new Map<string, Permissions>();
    for (const given of [here, inside])
      for (const id of given?.keys() ?? []) {
        const team = granted.has(id) ? undefined : teams.get(id);
        if (team) granted.set(id, heldBy(seenIn(seen, inPlace(facts, team, place)), place.onDefaultProject));
      }
    const usual = place.onDefaultProject ? byDefault : elsewhere;
    const byItself = (id: string): Permissions =>
      remembered(usual.teams, id, () => {
        const team = teams.get(id);
        return team ? heldBy(seenIn(seen, team), place.onDefaultProject) : nothing;
      });
    const knows = (id: string): boolean => {
      const team = teams.get(id);
      return team !== undefined && sees(seen.teams, team);
    };
    // Looked up for each member in each place: what it takes is made ready.
    const byGrant = [...granted].filter(([id]) => knows(id));
    const byMember = (own: ReadonlySet<string>): Permissions => {
      let set = remembered(usual.members, own, () =>
        [...own].reduce((all, id) => (knows(id) ? join(all, byItself(id)) : all), nothing),
      );
      for (const [id, held] of byGrant) if (own.has(id)) set = join(set, held);
      return set;
    };
    return { by: id => granted.get(id) ?? byItself(id), knows, byMember, granted: [...granted.keys()] };
  };
};

/** By teams and then users, then by places, each in the order of creation. */
export const difference = (before: Facts, after: Facts, reach: Reach, view: View, most: number): Difference => {
  const [heldBefore, heldAfter] = [heldIn(before), heldIn(after)];
  const haveChanged = before.teams !== after.teams;
  const teams = haveChanged ? [...new Set([...before.teams.keys(), ...after.teams.keys()])] : [...before.teams.keys()];
  const changed = haveChanged
    ? teams.filter(id => before.teams.get(id)?.organizationAccess !== after.teams.get(id)?.organizationAccess)
    : [];
  const places = told(reach.places, id => {
    const [from, to] = [before.places.get(id), after.places.get(id)];
    const shown = to ?? from;
    const [seenFrom, seenTo] = [from && view(from), to && view(to)];
    if (!shown || (from && !seenFrom) || (to && !seenTo)) return undefined;
    // Whoever sees more of a workspace where it goes does not see it before.
    const seenThere = seenTo && { ...seenTo, workspaceGrants: (seenFrom ?? seenTo).workspaceGrants };
    const was = heldBefore(from, seenFrom);
    const is = heldAfter(to, seenThere);
    const isSame = from && to && from.project.id === to.project.id;
    const candidates = isSame ? new Set([...changed, ...was.granted, ...is.granted]) : teams;
    const touched = [...candidates].filter(team => was.by(team) !== is.by(team));
    const project = { id: shown.project.id, name: (seenTo ?? seenFrom)?.namesProject ? shown.project.name : null };
    const stays = from !== undefined && to !== undefined && to.workspace === undefined;
    return { shown, project, was, is, touched, touches: new Set(touched), stays };
  }).sort((a, b) => inOrder(a.shown, b.shown));
  const changes: Change[] = [];
  let count = 0;
  const note = (
    subject: Change['subject'],
    { shown, project }: (typeof places)[number],
    was: Permissions,
    is: Permissions,
  ): void => {
    if (was === is) return;
    count++;
    const { workspace } = shown;
    if (changes.length < most) changes.push({ subject, project, workspace, before: was, after: is });
  };

  for (const team of told(reach.teams, id => after.teams.get(id) ?? before.teams.get(id)).sort(byCreation))
    for (const place of places) {
      const { was, is, touches } = place;
      if (!touches.has(team.id)) continue;
      const name = was.knows(team.id) || is.knows(team.id) ? team.name : null;
      note({ type: 'teams', id: team.id, name }, place, was.by(team.id), is.by(team.id));
    }

  // Whoever is in the same teams gains and loses the same; those that hold nothing, before or after, make no difference.
  const granted = new Set(places.flatMap(({ was, is }) => [...was.granted, ...is.granted]));
  const gives = (team: Team | undefined): boolean =>
    team !== undefined && (team.owners || (team.organizationAccess & givingOnProjects) !== 0);
  const weighty = new Set(
    teams.filter(id => granted.has(id) || gives(before.teams.get(id)) || gives(after.teams.get(id))),
  );
  const losing = new Set<Place>();
  const outcome = (past: readonly string[], present: readonly string[]) => {
    const owned = past.some(team => before.teams.get(team)?.owners);
    const owns = present.some(team => after.teams.get(team)?.owners);
    const stayed = `${past}` === `${present}`;
    const [were, are] = [new Set(past), new Set(present)];
    return places.flatMap(place => {
      const { shown, was, is, touched, stays } = place;
      if (stayed && !touched.some(team => are.has(team))) return [];
      const [from, to] = [was.byMember(were), is.byMember(are)];
      if (stays && !owned && manages(from) && (owns || !manages(to))) losing.add(shown);
      return from === to ? [] : [{ place, from, to }];
    });
  };
  const outcomes = new Map<string, ReturnType<typeof outcome>>();
  for (const { id, name } of told(reach.users, id => after.users.get(id) ?? before.users.get(id)).sort(byCreation)) {
    const [was, is] = [before.users.get(id), after.users.get(id)];
    const past = (was?.teams ?? []).filter(team => weighty.has(team));
    const present = is === was ? past : (is?.teams ?? []).filter(team => weighty.has(team));
    const key = `${past} ${present}`;
    const found = outcomes.get(key) ?? outcome(past, present);
    outcomes.set(key, found);
    for (const { place, from, to } of found) note({ type: 'users', id, name }, place, from, to);
  }
  return { changes, count, losing: [...losing] };
};

/** Whether the caller loses what it managed, or the way in. Of what it deletes itself, it is not locked out. */
export const isLockedOut = (before: Facts, after: Facts, caller: Caller, places: readonly string[]): boolean => {
  if (before.exists && !after.exists) return false;
  if (!after.tokenLives) return true;
  const stands = standingIn(after, caller);
  // An owner manages all there is.
  if (isOwner(stands)) return false;
  if (locksOut(standingIn(before, caller), stands)) return true;
  return places.some(id => {
    const [was, is] = [before.places.get(id), after.places.get(id)];
    return was && is && locksOut(standingIn(before, caller, was), standingIn(after, caller, is));
  });
};
