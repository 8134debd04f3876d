/** Team access as it is shown and stored: one grant for one team in one place. Projects and workspaces differ in what `Differences` names. */

import type { Access, Grant, Kind, Level, Permission, Value, Wish, WorkspaceLevel } from '../core/access.ts';
import { nothing } from '../core/access.ts';
import { excess, type Sight, type Standing } from '../core/authority.ts';
import { type Flaw, invalid } from '../core/fault.ts';
import type { Prefix } from '../store/id.ts';
import { type Sql, sql } from '../store/sql.ts';
import { columnsOf, grantOf } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, one, pathOf, type Resource, toOne } from '../wire/document.ts';
import { flag, oneOf, type TSchema } from '../wire/schemas.ts';
import { quoted, template, templates } from '../wire/template.ts';
import type { Since } from './operation.ts';
import { pointerTo } from './request.ts';

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

/** How a kind of grant is spoken of: where its permissions stand in the attributes of a body, and what it says of those it refuses. */
type Wording = {
  readonly place: 'project' | 'workspace';
  readonly pointerAt: (permission: Permission) => string;
  readonly refusal: (permission: Permission, access: string) => string;
};

/** What a wish is held against: the grant that it changes, if it changes one, and the one that the team has. */
type Held<L extends string> = { readonly changes?: Grant<L>; readonly has?: Grant<L> | undefined };

/** The grant that comes of a wish, as far as the caller may give it, or what is wrong with it; `within` is where the body has it. */
export const decided = <L extends string>(
  { kind: { granted, changed }, place, pointerAt, refusal }: Wording & { readonly kind: Kind<L> },
  caller: Standing,
  wish: Wish<L>,
  { changes, has = changes }: Held<L> = {},
  within = '/data',
): Grant<L> | { readonly flaws: readonly Flaw[] } => {
  const at = (permission: Permission) => `${within}/attributes/${pointerAt(permission)}`;
  const next = changed(changes, wish);
  if ('refused' in next) {
    const access = wish.access ?? changes?.access ?? '';
    return { flaws: next.refused.map(each => ({ pointer: at(each), detail: refusal(each, access) })) };
  }
  const beyondReach = excess(caller, granted(next), has ? granted(has) : nothing);
  if (beyondReach.length === 0) return next;
  const detail = `would be more than your own access to this ${place}`;
  return {
    flaws:
      next.access === 'custom'
        ? beyondReach.map(each => ({ pointer: at(each), detail: `${each.key} ${detail}` }))
        : [{ pointer: `${within}/attributes/access`, detail: `'${next.access}' ${detail}` }],
  };
};

/** The same where nothing else can be wrong. */
export const given = <L extends string>(...wish: Parameters<typeof decided<L>>): Grant<L> => {
  const next = decided(...wish);
  if ('flaws' in next) throw invalid(...next.flaws);
  return next;
};

// A kind of team access

/** `L` are its levels, `A` the attributes of a request. */
export type Differences<L extends Level | WorkspaceLevel, A> = Wording & {
  readonly type: 'team-projects' | 'team-workspaces';
  readonly since: Since;
  readonly prefix: Prefix;
  readonly table: Sql;
  /** The column of the place, and the queries for the caller's standing there: by the place, and by a grant, with the grant. */
  readonly column: Sql;
  readonly at: (id: string) => Sql;
  readonly atGrant: (id: string) => Sql;
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

export type TeamAccess<L extends string> = {
  readonly id: string;
  readonly place: string;
  readonly team: { readonly id: string; readonly visibility: string };
  readonly grant: Grant<L>;
};

/** What an audit row about team access concerns: it is one about its place. */
export const about = (
  { organization, project }: Standing,
  { place, team }: Pick<TeamAccess<string>, 'place' | 'team'>,
) => ({
  organization,
  id: place,
  project,
  team: team.id,
});

export type Columns<L extends string> = [
  id: string,
  place: string,
  team: string,
  visibility: string,
  access: Access<L>,
  chosen: number | null,
  beyond: number | null,
];

/** A kind of team access: how it is shown and stored, beside what it differs in. */
export const teamAccessResource = <L extends Level | WorkspaceLevel, A>(differences: Differences<L, A>) => {
  const { type, place, table, column, attributesOf } = differences;

  const shown = ({ id, place: placeId, team, grant }: TeamAccess<L>): Resource => ({
    id,
    type,
    attributes: attributesOf(grant),
    relationships: { team: toOne('teams', team.id), [place]: toOne(`${place}s`, placeId) },
    links: { self: pathOf(type, id) },
  });

  const documentOf = (access: TeamAccess<L>): Document => one(shown(access));

  /** The same as text: grants of the same access differ in ids only. */
  const texts = templates<string, 'id' | 'placeId' | 'teamId'>(1_000, packed => {
    const [access, chosen, beyond] = packed.split(' ');
    const grant = grantOf<L>(access as Access<L>, Number(chosen), Number(beyond)) as Grant<L>;
    return template(['id', 'placeId', 'teamId'], ({ id, placeId, teamId }) =>
      shown({ id, place: placeId, team: { id: teamId, visibility: '' }, grant }),
    );
  });

  const textOf = ({ id, place: placeId, team, grant }: TeamAccess<L>): string => {
    const packed = 'chosen' in grant ? `${grant.access} ${grant.chosen} ${grant.beyond}` : grant.access;
    return texts(packed, { id: quoted(id), placeId: quoted(placeId), teamId: quoted(team.id) });
  };

  /** The same of a row that is packed so. */
  const packed = sql`
    id || ' ' || team_id || ' ' || access || case when chosen is null then '' else ' ' || chosen || ' ' || beyond end`;

  const textOfPacked = (placeId: string) => {
    const place = quoted(placeId);
    return (row: string): string => {
      const packed = quoted(row);
      const team = packed.indexOf(' ') + 1;
      const grant = packed.indexOf(' ', team) + 1;
      const [id, teamId] = [packed.slice(0, team - 1), packed.slice(team, grant - 1)];
      return texts(packed.slice(grant), { id, teamId, placeId: place });
    };
  };

  /** Whom and where a change to the access of these teams may touch. */
  const touching = ({ organization }: Standing, placeId: string, teams: readonly TeamAccess<L>['team'][]) => ({
    organization,
    teams: teams.map(({ id }) => id),
    [`${place}s`]: [placeId],
    isOfGrants: true,
  });

  // Storage

  const selected = sql`
    select ${table}.id, ${table}.${column}, ${table}.team_id, teams.visibility,
      ${table}.access, ${table}.chosen, ${table}.beyond
    from ${table}
    join teams on teams.id = ${table}.team_id`;

  const fromRow = ([id, place, team, visibility, access, chosen, beyond]: Columns<L>): TeamAccess<L> => ({
    id,
    place,
    team: { id: team, visibility },
    grant: grantOf<L>(access, chosen, beyond) as Grant<L>,
  });

  /** All access to one place, or what is visible of it, in the order of every list. */
  const loadAll = async (tx: Tx, placeId: string, visible = sql`1 = 1`): Promise<readonly TeamAccess<L>[]> => {
    const rows = await tx.rows<Columns<L>>(sql`
      ${selected}
      where ${table}.${column} = ${placeId} and ${visible}
      order by ${table}.created_at, ${table}.id`);
    return rows.map(fromRow);
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

  const drop = (tx: Tx, ids: readonly string[]) => tx.run(sql`delete from ${table} where id in (${ids})`);

  return {
    ...differences,
    shown,
    documentOf,
    textOf,
    packed,
    textOfPacked,
    touching,
    fromRow,
    loadAll,
    add,
    save,
    drop,
  };
};

export type TeamAccessResource<L extends Level | WorkspaceLevel, A> = ReturnType<typeof teamAccessResource<L, A>>;
