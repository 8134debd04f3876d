/** The audit trail can be trusted: what was edited, removed, reordered, cut or added afterwards is found. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { addAuditEvent, type Head, hashOf, told, toldAtFirst } from '../src/store/audit.ts';
import { type Anchors, chainOldEvents } from '../src/store/audit-chain.ts';
import { newUuid, secureRandom } from '../src/store/id.ts';
import { migrate } from '../src/store/migrations.ts';
import { type Sql, sql } from '../src/store/sql.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Store, Tx } from '../src/store/store.ts';
import { Dice, printSeed, testSeed } from './support/dice.ts';
import { recording } from './support/recording.ts';
import { startServer } from './support/server.ts';
import { type Event, exchange, forge, remove, removeChain, set, shift, valuesOf } from './support/tampering.ts';
import { foundAfter, tamperAtRandom, verified, writeTrail } from './support/trail.ts';
import { walk } from './support/walk.ts';
import { Directory, newDirectory } from './support/world.ts';

const eventOf = (organization: string) => ({
  id: newUuid(secureRandom),
  organization,
  action: 'create',
  resource: { type: 'team', id: 'team-x' },
  actor: { type: 'users', id: 'user-x', name: 'x' },
  token: 'at-x',
  request: 'x',
  createdAt: '2026-01-01T00:00:00.000Z',
  before: null,
  after: {},
});

let directory: Directory;
let store: Store;
let events: Event[];
let organizations: string[];

before(async () => {
  directory = await newDirectory(testSeed);
  ({ store } = directory.server);
  events = await writeTrail(directory);
  organizations = [...new Set(events.map(({ chain }) => chain))].filter(chain => chain !== 'site');
});

after(() => directory.server.close());

const ofChain = (chain: string): Event[] => events.filter(event => event.chain === chain);
/** How many changes each organization has seen that is still there. */
const longest = 12;
/** The organization called 'one', by id. */
const first = (): string => events.find(({ told }) => told[12]?.includes('"name":"one"'))?.chain as string;
const eventAt = (position: number): Event => ofChain(first())[position - 1] as Event;

describe('what was written is whole', () => {
  test('every row has its place in the chain of its organization, and the site is a chain of its own', async () => {
    const { rows, findings, endings } = await store.read(tx => verified(tx));
    assert.deepEqual(findings, []);
    assert.equal(rows, events.length);
    assert.deepEqual(
      endings.map(({ chain, position }) => [chain, position]),
      [...organizations, 'site'].sort().map(chain => [chain, ofChain(chain).length]),
    );
    assert.deepEqual(endings.map(({ name }) => name).sort(), [null, null, 'one', 'three', 'two']);
    for (const { chain, told } of events) assert.equal(chain, told[1] ?? 'site');
  });

  test('a chain outlives its organization', async () => {
    const gone = await store.read(tx =>
      tx.rows<[string]>(sql`
        select chain
        from audit_heads
        where chain <> 'site' and not exists (select 1 from organizations where id = chain)`),
    );
    assert.equal(gone.length, 1);
    assert.equal(ofChain(gone[0]?.[0] as string).length, 2, 'it was founded and it was removed');
  });

  test('after every operation there is', async t => {
    const server = await startServer();
    t.after(() => server.close());
    const { writes } = await walk(new Directory(server));
    const { rows, findings } = await server.store.read(tx => verified(tx));
    assert.deepEqual([rows, findings], [writes + 1, []]);
  });

  test('after many changes at once: each row follows another', async t => {
    const server = await startServer();
    t.after(() => server.close());
    const directory = new Directory(server);
    for (const name of ['left', 'right']) await directory.organization(directory.admin, name);
    const makings = Array.from({ length: 60 }, (_, index) =>
      directory.team(directory.admin, index % 2 ? 'left' : 'right', { name: `team-${index}` }),
    );
    await Promise.all(makings);
    const { rows, findings, endings } = await server.store.read(tx => verified(tx));
    assert.deepEqual(findings, []);
    assert.equal(rows, 63);
    assert.deepEqual(endings.map(({ position }) => position).sort(), [1, 31, 31]);
  });

  test('however few rows are read at a time', async () => {
    for (const size of [1, 2, 7, events.length]) {
      const { rows, findings } = await store.read(tx => verified(tx, undefined, size));
      assert.deepEqual([rows, findings], [events.length, []]);
    }
  });

  test('in pages, since a trail may be longer than the memory', async () => {
    const seen: Sql[] = [];
    await store.read(tx => {
      const noted = (statement: Sql) => {
        seen.push(statement);
        return tx.rows(statement);
      };
      return verified({ ...tx, rows: noted as Tx['rows'] }, undefined, 7);
    });
    const walking = seen.filter(({ chunks }) => /\blimit\b/.test(chunks.join('?')));
    // Full pages, the rest, an empty one to end with; and one for what is in no chain.
    assert.equal(walking.length, Math.ceil(events.length / 7) + 2);
    assert.ok(walking.every(({ values }) => values.at(-1) === 7));
    assert.equal(seen.length, walking.length + 1, 'and one for chains without rows');
  });

  test('a change takes three statements for its row, whatever the length of the chain', async t => {
    const log: Parameters<typeof recording>[1] = [];
    const server = await startServer({ store: recording(openSqlite(':memory:'), log) });
    t.after(() => server.close());
    const directory = new Directory(server);
    await directory.organization(directory.admin, 'acme');
    await directory.team(directory.admin, 'acme', { name: 'devs' });
    const { statements } = log.findLast(({ kind }) => kind === 'write') ?? { statements: [] };
    assert.equal(statements.filter(({ chunks }) => /\baudit_/.test(chunks.join('?'))).length, 3);
  });

  test('where the head cannot be moved, the change does not happen', async t => {
    let broken = false;
    const store = recording(openSqlite(':memory:'), [], ({ chunks }) => {
      if (broken && /insert into audit_heads/.test(chunks.join('?'))) throw new Error('no head today');
    });
    const server = await startServer({ store });
    t.after(() => server.close());
    const directory = new Directory(server);
    await directory.organization(directory.admin, 'acme');
    broken = true;
    const body = { type: 'projects', attributes: { name: 'production' } };
    assert.equal((await directory.admin.post('/organizations/acme/projects', body)).status, 500);
    broken = false;
    assert.deepEqual((await store.read(tx => verified(tx))).findings, []);
    assert.equal((await directory.admin.post('/organizations/acme/projects', body)).status, 201);
  });

  test('a chain whose head is gone is not begun anew: no row takes the place of another', async () => {
    const again = store.write(async tx => {
      await tx.run(sql`delete from audit_heads where chain = ${first()}`);
      await addAuditEvent(tx, eventOf(first()));
    });
    await assert.rejects(again, /unique/i);
  });
});

describe('what was done to it is told, with its place', () => {
  type Told = readonly [position: number | null, wrong: RegExp];
  const changed = /^the row was changed/;
  const follows = /^the row does not follow/;

  const cases: Readonly<Record<string, readonly [work: (tx: Tx) => Promise<unknown>, ...told: Told[]]>> = {
    'an edited row': [tx => set(tx, eventAt(4), { actor_id: 'user-other' }), [4, changed]],
    'a removed row': [tx => remove(tx, [eventAt(4)]), [5, /^missing before this row: 1 row$/]],
    'several removed rows': [
      tx => remove(tx, [eventAt(4), eventAt(5), eventAt(6)]),
      [7, /^missing before this row: 3 rows$/],
    ],
    'a cut beginning': [tx => remove(tx, [eventAt(1), eventAt(2)]), [3, /^missing before this row: 2 rows$/]],
    'a cut end': [
      tx => remove(tx, [eventAt(longest), eventAt(longest - 1)]),
      [longest - 2, /^missing at the end: 2 rows$/],
    ],
    'rows whose places were exchanged': [
      tx => exchange(tx, eventAt(4), eventAt(6), ['position']),
      [4, changed],
      [4, follows],
      [5, follows],
      [6, changed],
      [6, follows],
      [7, follows],
    ],
    'a row that was rehashed after an edit': [
      async tx => {
        const { chain, position, told } = eventAt(4);
        const [previous = null] = await valuesOf(tx, eventAt(4), ['previous_hash']);
        const [id, organization, , ...rest] = told;
        const hash = hashOf(chain, position, previous as string, [id, organization, 'other', ...rest]);
        await set(tx, eventAt(4), { action: 'other', hash });
      },
      [5, follows],
    ],
    'a row put in between': [
      async tx => {
        const [previous = null] = await valuesOf(tx, eventAt(longest - 1), ['hash']);
        await shift(tx, eventAt(longest - 1), 1);
        await forge(tx, eventAt(3), { chain: first(), position: longest, previous: previous as string });
      },
      [longest + 1, changed],
      [longest + 1, follows],
      [longest + 1, /^the head is at position \d+, before this last row$/],
    ],
    'a row without a hash': [
      tx => set(tx, eventAt(longest), { hash: null }),
      [longest, /has no hash/],
      [longest, /head/],
    ],
    'a row in no chain': [tx => forge(tx, eventAt(3), { chain: null, position: null }), [null, /in no chain/]],
    'a head that was removed': [
      tx => tx.run(sql`delete from audit_heads where chain = ${first()}`),
      [longest, /^the head is missing/],
    ],
    'a head that was set back': [
      tx => tx.run(sql`update audit_heads set position = position - 1 where chain = ${first()}`),
      [longest, /^the head is at position \d+, before/],
    ],
    'a head with another hash': [
      tx => tx.run(sql`update audit_heads set hash = ${'0'.repeat(64)} where chain = ${first()}`),
      [longest, /^the head has another hash/],
    ],
    'a trail of which the head alone is left': [
      tx => remove(tx, ofChain(first())),
      [null, new RegExp(`^missing at the end: ${longest} rows$`)],
    ],
    'an organization whose trail is gone with its head': [
      tx => removeChain(tx, first()),
      [null, /^there is no row and no head$/],
    ],
  };

  for (const [what, [work, ...expected]] of Object.entries(cases))
    test(what, async () => {
      const findings = await foundAfter(store, work);
      assert.deepEqual(
        findings.map(({ position }) => position),
        expected.map(([position]) => position),
      );
      for (const [index, { chain, name, wrong }] of findings.entries()) {
        assert.match(wrong, expected[index]?.[1] as RegExp);
        assert.equal(chain, first());
        if (!/no chain/.test(wrong)) assert.equal(name, 'one');
      }
    });

  test('the site’s own trail, gone with its head', async () => {
    const findings = await foundAfter(store, tx => removeChain(tx, 'site'));
    assert.deepEqual(
      findings.map(({ chain, wrong }) => [chain, wrong]),
      [['site', 'there is no row and no head']],
    );
  });

  test('a chain that goes by another name, with its head', async () => {
    const [gone] = organizations.filter(id => ofChain(id).length === 2) as [string];
    const findings = await foundAfter(store, async tx => {
      await tx.run(sql`update audit_events set chain = 'org-other' where chain = ${gone}`);
      await tx.run(sql`update audit_heads set chain = 'org-other' where chain = ${gone}`);
    });
    assert.deepEqual(
      findings.map(({ chain, position }) => [chain, position]),
      [
        ['org-other', 1],
        ['org-other', 2],
      ],
    );
  });

  test('a row that was moved to another chain is missed in its own and refused in the other', async () => {
    const [other] = organizations.filter(id => id !== first()) as [string];
    const position = ofChain(other).length + 1;
    const findings = await foundAfter(store, tx =>
      set(tx, eventAt(4), { organization_id: other, chain: other, position }),
    );
    assert.deepEqual(new Set(findings.map(({ chain }) => chain)), new Set([first(), other]));
  });
});

describe('what a row says beside the first columns', () => {
  const later = { effect: '{"changes":[]}', project_id: 'prj-x', team_id: 'team-x' };
  const names = Object.keys(later) as (keyof typeof later)[];
  const subsets = Array.from({ length: 2 ** names.length }, (_, bits) => names.filter((_, at) => bits & (1 << at)));
  const saying = (said: readonly string[]) => ({
    ...(said.includes('effect') && { effect: { changes: [] } }),
    ...(said.includes('project_id') && { project: later.project_id }),
    ...(said.includes('team_id') && { team: later.team_id }),
  });

  test('the hash of a row that says nothing there is that of the rows from before', () => {
    const ids = ['event-x', 'org-x', 'destroy', 'team', 'team-x', 'users', 'user-x'] as const;
    const row = [...ids, null, 'at-x', 'request', '2026-01-01T00:00:00.000Z', '{}', null] as const;
    const before = createHash('sha256').update(JSON.stringify(['org-x', 7, 'abc', ...row]));
    assert.equal(hashOf('org-x', 7, 'abc', [...row, null, null, null]), before.digest('hex'));
  });

  test('whatever is put there, taken from there or exchanged there is found', async () => {
    for (const said of subsets)
      for (const wanted of subsets) {
        const event = eventOf(first());
        const forged = Object.fromEntries(names.map(name => [name, wanted.includes(name) ? later[name] : null]));
        const findings = await foundAfter(store, async tx => {
          await addAuditEvent(tx, { ...event, ...saying(said) });
          await set(tx, { ...eventAt(1), id: event.id }, forged);
        });
        const isSame = said.join() === wanted.join();
        assert.deepEqual(
          findings.map(({ event, wrong }) => [event, wrong]),
          isSame ? [] : [[event.id, 'the row was changed, since its hash is another']],
          `${said} as ${wanted}`,
        );
      }
  });

  test('no value in one column is taken for the same in another', async () => {
    const findings = await foundAfter(store, async tx => {
      const event = eventOf(first());
      await addAuditEvent(tx, { ...event, project: 'x' });
      await set(tx, { ...eventAt(1), id: event.id }, { project_id: null, team_id: 'x' });
    });
    assert.equal(findings.length, 1);
  });
});

describe('anchors', () => {
  const anchored = async (): Promise<Anchors> => {
    const { endings } = await store.read(tx => verified(tx));
    return new Map(endings.map(({ chain, position, hash }) => [chain, { position, hash }]));
  };

  test('agree with a trail that has grown since', async () => {
    const earlier = new Map<string, Head>();
    for (const [chain] of await anchored()) {
      const [hash] = await store.read(tx => valuesOf(tx, ofChain(chain)[0] as Event, ['hash']));
      earlier.set(chain, { position: 1, hash: hash as string });
    }
    assert.deepEqual((await store.read(tx => verified(tx, earlier))).findings, []);
  });

  test('find what is whole in itself: a trail that was edited or cut and then linked anew, head and all', async () => {
    const anchors = await anchored();
    const linkedAnew = (work: (tx: Tx) => Promise<unknown>) => async (tx: Tx) => {
      await work(tx);
      await tx.run(sql`update audit_events set chain = null, position = null, previous_hash = null, hash = null`);
      await tx.run(sql`delete from audit_heads`);
      await chainOldEvents(tx, undefined, told);
    };
    for (const [work, wrong] of [
      [(tx: Tx) => set(tx, eventAt(1), { actor_name: 'nobody' }), /not the one that was anchored/],
      [(tx: Tx) => remove(tx, [eventAt(4)]), /was anchored at position \d+, which is missing/],
      [(tx: Tx) => remove(tx, [eventAt(longest)]), /was anchored at position \d+, which is missing/],
    ] as const) {
      assert.deepEqual(await foundAfter(store, linkedAnew(work)), [], 'in itself it is whole');
      const findings = await foundAfter(store, linkedAnew(work), anchors);
      assert.deepEqual(
        findings.map(({ chain }) => chain),
        [first()],
      );
      assert.match(findings[0]?.wrong ?? '', wrong);
    }
  });

  test('find a whole chain that is gone without a trace', async () => {
    const [gone] = organizations.filter(id => ofChain(id).length === 2) as [string];
    assert.deepEqual(await foundAfter(store, tx => removeChain(tx, gone)), []);
    const findings = await foundAfter(store, tx => removeChain(tx, gone), await anchored());
    assert.ok(findings.length > 0 && findings.every(({ chain }) => chain === gone));
  });
});

const tried = 1000;

test(`${tried} edits, removals, swaps, cuts, insertions and changes of heads at random are all found`, async t => {
  printSeed(t);
  const counted = await tamperAtRandom(store, events, tried, new Dice(testSeed));
  t.diagnostic(JSON.stringify(counted));
});

test('rows from before the chains are linked by the migration, in the order in which the trail shows them', async t => {
  const store = openSqlite(':memory:');
  t.after(() => store.close());
  const now = () => new Date();
  const old = ['0001_directory_and_team_access.sql', '0002_workspaces_and_settings.sql'];
  const row = (index: number, organization: string | null, name: string | null, createdAt: string) => sql`
    insert into audit_events (${toldAtFirst})
    values (
      ${`event-${String(index).padStart(5, '0')}`}, ${organization}, 'create', 'team', ${`team-${index}`}, 'users', 'user-a', ${name},
      'at-a', 'request', ${createdAt}, null, ${JSON.stringify({ index })}
    )`;
  // More than are read at a time, with times that repeat and run backwards; of two organizations and of none.
  const count = 1300;
  const timeOf = (index: number) => new Date(Date.UTC(2026, 0, 1) + ((index * 7919) % 97)).toISOString();
  const organizationOf = (index: number) => (index % 5 === 0 ? null : index % 13 === 0 ? 'org-small' : 'org-large');
  await store.write(async tx => {
    await tx.script('create table schema_migrations (name ctext primary key, applied_at ctext not null)');
    for (const name of old) {
      await tx.script(readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8'));
      await tx.run(sql`insert into schema_migrations (name, applied_at) values (${name}, '')`);
    }
    for (let index = 0; index < count; index++)
      await tx.run(row(index, organizationOf(index), index % 3 ? 'ada' : null, timeOf(index)));
  });
  const before = await store.read(tx => tx.rows(sql`select ${toldAtFirst} from audit_events order by id`));
  assert.ok((await migrate(store, now)).includes('0004_audit_chain.sql'));
  const { rows, findings, endings } = await store.read(tx => verified(tx));
  assert.deepEqual([rows, findings], [count, []]);
  assert.deepEqual(
    endings.map(({ chain }) => chain),
    ['org-large', 'org-small', 'site'],
  );
  assert.deepEqual(await store.read(tx => tx.rows(sql`select ${toldAtFirst} from audit_events order by id`)), before);
  for (const { chain } of endings) {
    const ids = (order: Sql) =>
      store.read(tx => tx.rows(sql`select id from audit_events where chain = ${chain} order by ${order}`));
    assert.deepEqual(await ids(sql`position`), await ids(sql`created_at, id`));
  }
  assert.ok((await foundAfter(store, tx => tx.run(sql`delete from audit_events where id = 'event-00777'`))).length > 0);
  await store.write(tx => addAuditEvent(tx, eventOf('org-large')));
  const after = await store.read(tx => verified(tx));
  assert.deepEqual([after.rows, after.findings], [count + 1, []], 'and what comes next follows them');
});

test('the rows of the trail are linked the same, however few are read at a time', async () => {
  const relinked = async (size: number): Promise<unknown> => {
    const undo = new Error('undone');
    let rows: unknown;
    const played = store.write(async tx => {
      await tx.run(sql`update audit_events set chain = null, position = null, previous_hash = null, hash = null`);
      await chainOldEvents(tx, size, told);
      rows = await tx.rows(sql`select id, chain, position, previous_hash, hash from audit_events order by id`);
      throw undo;
    });
    await assert.rejects(played, undo);
    return rows;
  };
  const written = await store.read(tx =>
    tx.rows(sql`select id, chain, position, previous_hash, hash from audit_events order by id`),
  );
  for (const size of [1, 3, 1000]) assert.deepEqual(await relinked(size), written);
});
