/**
 * The certification scenario of the AuthZEN Authorization API 1.0, item by item, over TLS. Its fixture is mapped to what there is
 * here: a record is a workspace, `write` is `write-variables`, and what alice and bob may comes from the grants of their teams.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { selfSigned } from '../src/server/certificate.ts';
import { type Answer, type Json, plainMediaType } from './support/client.ts';
import { startServer } from './support/server.ts';
import { type Actor, Directory } from './support/world.ts';

type Item = readonly [id: string, level: string, what: string, run: (() => Promise<void>) | string];

const settled = async () => {
  const day = 24 * 60 * 60 * 1000;
  const tls = selfSigned(['127.0.0.1'], new Date(Date.now() - day), new Date(Date.now() + day));
  const directory = new Directory(await startServer({ tls }));
  const { actor: owner } = await directory.user('owner');
  await directory.organization(owner, 'acme');
  const alice = await directory.member(owner, 'acme', 'alice');
  const bob = await directory.member(owner, 'acme', 'bob');
  const writers = await directory.team(owner, 'acme', { name: 'writers' }, ['alice']);
  const readers = await directory.team(owner, 'acme', { name: 'readers' }, ['bob']);
  const records = [];
  for (const name of ['record-1', 'record-2']) {
    const project = await directory.project(owner, 'acme', name);
    await directory.grant(owner, project, writers, { access: 'write' });
    await directory.grant(owner, project, readers, { access: 'read' });
    records.push(await directory.workspace(owner, 'acme', name, project));
  }
  const { attributes } = await owner.make('/organizations/acme/authentication-token?token=decisions');
  return { directory, asker: directory.actor(attributes.token), alice: alice.id, bob: bob.id, records };
};

describe('the certification scenario', () => {
  let world: Awaited<ReturnType<typeof settled>>;
  let asker: Actor;
  before(async () => {
    world = await settled();
    asker = world.asker;
  });
  after(() => world.directory.server.close());

  const user = (id: string, properties?: Json) => ({ type: 'user', id, ...(properties && { properties }) });
  const record = (number: 1 | 2, properties?: Json) => ({
    type: 'workspace',
    id: world.records[number - 1],
    ...(properties && { properties }),
  });
  const read = { name: 'read' };
  const write = { name: 'write-variables' };
  const question = (subject: Json, action: Json, resource: Json, more: Json = {}) => ({
    subject,
    action,
    resource,
    ...more,
  });

  const ok = async (path: string, body: Json): Promise<Json> => {
    const { status, headers, body: answer, text } = await asker.ask('acme', path, body);
    assert.deepEqual([status, headers['content-type']], [200, plainMediaType], text);
    return answer;
  };
  const decides = async (expected: boolean, body: Json) => {
    const { decision, context = {} } = await ok('evaluation', body);
    assert.equal(decision, expected);
    assert.equal(typeof context, 'object');
  };
  const decidesAll = async (expected: readonly boolean[], body: Json) => {
    const { evaluations } = await ok('evaluations', body);
    assert.deepEqual(
      evaluations.map(({ decision }: Json) => decision),
      expected,
    );
  };
  const refuses = async (path: string, ...bodies: unknown[]) => {
    for (const body of bodies) {
      const { status, body: message } = await asker.ask('acme', path, body);
      assert.deepEqual([status, typeof message], [400, 'string'], JSON.stringify(body));
    }
  };
  const finds = async (path: string, body: Json, ...expected: string[]) => {
    const { results, page } = await ok(`search/${path}`, body);
    const type = path === 'action' ? undefined : body[path].type;
    for (const result of results) {
      if (path === 'action') assert.equal(typeof result.name, 'string');
      else assert.deepEqual([result.type, typeof result.id], [type, 'string']);
    }
    const found = results.map(({ id, name }: Json) => id ?? name);
    for (const each of expected) assert.ok(found.includes(each), `${each} in ${found}`);
    assert.equal(typeof page.next_token, 'string');
    return { results, page };
  };
  const sent = (headers: Record<string, string>, payload?: string): Promise<Answer> =>
    world.directory.server.client.send('POST', '/organizations/acme/access/v1/evaluation', {
      headers: { authorization: `Bearer ${asker.token}`, ...headers },
      ...(payload !== undefined && { payload: Buffer.from(payload) }),
    });

  const properties =
    'decisions follow from teams and grants alone: properties of a request are accepted, and mean nothing here';

  const items: readonly Item[] = [
    ['c-2-2-1', 'Basic Core', 'a permit', () => decides(true, question(user(world.alice), read, record(1)))],
    ['c-2-2-2', 'Basic Core', 'a deny', () => decides(false, question(user(world.bob), write, record(1)))],
    [
      'c-2-2-3',
      'Basic Core',
      'a context changes nothing',
      () => {
        const context = { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' };
        return decides(true, question(user(world.alice), read, record(1), { context }));
      },
    ],
    ['c-2-2-4', 'Basic Properties', 'a deny by properties of the resource', properties],
    ['c-2-2-5', 'Basic Properties', 'a permit by properties of the subject', properties],
    ['c-2-2-6', 'Basic Properties', 'a permit by properties of the action', properties],
    ['c-2-2-7', 'Basic Properties', 'a deny by properties of the action', properties],
    [
      'c-2-2-8',
      'Basic Core',
      'further properties change nothing',
      () => {
        const subject = user(world.alice, { department: 'Sales', role: 'manager' });
        const action = { ...read, properties: { method: 'GET' } };
        return decides(true, question(subject, action, record(1, { status: 'active', owner: 'bob' })));
      },
    ],
    [
      'c-2-2-9',
      'Basic Core',
      'unknown fields change nothing',
      () => {
        const unknown = { foo: 'bar', futureField: { nested: true } };
        return decides(true, question(user(world.alice), read, record(1), unknown));
      },
    ],
    [
      'c-2-3',
      'Basic Core',
      'a boolean decision, and a context that is an object',
      async () => {
        for (const subject of [user(world.alice), user(world.bob), user('none')]) {
          const { decision, context } = await ok('evaluation', question(subject, write, record(2)));
          assert.deepEqual([typeof decision, typeof context], ['boolean', 'object']);
        }
      },
    ],
    [
      'c-2-4-1',
      'Basic Core',
      '400 for a missing field',
      () => {
        const { subject, action, resource } = question(user(world.alice), read, record(1));
        return refuses('evaluation', { action, resource }, { subject, resource }, { subject, action });
      },
    ],
    [
      'c-2-4-2',
      'Basic Core',
      '400 for a missing sub-field',
      () => {
        const whole = question(user(world.alice), read, record(1));
        return refuses(
          'evaluation',
          { ...whole, subject: { id: 'alice' } },
          { ...whole, subject: { type: 'user' } },
          { ...whole, action: {} },
          { ...whole, resource: { id: 'record-1' } },
          { ...whole, resource: { type: 'workspace' } },
        );
      },
    ],
    [
      'c-2-4-3',
      'Basic Core',
      '400 for another content type',
      async () => {
        const body = JSON.stringify(question(user(world.alice), read, record(1)));
        for (const type of ['text/plain', 'application/xml'])
          assert.equal((await sent({ 'content-type': type }, body)).status, 400);
      },
    ],
    ['c-2-4-4', 'Basic Core', '400 for malformed JSON', () => refuses('evaluation', '{ "subject": ')],
    [
      'c-2-4-5',
      'Basic Core',
      '400 for an empty body',
      async () => {
        await refuses('evaluation', '');
        assert.equal((await sent({ 'content-type': plainMediaType })).status, 400);
      },
    ],
    [
      'c-2-4-6',
      'Basic Core',
      '400 for fields of another type',
      () => {
        const whole = question(user(world.alice), read, record(1));
        return refuses('evaluation', { ...whole, subject: 'alice' }, { ...whole, action: { name: 123 } });
      },
    ],
    [
      'c-2-5',
      'Basic Core',
      'X-Request-ID comes back, and need not be sent',
      async () => {
        const body = JSON.stringify(question(user(world.alice), read, record(1)));
        const own = { 'x-request-id': 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716' };
        const answer = await sent({ 'content-type': plainMediaType, ...own }, body);
        assert.deepEqual([answer.status, answer.headers['x-request-id']], [200, own['x-request-id']]);
        assert.equal((await sent({ 'content-type': plainMediaType }, body)).status, 200);
      },
    ],
    [
      'c-2-6',
      'Basic Core',
      'the same question has the same answer',
      async () => {
        const answers = new Set<string>();
        for (let time = 0; time < 5; time++)
          answers.add(JSON.stringify(await ok('evaluation', question(user(world.bob), write, record(1)))));
        assert.equal(answers.size, 1);
      },
    ],
    [
      'c-3-2-1',
      'Batch Core',
      'several resources',
      () =>
        decidesAll([true, true], {
          subject: user(world.alice),
          action: read,
          evaluations: [{ resource: record(1) }, { resource: record(2) }],
        }),
    ],
    [
      'c-3-2-2',
      'Batch Core',
      'decisions in the order of the questions',
      () =>
        decidesAll([true, false], {
          subject: user(world.bob),
          resource: record(1),
          evaluations: [{ action: read }, { action: write }],
        }),
    ],
    ['c-3-2-3', 'Batch Properties', 'properties of the resource', properties],
    ['c-3-2-4', 'Batch Properties', 'properties of the subject', properties],
    [
      'c-3-2-5',
      'Batch Core',
      'items without defaults',
      () =>
        decidesAll([true, false], {
          evaluations: [question(user(world.alice), read, record(1)), question(user(world.bob), write, record(1))],
        }),
    ],
    [
      'c-3-2-6',
      'Batch Core',
      'a context by default and another of an item',
      () =>
        decidesAll([true, true], {
          subject: user(world.alice),
          action: read,
          context: { time: '2025-06-27T18:03-07:00' },
          evaluations: [
            { resource: record(1) },
            { resource: record(2), context: { time: '2025-06-27T19:00-07:00', source: 'batch-override' } },
          ],
        }),
    ],
    [
      'c-3-2-7',
      'Batch Properties',
      'a type by default and an id of the item',
      'advisory, and against the specification, by which an item replaces a default whole: half an entity is refused, so that no slip is answered for another subject or resource',
    ],
    [
      'c-3-3',
      'Batch Core',
      'as many answers as questions, each a boolean, no decision above them',
      async () => {
        const evaluations = Array.from({ length: 30 }, (_, n) => ({ resource: record(n % 2 ? 1 : 2) }));
        const answer = await ok('evaluations', { subject: user(world.bob), action: read, evaluations });
        assert.equal(answer.evaluations.length, 30);
        assert.ok(answer.evaluations.every(({ decision }: Json) => typeof decision === 'boolean'));
        assert.equal('decision' in answer, false);
      },
    ],
    [
      'c-3-4-1',
      'Batch Core',
      'the failure of an item is its own',
      () =>
        decidesAll([true, false], {
          subject: user(world.alice),
          action: read,
          evaluations: [{ resource: record(1) }, {}],
        }),
    ],
    [
      'c-3-4-2',
      'Batch Core',
      'without items, one evaluation',
      async () => {
        const { decision } = await ok('evaluations', question(user(world.alice), read, record(1)));
        assert.equal(decision, true);
      },
    ],
    [
      'c-3-4-3',
      'Batch Core',
      'with an empty list of items, one evaluation',
      async () => {
        const one = question(user(world.alice), read, record(1), { evaluations: [] });
        assert.equal((await ok('evaluations', one)).decision, true);
      },
    ],
    [
      'c-4-2-1',
      'Search Core',
      'subjects',
      async () => void (await finds('subject', question({ type: 'user' }, read, record(1)), world.alice, world.bob)),
    ],
    [
      'c-4-2-2',
      'Search Core',
      'subjects, with a context',
      async () =>
        void (await finds(
          'subject',
          question({ type: 'user' }, read, record(1), { context: { time: 'x' } }),
          world.bob,
        )),
    ],
    [
      'c-4-2-3',
      'Search Core',
      'subjects, with an id that is ignored',
      async () => void (await finds('subject', question(user('ignored'), read, record(1)), world.alice, world.bob)),
    ],
    ['c-4-2-4', 'Search Properties', 'subjects by properties of the resource', properties],
    [
      'c-4-3-1',
      'Search Core',
      'resources',
      async () =>
        void (await finds(
          'resource',
          question(user(world.alice), read, { type: 'workspace' }),
          world.records[0] ?? '',
        )),
    ],
    [
      'c-4-3-2',
      'Search Core',
      'resources, with an id that is ignored',
      async () => {
        const sought = question(user(world.alice), read, { type: 'workspace', id: 'ignored' });
        await finds('resource', sought, ...world.records);
      },
    ],
    ['c-4-3-3', 'Search Properties', 'resources by properties of the subject', properties],
    [
      'c-4-4-1',
      'Search Core',
      'actions',
      async () =>
        void (await finds('action', { subject: user(world.alice), resource: record(1) }, read.name, write.name)),
    ],
    [
      'c-4-4-2',
      'Search Core',
      'actions, with a context',
      async () => {
        const sought = { subject: user(world.alice), resource: record(1), context: { time: 'x' } };
        await finds('action', sought, read.name);
      },
    ],
    ['c-4-4-3', 'Search Properties', 'actions by properties', properties],
    [
      'c-4-5',
      'Search Core',
      'pages by limit and token to the end',
      async () => {
        const sought = question({ type: 'user' }, read, record(1));
        const first = await finds('subject', { ...sought, page: { limit: 1 } });
        assert.equal(first.results.length, 1);
        const seen = [...first.results];
        for (let { next_token: token } = first.page; token !== ''; ) {
          const next = await finds('subject', { ...sought, page: { token } });
          seen.push(...next.results);
          token = next.page.next_token;
        }
        assert.deepEqual([seen.length, new Set(seen.map(({ id }) => id)).size], [3, 3]);
        assert.deepEqual(first.page, { ...first.page, count: 1, total: 3 });
      },
    ],
    [
      'c-4-6',
      'Search Core',
      'nothing for what is not known, by id or by type',
      async () => {
        const nobody = { subject: user('nonexistent-user'), resource: record(1) };
        assert.deepEqual((await ok('search/action', nobody)).results, []);
        const ships = question({ type: 'spaceship' }, read, record(1));
        assert.deepEqual((await ok('search/subject', ships)).results, []);
      },
    ],
    [
      'c-4-7',
      'Search Core',
      '400 for a missing field or sub-field',
      async () => {
        await refuses('search/subject', { subject: { type: 'user' }, resource: record(1) });
        await refuses('search/resource', { action: read, resource: { type: 'workspace' } });
        await refuses('search/action', { subject: user(world.alice) });
        await refuses('search/subject', question({ type: 'user' }, read, { type: 'workspace' }));
        await refuses('search/resource', question({ type: 'user' }, read, { type: 'workspace' }));
      },
    ],
    [
      'c-5',
      'all',
      'HTTPS and application/json in both directions, unknown fields ignored',
      async () => {
        assert.match(world.directory.server.url, /^https:/);
        await decides(true, question(user(world.alice), read, record(1), { unknown: true }));
      },
    ],
    [
      'c-6',
      'Discovery',
      'metadata at the well-known place of the tenant',
      async () => {
        const base = 'https://bailiwick.example/organizations/acme';
        const { pathname, origin } = new URL(base);
        const { client } = world.directory.server;
        const { status, headers, body } = await client.send('GET', `/.well-known/authzen-configuration${pathname}`);
        assert.deepEqual([status, headers['content-type']], [200, plainMediaType]);
        assert.equal(body.policy_decision_point, base);
        for (const [name, url] of Object.entries<string>(body)) {
          const { protocol, search, hash } = new URL(url);
          assert.deepEqual([protocol, search, hash], ['https:', '', ''], name);
          assert.ok(url.startsWith(origin));
        }
        assert.ok(body.access_evaluation_endpoint.endsWith('/access/v1/evaluation'));
      },
    ],
  ];

  for (const [id, level, what, run] of items.filter(([, , , run]) => typeof run !== 'string'))
    test(`${id}, ${level}: ${what}`, run as () => Promise<void>);

  test('what needs properties is accepted all the same, and answered as without them', async () => {
    const { alice, bob } = world;
    const [plain, rich] = [
      question(user(alice), write, record(2)),
      question(user(alice), write, record(2, { status: 'archived' })),
    ];
    assert.deepEqual(await ok('evaluation', rich), await ok('evaluation', plain));
    const admin = user(bob, { role: 'admin' });
    await decides(false, question(admin, write, record(2, { status: 'archived' })));
    for (const soft of [true, false])
      await decides(false, question(user(alice), { name: 'delete', properties: { soft } }, record(1)));
    await finds('subject', question({ type: 'user' }, write, record(2, { status: 'archived' })), alice);
    await finds('resource', question(admin, read, { type: 'workspace' }), ...world.records);
    await finds('action', { subject: admin, resource: record(2, { status: 'archived' }) }, 'read');
  });

  test('docs/authzen.md tells of each item what is told here', () => {
    const docs = readFileSync(new URL('../docs/authzen.md', import.meta.url), 'utf8');
    for (const [id, level, what, run] of items) {
      const result = typeof run === 'string' ? `not applicable: ${run}` : 'passed';
      assert.ok(docs.includes(`| ${id} | ${level} | ${what} | ${result} |`), `${id}: ${result}`);
    }
  });
});
