/** What a write does to effective access: the facts before it and after it, and the difference. Pure. */

import { type Grant, join, meets, need, nothing, type Permissions, type WorkspaceGrant } from './access.ts';
import {
  type Caller,
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

/** Those whom a write may touch, and the caller, as they are at one time. */
export type People = {
  readonly organization: string;
  readonly exists: boolean;
  /** Whether the caller's token is there, and whether the organization takes those of users. */
  readonly tokenLives: boolean;
  readonly takesUserTokens: boolean;
  readonly teams: ReadonlyMap<string, Team>;
  readonly users: ReadonlyMap<string, User>;
};

/** With where it may, and what they are granted there; a grant is found by its team and its place. */
export type Facts = People & {
  /** By the id of the workspace or the project. */
  readonly places: ReadonlyMap<string, Place>;
  readonly grants: ReadonlyMap<string, Grant>;
  readonly workspaceGrants: ReadonlyMap<string, WorkspaceGrant>;
};

export const grantKey = (team: string, place: string): string => `${team} ${place}`;

/** Whom and where a write may touch. */
export type Reach = {
  readonly teams: readonly string[];
  readonly users: readonly string[];
  readonly places: readonly string[];
};

const inPlace = ({ grants, workspaceGrants }: Facts, team: Team, { project, workspace }: Place): TeamFacts & Team => ({
  ...team,
  grant: grants.get(grantKey(team.id, project.id)),
  workspaceGrant: workspace && workspaceGrants.get(grantKey(team.id, workspace.id)),
});

/** The caller's standing in the organization, or in one place of it, as these facts have it. */
export const standingIn = (facts: Facts, caller: Caller, place?: Place): Standing => {
  const { organization, exists, teams, users } = facts;
  const user = caller.kind === 'user' ? users.get(caller.user) : undefined;
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

const managesTeamAccess = need('project-access.teams', 'manage');

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

/** What each team holds in one place, of what is seen there; and whose members are known. */
type Held = { readonly sets: ReadonlyMap<string, Permissions>; readonly known: ReadonlySet<string> };

const nobody: Held = { sets: new Map(), known: new Set() };

const heldIn = (facts: Facts, place: Place | undefined, seen: Outlook | undefined): Held => {
  if (!place || !seen) return nobody;
  const teams = [...facts.teams.values()];
  return {
    sets: new Map(
      teams.map(team => [team.id, heldBy(seenIn(seen, inPlace(facts, team, place)), place.onDefaultProject)]),
    ),
    known: new Set(teams.filter(team => sees(seen.teams, team)).map(({ id }) => id)),
  };
};

const heldByUser = ({ teams }: Pick<User, 'teams'>, { sets, known }: Held): Permissions =>
  teams.reduce((set, id) => (known.has(id) ? join(set, sets.get(id) ?? nothing) : set), nothing);

const inNoTeam = { teams: [] };

/** By teams and then users, then by places, each in the order of creation. */
export const difference = (before: Facts, after: Facts, reach: Reach, view: View, most: number): Difference => {
  const places = told(reach.places, id => {
    const [from, to] = [before.places.get(id), after.places.get(id)];
    const shown = to ?? from;
    const [seenFrom, seenTo] = [from && view(from), to && view(to)];
    if (!shown || (from && !seenFrom) || (to && !seenTo)) return undefined;
    // Whoever sees more of a workspace where it goes does not see it before.
    const seenThere = seenTo && { ...seenTo, workspaceGrants: (seenFrom ?? seenTo).workspaceGrants };
    const was = heldIn(before, from, seenFrom);
    const is = heldIn(after, to, seenThere);
    const touched = [...new Set([...was.sets.keys(), ...is.sets.keys()])].filter(
      team => was.sets.get(team) !== is.sets.get(team),
    );
    const project = { id: shown.project.id, name: (seenTo ?? seenFrom)?.namesProject ? shown.project.name : null };
    const stays = from !== undefined && to !== undefined && to.workspace === undefined;
    return { shown, project, was, is, touched: new Set(touched), stays };
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
      const { was, is, touched } = place;
      if (!touched.has(team.id)) continue;
      const name = was.known.has(team.id) || is.known.has(team.id) ? team.name : null;
      const [from, to] = [was, is].map(({ sets }) => sets.get(team.id) ?? nothing) as [Permissions, Permissions];
      note({ type: 'teams', id: team.id, name }, place, from, to);
    }

  const losing = new Set<Place>();
  for (const { id, name } of told(reach.users, id => after.users.get(id) ?? before.users.get(id)).sort(byCreation)) {
    const [past, present] = [before, after].map(({ users }) => users.get(id) ?? inNoTeam) as [User, User];
    const owned = past.teams.some(team => before.teams.get(team)?.owners);
    const owns = present.teams.some(team => after.teams.get(team)?.owners);
    const stayed = `${past.teams}` === `${present.teams}`;
    for (const place of places) {
      const { shown, was, is, touched, stays } = place;
      if (stayed && !present.teams.some(team => touched.has(team))) continue;
      const [from, to] = [heldByUser(past, was), heldByUser(present, is)];
      note({ type: 'users', id, name }, place, from, to);
      if (stays && !owned && manages(from) && (owns || !manages(to))) losing.add(shown);
    }
  }
  return { changes, count, losing: [...losing] };
};

/** Whether the caller loses what it managed, or the way in. Of what it deletes itself, it is not locked out. */
export const isLockedOut = (before: Facts, after: Facts, caller: Caller, places: readonly string[]): boolean => {
  if (before.exists && !after.exists) return false;
  const stand = standingIn(before, caller);
  const isShutOut = caller.kind === 'user' && stand.member && !after.takesUserTokens;
  if (!after.tokenLives || isShutOut || locksOut(stand, standingIn(after, caller))) return true;
  return places.some(id => {
    const [was, is] = [before.places.get(id), after.places.get(id)];
    return was && is && locksOut(standingIn(before, caller, was), standingIn(after, caller, is));
  });
};
