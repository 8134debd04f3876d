/** What is done with team access, one grant at a time, in projects and in workspaces alike. */

import type { Level, WorkspaceLevel } from '../core/access.ts';
import { maySeeTeam, type Standing, sees } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { pageOf } from '../store/paging.ts';
import { teamOnView, within } from '../store/sight.ts';
import { sql } from '../store/sql.ts';
import { everywhere, standing, standings } from '../store/standing.ts';
import { oneDocument, pagedDocument } from '../wire/schemas.ts';
import { get, list, type Operation, patch, post, remove } from './operation.ts';
import { pointerTo, type Request } from './request.ts';
import { about, type Columns, given, type TeamAccessResource } from './team-access-resource.ts';

/** The operations on one kind of team access. An audit row about team access is one about its place. */
export const teamAccess = <L extends Level | WorkspaceLevel, A>(
  resource: TeamAccessResource<L, A>,
): readonly Operation[] => {
  const { type, since, prefix, place, table, column, at, Creation, Update, Shown } = resource;
  const { wished, mayList, mayManage, sight, shown, documentOf, touching, selected, fromRow, load, add, save, drop } =
    resource;

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
      const grant = given(resource, stand, wished(request.body().data.attributes));
      const created = { id: request.newId(prefix), place: placeId, team, grant };
      await request.affecting(touching(stand, placeId, [team]));
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
      const wish = wished(request.body().data.attributes);
      const grant = given(resource, stand, wish, { changes: present.grant });
      await request.affecting(touching(stand, present.place, [present.team]));
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
      await request.affecting(touching(stand, present.place, [present.team]));
      await drop(request.tx, [present.id]);
      return {
        answer: undefined,
        change: { ...about(stand, present), before: before.data, after: null },
      };
    },
  });

  return [listing, show, create, modify, destroy];
};
