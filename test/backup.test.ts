/** A backup is whole and of one moment, whatever is written meanwhile; a restore loses nothing, not even what it replaces. */

import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { fileOf } from '../src/store/sqlite-file.ts';
import { onlyOn } from './support/engine.ts';
import { chosenToken, type Ground, guard, newGround, type Running, together } from './support/program.ts';
import type { Actor } from './support/world.ts';

const settings = ['--admin-token', chosenToken];
const data = 'data/bailiwick.db';

const started = async (ground: Ground, args: readonly string[] = []): Promise<{ server: Running; admin: Actor }> => {
  const server = ground.start([...settings, ...args]);
  await server.url();
  return { server, admin: await server.actor(chosenToken) };
};

const organization = (name: string) => ({ type: 'organizations', attributes: { name, email: `${name}@example.com` } });

const done = async (command: Running): Promise<string> => {
  assert.deepEqual(await command.exited, { code: 0, signal: null }, command.error);
  assert.equal(command.error, '');
  return command.out;
};

const refused = async (command: Running, reason: RegExp): Promise<void> => {
  const { code } = await command.exited;
  assert.equal(code, 2, command.out);
  assert.match(command.error, /^bailiwick: [^\n]+\n$/);
  assert.match(command.error, reason);
};

const altered = (path: string, statements: string): void => {
  const database = new DatabaseSync(path);
  database.exec(statements);
  database.close();
};

const columnOf = (path: string, query: string): string[] => {
  const database = new DatabaseSync(path, { readOnly: true });
  const statement = database.prepare(query);
  statement.setReturnArrays(true);
  const values = (statement.all() as unknown as string[][]).map(([value = '']) => value);
  database.close();
  return values;
};

const missing = (wanted: readonly string[], given: readonly string[]): string[] => {
  const all = new Set(given);
  return wanted.filter(each => !all.has(each));
};

const status = async (admin: Actor, name: string) => (await admin.get(`/organizations/${name}`)).status;

/** A ground with a database in which there is one organization, and no server. */
const settled = async (ground: Ground): Promise<void> => {
  const { server, admin } = await started(ground);
  await admin.make('/organizations', organization('acme'));
  await server.stop();
};

onlyOn('sqlite', () => {
  describe('backup', together, () => {
    test(
      'while many clients write: all that was acknowledged before, each change with its audit row',
      guard,
      async t => {
        const ground = await newGround(t);
        const { server, admin } = await started(ground);
        await admin.make('/organizations', organization('acme'));
        const acknowledged = new Set<string>();
        let writing = true;
        const write = async (writer: number) => {
          for (let index = 0; writing; index++) {
            const attributes = { name: `p-${writer}-${index}` };
            const { id } = await admin.make('/organizations/acme/projects', { type: 'projects', attributes });
            acknowledged.add(id);
          }
        };
        const writers = Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer)));
        for (let round = 0; round < 3; round++) {
          while (acknowledged.size < 50 * (round + 1)) await (await server.client()).send('GET', '/healthz');
          const before = [...acknowledged];
          const file = ground.path(`backup-${round}.db`);
          assert.match(
            await done(ground.run(['backup', file])),
            /Backed up to .*, which has \d+\.\d MiB and was checked\n$/,
          );
          const projects = columnOf(file, "select id from projects where name like 'p-%'");
          const events = columnOf(file, "select resource_id from audit_events where action = 'create'");
          assert.deepEqual(missing(before, projects), []);
          assert.deepEqual(missing(projects, events), []);
          const ofProjects = events.filter(id => id.startsWith('prj-'));
          assert.deepEqual(missing(ofProjects, projects), []);
          assert.deepEqual(columnOf(file, 'pragma integrity_check'), ['ok']);
          assert.deepEqual(columnOf(file, 'pragma foreign_key_check'), []);
          assert.equal(statSync(file).mode & 0o777, 0o600);
        }
        writing = false;
        await writers;
        await server.stop();
        assert.deepEqual(readdirSync(ground.folder).sort(), ['backup-0.db', 'backup-1.db', 'backup-2.db', 'data']);
      },
    );

    test('without a server, and of one that was killed: what it had acknowledged last is in it', guard, async t => {
      const ground = await newGround(t);
      const { server, admin } = await started(ground);
      await admin.make('/organizations', organization('acme'));
      await server.stop('SIGKILL');
      await done(ground.run(['backup', 'killed.db']));
      assert.deepEqual(columnOf(ground.path('killed.db'), 'select name from organizations'), ['acme']);
      const again = await started(ground);
      assert.equal(await status(again.admin, 'acme'), 200);
      await again.server.stop();
      await done(ground.run(['backup', 'stopped.db']));
      assert.deepEqual(columnOf(ground.path('stopped.db'), 'select name from organizations'), ['acme']);
    });

    test('killed half-way, it leaves nothing under the name of a backup, and the next one succeeds', guard, async t => {
      const ground = await newGround(t);
      await settled(ground);
      altered(
        ground.path(data),
        `create table filler (bytes blob);
       with recursive n (i) as (select 1 union all select i + 1 from n where i < 48)
       insert into filler select randomblob(1048576) from n`,
      );
      const file = ground.path('backup.db');
      const partial = () => readdirSync(ground.folder).some(name => name.startsWith('backup.db.partial'));
      for (let hits = 0; hits < 3; ) {
        for (const name of readdirSync(ground.folder)) if (name.includes('partial')) rmSync(ground.path(name));
        const command = ground.run(['backup', file]);
        let gone = false;
        command.exited.finally(() => {
          gone = true;
        });
        while (!gone && !partial()) await new Promise(resolve => setImmediate(resolve));
        command.child.kill('SIGKILL');
        await command.exited;
        if (existsSync(file)) {
          // It was done before it was killed, and so is whole.
          assert.equal(columnOf(file, 'select rowid from filler').length, 48);
          rmSync(file);
        } else hits++;
      }
      await done(ground.run(['backup', file]));
      assert.equal(columnOf(file, 'select rowid from filler').length, 48);
    });

    test('is refused, and leaves nothing, where it cannot be made', guard, async t => {
      const ground = await newGround(t);
      await refused(ground.run(['backup', 'b.db']), /there is no database sqlite:\.\/data\/bailiwick\.db/);
      assert.ok(!existsSync(ground.path(data)), 'none is made either');
      await settled(ground);
      writeFileSync(ground.path('there.db'), 'precious');
      await refused(ground.run(['backup', 'there.db']), /there\.db exists/);
      assert.equal(readFileSync(ground.path('there.db'), 'utf8'), 'precious');
      await refused(ground.run(['backup', 'no/such/b.db']), /folder above it does not exist/);
      await refused(ground.run(['backup']), /the command is: bailiwick backup FILE/);
      await refused(ground.run(['backup', 'b.db', '--database', 'sqlite::memory:']), /in memory/);
      writeFileSync(ground.path('text.db'), 'this is no database, and never was one'.repeat(100));
      await refused(ground.run(['backup', 'b.db', '--database', 'sqlite:text.db']), /not a database/);
      altered(ground.path('other.db'), 'create table things (id text)');
      await refused(ground.run(['backup', 'b.db', '--database', 'sqlite:other.db']), /not a database of Bailiwick/);
      altered(ground.path(data), "pragma foreign_keys = off; delete from users where username = 'admin'");
      await refused(ground.run(['backup', 'b.db']), /damaged: a row of \w+ refers to one of users/);
      assert.deepEqual(
        readdirSync(ground.folder).filter(name => name.startsWith('b.db')),
        [],
      );
    });
  });

  describe('restore', together, () => {
    test('brings back what was there, and keeps what it replaces', guard, async t => {
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        const ground = await newGround(t);
        const { server, admin } = await started(ground);
        await admin.make('/organizations', organization('acme'));
        await done(ground.run(['backup', 'backup.db']));
        await admin.make('/organizations', organization('later'));
        await server.stop(signal);

        // However it was kept, what is restored is for the server's own eyes.
        chmodSync(ground.path('backup.db'), 0o644);
        const said = await done(ground.run(['restore', 'backup.db']));
        const [, aside = ''] = /kept as (\S+)\n/.exec(said) ?? [];
        assert.match(said, /in force again/);
        const back = await started(ground);
        assert.deepEqual([await status(back.admin, 'acme'), await status(back.admin, 'later')], [200, 404]);
        assert.equal(statSync(ground.path(data)).mode & 0o777, 0o600);
        await back.server.stop();

        const before = await started(ground, ['--database', `sqlite:${aside}`]);
        assert.deepEqual([await status(before.admin, 'acme'), await status(before.admin, 'later')], [200, 200]);
        await before.server.stop();
        assert.ok(existsSync(ground.path('backup.db')), 'the backup stays');
      }
    });

    test('works where there is no database yet, and again over itself', guard, async t => {
      const [from, to] = [await newGround(t), await newGround(t)];
      await settled(from);
      await done(from.run(['backup', 'backup.db']));
      const backup = from.path('backup.db');
      assert.match(await done(to.run(['restore', backup])), /no database before/);
      await done(to.run(['restore', backup]));
      await done(to.run(['restore', backup]));
      assert.equal(readdirSync(to.path('data')).filter(name => name.includes('before-restore')).length, 2);
      const { admin, server } = await started(to);
      assert.equal(await status(admin, 'acme'), 200);
      await server.stop();
    });

    test('replaces a database that is damaged beyond reading, and keeps even that', guard, async t => {
      const ground = await newGround(t);
      await settled(ground);
      await done(ground.run(['backup', 'backup.db']));
      writeFileSync(ground.path(data), 'damaged');
      const [, aside = ''] = /kept as (\S+)\n/.exec(await done(ground.run(['restore', 'backup.db']))) ?? [];
      assert.equal(readFileSync(aside.startsWith('/') ? aside : ground.path(aside), 'utf8'), 'damaged');
      const { admin, server } = await started(ground);
      assert.equal(await status(admin, 'acme'), 200);
      await server.stop();
    });

    test('is refused while a server has the database, by whatever name, and the server goes on', guard, async t => {
      const ground = await newGround(t);
      const { admin, server } = await started(ground);
      await admin.make('/organizations', organization('acme'));
      await done(ground.run(['backup', 'backup.db']));
      symlinkSync(ground.path(data), ground.path('link.db'));
      for (const database of [`sqlite:./${data}`, 'sqlite:link.db', `sqlite:${ground.path('data/../link.db')}`]) {
        await refused(ground.run(['restore', 'backup.db', '--database', database]), /stop the server first/);
        const second = ground.start(['--database', database]);
        await refused(second, /another process has it open/);
      }
      assert.equal(await status(admin, 'acme'), 200);
      await server.stop();
    });

    test('refuses what is no backup of ours, whole and of a known schema, and changes nothing', guard, async t => {
      const ground = await newGround(t);
      await settled(ground);
      await done(ground.run(['backup', 'good.db']));
      const before = readFileSync(ground.path(data));
      const path = (name: string) => ground.path(name);
      const variant = (name: string, statements: string) => {
        copyFileSync(path('good.db'), path(name));
        altered(path(name), statements);
      };
      writeFileSync(path('text.db'), 'this is no database, and never was one'.repeat(100));
      writeFileSync(path('empty.db'), '');
      altered(path('other.db'), 'create table things (id text)');
      variant('stray.db', "pragma foreign_keys = off; delete from users where username = 'admin'");
      variant(
        'newer.db',
        "insert into schema_migrations values ('9999_all_new.breaking.sql', '2030-01-01T00:00:00.000Z')",
      );
      const bytes = readFileSync(path('good.db'));
      writeFileSync(path('cut.db'), bytes.subarray(0, bytes.length / 2));
      writeFileSync(path('spoiled.db'), Buffer.from(bytes).fill(0xa5, 4096 * 3, 4096 * 6));
      copyFileSync(path('good.db'), path('live.db'));
      writeFileSync(path('live.db-wal'), 'frames');
      mkdirSync(path('folder.db'));
      for (const [name, reason] of [
        ['nowhere.db', /there is no nowhere\.db/],
        [data, /is the database itself/],
        ['text.db', /not a database of Bailiwick/],
        ['empty.db', /not a database of Bailiwick/],
        ['other.db', /not a database of Bailiwick/],
        ['stray.db', /damaged: a row of \w+ refers to one of users/],
        ['newer.db', /made for a newer version: .*9999_all_new\.breaking\.sql/],
        ['cut.db', /damaged/],
        ['spoiled.db', /damaged/],
        ['live.db', /no backup but a database in use/],
        ['folder.db', /cannot restore/],
      ] as const)
        await refused(ground.run(['restore', name]), reason);
      await refused(ground.run(['restore']), /the command is: bailiwick restore FILE/);
      await refused(ground.run(['restore', 'good.db', '--database', 'sqlite::memory:']), /in memory/);
      assert.deepEqual(readFileSync(path(data)), before);
      assert.deepEqual(readdirSync(path('data')).sort(), ['bailiwick.db', 'bailiwick.db-lock']);
    });
  });

  test('of PostgreSQL, both commands say which tools to use', () => {
    assert.throws(
      () => fileOf('postgres://somebody@localhost/bailiwick'),
      /docs\/operations\.md.*pg_dump and pg_restore/,
    );
  });
});
