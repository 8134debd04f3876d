/** `bailiwick audit verify` as a user runs it: what it prints, how it ends, and what it keeps. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { told } from '../src/store/audit.ts';
import { chainOldEvents } from '../src/store/audit-chain.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import { chosenToken, type Ground, guard, newGround, together } from './support/program.ts';

const database = ['--database', 'sqlite:./trail.db'];

/** A trail of some length, with the server stopped that wrote it. */
const written = async (t: TestContext): Promise<Ground> => {
  const ground = await newGround(t);
  const server = ground.start([...database, '--admin-token', chosenToken]);
  const admin = await server.actor(chosenToken);
  const attributes = { name: 'acme', email: 'acme@example.com' };
  await admin.make('/organizations', { type: 'organizations', attributes });
  for (const name of ['one', 'two', 'three'])
    await admin.make('/organizations/acme/projects', { type: 'projects', attributes: { name } });
  await server.stop();
  return ground;
};

const verify = async (ground: Ground, ...more: string[]) => {
  const command = ground.run(['audit', 'verify', ...database, ...more]);
  const { code } = await command.exited;
  return { code, out: command.out, error: command.error };
};

const tamper = (ground: Ground, statement: string): void => {
  const file = new DatabaseSync(ground.path('trail.db'));
  file.exec(statement);
  file.close();
};

describe('audit verify', together, () => {
  test('a whole trail: 0, with the end of each chain', guard, async t => {
    const { code, out, error } = await verify(await written(t));
    assert.deepEqual([code, error], [0, '']);
    const [organization, site, sum, ...rest] = out.split('\n');
    assert.match(organization ?? '', /^org-\w{16} \(acme\): 4 rows, the last has the hash [0-9a-f]{64}$/);
    assert.match(site ?? '', /^site: 1 row, the last has the hash [0-9a-f]{64}$/);
    assert.equal(sum, 'The audit trail is whole: 5 rows in 2 chains.');
    assert.deepEqual(rest, ['']);
  });

  test('a trail that was tampered with: 1, with a line for each finding', guard, async t => {
    const ground = await written(t);
    tamper(ground, "update audit_events set actor_name = 'nobody' where position = 2");
    tamper(ground, "delete from audit_events where position = 4 or chain = 'site'");
    const { code, out, error } = await verify(ground);
    assert.deepEqual([code, error], [1, '']);
    const event = /event [0-9a-f-]{36}/.source;
    const lines = [
      `org-\\w{16} \\(acme\\), position 2, ${event}: the row was changed, since its hash is another`,
      `org-\\w{16} \\(acme\\), position 3, ${event}: missing at the end: 1 row`,
      'site: missing at the end: 1 row',
      'The audit trail is not whole: 3 findings in 3 rows\\.',
    ];
    assert.match(out, new RegExp(`^${lines.join('\n')}\n$`));
  });

  test('what cannot be verified: 2, with one line that says why', guard, async t => {
    const ground = await newGround(t);
    const refused = async (reason: RegExp, ...more: string[]) => {
      const { code, out, error } = await verify(ground, ...more);
      assert.deepEqual([code, out], [2, '']);
      assert.match(error, reason);
      assert.equal(error.trimEnd().split('\n').length, 1);
    };
    await refused(/there is no database sqlite:\.\/trail\.db/);
    assert.deepEqual(readdirSync(ground.folder), [], 'and none is made');
    writeFileSync(ground.path('trail.db'), '');
    await refused(/cannot verify the audit trail: no such table: .*bailiwick migrate/);
    writeFileSync(ground.path('anchors'), 'what is this\n');
    await refused(/anchors is no file of anchors: line 1/, '--anchors', 'anchors');
  });

  test('changes nothing in what it verifies, and needs no server to be stopped', guard, async t => {
    const ground = await written(t);
    const copy = () => readFileSync(ground.path('trail.db'));
    const before = copy();
    assert.equal((await verify(ground)).code, 0);
    assert.ok(before.equals(copy()));
    const server = ground.start(database);
    const admin = await server.actor(chosenToken);
    await admin.make('/organizations/acme/projects', { type: 'projects', attributes: { name: 'four' } });
    const { code, out, error } = await verify(ground);
    assert.deepEqual([code, error], [0, '']);
    assert.match(out, /\(acme\): 5 rows/);
    await server.stop();
  });
});

describe('audit verify --anchors', together, () => {
  test('keeps the ends of the chains, and agrees with a trail that has grown since', guard, async t => {
    const ground = await written(t);
    const made = await verify(ground, '--anchors', 'anchors');
    assert.equal(made.code, 0);
    assert.match(made.out, /Its first anchors are in anchors, which now has 2\.\n$/);
    const kept = readFileSync(ground.path('anchors'), 'utf8');
    assert.match(kept, /^4 [0-9a-f]{64} org-\w{16}\n1 [0-9a-f]{64} site\n$/);
    const server = ground.start(database);
    const admin = await server.actor(chosenToken);
    await admin.make('/organizations/acme/projects', { type: 'projects', attributes: { name: 'four' } });
    await server.stop();
    const again = await verify(ground, '--anchors', 'anchors');
    assert.equal(again.code, 0);
    assert.match(again.out, /It agrees with the 2 anchors in anchors, which now has 2\.\n$/);
    assert.match(readFileSync(ground.path('anchors'), 'utf8'), /^5 /);
    assert.deepEqual(
      readdirSync(ground.folder).filter(name => name.startsWith('anchors')),
      ['anchors'],
    );
  });

  test('find a trail that was linked anew after an edit, and stay as they were', guard, async t => {
    const ground = await written(t);
    await verify(ground, '--anchors', 'anchors');
    const kept = readFileSync(ground.path('anchors'), 'utf8');
    tamper(ground, "update audit_events set actor_name = 'nobody' where position = 2");
    tamper(ground, 'update audit_events set chain = null, position = null; delete from audit_heads');
    const store = openSqlite(ground.path('trail.db'));
    await store.write(tx => chainOldEvents(tx, undefined, told));
    await store.close();
    assert.equal((await verify(ground)).code, 0, 'it is whole in itself');
    const { code, out } = await verify(ground, '--anchors', 'anchors');
    assert.equal(code, 1);
    assert.match(out, /\(acme\), position 4, event \S+: the row is not the one that was anchored\n/);
    assert.equal(readFileSync(ground.path('anchors'), 'utf8'), kept);
  });

  test('are not made of a trail that is not whole', guard, async t => {
    const ground = await written(t);
    tamper(ground, 'delete from audit_heads');
    assert.equal((await verify(ground, '--anchors', 'anchors')).code, 1);
    assert.ok(!existsSync(ground.path('anchors')));
  });
});
