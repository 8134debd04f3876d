/** `--seed` as a user gives it: what is printed, what is refused, and what a restart does. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { onlyOn } from './support/engine.ts';
import { chosenToken, type Ground, guard, newGround, ourToken, together } from './support/program.ts';

const tokenOfAda = 'the-token-of-ada-for-tests';
const world = `
users:
  - { username: ada, email: ada@example.com, is-admin: true, tokens: [{ secret: ${tokenOfAda} }, {}] }
organizations:
  - name: acme
    email: a@example.com
    teams: [{ name: owners, members: [ada], token: {} }]
`;

describe('--seed', together, () => {
  test('plants the world before the port is open, and prints once the tokens that it made', guard, async t => {
    const ground = await newGround(t);
    writeFileSync(ground.path('world.yaml'), world);
    const server = ground.start(['--seed', 'world.yaml']);
    const actor = await server.actor(tokenOfAda);
    assert.equal((await actor.get('/organizations/acme')).status, 200);
    const lines = server.out.split('\n').filter(line => ourToken.test(line));
    assert.deepEqual(
      lines.map(line => line.replace(ourToken, '…').trim().split(/\s+/).join(' ')),
      ['user ada …', 'team acme/owners …'],
    );
    assert.ok(server.out.indexOf(lines[1] ?? '') < server.out.indexOf(' serves '), 'then it serves');
    for (const line of lines) {
      const token = line.match(ourToken)?.[0];
      assert.equal((await (await server.actor(token)).get('/organizations/acme')).status, 200, line);
    }
    await server.stop();
    assert.doesNotMatch(server.out, /first start/, 'there is a site admin already');
    assert.ok(!server.out.includes(tokenOfAda) && !server.error.includes(tokenOfAda));
  });

  test(
    'is BAILIWICK_SEED in the environment, and gives --admin-token to the site admin of the file',
    guard,
    async t => {
      const ground = await newGround(t);
      writeFileSync(ground.path('world.yaml'), world);
      const environment = { BAILIWICK_SEED: 'world.yaml', BAILIWICK_ADMIN_TOKEN: chosenToken };
      const server = ground.start([], environment);
      const { body } = await (await server.actor(chosenToken)).get('/account/details');
      assert.equal(body.data.attributes.username, 'ada');
    },
  );

  test('an admin token that the file gives to somebody else is refused, and nothing is planted', guard, async t => {
    const ground = await newGround(t);
    const ann = `{ username: ann, email: ann@example.com, tokens: [{ secret: ${chosenToken} }] }`;
    const expired = `{ secret: ${chosenToken}, expired-at: 2020-01-01T00:00:00Z }`;
    const worlds = {
      'without an admin': `users: [${ann}]`,
      'with one': `users: [${ann}, { username: ada, email: ada@example.com, is-admin: true, tokens: [{}] }]`,
      'with one whose token has expired': `users: [{ username: ada, email: ada@example.com, is-admin: true, tokens: [${expired}] }]`,
    };
    for (const [which, text] of Object.entries(worlds)) {
      writeFileSync(ground.path('world.yaml'), text);
      const refused = ground.start(['--seed', 'world.yaml', '--admin-token', chosenToken]);
      assert.equal((await refused.exited).code, 2, which);
      assert.match(refused.error, /^bailiwick: the admin token .* choose another\n$/, which);
      assert.equal(refused.out, '', which);
    }
    writeFileSync(ground.path('world.yaml'), world);
    const server = ground.start(['--seed', 'world.yaml']);
    assert.equal((await (await server.actor(tokenOfAda)).get('/organizations/acme')).status, 200);
  });

  test('a world without a site admin gets the one of a first start', guard, async t => {
    const ground = await newGround(t);
    writeFileSync(ground.path('world.json'), '{ "users": [{ "username": "bob", "email": "bob@example.com" }] }');
    const server = ground.start(['--seed', 'world.json']);
    const [token] = await server.printed(new RegExp(`(?<=first start[^]*)${ourToken.source}`));
    const { body } = await (await server.actor(token)).get('/admin/users');
    assert.deepEqual(
      body.data.map((user: { attributes: { username: string } }) => user.attributes.username),
      ['bob', 'admin'],
    );
  });

  test('a file with flaws is refused with all of them, and no database is made', guard, async t => {
    const ground = await newGround(t);
    writeFileSync(ground.path('world.yaml'), 'users:\n  - username: ada\norganization: []\n');
    const server = ground.start(['--seed', 'world.yaml']);
    assert.equal((await server.exited).code, 2);
    assert.deepEqual(server.error.trim().split('\n'), [
      'world.yaml:2:5: email is required',
      'world.yaml:3:1: organization is not known here',
      'bailiwick: the seed world.yaml is refused, and nothing was planted',
    ]);
    assert.equal(server.out, '');
    assert.ok(!existsSync(ground.path('data')));
  });

  test('a file named .json is JSON, with or without a mark of byte order', guard, async t => {
    const ground = await newGround(t);
    writeFileSync(ground.path('world.JSON'), '{ "users": [],\n}');
    const refused = ground.start(['--seed', 'world.JSON']);
    assert.equal((await refused.exited).code, 2);
    assert.deepEqual(refused.error.trim().split('\n'), [
      'world.JSON:2:1: JSON has a key in double quotes here',
      'bailiwick: the seed world.JSON is refused, and nothing was planted',
    ]);
    writeFileSync(ground.path('world.json'), '\ufeff{ "users": [] }');
    await ground.start(['--seed', 'world.json']).url();
  });

  test('of very many flaws it tells a hundred, and how many more there are', guard, async t => {
    const ground = await newGround(t);
    const users = Array.from({ length: 150 }, () => '  - { username: ada, email: ada@example.com }').join('\n');
    writeFileSync(ground.path('world.yaml'), `users:\n${users}`);
    const server = ground.start(['--seed', 'world.yaml']);
    assert.equal((await server.exited).code, 2);
    const lines = server.error.trim().split('\n');
    assert.equal(lines.length, 102);
    assert.equal(lines[100], 'world.yaml: and 198 flaws more');
  });

  test('a file that cannot be read is refused in a line', guard, async t => {
    const ground = await newGround(t);
    mkdirSync(ground.path('folder'));
    writeFileSync(ground.path('large'), '');
    truncateSync(ground.path('large'), 64 * 1024 * 1024 + 1);
    writeFileSync(ground.path('latin'), Buffer.from('users:\n  - { username: ada, email: "\xe9@b" }\n', 'latin1'));
    const refusals = {
      missing: ['bailiwick: cannot read the seed missing: there is no such file'],
      folder: ['bailiwick: cannot read the seed folder: it is a folder'],
      large: ['bailiwick: cannot read the seed large: it is larger than 64 MiB'],
      latin: [
        'latin:2:1: this line is not valid UTF-8',
        'bailiwick: the seed latin is refused, and nothing was planted',
      ],
    };
    for (const [file, lines] of Object.entries(refusals)) {
      const server = ground.start(['--seed', file]);
      assert.equal((await server.exited).code, 2);
      assert.deepEqual(server.error.trim().split('\n'), lines);
    }
    const both = ground.start(['--seed', 'missing', '--demo']);
    assert.equal((await both.exited).code, 2);
    assert.match(both.error, /^bailiwick: --demo and --seed each need an empty database: choose one\n$/);
  });

  test('a restart with the same world comes up and changes nothing, in whatever form the file is', guard, async t => {
    const ground = await newGround(t);
    writeFileSync(ground.path('world.yaml'), world);
    const first = ground.start(['--seed', 'world.yaml']);
    const before = await first.actor(tokenOfAda);
    await before.make('/organizations/acme/projects', { type: 'projects', attributes: { name: 'made since' } });
    const { text } = await before.get('/admin/export');
    await first.stop();
    writeFileSync(ground.path('world.yaml'), `# the same\n${world}`);
    const second = ground.start(['--seed', 'world.yaml', '--admin-token', tokenOfAda]);
    assert.equal((await (await second.actor(tokenOfAda)).get('/admin/export')).text, text);
    await second.stop();
    assert.match(second.out, /^The world of world\.yaml was planted before: nothing was changed\.\nBailiwick .*\n$/);
  });

  test('another world, or a database that is in use, is refused, and stays as it is', guard, async t => {
    const [used, planted] = [await newGround(t), await newGround(t)];
    for (const ground of [used, planted]) {
      writeFileSync(ground.path('world.yaml'), world);
      writeFileSync(ground.path('other.yaml'), world.replace('acme', 'other'));
    }
    const refusal = async (ground: Ground, file: string, reason: RegExp) => {
      const refused = ground.start(['--seed', file]);
      assert.equal((await refused.exited).code, 2);
      assert.match(refused.error, reason);
      assert.equal(refused.out, '');
    };
    const first = used.start(['--admin-token', chosenToken]);
    await first.url();
    await first.stop();
    await refusal(
      used,
      'world.yaml',
      /^bailiwick: the database is not empty, so it cannot be planted with world\.yaml: /,
    );
    const second = planted.start(['--seed', 'world.yaml']);
    await second.url();
    await second.stop();
    await refusal(
      planted,
      'other.yaml',
      /was planted with another world than other\.yaml: .*sqlite::memory:, or without --seed\n$/,
    );
    const third = planted.start();
    assert.equal((await (await third.actor(tokenOfAda)).get('/organizations/acme')).status, 200);
  });

  onlyOn('sqlite', () =>
    test('the secrets of a seed are nowhere in a file of SQLite’s', guard, async t => {
      const ground = await newGround(t);
      writeFileSync(ground.path('world.yaml'), world);
      const server = ground.start(['--seed', 'world.yaml']);
      await server.url();
      await server.stop();
      const bytes = readFileSync(ground.path('data/bailiwick.db'), 'latin1');
      assert.ok(bytes.includes('ada@example.com'));
      for (const secret of [
        tokenOfAda,
        ...(server.out.match(new RegExp(ourToken, 'g')) ?? []).map(token => token.slice(24)),
      ])
        assert.ok(!bytes.includes(secret));
    }),
  );
});
