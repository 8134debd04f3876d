/** What clients ask before anything else. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer, type TestServer } from './support/server.ts';

describe('discovery', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.close());

  test('GET ping: 204 without a body, with what the Go client reads and no rate limit, whatever the token', async () => {
    for (const token of [undefined, 'nonsense', server.adminToken]) {
      const { status, text, headers } = await server.client.call(token, 'GET', '/api/v2/ping');
      assert.deepEqual([status, text], [204, '']);
      assert.equal(headers['tfp-api-version'], '2.6');
      assert.match(`${headers['x-tfe-version']}`, /^v20\d\d(0[1-9]|1[0-2])-\d$/);
      assert.equal(headers['tfp-appname'], 'Terraform Enterprise');
      // A small number here would stop the client for good.
      for (const name of Object.keys(headers)) assert.doesNotMatch(name, /ratelimit/);
    }
  });

  test('GET /.well-known/terraform.json: 200, as application/json, says where the API is', async () => {
    const { status, headers, body } = await server.client.call(undefined, 'GET', '/.well-known/terraform.json');
    assert.deepEqual([status, headers['content-type']], [200, 'application/json']);
    assert.deepEqual(body, { 'tfe.v2': '/api/v2/', 'tfe.v2.1': '/api/v2/', 'tfe.v2.2': '/api/v2/' });
  });

  test('both answer HEAD, and 405 to another method', async () => {
    for (const [path, success] of [
      ['/api/v2/ping', 204],
      ['/.well-known/terraform.json', 200],
    ] as const) {
      assert.equal((await server.client.send('HEAD', path)).status, success);
      const { status, headers } = await server.client.call(server.adminToken, 'DELETE', path);
      assert.deepEqual([status, headers.allow], [405, 'HEAD, GET'], path);
    }
  });
});
