/** `node:http` and nothing else: reads a request to its end, and answers with the bytes that it was told. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type BareAnswer = { readonly status: number; readonly headers: readonly string[]; readonly body: string };

if (process.send) {
  let answer: BareAnswer = { status: 204, headers: [], body: '' };
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(answer.status, answer.headers as string[]);
      response.end(answer.body);
    });
  });
  server.keepAliveTimeout = 120_000;
  process.on('message', (told: BareAnswer | 'listen') => {
    if (told !== 'listen') {
      answer = told;
      process.send?.(0);
    } else server.listen(0, '127.0.0.1', 4096, () => process.send?.((server.address() as AddressInfo).port));
  });
  process.on('disconnect', () => process.exit());
}
