/** Who may do this here, where may somebody do this, and what may somebody do here: each result evaluates to true, and nothing else does. */

import { type Action, actionOf, actionsOn, isOfOrganization, isResourceType } from '../../core/actions.ts';
import { mayAskAbout, mayAskAboutAnyone, permits } from '../../core/authority.ts';
import { found } from '../../core/fault.ts';
import { type Holding, placesHeld } from '../../store/holdings.ts';
import { grantsHeld, holdersIn, membersIn, type Named, teamsIn } from '../../store/questions.ts';
import type { Listing, Page } from '../../wire/paging.ts';
import { ask } from '../operation.ts';
import type { Request } from '../request.ts';
import { isOrganization, isPermitted, resourcesIn } from './decision.ts';
import { endpoints } from './discovery.ts';
import { cut, pageFor, pageShown, type Search } from './paging.ts';
import {
  ActionSearch,
  actionAsked,
  FoundAction,
  FoundEntity,
  type PageAsked,
  type Question,
  ResourceSearch,
  results,
  SubjectSearch,
} from './shapes.ts';
import { type Asking, asked, type Known, knowledge, ofQuestions } from './subjects.ts';

const nothingFound: Listing<never> = { items: [], total: 0 };

/** The page that is asked for, and the answer that shows it. */
const searching = async <T>(
  request: Request,
  asking: Asking,
  search: Search,
  asked: PageAsked,
  find: (page: Page) => Promise<Listing<T>>,
  shown: (item: T) => object,
) => {
  const { tokenKey } = request.services;
  const whole = [asking.stand.organization, ...search];
  const page = pageFor(tokenKey, whole, asked);
  const answer = pageShown(tokenKey, whole, page, await find(page), shown);
  return { ...answer, ...(asking.revision !== undefined && { context: { revision: asking.revision } }) };
};

// Subjects

type SubjectsAsked = Omit<Question, 'subject'> & { readonly type: string };

/** Those of the teams that may by themselves. A user may exactly where one of its teams does: there are no deny rules. */
const teamsPermitted = async (
  { tx }: Pick<Request, 'tx'>,
  { stand: { organization } }: Asking,
  resource: Named,
  name: string,
): Promise<readonly string[]> => {
  const { type } = resource;
  const holders = isResourceType(type) ? await holdersIn(tx, organization, resource) : undefined;
  if (!holders || !isResourceType(type)) return [];
  const { place, teams } = holders;
  const alone = (team: Holding) => ({ organization, ...place, member: true, organizationToken: false, teams: [team] });
  return teams.filter(team => permits(alone(team), type, name, place.team)).map(({ id }) => id);
};

const subjectsFound = async (
  request: Request,
  asking: Asking,
  { type, action, resource }: SubjectsAsked,
  page: Page,
): Promise<Listing<string>> => {
  const { tx } = request;
  const { organization } = asking.stand;
  const isOfUsers = type === 'user';
  if (!isOfUsers && type !== 'team') return nothingFound;
  if (resource.type === 'organization' && !isOrganization(resource, asking)) return nothingFound;
  const rule = isResourceType(resource.type) ? actionOf(resource.type, action.name) : undefined;
  if (rule === 'membership') return isOfUsers ? membersIn(tx, organization, [], page) : teamsIn(tx, organization, page);
  const permitted: (readonly string[])[] = [];
  for (const each of resourcesIn({ action, resource }))
    permitted.push(await teamsPermitted(request, asking, each, action.name));
  if (isOfUsers) return membersIn(tx, organization, permitted, page);
  const [source = [], destination = source] = permitted;
  return cut(
    source.filter(id => destination.includes(id)),
    page,
  );
};

// Resources

type ResourcesAsked = Omit<Question, 'resource'> & { readonly type: string };

const placesFound = async (
  request: Request,
  asking: Asking,
  { subject, action, type }: ResourcesAsked,
  { need }: Action,
  known: Known,
  page: Page,
): Promise<Listing<string>> => {
  const { organization } = asking.stand;
  if (type === 'team-project')
    return grantsHeld(request.tx, organization, known, { need, reads: action.name === 'read' }, page);
  const kind = type === 'project' ? 'projects' : 'workspaces';
  const holder = { ...known, type: 'users' as const, id: subject.id, name: '' };
  const asked = { asker: 'all', organization, subject: holder, kind, needs: [need], page } as const;
  const { items, total } = await placesHeld(request.tx, asked);
  return { items: items.map(({ project, workspace }) => (workspace ?? project).id), total };
};

const resourcesFound = async (
  request: Request,
  asking: Asking,
  question: ResourcesAsked,
  page: Page,
): Promise<Listing<string>> => {
  const { subject, action, type } = question;
  const rule = isResourceType(type) ? actionOf(type, action.name) : undefined;
  if (rule === undefined) return nothingFound;
  const destination = action.destination === undefined ? [] : [{ type: 'project', id: action.destination }];
  const knows = await knowledge(request, asking, [subject], destination);
  const { known } = knows.holdingsOf(subject);
  if (!known) return nothingFound;
  const isPermittedOn = (resource: Named, name = action.name) =>
    isPermitted(knows, asking, { subject, action: { name }, resource });
  if (isOfOrganization(rule)) {
    const own = { type, id: asking.name };
    return cut(isPermittedOn(own) ? [own.id] : [], page);
  }
  if (!destination.every(project => isPermittedOn(project))) return nothingFound;
  return placesFound(request, asking, question, rule, known, page);
};

// Actions

const actionsFound = async (
  request: Request,
  asking: Asking,
  { subject, resource }: Omit<Question, 'action'>,
): Promise<readonly string[]> => {
  const knows = await knowledge(request, asking, [subject], [resource]);
  return actionsOn(resource.type).filter(name => isPermitted(knows, asking, { subject, action: { name }, resource }));
};

export const searches = [
  ask({
    ...ofQuestions,
    path: `/organizations/:organization${endpoints.search_subject_endpoint}`,
    summary: 'Find the users or teams that are permitted an action on a resource (AuthZEN)',
    body: SubjectSearch,
    answer: results(FoundEntity),
    run: async request => {
      const { asking, body } = await asked(request, mayAskAboutAnyone);
      const { type } = body.subject;
      const { resource } = body;
      const action = actionAsked(body.action, resource);
      const search = ['subject', type, action.name, action.destination, resource.type, resource.id];
      const find = (page: Page) => subjectsFound(request, asking, { type, action, resource }, page);
      return searching(request, asking, search, body.page, find, id => ({ type, id }));
    },
  }),

  ask({
    ...ofQuestions,
    path: `/organizations/:organization${endpoints.search_resource_endpoint}`,
    summary: 'Find the resources on which a subject is permitted an action (AuthZEN)',
    body: ResourceSearch,
    answer: results(FoundEntity),
    run: async request => {
      const { asking, body } = await asked(request);
      const subject = found(body.subject, subject => mayAskAbout(asking.stand, request.caller, subject));
      const { type } = body.resource;
      const action = actionAsked(body.action, body.resource);
      const search = ['resource', subject.type, subject.id, action.name, action.destination, type];
      const find = (page: Page) => resourcesFound(request, asking, { subject, action, type }, page);
      return searching(request, asking, search, body.page, find, id => ({ type, id }));
    },
  }),

  ask({
    ...ofQuestions,
    path: `/organizations/:organization${endpoints.search_action_endpoint}`,
    summary: 'Find the actions that a subject is permitted on a resource (AuthZEN)',
    body: ActionSearch,
    answer: results(FoundAction),
    run: async request => {
      const { asking, body } = await asked(request);
      const subject = found(body.subject, subject => mayAskAbout(asking.stand, request.caller, subject));
      const { resource } = body;
      const search = ['action', subject.type, subject.id, resource.type, resource.id];
      const find = async (page: Page) => cut(await actionsFound(request, asking, { subject, resource }), page);
      return searching(request, asking, search, body.page, find, name => ({ name }));
    },
  }),
];
