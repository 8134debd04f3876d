/** What somebody may do in one place, whichever gives it, and for each permission all that gives it. */

import {
  allPermissions,
  covers,
  everything,
  type Need,
  need,
  nothing,
  onProjects,
  onWorkspaces,
  type Permission,
  type Permissions,
  type Value,
  valueIn,
} from '../core/access.ts';
import { type Origin, type Outlook, originsOf, seenIn, sees } from '../core/authority.ts';
import { Fault } from '../core/fault.ts';
import type { Named, Subject } from '../store/holdings.ts';
import { identifier, type Resource, toOne } from '../wire/document.ts';
import {
  exactly,
  listOf,
  oneOf,
  optional,
  orNull,
  related,
  relatedAny,
  resource,
  type TSchema,
  Type,
  text,
} from '../wire/schemas.ts';
import type { Note } from './operation.ts';
import type { Request } from './request.ts';

// Shape

type Group = Permission['group'];

/** A value of one permission; null where there is no access at all. */
const valueSchema = ({ chain }: Permission) => Type.Unsafe<Value | null>({ enum: chain });

/** For each permission something, by its group and key. */
const byPermission = <T>(each: (permission: Permission) => T) => {
  const groups: Record<Group, Record<string, T>> = { 'project-access': {}, 'workspace-access': {} };
  for (const permission of allPermissions) groups[permission.group][permission.key] = each(permission);
  return groups;
};

/** Why, of a value of this kind. */
export const ReasonOf = (value: TSchema) =>
  exactly({
    scope: oneOf('organization', 'project', 'workspace'),
    'team-id': orNull(text),
    'team-name': orNull(text),
    'grant-id': orNull(text),
    'organization-permission': orNull(text),
    value,
  });

const values = byPermission(valueSchema);
const reasons = byPermission(permission => listOf(ReasonOf(valueSchema(permission))));

export const EffectiveAccess = resource(
  'effective-access',
  {
    access: oneOf(...new Set([...onProjects.levels, ...onWorkspaces.levels, 'custom', 'none'])),
    'subject-name': orNull(text),
    'project-name': orNull(text),
    'workspace-name': optional(text),
    'project-access': exactly(values['project-access']),
    'workspace-access': exactly(values['workspace-access']),
    reasons: exactly({
      'project-access': exactly(reasons['project-access']),
      'workspace-access': exactly(reasons['workspace-access']),
    }),
  },
  {
    subject: relatedAny('users', 'teams', 'organizations'),
    project: related('projects'),
    workspace: optional(related('workspaces')),
  },
  null,
);

/** Something that may be known by its id alone. */
type Known = { readonly id: string; readonly name: string | null };

/** An origin, and the team that has it; the organization's own token needs none. A team may be known by its grant alone. */
export type Reason = Origin & { readonly team: Known | null };

const byOrganizationToken: Reason = {
  scope: 'organization',
  by: 'organization-token',
  gives: everything,
  team: null,
};

/** All that gives a holder anything in a place, as far as it is seen. */
export const reasonsFor = (
  { organizationToken, teams }: Pick<Subject, 'organizationToken' | 'teams'>,
  onDefaultProject: boolean,
  outlook: Outlook,
): readonly Reason[] =>
  organizationToken
    ? [byOrganizationToken]
    : teams.flatMap(team => {
        const named = { id: team.id, name: sees(outlook.teams, team) ? team.name : null };
        return originsOf(seenIn(outlook, team), onDefaultProject).map(origin => ({ ...origin, team: named }));
      });

/** What the reasons give together. */
export const joined = (reasons: readonly Reason[]): Permissions =>
  reasons.reduce((set, { gives }) => set | gives, nothing);

/** What it is by. */
export const shownSource = ({ scope, by }: Reason) =>
  scope === 'organization' ? { 'organization-permission': by } : { 'grant-id': by };

/** A reason without what it gives. */
export const shownOrigin = (reason: Reason) => ({
  scope: reason.scope,
  'team-id': reason.team?.id ?? null,
  'team-name': reason.team?.name ?? null,
  ...{ 'grant-id': null, 'organization-permission': null },
  ...shownSource(reason),
});

/** One reason, as far as it concerns one permission. */
const shownReason = (reason: Reason, permission: Permission) => ({
  ...shownOrigin(reason),
  value: valueIn(reason.gives, permission),
});

/** The reasons that give anything of one permission. */
export const reasonsOf = (reasons: readonly Reason[], permission: Permission) =>
  reasons.filter(({ gives }) => (gives & permission.mask) !== 0).map(reason => shownReason(reason, permission));

export const shownAccess = (
  { type, id, name }: Known & Pick<Subject, 'type'>,
  { project, workspace }: { readonly project: Known; readonly workspace?: Named | undefined },
  reasons: readonly Reason[],
): Resource => {
  const set = joined(reasons);
  return {
    id: `${id}:${(workspace ?? project).id}`,
    type: 'effective-access',
    attributes: {
      access: (workspace ? onWorkspaces : onProjects).covered(set),
      'subject-name': name,
      'project-name': project.name,
      ...(workspace && { 'workspace-name': workspace.name }),
      ...byPermission(permission => valueIn(set, permission)),
      reasons: byPermission(permission => reasonsOf(reasons, permission)),
    },
    relationships: {
      subject: { data: identifier(type, id) },
      project: toOne('projects', project.id),
      ...(workspace && { workspace: toOne('workspaces', workspace.id) }),
    },
  };
};

// Filters on the least value of a permission

const filterOf = ({ group, key }: Permission): string => `filter[${group}][${key}]`;

export const needFilters: readonly string[] = allPermissions.map(filterOf);

export const needNotes: Readonly<Record<string, Note>> = Object.fromEntries(
  allPermissions.map(permission => [
    filterOf(permission),
    { means: `${permission.name} at this value or higher`, words: permission.values.map(String) },
  ]),
);

const refused = (parameter: string, detail: string): Fault => new Fault({ kind: 'bad parameter', parameter, detail });

/** What the query demands, and anything at all besides: whoever holds nothing is not listed. */
export const needsAsked = (request: Request, anything: Need): readonly Need[] => {
  request.expectKnownFilters();
  const needs = allPermissions.flatMap(permission => {
    const name = filterOf(permission);
    const wanted = request.parameter(name);
    if (wanted === undefined) return [];
    const value = permission.values.find(value => `${value}` === wanted);
    if (value === undefined) throw refused(name, `${name} must be one of ${permission.values.join(', ')}`);
    return [need(permission.name, value as never)];
  });
  // The lowest value is everybody's; and who meets another has something.
  const demanded = needs.filter(need => need !== nothing);
  return demanded.some(need => covers(anything, need)) ? demanded : [anything, ...demanded];
};

/** One of a few words, or the first of them where the query has none. */
export const choice = <const C extends readonly string[]>(request: Request, name: string, ...words: C): C[number] => {
  const asked = request.parameter(name) ?? words[0];
  const word = words.find(word => word === asked);
  if (word === undefined) throw refused(name, `${name} must be one of ${words.join(', ')}`);
  return word;
};
