/** Who may do what, where, and why: everybody in one place, or one subject in every place. */

import { meets } from '../core/access.ts';
import {
  mayReadAccount,
  mayReadOrganization,
  mayReadProject,
  mayReadWorkspace,
  maySeeTeam,
  outlook,
  type Standing,
  seenIn,
  sees,
  visibleTeams,
  wholeOutlook,
  withoutGrants,
} from '../core/authority.ts';
import { found } from '../core/fault.ts';
import {
  anything,
  type Holding,
  holdingsAt,
  type Place,
  placesHeld,
  type Subject,
  subjectIn,
  usersHolding,
} from '../store/holdings.ts';
import { type Sql, sql } from '../store/sql.ts';
import {
  inOrganization,
  inOrganizationNamed,
  onProject,
  onWorkspace,
  standing,
  standingAtTeam,
  standingWithNames,
} from '../store/standing.ts';
import type { Document } from '../wire/document.ts';
import { pagedDocument } from '../wire/schemas.ts';
import {
  choice,
  EffectiveAccess,
  joined,
  needFilters,
  needNotes,
  needsAsked,
  reasonsFor,
  shownAccess,
} from './effective-access-resource.ts';
import { list } from './operation.ts';
import { nameOf } from './organization-resource.ts';
import type { Request } from './request.ts';

const common = {
  family: 'effective-access',
  since: 'not of the interface',
  success: 200,
  answer: pagedDocument(EffectiveAccess),
  failures: [404],
} as const;

const subjectKinds = ['users', 'teams'] as const;
const placeKinds = ['projects', 'workspaces'] as const;

/** A workspace may be seen without its project: then what the project is called is hidden. */
const asSeenBy = <P extends Place>(stand: Standing, { project, ...place }: P) => ({
  ...place,
  project: { id: project.id, name: mayReadProject(stand) ? project.name : null },
});

// Everybody in one place

const everybody = async (
  request: Request<`/api/v2/${string}/:id/effective-access`>,
  kind: 'projects' | 'workspaces',
  mayRead: (standing: Standing) => boolean,
): Promise<Document> => {
  const { tx, caller, page } = request;
  const { stand, names } = found(await standingWithNames(tx, caller, kind, request.params.id), ({ stand }) =>
    mayRead(stand),
  );
  const subjects = choice(request, 'filter[subject]', ...subjectKinds);
  const needs = needsAsked(request, anything[kind]);
  const { onDefaultProject, project, workspace } = stand;
  const place = asSeenBy(stand, {
    onDefaultProject,
    project: { id: project ?? '', name: names.project },
    workspace: workspace === null ? undefined : { id: workspace, name: names.workspace ?? '' },
  });
  const view = outlook(stand);
  const reasonsOf = (teams: readonly Holding[]) =>
    reasonsFor({ organizationToken: false, teams }, onDefaultProject, view);
  const teams = await holdingsAt(tx, stand);
  if (subjects === 'teams') {
    const all = teams
      .map(team => ({ team, reasons: reasonsOf([team]) }))
      .filter(({ reasons }) => needs.every(need => meets(joined(reasons), need)));
    const items = all.slice((page.number - 1) * page.size, page.number * page.size);
    return request.paged({ items, total: all.length }, ({ team, reasons }) => {
      const name = sees(view.teams, team) ? team.name : null;
      return shownAccess({ type: 'teams', id: team.id, name }, place, reasons);
    });
  }
  // Who sees a team sees its members; a team that is known by its grant alone shows none.
  const known = teams.filter(team => sees(view.teams, team)).map(team => seenIn(view, team));
  const users = await usersHolding(tx, stand.organization, known, onDefaultProject, needs, page);
  return request.paged(users, ({ id, name, teams }) =>
    shownAccess({ type: 'users', id, name }, place, reasonsOf(teams)),
  );
};

const filteringEverybody = {
  filters: ['filter[subject]', ...needFilters],
  notes: {
    'filter[subject]': { means: 'Who is listed; users unless it says otherwise', words: subjectKinds },
    ...needNotes,
  },
};

// One subject in every place

/** The caller's standing in the organization that the query names, or else in that of the place which it names. */
const standingAsked = async (request: Request): Promise<Standing | undefined> => {
  const { tx, caller } = request;
  const [workspace, project, name] = namedIn(request);
  if (name === undefined && workspace !== undefined)
    return found(await standing(tx, caller, onWorkspace(workspace)), mayReadWorkspace);
  if (name === undefined && project !== undefined)
    return found(await standing(tx, caller, onProject(project)), mayReadProject);
  return standing(tx, caller, inOrganizationNamed(request.requiredParameter('filter[organization][name]')));
};

/** What the query names. */
const namedIn = (request: Request) =>
  ['workspace][id', 'project][id', 'organization][name'].map(each => request.parameter(`filter[${each}]`));

/** The places that the query leaves, said of rows of `organizations`' projects, and of workspaces where they are listed. */
const narrowed = (request: Request, organization: string): Sql => {
  const [workspace, project, name] = namedIn(request);
  return sql`
    ${project === undefined ? sql`1 = 1` : sql`projects.id = ${project}`}
    and ${workspace === undefined ? sql`1 = 1` : sql`workspaces.id = ${workspace}`}
    and ${
      name === undefined
        ? sql`1 = 1`
        : sql`exists (
          select 1
          from organizations
          where organizations.id = ${organization} and lower(organizations.name) = lower(cast(${name} as ctext))
        )`
    }`;
};

const everyPlace = async (request: Request, stand: Standing, subject: Subject): Promise<Document> => {
  const { organization } = stand;
  // A workspace that is named is what is asked for.
  const kinds = request.parameter('filter[workspace][id]') === undefined ? placeKinds : (['workspaces'] as const);
  const kind = choice(request, 'filter[resource]', ...kinds);
  const needs = needsAsked(request, anything[kind]);
  const known = { ...subject, teams: subject.teams.filter(team => sees(visibleTeams(stand), team)) };
  const places = await placesHeld(request.tx, {
    asker: withoutGrants(stand),
    organization,
    subject: known,
    kind,
    needs,
    page: request.page,
    which: narrowed(request, organization),
  });
  return request.paged(places, place => {
    const { asker, teams, onDefaultProject } = place;
    const [view, seen] = asker === 'all' ? [wholeOutlook, place] : [outlook(asker), asSeenBy(asker, place)];
    const holder = { organizationToken: subject.organizationToken, teams };
    return shownAccess(subject, seen, reasonsFor(holder, onDefaultProject, view));
  });
};

const filteringPlaces = {
  filters: [
    ...['filter[resource]', 'filter[project][id]', 'filter[workspace][id]', 'filter[organization][name]'],
    ...needFilters,
  ],
  notes: {
    'filter[resource]': { means: 'What is listed; projects unless a workspace is named', words: placeKinds },
    'filter[organization][name]': {
      means: 'Required where the subject is a user, unless a project or workspace is named',
    },
    ...needNotes,
  },
};

/** The caller as a subject, and its standing. A token of a team or an organization has but one organization to ask about. */
const itself = async (request: Request): Promise<{ readonly stand: Standing; readonly subject: Subject }> => {
  const { tx, caller } = request;
  found(caller, mayReadAccount);
  if (caller.kind === 'user') {
    const stand = found(await standingAsked(request), mayReadOrganization);
    return { stand, subject: found(await subjectIn(tx, stand.organization, { type: 'users', id: caller.user })) };
  }
  const stand = found(await standing(tx, caller, inOrganization(caller.organization)));
  if (caller.kind === 'team')
    return { stand, subject: found(await subjectIn(tx, stand.organization, { type: 'teams', id: caller.team })) };
  const name = await nameOf(tx, caller.organization);
  return { stand, subject: { type: 'organizations', id: name, name, organizationToken: true, teams: [] } };
};

export const effectiveAccess = [
  list({
    ...common,
    path: '/api/v2/projects/:id/effective-access',
    summary: 'List who may do what on a project, and why',
    ...filteringEverybody,
    run: request => everybody(request, 'projects', mayReadProject),
  }),

  list({
    ...common,
    path: '/api/v2/workspaces/:id/effective-access',
    summary: 'List who may do what on a workspace, and why',
    ...filteringEverybody,
    run: request => everybody(request, 'workspaces', mayReadWorkspace),
  }),

  list({
    ...common,
    path: '/api/v2/teams/:id/effective-access',
    summary: 'List where a team may do what, and why',
    ...filteringPlaces,
    run: async request => {
      const { tx, caller, params } = request;
      const { stand } = found(await standingAtTeam(tx, caller, params.id), ({ stand, team }) =>
        maySeeTeam(stand, team),
      );
      const subject = found(await subjectIn(tx, stand.organization, { type: 'teams', id: params.id }));
      return everyPlace(request, stand, subject);
    },
  }),

  list({
    ...common,
    path: '/api/v2/users/:id/effective-access',
    summary: 'List where a member of an organization may do what in it, and why',
    ...filteringPlaces,
    run: async request => {
      const stand = found(await standingAsked(request), mayReadOrganization);
      const subject = await subjectIn(request.tx, stand.organization, { type: 'users', id: request.params.id });
      return everyPlace(request, stand, found(subject));
    },
  }),

  list({
    ...common,
    path: '/api/v2/account/effective-access',
    summary: 'List where the caller itself may do what in an organization, and why',
    ...filteringPlaces,
    run: async request => {
      const { stand, subject } = await itself(request);
      return everyPlace(request, stand, subject);
    },
  }),
];
