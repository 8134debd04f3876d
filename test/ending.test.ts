/** What becomes of connections when a server ends. Its moment of grace passes when the test says so, however slow the machine. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { Ending } from '../src/server/ending.ts';
import { brief } from './support/program.ts';

const grace = 500;
const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** Before timers of the server, and so of all, are held. */
const inTimers = setTimeout;

/** A server that is about to end, and a connection to it that was used once and is kept. */
const ending = async (t: TestContext) => {
  const self = new Ending();
  const server = createServer({ keepAliveTimeout: 0 }, (_, response) => {
    self.note(response);
    response.once('close', () => self.forget(response)).end('.');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => {
    socket.destroy();
    server.closeAllConnections();
  });
  let text = '';
  socket.setEncoding('latin1').on('data', more => {
    text += more;
  });
  socket.write(request);
  while (!text.endsWith('\r\n\r\n.')) await once(socket, 'data');
  assert.match(text, /^connection: keep-alive\r$/im);
  text = '';
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const closed = once(server, 'close');
  void self.drain(server, () => {});
  return {
    socket,
    pass: () => t.mock.timers.tick(grace),
    /** All that came until the connection was closed. */
    rest: async (): Promise<string> => {
      await Promise.all([closed, once(socket, 'close')]);
      return text;
    },
  };
};

const lastAnswer = /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i;

describe('a connection of a server that ends', brief, () => {
  test('is there for the next request, whose answer is the last', async t => {
    const { socket, rest } = await ending(t);
    // Whatever would end it at once has had its turn.
    await new Promise(setImmediate);
    socket.write(request);
    assert.match(await rest(), lastAnswer);
  });

  test('is ended where nothing comes for a moment', async t => {
    const { pass, rest } = await ending(t);
    pass();
    assert.equal(await rest(), '');
  });

  test('is not ended when a request has come that nobody has read yet', async t => {
    const { socket, pass, rest } = await ending(t);
    // As after a time without a processor: the moment is over and the request is there, and timers are looked at first.
    inTimers(() => {
      socket.write(request);
      pass();
    }, 0);
    assert.match(await rest(), lastAnswer);
  });
});
