/** A stop fails no request that was taken; a fault that nothing caught stops everything. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { chosenToken, guard, newGround, together } from './support/program.ts';
import { heldCreation, isListening } from './support/raw.ts';
import { stopUnderLoad } from './support/stopping.ts';

const settings = ['--admin-token', chosenToken];

/** A connection, and all that came over it. */
const dialled = async (t: TestContext, url: string) => {
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', more => {
    text += more;
  });
  await once(socket, 'connect');
  return {
    socket,
    received: async (pattern: RegExp): Promise<string> => {
      while (!pattern.test(text)) await once(socket, 'data');
      return text;
    },
  };
};

describe('a stop', together, () => {
  test('under load, with keep-alive clients, fails none of the requests that were taken', {
    timeout: 120_000,
  }, async t => {
    const ground = await newGround(t);
    for (let round = 0; round < 5; round++) {
      const { answered } = await stopUnderLoad(ground);
      assert.ok(answered >= 200);
    }
  });

  test('with a delay: not ready at once, though served on, each answer the last on its connection', guard, async t => {
    const server = (await newGround(t)).start([...settings, '--shutdown-delay', '5']);
    const client = await server.client();
    const url = await server.url();
    assert.equal((await client.send('GET', '/readyz')).status, 200);
    server.child.kill('SIGTERM');
    let ready = await client.send('GET', '/readyz');
    while (ready.status === 200) ready = await client.send('GET', '/readyz');
    assert.deepEqual(
      [ready.status, ready.body],
      [503, { status: 'not ready', reason: 'The server is shutting down.' }],
    );
    const headers = { authorization: `Bearer ${chosenToken}` };
    for (const [path, status] of [
      ['/healthz', 200],
      ['/api/v2/account/details', 200],
      ['/api/v2/organizations/nowhere', 404],
      ['/api/v2/ping', 204],
      ['/no/such/address', 404],
      ['/%zz', 400],
    ] as const) {
      const answer = await client.send('GET', path, { headers });
      assert.deepEqual([answer.status, answer.headers.connection], [status, 'close'], path);
    }
    assert.ok(await isListening(url), 'a load balancer that has not noticed yet finds it');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });

  test('a request that was under way before the signal is answered after it, as the last', guard, async t => {
    const server = (await newGround(t)).start(settings);
    const url = await server.url();
    const { head, body } = heldCreation(chosenToken);
    const { socket, received } = await dialled(t, url);
    socket.write(head);
    await received(/^HTTP\/1\.1 100 /);
    server.child.kill('SIGTERM');
    while (await isListening(url));
    socket.write(body);
    const text = await received(/HTTP\/1\.1 \d+ .*\}$/s);
    assert.match(text, /HTTP\/1\.1 201 /);
    assert.match(text, /^connection: close\r$/im);
    await once(socket, 'close');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });

  for (const delay of ['-1', '1.5', 'soon', '1000'])
    test(`a delay of ${delay} is refused`, guard, async t => {
      const server = (await newGround(t)).start([], { BAILIWICK_SHUTDOWN_DELAY: delay });
      assert.deepEqual(await server.exited, { code: 2, signal: null });
      assert.match(server.error, /^bailiwick: BAILIWICK_SHUTDOWN_DELAY must be a whole number from 0 to 999/);
    });
});

describe('a fault that nothing caught', together, () => {
  for (const [what, code] of Object.entries({
    'an exception': "throw new Error('provoked')",
    'a rejection': "void Promise.reject(new Error('provoked'))",
    'something that is no error': "throw 'provoked'",
  }))
    test(`${what} ends the server with 1, and a line of the log tells why`, guard, async t => {
      const server = (await newGround(t)).evaluate(`process.on('SIGUSR2', () => { ${code} })`, [
        '--port',
        '0',
        '--database',
        'sqlite::memory:',
      ]);
      const client = await server.client();
      assert.equal((await client.send('GET', '/readyz')).status, 200);
      server.child.kill('SIGUSR2');
      assert.deepEqual(await server.exited, { code: 1, signal: null });
      const lines = server.error.trim().split('\n');
      const { level, msg } = JSON.parse(lines.at(-1) ?? '');
      assert.deepEqual([level, msg], [60, 'a fault that nothing caught ends the server']);
      assert.match(server.error, /provoked/);
    });
});
