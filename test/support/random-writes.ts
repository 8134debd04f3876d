/** Random writes of every kind, by random callers, on what there is at the moment. */

import type { Json } from './client.ts';
import type { Dice } from './dice.ts';
import {
  flagsAttribute,
  randomAccess,
  randomChoices,
  randomWorkspaceAccess,
  randomWorkspaceChoices,
} from './random-world.ts';
import { isOwner, type State } from './reference-access.ts';
import { grantBody, workspaceBody, workspaceGrantBody } from './world.ts';

export type Write = { readonly kind: string; readonly method: string; readonly path: string; readonly data?: Json };

/** Those that mean something, and some that do not. */
const flags = [
  'manage-projects',
  'manage-workspaces',
  'read-projects',
  'read-workspaces',
  'manage-policy-overrides',
  'delegate-policy-overrides',
  'manage-agent-pools',
  'manage-policies',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-modules',
] as const;

type Making = (dice: Dice, state: State, fresh: string, organization: State['organizations'][number]) => Write;

const send = (kind: string, method: string, path: string, data?: Json): Write => ({
  kind,
  method,
  path,
  ...(data !== undefined && { data }),
});

const within = <T extends { readonly organization: string }>(all: readonly T[], { id }: { readonly id: string }): T[] =>
  all.filter(({ organization }) => organization === id);

const grantsIn = ({ grants, teams }: State, { id }: { readonly id: string }, place: 'project' | 'workspace') =>
  grants.filter(
    ({ kind, team }) => kind.place === place && teams.some(each => each.id === team && each.organization === id),
  );

const attributesOfTeam = (dice: Dice): Json => ({
  ...(dice.chance(0.3) && { visibility: dice.pick(['secret', 'organization']) }),
  ...(dice.chance(0.7) && {
    'organization-access': {
      ...Object.fromEntries(flags.map(flag => [flag, false])),
      ...flagsAttribute(dice.some(flags, 0.15)),
    },
  }),
});

const someUsers = (dice: Dice, state: State, organization: { readonly id: string }): Json[] => {
  const there = within(state.members, organization);
  const kind = dice.pick(['users', 'organization-memberships']);
  const ids = dice.some(there, 0.3).flatMap(({ id, user }) => (kind === 'users' ? (user ?? []) : id));
  return (ids.length > 0 ? ids : [kind === 'users' ? 'nobody' : there[0]?.id]).map(id => ({ type: kind, id }));
};

const guests = ({ members, users }: State): string[] => [
  ...members.flatMap(({ email }) => email ?? []),
  ...users.map(({ email }) => email),
];

const makings: readonly (readonly [weight: number, making: Making])[] = [
  [
    8,
    (dice, state, _, organization) => {
      const [project, team] = [
        dice.pick(within(state.projects, organization)),
        dice.pick(within(state.teams, organization)),
      ];
      return send('team-projects create', 'POST', '/team-projects', grantBody(project.id, team.id, randomAccess(dice)));
    },
  ],
  [
    12,
    (dice, state, _, organization) => {
      const id = dice.pick(grantsIn(state, organization, 'project')).id;
      const attributes = dice.pick([randomAccess, randomAccess, randomChoices])(dice);
      return send('team-projects update', 'PATCH', `/team-projects/${id}`, { attributes });
    },
  ],
  [
    4,
    (dice, state, _, organization) => {
      const id = dice.pick(grantsIn(state, organization, 'project')).id;
      return send('team-projects delete', 'DELETE', `/team-projects/${id}`);
    },
  ],
  [
    4,
    (dice, state, _, organization) => {
      const { id } = dice.pick(within(state.projects, organization));
      const wanted = dice
        .some(within(state.teams, organization), 0.5)
        .map(team => ({ ...grantBody(id, team.id, randomAccess(dice)) }));
      return send('team-projects replace', 'PUT', `/projects/${id}/team-projects`, wanted);
    },
  ],
  [
    5,
    (dice, state, _, organization) => {
      const [workspace, team] = [
        dice.pick(within(state.workspaces, organization)),
        dice.pick(within(state.teams, organization)),
      ];
      const body = workspaceGrantBody(workspace.id, team.id, randomWorkspaceAccess(dice));
      return send('team-workspaces create', 'POST', '/team-workspaces', body);
    },
  ],
  [
    6,
    (dice, state, _, organization) => {
      const id = dice.pick(grantsIn(state, organization, 'workspace')).id;
      const attributes = dice.pick([randomWorkspaceAccess, randomWorkspaceChoices])(dice);
      return send('team-workspaces update', 'PATCH', `/team-workspaces/${id}`, { attributes });
    },
  ],
  [
    2,
    (dice, state, _, organization) => {
      const id = dice.pick(grantsIn(state, organization, 'workspace')).id;
      return send('team-workspaces delete', 'DELETE', `/team-workspaces/${id}`);
    },
  ],
  [
    5,
    (dice, _, fresh, { name }) => {
      const attributes = { name: fresh, ...attributesOfTeam(dice) };
      return send('teams create', 'POST', `/organizations/${name}/teams`, { type: 'teams', attributes });
    },
  ],
  [
    8,
    (dice, state, fresh, organization) => {
      const { id } = dice.pick(within(state.teams, organization));
      const attributes = { ...(dice.chance(0.3) && { name: fresh }), ...attributesOfTeam(dice) };
      return send('teams update', 'PATCH', `/teams/${id}`, { type: 'teams', attributes });
    },
  ],
  [3, (dice, state, _, at) => send('teams delete', 'DELETE', `/teams/${dice.pick(within(state.teams, at)).id}`)],
  [
    9,
    (dice, state, _, at) => {
      const data = someUsers(dice, state, at);
      const path = `/teams/${dice.pick(within(state.teams, at)).id}/relationships/${data[0].type}`;
      return send('team-memberships add', 'POST', path, data);
    },
  ],
  [
    6,
    (dice, state, _, at) => {
      const data = someUsers(dice, state, at);
      const path = `/teams/${dice.pick(within(state.teams, at)).id}/relationships/${data[0].type}`;
      return send('team-memberships remove', 'DELETE', path, data);
    },
  ],
  [
    6,
    (dice, state, fresh, at) => {
      const email = dice.chance(0.5) ? dice.pick(guests(state)) : `${fresh}@example.com`;
      const teams = dice.some(within(state.teams, at), 0.3).map(({ id }) => ({ type: 'teams', id }));
      const data = {
        type: 'organization-memberships',
        attributes: { email },
        ...(dice.chance(0.6) && { relationships: { teams: { data: teams } } }),
      };
      return send(
        'organization-memberships create',
        'POST',
        `/organizations/${at.name}/organization-memberships`,
        data,
      );
    },
  ],
  [
    3,
    (dice, state, _, at) =>
      send(
        'organization-memberships delete',
        'DELETE',
        `/organization-memberships/${dice.pick(within(state.members, at)).id}`,
      ),
  ],
  [
    4,
    (dice, state, fresh) => {
      const invited = state.members.flatMap(({ email }) => email ?? []);
      const email = invited.length > 0 && dice.chance(0.7) ? dice.pick(invited) : `${fresh}@example.com`;
      return send('users create', 'POST', '/admin/users', { type: 'users', attributes: { username: fresh, email } });
    },
  ],
  [
    3,
    (dice, state, fresh) => {
      const invited = state.members.flatMap(({ email }) => email ?? []);
      const email = invited.length > 0 && dice.chance(0.7) ? dice.pick(invited) : `${fresh}@example.com`;
      const attributes = dice.chance(0.8) ? { email } : { username: fresh };
      return send('users update', 'PATCH', `/admin/users/${dice.pick(state.users).id}`, { type: 'users', attributes });
    },
  ],
  [1, (dice, { users }) => send('users delete', 'DELETE', `/admin/users/${dice.pick(users).id}`)],
  [
    4,
    (_, __, fresh, { name }) =>
      send('projects create', 'POST', `/organizations/${name}/projects`, {
        type: 'projects',
        attributes: { name: fresh },
      }),
  ],
  [
    2,
    (dice, state, fresh, at) =>
      send('projects update', 'PATCH', `/projects/${dice.pick(within(state.projects, at)).id}`, {
        type: 'projects',
        attributes: { name: fresh },
      }),
  ],
  [
    3,
    (dice, state, _, at) => send('projects delete', 'DELETE', `/projects/${dice.pick(within(state.projects, at)).id}`),
  ],
  [
    4,
    (dice, state, _, at) => {
      const path = `/projects/${dice.pick(within(state.projects, at)).id}/relationships/workspaces`;
      const chosen = dice.some(within(state.workspaces, at), 0.4);
      const moved = chosen.length > 0 ? chosen : [dice.pick(state.workspaces)];
      return send(
        'workspaces move in',
        'POST',
        path,
        moved.map(({ id }) => ({ type: 'workspaces', id })),
      );
    },
  ],
  [
    4,
    (dice, state, fresh, at) => {
      const project = dice.chance(0.7) ? dice.pick(within(state.projects, at)).id : undefined;
      return send('workspaces create', 'POST', `/organizations/${at.name}/workspaces`, workspaceBody(fresh, project));
    },
  ],
  [
    5,
    (dice, state, fresh, at) => {
      const { id } = dice.pick(within(state.workspaces, at));
      const project = { data: { type: 'projects', id: dice.pick(within(state.projects, at)).id } };
      return send('workspaces update', 'PATCH', `/workspaces/${id}`, {
        type: 'workspaces',
        ...(dice.chance(0.3) && { attributes: { name: fresh } }),
        ...(dice.chance(0.8) && { relationships: { project } }),
      });
    },
  ],
  [
    2,
    (dice, state, _, at) =>
      send('workspaces delete', 'DELETE', `/workspaces/${dice.pick(within(state.workspaces, at)).id}`),
  ],
  [
    2,
    (dice, state, _, at) => {
      const action = dice.pick(['lock', 'unlock', 'force-unlock', 'safe-delete']);
      return send(
        `workspaces ${action}`,
        'POST',
        `/workspaces/${dice.pick(within(state.workspaces, at)).id}/actions/${action}`,
      );
    },
  ],
  [
    1,
    (_, __, fresh) =>
      send('organizations create', 'POST', '/organizations', {
        type: 'organizations',
        attributes: { name: fresh, email: `${fresh}@example.com` },
      }),
  ],
  [
    2,
    (dice, _, __, { name }) =>
      send('organizations update', dice.pick(['PATCH', 'PUT']), `/organizations/${name}`, {
        type: 'organizations',
        attributes: dice.chance(0.5) ? { 'user-tokens-enabled': dice.chance(0.6) } : { email: 'other@example.com' },
      }),
  ],
  [1, (_, __, ___, { name }) => send('organizations delete', 'DELETE', `/organizations/${name}`)],
  [
    5,
    (dice, state, _, at) => {
      const team = dice.pick(within(state.teams, at)).id;
      const path = dice.pick([
        `/users/${dice.pick(state.users).id}/authentication-tokens`,
        `/teams/${team}/authentication-token`,
        `/organizations/${at.name}/authentication-token`,
      ]);
      return send('authentication-tokens create', 'POST', path);
    },
  ],
  [
    2,
    (dice, { tokens }) =>
      send('authentication-tokens delete', 'DELETE', `/authentication-tokens/${dice.pick(tokens).id}`),
  ],
  [
    1,
    (dice, state, _, at) =>
      send('tag-bindings update', 'PATCH', `/projects/${dice.pick(within(state.projects, at)).id}/tag-bindings`, [
        { type: 'tag-bindings', attributes: { key: dice.pick(['a', 'b']), value: dice.pick(['', 'c']) } },
      ]),
  ],
  [
    1,
    (_, __, fresh) =>
      send('account update', 'PATCH', '/account/update', { type: 'users', attributes: { username: fresh } }),
  ],
];

const often = makings.flatMap(([weight, making]) => Array.from({ length: weight }, () => making));

/** One that can be made of what there is, in an organization of its choice. */
export const anyWrite = (dice: Dice, state: State, fresh: string): { write: Write; organization: string } => {
  for (;;) {
    const organization = dice.pick(state.organizations);
    try {
      return { write: dice.pick(often)(dice, state, fresh, organization), organization: organization.id };
    } catch (error) {
      // There is none of that to pick from.
      if (!/nothing to pick/.test((error as Error).message)) throw error;
    }
  }
};

/** A token that is there: often an owner's of the organization, else anybody's. */
export const anyCaller = (
  dice: Dice,
  state: State,
  secrets: ReadonlyMap<string, string>,
  organization: string,
): { readonly id: string; readonly secret: string } => {
  const known = state.tokens.filter(({ id }) => secrets.has(id));
  const owners = known.filter(({ user }) => user !== null && isOwner(state, user, organization));
  const home = state.teams.filter(team => team.organization === organization).map(({ id }) => id);
  const local = known.filter(
    token =>
      token.organization === organization ||
      home.includes(token.team ?? '') ||
      state.members.some(member => member.user === token.user && member.organization === organization),
  );
  const pool = dice.pick([owners, owners, owners, local, local, known]);
  const { id } = dice.pick(pool.length > 0 ? pool : known);
  return { id, secret: secrets.get(id) as string };
};
