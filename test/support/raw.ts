/** Bytes over a connection, whatever they are, and the answers to them. */

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Store } from '../../src/store/store.ts';
import { type Answer, mediaType } from './client.ts';
import type { TestServer } from './server.ts';

export type RawAnswer = Pick<Answer, 'status' | 'headers' | 'text' | 'body'>;

/** Whether a server still takes connections. */
export const isListening = async (url: string): Promise<boolean> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const outcome = await new Promise<boolean>(resolve => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  });
  socket.destroy();
  return outcome;
};

/** A body by its length, in chunks, or to the end of the connection; and what comes after it. */
const bodyIn = (bytes: string, status: number, headers: Readonly<Record<string, string>>) => {
  if (headers['transfer-encoding'] === 'chunked') return unchunked(bytes);
  if (headers['content-length'] === undefined && status >= 200 && status !== 204) return { body: bytes, after: '' };
  const length = Number(headers['content-length'] ?? 0);
  return { body: bytes.slice(0, length), after: bytes.slice(length) };
};

const unchunked = (bytes: string) => {
  let [body, rest] = ['', bytes];
  for (;;) {
    const [line = ''] = rest.split('\r\n', 1);
    const size = Number.parseInt(line, 16);
    assert.ok(size >= 0, `a chunk without a size: ${JSON.stringify(rest.slice(0, 80))}`);
    const from = line.length + 2;
    // The last is empty, and trailers may follow it.
    if (size === 0) return { body, after: rest.slice(rest.indexOf('\r\n\r\n', line.length) + 4) };
    body += rest.slice(from, from + size);
    rest = rest.slice(from + size + 2);
  }
};

/** The answers that a connection gave, one after the other. */
const answersIn = (bytes: Buffer): RawAnswer[] => {
  const answers: RawAnswer[] = [];
  let rest = bytes.toString('latin1');
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    assert.ok(end > 0 && status, `not an HTTP answer: ${JSON.stringify(rest.slice(0, 80))}`);
    const headers = Object.fromEntries(
      lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const { body, after } = bodyIn(rest.slice(end + 4), status, headers);
    const text = Buffer.from(body, 'latin1').toString();
    rest = after;
    if (status >= 200)
      answers.push({ status, headers, text, body: /json/.test(headers['content-type'] ?? '') && JSON.parse(text) });
  }
  return answers;
};

export const leftHanging = 'a connection was left hanging';

/** A connection to the server, secured where it wants that. */
const dialled = ({ url, ca }: TestServer): Socket => {
  const to = { port: Number(new URL(url).port), host: '127.0.0.1' };
  return ca === undefined ? connect(to) : connectTls({ ...to, ca });
};

/** Whether a database in another process is being asked something, which takes longer than any turn of ours. */
const isAsked = ({ engine, figures }: Store): boolean => {
  const { open, idle, waiting } = figures();
  return engine === 'postgres' && (open > idle || waiting > 0);
};

/**
 * Sends bytes as they are and gives back all answers. The client's end of the connection stays open until the server
 * has either answered or had three other requests' time to: one that is closed too early gets no answer at all.
 */
export const raw = async (server: TestServer, bytes: string | Buffer): Promise<RawAnswer[]> => {
  const socket = dialled(server);
  const chunks: Buffer[] = [];
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()));
  socket.on('data', chunk => chunks.push(chunk as Buffer));
  // What came before a reset is still an answer; nothing at all is found out by the caller.
  socket.on('error', () => {});
  socket.write(bytes);
  for (let turn = 0, idle = 0; idle < 3 && turn < 300; turn++) {
    const { status } = await server.client.send('GET', '/healthz');
    assert.equal(status, 200, 'the server still answers /healthz');
    const isUnderWay = chunks.length === 0 && ((turn < 30 && socket.connecting) || isAsked(server.store));
    idle = isUnderWay ? 0 : idle + 1;
  }
  socket.end();
  // A guard, not a measure: a connection that is left open would keep the test for ever.
  const hanging = setTimeout(() => socket.destroy(new Error('left hanging')), 5000);
  await closed;
  clearTimeout(hanging);
  assert.notEqual(socket.errored?.message, 'left hanging', leftHanging);
  return answersIn(Buffer.concat(chunks));
};

export const rawRequest = (method: string, path: string, headers: Record<string, string>, body = ''): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: bailiwick.example',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');

/** A creation in two parts: the server asks for the second when it has the first. */
export const heldCreation = (token: string): { readonly head: string; readonly body: string } => {
  const data = { type: 'organizations', attributes: { name: 'acme', email: 'acme@example.com' } };
  const body = JSON.stringify({ data });
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': mediaType,
    'Content-Length': `${body.length}`,
    Expect: '100-continue',
  };
  return { head: rawRequest('POST', '/api/v2/organizations', headers), body };
};
