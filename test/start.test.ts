/** The program as a user runs it: what it prints, what it refuses, and how it stops. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import packageJson from '../package.json' with { type: 'json' };
import { Client, type Json, mediaType } from './support/client.ts';
import { type Engine, engine, onlyOn } from './support/engine.ts';
import {
  chosenToken,
  type Environment,
  type Ground,
  guard,
  newGround,
  ourToken,
  type Running,
  together,
} from './support/program.ts';
import { pasted } from './support/shell.ts';
import { grantBody } from './support/world.ts';

const createsOrganization = (name: string) => ({
  type: 'organizations',
  attributes: { name, email: `${name}@example.com` },
});

const pastedJson = async (line: string, environment: Environment = {}): Promise<Json> =>
  JSON.parse(await pasted(line, environment));

describe('first start', together, () => {
  test('prints the site admin’s token and a curl line that works when pasted', guard, async t => {
    const server = (await newGround(t)).start();
    const [line] = await server.printed(/curl .*details'?"?\n/);
    const [token] = server.out.match(ourToken) ?? [];
    assert.ok(token && line.includes(token), server.out);
    const { data } = await pastedJson(line);
    assert.deepEqual([data.attributes.username, data.attributes['is-admin']], ['admin', true]);
  });

  test('names its address in the first line, and nothing but itself is needed there', guard, async t => {
    const server = (await newGround(t)).start();
    const url = await server.url();
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.match(server.out.split('\n')[0] ?? '', new RegExp(`^Bailiwick ${packageJson.version} serves ${url} `));
    const client = await server.client();
    for (const path of ['/healthz', '/readyz', '/openapi.json']) {
      const answer = await client.send('GET', path);
      assert.equal(answer.status, 200, `${path} needs no token`);
      client.conforms('GET', path, answer);
    }
    assert.equal((await client.send('GET', '/api/v2/account/details')).status, 401);
  });

  test('the second start prints neither token nor curl line, and the first one’s token still works', guard, async t => {
    const ground = await newGround(t);
    const first = ground.start();
    await first.printed(/curl .*\n/);
    const [token] = first.out.match(ourToken) ?? [];
    await first.stop();
    const second = ground.start();
    assert.equal((await (await second.actor(token)).get('/account/details')).status, 200);
    await second.stop();
    assert.doesNotMatch(second.out, ourToken);
    assert.doesNotMatch(second.out, /curl|first start/);
    assert.equal(second.out.trim().split('\n').length, 1, second.out);
  });

  test('what was made is there after a restart', guard, async t => {
    const ground = await newGround(t);
    const first = ground.start(['--admin-token', chosenToken]);
    const before = await first.actor(chosenToken);
    await before.make('/organizations', createsOrganization('acme'));
    const { text } = await before.get('/organizations/acme');
    await first.stop();
    const second = ground.start();
    assert.equal((await (await second.actor(chosenToken)).get('/organizations/acme')).text, text);
  });

  test('what was answered as done is there after a crash', guard, async t => {
    const ground = await newGround(t);
    const first = ground.start(['--admin-token', chosenToken]);
    const before = await first.actor(chosenToken);
    await before.make('/organizations', createsOrganization('acme'));
    for (let number = 0; number < 20; number++)
      await before.make('/organizations/acme/projects', { type: 'projects', attributes: { name: `number-${number}` } });
    await first.stop('SIGKILL');
    const second = ground.start();
    const { body } = await (await second.actor(chosenToken)).get('/organizations/acme/projects?page[size]=100');
    assert.equal(body.data.length, 21);
  });

  test('where the port cannot be opened nothing is made, and the next start is the first one', guard, async t => {
    const ground = await newGround(t);
    const taken = createServer().listen(0, '127.0.0.1');
    t.after(() => taken.close());
    await once(taken, 'listening');
    const refused = ground.start(['--demo', '--port', `${(taken.address() as AddressInfo).port}`]);
    assert.equal((await refused.exited).code, 2);
    assert.equal(refused.out, '');
    const server = ground.start(['--demo']);
    await server.printed(/This is the first start/);
  });
});

describe('settings', together, () => {
  test('--help lists every setting with its variable and its default', guard, async t => {
    const help = (await newGround(t)).run(['--help']);
    assert.deepEqual([(await help.exited).code, help.error], [0, '']);
    for (const [flag, variable, standard] of [
      ['--host', 'BAILIWICK_HOST', '127.0.0.1'],
      ['--port', 'BAILIWICK_PORT', '8080'],
      ['--database', 'DATABASE_URL', 'sqlite:./data/bailiwick.db'],
      ['--public-url', 'BAILIWICK_PUBLIC_URL', 'from host and port'],
      ['--admin-token', 'BAILIWICK_ADMIN_TOKEN', 'a new one, printed once'],
      ['--seed', 'BAILIWICK_SEED', ''],
      ['--anchors', 'BAILIWICK_ANCHORS', ''],
      ['--log-level', 'BAILIWICK_LOG_LEVEL', 'info'],
      ['--tls-cert', 'BAILIWICK_TLS_CERT', ''],
      ['--tls-key', 'BAILIWICK_TLS_KEY', ''],
      ['--tls-self-signed', 'BAILIWICK_TLS_SELF_SIGNED', ''],
    ] as const) {
      const line = help.out.split('\n').find(text => text.trim().startsWith(`${flag} `)) ?? '';
      const said = standard === '' ? !line.includes('default') : line.includes(`default: ${standard}`);
      assert.ok(line.includes(` ${variable} `) && said, `${flag}: ${line}`);
    }
    for (const flag of ['--demo', '--help', '--version']) assert.match(help.out, new RegExp(`^ +${flag} +\\S`, 'm'));
  });

  test('--version prints the version and nothing else', guard, async t => {
    const version = (await newGround(t)).run(['--version']);
    assert.deepEqual([(await version.exited).code, version.out, version.error], [0, `${packageJson.version}\n`, '']);
  });

  for (const [by, args, environment] of [
    ['--admin-token', ['--admin-token', chosenToken], {}],
    ['BAILIWICK_ADMIN_TOKEN', [], { BAILIWICK_ADMIN_TOKEN: chosenToken }],
  ] as const)
    test(`${by} sets the site admin’s token, which is not printed`, guard, async t => {
      const server = (await newGround(t)).start(args, environment);
      const [line] = await server.printed(/curl .*\n/);
      const { data } = await pastedJson(line, { BAILIWICK_ADMIN_TOKEN: chosenToken });
      assert.equal(data.attributes.username, 'admin');
      await server.stop();
      assert.ok(!`${server.out}${server.error}`.includes(chosenToken), server.out);
      assert.doesNotMatch(server.out, ourToken);
    });

  test('--public-url is in the first line and in the links, whatever Host a request names', guard, async t => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    await once(free, 'close');
    const settings = [
      '--port',
      `${port}`,
      '--public-url',
      'https://access.example/base/',
      '--admin-token',
      chosenToken,
    ];
    const server = (await newGround(t)).run(settings);
    assert.equal(await server.url(), 'https://access.example/base');
    await server.printed(/curl .*https:\/\/access\.example\/base\/api/);
    const client = new Client(`http://127.0.0.1:${port}`);
    t.after(() => client.close());
    const headers = { authorization: `Bearer ${chosenToken}`, host: 'evil.example' };
    const { body } = await client.send('GET', '/api/v2/organizations', { headers });
    assert.match(body.links.self, /^https:\/\/access\.example\/base\/api\/v2\/organizations\?/);
  });
});

describe('listening', together, () => {
  test('--host with a name of several addresses: one listener, with all our care on it', guard, async t => {
    // As on a machine where localhost is both.
    const twoAddresses = `
      import dns from 'node:dns';
      import { syncBuiltinESMExports } from 'node:module';
      const both = [{ address: '::1', family: 6 }, { address: '127.0.0.1', family: 4 }];
      const found = options => (options?.all ? both : options?.order === 'ipv4first' ? both[1] : both[0]);
      const { lookup, promises: { lookup: promised } } = dns;
      dns.promises.lookup = async (host, options) => (host === 'localhost' ? found(options) : promised(host, options));
      dns.lookup = (host, options, done) => {
        if (host !== 'localhost') return lookup(host, options, done);
        const result = found(options);
        process.nextTick(() => Array.isArray(result) ? done(null, result) : done(null, result.address, result.family));
      };
      syncBuiltinESMExports()`;
    const server = (await newGround(t)).evaluate(twoAddresses, ['--host', 'localhost', '--port', '0']);
    const url = await server.url();
    assert.match(url, /^http:\/\/localhost:\d+$/);
    const { socket, received } = await dial(t, url);
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.match(await received(/\}$/), /^HTTP\/1\.1 405 .*"errors"/s);
    const other = connect(Number(new URL(url).port), '::1');
    t.after(() => other.destroy());
    const isOpen = await new Promise(resolve => {
      other.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    assert.equal(isOpen, false, 'a second listener');
    await server.stop();
  });

  test('a host that does not exist is refused in one line', guard, async t => {
    const refused = (await newGround(t)).start(['--host', 'no-such-host.invalid']);
    assert.equal((await refused.exited).code, 2);
    assert.match(refused.error, /^bailiwick: cannot listen on no-such-host\.invalid:0: [^\n]+\n$/);
  });

  test('SIGHUP without TLS is answered in the log, and the server goes on', guard, async t => {
    const server = (await newGround(t)).start();
    await server.url();
    server.child.kill('SIGHUP');
    await server.logged(/hangup: no certificate is read again, since TLS is off/);
    assert.equal((await (await server.client()).send('GET', '/readyz')).status, 200);
    await server.stop();
  });
});

type Refusal = {
  readonly promise: string;
  /** The one engine that it is about, if it is. */
  readonly of?: Engine;
  readonly args?: readonly string[];
  readonly environment?: Environment;
  readonly prepare?: (ground: Ground, t: TestContext) => Promise<readonly string[]> | readonly string[];
  readonly says: RegExp;
};

const refusals: readonly Refusal[] = [
  { promise: 'an unknown flag', args: ['--frobnicate'], says: /--frobnicate/ },
  { promise: 'a flag without its value', args: ['--port'], says: /--port/ },
  { promise: 'a port that is no number', args: ['--port', 'eighty'], says: /--port .*eighty/ },
  { promise: 'a port beyond the last', args: ['--port', '65536'], says: /--port .*65536/ },
  { promise: 'a host that is not this machine', args: ['--host', '192.0.2.1'], says: /192\.0\.2\.1/ },
  { promise: 'an unknown log level', args: ['--log-level', 'loud'], says: /--log-level .*loud/ },
  {
    promise: 'another kind of database, whose password is not repeated',
    environment: { DATABASE_URL: 'mysql://me:s3cret@db/x' },
    says: /^bailiwick: DATABASE_URL must be sqlite:PATH(?!.*s3cret)/,
  },
  { promise: 'a public URL that is none', args: ['--public-url', 'access.example'], says: /--public-url/ },
  {
    promise: 'a wrong value in the environment',
    environment: { BAILIWICK_LOG_LEVEL: 'loud' },
    says: /BAILIWICK_LOG_LEVEL/,
  },
  { promise: 'a value with a line end in it', environment: { BAILIWICK_HOST: '127.0.0.1\nx' }, says: /127\.0\.0\.1/ },
  { promise: 'a port with a line end after it', args: ['--port', '8080\n'], says: /--port/ },
  {
    promise: 'an admin token that is too short',
    args: ['--admin-token', 'nineteen-characters'],
    says: /--admin-token .*20/,
  },
  {
    promise: 'an admin token of our own form with a wrong checksum',
    args: ['--admin-token', `${'a'.repeat(14)}.atlasv1.${'b'.repeat(67)}`],
    says: /checksum/,
  },
  {
    promise: 'a port in use',
    prepare: async (_, t) => {
      const taken = createServer().listen(0, '127.0.0.1');
      t.after(() => taken.close());
      await once(taken, 'listening');
      return ['--port', `${(taken.address() as AddressInfo).port}`];
    },
    says: /in use/,
  },
  {
    promise: 'a folder that does not exist',
    of: 'sqlite',
    args: ['--database', 'sqlite:./no/such/folder/x.db'],
    says: /sqlite:\.\/no\/such\/folder\/x\.db.*folder/,
  },
  {
    promise: 'a folder that is not writable',
    of: 'sqlite',
    prepare: ground => {
      // To root every folder is writable but those of the kernel.
      if (process.getuid?.() === 0) return ['--database', 'sqlite:/proc/x.db'];
      mkdirSync(ground.path('locked'));
      chmodSync(ground.path('locked'), 0o555);
      return ['--database', 'sqlite:./locked/x.db'];
    },
    says: /cannot be written/,
  },
  {
    promise: 'a file that is not a database',
    of: 'sqlite',
    prepare: ground => {
      writeFileSync(ground.path('text.db'), 'Dear diary, '.repeat(100));
      return ['--database', 'sqlite:./text.db'];
    },
    says: /not a database/,
  },
  {
    promise: 'a database of another program',
    prepare: async ground => {
      await ground.script('create table users (name text)');
      return [];
    },
    says: /cannot make the tables in /,
  },
  {
    promise: 'a database of a newer version that broke with this one',
    prepare: async ground => {
      const first = ground.start();
      await first.url();
      await first.stop();
      await ground.script(
        "insert into schema_migrations values ('9999_later.breaking.sql', '2030-01-01T00:00:00.000Z')",
      );
      return [];
    },
    says: /newer version.*9999_later/,
  },
  {
    promise: '--demo on a database that is not empty',
    prepare: async ground => {
      const first = ground.start();
      await first.printed(/curl/);
      await first.stop();
      return ['--demo'];
    },
    says: /--demo .*empty/,
  },
];

describe('a start that cannot succeed says why in one line, and exits with 2', together, () => {
  const here = refusals.filter(({ of = engine }) => of === engine);
  for (const { promise, args = [], environment = {}, prepare, says } of here)
    test(promise, guard, async t => {
      const ground = await newGround(t);
      const more = (await prepare?.(ground, t)) ?? [];
      const refused = ground.start([...args, ...more], environment);
      const { code } = await refused.exited;
      assert.match(refused.error, /^bailiwick: [^\n]+\n$/);
      assert.match(refused.error, says);
      assert.deepEqual([code, refused.out], [2, '']);
      // A secret is not repeated to whoever mistyped it.
      assert.doesNotMatch(refused.error, /nineteen-characters|a-token-that|bbbb/);
    });
});

onlyOn('sqlite', () =>
  describe('a file of SQLite’s', together, () => {
    test('the file is in ./data by default, and for this user’s eyes alone', guard, async t => {
      const ground = await newGround(t);
      await ground.start().url();
      assert.ok(existsSync(ground.path('data/bailiwick.db')));
      if (process.platform !== 'win32')
        for (const name of ['data', 'data/bailiwick.db'])
          assert.equal(statSync(ground.path(name)).mode & 0o077, 0, name);
    });

    test('sqlite::memory: every start is a first one with a new token, and makes no file', guard, async t => {
      const ground = await newGround(t);
      const tokens = [];
      for (const start of ['first', 'second']) {
        const server = ground.start(['--database', 'sqlite::memory:']);
        await server.printed(/curl .*\n/);
        const [token] = server.out.match(ourToken) ?? [];
        const admin = await server.actor(token);
        assert.equal((await admin.get('/organizations')).body.meta.pagination['total-count'], 0, start);
        await admin.make('/organizations', createsOrganization('acme'));
        await server.stop();
        tokens.push(token);
      }
      assert.notEqual(tokens[0], tokens[1]);
      assert.deepEqual(readdirSync(ground.folder), []);
    });

    test('a flag wins over the environment, also over a value that would be wrong', guard, async t => {
      const ground = await newGround(t);
      const server = ground.start(
        ['--admin-token', chosenToken, '--database', 'sqlite:flag.db', '--log-level', 'silent'],
        {
          BAILIWICK_PORT: 'nonsense',
          BAILIWICK_ADMIN_TOKEN: 'another-token-that-nobody-uses',
          DATABASE_URL: 'sqlite:environment.db',
          BAILIWICK_LOG_LEVEL: 'debug',
        },
      );
      assert.equal((await (await server.actor(chosenToken)).get('/account/details')).status, 200);
      const client = await server.client();
      const authorization = 'Bearer another-token-that-nobody-uses';
      assert.equal((await client.send('GET', '/api/v2/account/details', { headers: { authorization } })).status, 401);
      assert.ok(existsSync(ground.path('flag.db')) && !existsSync(ground.path('environment.db')));
      await server.stop();
      assert.equal(server.error, '');
    });

    test('the environment sets what no flag does', guard, async t => {
      const ground = await newGround(t);
      const server = ground.run([], {
        BAILIWICK_PORT: '0',
        BAILIWICK_HOST: '127.0.0.1',
        DATABASE_URL: 'sqlite:environment.db',
        BAILIWICK_LOG_LEVEL: 'silent',
        BAILIWICK_PUBLIC_URL: '',
      });
      assert.match(await server.url(), /^http:\/\/127\.0\.0\.1:\d+$/);
      assert.ok(existsSync(ground.path('environment.db')));
      await server.stop();
      assert.equal(server.error, '');
    });

    test('a database that another server has open, which goes on', guard, async t => {
      const ground = await newGround(t);
      const first = ground.start();
      await first.url();
      const second = ground.start();
      const { code } = await second.exited;
      assert.match(second.error, /^bailiwick: [^\n]+sqlite:\.\/data\/bailiwick\.db[^\n]+another process[^\n]+\n$/);
      assert.deepEqual([code, second.out], [2, '']);
      assert.equal((await (await first.client()).send('GET', '/readyz')).status, 200);
    });
  }),
);

describe('--demo', together, () => {
  test('prints tokens that work and show what it says they show', guard, async t => {
    const server = (await newGround(t)).start(['--demo']);
    await server.printed(/team-projects\/tprj-\w+'\n/);
    const project = /\((prj-\w+)\)/.exec(server.out)?.[1];
    const tokenOf = (who: string) => new RegExp(`^  ${who} .*\n +(\\S+)$`, 'm').exec(server.out)?.[1];
    const list = `/team-projects?filter[project][id]=${project}`;
    const listedTo = async (who: string) => (await server.actor(tokenOf(who))).get(list);

    const owner = await server.actor(tokenOf('olivia'));
    const { body: teams } = await owner.get('/organizations/demo/teams?page[size]=100');
    const secret = teams.data.find((team: Json) => team.attributes.visibility === 'secret').id;
    const rows = (await listedTo('olivia')).body.data;
    const teamOf = (row: Json) => row.relationships.team.data.id;
    assert.equal(rows.length, 7);
    const secretRow = rows.find((row: Json) => teamOf(row) === secret);
    assert.ok(secretRow, 'the owner sees the secret team’s row');

    assert.deepEqual(
      (await listedTo('sam')).body.data.map(teamOf),
      [secret],
      'a member of the secret team sees its own',
    );
    const seenByCleo = (await listedTo('cleo')).body.data.map(teamOf);
    assert.ok(seenByCleo.length === 6 && !seenByCleo.includes(secret), 'teams = read sees the visible teams');
    assert.deepEqual((await listedTo('nora')).body.data, [], 'a plain member sees an empty list');
    assert.equal((await listedTo('otto')).status, 404, 'an outsider gets 404');
    for (const who of ['mona', 'walt', 'rita']) assert.equal((await listedTo(who)).body.data.length, 1, who);

    const max = await server.actor(tokenOf('max'));
    const { id } = (await max.get('/account/details')).body.data;
    const own = rows.find((row: Json) =>
      teams.data.some((team: Json) => team.id === teamOf(row) && team.relationships.users.data[0]?.id === id),
    );
    assert.equal(own.attributes.access, 'read', 'max holds only read');
    const change = { type: 'team-projects', attributes: { access: 'maintain' } };
    const changed = await max.patch(`/team-projects/${secretRow.id}`, change);
    assert.deepEqual([changed.status, changed.body.data.attributes.access], [200, 'maintain'], 'and changes access');
    const walt = await server.actor(tokenOf('walt'));
    assert.equal((await walt.patch(`/team-projects/${secretRow.id}`, change)).status, 404);
    const adam = await server.actor(tokenOf('adam'));
    assert.equal((await adam.patch(`/team-projects/${secretRow.id}`, change)).status, 200);
  });

  test('prints lines that work when pasted', guard, async t => {
    const server = (await newGround(t)).start(['--demo']);
    await server.printed(/team-projects\/tprj-\w+'\n/);
    const lines = server.out.match(/^ {2}curl -g .*$/gm) ?? [];
    assert.equal(lines.length, 7);
    const counts = [];
    for (const line of lines.slice(1)) {
      const body = await pastedJson(line);
      counts.push(body.errors?.[0].status ?? body.data.length);
    }
    assert.deepEqual(counts, [7, 1, 6, 0, '404', 6]);
    const [trial = '', change = ''] = server.out.match(/^ {2}curl -X PATCH .*\\\n.*$/gm) ?? [];
    assert.equal((await pastedJson(trial)).meta.effect['changes-count'], 2, "rita's team, and rita");
    assert.equal((await pastedJson(change)).data.attributes.access, 'maintain');
  });

  test('is there after a restart, and says nothing then', guard, async t => {
    const ground = await newGround(t);
    const first = ground.start(['--demo', '--admin-token', chosenToken]);
    await first.printed(/team-projects\/tprj-\w+'\n/);
    const olivia = /^ {2}olivia .*\n +(\S+)$/m.exec(first.out)?.[1];
    await first.stop();
    assert.ok(!first.out.includes(chosenToken));
    const second = ground.start();
    assert.equal((await (await second.actor(olivia)).get('/organizations/demo')).status, 200);
    await second.stop();
    assert.doesNotMatch(second.out, /demo|olivia/);
  });
});

/** A connection of its own, and what came over it. */
const dial = async (t: TestContext, url: string) => {
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', more => {
    text += more;
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  const received = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text)) {
      assert.ok(!socket.closed && !socket.readableEnded, `closed after '${text}'`);
      await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    }
    return text;
  };
  return { socket, received };
};

/** Comes back when nobody listens any more. */
const refusesConnections = async (url: string): Promise<void> => {
  for (;;) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const outcome = await new Promise(resolve => {
      socket.once('connect', () => resolve('open')).once('error', () => resolve('refused'));
    });
    socket.destroy();
    if (outcome === 'refused') return;
  }
};

/** A request that is in the server's hands when the signal comes, and is answered after it. */
const answeredWhileStopping = async (t: TestContext, ground: Ground, signal: 'SIGTERM' | 'SIGINT') => {
  const server = ground.start(['--admin-token', chosenToken]);
  const url = await server.url();
  await server.printed(/curl/);
  const body = JSON.stringify({ data: createsOrganization('acme') });
  const { socket, received } = await dial(t, url);
  const head = [
    'POST /api/v2/organizations HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${chosenToken}`,
    `Content-Type: ${mediaType}`,
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  // Now it waits for its body.
  await received(/^HTTP\/1\.1 100 /);
  server.child.kill(signal);
  await refusesConnections(url);
  socket.write(body);
  assert.match(await received(/HTTP\/1\.1 \d+ .*\}$/s), /HTTP\/1\.1 201 /);
  return { server, socket };
};

describe('stopping', together, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} exits with 0 while an idle keep-alive connection is open`, guard, async t => {
      const server = (await newGround(t)).start();
      const url = await server.url();
      const agent = new Agent({ keepAlive: true });
      t.after(() => agent.destroy());
      const [answer] = await once(get(`${url}/healthz`, { agent }), 'response');
      answer.resume();
      await once(answer, 'end');
      await server.stop(signal);
    });

    test(`${signal} lets a request in flight have its answer, and what it did is kept`, guard, async t => {
      const ground = await newGround(t);
      const { server, socket } = await answeredWhileStopping(t, ground, signal);
      socket.destroy();
      assert.deepEqual(await server.exited, { code: 0, signal: null });
      const again = ground.start();
      assert.equal((await (await again.actor(chosenToken)).get('/organizations/acme')).status, 200);
    });
  }

  test(
    'a client that had an answer meanwhile and keeps its connection does not keep it from stopping',
    guard,
    async t => {
      const { server } = await answeredWhileStopping(t, await newGround(t), 'SIGTERM');
      assert.deepEqual(await server.exited, { code: 0, signal: null });
    },
  );

  test('a connection that never says anything does not keep it from stopping', guard, async t => {
    const server = (await newGround(t)).start();
    await dial(t, await server.url());
    await server.stop();
  });

  for (const [what, bytes] of Object.entries({
    'half a head': 'GET /healthz HTTP/1.1\r\nHost: x\r\n',
    'half a body': `POST /api/v2/organizations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${chosenToken}\r\nContent-Length: 9\r\n\r\n{`,
    'a tunnel that it keeps open': 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    'garbage, and keeps its side open': '\0\0\0',
  }))
    test(`a client that sent ${what} does not keep it from stopping`, guard, async t => {
      const server = (await newGround(t)).start(['--admin-token', chosenToken]);
      await server.printed(/curl/);
      const socket = connect({
        port: Number(new URL(await server.url()).port),
        host: '127.0.0.1',
        allowHalfOpen: true,
      });
      t.after(() => socket.destroy());
      socket.on('error', () => {});
      await once(socket, 'connect');
      await new Promise<void>(resolve => socket.write(bytes, () => resolve()));
      await (await server.client()).send('GET', '/healthz');
      await server.stop();
    });

  test('connections that ask for a tunnel and are reset do not end it', guard, async t => {
    const server = (await newGround(t)).start();
    const port = Number(new URL(await server.url()).port);
    for (let index = 0; index < 100; index++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      await new Promise<void>(resolve => socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', () => resolve()));
      socket.resetAndDestroy();
    }
    assert.equal((await (await server.client()).send('GET', '/healthz')).status, 200);
    await server.stop();
  });

  test('when a token was last used is written down before it ends, and not before', guard, async t => {
    const ground = await newGround(t);
    const settings = ['--admin-token', chosenToken];
    const lastUsed = async (server: Running) => {
      const admin = await server.actor(chosenToken);
      const { id } = (await admin.get('/account/details')).body.data;
      return (await admin.get(`/users/${id}/authentication-tokens`)).body.data[0].attributes['last-used-at'];
    };
    const first = ground.start(settings);
    await first.printed(/Try it|try:/);
    assert.equal(await lastUsed(first), null);
    await first.stop();
    const second = ground.start(settings);
    assert.match(await lastUsed(second), /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
    await second.stop();
  });

  test('a second signal changes nothing', guard, async t => {
    const server = (await newGround(t)).start();
    await server.url();
    server.child.kill('SIGINT');
    server.child.kill('SIGTERM');
    await server.stop();
  });

  // As under an npm whose own Node is new enough: the launcher starts that one.
  const npm = {
    npm_config_user_agent: 'npm/11.0.0 node/v26.0.0 linux x64',
    npm_node_execpath: process.execPath,
    npm_lifecycle_event: 'start',
  };

  test('through the launcher’s own child: signals reach it, and its exit code comes back', guard, async t => {
    const ground = await newGround(t);
    const server = ground.start([], npm);
    assert.equal((await (await server.client()).send('GET', '/healthz')).status, 200);
    server.child.kill('SIGHUP');
    await server.logged(/hangup: /);
    await server.stop();
    const refused = ground.start(['--frobnicate'], npm);
    assert.equal((await refused.exited).code, 2);
    assert.match(refused.error, /^bailiwick: [^\n]+\n$/);
  });

  test('under npm, a server whose launcher is gone without a word stops too', guard, async t => {
    const server = (await newGround(t)).start([], npm);
    const url = await server.url();
    server.child.kill('SIGKILL');
    await refusesConnections(url);
    await server.exited;
  });
});

describe('the launcher', together, () => {
  test('on a Node that is too old, the packaged one is used without a word', guard, async t => {
    const old = (await newGround(t)).evaluate("Object.defineProperty(process, 'version', { value: 'v20.1.0' })");
    assert.deepEqual(await old.exited, { code: 0, signal: null }, old.error);
    assert.equal(old.out.trim(), packageJson.version);
    assert.equal(old.error, '');
  });

  test('where there is no packaged one either, one line says what to install', guard, async t => {
    const nowhere = "Object.defineProperty(process, 'platform', { value: 'plan9' })";
    const old = (await newGround(t)).evaluate(
      `Object.defineProperty(process, 'version', { value: 'v20.1.0' }); ${nowhere}`,
    );
    assert.equal((await old.exited).code, 2);
    assert.match(old.error, /^bailiwick: needs Node 24 or newer[^\n]+\n$/);
  });
});

describe('a fast start', together, () => {
  /** What one start has loaded, and where it keeps what it compiled. */
  const observed = async (t: TestContext): Promise<Json> => {
    const ground = await newGround(t);
    const watch = `
      import module from 'node:module';
      import { writeFileSync } from 'node:fs';
      const files = [];
      module.registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) });
      process.on('exit', () => {
        const [builtin, cache] = [process.moduleLoadList, module.getCompileCacheDir()];
        writeFileSync('observed.json', JSON.stringify({ files, builtin, cache }));
      })`;
    const server = ground.evaluate(watch, ['--port', '0'], { NODE_COMPILE_CACHE: '' });
    assert.equal((await (await server.client()).send('GET', '/api/v2/ping')).status, 204);
    await server.stop();
    return JSON.parse(readFileSync(ground.path('observed.json'), 'utf8'));
  };

  test('loads neither a compiler of schemas nor an HTTP client, which a first answer does not need', guard, async t => {
    const { files, builtin } = await observed(t);
    assert.ok(files.some((url: string) => url.includes('/node_modules/fastify/')));
    assert.deepEqual(
      files.filter((url: string) => /node_modules\/(ajv|@fastify\/(ajv|fast-json-stringify)-compiler)\//.test(url)),
      [],
    );
    assert.deepEqual(
      builtin.filter((name: string) => name.includes('undici')),
      [],
    );
  });

  test('finds what an earlier one compiled, in the program’s own folder', guard, async t => {
    const { cache } = await observed(t);
    assert.equal(dirname(cache), fileURLToPath(new URL('../.cache', import.meta.url)));
  });
});

describe('a lost admin token', together, () => {
  test('--new-admin-token makes another, prints it once, and leaves the others', guard, async t => {
    const ground = await newGround(t);
    const first = ground.start(['--admin-token', chosenToken]);
    await first.printed(/curl/);
    await first.stop();
    const second = ground.start(['--new-admin-token']);
    const [token] = await second.printed(ourToken);
    for (const each of [token, chosenToken])
      assert.equal((await (await second.actor(each)).get('/admin/users')).status, 200);
    await second.stop();
    const third = ground.start(['--admin-token', 'another-token-that-is-not-known']);
    await third.printed(/The admin token was not used/);
    assert.doesNotMatch(third.out, ourToken);
    await third.stop();
    const fourth = ground.start(['--admin-token', chosenToken]);
    await fourth.url();
    await fourth.stop();
    assert.doesNotMatch(fourth.out, /not used/);
  });
});

describe('logs', together, () => {
  const marker = 'a-marker-in-a-body';

  /** Requests of every kind of outcome, with secrets in all places that have them. */
  const talk = async (server: Running): Promise<string[]> => {
    await server.printed(/curl/);
    const admin = await server.actor(chosenToken);
    const client = await server.client();
    const attributes = { username: 'walt', email: 'walt@example.com' };
    const user = await admin.make('/admin/users', { type: 'users', attributes });
    const token = await admin.make(`/users/${user.id}/authentication-tokens`, { attributes: { description: marker } });
    await admin.make('/organizations', createsOrganization('acme'));
    const project = { type: 'projects', attributes: { name: 'production', description: marker } };
    await admin.make('/organizations/acme/projects', project);
    assert.equal((await admin.post('/team-projects', grantBody(marker, marker, {}))).status, 404);
    assert.equal((await admin.post('/organizations/acme/teams', { type: marker })).status, 422);
    const headers = { authorization: `Bearer ${chosenToken}`, 'content-type': mediaType, cookie: 'c=cookie-secret' };
    assert.equal((await client.send('POST', '/api/v2/organizations', { headers, payload: `{${marker}` })).status, 400);
    const wrong = { authorization: 'Bearer a-wrong-token-somebody-pasted' };
    assert.equal((await client.send('GET', '/api/v2/organizations', { headers: wrong })).status, 401);
    assert.equal((await client.send('GET', '/no-such-path')).status, 404);
    const { socket, received } = await dialQuietly(await server.url());
    socket.write(`nonsense ${marker} Bearer ${chosenToken}\r\n\r\n`);
    await received;
    await server.stop();
    return [chosenToken, token.attributes.token, marker, 'a-wrong-token-somebody-pasted', 'cookie-secret'];
  };

  const dialQuietly = async (url: string) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').resume();
    socket.on('error', () => {});
    await once(socket, 'connect');
    return { socket, received: once(socket, 'close') };
  };

  test('at debug every request is there, and no token and no body', guard, async t => {
    const server = (await newGround(t)).start(['--admin-token', chosenToken, '--log-level', 'debug']);
    for (const secret of await talk(server)) assert.ok(!server.error.includes(secret), `${secret} in ${server.error}`);
    assert.match(server.error, /no-such-path/);
    assert.match(server.error, /\/api\/v2\/admin\/users/);
  });

  test('at the default level there is no line per request, and no token and no body', guard, async t => {
    const server = (await newGround(t)).start(['--admin-token', chosenToken]);
    for (const secret of await talk(server)) assert.ok(!server.error.includes(secret), `${secret} in ${server.error}`);
    assert.doesNotMatch(server.error, /api\/v2|no-such-path|reqId|incoming request|request completed/);
    assert.ok(server.error.split('\n').length <= 3, server.error);
  });
});
