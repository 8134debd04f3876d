/** What is so broken, or so odd, that it never becomes a request: answered as errors like any other. */

import { randomUUID } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket, Server as TlsServer } from 'node:tls';
import type { Problem } from '../core/fault.ts';
import { mediaType } from '../wire/document.ts';
import { answerTo } from '../wire/errors.ts';
import { everyAnswer } from './answers.ts';

// Imported by name, this module would load all of its parts, which takes as long as the framework does.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

export const clientErrorHandler = (error: Error & { code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  // Node keeps the answer under way here: a good request that was followed by garbage gets its own answer, and no more.
  const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: ServerResponse | null };
  if (underWay?.req.complete) underWay.once('finish', () => letGo(socket.end()));
  else endWith(socket, problems[error.code ?? ''] ?? { kind: 'bad request', detail: 'This is not well-formed HTTP.' });
};

const problems: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: { kind: 'headers too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { kind: 'too slow' },
};

/** Events that Node would answer without a body, or by silence. */
export const answerOddRequests = (server: Server): void => {
  server.on('connect', (_, socket: Socket) => endWith(socket, { kind: 'method not allowed', allowed: ['GET'] }));
  // An expectation that we do not know is none of ours to meet.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
};

/** In milliseconds; whoever is slower has no intention to talk. */
export const longestHandshake = 10_000;

/**
 * A handshake that fails ends its own connection. Only plain HTTP is answered: others have no language in common with us.
 * Gives back what ends the handshakes under way, which the server does not count among its idle connections.
 */
export const guardHandshakes = (server: TlsServer, failed: (error: Error) => void): (() => void) => {
  const underWay = new Map<string, Socket>();
  // The secured socket is another object than the bare one under it; the far end is the same.
  const farEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const name = farEnd(socket);
    underWay.set(name, socket);
    socket.once('close', () => underWay.get(name) === socket && underWay.delete(name));
  });
  server.on('secureConnection', (socket: TLSSocket) => underWay.delete(farEnd(socket)));
  // Node's own listener would have it answered as a broken request.
  server.removeAllListeners('tlsClientError').on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    failed(error);
    const bare = underWay.get(farEnd(socket));
    if (error.code === 'ERR_SSL_HTTP_REQUEST' && bare) endWith(bare, plainOnTls);
    else socket.destroy();
  });
  return () => {
    for (const socket of underWay.values()) socket.destroy();
  };
};

const plainOnTls: Problem = { kind: 'bad request', detail: 'This port speaks TLS: the address begins with https.' };

const lingering = 1000;

const endWith = (socket: Socket, problem: Problem): void => {
  // A tunnel's socket comes without a listener, and a reset would end the process.
  socket.on('error', () => socket.destroy());
  const { status, errors, headers = {} } = answerTo(problem);
  const body = JSON.stringify({ errors });
  const all = {
    ...everyAnswer(randomUUID()),
    ...headers,
    'content-type': mediaType,
    'content-length': `${Buffer.byteLength(body)}`,
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  letGo(socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')));
};

/** Whoever keeps its side open does not keep the socket: it has a moment to read the answer. */
const letGo = (socket: Socket): void => {
  socket.resume();
  setTimeout(() => socket.destroy(), lingering).unref();
};
