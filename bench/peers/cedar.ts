/** Cedar: policies about roles, parsed once; with each request the entities that it concerns, as its guide advises. */

import {
  allActions,
  besidesOnDefault,
  byLevel,
  byRole,
  byWorkspaceLevel,
  type Facts,
  type Given,
  type Type,
} from './facts.ts';
import type { Decide } from './in-process.ts';
import { library } from './library.ts';

type Uid = { readonly type: string; readonly id: string };
type Entity = { readonly uid: Uid; readonly attrs: Record<string, unknown>; readonly parents: readonly Uid[] };
type Cedar = {
  readonly preparsePolicySet: (
    name: string,
    policies: { readonly staticPolicies: string },
  ) => { readonly type: string };
  readonly statefulIsAuthorized: (call: {
    readonly principal: Uid;
    readonly action: Uid;
    readonly resource: Uid;
    readonly context: object;
    readonly preparsedPolicySetId: string;
    readonly entities: readonly Entity[];
  }) =>
    | { readonly type: 'success'; readonly response: { readonly decision: 'allow' | 'deny' } }
    | { readonly type: 'failure'; readonly errors: unknown };
};

const kinds = { project: 'Project', workspace: 'Workspace' } as const;
const types = ['project', 'workspace'] as const;
const projectOf = { project: 'resource', workspace: 'resource.project' } as const;

const actionName = (type: Type, action: string): string => `${type}:${action}`;

/** In one of the teams that an attribute of a place names. */
const inTeams = (place: string, attribute: string): string =>
  `${place} has "${attribute}" && principal in ${place}["${attribute}"]`;

/** Those of a table that give the action. */
const giving = (table: Readonly<Record<string, Given>>, type: Type, action: string): string[] =>
  Object.keys(table).filter(name => table[name]?.[type].includes(action));

/** A policy for each action, which names all that give it: it is found by its action, and the others cost little. */
const policies = allActions
  .map(([type, action]) => {
    const project = projectOf[type];
    const ways = [
      ...giving(byLevel, type, action).map(level => inTeams(project, level)),
      ...(type === 'workspace' ? giving(byWorkspaceLevel, type, action).map(level => inTeams('resource', level)) : []),
      inTeams(project, actionName(type, action)),
      ...giving(byRole, type, action).map(role => inTeams(`${project}.organization`, role)),
      ...(type === 'project' && besidesOnDefault.actions.includes(action)
        ? [`resource.isDefault && ${inTeams('resource.organization', besidesOnDefault.role)}`]
        : []),
    ];
    return `permit(principal, action == Action::"${actionName(type, action)}", resource is ${kinds[type]})
when { ${ways.map(way => `(${way})`).join(' || ')} };`;
  })
  .join('\n');

const entity = (uid: Uid, parents: readonly Uid[] = []): Entity => ({ uid, attrs: {}, parents });

const name = (set: Record<string, unknown>, attribute: string, team: Uid): void => {
  set[attribute] = [...((set[attribute] as unknown[]) ?? []), { __entity: team }];
};

export const openCedar = async ({ teamsOf, places }: Facts): Promise<Decide> => {
  const { preparsePolicySet, statefulIsAuthorized } = await library<Cedar>('@cedar-policy/cedar-wasm/nodejs');
  const parsed = preparsePolicySet('access', { staticPolicies: policies });
  if (parsed.type !== 'success') throw new Error(`the policies of Cedar: ${JSON.stringify(parsed)}`);
  return asked => {
    const place = places.get(asked.id);
    if (place === undefined) return false;
    const teams = teamsOf.get(asked.user) ?? [];
    const principal = { type: 'User', id: asked.user };
    const resource = { type: kinds[asked.type], id: asked.id };
    const organization = entity({ type: 'Organization', id: place.organization });
    const project = entity({ type: 'Project', id: place.project });
    const workspace = entity(resource);
    project.attrs.organization = { __entity: organization.uid };
    project.attrs.isDefault = place.isDefault;
    workspace.attrs.project = { __entity: project.uid };
    const parents: Uid[] = [];
    for (const { id, roles, grants, levels } of teams) {
      const team = { type: 'Team', id };
      parents.push(team);
      for (const role of roles) name(organization.attrs, role, team);
      const grant = grants.get(place.project);
      if (grant && 'level' in grant) name(project.attrs, grant.level, team);
      else if (grant)
        for (const type of types)
          for (const action of grant.chosen[type]) name(project.attrs, actionName(type, action), team);
      const level = levels.get(asked.id);
      if (level !== undefined) name(workspace.attrs, level, team);
    }
    const entities = [entity(principal, parents), organization, project];
    if (asked.type === 'workspace') entities.push(workspace);
    const answer = statefulIsAuthorized({
      principal,
      action: { type: 'Action', id: actionName(asked.type, asked.action) },
      resource,
      context: {},
      preparsedPolicySetId: 'access',
      entities,
    });
    if (answer.type === 'failure') throw new Error(`Cedar: ${JSON.stringify(answer.errors)}`);
    return answer.response.decision === 'allow';
  };
};
