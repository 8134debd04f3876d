/** A census of every route: what each declares, and that it keeps it. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Validator } from '@seriousme/openapi-schema-validator';
import { operations } from '../src/resources/index.ts';
import { buildApp } from '../src/server/app.ts';
import { pathIn } from '../src/server/openapi.ts';
import type { Json } from './support/client.ts';
import { newStore } from './support/engine.ts';
import { walk } from './support/walk.ts';
import { type Directory, newDirectory } from './support/world.ts';

const open = [
  '/healthz',
  '/readyz',
  '/metrics',
  '/api/v2/ping',
  '/.well-known/terraform.json',
  '/.well-known/authzen-configuration/organizations/{organization}',
  '/openapi.json',
];

/** Questions by AuthZEN: they come by POST, and write nothing. */
const isQuestion = (path: string): boolean => path.includes('/access/v1/');

describe('the census of routes', () => {
  let directory: Directory;
  let document: Json;
  before(async () => {
    directory = await newDirectory();
    document = (await directory.server.client.send('GET', '/openapi.json')).body;
  });
  after(() => directory.server.close());

  const declared = () =>
    Object.entries<Json>(document.paths).flatMap(([path, at]) =>
      Object.keys(at).map(method => ({ method, path, at: at[method] })),
    );

  const isOfDryRun = ({ description }: Json): boolean => description === 'Of a dry run';
  const effectIn = ({ content }: Json): Json =>
    content['application/vnd.api+json'].schema.properties.meta?.properties.effect;

  test('the OpenAPI document is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors));
    assert.equal(validator.version, '3.1');
  });

  test('what the router serves is what the document declares, route by route', async t => {
    const routes: string[] = [];
    const store = await newStore();
    t.after(() => store.close());
    const services = {
      publicUrl: () => '',
      tokenKey: '',
      now: () => new Date(),
      random: (n: number) => new Uint8Array(n),
    };
    const app = buildApp({
      store,
      services,
      version: '',
      logLevel: 'silent',
      onRoute: (method, url) => routes.push(`${method} ${url}`),
    });
    assert.ok(app);
    const expected = declared().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const served = routes.filter(route => !route.startsWith('HEAD ')).map(pathIn);
    assert.deepEqual(served.sort(), expected.sort());
    assert.equal(new Set(served).size, served.length);
    assert.ok(served.length >= operations.length + open.length);
  });

  test('every route declares its answers, its authentication and, if it writes, its audit action', () => {
    for (const { method, path, at } of declared()) {
      const where = `${method} ${path}`;
      const statuses = Object.keys(at.responses);
      const successes = statuses.filter(status => status.startsWith('2') && !isOfDryRun(at.responses[status]));
      assert.equal(successes.length, 1, `${where}: one success`);
      const isWrite = method !== 'get' && !isQuestion(path);
      assert.equal(
        (at.parameters ?? []).some(({ name }: Json) => name === 'dry-run'),
        isWrite,
        `${where}: a write can be tried`,
      );
      const shown = statuses.find(status => isWrite && status.startsWith('2') && at.responses[status].content);
      if (isWrite) assert.ok(shown && effectIn(at.responses[shown]), `${where}: and tells its effect`);
      for (const [status, answer] of Object.entries<Json>(at.responses))
        assert.equal(Boolean(answer.content), status !== '204', `${where}: a schema for ${status}`);
      if (open.includes(path)) {
        assert.deepEqual(at.security, [], `${where} says that it needs no token`);
        continue;
      }
      // What is streamed is not known as a whole, and has no tag; nor has a decision, which nobody changes.
      const success = at.responses[successes[0] ?? ''];
      assert.equal(
        Boolean(success.headers.ETag),
        Boolean(success.content) && !path.endsWith('/access-review') && !isQuestion(path),
        where,
      );
      assert.ok(statuses.includes('401'), `${where} says that it needs a token`);
      assert.ok(at['x-since'], `${where} says since when`);
      // Only what makes a token or a lock may come without a body.
      const bare = /(authentication-tokens?|actions\/lock)$/.test(path);
      if (at.requestBody) assert.equal(at.requestBody.required, !bare, where);
      assert.equal(Boolean(at['x-audit']), isWrite, `${where}: audit action`);
    }
    assert.equal(
      operations.filter(({ method, asks }) => method !== 'GET' && !asks).every(({ audit }) => audit?.action),
      true,
    );
  });

  test('401 with one and the same body on every route, for every kind of bad token', async () => {
    const { client, adminToken } = directory.server;
    // In one form for JSON:API, and in another for AuthZEN.
    const bodies = { api: new Set<string>(), questions: new Set<string>() };
    const bad = [
      undefined,
      '',
      'x',
      `${adminToken}x`,
      `${adminToken.slice(0, -1)}!`,
      adminToken.replace(/.$/, last => (last === 'a' ? 'b' : 'a')),
    ];
    for (const { method, path } of declared().filter(({ path }) => !open.includes(path)))
      for (const token of bad) {
        const answer = await client.call(
          token,
          method.toUpperCase(),
          path.replace(/\{\w+\}/g, 'x'),
          method === 'get' ? undefined : '{',
        );
        assert.equal(answer.status, 401, `${method} ${path} with ${token}`);
        assert.equal(answer.headers['www-authenticate'], 'Bearer');
        bodies[isQuestion(path) ? 'questions' : 'api'].add(answer.text);
      }
    assert.deepEqual([bodies.api.size, bodies.questions.size], [1, 1]);
  });

  test('404 with one and the same body on every route with an id that does not exist', async () => {
    const bodies = new Set<string>();
    const withIds = declared().filter(({ path }) => path.includes('{') && !open.includes(path) && !isQuestion(path));
    for (const { method, path } of withIds) {
      const answer = await directory.server.client.call(
        directory.server.adminToken,
        method.toUpperCase(),
        // A user is asked about in an organization.
        `${path.replace(/\{\w+\}/g, 'no-such-thing')}?filter[organization][name]=no-such-thing`,
      );
      assert.equal(answer.status, 404, `${method} ${path}`);
      bodies.add(answer.text);
    }
    assert.equal(bodies.size, 1);
  });

  test('every route was seen to succeed, and every answer conformed to the document', async () => {
    await walk(directory);
    const { seen, checked } = directory.server.client;
    const missing = declared().filter(({ method, path, at }) => {
      const success = Object.keys(at.responses).find(
        status => status.startsWith('2') && !isOfDryRun(at.responses[status]),
      );
      return !seen.has(`${method.toUpperCase()} ${path} ${success}`);
    });
    assert.deepEqual(
      missing.map(({ method, path }) => `${method} ${path}`),
      [],
    );
    assert.ok(checked > 300);
  });
});

test('arrows point inward: core ← wire, store ← resources ← server', () => {
  const src = fileURLToPath(new URL('../src/', import.meta.url));
  const allowed: Record<string, string[]> = {
    core: ['core'],
    wire: ['core', 'wire'],
    store: ['core', 'wire', 'store'],
    resources: ['core', 'wire', 'store', 'resources'],
    server: ['core', 'wire', 'store', 'resources', 'server'],
    // It speaks HTTP only.
    cli: ['cli'],
  };
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));
  assert.ok(files.length > 20);
  for (const file of files) {
    const [room = ''] = file.split('/');
    const text = readFileSync(join(src, file), 'utf8');
    for (const [, from = ''] of text.matchAll(/from '([^']+)'/g)) {
      if (!from.startsWith('.')) {
        assert.notEqual(room, 'core', `${file} imports ${from}: the core imports nothing but itself`);
        assert.ok(room !== 'cli' || from.startsWith('node:'), `${file} imports ${from}: the command line starts fast`);
        continue;
      }
      const [target = ''] = relative(src, join(src, dirname(file), from)).split('/');
      if (target === '..') continue;
      assert.ok(allowed[room]?.includes(target), `${file} imports ${from}`);
    }
  }
});
