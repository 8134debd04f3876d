/** The chains of the audit trail from end to end: rows from before there were any are linked, and all are verified. */

import {
  chainOf,
  following,
  type Head,
  hashOf,
  moveHead,
  siteChain,
  type Told,
  type ToldAtFirst,
  told,
  toldAtFirst,
} from './audit.ts';
import { sql } from './sql.ts';
import type { Tx } from './store.ts';

/** Rows held at a time: a trail may be longer than the memory. */
const pageSize = 500;

/**
 * Belongs to the migration that brought the chains: each organization's rows in the order in which the trail shows them, with
 * the columns that there were.
 */
export const chainOldEvents = async (tx: Tx, size = pageSize, columns = toldAtFirst): Promise<void> => {
  const organizations = await tx.rows<[id: string | null]>(sql`select distinct organization_id from audit_events`);
  for (const [organization] of organizations) {
    const chain = chainOf(organization);
    const own = organization === null ? sql`organization_id is null` : sql`organization_id = ${organization}`;
    const pageAfter = (createdAt: string, id: string) =>
      tx.rows<ToldAtFirst>(sql`
        select ${columns}
        from audit_events
        where ${own} and (created_at, id) > (${createdAt}, ${id})
        order by created_at, id
        limit ${size}`);
    let last: Head | undefined;
    for (let page = await pageAfter('', ''); page.length > 0; ) {
      for (const row of page) {
        const { position, previous, hash } = following(chain, last, row);
        await tx.run(sql`
          update audit_events
          set chain = ${chain}, position = ${position}, previous_hash = ${previous}, hash = ${hash}
          where id = ${row[0]}`);
        last = { position, hash };
      }
      const [id, , , , , , , , , , createdAt] = page.at(-1) as ToldAtFirst;
      page = await pageAfter(createdAt, id);
    }
    if (last) await moveHead(tx, chain, last);
  }
};

/** Where something is wrong, as far as it can be told, and what. */
export type Finding = {
  readonly chain: string | null;
  /** Of the organization, while it exists. */
  readonly name: string | null;
  readonly position: number | null;
  readonly event: string | null;
  readonly wrong: string;
};

/** The last row of a chain that was walked to its end. */
export type ChainEnd = Head & { readonly chain: string; readonly name: string | null };

/** The last rows of an earlier time, by chain, kept where whoever writes to the database does not. */
export type Anchors = ReadonlyMap<string, Head>;

type Hearing = {
  readonly found: (finding: Finding) => void;
  readonly ended: (ending: ChainEnd) => void;
};

type Linked = readonly [chain: string, position: number, previous: string | null, hash: string | null, ...told: Told];

/** The chain before the place, the place before the id: a trail from which the index was dropped has an order too. */
async function* rowsInChains(tx: Tx, size: number): AsyncGenerator<Linked> {
  for (let last: Linked | undefined; ; ) {
    const after = last ? sql`and (chain, position, id) > (${last[0]}, ${last[1]}, ${last[4]})` : sql``;
    const page: Linked[] = await tx.rows<Linked>(sql`
      select chain, position, previous_hash, hash, ${told}
      from audit_events
      where chain is not null and position is not null ${after}
      order by chain, position, id
      limit ${size}`);
    yield* page;
    last = page.at(-1);
    if (!last) return;
  }
}

async function* rowsInNone(tx: Tx, size: number): AsyncGenerator<readonly [id: string, organization: string | null]> {
  for (let last = ''; ; ) {
    const page = await tx.rows<[id: string, organization: string | null]>(sql`
      select id, organization_id
      from audit_events
      where (chain is null or position is null) and id > ${last}
      order by id
      limit ${size}`);
    yield* page;
    if (page.length === 0) return;
    last = page.at(-1)?.[0] as string;
  }
}

/** Every organization has a chain, since it was founded by a change; so has the site, since its first user. */
const chainsWithoutRows = sql`
  select chain
  from (
    select chain from audit_heads
    union
    select id from organizations
    union
    select ${siteChain} where exists (select 1 from users)
  ) as known
  where not exists (select 1 from audit_events where audit_events.chain = known.chain and position is not null)
  order by chain`;

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** One chain, row by row; its head and its name are read at the beginning. */
const walkAlong = async (tx: Tx, chain: string, anchor: Head | undefined, { found, ended }: Hearing) => {
  type Known = [position: number | null, hash: string | null, name: string | null];
  const known = await tx.row<Known>(sql`
    select head.position, head.hash, organization.name
    from (select 1 as one) as one
    left join audit_heads as head on head.chain = ${chain}
    left join organizations as organization on organization.id = ${chain}`);
  const [headAt, headHash, name] = known ?? [null, null, null];
  let at = 0;
  let last: string | null = null;
  let event: string | null = null;
  const wrong = (what: string): void => found({ chain, name, position: at || null, event, wrong: what });

  const step = ([, position, previous, hash, ...row]: Linked): void => {
    const expected = at + 1;
    const before = last;
    [at, last, event] = [position, hash, row[0]];
    if (hash === null) wrong('the row has no hash');
    else if (hash !== hashOf(chain, position, previous, row)) wrong('the row was changed, since its hash is another');
    if (position > expected) wrong(`missing before this row: ${counted(position - expected, 'row')}`);
    else if (position !== expected) wrong(`the row is out of place: position ${expected} comes next`);
    else if (previous !== before) wrong('the row does not follow the one before it, whose hash is another');
    if (position === anchor?.position && hash !== anchor.hash) wrong('the row is not the one that was anchored');
  };

  const end = (): void => {
    if (headAt === null)
      wrong(event === null ? 'there is no row and no head' : 'the head is missing after this last row');
    else if (headAt > at) wrong(`missing at the end: ${counted(headAt - at, 'row')}`);
    else if (headAt < at) wrong(`the head is at position ${headAt}, before this last row`);
    else if (headHash !== last) wrong('the head has another hash than this last row');
    if (anchor && anchor.position > at)
      wrong(`the chain was anchored at position ${anchor.position}, which is missing`);
    if (last !== null) ended({ chain, name, position: at, hash: last });
  };

  return { chain, step, end };
};

/** Recomputes every hash and tells of all that is wrong; gives back how many rows there are. Within one read, it sees one state. */
export const verifyChains = async (
  tx: Tx,
  hearing: Hearing,
  anchors: Anchors = new Map(),
  size = pageSize,
): Promise<number> => {
  const unmet = new Set(anchors.keys());
  const walkOf = (chain: string) => {
    unmet.delete(chain);
    return walkAlong(tx, chain, anchors.get(chain), hearing);
  };
  let rows = 0;
  let walk: Awaited<ReturnType<typeof walkOf>> | undefined;
  for await (const row of rowsInChains(tx, size)) {
    if (row[0] !== walk?.chain) {
      walk?.end();
      walk = await walkOf(row[0]);
    }
    walk.step(row);
    rows++;
  }
  walk?.end();
  for (const [chain] of await tx.rows<[chain: string]>(chainsWithoutRows)) (await walkOf(chain)).end();
  for (const chain of [...unmet]) (await walkOf(chain)).end();
  for await (const [event, organization] of rowsInNone(tx, size)) {
    hearing.found({ chain: organization, name: null, position: null, event, wrong: 'the row is in no chain' });
    rows++;
  }
  return rows;
};
