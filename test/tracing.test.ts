/** Traces as a collector receives them: whose child each span is, what it tells, and what it never does. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { Json } from './support/client.ts';
import { engine } from './support/engine.ts';
import { chosenToken, guard, newGround, type Running } from './support/program.ts';

type Span = {
  readonly name: string;
  readonly traceId: string;
  readonly id: string;
  readonly parent: string;
  readonly kind: number;
  readonly status: number;
  readonly attributes: Readonly<Record<string, string | number>>;
};

const valuesOf = (attributes: Json[]): Record<string, string | number> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  );

/** As much of a collector as it takes to receive what is exported. */
class Collector {
  readonly #server: Server;
  readonly texts: string[] = [];
  readonly paths = new Set<string>();
  headers: IncomingHttpHeaders = {};

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', async (request, response) => {
      this.paths.add(request.url ?? '');
      this.headers = request.headers;
      this.texts.push((await request.toArray()).join(''));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }

  static async open(t: TestContext): Promise<Collector> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const collector = new Collector(server);
    t.after(() => collector.close());
    return collector;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get environment() {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` };
  }

  get resource(): Record<string, string | number> {
    return valuesOf(JSON.parse(this.texts[0] ?? '').resourceSpans[0].resource.attributes);
  }

  get spans(): Span[] {
    const all = this.texts.flatMap(text => JSON.parse(text).resourceSpans as Json[]);
    return all
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .map(({ name, traceId, spanId, parentSpanId = '', kind, status, attributes }) => ({
        name,
        traceId,
        id: spanId,
        parent: parentSpanId,
        kind,
        status: status.code ?? 0,
        attributes: valuesOf(attributes),
      }));
  }

  childrenOf({ id }: Span): Span[] {
    return this.spans.filter(({ parent }) => parent === id);
  }

  /** The one span of this name. */
  only(name: string): Span {
    const [span, ...others] = this.spans.filter(each => each.name === name);
    assert.ok(span && others.length === 0, `one span ${name} in ${this.spans.map(each => each.name)}`);
    return span;
  }
}

const createsOrganization = (name: string) => ({
  type: 'organizations',
  attributes: { name, email: `${name}@example.com` },
});

const settings = ['--admin-token', chosenToken];
const server = 2;
const client = 3;
const isError = 2;

const serving = async (running: Running) => {
  await running.printed(/curl/);
  return running.actor(chosenToken);
};

/** As the conventions name it. */
const system = engine === 'postgres' ? 'postgresql' : engine;

describe('traces', { concurrency: 2 }, () => {
  test('a PATCH is a tree: the request, what it asked of the store, each statement', guard, async t => {
    const collector = await Collector.open(t);
    const program = (await newGround(t)).start(settings, collector.environment);
    const admin = await serving(program);
    await admin.make('/organizations', createsOrganization('acme'));
    const data = { type: 'organizations', attributes: { email: 'second@example.com' } };
    const answer = await admin.patch('/organizations/acme', data, { 'x-request-id': 'the-request' });
    assert.equal(answer.status, 200);
    await program.stop();

    const request = collector.only('PATCH /api/v2/organizations/:organization');
    assert.equal(request.kind, server);
    assert.equal(request.parent, '');
    assert.deepEqual(request.attributes, {
      'http.request.method': 'PATCH',
      'http.route': '/api/v2/organizations/:organization',
      'http.response.status_code': 200,
      'url.path': '/api/v2/organizations/acme',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'bailiwick.request.id': 'the-request',
    });
    const works = collector.childrenOf(request);
    assert.deepEqual(
      works.map(({ name }) => name),
      ['write'],
    );
    for (const work of works) {
      assert.equal(work.kind, client);
      assert.deepEqual(work.attributes, { 'db.system.name': system, 'db.operation.name': work.name });
      const statements = collector.childrenOf(work);
      assert.ok(statements.length > 0);
      for (const { name, kind, attributes, traceId } of statements) {
        assert.deepEqual([kind, traceId], [client, request.traceId]);
        assert.deepEqual(attributes, {
          'db.system.name': system,
          'db.operation.name': name.split(' ')[0],
          'db.query.summary': name,
        });
      }
    }
    const written = collector.childrenOf(works[0] as Span).map(({ name }) => name);
    for (const expected of ['select authentication_tokens', 'update organizations', 'insert audit_events'])
      assert.ok(written.includes(expected), `${expected} in ${written}`);
    assert.deepEqual([...collector.paths], ['/v1/traces']);
    assert.equal(collector.resource['service.name'], 'bailiwick');
    assert.match(`${collector.resource['service.version']}`, /^\d+\.\d+\.\d+/);
  });

  test('the caller’s own span is the parent, and a malformed one is none', guard, async t => {
    const collector = await Collector.open(t);
    const program = (await newGround(t)).start(settings, collector.environment);
    await serving(program);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const spanId = 'b7ad6b7169203331';
    const client = await program.client();
    const ask = (id: string, traceparent: string) =>
      client.send('GET', '/healthz', { headers: { traceparent, 'x-request-id': id } });
    await ask('good', `00-${traceId}-${spanId}-01`);
    await ask('unsampled', `00-${traceId}-${spanId}-00`);
    const malformed = [
      'x',
      `00-${traceId}-${spanId}`,
      `00-${traceId}-${spanId}-01-more`,
      `ff-${traceId}-${spanId}-01`,
      `00-${'0'.repeat(32)}-${spanId}-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `00-${traceId.toUpperCase()}-${spanId}-01`,
    ];
    for (const [index, header] of malformed.entries()) await ask(`bad-${index}`, header);
    await program.stop();
    const of = (id: string) => collector.spans.filter(({ attributes }) => attributes['bailiwick.request.id'] === id);
    assert.deepEqual(
      of('good').map(span => [span.traceId, span.parent]),
      [[traceId, spanId]],
    );
    assert.deepEqual(of('unsampled'), [], 'what the caller does not sample is not exported');
    for (const [index, header] of malformed.entries()) {
      const [span] = of(`bad-${index}`);
      assert.ok(span && span.traceId !== traceId && span.parent === '', header);
    }
  });

  test('what fails by a fault of ours is an error, and what the client did wrong is not', guard, async t => {
    const collector = await Collector.open(t);
    const ground = await newGround(t);
    const program = ground.start(settings, collector.environment);
    const admin = await serving(program);
    await admin.make('/organizations', createsOrganization('acme'));
    await admin.get('/organizations/nowhere');
    await (await program.client()).send('GET', '/no/such/thing');
    await (await program.client()).send('PROPFIND', '/no/such/thing');
    await program.stop();
    await ground.script('alter table workspaces rename to others');
    const broken = ground.start(settings, collector.environment);
    const again = await broken.client();
    const headers = { authorization: `Bearer ${chosenToken}` };
    assert.equal((await again.send('GET', '/api/v2/organizations/acme/workspaces', { headers })).status, 500);
    await broken.stop();

    const failed = collector.only('GET /api/v2/organizations/:organization/workspaces');
    assert.equal(failed.status, isError);
    assert.deepEqual([failed.attributes['error.type'], failed.attributes['http.response.status_code']], ['500', 500]);
    const [work] = collector.childrenOf(failed);
    assert.equal(work?.status, isError);
    assert.ok(work && collector.childrenOf(work).some(({ status }) => status === isError));
    const refused = collector.only('GET /api/v2/organizations/:organization');
    assert.deepEqual([refused.status, refused.attributes['http.response.status_code']], [0, 404]);
    assert.ok(collector.childrenOf(refused).every(({ status }) => status === 0));
    assert.equal(collector.only('GET').attributes['http.route'], undefined);
    assert.equal(collector.only('HTTP').attributes['http.request.method'], '_OTHER');
  });

  test('no token, no body and no value of the database is in any of them', guard, async t => {
    const collector = await Collector.open(t);
    const program = (await newGround(t)).start(settings, collector.environment);
    const admin = await serving(program);
    await admin.make('/organizations', createsOrganization('acme'));
    const attributes = { username: 'somebody', email: 'somebody@example.com', password: 'a-secret-password' };
    const { id } = await admin.make('/admin/users', { type: 'users', attributes });
    const { attributes: made } = await admin.make(`/users/${id}/authentication-tokens`, {
      type: 'authentication-tokens',
      attributes: { description: 'a-description-of-it' },
    });
    await admin.get('/organizations/acme/teams?q=a-search-for-it');
    await (await program.actor(made.token)).get('/account/details');
    await (await program.actor('a-token-that-is-wrong')).get('/account/details');
    await program.stop();
    const text = collector.texts.join('\n');
    assert.ok(collector.spans.length > 20);
    for (const secret of [
      chosenToken,
      made.token,
      made.token.slice(0, 14),
      'a-token-that-is-wrong',
      'a-secret-password',
      'somebody',
      'a-description-of-it',
      'a-search-for-it',
      'Bearer',
    ])
      assert.ok(!text.includes(secret), `${secret} was exported`);
  });

  test('name, headers and sampler are set as of any OpenTelemetry SDK', guard, async t => {
    const collector = await Collector.open(t);
    const ground = await newGround(t);
    const environment = {
      ...collector.environment,
      OTEL_SERVICE_NAME: 'access',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=here',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=us',
    };
    const program = ground.start(settings, environment);
    await serving(program);
    await program.stop();
    assert.deepEqual(
      [collector.resource['service.name'], collector.resource['deployment.environment.name']],
      ['access', 'here'],
    );
    assert.equal(collector.headers['x-tenant'], 'us');
    const before = collector.texts.length;
    const silent = ground.start(settings, { ...environment, OTEL_TRACES_SAMPLER: 'always_off' });
    await silent.client();
    await silent.stop();
    const disabled = ground.start(settings, { ...environment, OTEL_SDK_DISABLED: 'true' });
    await disabled.client();
    await disabled.stop();
    assert.equal(collector.texts.length, before);
  });

  test('settings of it that make no sense are refused in a line', guard, async t => {
    const ground = await newGround(t);
    const here = 'http://127.0.0.1:1';
    for (const [environment, line] of [
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' }, /^bailiwick: OTEL_EXPORTER_OTLP_ENDPOINT must be .*\n$/],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: here, OTEL_TRACES_SAMPLER: 'some' },
        /^bailiwick: OTEL_TRACES_SAMPLER must .*\n$/,
      ],
      [
        { OTEL_EXPORTER_OTLP_ENDPOINT: here, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
        /^bailiwick: OTEL_TRACES_SAMPLER_ARG must .*\n$/,
      ],
    ] as const) {
      const program = ground.start(settings, environment);
      assert.deepEqual(await program.exited, { code: 2, signal: null });
      assert.match(program.error, line);
    }
  });

  test('a collector that is not there, or never answers, takes nothing from requests or the stop', guard, async t => {
    const collectors = {
      gone: undefined,
      hanging: createServer(() => {}),
      refusing: createServer((_, response) => response.writeHead(400).end()),
    };
    for (const [name, collector] of Object.entries(collectors)) {
      if (collector) await once(collector.listen(0, '127.0.0.1'), 'listening');
      t.after(() => {
        collector?.closeAllConnections();
        collector?.close();
      });
      const port = collector ? (collector.address() as AddressInfo).port : 1;
      const program = (await newGround(t)).start(settings, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
      const admin = await serving(program);
      // More than two batches, so that an export is under way while requests come in.
      for (let index = 0; index < 350; index++)
        assert.equal((await admin.get('/account/details')).status, 200, 'answered as ever');
      await program.stop();
      const told = program.error.split('\n').filter(line => line.includes('traces'));
      assert.ok(told.length <= 1, program.error);
      if (name === 'refusing') assert.match(told[0] ?? '', /traces cannot be exported, and are dropped/);
    }
  });

  test('where no collector is named, none of it is loaded', guard, async t => {
    const telling = `process.getBuiltinModule('node:module').registerHooks({
      resolve: (name, context, next) => {
        if (name.includes('opentelemetry')) console.log('loads', name);
        return next(name, context);
      },
    })`;
    const args = ['--port', '0', '--database', 'sqlite::memory:'];
    const outputs = [];
    for (const environment of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }]) {
      const program = (await newGround(t)).evaluate(telling, args, environment);
      await program.client();
      await program.stop();
      outputs.push(/loads @opentelemetry/.test(program.out));
    }
    assert.deepEqual(outputs, [false, true]);
  });
});
