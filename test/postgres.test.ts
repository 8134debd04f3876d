/** What the PostgreSQL engine promises beyond what both engines do. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { selfSigned } from '../src/server/certificate.ts';
import { openPostgres, type PostgresOptions } from '../src/store/postgres.ts';
import { type Sql, sql } from '../src/store/sql.ts';
import { type Store, type Tx, type Unavailability, Unavailable } from '../src/store/store.ts';
import { inDatabase } from './support/databases.ts';
import { newDatabase, onlyOn } from './support/engine.ts';
import { type Postgres, startPostgres } from './support/postgres.ts';
import { guard, newGround } from './support/program.ts';
import { startServer } from './support/server.ts';
import { walk } from './support/walk.ts';
import { Directory } from './support/world.ts';

const text = (chunk: string): Sql => ({ chunks: [chunk], values: [] });

const opened = (t: TestContext, url: string, options?: PostgresOptions): Store => {
  const store = openPostgres(url, options);
  t.after(() => store.close());
  return store;
};

const onNewDatabase = async (t: TestContext, options?: PostgresOptions): Promise<Store> => {
  const { url, drop } = await newDatabase();
  t.after(drop);
  const store = opened(t, url as string, options);
  await store.alone(tx => tx.script('create table write_turns (id ctext primary key)'));
  return store;
};

const questions = (): void => {
  test('numbers, counts, sums and truth come as numbers, texts as they are', async t => {
    const store = await onNewDatabase(t);
    const [row] = await store.read(tx =>
      tx.rows(sql`
        select cast(9007199254740991 as bigint), cast(7 as smallint), 1 = 1, 1 = 2, count(*), sum(number), null, ${'ü\u{1f600}'}
        from (values (1), (2)) as numbers (number)`),
    );
    assert.deepEqual(row, [9007199254740991, 7, 1, 0, 2, 3, null, 'ü\u{1f600}']);
  });

  test('plans are made for look-ups by index, unless the address says otherwise', async t => {
    const { url = '', drop } = await newDatabase();
    t.after(drop);
    const setting = (address: string): Promise<readonly unknown[] | undefined> =>
      opened(t, address).look(tx => tx.row(sql`select current_setting('random_page_cost')`));
    assert.deepEqual(await setting(url), ['1.1']);
    const other = new URL(url);
    other.searchParams.set('options', '-c random_page_cost=3');
    assert.deepEqual(await setting(other.href), ['3']);
  });

  test('the statements that are kept prepared on a connection stay bounded, and one that made room is prepared again', async t => {
    const store = await onNewDatabase(t, { connections: 1 });
    const held = sql`select count(*) from pg_prepared_statements where name <> ''`;
    for (let round = 0; round < 2; round++)
      for (let number = 0; number < 700; number++) {
        const [answer] = (await store.read(tx => tx.row<[number]>(text(`select ${number}`)))) ?? [];
        assert.equal(answer, number);
      }
    const [count] = (await store.read(tx => tx.row<[number]>(held))) ?? [0];
    assert.ok(count > 400 && count <= 501, `${count} are prepared`);
  });

  test('a changed type of a column is met once: all connections prepare their statements anew', async t => {
    const connections = 10;
    const store = await onNewDatabase(t, { connections });
    await store.alone(tx => tx.script('create table counted (number integer); insert into counted values (1)'));
    const ask = () => store.read(tx => tx.row<[number]>(sql`select number from counted`));
    // All connections are in use at once, so that each of them has it prepared.
    let waiting = connections;
    let open = (): void => {};
    const gate = new Promise<void>(resolve => {
      open = resolve;
    });
    await Promise.all(
      Array.from({ length: connections }, () =>
        store.read(async tx => {
          await tx.row(sql`select number from counted`);
          if (--waiting === 0) open();
          await gate;
        }),
      ),
    );
    assert.equal(store.figures().open, connections);
    for (const type of ['bigint', 'smallint', 'integer']) {
      await store.alone(tx => tx.script(`alter table counted alter column number type ${type}`));
      const before = store.figures();
      for (let asked = 0; asked < 3 * connections; asked++) assert.deepEqual(await ask(), [1]);
      const { retries, open } = store.figures();
      assert.ok(retries - before.retries <= 1, `${retries - before.retries} times begun again`);
      assert.equal(open, connections, 'no connection was given up');
    }
  });
};

const refusals = (): void => {
  /** That the database cannot be asked now, which a server answers with 503; not a fault of ours. */
  const refused = (reason: Unavailability) => (error: unknown) => {
    assert.ok(error instanceof Unavailable, `${error}`);
    assert.equal(error.reason, reason, error.message);
    return true;
  };
  const inTheWay = "do $$ begin raise exception using errcode = '40001'; end $$";

  test('what was in the way of others is begun again, and given up as busy after five attempts', async t => {
    const store = await onNewDatabase(t);
    await store.alone(tx => tx.script('create table counted (number integer)'));
    let attempts = 0;
    const write = (failures: number) =>
      store.write(async tx => {
        attempts++;
        await tx.run(sql`insert into counted values (${attempts})`);
        if (attempts <= failures) await tx.script(inTheWay);
        return attempts;
      });
    assert.equal(await write(4), 5);
    assert.deepEqual(await store.read(tx => tx.rows(sql`select number from counted`)), [[5]], 'the others are undone');
    assert.equal(store.figures().retries, 4);
    attempts = 0;
    await assert.rejects(write(Number.POSITIVE_INFINITY), refused('busy'));
    assert.equal(attempts, 5);
    assert.deepEqual(await store.read(tx => tx.rows(sql`select number from counted`)), [[5]]);
    assert.deepEqual(store.figures().failures, { gone: 0, busy: 1, full: 0 });
  });

  test('a statement that takes longer than it may is busy, and the connection goes on', async t => {
    const store = await onNewDatabase(t, { connections: 1 });
    const slow = async (tx: Tx): Promise<void> => {
      await tx.script('set local statement_timeout = 500');
      await tx.rows(sql`select pg_sleep(60)`);
    };
    const connection = () => store.read(tx => tx.row(sql`select pg_backend_pid()`));
    const before = await connection();
    await assert.rejects(store.read(slow), refused('busy'));
    await assert.rejects(store.write(slow), refused('busy'));
    assert.deepEqual(await connection(), before);
  });

  test('a database that takes no changes: reads go on, a write is answered 503, and it is taken again when the database takes it', async t => {
    const { url, drop } = await newDatabase();
    t.after(drop);
    const server = await startServer({ store: openPostgres(url as string) });
    t.after(() => server.close());
    const { admin } = new Directory(server);
    const create = (name: string) =>
      admin.post('/organizations', { type: 'organizations', attributes: { name, email: 'x@example.com' } });
    assert.equal((await create('before')).status, 201);
    const client = new Client({ connectionString: url as string });
    await client.connect();
    const makeReadOnly = (value: 'on' | 'off') =>
      client.query(
        `alter database ${new URL(url as string).pathname.slice(1)} set default_transaction_read_only = ${value}`,
      );
    await makeReadOnly('on');
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'bailiwick'",
    );
    assert.equal((await admin.get('/organizations/before')).status, 200);
    const refusal = await create('during');
    assert.equal(refusal.status, 503, refusal.text);
    assert.match(`${refusal.headers['retry-after']}`, /^\d+$/);
    assert.equal((await admin.get('/organizations/during')).status, 404);
    assert.ok(server.store.figures().failures.full > 0);
    await makeReadOnly('off');
    await client.end();
    // Each refusal may cost a connection of before, and there are ten at most.
    const statuses = [];
    while (statuses.length < 12 && statuses.at(-1) !== 201) statuses.push((await create('after')).status);
    assert.equal(statuses.at(-1), 201, `${statuses}`);
  });
};

const addresses = (): void => {
  const password = `p@ss:w/rd?#%41 &='"üß\\`;
  let postgres: Postgres;
  let folder: string;
  const ours = selfSigned(['127.0.0.1'], new Date(Date.now() - 86_400_000), new Date(Date.now() + 86_400_000));
  const other = selfSigned(['127.0.0.1'], new Date(Date.now() - 86_400_000), new Date(Date.now() + 86_400_000));
  const misnamed = selfSigned(['db.example'], new Date(Date.now() - 86_400_000), new Date(Date.now() + 86_400_000));

  before(async () => {
    postgres = await startPostgres({ password, tls: ours });
    folder = mkdtempSync(join(tmpdir(), 'bailiwick-trust-'));
    for (const [name, { cert }] of Object.entries({ ours, other, misnamed }))
      writeFileSync(join(folder, `${name}.pem`), cert);
  });
  after(async () => {
    await postgres.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const trusting = (name: string) => `sslrootcert=${encodeURIComponent(join(folder, `${name}.pem`))}`;
  const isEncrypted = sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
  const encrypted = async (t: TestContext, query: string): Promise<number | undefined> =>
    (await opened(t, `${postgres.url()}${query}`).read(tx => tx.row<[number]>(isEncrypted)))?.[0];

  test('a password may have any characters in it', async t => {
    assert.equal(await encrypted(t, ''), 0);
  });

  test('sslmode: disable goes without TLS, require encrypts, verify-ca and verify-full trust whom sslrootcert names', async t => {
    assert.equal(await encrypted(t, '?sslmode=disable'), 0);
    assert.equal(await encrypted(t, '?sslmode=require'), 1);
    assert.equal(await encrypted(t, `?sslmode=verify-ca&${trusting('ours')}`), 1);
    assert.equal(await encrypted(t, `?sslmode=verify-full&${trusting('ours')}`), 1);
  });

  /** What a start on it says in its one line; both a server and a command end with 2. */
  const refusal = async (t: TestContext, url: string): Promise<string> => {
    const ground = await newGround(t);
    const said = await Promise.all(
      [['--port', '0'], ['migrate']].map(async command => {
        const run = ground.run([...command, '--database', url]);
        const { code } = await run.exited;
        assert.equal(code, 2, run.out + run.error);
        assert.equal(run.out, '');
        assert.match(run.error, /^bailiwick: [^\n]+\n$/);
        assert.ok(!run.error.includes(password) && !run.error.includes(encodeURIComponent(password)), run.error);
        return run.error.replace(/^bailiwick: (cannot (open the database|migrate) \S+: )?/, '').trim();
      }),
    );
    assert.equal(said[0], said[1]);
    return said[0] as string;
  };

  test('a wrong password, database or mode ends the start with one line that says so', guard, async t => {
    const url = postgres.url();
    const wrong = new URL(url);
    wrong.password = 'wrong';
    assert.equal(await refusal(t, wrong.href), 'the password is wrong');
    assert.equal(await refusal(t, inDatabase(url, 'nowhere')), 'there is no such database');
    assert.equal(
      await refusal(t, `${url}?sslmode=verify-ca`),
      '--database has sslmode=verify-ca without sslrootcert=FILE, which names whom to trust',
    );
    assert.equal(
      await refusal(t, `${url}?sslmode=prefer`),
      '--database has an sslmode that is none of disable, require, verify-ca, verify-full',
    );
  });

  test('a certificate that nobody vouches for ends the start with one line that says so', guard, async t => {
    const url = postgres.url();
    const untrusted = 'its certificate is not trusted: sslrootcert=FILE names whom to trust';
    assert.equal(await refusal(t, `${url}?sslmode=verify-full&${trusting('other')}`), untrusted);
    assert.equal(await refusal(t, `${url}?sslmode=verify-full`), untrusted);
    assert.equal(await refusal(t, `${url}?sslmode=verify-ca&${trusting('other')}`), untrusted);
    const absent = join(folder, 'absent.pem');
    assert.equal(
      await refusal(t, `${url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(absent)}`),
      `${absent} cannot be read`,
    );
  });

  test('a certificate of another host is refused by verify-full alone', guard, async t => {
    const server = await startPostgres({ tls: misnamed });
    t.after(() => server.end());
    const url = server.url();
    assert.equal(
      await refusal(t, `${url}?sslmode=verify-full&${trusting('misnamed')}`),
      'its certificate is of another host',
    );
    const store = opened(t, `${url}?sslmode=verify-ca&${trusting('misnamed')}`);
    assert.deepEqual(await store.read(tx => tx.row(isEncrypted)), [1]);
  });

  test('a server without TLS is refused where sslmode asks for it', guard, async t => {
    const { url, drop } = await newDatabase();
    t.after(drop);
    assert.equal(await refusal(t, `${url}?sslmode=require`), 'it does not speak TLS, and sslmode asks for it');
  });

  test('a host that nobody knows ends a migration with one line', guard, async t => {
    const host = 'database.invalid';
    const code = await lookup(host).then(
      () => '',
      error => error.code,
    );
    const ground = await newGround(t);
    const run = ground.run(['migrate', '--database', `postgres://${host}/bailiwick`]);
    assert.equal((await run.exited).code, 2);
    // Where names cannot be looked up at all, it may be a host that is known later.
    const reason = code === 'ENOTFOUND' ? 'there is no such host' : 'The database does not answer.';
    assert.equal(run.error, `bailiwick: cannot migrate postgres://${host}/bailiwick: ${reason}\n`);
  });
};

/** A pooler that hands a connection to another client after each transaction, and has few of them. */
const pooler = async (t: TestContext, url: string, size: number): Promise<string | undefined> => {
  const found = ['pgbouncer', '/usr/sbin/pgbouncer'].find(name => spawnSync(name, ['--version']).status === 0);
  if (!found) return undefined;
  const { hostname, port, username, password, pathname } = new URL(url);
  const secret = password && ` password='${decodeURIComponent(password).replaceAll("'", "''")}'`;
  const listening = randomInt(15_000, 32_000);
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-pooler-'));
  chmodSync(folder, 0o755);
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${port} user=${username}${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listening}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${size}
max_client_conn = 200
`,
  );
  // It refuses to be run by root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn(found, [config], { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', chunk => {
    log += chunk;
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  });
  for (;;) {
    const socket = connect(listening, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return `postgres://anybody@127.0.0.1:${listening}${pathname}`;
    if (child.exitCode !== null) throw new Error(`the pooler does not start: ${log}`);
    await sleep(20);
  }
};

const pooling = (): void => {
  const size = 3;

  test(
    `through PgBouncer in transaction mode, every operation succeeds, with more clients than ${size} connections`,
    guard,
    async t => {
      const { url, drop } = await newDatabase();
      t.after(drop);
      const through = await pooler(t, url as string, size);
      if (!through) return t.skip('PgBouncer is not on this machine');
      const servers = [];
      for (const seed of [1, 2]) {
        const store = openPostgres(through, { pooled: true, connections: 10 });
        const server = await startServer({ seed, store });
        t.after(() => server.close());
        servers.push(server);
      }
      const [first, second] = servers as [(typeof servers)[0], (typeof servers)[0]];
      const directory = new Directory(first);
      const { owner } = await walk(directory);
      await directory.organization(owner, 'crowd');
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const { client } = index % 2 === 0 ? first : second;
          const path = '/api/v2/organizations/crowd/projects';
          const data = { type: 'projects', attributes: { name: `project ${index}` } };
          return index % 3 === 0
            ? client.call(owner.token, 'POST', path, { data })
            : client.call(owner.token, 'GET', path);
        }),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 201]));
      const client = new Client({ connectionString: url as string });
      await client.connect();
      const { rows } = await client.query(
        "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'bailiwick'",
      );
      await client.end();
      assert.ok(Number(rows[0].count) <= size, `${rows[0].count} connections behind the pooler`);
    },
  );

  test('a pooler that nobody has told of ends the start with the setting to use', guard, async t => {
    const { url, drop } = await newDatabase();
    t.after(drop);
    const through = await pooler(t, url as string, size);
    if (!through) return t.skip('PgBouncer is not on this machine');
    const ground = await newGround(t);
    const run = ground.run(['--port', '0', '--database', through]);
    assert.equal((await run.exited).code, 2, run.error);
    assert.match(run.error, /^bailiwick: cannot open the database \S+: a pooler is .*--database-pooled[^\n]*\n$/);
    const told = ground.run(['migrate', '--database', through, '--database-pooled']);
    assert.equal((await told.exited).code, 0, told.error);
  });
};

onlyOn('postgres', () => {
  describe('what is asked', questions);
  describe('what it refuses', refusals);
  describe('how it is reached', addresses);
  describe('through a pooler', pooling);
});
