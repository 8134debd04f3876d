/** A server that is told to stop while many clients keep it busy, and what became of their requests. */

import assert from 'node:assert/strict';
import { Agent, type ClientRequest, request } from 'node:http';
import { mediaType } from './client.ts';
import { chosenToken, type Environment, type Ground } from './program.ts';

export type Stopped = {
  /** Requests that had their whole answer. */
  readonly answered: number;
  /** Connections that the server no longer took; what was asked over them has left no trace. */
  readonly turnedAway: number;
  /** From the signal to the end of the process, in milliseconds. */
  readonly took: number;
};

type Outcome =
  | { readonly status: number; readonly last: boolean }
  | { readonly code: string; readonly reused: boolean; readonly sent: number };

/** In milliseconds: how long after the signal, at the least, a request is answered over a connection that was idle. */
const grace = 500;

/** What must be true of a request that a server has taken: it is answered, and what it did and what is answered agree. */
export const stopUnderLoad = async (
  ground: Ground,
  { clients = 24, before = 200, args = [] as readonly string[], environment = {} as Environment } = {},
): Promise<Stopped> => {
  const settings = ['--admin-token', chosenToken, ...args];
  const server = ground.start(settings, environment);
  const url = await server.url();
  const admin = await server.actor(chosenToken);
  const name = `acme-${process.hrtime.bigint()}`;
  await admin.make('/organizations', { type: 'organizations', attributes: { name, email: 'acme@example.com' } });
  const path = `/api/v2/organizations/${name}/projects`;

  const ask = (agent: Agent, method: 'GET' | 'POST', payload?: string): Promise<Outcome> =>
    new Promise(resolve => {
      const sent = performance.now();
      const headers = {
        authorization: `Bearer ${chosenToken}`,
        ...(payload !== undefined && { 'content-type': mediaType }),
      };
      const outgoing: ClientRequest = request(`${url}${path}`, { agent, method, headers }, answer => {
        answer.resume();
        answer.once('error', error => resolve({ code: `${error.message} in mid-answer`, reused: true, sent: 0 }));
        answer.once('end', () => {
          const last = answer.headers.connection === 'close';
          resolve({ status: answer.statusCode ?? 0, last });
        });
      });
      outgoing.once('error', (error: NodeJS.ErrnoException) =>
        resolve({ code: error.code ?? error.message, reused: outgoing.reusedSocket, sent }),
      );
      outgoing.end(payload);
    });

  let answered = 0;
  let made = 0;
  let turnedAway = 0;
  let told = Number.POSITIVE_INFINITY;
  let warm = () => {};
  const isWarm = new Promise<void>(resolve => {
    warm = resolve;
  });
  const failures: string[] = [];
  const client = async (id: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let index = 0; ; index++) {
      const isWrite = (id + index) % 2 === 0;
      const data = { type: 'projects', attributes: { name: `p-${id}-${index}` } };
      const outcome = await (isWrite ? ask(agent, 'POST', JSON.stringify({ data })) : ask(agent, 'GET'));
      if ('code' in outcome) {
        // A connection that was never taken is refused, or reset before it was used; an idle one is ended after a moment.
        const isPromised = outcome.reused && outcome.sent < told + grace;
        if (isPromised || !['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(outcome.code))
          failures.push(`${isWrite ? 'POST' : 'GET'}: ${outcome.code}`);
        turnedAway++;
        break;
      }
      answered++;
      if (outcome.status !== (isWrite ? 201 : 200)) failures.push(`answered ${outcome.status}`);
      if (isWrite) made++;
      if (answered === before) warm();
    }
    agent.destroy();
  };
  const load = Promise.all(Array.from({ length: clients }, (_, id) => client(id)));
  await isWarm;
  told = performance.now();
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.exited, { code: 0, signal: null }, server.error);
  const took = performance.now() - told;
  await load;
  assert.deepEqual(failures, []);

  const again = ground.start(settings, environment);
  const { body } = await (await again.actor(chosenToken)).get(`/organizations/${name}/projects?page[size]=1`);
  // Beside the one that every organization has.
  assert.equal(
    body.meta.pagination['total-count'] - 1,
    made,
    'each change has had its answer, and each answer its change',
  );
  await again.stop();
  return { answered, turnedAway, took };
};
