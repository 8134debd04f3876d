/** The whole team access of a place at once: read as one list, and made to be as a list says. */

import { isDeepStrictEqual } from 'node:util';
import type { Level, WorkspaceLevel } from '../core/access.ts';
import { maySeeTeam, type Standing, sees } from '../core/authority.ts';
import { type Flaw, found, notFound } from '../core/fault.ts';
import { teamsOnView, within } from '../store/sight.ts';
import { standing } from '../store/standing.ts';
import type { Document } from '../wire/document.ts';
import { largestList } from '../wire/limits.ts';
import { count, listOf, open, type TSchema, text, wholeList } from '../wire/schemas.ts';
import { accepts, mostFlaws } from '../wire/validation.ts';
import { get, type Operation, put } from './operation.ts';
import { namedIn, pointerTo, type Request } from './request.ts';
import { about, decided, type TeamAccess, type TeamAccessResource } from './team-access-resource.ts';

/** The two operations; `Item` is what a body says of each team. */
export const teamAccessList = <L extends Level | WorkspaceLevel, A>(
  resource: TeamAccessResource<L, A>,
  Item: TSchema<{ id?: string; attributes: A; relationships: { team: unknown } }>,
): readonly Operation[] => {
  const { type, prefix, place, at, Shown, wished, mayList, mayManage, sight } = resource;
  const { shown, touching, loadAll, add, save, drop } = resource;
  const path = `/api/v2/${place}s/:id/${type}` as const;
  const common = { path, family: type, since: 'not of the interface', success: 200 } as const;

  type Access = TeamAccess<L>;
  type Team = Access['team'];
  type Wanted = { readonly team: Team; readonly present: Access | undefined; readonly grant: Access['grant'] };
  type Asked = Request<typeof path>;

  const listed = (all: readonly Access[]): Document => ({ data: all.map(shown) });
  const idsOf = (all: readonly Access[]): string[] => all.map(({ id }) => id);

  const standingOf = async ({ tx, caller, params }: Asked, allowed: (standing: Standing) => boolean) =>
    found(await standing(tx, caller, at(params.id)), allowed);

  const reading = get({
    ...common,
    summary: `List all team access to a ${place}, whole`,
    answer: wholeList(Shown),
    failures: [404],
    run: async request => {
      const stand = await standingOf(request, mayList);
      return listed(await loadAll(request.tx, request.params.id, within(sight(stand), request.caller)));
    },
  });

  /** Each team that an item names. Whoever manages the list may name those in it, and others that exist for the caller. */
  const teamsNamed = async (request: Asked, stand: Standing, all: readonly Access[]): Promise<Map<string, Team>> => {
    const names = request.rawItems.map(item => namedIn(item, 'team'));
    const teams = new Map<string, Team>(all.map(({ team }) => [team.id, team]));
    const others = names.filter(name => name !== undefined && !teams.has(name)) as string[];
    for (const team of await teamsOnView(request.tx, others))
      if (team.organization === stand.organization && maySeeTeam(stand, team)) teams.set(team.id, team);
    const lost = names.flatMap((name, index) =>
      name === undefined || teams.has(name) ? [] : [pointerTo('team', `/data/${index}`)],
    );
    if (lost.length > 0) throw notFound(...lost.slice(0, mostFlaws));
    return teams;
  };

  const isSound = accepts(Item);

  /** What every item wants. The flaws of all items are told together, those of the schema among them. */
  const wantedIn = async (request: Asked, stand: Standing, all: readonly Access[]): Promise<readonly Wanted[]> => {
    const teams = await teamsNamed(request, stand, all);
    const presentOf = new Map(all.map(access => [access.team.id, access]));
    const flaws: Flaw[] = [];
    const named = new Set<string>();
    const wanted = request.rawItems.flatMap((item, index) => {
      const within = `/data/${index}`;
      const team = teams.get(namedIn(item, 'team') ?? '');
      if (team && named.has(team.id))
        flaws.push({ pointer: pointerTo('team', within), detail: 'The team is there twice' });
      if (team) named.add(team.id);
      if (!team || !isSound(item)) return [];
      const present = presentOf.get(team.id);
      // An empty id counts as none, as everywhere.
      if (item.id && item.id !== present?.id)
        flaws.push({ pointer: `${within}/id`, detail: 'id must be that of the access that the team has, or absent' });
      // The list replaces the one before: what an item does not name takes the default, as on creation, whatever the team has.
      const grant = decided(resource, stand, wished(item.attributes), { has: present?.grant }, within);
      if (!('flaws' in grant)) return [{ team, present, grant }];
      flaws.push(...grant.flaws);
      return [];
    });
    request.body({ known: flaws });
    return wanted;
  };

  const replacing = put({
    ...common,
    summary: `Replace all team access to a ${place}: adds, changes and removes what it takes`,
    audit: { resource: place, action: 'set_teams' },
    body: open({ data: listOf(Item) }),
    largestBody: largestList,
    answer: wholeList(Shown, {
      added: listOf(text),
      changed: listOf(text),
      removed: listOf(text),
      unchanged: count,
    }),
    failures: [404, 412, 422],
    run: async request => {
      const { tx, params, now } = request;
      const stand = await standingOf(request, mayManage);
      const { organization } = stand;
      const before = await loadAll(tx, params.id);
      request.expectUnchanged(listed(before));

      const wanted = await wantedIn(request, stand, before);
      const kept = new Set(wanted.map(({ present }) => present?.id));
      const removed = before.filter(({ id }) => !kept.has(id));
      const changed = wanted.flatMap(({ present, grant }) =>
        present && !isDeepStrictEqual(present.grant, grant) ? [{ present, next: { ...present, grant } }] : [],
      );
      const newcomers = wanted.filter(({ present }) => !present);
      // Grants of one moment are listed by their ids: in this order they stand as the body has them.
      const ids = newcomers.map(() => request.newId(prefix)).sort();
      const added = newcomers.map(({ team, grant }, index) => ({
        id: ids[index] ?? '',
        place: params.id,
        team,
        grant,
      }));

      const touched = [...removed, ...changed.map(({ present }) => present), ...added].map(({ team }) => team);
      await request.affecting(touching(stand, params.id, touched));
      await drop(tx, idsOf(removed));
      for (const { next } of changed) await save(tx, next.id, next.grant);
      for (const access of added) await add(tx, access, organization, now);

      const after = await loadAll(tx, params.id);
      // The caller may have taken its own sight of the others.
      const sightNow = sight(await standingOf(request, mayList));
      const list = listed(after.filter(({ team }) => sees(sightNow, team)));
      const told = (action: string, of: Access, before: Access | null, after: Access | null) => ({
        audit: { resource: place, action },
        ...about(stand, of),
        before: before && shown(before),
        after: after && shown(after),
      });
      return {
        answer: {
          ...list,
          meta: {
            added: idsOf(added),
            changed: idsOf(changed.map(({ next }) => next)),
            removed: idsOf(removed),
            unchanged: before.length - removed.length - changed.length,
          },
        },
        tagged: list,
        change: {
          organization,
          id: params.id,
          project: stand.project,
          before: listed(before).data,
          after: listed(after).data,
        },
        // Whoever reads the trail for what becomes of a team finds it here too.
        besides: [
          ...removed.map(access => told('remove_team', access, access, null)),
          ...changed.map(({ present, next }) => told('update_team_permissions', next, present, next)),
          ...added.map(access => told('add_team', access, null, access)),
        ],
      };
    },
  });

  return [reading, replacing];
};
