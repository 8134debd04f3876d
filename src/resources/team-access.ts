/** What is done with team access, one grant at a time, in projects and in workspaces alike. */

import type { Level, WorkspaceLevel } from '../core/access.ts';
import { maySeeTeam, type Standing, sees } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { packedPageOf } from '../store/paging.ts';
import { teamOnView, within } from '../store/sight.ts';
import { sql } from '../store/sql.ts';
import { everywhere, standings } from '../store/standing.ts';
import { Written } from '../wire/document.ts';
import { oneValue } from '../wire/paging.ts';
import { oneDocument, pagedDocument } from '../wire/schemas.ts';
import { get, list, type Operation, patch, post, remove } from './operation.ts';
import { type Incoming, namedIn, pointerTo, type Request } from './request.ts';
import { about, type Columns, given, type TeamAccessResource } from './team-access-resource.ts';

/** The operations on one kind of team access. An audit row about team access is one about its place. */
export const teamAccess = <L extends Level | WorkspaceLevel, A>(
  resource: TeamAccessResource<L, A>,
): readonly Operation[] => {
  const { type, since, prefix, place, table, column, at, atGrant, Creation, Update, Shown } = resource;
  const { wished, mayList, mayManage, sight, documentOf, textOf, touching, fromRow, add, save, drop } = resource;
  const { packed, textOfPacked } = resource;

  const path = `/api/v2/${type}` as const;
  const common = { family: type, since };
  const answer = oneDocument(Shown);

  const one = { ...common, path: `${path}/:id` as const, at: ({ params }: Incoming) => atGrant(params.id ?? '') };

  /** One grant, and the caller's standing in its place. */
  const reached = ({ here }: Request, allowed?: (standing: Standing) => boolean) => {
    const { stand, place } = found(here);
    return { present: fromRow(place as Columns<L>), stand: found(stand, allowed) };
  };

  const placeFilter = `filter[${place}][id]`;

  const listing = list({
    ...common,
    path,
    at: ({ query }) => {
      const id = oneValue(query, placeFilter);
      return id === undefined ? undefined : at(id);
    },
    summary: `List team access to a ${place}`,
    requiredFilters: [placeFilter],
    filters: ['filter[team][id]'],
    success: 200,
    answer: pagedDocument(Shown),
    failures: [404],
    run: async request => {
      const { tx, caller, page } = request;
      const placeId = request.requiredParameter(placeFilter);
      const team = request.parameter('filter[team][id]');
      const { stand } = found(request.here, ({ stand }) => mayList(stand));
      const seen = sight(stand);
      const isSeen = sql`exists (select 1 from teams where teams.id = ${table}.team_id and ${within(seen, caller)})`;
      const from = sql`
        from ${table}
        where ${column} = ${placeId} and ${seen === 'all' ? sql`1 = 1` : isSeen}
          and ${team === undefined ? sql`1 = 1` : sql`team_id = ${team}`}`;
      const { items, total } = await packedPageOf(
        tx,
        {
          visible: sql`select id, team_id, access, chosen, beyond, created_at ${from}`,
          counted: sql`select 1 as one ${from}`,
          packed,
        },
        page,
      );
      return request.written({ items, total }, textOfPacked(placeId));
    },
  });

  const show = get({
    ...one,
    summary: `Show the access of a team to a ${place}`,
    alone: true,
    success: 200,
    answer,
    failures: [404],
    run: async request => {
      const { present, stand } = reached(request);
      return new Written(`{"data":${textOf(found(present, ({ team }) => sees(sight(stand), team)))}}`);
    },
  });

  const create = post({
    ...common,
    path,
    at: ({ body }) => {
      const id = namedIn((body as { data?: unknown } | null | undefined)?.data, place);
      return id === undefined ? undefined : at(id);
    },
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
      const stands = placeId === undefined ? await standings(tx, caller, everywhere(caller)) : [request.here?.stand];
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
    ...one,
    summary: `Update team access to a ${place}`,
    audit: { resource: place, action: 'update_team_permissions' },
    body: Update,
    success: 200,
    answer,
    failures: [404, 412, 422],
    run: async request => {
      const { present, stand } = reached(request, mayManage);
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
    ...one,
    summary: `Remove team access from a ${place}`,
    audit: { resource: place, action: 'remove_team' },
    success: 204,
    failures: [404, 412],
    run: async request => {
      const { present, stand } = reached(request, mayManage);
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
