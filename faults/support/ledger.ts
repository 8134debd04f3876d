/** What clients were told of their writes, and whether the database agrees: by HTTP, and between its rows and its audit rows. */

import assert from 'node:assert/strict';
import { sql } from '../../src/store/sql.ts';
import type { Store } from '../../src/store/store.ts';
import { damages, danglingReferences } from '../../test/support/tables.ts';
import type { Server } from './stage.ts';

export type Kind = 'teams' | 'projects' | 'team-projects';

/** The one attribute that is changed, told in every answer and in every audit row. */
export const telling: Readonly<Record<Kind, string>> = {
  teams: 'name',
  projects: 'description',
  'team-projects': 'access',
};

/** The value of that attribute; undefined of what is not there. */
type State = string | undefined;

export type Thing = {
  readonly kind: Kind;
  readonly id: string;
  readonly owner: number;
  state: State;
  /** What it may be instead, since nobody told whether a change was made. */
  doubt?: { readonly state: State } | undefined;
};

/** What was told of a write. */
type Told = 'done' | 'undone' | 'unknown';

const tellsDoubt = /may have been made/;

export class Ledger {
  /** By their id, which is in the audit row. */
  readonly #requests = new Map<string, Told>();
  readonly things = new Map<string, Thing>();
  /** Those that were deleted and looked for in vain; looked for once more at the very end. */
  readonly #gone = new Set<Thing>();
  #numbers = 0;
  acknowledged = 0;
  unknown = 0;

  isAcknowledged(request: string): boolean {
    return this.#requests.get(request) === 'done';
  }

  /** Sends a write and notes what was told of it. */
  async send(server: Server, method: string, path: string, data?: unknown) {
    const id = `write-${++this.#numbers}`;
    const reply = await server.ask(method, `/api/v2/${path}`, data, id);
    const { status, text = '' } = reply;
    assert.ok([0, 200, 201, 204, 503].includes(status), `${method} ${path} answered ${status}: ${text}`);
    const told: Told =
      status >= 200 && status < 300 ? 'done' : status === 0 || tellsDoubt.test(text) ? 'unknown' : 'undone';
    this.#requests.set(id, told);
    if (told === 'done') this.acknowledged++;
    if (told === 'unknown') this.unknown++;
    return { told, reply };
  }

  /** Everything is as it was told to be, and what nobody told is one of two things. */
  async verify(server: Server, isLast = false): Promise<void> {
    const waiting = [...this.things.values(), ...(isLast ? this.#gone : [])];
    const look = async (): Promise<void> => {
      for (let thing = waiting.pop(); thing; thing = waiting.pop()) {
        const { kind, id, state, doubt } = thing;
        const { status, body, text } = await server.ask('GET', `/api/v2/${kind}/${id}`);
        assert.ok(status === 200 || status === 404, `GET ${kind}/${id} answered ${status}: ${text}`);
        const found: State = status === 404 ? undefined : body.data.attributes[telling[kind]];
        if (found !== state && !(doubt && found === doubt.state))
          assert.fail(
            `an acknowledged write was lost: ${kind}/${id} is ${found ?? 'absent'}, not ${state ?? 'absent'}`,
          );
        thing.state = found;
        thing.doubt = undefined;
        if (found !== undefined) continue;
        this.things.delete(id);
        this.#gone.add(thing);
      }
    };
    await Promise.all(Array.from({ length: 8 }, look));
  }

  /** In a database that nobody writes to meanwhile: each change has its audit row, each audit row its change, and all is whole. */
  async audit(store: Store): Promise<void> {
    assert.deepEqual(await damages(store), [], 'the database is damaged');
    assert.deepEqual(
      await store.read(tx => danglingReferences(tx, store.engine)),
      [],
      'rows name others that are gone',
    );
    const { events, rows } = await store.read(async tx => ({
      events: await tx.rows<[request: string, before: string | null, after: string | null]>(sql`
        select request_id, before_change, after_change
        from audit_events
        where request_id like 'write-%'
        order by chain, position`),
      rows: await tx.rows<[id: string, state: string]>(sql`
        select id, name from teams where name <> 'owners'
        union all
        select id, description from projects where is_default = 0
        union all
        select id, access from team_projects`),
    }));
    this.#compareRequests(events.map(([request]) => request));

    const last = new Map<string, Audited>();
    for (const [, before, after] of events) {
      const resource: Audited['resource'] = JSON.parse(after ?? before ?? '');
      const isNew = before === null;
      assert.equal(
        isNew,
        !last.has(resource.id),
        `${resource.id} was audited ${isNew ? 'twice as new' : 'before it was'}`,
      );
      last.set(resource.id, { resource, isThere: after !== null });
    }
    // A grant goes with its team and with its project, whose audit rows tell of it.
    const isLeft = ({ resource: { type, relationships }, isThere }: Audited): boolean =>
      isThere &&
      (type !== 'team-projects' ||
        [relationships.team, relationships.project].every(part => last.get(part?.data.id ?? '')?.isThere));
    const stored = new Map(rows);
    for (const [id, state] of stored) {
      const audited = last.get(id);
      assert.ok(audited && isLeft(audited), `${id} is stored without its audit row`);
      const { type, attributes } = audited.resource;
      assert.equal(state, attributes[telling[type]], `${id} was changed without its audit row`);
    }
    for (const [id, audited] of last)
      assert.equal(stored.has(id), isLeft(audited), `${id} has an audit row without its change`);
  }

  #compareRequests(audited: readonly string[]): void {
    const found = new Set(audited);
    assert.equal(found.size, audited.length, 'a write has two audit rows');
    for (const [id, told] of this.#requests)
      if (told !== 'unknown') assert.equal(found.has(id), told === 'done', `${id} was told to be ${told}`);
  }
}

type Audited = {
  readonly isThere: boolean;
  readonly resource: {
    readonly id: string;
    readonly type: Kind;
    readonly attributes: Readonly<Record<string, string>>;
    readonly relationships: Readonly<Record<string, { readonly data: { readonly id: string } }>>;
  };
};
