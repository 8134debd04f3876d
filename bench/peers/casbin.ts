/**
 * casbin: who has which role where is its graph of roles, and its policies say what each role lets do, so that their number
 * does not grow with the world. A role is named by its place; a chosen action is a role of its own.
 */

import { allActions, besidesOnDefault, byLevel, byRole, byWorkspaceLevel, type Facts, type Given } from './facts.ts';
import type { Decide } from './in-process.ts';
import { library } from './library.ts';

type Enforcer = {
  readonly addNamedPolicies: (type: string, rules: readonly (readonly string[])[]) => Promise<boolean>;
  readonly addNamedGroupingPolicies: (type: string, rules: readonly (readonly string[])[]) => Promise<boolean>;
  readonly enforceSync: (...values: readonly unknown[]) => boolean;
};
type Casbin = {
  readonly newModelFromString: (text: string) => unknown;
  readonly newEnforcer: (model: unknown) => Promise<Enforcer>;
};

const model = `
[request_definition]
r = user, act, at

[policy_definition]
p = scope, role

[role_definition]
g = _, _
g2 = _, _

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = g2(r.act, p.role) && g(r.user, r.at[ p.scope ] + p.role)
`;

const named = (given: Given): string[] =>
  (['project', 'workspace'] as const).flatMap(type => given[type].map(action => `${type}:${action}`));

const onDefault = '/default';

/** Roles, each with the actions that it gives. */
const roles: readonly (readonly [scope: string, role: string, given: Given])[] = [
  ...Object.entries(byLevel).map(([level, given]) => ['project', `/${level}`, given] as const),
  ...Object.entries(byWorkspaceLevel).map(([level, given]) => ['workspace', `/on-it/${level}`, given] as const),
  ...Object.entries(byRole).map(([role, given]) => ['organization', `/${role}`, given] as const),
  ['project', onDefault, { project: besidesOnDefault.actions, workspace: [] }],
];

export const openCasbin = async (facts: Facts): Promise<Decide> => {
  const { newEnforcer, newModelFromString } = await library<Casbin>('casbin');
  const enforcer = await newEnforcer(newModelFromString(model));
  const chosen = (type: string, action: string): string => `/${type}:${action}`;
  await enforcer.addNamedPolicies('p', [
    ...roles.map(([scope, role]) => [scope, role]),
    ...allActions.map(([type, action]) => ['project', chosen(type, action)]),
  ]);
  await enforcer.addNamedGroupingPolicies('g2', [
    ...roles.flatMap(([, role, given]) => named(given).map(action => [action, role])),
    ...allActions.map(([type, action]) => [`${type}:${action}`, chosen(type, action)]),
  ]);
  const links: string[][] = [];
  for (const [user, teams] of facts.teamsOf) for (const team of teams) links.push([user, team.id]);
  for (const { id, organization, roles, grants, levels } of facts.teams) {
    for (const role of roles) links.push([id, `${organization}/${role}`]);
    for (const [project, grant] of grants)
      if ('level' in grant) links.push([id, `${project}/${grant.level}`]);
      else for (const action of named(grant.chosen)) links.push([id, `${project}/${action}`]);
    for (const [workspace, level] of levels) links.push([id, `${workspace}/on-it/${level}`]);
  }
  const managers = facts.teams.filter(({ roles }) => roles.includes(besidesOnDefault.role));
  for (const { project, organization } of new Set([...facts.places.values()].filter(({ isDefault }) => isDefault)))
    for (const team of managers.filter(manager => manager.organization === organization))
      links.push([team.id, `${project}${onDefault}`]);
  await enforcer.addNamedGroupingPolicies('g', links);
  return ({ user, action, type, id }) => {
    const place = facts.places.get(id);
    return enforcer.enforceSync(user, `${type}:${action}`, { ...place, workspace: id });
  };
};
