/**
 * A reference model of effective access: who holds what in which place, why, and how much of it a caller is told. Written
 * from the tables a second time; it shares nothing with the service.
 */

import type { Json } from './client.ts';
import {
  administers,
  type Chosen,
  changed,
  flagGives,
  gives,
  type Kind,
  onProjects,
  onWorkspaces,
  type Value,
} from './model-grants.ts';
import type { Grant, Project, RandomWorld, Team, Workspace, WorkspaceGrant } from './random-world.ts';

/** All that matters of one organization, each in the order of creation. */
export type Facts = {
  readonly organization: string;
  readonly members: readonly { readonly id: string; readonly name: string }[];
  readonly teams: readonly Team[];
  readonly projects: readonly Project[];
  readonly workspaces: readonly Workspace[];
  readonly grants: readonly Grant[];
  readonly workspaceGrants: readonly WorkspaceGrant[];
};

export const factsOf = (world: RandomWorld, organization: string): Facts => {
  const of = <T extends { readonly organization: string }>(rows: readonly T[]): T[] =>
    rows.filter(row => row.organization === organization);
  return {
    organization,
    // Whoever is only invited is nobody yet.
    members: of(world.memberships).flatMap(({ user }) =>
      world.people.filter(({ id }) => id === user).map(({ id, username }) => ({ id, name: username })),
    ),
    teams: of(world.teams),
    projects: of(world.projects),
    workspaces: of(world.workspaces),
    grants: of(world.grants),
    workspaceGrants: of(world.workspaceGrants),
  };
};

export type Caller = { readonly user: string } | { readonly team: string } | 'organization';
export type Subject = { readonly type: 'users' | 'teams' | 'organizations'; readonly id: string };
type Place = { readonly project: Project; readonly workspace?: Workspace | undefined };

const { administration, ...choosable } = {
  ...onProjects.values,
  administration: [false, true],
} as Record<string, readonly Value[]> & { administration: readonly Value[] };

/** Each permission and its values, lowest first, from no access at all. */
const chains: Readonly<Record<string, readonly (Value | null)[]>> = {
  ...Object.fromEntries(
    Object.entries(choosable).map(([name, values]) => [name, values[0] === 'read' ? [null, ...values] : values]),
  ),
  'workspace-access/administration': administration,
};
export const permissionNames = Object.keys(chains);

/** What can be asked for in a filter. */
export const filterValues: Readonly<Record<string, readonly Value[]>> = Object.fromEntries(
  Object.entries(chains).map(([name, chain]) => [name, chain.filter(value => value !== null)]),
);

export const rankOf = (name: string, value: Value | null | undefined): number =>
  Math.max(0, chains[name]?.indexOf(value ?? null) ?? 0);

/** By permission. What is not named is at its lowest. */
type Held = Readonly<Record<string, Value | null>>;

const higher = (held: readonly Held[]): Held =>
  Object.fromEntries(
    Object.entries(chains).map(([name, chain]) => [
      name,
      chain[Math.max(0, ...held.map(each => rankOf(name, each[name])))] as Value | null,
    ]),
  );

const everything: Held = Object.fromEntries(
  Object.entries(chains).map(([name, chain]) => [name, chain.at(-1) as Value]),
);

type Reason = {
  readonly scope: 'organization' | 'project' | 'workspace';
  readonly team: { readonly id: string; readonly name: string | null } | null;
  readonly by: string;
  readonly held: Held;
};

const givingFlags = [
  ...['manage-policies', 'manage-policy-overrides', 'manage-workspaces', 'manage-projects'],
  ...['read-workspaces', 'read-projects', 'manage-agent-pools'],
];
export const administeringFlags = ['manage-projects', 'manage-workspaces'];

const chosenBy = (kind: Kind, attributes: object) => changed(kind, undefined, { data: { attributes } }) as Chosen;

const givenBy = (kind: Kind, { id, team, attributes }: Grant | WorkspaceGrant, delegated: boolean): Held => {
  const grant = { id, kind, team, on: '', chosen: chosenBy(kind, attributes) };
  return { ...gives(grant, delegated), 'workspace-access/administration': administers(grant) };
};

/** What each level implies, under the names of a project's permissions. */
const levelsOf = (kind: Kind): { level: string; implied: Held }[] =>
  kind.levels.map(level => ({
    level,
    implied: {
      ...Object.fromEntries(
        Object.entries(kind.implied[level] ?? {}).map(([name, value]) => [kind.onProject(name), value]),
      ),
      'workspace-access/administration': kind.administering.includes(level),
    },
  }));

const summary = (kind: Kind, held: Held): string => {
  const covered = levelsOf(kind).filter(({ implied }) =>
    Object.entries(implied).every(([name, value]) => rankOf(name, held[name]) >= rankOf(name, value)),
  );
  const names = [...Object.keys(kind.values).map(kind.onProject), 'workspace-access/administration'];
  return covered.at(-1)?.level ?? (names.some(name => rankOf(name, held[name]) > 0) ? 'custom' : 'none');
};

const byGroup = (each: (name: string) => unknown): Record<string, Json> => {
  const groups: Record<string, Json> = { 'project-access': {}, 'workspace-access': {} };
  for (const name of permissionNames) {
    const [group = '', key = ''] = name.split('/');
    groups[group][key] = each(name);
  }
  return groups;
};

export class EffectiveModel {
  readonly facts: Facts;

  constructor(facts: Facts) {
    this.facts = facts;
  }

  /** The same world, in which one thing is otherwise. */
  with(change: Partial<Facts>): EffectiveModel {
    return new EffectiveModel({ ...this.facts, ...change });
  }

  places(kind: 'projects' | 'workspaces'): Place[] {
    const { projects, workspaces } = this.facts;
    return kind === 'projects'
      ? projects.map(project => ({ project }))
      : workspaces.map(workspace => ({
          project: projects.find(({ id }) => id === workspace.project) as Project,
          workspace,
        }));
  }

  place(id: string): Place | undefined {
    return [...this.places('projects'), ...this.places('workspaces')].find(
      ({ project, workspace }) => (workspace ?? project).id === id,
    );
  }

  // What there is

  #teamsOf(who: Caller | Subject): readonly Team[] {
    if (who === 'organization') return [];
    const { teams } = this.facts;
    if ('user' in who) return teams.filter(({ members }) => members.includes(who.user));
    if ('team' in who) return teams.filter(({ id }) => id === who.team);
    return this.#teamsOf(who.type === 'users' ? { user: who.id } : { team: who.id });
  }

  /** Why a team holds something, where only its organization-level side, or only a grant, may be known. */
  #reasonsOf(team: Team, { project, workspace }: Place, known: (what: 'team' | Grant | WorkspaceGrant) => boolean) {
    const flags = known('team') ? team.flags : [];
    const named = { id: team.id, name: known('team') ? team.name : null };
    const delegated = flags.includes('delegate-policy-overrides');
    const reasons: Reason[] = [];
    if (team.owners && known('team'))
      reasons.push({ scope: 'organization', team: named, by: 'owners', held: everything });
    for (const flag of givingFlags.filter(flag => flags.includes(flag)))
      reasons.push({
        scope: 'organization',
        team: named,
        by: flag,
        held: {
          ...flagGives(flag, project.isDefault),
          'workspace-access/administration': administeringFlags.includes(flag),
        },
      });
    for (const grant of this.facts.grants)
      if (grant.team === team.id && grant.project === project.id && known(grant))
        reasons.push({ scope: 'project', team: named, by: grant.id, held: givenBy(onProjects, grant, delegated) });
    for (const grant of this.facts.workspaceGrants)
      if (grant.team === team.id && grant.workspace === workspace?.id && known(grant))
        reasons.push({ scope: 'workspace', team: named, by: grant.id, held: givenBy(onWorkspaces, grant, delegated) });
    return reasons;
  }

  /** All that somebody holds in a place, whoever asks. */
  held(who: Caller | Subject, place: Place): Held {
    if (this.isOwner(who)) return everything;
    return higher(this.#teamsOf(who).flatMap(team => this.#reasonsOf(team, place, () => true).map(({ held }) => held)));
  }

  isOwner(who: Caller | Subject): boolean {
    return who === 'organization' || this.#teamsOf(who).some(({ owners }) => owners);
  }

  // What a caller sees

  belongs(caller: Caller): boolean {
    if (caller === 'organization') return true;
    return 'user' in caller
      ? this.facts.members.some(({ id }) => id === caller.user)
      : this.facts.teams.some(({ id }) => id === caller.team);
  }

  reads(caller: Caller, place: Place): boolean {
    const name = place.workspace ? 'workspace-access/runs' : 'project-access/settings';
    return this.belongs(caller) && rankOf(name, this.held(caller, place)[name]) > 0;
  }

  seesTeam(caller: Caller, team: Team): boolean {
    if (!this.belongs(caller)) return false;
    const own = this.#teamsOf(caller);
    const holds = (...anyOf: string[]) => own.some(({ flags }) => anyOf.some(flag => flags.includes(flag)));
    return (
      !team.secret ||
      own.includes(team) ||
      this.isOwner(caller) ||
      (holds('access-secret-teams') && holds('manage-membership', 'manage-teams', 'manage-organization-access'))
    );
  }

  #seesGrant(caller: Caller, team: Team, place: Place, onWorkspace: boolean): boolean {
    const held = this.held(caller, place);
    if (this.#teamsOf(caller).includes(team)) return true;
    if (onWorkspace) return held['workspace-access/administration'] === true;
    const access = held['project-access/teams'];
    return access === 'manage' || (access === 'read' && !team.secret);
  }

  #told(caller: Caller, team: Team, place: Place): Reason[] {
    return this.#reasonsOf(team, place, what =>
      what === 'team' ? this.seesTeam(caller, team) : this.#seesGrant(caller, team, place, 'workspace' in what),
    );
  }

  #resource(
    caller: Caller,
    subject: Subject & { readonly name: string | null },
    place: Place,
    reasons: readonly Reason[],
  ): Json | undefined {
    const { project, workspace } = place;
    const held = higher(reasons.map(reason => reason.held));
    const asked = permissionNames.filter(name => !workspace || name.startsWith('workspace-access/'));
    if (asked.every(name => rankOf(name, held[name]) === 0)) return undefined;
    const related = (name: string, id: string) => ({
      [name]: { data: { id, type: `${name}s` }, links: { related: `/api/v2/${name}s/${id}` } },
    });
    return {
      id: `${subject.id}:${(workspace ?? project).id}`,
      type: 'effective-access',
      attributes: {
        access: summary(workspace ? onWorkspaces : onProjects, held),
        'subject-name': subject.name,
        // A workspace may be seen without its project.
        'project-name': this.reads(caller, { project }) ? project.name : null,
        ...(workspace && { 'workspace-name': workspace.name }),
        ...byGroup(name => held[name]),
        reasons: byGroup(name =>
          reasons
            .filter(reason => rankOf(name, reason.held[name]) > 0)
            .map(({ scope, team, by, held }) => ({
              scope,
              'team-id': team?.id ?? null,
              'team-name': team?.name ?? null,
              'grant-id': scope === 'organization' ? null : by,
              'organization-permission': scope === 'organization' ? by : null,
              value: held[name],
            })),
        ),
      },
      relationships: {
        subject: { data: { id: subject.id, type: subject.type } },
        ...related('project', project.id),
        ...(workspace && related('workspace', workspace.id)),
      },
    };
  }

  /** Everybody in one place, as the caller is told; nothing where the place is not there for it. */
  everybody(caller: Caller, id: string, subjects: 'users' | 'teams'): Json[] | undefined {
    const place = this.place(id);
    if (!place || !this.reads(caller, place)) return undefined;
    const { members, teams } = this.facts;
    const all =
      subjects === 'teams'
        ? teams.map(team => {
            const name = this.seesTeam(caller, team) ? team.name : null;
            return this.#resource(caller, { type: 'teams', id: team.id, name }, place, this.#told(caller, team, place));
          })
        : members.map(({ id, name }) => this.#ofUser(caller, { type: 'users', id, name }, place));
    return all.filter(each => each !== undefined);
  }

  /** Who is in a team is known to who sees the team. */
  #ofUser(caller: Caller, user: Subject & { readonly name: string }, place: Place): Json | undefined {
    const known = this.#teamsOf(user).filter(team => this.seesTeam(caller, team));
    return this.#resource(
      caller,
      user,
      place,
      known.flatMap(team => this.#told(caller, team, place)),
    );
  }

  /** One subject in every place that the caller reads; nothing where the subject is not there for it. */
  everywhere(caller: Caller, subject: Subject, kind: 'projects' | 'workspaces'): Json[] | undefined {
    if (!this.belongs(caller)) return undefined;
    const places = this.places(kind).filter(place => this.reads(caller, place));
    if (subject.type === 'organizations') {
      const held = everything;
      const reason = { scope: 'organization' as const, team: null, by: 'organization-token', held };
      return places.map(place =>
        this.#resource(caller, { ...subject, name: this.facts.organization }, place, [reason]),
      );
    }
    if (subject.type === 'teams') {
      const team = this.facts.teams.find(({ id }) => id === subject.id);
      if (!team || !this.seesTeam(caller, team)) return undefined;
      const { name } = team;
      return places.flatMap(
        place => this.#resource(caller, { ...subject, name }, place, this.#told(caller, team, place)) ?? [],
      );
    }
    const member = this.facts.members.find(({ id }) => id === subject.id);
    return member && places.flatMap(place => this.#ofUser(caller, { type: 'users', ...member }, place) ?? []);
  }
}
