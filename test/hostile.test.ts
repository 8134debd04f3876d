/** Any bytes at all: never a 5xx, never half a change, and every refusal is a JSON:API error document. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { randomText } from '../src/store/id.ts';
import { sql } from '../src/store/sql.ts';
import type { Store } from '../src/store/store.ts';
import { newToken } from '../src/store/token.ts';
import { type Answer, assertErrors, type Json, mediaType } from './support/client.ts';
import { Dice } from './support/dice.ts';
import { raw, rawRequest } from './support/raw.ts';
import {
  filled,
  newWorld,
  type Pool,
  poolOf,
  type Route,
  requiredQuery,
  rightfulIn,
  routesOf,
  type World,
} from './support/routes.ts';
import type { TestServer } from './support/server.ts';
import { contents } from './support/tables.ts';
import { type Actor, grantBody, workspaceGrantBody } from './support/world.ts';

/** The one answer to raw bytes, which must be an error of this status. */
const refusedRaw = async (server: TestServer, bytes: string | Buffer, ...statuses: number[]): Promise<void> => {
  const answers = await raw(server, bytes);
  const where = `${JSON.stringify(bytes.toString('latin1').slice(0, 60))} answered ${answers.map(({ status }) => status)}`;
  assert.equal(answers.length, 1, where);
  for (const { status, headers, body } of answers) {
    assert.ok(statuses.includes(status), where);
    assertErrors(status, headers, body, where);
  }
};

// The state, to say that nothing was changed

const state = async (store: Store): Promise<string> => JSON.stringify(await store.read(contents), null, 1);

const withoutEffect = async <T>({ store }: TestServer, work: () => Promise<T>): Promise<T> => {
  const present = await state(store);
  const result = await work();
  assert.ok((await state(store)) === present, 'something was changed');
  return result;
};

describe('hostile requests', () => {
  let world: World;
  let server: TestServer;
  let routes: Route[];
  let pool: Pool;

  before(async () => {
    world = await newWorld(1);
    ({ server } = world);
    routes = await routesOf(server);
    pool = await poolOf(world, routes);
  });
  after(() => server.close());

  const writes = (): Route[] => routes.filter(({ method, asks }) => method !== 'GET' && !asks);
  const at = ({ path }: Route): string => filled(path, type => pool.get(type)?.[0] ?? 'none');
  /** What changes the attributes of one resource, and where they are shown; of a password nothing is. */
  const updates = (): Route[] =>
    routes.filter(
      ({ method, path, schema }) =>
        ['PATCH', 'PUT'].includes(method) && schema.properties.data.type === 'object' && !path.endsWith('/password'),
    );
  const shownAt = (route: Route): string =>
    route.path === '/api/v2/account/update' ? '/api/v2/account/details' : at(route);

  /** Bytes as the body of a request, otherwise well made. */
  const sendBody = (actor: Actor, method: string, path: string, payload: string | Buffer, type = mediaType) =>
    server.client.send(method, path, {
      payload,
      headers: {
        ...(actor.token !== undefined && { authorization: `Bearer ${actor.token}` }),
        'content-type': type,
        'content-length': `${Buffer.byteLength(payload)}`,
      },
    });

  const refused = async (status: number, sent: Promise<Answer>, what: string): Promise<Json[]> => {
    const answer = await sent;
    assert.equal(answer.status, status, `${what} answered ${answer.status}: ${answer.text}`);
    assertErrors(answer.status, answer.headers, answer.body, what);
    return answer.body.errors;
  };

  const rightful = (route: Route): Actor => rightfulIn(world, route);

  describe('bodies', () => {
    test('a body that is not JSON is 400', async () => {
      for (const text of ['{', 'hello', '{"data":}', '{} {}', "{'data':1}", '{"data":1,}', 'NaN', '\0', '[1,]', '"\n"'])
        for (const route of writes()) {
          const sent = withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), text));
          await refused(400, sent, `${route.method} ${route.path} with ${JSON.stringify(text)}`);
        }
    });

    test('a body that is not JSON is told so without the name of another media type', async () => {
      const [error] = await refused(400, sendBody(world.owner, 'POST', '/api/v2/team-projects', '{'), '{');
      assert.match(error.detail, /JSON/);
      assert.doesNotMatch(error.detail, /application\/json/);
    });

    test('an empty body is 422 where one is required', async () => {
      for (const route of writes().filter(({ schema }) => schema?.required?.includes('data')))
        for (const text of ['', '{}', 'null', '[]', '7', '"data"', '{"data":null}', '{"data":7}']) {
          const sent = withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), text));
          const errors = await refused(422, sent, `${route.method} ${route.path} with '${text}'`);
          assert.ok(['', '/data'].includes(errors[0].source.pointer), JSON.stringify(errors));
        }
    });

    test('another media type than that of JSON:API is 415', async () => {
      const wrong = [
        'application/json',
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        `${mediaType}; charset=utf-8`,
        `${mediaType}; ext="x"`,
        `${mediaType};ext=x;profile="x"`,
        'application/vnd.api',
        'application/vnd.api+jsonx',
        '*/*',
        'nonsense',
        ';;=',
        '',
      ];
      for (const type of wrong)
        for (const route of writes())
          await refused(
            415,
            withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), '{}', type)),
            `${route.method} ${route.path} of type '${type}'`,
          );
    });

    const profiles = ['profile="x"', 'profile="http://example.com/a http://example.com/b"', 'PROFILE=x'];
    const oddProfiles = ['profile="http://example.com/a;b"', 'profile="a; ext=b"'];

    for (const [promise, accepted] of [
      ['a profile is accepted with the media type', profiles],
      ['a profile is accepted with a semicolon in its address', oddProfiles],
    ] as const)
      test(promise, async () => {
        for (const profile of accepted) {
          const path = `/api/v2/team-projects/${world.grant}`;
          const body = '{"data":{"attributes":{"access":"write"}}}';
          const answer = await sendBody(world.owner, 'PATCH', path, body, `${mediaType}; ${profile}`);
          assert.equal(answer.status, 200, `${profile}: ${answer.text}`);
        }
      });

    test('a body of 64 KiB is read, of a whole list 1 MiB, and one of a byte more is 413', async () => {
      for (const route of writes().filter(({ schema }) => schema?.required?.includes('data'))) {
        const padded = (size: number) => `{"x":"${'x'.repeat(size - 8)}"}`;
        const what = `${route.method} ${route.path}`;
        const send = (size: number) =>
          withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), padded(size)));
        const most = (/^PUT .*\/team-projects$/.test(what) ? 1024 : 64) * 1024;
        await refused(422, send(most), what);
        const [error] = await refused(413, send(most + 1), what);
        assert.match(error.detail, new RegExp(` ${most / 1024} KiB `));
        await refused(413, send(most + 1024 * 1024), what);
      }
    });

    test('a body over 64 KiB is 413 also when its length is not told', async () => {
      const headers = { authorization: `Bearer ${world.owner.token}`, 'content-type': mediaType };
      const sent = withoutEffect(server, () =>
        server.client.send('POST', '/api/v2/team-projects', {
          headers: { ...headers, 'transfer-encoding': 'chunked' },
          payload: 'x'.repeat(80_000),
        }),
      );
      await refused(413, sent, 'POST in chunks');
    });

    test('JSON of any depth is refused or without effect', async () => {
      const nested = (open: string, close: string, depth: number, inner = '') =>
        open.repeat(depth) + inner + close.repeat(depth);
      const deep = [
        nested('[', ']', 30_000),
        `{"data":${nested('[', ']', 30_000)}}`,
        nested('{"data":', '}', 7_000, '1'),
        `{"data":{"type":"team-projects","attributes":${nested('{"a":', '}', 10_000, '1')}}}`,
        `{"data":{"relationships":{"project":{"data":{"id":${nested('[', ']', 30_000)}}}}}}`,
      ];
      for (const body of deep)
        for (const route of writes().filter(({ schema }) => schema?.required?.includes('data'))) {
          const answer = await sendBody(rightful(route), route.method, at(route), body);
          if (answer.status === 200) server.client.conforms(route.method, at(route), answer);
          else await refused(422, Promise.resolve(answer), `${route.method} ${route.path}`);
        }
    });

    test('keys that would poison a prototype are refused or without effect', async () => {
      const poisons = [
        '"__proto__":{"access":"admin","isAdmin":true,"polluted":true}',
        '"__proto__":null',
        '"\\u005f_proto__":{"polluted":true}',
        '"\\u005F\\u005Fproto\\u005f\\u005f" : {"polluted":true}',
        '"constructor":{"prototype":{"polluted":true}}',
        '"constr\\u0075ctor":{"prototype":{"polluted":true}}',
        '"prototype":{"polluted":true}',
        '"constructor":"x"',
        '"toString":7,"valueOf":null,"hasOwnProperty":1',
      ];
      const path = `/api/v2/team-projects/${world.grant}`;
      const shown = (await world.owner.get(`/team-projects/${world.grant}`)).text;
      for (const poison of poisons)
        for (const body of [
          `{${poison},"data":{}}`,
          `{"data":{${poison}}}`,
          `{"data":{"attributes":{${poison}}}}`,
          `{"data":{"attributes":{"access":"write","project-access":{${poison}}}}}`,
          `{"data":{"attributes":{"workspace-access":{${poison}}}}}`,
        ]) {
          const answer = await sendBody(world.owner, 'PATCH', path, body);
          assert.ok([200, 400, 422].includes(answer.status), `${body} answered ${answer.status}`);
          server.client.conforms('PATCH', path, answer);
          assert.equal((await world.owner.get(`/team-projects/${world.grant}`)).text, shown, body);
          assert.equal(({} as Json).polluted, undefined, 'a prototype was poisoned');
        }
    });

    test('a poisoned key is refused with its own reason, not as text that is not JSON', async () => {
      const body = '{"data":{"__proto__":{"x":1}}}';
      const sent = sendBody(world.owner, 'PATCH', `/api/v2/team-projects/${world.grant}`, body);
      const [error] = await refused(400, sent, body);
      assert.doesNotMatch(error.detail, /not (valid )?JSON/);
    });

    test('NUL and lone surrogates in a string or a key are 400, and say so', async () => {
      const texts = ['\\u0000', 'a\\u0000b', '\\ud800', '\\uDFFF', '\\udc00\\ud800', 'a\\uD83Db'];
      for (const text of texts)
        for (const body of [
          `{"data":{"type":"projects","attributes":{"name":"x${text}x"}}}`,
          `{"data":{"type":"projects","attributes":{"name":"fine","description":"${text}"}}}`,
          `{"data":{"type":"projects","attributes":{"name":"fine","${text}":1}}}`,
          `{"data":{"type":"projects","attributes":{"name":"fine"}},"elsewhere":[[{"a":"${text}"}]]}`,
        ]) {
          const path = '/api/v2/organizations/acme/projects';
          const sent = withoutEffect(server, () => sendBody(world.owner, 'POST', path, body));
          const [error] = await refused(400, sent, body);
          assert.match(error.detail, /NUL|surrogate/, 'a clear error');
        }
    });

    test('a whole surrogate pair, written as escapes, is accepted', async () => {
      const answer = await sendBody(
        world.owner,
        'POST',
        '/api/v2/organizations/acme/projects',
        '{"data":{"type":"projects","attributes":{"name":"emoji","description":"\\ud83d\\ude00"}}}',
      );
      assert.equal(answer.body?.data?.attributes.description, '😀', answer.text);
    });

    test('broken UTF-8 is 400', async () => {
      const broken = [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]];
      for (const bytes of broken) {
        const [head, tail] = ['{"data":{"type":"projects","attributes":{"name":"fine","description":"', '"}}}'];
        const body = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]);
        const path = '/api/v2/organizations/acme/projects';
        const sent = withoutEffect(server, () => sendBody(world.owner, 'POST', path, body));
        const [error] = await refused(400, sent, body.toString('latin1'));
        assert.match(error.detail, /UTF-8/);
      }
    });

    test('numbers of any size where text or a flag belongs are 422', async () => {
      for (const number of ['0', '1', '-1', '1e999', '-1e999', '9007199254740993', '1e-400', `${'9'.repeat(400)}`])
        for (const attribute of [`"access":${number}`, `"access":"custom","workspace-access":{"create":${number}}`]) {
          const path = `/api/v2/team-projects/${world.grant}`;
          const body = `{"data":{"attributes":{${attribute}}}}`;
          await refused(
            422,
            withoutEffect(server, () => sendBody(world.owner, 'PATCH', path, body)),
            body,
          );
        }
    });

    test('attributes that are a list, null, a string or a number are 422 with a pointer', async () => {
      for (const route of writes().filter(({ schema }) => schema?.properties?.data?.properties?.attributes))
        for (const attributes of [[], [{ access: 'read' }], null, 'x', 7, true]) {
          const { type } = route.schema.properties.data.properties;
          const data = { ...(type && { type: type.const }), attributes };
          const { relationships } = {
            '/api/v2/team-projects': grantBody(world.project, world.team, {}),
            '/api/v2/team-workspaces': workspaceGrantBody(world.workspace, world.team, {}),
          }[route.path] ?? { relationships: undefined };
          const body = JSON.stringify({ data: { ...data, ...(relationships && { relationships }) } });
          const sent = withoutEffect(server, () => sendBody(rightful(route), route.method, at(route), body));
          const errors = await refused(422, sent, `${route.method} ${route.path} with ${body}`);
          assert.ok(
            errors.some(error => error.source.pointer === '/data/attributes'),
            JSON.stringify(errors),
          );
        }
    });

    test('groups of permissions that are no objects, unknown levels and values outside a chain are 422 with a pointer', async () => {
      const wrong: [Json, string][] = [
        ...['plan', 'owner', 'READ', 'read ', '', 'none', '__proto__', 'constructor', null, [], {}, 1, true].map(
          (access): [Json, string] => [{ access }, 'access'],
        ),
        ...['project-access', 'workspace-access'].flatMap(group =>
          [[], null, 'x', 7, true].map((value): [Json, string] => [{ access: 'custom', [group]: value }, group]),
        ),
        ...Object.entries({
          'project-access/settings': ['none', 'write', '', 'READ', true, null],
          'project-access/teams': ['update', 'admin', false, null],
          'workspace-access/runs': ['none', 'write', 'toString', null],
          'workspace-access/sentinel-mocks': ['write', true],
          'workspace-access/state-versions': ['outputs', 'admin'],
          'workspace-access/variables': ['manage', 0],
          'workspace-access/create': ['true', 1, null, []],
          'workspace-access/locking': ['false', 0],
          'workspace-access/delete': ['', {}],
          'workspace-access/move': ['none'],
          'workspace-access/run-tasks': [[]],
        }).flatMap(([place, values]) =>
          values.map((value): [Json, string] => {
            const [group = '', key = ''] = place.split('/');
            return [{ access: 'custom', [group]: { [key]: value } }, place];
          }),
        ),
      ];
      for (const [attributes, place] of wrong)
        for (const [method, path, data] of [
          ['POST', '/api/v2/team-projects', grantBody(world.project, world.team, attributes)],
          ['PATCH', `/api/v2/team-projects/${world.grant}`, { attributes }],
        ] as const) {
          const body = JSON.stringify({ data });
          const errors = await refused(
            422,
            withoutEffect(server, () => sendBody(world.owner, method, path, body)),
            body,
          );
          assert.ok(
            errors.some(error => error.source.pointer === `/data/attributes/${place}`),
            `${body}: ${JSON.stringify(errors)}`,
          );
        }
    });

    test('missing keys are 422, each with a pointer', async () => {
      const whole = grantBody(world.project, world.team, { access: 'read' });
      const without: [string, Json][] = [
        ['/data/type', { ...whole, type: undefined }],
        ['/data/attributes', { ...whole, attributes: undefined }],
        ['/data/attributes/access', { ...whole, attributes: {} }],
        ['/data/relationships/team', { ...whole, relationships: { project: whole.relationships.project } }],
        ['/data/relationships/project', { ...whole, relationships: { team: whole.relationships.team } }],
        ['/data/relationships', { ...whole, relationships: undefined }],
      ];
      for (const [pointer, data] of without) {
        const sent = withoutEffect(server, () => world.owner.post('/team-projects', data));
        const errors = await refused(422, sent, pointer);
        assert.ok(
          errors.some(error => error.source.pointer === pointer),
          `${pointer}: ${JSON.stringify(errors)}`,
        );
      }
    });

    test('a team and a project of different organizations are 404, even to the owner of both', async () => {
      for (const [project, team] of [
        [world.project, world.foreignTeam],
        [world.foreignProject, world.team],
      ] as const) {
        const data = grantBody(project, team, { access: 'read' });
        const sent = withoutEffect(server, () => world.owner.post('/team-projects', data));
        const [error] = await refused(404, sent, 'POST team-projects');
        assert.equal(error.source.pointer, '/data/relationships/team');
      }
    });

    test('a body on a GET changes nothing of its answer', async () => {
      const path = `/api/v2/team-projects/${world.grant}`;
      const { text } = await world.owner.get(`/team-projects/${world.grant}`);
      for (const body of ['{', '{"data":{"attributes":{"access":"admin"}}}', 'x'.repeat(70_000)])
        assert.equal((await sendBody(world.owner, 'GET', path, body, 'text/plain')).text, text);
    });
  });

  describe('headers and addresses', () => {
    test('a header over the limit is 431', async () => {
      for (const headers of [{ 'x-long': 'x'.repeat(20_000) }, { authorization: `Bearer ${'x'.repeat(20_000)}` }])
        await refused(431, server.client.send('GET', '/healthz', { headers }), 'a long header');
      const many = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`x-${index}`, 'some text']));
      await refused(431, server.client.send('GET', '/healthz', { headers: many }), 'many headers');
    });

    test('an address that is too long is 431 or 414', async () => {
      for (const path of [
        `/healthz?${'x'.repeat(20_000)}`,
        `/${'x'.repeat(20_000)}`,
        `/api/v2/team-projects?filter[project][id]=${'x'.repeat(20_000)}`,
      ]) {
        const { status, headers, body } = await server.client.send('GET', path);
        assert.ok([414, 431].includes(status), `${path.slice(0, 50)} answered ${status}`);
        assertErrors(status, headers, body, path.slice(0, 50));
      }
    });

    test('an id is opaque however long: unknown is 404, unless the address is too long as a whole', async () => {
      for (const length of [100, 1000, 1025, 2000, 8000])
        for (const { path } of routes.filter(({ method, path }) => method === 'GET' && path.endsWith('{id}'))) {
          const address = filled(path, () => 'x'.repeat(length));
          const { status, headers, body } = await server.client.send('GET', address, {
            headers: { authorization: `Bearer ${world.owner.token}` },
          });
          assert.ok([404, 414, 431].includes(status), `${path} with ${length} characters answered ${status}`);
          assertErrors(status, headers, body, path);
        }
    });

    const malformedIds = ['%', '%z', '%zz', '%E0%A4%A', '%ff', '%c3', '%80'];
    const getMalformed = (id: string) =>
      server.client.send('GET', `/api/v2/teams/${id}`, { headers: { authorization: `Bearer ${world.owner.token}` } });

    test('malformed percent-encoding in a path is 400', async () => {
      for (const id of malformedIds) await refused(400, getMalformed(id), id);
    });

    test('malformed percent-encoding in a path has a request id in its answer, like everything else', async () => {
      for (const id of malformedIds) server.client.conforms('GET', `/api/v2/teams/${id}`, await getMalformed(id));
    });

    test('malformed percent-encoding in a query is 400 for a number, and no id that exists', async () => {
      const list = '/team-projects?filter[project][id]=';
      for (const text of ['%', '%zz', '%E0%A4%A', '%ff', '%00', '%F0%9F%98%80']) {
        await refused(404, world.owner.get(`${list}${text}`), text);
        const page = world.owner.get(`${list}${world.project}&page[number]=${text}`);
        assert.deepEqual((await refused(400, page, text))[0].source, { parameter: 'page[number]' });
        const none = await world.owner.get(`${list}${world.project}&filter[team][id]=${text}`);
        assert.deepEqual([none.status, none.body.data], [200, []]);
      }
    });

    test('NUL and separators in a path are 404', async () => {
      for (const id of [
        '%00',
        'a%00b',
        '%2F',
        '..%2F..',
        '%2e%2e',
        '%0d%0a',
        '%F0%9F%98%80',
        "'%20or%201=1--",
        '*',
        '%5C',
      ])
        await refused(404, world.owner.get(`/teams/${id}`), id);
    });

    test('a page number that is no whole number from 1 to 2^53 - 1 is 400, and names the parameter', async () => {
      const wrong = [
        '0',
        '-1',
        '1.5',
        '1e3',
        '+1',
        '0x10',
        'NaN',
        'Infinity',
        '',
        ' 1',
        '1 ',
        '١',
        '1,000',
        '1_0',
        'null',
      ];
      const huge = ['9007199254740992', '9007199254740993', '18446744073709551616', '9'.repeat(400)];
      const filter = `filter[project][id]=${world.project}`;
      for (const number of [...wrong, ...huge]) {
        const sent = world.owner.get(`/team-projects?${filter}&page[number]=${encodeURIComponent(number)}`);
        assert.deepEqual((await refused(400, sent, number))[0].source, { parameter: 'page[number]' });
      }
      const largest = await world.owner.get(`/team-projects?${filter}&page[number]=9007199254740991&page[size]=100`);
      assert.deepEqual([largest.status, largest.body.data], [200, []]);
    });

    test('a page size that is no whole number from 1 is 400, and a huge one counts as 100', async () => {
      const filter = `filter[project][id]=${world.project}`;
      for (const size of ['0', '-1', '1.5', '1e3', 'x', '']) {
        const sent = world.owner.get(`/team-projects?${filter}&page[size]=${size}`);
        assert.deepEqual((await refused(400, sent, size))[0].source, { parameter: 'page[size]' });
      }
      for (const size of ['101', '9007199254740993', '9'.repeat(400)]) {
        const { body } = await world.owner.get(`/team-projects?${filter}&page[size]=${size}`);
        assert.equal(body.meta.pagination['page-size'], 100);
      }
    });

    test('a query parameter given twice is 400, and is named', async () => {
      for (const route of routes)
        for (const name of route.parameters) {
          const filter = `${requiredQuery(world, route)}&`.replace(/^&/, '');
          for (const [first, second] of [
            [name, name],
            [name, name.replaceAll('[', '%5B').replaceAll(']', '%5D')],
          ]) {
            // The first of the users belongs to no organization.
            const address = filled(route.path, type => pool.get(type)?.at(type === 'users' ? 1 : 0) ?? 'none');
            const path = `${address}?${filter}${first}=1&${second}=1`;
            const method = name === 'dry-run' ? route.method : 'GET';
            const sent = server.client.call(rightful(route).token, method, path);
            const [error] = await refused(400, sent, path);
            assert.deepEqual(error.source, { parameter: name }, path);
          }
        }
    });

    test('a path that is not known is 404 to every method', async () => {
      for (const path of [
        '/',
        '/api',
        '/api/v2',
        '/api/v2/',
        '/api/v2/nope',
        '/healthz/',
        '//healthz',
        '/api/v1/teams',
        '/.env',
      ])
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']) {
          const answer = await server.client.send(method, path);
          assert.equal(answer.status, 404, `${method} ${path} answered ${answer.status}`);
          server.client.conforms(method === 'HEAD' ? 'GET' : method, path, {
            ...answer,
            ...(method === 'HEAD' && { body: { errors: [{ status: '404', title: '' }] } }),
          });
        }
    });

    const badBodies = [
      ['{', mediaType],
      ['x', 'text/plain'],
      ['x', ';;='],
      ['x'.repeat(70_000), mediaType],
    ] as const;

    test('a path that is not known is 404 whatever the body: nothing reads it', async () => {
      for (const [body, type] of badBodies)
        await refused(404, sendBody(world.owner, 'POST', '/api/v2/nope', body, type), `${body.slice(0, 9)} of ${type}`);
    });

    test('a known path with another method is 405 whatever the body: nothing reads it', async () => {
      for (const [body, type] of badBodies)
        for (const path of ['/healthz', '/api/v2/team-projects'])
          await refused(405, sendBody(world.owner, 'PUT', path, body, type), `${path}, ${body.slice(0, 9)} of ${type}`);
    });

    test('a known path is 405 also to QUERY, which wants a media type', async () => {
      await refused(405, server.client.send('QUERY', '/api/v2/team-projects'), 'QUERY');
    });

    test('a known path with another method is 405 with Allow', async () => {
      const methods = 'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND SEARCH LOCK PURGE LINK M-SEARCH'.split(
        ' ',
      );
      for (const path of new Set(routes.map(route => route.path))) {
        const there = routes.filter(route => route.path === path).map(({ method }) => method);
        const allowed = there.includes('GET') ? ['HEAD', ...there] : there;
        const address = filled(path, type => pool.get(type)?.[0] ?? 'none');
        for (const method of methods.filter(method => !allowed.includes(method))) {
          const answer = await server.client.send(method, `${address}?x=1`);
          assert.equal(answer.status, 405, `${method} ${path} answered ${answer.status}: ${answer.text}`);
          assert.deepEqual(answer.headers.allow?.split(', ').toSorted(), allowed.toSorted(), `${method} ${path}`);
          if (method !== 'HEAD') server.client.conforms(method, address, answer);
        }
      }
    });

    test('a known path is 405, not 404, in every spelling of it that is served', async () => {
      for (const target of ['/api/v2/team%2Dprojects', 'http://bailiwick.example/api/v2/team-projects'])
        await refusedRaw(server, rawRequest('PUT', target, { Connection: 'close' }), 405);
    });

    test('HEAD answers as GET does, without the body', async () => {
      for (const route of routes.filter(({ method }) => method === 'GET')) {
        const query = `?${requiredQuery(world, route)}`;
        const headers = { authorization: `Bearer ${rightful(route).token}`, 'x-request-id': 'same' };
        const [get, head] = await Promise.all([
          server.client.send('GET', at(route) + query, { headers }),
          server.client.send('HEAD', at(route) + query, { headers }),
        ]);
        assert.deepEqual([head.status, head.text], [get.status, ''], route.path);
        // What is counted has another length a moment later; what is streamed has none, and what says so belongs to the body.
        const passing = {
          date: '',
          ...(route.path === '/metrics' && { 'content-length': '' }),
          ...(route.path.endsWith('/access-review') && { 'transfer-encoding': '', trailer: '' }),
        };
        assert.deepEqual({ ...head.headers, ...passing }, { ...get.headers, ...passing }, route.path);
      }
    });

    test('odd headers change nothing of an answer', async () => {
      const authorization = `Bearer ${world.owner.token}`;
      const path = `/api/v2/team-projects?filter[project][id]=${world.project}`;
      const { text } = await server.client.send('GET', path, { headers: { authorization } });
      for (const headers of [
        { host: 'evil.example' },
        { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'gopher', forwarded: 'host=evil.example' },
        { 'x-http-method-override': 'DELETE', 'x-original-url': '/api/v2/admin/users' },
        { 'x-request-id': 'a b\tc' },
        { 'x-request-id': 'x'.repeat(5000) },
        { accept: 'text/html', 'accept-version': '9', 'accept-encoding': 'x' },
        { upgrade: 'websocket', connection: 'Upgrade' },
        { 'content-type': 'nonsense' },
        { cookie: `token=${world.admin.token}` },
        { 'if-match': '"x"', 'if-none-match': '*', range: 'bytes=0-1' },
      ] as Record<string, string>[]) {
        const answer = await server.client.send('GET', path, { headers: { authorization, ...headers } });
        assert.equal(answer.text, text, JSON.stringify(headers).slice(0, 80));
        assert.match(answer.headers['x-request-id'] as string, /^[\w.:-]{1,128}$/);
      }
    });
  });

  describe('tokens', () => {
    test('without a token, nothing is told of a body, small or large: 401', async () => {
      const types = [undefined, '', 'garbage', 'text/plain', mediaType, 'application/json', `${mediaType}; x=`];
      const bodies = [undefined, '', '{', '{"data":null}', `{"data":"${'x'.repeat(10_000)}"}`];
      for (const [method, path] of [
        ['DELETE', '/api/v2/team-projects/x'],
        ['POST', '/api/v2/team-projects'],
        ['POST', '/organizations/acme/access/v1/evaluation'],
      ] as const)
        for (const type of types)
          for (const payload of bodies) {
            const headers = {
              ...(type !== undefined && { 'content-type': type }),
              ...(payload !== undefined && { 'content-length': `${payload.length}` }),
            };
            const { status } = await server.client.send(method, path, {
              headers,
              ...(payload !== undefined && { payload: Buffer.from(payload) }),
            });
            assert.equal(status, 401, `${method} ${path} ${type} ${payload?.slice(0, 20)}`);
          }
    });

    test('no, malformed, unknown, mistyped, expired and revoked tokens get one and the same 401', async () => {
      const dice = new Dice(7);
      const bytes = (count: number) => dice.bytes(count);
      const valid = world.owner.token as string;
      const last = valid.at(-1) === 'x' ? 'y' : 'x';
      const { id } = (await world.owner.get('/account/details')).body.data;
      const revoked = await world.owner.make(`/users/${id}/authentication-tokens`);
      assert.equal((await world.owner.delete(`/authentication-tokens/${revoked.id}`)).status, 204);
      // The clock of a test server goes on by a millisecond each time that it is read.
      const soon = new Date(Date.parse(revoked.attributes['created-at']) + 100).toISOString();
      const expiring = await world.owner.make(`/users/${id}/authentication-tokens`, {
        attributes: { 'expired-at': soon },
      });
      const using = world.directory.actor(expiring.attributes.token);
      assert.equal((await using.get('/account/details')).status, 200);
      for (let reading = 0; reading < 100; reading++) await world.owner.get('/account/details');

      const headers = [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        'Bearer  ',
        'Basic YWRtaW46YWRtaW4=',
        `Token ${valid}`,
        `Bearer${valid}`,
        `Bearer ${valid} x`,
        `Bearer ${valid},`,
        `Bearer x ${valid}`,
        valid,
        'Bearer x',
        'Bearer \xe9\xff',
        `Bearer ${'x'.repeat(10_000)}`,
        "Bearer ' or 1=1 --",
        `Bearer ${newToken(bytes)}`,
        `Bearer ${valid.slice(0, -1)}${last}`,
        `Bearer ${valid.slice(0, 14)}.atlasv1.${randomText(bytes, 'abc', 67)}`,
        `Bearer ${valid.toLowerCase()}`,
        `Bearer ${revoked.attributes.token}`,
        `Bearer ${expiring.attributes.token}`,
      ];
      const texts = new Set<string>();
      const told = new Set<string>();
      for (const authorization of headers)
        for (const route of routes.filter(({ open, asks }) => !open && !asks)) {
          const sent = await server.client.send(route.method, at(route), {
            headers: { ...(authorization !== undefined && { authorization }), 'x-request-id': 'same' },
          });
          assert.equal(sent.status, 401, `${route.method} ${route.path} with '${authorization}'`);
          server.client.conforms(route.method, at(route), sent);
          texts.add(sent.text);
          told.add(JSON.stringify({ ...sent.headers, date: '' }));
        }
      assert.equal(texts.size, 1, 'one body for all');
      assert.equal(told.size, 1, 'the same headers for all');
    });

    test('whatever is wrong with a body, without a token it is 401', async () => {
      for (const route of writes())
        for (const [body, type] of [
          ['{', mediaType],
          ['x', 'text/plain'],
          ['x'.repeat(70_000), mediaType],
          ['{"data":{"__proto__":1}}', mediaType],
        ] as const) {
          const sent = sendBody(world.directory.actor(undefined), route.method, at(route), body, type);
          await refused(401, sent, `${route.method} ${route.path}`);
        }
    });
  });

  describe('callers without permission', () => {
    const malformed = [
      {},
      { data: {} },
      { data: [] },
      { data: { type: 7, attributes: [] } },
      { data: { type: 'nonsense', id: 'other', attributes: { access: 'nonsense', name: 7, email: null } } },
      { data: [{ type: 7 }] },
    ];

    test('POST team-projects: a malformed body is 404, not 422', async () => {
      const { project, team } = grantBody(world.project, world.team, {}).relationships;
      const naming = [
        { relationships: { project } },
        { relationships: { project, team } },
        { relationships: { project: { data: [{ id: world.project }] }, team } },
        { type: 'nonsense', attributes: 7, relationships: { project, team: 'x' } },
        { type: 'team-projects', attributes: { access: 'nonsense' }, relationships: { project, team } },
        { type: 'team-projects', relationships: { project: { data: { id: world.project } }, team } },
      ];
      for (const actor of [world.member, world.outsider, world.admin])
        for (const body of [...malformed, ...naming.map(data => ({ data }))]) {
          const sent = withoutEffect(server, () =>
            server.client.call(actor.token, 'POST', '/api/v2/team-projects', body),
          );
          await refused(404, sent, JSON.stringify(body));
        }
    });

    test('PATCH team-projects: a malformed body is 404, not 422', async () => {
      for (const actor of [world.member, world.outsider, world.admin])
        for (const body of malformed)
          await refused(
            404,
            withoutEffect(server, () =>
              server.client.call(actor.token, 'PATCH', `/api/v2/team-projects/${world.grant}`, body),
            ),
            JSON.stringify(body),
          );
    });

    test('every other write: a malformed body is 404, not 422', async () => {
      const others = writes().filter(({ path }) => path !== '/api/v2/team-projects');
      assert.ok(others.length > 20);
      for (const route of others)
        for (const body of malformed) {
          // Any user may found an organization and has an account: there, those without permission are no users.
          const isForUsers = /^\/api\/v2\/(organizations$|account\/)/.test(route.path);
          const actor = isForUsers ? world.organizationToken : world.outsider;
          const sent = withoutEffect(server, () => server.client.call(actor.token, route.method, at(route), body));
          await refused(404, sent, `${route.method} ${route.path} with ${JSON.stringify(body)}`);
        }
    });
  });

  describe('what a request may not set', () => {
    const assigned = {
      id: 'chosen-id',
      'external-id': 'org-chosen',
      organization: 'rival',
      'organization-id': 'rival',
      organization_id: 'rival',
      owner: true,
      owners: true,
      'is-owner': true,
      isAdmin: true,
      is_admin: 1,
      admin: true,
      role: 'owner',
      'created-at': '1999-01-01T00:00:00.000Z',
      createdAt: '1999-01-01T00:00:00.000Z',
      'is-default': true,
      'users-count': 99,
      permissions: { 'can-update': true, 'can-destroy': true },
      slot: 'single',
      hash: 'x',
      lookup: 'x',
    };
    const elsewhere = () => ({
      organization: { data: { type: 'organizations', id: 'rival' } },
      project: { data: { type: 'projects', id: world.foreignProject } },
      team: { data: { type: 'teams', id: world.foreignTeam } },
      users: { data: [{ type: 'users', id: 'otto' }] },
      'created-by': { data: { type: 'users', id: [...world.callers][0] } },
    });

    test('PATCH: attributes and relationships that are not its own to set have no effect', async () => {
      assert.ok(updates().length >= 7);
      for (const route of updates()) {
        const actor = rightful(route);
        const before = await server.client.call(actor.token, 'GET', shownAt(route));
        assert.equal(before.status, 200, route.path);
        const own = route.schema.properties.data.properties.relationships?.properties ?? {};
        const foreign = Object.entries(elsewhere()).filter(([name]) => !(name in own));
        const relationships = Object.fromEntries(foreign);
        const data = { attributes: assigned, relationships, links: { self: 'x' }, meta: assigned };
        const answer = await server.client.call(actor.token, route.method, at(route), {
          data,
          included: [data],
          ...assigned,
        });
        assert.equal(answer.status, 200, `${route.path}: ${answer.text}`);
        const after = await server.client.call(actor.token, 'GET', shownAt(route));
        // When it was changed last is the one thing that a change of nothing may tell.
        for (const { body } of [before, after])
          for (const name of ['updated-at', 'latest-change-at']) delete body.data.attributes[name];
        assert.deepEqual(after.body, before.body, route.path);
      }
    });

    test('POST: the id, the times and the owner are not the client’s to choose', async () => {
      const made: [Actor, string, Json][] = [
        [
          world.owner,
          '/organizations',
          { type: 'organizations', attributes: { name: 'mass', email: 'mass@example.com' } },
        ],
        [world.owner, '/organizations/acme/projects', { type: 'projects', attributes: { name: 'mass' } }],
        [world.owner, '/organizations/acme/teams', { type: 'teams', attributes: { name: 'mass' } }],
        [world.admin, '/admin/users', { type: 'users', attributes: { username: 'mass', email: 'mass@example.com' } }],
        [world.owner, '/organizations/acme/authentication-token', { type: 'authentication-tokens', attributes: {} }],
        [
          world.owner,
          '/organizations/acme/organization-memberships',
          {
            type: 'organization-memberships',
            attributes: { email: 'guest@example.com', 'is-admin': true, status: 'active' },
          },
        ],
      ];
      for (const [actor, path, data] of made) {
        const attributes = { ...assigned, ...data.attributes, token: 'chosen-token-chosen-token' };
        const sent = { ...data, id: 'chosen-id', attributes, relationships: elsewhere() };
        const resource = await actor.make(path, sent);
        assert.notEqual(resource.id, 'chosen-id', path);
        assert.doesNotMatch(JSON.stringify(resource), /chosen|1999|rival|otto/, path);
        assert.notEqual(resource.attributes['is-admin'], true, path);
        assert.notEqual(resource.attributes.status, 'active', path);
      }
    });

    test('is-admin is set by site admins only, also for whoever was invited with it', async () => {
      const attributes = { username: 'guest', email: 'guest@example.com' };
      const guest = await world.admin.make('/admin/users', { type: 'users', attributes });
      assert.equal(guest.attributes['is-admin'], false);
      const otto = (await world.outsider.get('/account/details')).body.data;
      const wish = { type: 'users', attributes: { 'is-admin': true } };
      for (const path of [`/users/${otto.id}`, '/account/details', `/admin/users/${otto.id}`]) {
        const { status } = await world.outsider.patch(path, wish);
        assert.ok([404, 405].includes(status), `PATCH ${path} answered ${status}`);
      }
      assert.equal((await world.outsider.patch('/account/update', wish)).body.data.attributes['is-admin'], false);
      assert.equal((await world.outsider.get('/account/details')).body.data.attributes['is-admin'], false);
    });

    test('PATCH: another data.id or data.type than the path’s is 422 with a pointer', async () => {
      for (const route of updates())
        for (const [data, pointer] of [
          [{ id: 'other' }, '/data/id'],
          [{ id: '__proto__' }, '/data/id'],
          [{ id: 7 }, '/data/id'],
          [{ id: null }, '/data/id'],
          [{ id: ['x'] }, '/data/id'],
          [{ type: 'other' }, '/data/type'],
          [{ type: null }, '/data/type'],
        ] as const) {
          const actor = rightful(route);
          const sent = withoutEffect(server, () => server.client.call(actor.token, route.method, at(route), { data }));
          const errors = await refused(422, sent, `${route.path} with ${JSON.stringify(data)}`);
          assert.deepEqual(
            errors.map(error => error.source.pointer),
            [pointer],
          );
        }
    });

    test('PATCH: the path’s own data.id is accepted', async () => {
      for (const route of updates()) {
        const actor = rightful(route);
        const { body } = await server.client.call(actor.token, 'GET', shownAt(route));
        const { id, type } = body.data;
        const answer = await server.client.call(actor.token, route.method, at(route), {
          data: { id, type, attributes: {} },
        });
        assert.equal(answer.status, 200, `${route.path}: ${answer.text}`);
      }
    });
  });

  describe('what is left behind', () => {
    test('DELETE organizations: whoever was only invited to it is gone with it, and the e-mail is free', async () => {
      const attributes = { name: 'brief', email: 'brief@example.com' };
      await world.owner.make('/organizations', { type: 'organizations', attributes });
      const { id } = await world.owner.make('/organizations/brief/organization-memberships', {
        type: 'organization-memberships',
        attributes: { email: 'ghost@example.com' },
      });
      const ghosts = sql`select id from organization_memberships where invited_email = 'ghost@example.com'`;
      const invited = () => server.store.read(tx => tx.rows(ghosts));
      assert.deepEqual(await invited(), [[id]]);
      assert.equal((await world.owner.delete('/organizations/brief')).status, 204);
      assert.deepEqual(await invited(), []);
      const ghost = { username: 'ghost', email: 'ghost@example.com' };
      const user = await world.admin.make('/admin/users', { type: 'users', attributes: ghost });
      const memberships = sql`select id from organization_memberships where user_id = ${user.id}`;
      assert.deepEqual(await server.store.read(tx => tx.rows(memberships)), []);
    });
  });

  describe('raw bytes', () => {
    const bearer = () => ({ Authorization: `Bearer ${world.owner.token}`, 'Content-Type': mediaType });

    test('what is not HTTP is 400 as a JSON:API error', async () => {
      for (const bytes of [
        'hello\r\n\r\n',
        '\0\0\0\0',
        Buffer.from('16030100f5010000f10303', 'hex'),
        Buffer.from([0xff, 0xfe, 0xfd]),
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        'GET /healthz HTTP/9.9\r\n\r\n',
        'FROB /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
        'get /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET /h\xe9althz HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost: x\r\nx: a\0b\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost',
      ])
        await refusedRaw(server, bytes, 400);
    });

    test('what never becomes a request has a request id in its answer, like everything else', async () => {
      for (const bytes of ['hello\r\n\r\n', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`])
        for (const { status, headers } of await raw(server, bytes))
          assert.match(`${headers['x-request-id'] ?? ''}`, /^[\w.:-]{1,128}$/, `${status} without a request id`);
    });

    test('a request without a Host header is 400 as a JSON:API error', () =>
      refusedRaw(server, 'GET /healthz HTTP/1.1\r\n\r\n', 400));

    test('an expectation that nobody knows is 417, or ignored, as JSON:API', () =>
      refusedRaw(
        server,
        rawRequest('GET', '/api/v2/team-projects/none', { ...bearer(), Expect: 'nonsense', Connection: 'close' }),
        404,
        417,
      ));

    test('CONNECT, which asks for a tunnel, is refused as JSON:API, and not by silence', () =>
      refusedRaw(server, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', 400, 404, 405));

    test('lengths that contradict each other are 400, so that no request hides in another', async () => {
      const post = (...headers: string[]) => [
        'POST /api/v2/organizations HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${world.owner.token}`,
        ...headers,
      ];
      for (const head of [
        post('Content-Length: 2', 'Transfer-Encoding: chunked'),
        post('Content-Length: 2', 'Content-Length: 3'),
        post('Content-Length: -1'),
        post('Content-Length: 2x'),
        post('Transfer-Encoding: gzip'),
        post('Transfer-Encoding: chunked, gzip'),
        post(`Content-Type: ${mediaType}`, 'Transfer-Encoding: chunked', '', 'zz'),
      ])
        await withoutEffect(server, () => refusedRaw(server, `${head.join('\r\n')}\r\n\r\n{}`, 400));
    });

    test('a body that breaks off in the middle has no effect', async () => {
      const body = '{"data":{"type":"projects","attributes":{"name":"broken off"}}}';
      const path = '/api/v2/organizations/acme/projects';
      for (const headers of [
        { ...bearer(), 'Content-Length': `${body.length + 10}` },
        { ...bearer(), 'Transfer-Encoding': 'chunked' },
      ] as Record<string, string>[]) {
        const sent = 'Content-Length' in headers ? body : `${body.length.toString(16)}\r\n${body}\r\n`;
        await withoutEffect(server, () => refusedRaw(server, rawRequest('POST', path, headers, sent), 400));
      }
    });

    test('a write whose caller is gone before the answer is done with its audit row, or not at all', async () => {
      // In one state of the database: some of the writes may still be under way.
      const surplus = () =>
        server.store.read(tx =>
          tx.row<[number]>(sql`select (select count(*) from projects) - (select count(*) from audit_events)`),
        );
      const present = await surplus();
      const port = Number(new URL(server.url).port);
      for (let index = 0; index < 50; index++) {
        const body = JSON.stringify({ data: { type: 'projects', attributes: { name: `gone-${index}` } } });
        const headers = { ...bearer(), 'Content-Length': `${body.length}` };
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        const sent = rawRequest('POST', '/api/v2/organizations/acme/projects', headers, body);
        await new Promise<void>(resolve => socket.write(sent, () => resolve()));
        if (index % 2 === 0) await server.client.send('GET', '/healthz');
        socket.destroy();
      }
      await server.client.send('GET', '/healthz');
      assert.deepEqual(await surplus(), present);
    });

    test('a write that is followed by garbage is answered as what it was', async () => {
      const names = () => world.owner.get('/organizations/acme/projects?page[size]=100');
      for (const garbage of ['\0garbage', 'nonsense\r\n\r\n', '{}', 'GET /healthz HTTP/9.9\r\n\r\n']) {
        const name = `garbage-${garbage.length}`;
        const body = JSON.stringify({ data: { type: 'projects', attributes: { name } } });
        const headers = { ...bearer(), 'Content-Length': `${body.length}` };
        const request = rawRequest('POST', '/api/v2/organizations/acme/projects', headers, body + garbage);
        const [first] = await raw(server, request);
        const made = (await names()).body.data.some((project: Json) => project.attributes.name === name);
        assert.equal(made, first?.status === 201, `answered ${first?.status}, and was ${made ? '' : 'not '}done`);
      }
    });
  });
});
