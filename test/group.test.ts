/** Changes that come together share a transaction and its commit: each is all or nothing by itself. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { migrate } from '../src/store/migrations.ts';
import { sql } from '../src/store/sql.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import { type Store, Unavailable } from '../src/store/store.ts';
import type { Json } from './support/client.ts';
import { engine, newStore, onlyOn } from './support/engine.ts';
import { startServer } from './support/server.ts';
import { verified } from './support/trail.ts';
import { Directory, grantBody } from './support/world.ts';

const migrated = async (t: TestContext): Promise<Store> => {
  const store = await newStore();
  t.after(() => store.close());
  await migrate(store, () => new Date());
  return store;
};

/** Changes that come together, and so are committed together: the one at `failing` fails after it wrote. */
const changesOf = (store: Store, count: number, failing = -1) =>
  Promise.allSettled(
    Array.from({ length: count }, (_, number) =>
      store.write(async tx => {
        const rows = await tx.rows<[x: number]>(sql`select x from t order by x`);
        await tx.run(sql`insert into t values (${number})`);
        if (number === failing) throw new Error('no');
        return rows.map(([x]) => x);
      }),
    ),
  );
const numbersIn = async (store: Store) =>
  (await store.read(tx => tx.rows<[x: number]>(sql`select x from t order by x`))).map(([x]) => x);

test('of changes that come together each sees those before it, and one that fails leaves the others whole', async t => {
  const store = await migrated(t);
  await store.alone(tx => tx.script('create table t (x integer)'));
  const outcomes = await changesOf(store, 5, 2);
  assert.deepEqual(
    outcomes.map(outcome => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
    [[], [0], 'no', [0, 1], [0, 1, 3]],
  );
  assert.deepEqual(await numbersIn(store), [0, 1, 3, 4]);
});

test('a statement that the database refuses fails its own change alone, also where nobody listened', async t => {
  const store = await migrated(t);
  await store.alone(tx => tx.script('create table t (x integer primary key)'));
  const add = (...all: number[]) =>
    store.write(async tx => {
      for (const x of all) await tx.run(sql`insert into t values (${x})`);
    });
  const deaf = store.write(async tx => {
    await tx.run(sql`insert into t values (${3})`);
    // Where it is refused, the database takes nothing more of this change.
    const refused = tx.run(sql`insert into no_such_table values (${3})`);
    await (engine === 'postgres' ? refused.catch(() => {}) : refused);
  });
  const outcomes = await Promise.allSettled([add(1), add(2, 1), deaf, add(4)]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(await numbersIn(store), [1, 4]);
});

/** However slow the machine, all that come together fit into one transaction. */
const withoutHaste = (t: TestContext): void => void t.mock.method(performance, 'now', () => 0);

test('what is read while changes share a transaction is as it was before all of them, or after', async t => {
  const store = await migrated(t);
  withoutHaste(t);
  await store.alone(tx => tx.script('create table t (x integer)'));
  const sizes: Promise<number>[] = [];
  await Promise.all(
    Array.from({ length: 5 }, (_, x) =>
      store.write(async tx => {
        await tx.run(sql`insert into t values (${x})`);
        sizes.push(store.read(async tx => (await tx.rows(sql`select x from t`)).length));
        await new Promise(setImmediate);
      }),
    ),
  );
  for (const size of await Promise.all(sizes)) assert.ok([0, 5].includes(size), `${size}`);
});

test('requests that come together are answered as if they came one by one: a dry run among them leaves nothing', async t => {
  const server = await startServer({ store: await newStore() });
  t.after(() => server.close());
  const directory = new Directory(server);
  const { actor } = await directory.user('ada');
  await directory.organization(actor, 'acme');
  const project = await directory.project(actor, 'acme', 'production');
  const teams = [];
  for (const name of ['one', 'two', 'three', 'four']) teams.push(await directory.team(actor, 'acme', { name }));
  const [one, two, three, four] = teams as [string, string, string, string];
  const added = await Promise.all(
    [
      ['/team-projects', one],
      ['/team-projects?dry-run=true', two],
      ['/team-projects', three],
      ['/team-projects', 'team-none'],
      ['/team-projects', three],
      ['/team-projects?dry-run=true', four],
      ['/team-projects', four],
    ].map(([path, team]) => actor.post(`${path}`, grantBody(project, `${team}`, { access: 'read' }))),
  );
  const statuses = added.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 404, 422]);
  const grants = (await actor.get(`/team-projects?filter[project][id]=${project}`)).body.data;
  const granted = grants.map(({ relationships }: Json) => relationships.team.data.id).sort();
  assert.deepEqual(granted, [one, three, four].sort());
  const rows = await server.store.read(tx =>
    tx.rows<[position: number]>(sql`select position from audit_events where action = 'add_team' order by position`),
  );
  assert.equal(rows.length, 3);
  assert.deepEqual((await server.store.read(tx => verified(tx))).findings, []);
});

onlyOn('sqlite', () => {
  /** A store whose beginnings or commits fail as on a full disk, while `failing` says so; it counts all of them. */
  const failingAt = (t: TestContext, text: 'begin immediate' | 'commit') => {
    const state = { failing: false, runs: 0 };
    const { prepare } = DatabaseSync.prototype;
    t.after(() => {
      DatabaseSync.prototype.prepare = prepare;
    });
    DatabaseSync.prototype.prepare = function (prepared, ...rest) {
      const statement = prepare.call(this, prepared, ...rest);
      if (prepared !== text) return statement;
      const run = statement.run.bind(statement);
      statement.run = () => {
        state.runs++;
        if (state.failing) throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
        return run();
      };
      return statement;
    };
    const store = openSqlite(':memory:');
    t.after(() => store.close());
    return { store, state };
  };
  const adding = (store: Store, ...all: number[]) =>
    Promise.allSettled(all.map(x => store.write(tx => tx.run(sql`insert into t values (${x})`))));
  const stored = (store: Store) => store.read(tx => tx.rows(sql`select x from t order by x`));

  test('changes that come together are committed once; where that fails, all are refused and none is made', async t => {
    withoutHaste(t);
    const { store, state } = failingAt(t, 'commit');
    await store.alone(tx => tx.script('create table t (x integer)'));
    state.runs = 0;
    await adding(store, 1, 2, 3);
    assert.equal(state.runs, 1);
    state.failing = true;
    const before = store.figures().failures.full;
    const refused = await Promise.allSettled([
      ...[4, 5].map(x => store.write(tx => tx.run(sql`insert into t values (${x})`))),
      // Refused because of what others did that is now undone: it cannot be told so.
      store.write(async tx => {
        if (await tx.row(sql`select x from t where x = ${4}`)) throw new Error('there is one already');
      }),
    ]);
    for (const outcome of refused)
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof Unavailable, JSON.stringify(outcome));
    assert.equal(store.figures().failures.full, before + 3);
    state.failing = false;
    assert.deepEqual(await stored(store), [[1], [2], [3]]);
    await adding(store, 6);
    assert.deepEqual(await stored(store), [[1], [2], [3], [6]]);
  });

  test('where a transaction cannot be begun, all who wait for it are refused, and the next is', async t => {
    const { store, state } = failingAt(t, 'begin immediate');
    await store.alone(tx => tx.script('create table t (x integer)'));
    state.failing = true;
    for (const outcome of await adding(store, 1, 2))
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof Unavailable);
    state.failing = false;
    await adding(store, 3);
    assert.deepEqual(await stored(store), [[3]]);
  });

  test('a disk that fails one of them fails all that share its transaction', async t => {
    const { store } = failingAt(t, 'commit');
    await store.alone(tx => tx.script('create table t (x integer)'));
    const full = store.write(async () => {
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    });
    const outcomes = await Promise.all([adding(store, 1), Promise.allSettled([full]), adding(store, 2)]);
    for (const [outcome] of outcomes)
      assert.ok(outcome?.status === 'rejected' && outcome.reason instanceof Unavailable);
    assert.deepEqual(await stored(store), []);
  });

  test('what was asked for before it is closed is done', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bailiwick-'));
    const path = join(folder, 'x.db');
    const store = openSqlite(path);
    await store.alone(tx => tx.script('create table t (x integer)'));
    const added = adding(store, 1, 2);
    await store.close();
    assert.ok((await added).every(({ status }) => status === 'fulfilled'));
    const again = openSqlite(path);
    assert.deepEqual(await stored(again), [[1], [2]]);
    await again.close();
    rmSync(folder, { recursive: true });
  });
});
