/** CASL: an ability is made for one user, from rules with conditions about the place. */

import { besidesOnDefault, byLevel, byRole, byWorkspaceLevel, type Facts, type Given, type Team } from './facts.ts';
import type { Decide } from './in-process.ts';
import { library } from './library.ts';

type Rule = {
  readonly action: readonly string[];
  readonly subject: string;
  readonly conditions: Readonly<Record<string, unknown>>;
};
type Ability = { readonly can: (action: string, subject: object) => boolean };
type Casl = {
  readonly createMongoAbility: (rules: readonly Rule[]) => Ability;
  readonly subject: (type: string, value: object) => object;
};

const types = ['project', 'workspace'] as const;

/** On a project and on its workspaces. */
const throughout = (given: Given | undefined, project: unknown): Rule[] =>
  types.map(type => ({ action: given?.[type] ?? [], subject: type, conditions: { project } }));

const ofRoles = ({ roles, organization }: Team): Rule[] =>
  roles.flatMap(role => [
    ...types.map(type => ({ action: byRole[role]?.[type] ?? [], subject: type, conditions: { organization } })),
    ...(role === besidesOnDefault.role
      ? [{ action: besidesOnDefault.actions, subject: 'project', conditions: { organization, isDefault: true } }]
      : []),
  ]);

const able = ({ action }: Rule): boolean => action.length > 0;

/** All that the teams of a user give, wherever. */
const rulesOf = (teams: readonly Team[]): Rule[] => {
  const projects = new Map<Given, string[]>();
  const workspaces = new Map<Given, string[]>();
  const add = (to: Map<Given, string[]>, given: Given | undefined, id: string): void => {
    const ids = given && to.get(given);
    if (ids) ids.push(id);
    else if (given) to.set(given, [id]);
  };
  for (const { grants, levels } of teams) {
    for (const [id, grant] of grants) add(projects, 'level' in grant ? byLevel[grant.level] : grant.chosen, id);
    for (const [id, level] of levels) add(workspaces, byWorkspaceLevel[level], id);
  }
  return [
    ...teams.flatMap(ofRoles),
    ...[...projects].flatMap(([given, ids]) => throughout(given, { $in: ids })),
    ...[...workspaces].map(([{ workspace }, ids]) => ({
      action: workspace,
      subject: 'workspace',
      conditions: { id: { $in: ids } },
    })),
  ].filter(able);
};

/** What they give in one place. */
const rulesIn = (teams: readonly Team[], project: string, id: string): Rule[] =>
  teams
    .flatMap(team => {
      const grant = team.grants.get(project);
      const level = team.levels.get(id);
      return [
        ...ofRoles(team),
        ...(grant ? throughout('level' in grant ? byLevel[grant.level] : grant.chosen, project) : []),
        ...(level
          ? [{ action: byWorkspaceLevel[level]?.workspace ?? [], subject: 'workspace', conditions: { id } }]
          : []),
      ];
    })
    .filter(able);

/** An ability for each decision. */
export const openCasl = async ({ teamsOf, places }: Facts): Promise<Decide> => {
  const { createMongoAbility, subject } = await library<Casl>('@casl/ability');
  return ({ user, action, type, id }) => {
    const place = places.get(id);
    const ability = createMongoAbility(rulesIn(teamsOf.get(user) ?? [], place?.project ?? '', id));
    return ability.can(action, subject(type, { ...place, id }));
  };
};

/** An ability for each user, made once and kept: it knows nothing of what changes later. */
export const openCaslKept = async ({ teamsOf, places }: Facts): Promise<Decide> => {
  const { createMongoAbility, subject } = await library<Casl>('@casl/ability');
  const kept = new Map<string, Ability>();
  return ({ user, action, type, id }) => {
    const ability = kept.get(user) ?? createMongoAbility(rulesOf(teamsOf.get(user) ?? []));
    kept.set(user, ability);
    return ability.can(action, subject(type, { ...places.get(id), id }));
  };
};
