/**
 * Effective access of everybody everywhere, by the tables of the reference model, and what differs between two times. It reads
 * what the tables hold; of the service it shares how a set is kept in a column, and nothing of what a set means.
 */

import { permissions, valueIn } from '../../src/core/access.ts';
import { organizationPermissions } from '../../src/core/authority.ts';
import { sql } from '../../src/store/sql.ts';
import type { Row, Tx } from '../../src/store/store.ts';
import {
  administers,
  flagGives,
  type Grant,
  gives,
  higher,
  type Kind,
  nothing,
  onProjects,
  onWorkspaces,
  type PermissionSet,
  reaches,
  type Value,
} from './model-grants.ts';

type Made = { readonly id: string; readonly name: string; readonly createdAt: string };
export type Team = Made & { readonly organization: string; readonly flags: readonly string[] };
export type Project = Made & { readonly organization: string; readonly isDefault: boolean };
export type Workspace = Made & { readonly organization: string; readonly project: string };
export type Member = {
  readonly id: string;
  readonly organization: string;
  readonly user: string | null;
  readonly email: string | null;
};
export type Token = {
  readonly id: string;
  readonly user: string | null;
  readonly team: string | null;
  readonly organization: string | null;
};
export type Audit = { readonly id: string; readonly organization: string | null; readonly effect: string | null };

/** All that access follows from, as it is at one time. */
export type State = {
  readonly organizations: readonly (Made & { readonly takesUsers: boolean })[];
  readonly users: readonly (Made & { readonly email: string })[];
  readonly members: readonly Member[];
  readonly teams: readonly Team[];
  readonly inTeams: readonly { readonly team: string; readonly member: string }[];
  readonly projects: readonly Project[];
  readonly workspaces: readonly Workspace[];
  readonly grants: readonly Grant[];
  readonly tokens: readonly Token[];
  readonly audit: readonly Audit[];
};

const nameOnWorkspace = (name: string): string =>
  name === 'workspace-access/locking' ? 'workspace-locking' : name.replace('workspace-access/', '');

const chosenIn = (kind: Kind, access: string, bits: number): PermissionSet =>
  kind.implied[access] ??
  Object.fromEntries(
    permissions
      .map(permission => {
        const name = `${permission.group}/${permission.key}`;
        return [kind === onProjects ? name : nameOnWorkspace(name), valueIn(bits, permission) as Value];
      })
      .filter(([name]) => (name as string) in kind.values),
  );

export const stateOf = async (tx: Tx): Promise<State> => {
  const rows = <R extends Row, T>(of: Promise<R[]>, as: (row: R) => T): Promise<T[]> => of.then(all => all.map(as));
  const grantsFrom = (kind: Kind, of: Promise<[string, string, string, string, number | null][]>) =>
    rows(
      of,
      ([id, team, on, access, chosen]): Grant => ({
        id,
        kind,
        team,
        on,
        chosen: { access, permissions: chosenIn(kind, access, chosen ?? 0), shown: new Set() },
      }),
    );
  return {
    organizations: await rows(
      tx.rows<[string, string, string, number]>(
        sql`select id, name, created_at, user_tokens_enabled from organizations order by created_at, id`,
      ),
      ([id, name, createdAt, takesUsers]) => ({ id, name, createdAt, takesUsers: takesUsers === 1 }),
    ),
    users: await rows(
      tx.rows<[string, string, string, string]>(
        sql`select id, username, created_at, email from users order by created_at, id`,
      ),
      ([id, name, createdAt, email]) => ({ id, name, createdAt, email }),
    ),
    members: await rows(
      tx.rows<[string, string, string | null, string | null]>(
        sql`select id, organization_id, user_id, invited_email from organization_memberships order by id`,
      ),
      ([id, organization, user, email]) => ({ id, organization, user, email }),
    ),
    teams: await rows(
      tx.rows<[string, string, string, string, number]>(
        sql`select id, name, created_at, organization_id, organization_access from teams order by created_at, id`,
      ),
      ([id, name, createdAt, organization, access]) => ({
        id,
        name,
        createdAt,
        organization,
        flags: organizationPermissions.filter((_, bit) => (access & (1 << bit)) !== 0),
      }),
    ),
    inTeams: await rows(
      tx.rows<[string, string]>(
        sql`select team_id, membership_id from team_memberships order by team_id, membership_id`,
      ),
      ([team, member]) => ({ team, member }),
    ),
    projects: await rows(
      tx.rows<[string, string, string, string, number]>(
        sql`select id, name, created_at, organization_id, is_default from projects order by created_at, id`,
      ),
      ([id, name, createdAt, organization, isDefault]) => ({
        id,
        name,
        createdAt,
        organization,
        isDefault: isDefault === 1,
      }),
    ),
    workspaces: await rows(
      tx.rows<[string, string, string, string, string]>(
        sql`select id, name, created_at, organization_id, project_id from workspaces order by created_at, id`,
      ),
      ([id, name, createdAt, organization, project]) => ({ id, name, createdAt, organization, project }),
    ),
    grants: [
      ...(await grantsFrom(
        onProjects,
        tx.rows(sql`select id, team_id, project_id, access, chosen from team_projects order by id`),
      )),
      ...(await grantsFrom(
        onWorkspaces,
        tx.rows(sql`select id, team_id, workspace_id, access, chosen from team_workspaces order by id`),
      )),
    ],
    tokens: await rows(
      tx.rows<[string, string | null, string | null, string | null]>(
        sql`select id, user_id, team_id, organization_id from authentication_tokens order by id`,
      ),
      ([id, user, team, organization]) => ({ id, user, team, organization }),
    ),
    audit: await rows(
      tx.rows<[string, string | null, string | null]>(
        sql`select id, organization_id, effect from audit_events order by chain, position`,
      ),
      ([id, organization, effect]) => ({ id, organization, effect }),
    ),
  };
};

// What is held

/** With the administration of workspaces, which no resource shows. */
export type Held = { readonly set: PermissionSet; readonly administers: boolean };

const none: Held = { set: nothing, administers: false };
const all: Held = {
  set: Object.fromEntries(Object.entries(onProjects.values).map(([name, chain]) => [name, chain.at(-1) as Value])),
  administers: true,
};

const isOwners = ({ name }: Team): boolean => name === 'owners';

export type Place = { readonly project: Project; readonly workspace?: Workspace };

/** What these teams hold in a place; `alone` leaves only what comes of grants on the workspace itself. */
export const held = ({ grants }: State, teams: readonly Team[], { project, workspace }: Place, alone = false): Held => {
  if (!alone && teams.some(isOwners)) return all;
  return teams.reduce<Held>((so, team) => {
    const here = grants.filter(
      ({ team: of, on }) => of === team.id && (on === workspace?.id || (!alone && on === project.id)),
    );
    const flags = alone ? [] : team.flags;
    const sets = [
      ...flags.map(flag => flagGives(flag, project.isDefault)),
      ...here.map(grant => gives(grant, team.flags.includes('delegate-policy-overrides'))),
    ];
    const byFlag = flags.some(flag => flag === 'manage-projects' || flag === 'manage-workspaces');
    return {
      set: sets.reduce<PermissionSet>(higher, so.set),
      administers: so.administers || byFlag || here.some(administers),
    };
  }, none);
};

export const teamsOfUser = ({ members, inTeams, teams }: State, user: string, organization: string): Team[] => {
  const member = members.find(each => each.user === user && each.organization === organization);
  const ids = inTeams.filter(each => each.member === member?.id).map(({ team }) => team);
  return teams.filter(({ id }) => ids.includes(id));
};

export const isOwner = (state: State, user: string, organization: string): boolean =>
  teamsOfUser(state, user, organization).some(isOwners);

/** Whether somebody who is no owner manages the team access of a project. */
export const hasPlainAdmin = (state: State, project: Project): boolean =>
  state.members.some(({ user, organization }) => {
    if (user === null || organization !== project.organization || isOwner(state, user, organization)) return false;
    const { set } = held(state, teamsOfUser(state, user, organization), { project });
    return reaches(set, 'project-access/teams', 'manage');
  });

// What differs

const shownValue = (value: Value | undefined) => (value === '–' || value === undefined ? null : value);

const differing = (before: Held, after: Held) => [
  ...Object.keys(nothing)
    .filter(name => before.set[name] !== after.set[name])
    .map(name => ({
      permission: name.replace('/', '.'),
      before: shownValue(before.set[name]),
      after: shownValue(after.set[name]),
    })),
  ...(before.administers === after.administers
    ? []
    : [
        {
          permission: 'workspace-access.administration',
          before: before.administers,
          after: after.administers,
        },
      ]),
];

const named = ({ id, name }: Made) => ({ id, name });

const byCreation = (a: Made, b: Made): number => {
  const [one, other] = [a, b].map(({ createdAt, id }) => `${createdAt} ${id}`) as [string, string];
  return one < other ? -1 : Number(one > other);
};

/** Those of either time, as they are in the later, in the order of creation. */
const ofBoth = <T extends Made>(before: readonly T[], after: readonly T[]): T[] =>
  [...new Map([...before, ...after].map(each => [each.id, each])).values()].toSorted(byCreation);

type Subject = { readonly type: 'teams' | 'users'; readonly id: string; readonly name: string };

const subjectsOf = (before: State, after: State, organization: string): Subject[] => {
  const isMember = (id: string) =>
    [before, after].some(({ members }) => members.some(each => each.user === id && each.organization === organization));
  return [
    ...ofBoth(before.teams, after.teams)
      .filter(team => team.organization === organization)
      .map(team => ({ type: 'teams' as const, ...named(team) })),
    ...ofBoth(before.users, after.users)
      .filter(({ id }) => isMember(id))
      .map(user => ({ type: 'users' as const, ...named(user) })),
  ];
};

const teamsOf = (state: State, { type, id }: Subject, organization: string): Team[] =>
  type === 'teams' ? state.teams.filter(team => team.id === id) : teamsOfUser(state, id, organization);

/** Everybody's differences on every project of an organization. */
export const projectChanges = (before: State, after: State, organization: string) =>
  subjectsOf(before, after, organization).flatMap(subject =>
    ofBoth(before.projects, after.projects)
      .filter(project => project.organization === organization)
      .flatMap(project => {
        const [was, is] = [before, after].map(state => {
          const there = state.projects.find(({ id }) => id === project.id);
          return there ? held(state, teamsOf(state, subject, organization), { project: there }) : none;
        }) as [Held, Held];
        const permissions = differing(was, is);
        return permissions.length > 0 ? [{ subject, project: named(project), permissions }] : [];
      }),
  );

const placeOf = (state: State, id: string): Place | undefined => {
  const workspace = state.workspaces.find(each => each.id === id);
  const project = state.projects.find(each => each.id === workspace?.project);
  return workspace && project && { project, workspace };
};

/** Everybody's differences on every workspace that stays; `due` where they come of the workspace and not of its project. */
export const workspaceChanges = (before: State, after: State, organization: string) =>
  subjectsOf(before, after, organization).flatMap(subject =>
    after.workspaces.flatMap(workspace => {
      const [from, to] = [placeOf(before, workspace.id), placeOf(after, workspace.id)];
      if (!from || !to || workspace.organization !== organization) return [];
      const [past, present] = [before, after].map(state => teamsOf(state, subject, organization)) as [Team[], Team[]];
      const permissions = differing(held(before, past, from), held(after, present, to));
      if (permissions.length === 0) return [];
      const own = differing(held(before, past, from, true), held(after, present, to, true)).length > 0;
      const due = own || from.project.id !== to.project.id;
      return [{ due, change: { subject, project: named(to.project), workspace: named(workspace), permissions } }];
    }),
  );
