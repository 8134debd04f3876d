/** One connection that is kept, with one request on its way at a time: no more of HTTP/1.1 than a load needs, so that it costs little. */

import { connect, type Socket } from 'node:net';

export type Answered = (status: number, text: string) => void;

/** What is read is taken at once, so that all connections share the room. */
const room = Buffer.allocUnsafe(64 * 1024);
const endOfHead = '\r\n\r\n';

export class Connection {
  readonly #socket: Socket;
  readonly #failed: (error: Error) => void;
  #answered: Answered | undefined;
  #status = 0;
  /** Of an answer that does not come in one piece. */
  #text = '';
  /** Of a body or a chunk, what is still to come; of a chunk, what there is of its size. */
  #left = 0;
  #size = '';
  #stage: 'head' | 'body' | 'chunk size' | 'chunk' = 'head';

  private constructor(port: number, connected: () => void, failed: (error: Error) => void) {
    this.#failed = failed;
    const onread = {
      buffer: room,
      callback: (count: number, buffer: Uint8Array) => {
        this.#take((buffer as Buffer).toString('latin1', 0, count));
        return true;
      },
    };
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread }, connected);
    this.#socket.on('error', failed);
    this.#socket.on('close', () => {
      if (this.#answered) failed(new Error('the server closed a connection that waited for an answer'));
    });
  }

  static open(port: number, failed: (error: Error) => void): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection: Connection = new Connection(
        port,
        () => resolve(connection),
        error => {
          reject(error);
          failed(error);
        },
      );
    });
  }

  get port(): number {
    return this.#socket.localPort ?? 0;
  }

  /** `answered` gets the text of an answer only where that is no success. */
  send(request: Buffer, answered: Answered): void {
    this.#answered = answered;
    this.#socket.write(request);
  }

  close(): void {
    this.#answered = undefined;
    this.#socket.destroy();
  }

  #take(piece: string): void {
    let at = 0;
    if (this.#stage === 'head') {
      const text = this.#text + piece;
      const end = text.indexOf(endOfHead);
      if (end < 0) {
        this.#text = text;
        return;
      }
      this.#status = Number(text.slice(9, 12));
      const body = end + endOfHead.length;
      at = body - this.#text.length;
      this.#begin(text.slice(0, body));
      this.#text = '';
    }
    if (this.#status >= 300) this.#text += piece.slice(at);
    while (this.#stage !== 'head') {
      if (this.#stage === 'chunk size') {
        const end = piece.indexOf('\n', at);
        if (end < 0) {
          this.#size += piece.slice(at);
          return;
        }
        const size = Number.parseInt(this.#size + piece.slice(at, end), 16);
        if (Number.isNaN(size)) {
          this.#failed(new Error('an answer in chunks has no size where one should be'));
          return;
        }
        this.#size = '';
        at = end + 1;
        // What ends a chunk, and all of them, is an empty line.
        this.#left = size + 2;
        this.#stage = size === 0 ? 'body' : 'chunk';
      }
      const taken = Math.min(this.#left, piece.length - at);
      this.#left -= taken;
      at += taken;
      if (this.#left > 0) return;
      if (this.#stage === 'chunk') this.#stage = 'chunk size';
      else this.#end();
    }
  }

  #begin(head: string): void {
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    const isChunked = !length && /\r\ntransfer-encoding: *chunked/i.test(head);
    this.#stage = isChunked ? 'chunk size' : 'body';
    this.#left = Number(length?.[1] ?? 0);
  }

  #end(): void {
    const [answered, status, text] = [this.#answered, this.#status, this.#text];
    this.#stage = 'head';
    this.#text = '';
    this.#answered = undefined;
    answered?.(status, text);
  }
}

/** The bytes of a request. */
export const bytesOf = (
  port: number,
  request: { method: string; path: string; headers: Readonly<Record<string, string>>; body?: string },
): Buffer => {
  const { method, path, headers, body } = request;
  const length = body === undefined ? {} : { 'content-length': `${Buffer.byteLength(body)}` };
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers, ...length });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body ?? ''}`);
};
