/** The floor: what it costs to answer HTTP at all, with the bytes of a real answer of ours. */

import { request as send } from 'node:http';
import type { HttpRequest, Served } from '../arm.ts';
import { Child } from '../children.ts';
import { onServerCore } from '../cores.ts';
import { callsOf, type Operation } from '../operations.ts';
import type { World } from '../world/plan.ts';
import type { BareAnswer } from './bare-http-server.ts';
import { requestOf } from './requests.ts';

/** Node writes these itself. */
const own = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding', 'content-length']);

const answerTo = (port: number, { method, path, headers, body }: HttpRequest): Promise<BareAnswer> =>
  new Promise((resolve, reject) => {
    const sent = send({ host: '127.0.0.1', port, method, path, headers, agent: false }, answer => {
      let text = '';
      answer.setEncoding('utf8').on('data', piece => {
        text += piece;
      });
      answer.on('error', reject).on('end', () => {
        const { rawHeaders, statusCode: status = 0 } = answer;
        const pairs = rawHeaders.flatMap((name, index) =>
          index % 2 === 0 && !own.has(name.toLowerCase()) ? [name, rawHeaders[index + 1] as string] : [],
        );
        const length = status === 204 ? [] : ['content-length', `${Buffer.byteLength(text)}`];
        resolve({ status, headers: [...pairs, ...length], body: text });
      });
    });
    sent.on('error', reject).end(body);
  });

/** Of some answers, the one of middle length. */
const typicalAnswer = async (ours: Served, operation: Operation): Promise<BareAnswer> => {
  const requests = (await ours.requests(operation)) ?? [];
  const answers: BareAnswer[] = [];
  for (const request of requests.slice(0, 15)) answers.push(await answerTo(ours.port, request));
  const refused = answers.find(({ status }) => status < 200 || status > 299);
  if (refused) throw new Error(`${ours.name}, ${operation}: answered ${refused.status} ${refused.body}`);
  answers.sort((a, b) => a.body.length - b.body.length);
  return answers[Math.floor(answers.length / 2)] as BareAnswer;
};

/** It changes nothing, so that what can be sent once elsewhere can be sent here as often as it takes. */
const requestsLike = (world: World, operation: Operation): readonly HttpRequest[] => {
  const calls =
    operation === 'delete'
      ? callsOf(world, 'update').map(({ path, token }) => ({ method: 'DELETE' as const, path, token }))
      : callsOf(world, operation);
  const requests = calls.slice(0, 2_000).map(requestOf);
  const times = operation === 'create' || operation === 'delete' ? Math.ceil(20_000 / requests.length) : 1;
  return Array.from({ length: times }, () => requests).flat();
};

/** Started through another program where one is given. */
export const bareHttp = async (world: World, ours: Served, through: readonly string[] = []): Promise<Served> => {
  const child = new Child<BareAnswer | 'listen', number>('arms/bare-http-server.ts', [...onServerCore, ...through]);
  const port = await child.ask('listen');
  const known = new Map<Operation, { readonly answer: BareAnswer; readonly requests: readonly HttpRequest[] }>();
  return {
    kind: 'served',
    name: 'bare node:http',
    role: 'floor',
    port,
    server: () => [child.pid],
    database: () => [],
    requests: async operation => {
      const like = known.get(operation) ?? {
        answer: await typicalAnswer(ours, operation),
        requests: requestsLike(world, operation),
      };
      known.set(operation, like);
      await child.ask(like.answer);
      return like.requests;
    },
    close: () => child.end(),
  };
};
