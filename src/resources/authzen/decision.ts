/** One question and its answer: permitted by which teams and grants, or what is missing. */

import { meets, type Value, valueIn } from '../../core/access.ts';
import {
  type Action,
  actionOf,
  isOfOrganization,
  isResourceType,
  type OrganizationAction,
} from '../../core/actions.ts';
import { bitOf, effective, permits, type Standing, wholeOutlook } from '../../core/authority.ts';
import type { Holding } from '../../store/holdings.ts';
import type { AskedPlace, Named } from '../../store/questions.ts';
import { type Reason, reasonsFor, shownSource } from '../effective-access-resource.ts';
import { type Decision, isMove, type Question, type ShownMissing, type ShownReason } from './shapes.ts';
import type { Asking, Knowledge, Known } from './subjects.ts';

/** The one resource of type organization is known by its name, whatever its case. */
export const isOrganization = ({ type, id }: Named, { name }: Asking): boolean =>
  type === 'organization' && id.toLowerCase() === name.toLowerCase();

type Standpoint = {
  readonly stand: Omit<Standing, 'teams'> & { readonly teams: readonly Holding[] };
  readonly place?: AskedPlace;
};

/** Where a subject stands before a resource; undefined where either is not known. */
const standpoint = (
  { facts }: Knowledge,
  asking: Asking,
  subject: Known | undefined,
  resource: Named,
): Standpoint | undefined => {
  if (!subject) return undefined;
  if (isOrganization(resource, asking)) return { stand: facts.standing(subject) };
  const place = facts.placeOf(resource);
  return place && { stand: facts.standing(subject, resource), place };
};

/** Whoever belongs to the organization, or to a team, may by that alone. */
const byMembership = (team: Holding | undefined) => ({
  permission: 'membership',
  scope: 'organization' as const,
  ...(team && { 'team-id': team.id, 'team-name': team.name }),
  'organization-permission': 'membership',
  value: true,
});

const reasonsInOrganization = (by: OrganizationAction, { stand }: Standpoint): ShownReason[] => {
  if (by === 'membership') return [byMembership(undefined)];
  const given = (organizationPermission: string, team?: Holding) => ({
    permission: by[0] ?? 'owners',
    scope: 'organization' as const,
    ...(team && { 'team-id': team.id, 'team-name': team.name }),
    'organization-permission': organizationPermission,
    value: true,
  });
  if (stand.organizationToken) return [given('organization-token')];
  return stand.teams.flatMap(team => [
    ...(team.owners ? [given('owners', team)] : []),
    ...by.filter(each => (team.organizationAccess & bitOf(each)) !== 0).map(each => given(each, team)),
  ]);
};

const reasonsInPlace = ({ steps }: Action, reasons: readonly Reason[]): ShownReason[] =>
  steps.flatMap(({ permission, need }) =>
    reasons
      .filter(({ gives }) => meets(gives, need))
      .map(reason => ({
        permission: permission.name,
        scope: reason.scope,
        ...(reason.team && { 'team-id': reason.team.id }),
        ...(typeof reason.team?.name === 'string' && { 'team-name': reason.team.name }),
        ...shownSource(reason),
        value: valueIn(reason.gives, permission) as Value,
      })),
  );

/** All that gives what the action takes. */
const reasonsOf = (
  action: Action | OrganizationAction,
  { type, name }: { readonly type: string; readonly name: string },
  at: Standpoint,
): ShownReason[] => {
  if (isOfOrganization(action)) return reasonsInOrganization(action, at);
  const { stand, place } = at;
  const reasons = reasonsInPlace(action, reasonsFor(stand, stand.onDefaultProject, wholeOutlook));
  if (type !== 'team-project' || name !== 'read') return reasons;
  const own = stand.teams.find(({ id }) => id === place?.team?.id);
  // To a grant of a secret team, only those lead who manage all.
  const leading =
    place?.team?.visibility === 'organization' ? reasons : reasons.filter(({ value }) => value !== 'read');
  return [...(own ? [byMembership(own)] : []), ...leading];
};

/** The smallest step up, which follows from the action alone; and what is held instead, where the subject may read the resource. */
const missingFor = (
  action: Action | OrganizationAction,
  at: Standpoint | undefined,
  isReader: boolean,
): ShownMissing => {
  if (isOfOrganization(action)) {
    const permission = action === 'membership' ? action : (action[0] ?? 'owners');
    return { permission, value: true, ...(isReader && { held: false }) };
  }
  const [{ permission, value }] = action.steps;
  const held = at && isReader ? valueIn(effective(at.stand), permission) : null;
  return { permission: permission.name, value, ...(held !== null && { held }) };
};

type Verdict =
  | { readonly decision: true; readonly reasons: ShownReason[] }
  | { readonly decision: false; readonly missing?: ShownMissing };

/** Unknown, hidden and denied are one. */
const verdict = (resource: Named, name: string, at: Standpoint | undefined): Verdict => {
  const { type } = resource;
  const action = isResourceType(type) ? actionOf(type, name) : undefined;
  if (!isResourceType(type) || action === undefined) return { decision: false };
  const may = (name: string) => at !== undefined && permits(at.stand, type, name, at.place?.team);
  if (at && may(name)) return { decision: true, reasons: reasonsOf(action, { type, name }, at) };
  return { decision: false, missing: missingFor(action, at, may('read')) };
};

const sourceAlone =
  'action.properties.destination names no project: this is the answer for the project that the workspace leaves.';

const atDestination = { at: 'destination' as const };

/** Both ends of a move: the first that refuses decides. */
const joined = (source: Verdict, destination: Verdict | undefined): Verdict => {
  if (!destination || !source.decision) return source;
  if (destination.decision)
    return {
      decision: true,
      reasons: [...source.reasons, ...destination.reasons.map(reason => ({ ...reason, ...atDestination }))],
    };
  return { decision: false, missing: { ...(destination.missing as ShownMissing), ...atDestination } };
};

/** The resources that a question is about. */
export const resourcesIn = ({ action: { destination }, resource }: Omit<Question, 'subject'>): Named[] =>
  destination === undefined ? [resource] : [resource, { type: 'project', id: destination }];

/** Whether the subject may, and nothing else: what searches go by. */
export const isPermitted = (knowledge: Knowledge, asking: Asking, question: Question): boolean =>
  decided(knowledge, asking, question).decision;

const decided = (knowledge: Knowledge, asking: Asking, question: Question): Verdict => {
  const { known } = knowledge.holdingsOf(question.subject);
  const [source, destination] = resourcesIn(question).map(resource =>
    verdict(resource, question.action.name, standpoint(knowledge, asking, known, resource)),
  );
  return joined(source as Verdict, destination);
};

export const decisionOn = (knowledge: Knowledge, asking: Asking, question: Question): Decision => {
  const { decision, ...told } = decided(knowledge, asking, question);
  const { action, resource } = question;
  const { revision } = asking;
  const { reason } = knowledge.holdingsOf(question.subject);
  const isHalf = isMove(resource.type, action.name) && action.destination === undefined;
  const context = {
    ...(revision !== undefined && { revision }),
    ...told,
    ...(reason !== undefined && { reason }),
    ...(isHalf && { note: sourceAlone }),
  };
  return { decision, ...(Object.keys(context).length > 0 && { context }) };
};
