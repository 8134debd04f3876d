/** Team access: one grant for one team in one place. Projects and workspaces differ in what `Differences` names. */

import {
  type Access,
  type Grant,
  type Kind,
  type Level,
  nothing,
  type Permission,
  type Value,
  type Wish,
  type WorkspaceLevel,
} from '../core/access.ts';
import { excess, maySeeTeam, type Sight, type Standing, sees } from '../core/authority.ts';
import { found, invalid } from '../core/fault.ts';
import type { Prefix } from '../store/id.ts';
import { pageOf } from '../store/paging.ts';
import { teamOnView, within } from '../store/sight.ts';
import { type Sql, sql } from '../store/sql.ts';
import { columnsOf, everywhere, grantOf, standing, standings } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource, toOne } from '../wire/document.ts';
import { flag, oneDocument, oneOf, pagedDocument, type TSchema } from '../wire/schemas.ts';
import { get, list, type Operation, patch, pointerTo, post, type Request, remove, type Since } from './operation.ts';

// What a request wishes, and what the caller may give

export const valueSchema = ({ values }: Permission): TSchema =>
  typeof values[0] === 'boolean' ? flag : oneOf(...(values as string[]));

/** The wish of a body, whose permissions are found by `sent`. */
export const wishOf = <L extends string>(
  { choosable }: Kind<L>,
  access: Access<L> | undefined,
  sent: (permission: Permission) => unknown,
): Wish<L> => ({
  access,
  values: choosable.flatMap(permission => {
    const value = sent(permission);
    return value === undefined ? [] : [{ permission, value: value as Value }];
  }),
});

/** How a kind of grant is spoken of: where its permissions stand in a body, and what it says of those it refuses. */
type Wording = {
  readonly place: 'project' | 'workspace';
  readonly pointerAt: (permission: Permission) => string;
  readonly refusal: (permission: Permission, access: string) => string;
};

/** What the wish makes of the present grant, as far as the caller may give it. */
const decided = <L extends string>(
  { granted, changed }: Kind<L>,
  caller: Standing,
  wish: Wish<L>,
  present: Grant<L> | undefined,
  { place, pointerAt, refusal }: Wording,
): Grant<L> => {
  const next = changed(present, wish);
  if ('refused' in next) {
    const access = wish.access ?? present?.access ?? '';
    throw invalid(...next.refused.map(each => ({ pointer: pointerAt(each), detail: refusal(each, access) })));
  }
  const beyondReach = excess(caller, granted(next), present ? granted(present) : nothing);
  if (beyondReach.length > 0) {
    const detail = `would be more than your own access to this ${place}`;
    throw next.access === 'custom'
      ? invalid(...beyondReach.map(each => ({ pointer: pointerAt(each), detail: `${each.key} ${detail}` })))
      : invalid({ pointer: '/data/attributes/access', detail: `'${next.access}' ${detail}` });
  }
  return next;
};

// A kind of team access

/** `L` are its levels, `A` the attributes of a request. */
type Differences<L extends Level | WorkspaceLevel, A> = Wording & {
  readonly type: 'team-projects' | 'team-workspaces';
  readonly since: Since;
  readonly prefix: Prefix;
  readonly table: Sql;
  /** The column of the place, and the query for the caller's standing there. */
  readonly column: Sql;
  readonly at: (id: string) => Sql;
  readonly kind: Kind<L>;
  readonly Creation: TSchema<{ data: { attributes: A } }>;
  readonly Update: TSchema<{ data: { attributes?: A } }>;
  readonly Shown: TSchema;
  readonly wished: (attributes?: A) => Wish<L>;
  readonly attributesOf: (grant: Grant<L>) => NonNullable<Resource['attributes']>;
  readonly mayList: (standing: Standing) => boolean;
  readonly mayManage: (standing: Standing) => boolean;
  /** The teams whose access the caller sees. */
  readonly sight: (standing: Standing) => Sight;
};

type TeamAccess<L extends string> = {
  readonly id: string;
  readonly place: string;
  readonly team: { readonly id: string; readonly visibility: string };
  readonly grant: Grant<L>;
};

type Columns<L extends string> = [
  id: string,
  place: string,
  team: string,
  visibility: string,
  access: Access<L>,
  chosen: number | null,
  beyond: number | null,
  createdAt: string,
];

/** The operations on one kind of team access, and `add` for whoever brings the ids and times. */
export const teamAccess = <L extends Level | WorkspaceLevel, A>(differences: Differences<L, A>) => {
  const { type, since, prefix, place, table, column, at, kind, Creation, Update, Shown } = differences;
  const { wished, attributesOf, mayList, mayManage, sight } = differences;

  const shown = ({ id, place: placeId, team, grant }: TeamAccess<L>): Resource => ({
    id,
    type,
    attributes: attributesOf(grant),
    relationships: { team: toOne('teams', team.id), [place]: toOne(`${place}s`, placeId) },
    links: { self: pathOf(type, id) },
  });

  const documentOf = (access: TeamAccess<L>): Document => one(shown(access));

  // Storage

  const selected = sql`
    select ${table}.id, ${table}.${column}, ${table}.team_id, teams.visibility,
      ${table}.access, ${table}.chosen, ${table}.beyond, ${table}.created_at
    from ${table}
    join teams on teams.id = ${table}.team_id`;

  const fromRow = ([id, place, team, visibility, access, chosen, beyond]: Columns<L>): TeamAccess<L> => ({
    id,
    place,
    team: { id: team, visibility },
    grant: grantOf<L>(access, chosen, beyond) as Grant<L>,
  });

  const load = async (tx: Tx, id: string): Promise<TeamAccess<L> | undefined> => {
    const row = await tx.row<Columns<L>>(sql`${selected} where ${table}.id = ${id}`);
    return row && fromRow(row);
  };

  /** The unique key decides that a team has one grant in one place, also between two that come at once. */
  const add = async (
    tx: Tx,
    { id, place: placeId, team, grant }: Omit<TeamAccess<L>, 'team'> & { readonly team: { readonly id: string } },
    organization: string,
    now: string,
  ): Promise<void> => {
    const { chosen, beyond } = columnsOf(grant);
    const added = await tx.run(sql`
      insert into ${table} (id, organization_id, ${column}, team_id, access, chosen, beyond, created_at)
      values (${id}, ${organization}, ${placeId}, ${team.id}, ${grant.access}, ${chosen}, ${beyond}, ${now})
      on conflict (team_id, ${column}) do nothing`);
    if (added === 1) return;
    const existing = await tx.row<[id: string]>(sql`
      select id
      from ${table}
      where team_id = ${team.id} and ${column} = ${placeId}`);
    throw invalid({
      pointer: pointerTo('team'),
      detail: `The team already has access to this ${place}: ${existing?.[0]}`,
      meta: { id: existing?.[0] ?? '' },
    });
  };

  const save = (tx: Tx, id: string, grant: Grant<L>) => {
    const { chosen, beyond } = columnsOf(grant);
    return tx.run(sql`
      update ${table}
      set access = ${grant.access}, chosen = ${chosen}, beyond = ${beyond}
      where id = ${id}`);
  };

  // Operations. An audit row about team access is one about its place.

  const about = ({ organization, project }: Standing, { place, team }: TeamAccess<L>) => ({
    organization,
    id: place,
    project,
    team: team.id,
  });

  const path = `/api/v2/${type}` as const;
  const common = { family: type, since };
  const answer = oneDocument(Shown);

  /** One grant, and the caller's standing in its place. */
  const reached = async (
    { tx, caller, params }: Request<`${typeof path}/:id`>,
    allowed?: (standing: Standing) => boolean,
  ) => {
    const present = found(await load(tx, params.id));
    const stand = found(await standing(tx, caller, at(present.place)), allowed);
    return { present, stand };
  };

  const listing = list({
    ...common,
    path,
    summary: `List team access to a ${place}`,
    requiredFilters: [`filter[${place}][id]`],
    filters: ['filter[team][id]'],
    success: 200,
    answer: pagedDocument(Shown),
    failures: [404],
    run: async request => {
      const { tx, caller, page } = request;
      const placeId = request.requiredParameter(`filter[${place}][id]`);
      const team = request.parameter('filter[team][id]');
      const stand = found(await standing(tx, caller, at(placeId)), mayList);
      const rows = await pageOf<Columns<L>>(
        tx,
        sql`${selected}
          where ${table}.${column} = ${placeId}
            and ${within(sight(stand), caller)}
            and ${team === undefined ? sql`1 = 1` : sql`teams.id = ${team}`}`,
        page,
      );
      return request.paged(rows, row => shown(fromRow(row)));
    },
  });

  const show = get({
    ...common,
    path: `${path}/:id`,
    summary: `Show the access of a team to a ${place}`,
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { present, stand } = await reached(request);
      return documentOf(found(present, ({ team }) => sees(sight(stand), team)));
    },
  });

  const create = post({
    ...common,
    path,
    summary: `Add team access to a ${place}`,
    audit: { resource: place, action: 'add_team' },
    body: Creation,
    success: 200,
    answer,
    failures: [404, 422],
    run: async request => {
      const { tx, caller, now } = request;
      const placeId = request.named(place);
      // Whoever manages no such place at all learns nothing of a body that names none.
      const stands =
        placeId === undefined
          ? await standings(tx, caller, everywhere(caller))
          : [await standing(tx, caller, at(placeId))];
      const stand = found(
        stands.find(stand => stand && mayManage(stand)),
        undefined,
        pointerTo(place),
      );
      const teamId = request.named('team');
      if (placeId === undefined || teamId === undefined) throw request.flaws();
      const team = found(
        await teamOnView(tx, teamId),
        team => team.organization === stand.organization && maySeeTeam(stand, team),
        pointerTo('team'),
      );
      const grant = decided(kind, stand, wished(request.body().data.attributes), undefined, differences);
      const created = { id: request.newId(prefix), place: placeId, team, grant };
      await add(tx, created, stand.organization, now);
      const answer = documentOf(created);
      return {
        answer,
        change: { ...about(stand, created), before: null, after: answer.data },
      };
    },
  });

  const modify = patch({
    ...common,
    path: `${path}/:id`,
    summary: `Update team access to a ${place}`,
    audit: { resource: place, action: 'update_team_permissions' },
    body: Update,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const { present, stand } = await reached(request, mayManage);
      const before = documentOf(present);
      request.expectUnchanged(before);
      const grant = decided(kind, stand, wished(request.body().data.attributes), present.grant, differences);
      await save(request.tx, present.id, grant);
      const answer = documentOf({ ...present, grant });
      return {
        answer,
        change: { ...about(stand, present), before: before.data, after: answer.data },
      };
    },
  });

  const destroy = remove({
    ...common,
    path: `${path}/:id`,
    summary: `Remove team access from a ${place}`,
    audit: { resource: place, action: 'remove_team' },
    success: 204,
    failures: [404, 412],
    run: async request => {
      const { present, stand } = await reached(request, mayManage);
      const before = documentOf(present);
      request.expectUnchanged(before);
      await request.tx.run(sql`delete from ${table} where id = ${present.id}`);
      return {
        answer: undefined,
        change: { ...about(stand, present), before: before.data, after: null },
      };
    },
  });

  const operations: readonly Operation[] = [listing, show, create, modify, destroy];
  return { add, operations };
};
