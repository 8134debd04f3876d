/** How a server ends without failing a request that it has taken. */

import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';

/** In milliseconds: for a request that is on its way over a connection which we take to be idle. */
const grace = 500;

/** In milliseconds: whoever has not finished its request by then never will. */
const longestDrain = 7000;

export class Ending {
  readonly #underWay = new Set<ServerResponse>();
  #begun = false;

  /** Whether the server is about to end, and so not ready. */
  get begun(): boolean {
    return this.#begun;
  }

  /** From here on every answer is the last on its connection, so that clients go elsewhere with what comes next. */
  begin(): void {
    this.#begun = true;
    for (const response of this.#underWay) response.shouldKeepAlive = false;
  }

  /** Told of every answer to be given. */
  note(response: ServerResponse): void {
    response.shouldKeepAlive &&= !this.#begun;
    this.#underWay.add(response);
  }

  /** Told of every answer that is out. */
  forget(response: ServerResponse): void {
    this.#underWay.delete(response);
  }

  /** Takes no more connections and, after a moment for what is on its way, ends those that are idle. */
  async drain(server: Server, endHandshakes: () => void): Promise<void> {
    this.begin();
    const drained = once(server, 'close');
    // The HTTP server's own way would end the idle connections at once, and with them the next requests of their clients.
    NetServer.prototype.close.call(server);
    await Promise.race([drained, new Promise(resolve => setTimeout(resolve, grace).unref())]);
    // What has come is read first: a process that had to wait for its turn finds its timers due before its requests.
    const read = () => new Promise(resolve => setImmediate(resolve));
    const endIdle = async () => {
      await read();
      server.closeIdleConnections();
      endHandshakes();
    };
    // Awaited, as the framework closes the server next, and with it whatever is idle.
    await endIdle();
    const ending = setInterval(endIdle, 50).unref();
    void drained.finally(() => clearInterval(ending)).catch(() => {});
    setTimeout(() => server.closeAllConnections(), longestDrain).unref();
  }
}
