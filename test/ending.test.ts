/** What becomes of connections when a server ends. Its moment of grace passes when a test says so, however slow the machine. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { onlyOn } from './support/engine.ts';
import { guard } from './support/program.ts';
import { isListening } from './support/raw.ts';
import { startServer } from './support/server.ts';

const grace = 500;
const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const lastAnswer = /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i;

/** What is not held when the tests hold the timers. */
const realTimeout = setTimeout;

/** All that comes over a connection. */
class Received {
  text = '';

  constructor(socket: Socket) {
    socket.setEncoding('latin1').on('data', more => {
      this.text += more;
    });
  }
}

/** A server that takes no more connections, and one to it that was used once and is kept. */
const ending = async (t: TestContext) => {
  const server = await startServer();
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  const first = new Received(socket);
  socket.write(request);
  while (!/\r\n\r\n.+/.test(first.text)) await once(socket, 'data');
  assert.match(first.text, /^connection: keep-alive\r$/im);
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const closed = server.close();
  while (await isListening(server.url));
  const next = new Received(socket);
  return {
    socket,
    pass: (milliseconds: number) => t.mock.timers.tick(milliseconds),
    /** What came until the connection and the server were closed. */
    rest: async (): Promise<string> => {
      await Promise.all([socket.destroyed || once(socket, 'close'), closed]);
      return next.text;
    },
  };
};

// Of no engine: once is enough.
onlyOn('sqlite', () =>
  describe('a connection of a server that ends', guard, () => {
    test('is there for half a second for the next request, whose answer is the last', async t => {
      const { socket, pass, rest } = await ending(t);
      pass(grace - 1);
      // Whatever would end it has had its turn.
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      socket.write(request);
      assert.match(await rest(), lastAnswer);
    });

    test('is ended then, where nothing comes', async t => {
      const { pass, rest } = await ending(t);
      pass(grace);
      assert.equal(await rest(), '');
    });

    test('is not ended when a request has come that nobody has read yet', async t => {
      const { socket, pass, rest } = await ending(t);
      // As after a time without a processor: the moment is over and the request is there, and timers are looked at first.
      realTimeout(() => {
        socket.write(request);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
        pass(grace);
      }, 0);
      assert.match(await rest(), lastAnswer);
    });
  }),
);
