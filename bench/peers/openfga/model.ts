/**
 * The authorization model that OpenFGA is given. A relation for each level, held by the members of teams; one for each
 * action, which is the union of the levels and roles that give it and, where it can be chosen, is held by itself. Where there
 * was a choice, it is the cheaper one for OpenFGA: what no grant of a world needs is not in the model.
 */

import { allActions, besidesOnDefault, byLevel, byRole, byWorkspaceLevel, projectGrant, type Type } from '../facts.ts';

type Userset =
  | { readonly this: object }
  | { readonly computedUserset: { readonly relation: string } }
  | {
      readonly tupleToUserset: {
        readonly tupleset: { readonly relation: string };
        readonly computedUserset: { readonly relation: string };
      };
    };
type Holder = { readonly type: string; readonly relation?: string };
/** Who holds a relation: these by tuples, and whoever else. */
type Relation = { readonly by?: readonly Holder[]; readonly or?: readonly Userset[] };

export const levelRelation = (level: string): string => `level-${level}`;
/** An action as a relation of a project or workspace itself, and of what is above it. */
export const actionRelation = (type: Type, action: string): string => `${type}-${action}`;

const members: readonly Holder[] = [{ type: 'team', relation: 'member' }];
const its = (relation: string): Userset => ({ computedUserset: { relation } });
const from = (tupleset: string, relation: string): Userset => ({
  tupleToUserset: { tupleset: { relation: tupleset }, computedUserset: { relation } },
});

const giving = (table: typeof byLevel, type: Type, action: string): string[] =>
  Object.keys(table).filter(name => table[name]?.[type].includes(action));

const canBeChosen = (type: Type, action: string): boolean =>
  projectGrant.some(grant => 'chosen' in grant && grant.chosen[type].includes(action));

const held = (names: readonly string[]) => names.map(name => [name, { by: members }] as const);
const levels = (table: typeof byLevel) => held(Object.keys(table).map(levelRelation));

const types: Readonly<Record<string, readonly (readonly [string, Relation])[]>> = {
  user: [],
  team: [['member', { by: [{ type: 'user' }] }]],
  organization: [
    ...held(Object.keys(byRole)),
    ...allActions.map(
      ([type, action]) => [actionRelation(type, action), { or: giving(byRole, type, action).map(its) }] as const,
    ),
  ],
  project: [
    ['organization', { by: [{ type: 'organization' }] }],
    ['default-of', { by: [{ type: 'organization' }] }],
    ...levels(byLevel),
    ...allActions.map(([type, action]): readonly [string, Relation] => [
      actionRelation(type, action),
      {
        ...(canBeChosen(type, action) && { by: members }),
        or: [
          ...giving(byLevel, type, action).map(level => its(levelRelation(level))),
          from('organization', actionRelation(type, action)),
          ...(type === 'project' && besidesOnDefault.actions.includes(action)
            ? [from('default-of', besidesOnDefault.role)]
            : []),
        ],
      },
    ]),
  ],
  workspace: [
    ['project', { by: [{ type: 'project' }] }],
    ...levels(byWorkspaceLevel),
    ...allActions
      .filter(([type]) => type === 'workspace')
      .map(([type, action]): readonly [string, Relation] => [
        actionRelation(type, action),
        {
          or: [
            ...giving(byWorkspaceLevel, type, action).map(level => its(levelRelation(level))),
            from('project', actionRelation(type, action)),
          ],
        },
      ]),
  ],
};

const rewritten = ({ by, or = [] }: Relation): object => {
  const child = [...(by ? [{ this: {} }] : []), ...or];
  return child.length === 1 ? (child[0] as object) : { union: { child } };
};

/** As its API takes it. */
export const authorizationModel = {
  schema_version: '1.1',
  type_definitions: Object.entries(types).map(([type, relations]) => ({
    type,
    relations: Object.fromEntries(relations.map(([name, relation]) => [name, rewritten(relation)])),
    metadata: {
      relations: Object.fromEntries(
        relations.map(([name, { by = [] }]) => [name, { directly_related_user_types: by }]),
      ),
    },
  })),
};
