/** What every member of an organization holds on every project, in pieces: each is one state of the database, and small. */

import { nothing } from '../core/access.ts';
import { heldBy } from '../core/authority.ts';
import type { Holding, Named } from './holdings.ts';
import { type Sql, sql } from './sql.ts';
import { ownersTeam, packedGrantWithId, type TeamGrant, unpackedGrants } from './standing.ts';
import type { Tx } from './store.ts';

/** Where something stands in the order of creation. */
type Key = { readonly createdAt: string; readonly id: string };

export type Member = {
  readonly membership: Key;
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly teams: readonly Holding[];
};

export type ProjectHeld = Named & {
  readonly key: Key;
  readonly onDefaultProject: boolean;
  /** Of the members' teams, by team. */
  readonly grants: ReadonlyMap<string, TeamGrant>;
};

/** What comes next: those after this member or, where a project is named, this member itself from after that project on. */
export type Bookmark = { readonly member: Key; readonly project?: Key };

const beforeAll: Key = { createdAt: '', id: '' };

export const beginning: Bookmark = { member: beforeAll };

export type Piece = {
  readonly members: readonly Member[];
  readonly projects: readonly ProjectHeld[];
  /** Undefined at the end. */
  readonly next: Bookmark | undefined;
  /** Of how many members the next may be at most, as far as this one tells. */
  readonly most: number;
};

/** Teams times projects that a piece has at most: it is what a piece holds. */
const mostGrants = 2000;
/** Members times projects: few enough that whoever may read no more is noticed soon. */
const mostPairs = 8000;
/** Few enough that they are gone before the engine takes them for lasting. */
const mostProjects = 250;
const mostMembers = 256;

type MemberColumns = [
  createdAt: string,
  membership: string,
  user: string,
  username: string,
  email: string,
  team: string | null,
  name: string,
  visibility: string,
  organizationAccess: number,
];

const membersFrom = async (
  tx: Tx,
  organization: string,
  { member, project }: Bookmark,
  count: number,
  which: Sql,
): Promise<Member[]> => {
  const key = sql`(organization_memberships.created_at, organization_memberships.id)`;
  const from = sql`(${member.createdAt}, ${member.id})`;
  const rows = await tx.rows<MemberColumns>(sql`
    select page.created_at, page.id, page.user_id, page.username, page.email,
      teams.id, teams.name, teams.visibility, teams.organization_access
    from (
      select organization_memberships.created_at, organization_memberships.id, users.id as user_id, users.username,
        users.email
      from organization_memberships
      join users on users.id = organization_memberships.user_id
      where organization_memberships.organization_id = ${organization}
        and ${project ? sql`${key} >= ${from}` : sql`${key} > ${from}`} and ${which}
      order by organization_memberships.created_at, organization_memberships.id
      limit ${count}
    ) as page
    left join team_memberships on team_memberships.membership_id = page.id
    left join teams on teams.id = team_memberships.team_id
    order by page.created_at, page.id, teams.created_at, teams.id`);
  return [...Map.groupBy(rows, ([, membership]) => membership).values()].map(group => {
    const [[createdAt, membership, id, username, email]] = group as [MemberColumns];
    const teams = group.flatMap(([, , , , , team, name, visibility, organizationAccess]) =>
      team === null ? [] : [{ id: team, name, visibility, owners: name === ownersTeam, organizationAccess }],
    );
    return { membership: { createdAt, id: membership }, id, username, email, teams };
  });
};

const none: ReadonlyMap<string, TeamGrant> = new Map();

type ProjectColumns = [createdAt: string, id: string, name: string, isDefault: number, grants: string | null];

/** Those projects alone on which the teams may hold something. */
const projectsFrom = async (
  tx: Tx,
  organization: string,
  after: Key,
  teams: readonly Holding[],
  count: number,
  which: Sql,
): Promise<ProjectHeld[]> => {
  const ids = teams.map(({ id }) => id);
  const somewhere = teams.some(team => heldBy(team, true) !== nothing)
    ? sql`1 = 1`
    : sql`projects.id in (select project_id from team_projects where team_id in (${ids}))`;
  const rows = await tx.rows<ProjectColumns>(sql`
    select projects.created_at, projects.id, projects.name, projects.is_default, (
      select string_agg(${packedGrantWithId}, ',')
      from team_projects
      where project_id = projects.id and team_id in (${ids})
    )
    from projects
    where projects.organization_id = ${organization}
      and (projects.created_at, projects.id) > (${after.createdAt}, ${after.id}) and ${which} and ${somewhere}
    order by projects.created_at, projects.id
    limit ${count}`);
  return rows.map(([createdAt, id, name, isDefault, grants]) => ({
    key: { createdAt, id },
    id,
    name,
    onDefaultProject: isDefault === 1,
    grants: grants === null ? none : new Map(unpackedGrants(grants).map(each => [each.team, each])),
  }));
};

export type Reviewed = {
  readonly organization: string;
  /** What narrows the rows of `users`, and of `projects`. */
  readonly users: Sql;
  readonly projects: Sql;
};

/** The next piece, of so many members at most. */
export const pieceAfter = async (
  tx: Tx,
  { organization, users, projects: which }: Reviewed,
  bookmark: Bookmark,
  most: number,
  { grants = mostGrants, pairs = mostPairs } = {},
): Promise<Piece> => {
  const members = await membersFrom(tx, organization, bookmark, bookmark.project ? 1 : most, users);
  const [first, last] = [members[0], members.at(-1)];
  if (!first || !last) return { members: [], projects: [], next: undefined, most };
  const teams = [...new Map(members.flatMap(member => member.teams.map(team => [team.id, team]))).values()];
  const room = Math.min(Math.ceil(grants / Math.max(teams.length, 1)), Math.ceil(pairs / members.length), mostProjects);
  // The member in the middle of whose projects the last piece ended may be gone, and this another.
  const after = first.membership.id === bookmark.member.id ? bookmark.project : undefined;
  const found = await projectsFrom(tx, organization, after ?? beforeAll, teams, room + 1, which);
  const projects = found.slice(0, room);
  const end = projects.at(-1);
  // Where the projects of all do not fit, it is some of the first one's.
  return found.length > room && end
    ? {
        members: [first],
        projects,
        next: { member: first.membership, project: end.key },
        most: Math.max(Math.floor(most / 2), 1),
      }
    : {
        members,
        projects,
        next: { member: last.membership },
        most: Math.max(Math.min(most + 1, Math.floor(pairs / Math.max(projects.length, 1)), mostMembers), 1),
      };
};
