/** What /metrics tells, and to whom it may: nothing in it is of a tenant, and no client can make it grow. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Office } from './support/office.ts';
import { raw, rawRequest } from './support/raw.ts';

type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number };

/** The samples by name; whatever is not in the format is a fault. */
const samplesIn = (text: string): Map<string, Sample[]> => {
  const samples = new Map<string, Sample[]>();
  const kinds = new Map<string, string>();
  assert.match(text, /\n$/);
  for (const line of text.slice(0, -1).split('\n')) {
    const [, named = '', kind = ''] = /^# TYPE (\w+) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (named !== '') {
      assert.ok(!kinds.has(named), `${named} comes once`);
      kinds.set(named, kind);
      continue;
    }
    if (/^# HELP \w+ \S/.test(line)) continue;
    const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\d+(?:\.\d+)?(?:e[+-]\d+)?)$/.exec(line) ?? [];
    assert.ok(name, `not a sample: ${line}`);
    const family = kinds.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    assert.ok(kinds.has(family), `${name} is of a family that was announced`);
    assert.equal(name !== family, kinds.get(family) === 'histogram', line);
    assert.equal(/_total$/.test(family), kinds.get(family) === 'counter', line);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/g)];
    assert.equal(pairs.map(([whole]) => whole).join(''), labels, line);
    const sample = { labels: Object.fromEntries(pairs.map(([, key, text]) => [key, text])), value: Number(value) };
    samples.set(name, [...(samples.get(name) ?? []), sample]);
  }
  return samples;
};

describe('/metrics', () => {
  let office: Office;
  before(async () => {
    office = await Office.open();
  });
  after(() => office.close());

  const scrape = async () => {
    const answer = await office.directory.server.client.call(undefined, 'GET', '/metrics');
    return { text: answer.text, samples: samplesIn(answer.text) };
  };

  const requests = async (labels: Readonly<Record<string, string>>): Promise<number> => {
    const all = (await scrape()).samples.get('bailiwick_http_requests_total') ?? [];
    const found = all.filter(sample => Object.entries(labels).every(([name, value]) => sample.labels[name] === value));
    return found.reduce((sum, { value }) => sum + value, 0);
  };

  test('is plain text, and needs no token', async () => {
    const { status, headers } = await office.directory.server.client.send('GET', '/metrics');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  });

  test('counts requests by method, pattern of the route and status', async () => {
    const project = await office.project();
    const route = '/api/v2/projects/:id';
    const shown = { method: 'GET', route, status: '200' };
    const hidden = { method: 'GET', route, status: '404' };
    const before = [await requests(shown), await requests(hidden)];
    for (let index = 0; index < 3; index++) await office.owner.get(`/projects/${project}`);
    for (let index = 0; index < 2; index++) await office.owner.get(`/projects/prj-nowhere-${index}`);
    assert.deepEqual([await requests(shown), await requests(hidden)], [(before[0] ?? 0) + 3, (before[1] ?? 0) + 2]);
  });

  test('the buckets of a route add up, and hold every request to it', async () => {
    for (let index = 0; index < 5; index++) await office.owner.get('/organizations/acme');
    const { samples } = await scrape();
    const of = (name: string) =>
      (samples.get(`bailiwick_http_request_duration_seconds_${name}`) ?? []).filter(
        ({ labels }) => labels.route === '/api/v2/organizations/:organization' && labels.method === 'GET',
      );
    const bounds = of('bucket').map(({ labels }) => Number(labels.le?.replace('+Inf', 'Infinity')));
    assert.deepEqual(
      bounds,
      [...bounds].sort((a, b) => a - b),
    );
    assert.deepEqual([bounds[0], bounds.at(-2), bounds.at(-1)], [0.001, 10, Number.POSITIVE_INFINITY]);
    const counts = of('bucket').map(({ value }) => value);
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => a - b),
    );
    assert.ok(counts.at(-1) !== undefined && counts.at(-1) === of('count')[0]?.value);
    const counted = (samples.get('bailiwick_http_requests_total') ?? []).filter(
      ({ labels }) => labels.route === '/api/v2/organizations/:organization' && labels.method === 'GET',
    );
    assert.equal(
      counted.reduce((sum, { value }) => sum + value, 0),
      counts.at(-1),
    );
    assert.ok((of('sum')[0]?.value ?? 0) > 0);
  });

  test('tells of the database, the build and the process', async () => {
    const { samples } = await scrape();
    const one = (name: string) => samples.get(name)?.[0]?.value ?? Number.NaN;
    const { engine } = office.directory.server.store;
    assert.deepEqual(samples.get('bailiwick_build_info'), [
      { labels: { version: '0.0.0', node: process.version, engine }, value: 1 },
    ]);
    assert.ok(one('bailiwick_database_connections') >= 1);
    assert.ok(one('bailiwick_database_connections_most') >= one('bailiwick_database_connections'));
    assert.ok(one('bailiwick_database_connections_idle') <= one('bailiwick_database_connections'));
    assert.equal(one('bailiwick_database_waiting'), 0);
    assert.equal(one('bailiwick_database_retries_total'), 0);
    const failures = samples.get('bailiwick_database_failures_total') ?? [];
    assert.deepEqual(failures.map(({ labels }) => labels.reason).sort(), ['busy', 'full', 'gone']);
    assert.ok(one('process_cpu_seconds_total') > 0);
    assert.ok(one('process_resident_memory_bytes') > 1e6);
    assert.ok(Math.abs(one('process_start_time_seconds') - performance.timeOrigin / 1000) < 1);
    assert.ok(one('nodejs_eventloop_lag_seconds') >= 0);
  });

  test('nothing in it names what is stored', async () => {
    const { actor, name, id, team } = await office.member();
    const project = await office.project();
    await office.owner.get(`/projects/${project}`);
    await office.owner.get(`/teams/${team}`);
    await actor.get('/account/details');
    const { text } = await scrape();
    for (const secret of ['acme', project, team, id, name, actor.token ?? '', office.owner.token ?? ''])
      assert.ok(secret !== '' && !text.includes(secret), `${secret} is in it`);
  });

  test('hostile methods, addresses and heads make it no longer', async () => {
    const { server } = office.directory;
    const names = async () => {
      const { text } = await scrape();
      return text
        .split('\n')
        .map(line => line.replace(/ \S+$/, ''))
        .join('\n');
    };
    const hostile = async (index: number) => {
      await server.client.send('GET', `/no/such/address/${index}`);
      await server.client.send('GET', `/api/v2/teams/${index}/nothing`);
      await server.client.send('GET', `/api/v2/projects/prj-${index}`);
      await server.client.send('OPTIONS', `/${index}`);
      for (const method of ['PROPFIND', 'MKCOL', 'PURGE', 'REPORT', 'SEARCH', 'LOCK'])
        await server.client.send(method, `/api/v2/projects/${index}`);
      // Refused by the framework, before any route is looked for.
      await raw(server, rawRequest('GET', `/api/v2/projects/%zz${index}`, { connection: 'close' }));
      await raw(server, rawRequest('GET', `/%00%ff${index}"\\`, { connection: 'close' }));
    };
    await hostile(0);
    const before = await names();
    assert.match(before, /method="other",route="none"/);
    const badly = await requests({ route: 'none', status: '400' });
    for (let index = 1; index < 10; index++) await hostile(index);
    assert.equal(await names(), before);
    assert.ok((await requests({ route: 'none', status: '400' })) > badly, 'what cannot be read is counted');
  });

  test('a client that leaves before its answer is counted as one, and is not in flight for ever', {
    timeout: 15_000,
  }, async () => {
    const { server } = office.directory;
    const left = { method: 'POST', route: '/api/v2/organizations', status: 'none' };
    const inFlight = async () => (await scrape()).samples.get('bailiwick_http_requests_in_flight')?.[0]?.value;
    assert.equal(await inFlight(), 1, 'the scrape itself');
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const headers = { authorization: `Bearer ${office.owner.token}`, 'content-length': '100' };
    socket.write(rawRequest('POST', '/api/v2/organizations', headers, '{'));
    while ((await inFlight()) !== 2) assert.ok(!socket.destroyed);
    assert.equal(await requests(left), 0);
    socket.destroy();
    while ((await inFlight()) !== 1);
    assert.equal(await requests(left), 1);
  });

  test('two servers in one process count apart', async () => {
    const other = await Office.open();
    try {
      await office.project();
      const { text } = await other.directory.server.client.call(undefined, 'GET', '/metrics');
      assert.doesNotMatch(text, /\/metrics/);
    } finally {
      await other.close();
    }
  });
});
