/** The benchmarks measure what they say: the load counts every answer, the calls succeed, and the arms answer alike. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { HttpRequest, Served } from '../bench/arm.ts';
import { bailiwick } from '../bench/arms/bailiwick.ts';
import { bareHttp } from '../bench/arms/bare-http.ts';
import { naive } from '../bench/arms/naive.ts';
import { asked } from '../bench/arms/requests.ts';
import { judged } from '../bench/bars.ts';
import { cpuOf, isMeasurable } from '../bench/cpu.ts';
import { Generator } from '../bench/load.ts';
import { operations, writes } from '../bench/operations.ts';
import { optionsOf, WrongOption } from '../bench/options.ts';
import { operationTable, withSection } from '../bench/report.ts';
import { figureOf, quantile, ratioOf } from '../bench/statistics.ts';
import { sizes } from '../bench/world/plan.ts';
import { type Engine, Worlds } from '../bench/worlds.ts';
import { engine as underTest } from './support/engine.ts';
import { guard } from './support/program.ts';

const engine: Engine = underTest === 'postgres' ? 'PostgreSQL' : 'SQLite';
const [small] = sizes as [(typeof sizes)[number]];

describe('statistics', () => {
  it('lies between two values where there is none in the middle', () => {
    assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
    assert.equal(quantile([5], 0.99), 5);
    assert.ok(Number.isNaN(quantile([], 0.5)));
  });

  it('doubts what is far apart, and leaves out what could not be measured', () => {
    assert.equal(figureOf([10, 10, 11, Number.NaN]).isWide, false);
    assert.equal(figureOf([10, 20, 30]).isWide, true);
    assert.equal(figureOf([10, 10, 11, Number.NaN]).median, 10);
  });

  it('compares round by round: what slows both down in a round changes no ratio', () => {
    assert.equal(ratioOf([20, 40, 200], [10, 20, 100]).median, 2);
    assert.equal(ratioOf([20, 40, 200], [10, 20, 100]).isWide, false);
  });
});

describe('the report', () => {
  const round = (cpu: number) => ({
    ...{ seconds: 1, cpu, database: 0, rate: 1e6 / cpu, memory: 2 ** 20, cpuAtHalf: cpu },
    latency: { p50: 1, p99: 2, p999: 3 },
  });
  const arm = (name: string, role: 'floor' | 'ours', cpu: number[]) => ({
    ...{ operation: 'show one' as const, arm: { name, role, kind: 'served' as const } },
    rounds: cpu.map(round),
  });
  const taken = [arm('bare node:http', 'floor', [10, 12, 11]), arm('Bailiwick, SQLite', 'ours', [20, 24, 22])];

  it('has an arm in each line, its median, its quartiles and its ratio to the floor', () => {
    const lines = operationTable(taken, 'show one').split('\n');
    assert.equal(lines.length, 4);
    assert.match(lines[3] ?? '', /^\| Bailiwick, SQLite \| 22\.0 \(21\.0–23\.0\) · 2\.00 × \| – \|/);
  });

  it('judges what was measured by its bar, and says what was not', () => {
    const rows = judged({ sizes: [{ size: small, taken, memory: [] }] }).map(cells => cells.slice(1));
    const known = rows.filter(cells => !cells.includes('not measured'));
    assert.deepEqual(known, [
      ['≤ 2.5 ×', '2.00 ×', 'met', '1.6 ×'],
      ['≤ 10 ms', '2.0 ms', '**moonshot**', '5 ms'],
    ]);
    assert.ok(rows.length > known.length);
  });

  it('takes the place of its section and leaves the others alone', () => {
    const document = '# M\n\n## Start\n\nfast\n\n## One server\n\nold\n\n## A review\n\nlong\n';
    assert.equal(
      withSection(document, 'One server', 'new'),
      '# M\n\n## Start\n\nfast\n\n## One server\n\nnew\n\n## A review\n\nlong\n',
    );
    assert.equal(withSection('# M\n\n## Start\n\nfast\n', 'One server', 'new').split('## ').length, 3);
  });
});

describe('the options', () => {
  it('choose sizes, operations and arms by a part of their names, and refuse what nobody knows', () => {
    const options = optionsOf(['--sizes', '1000,1e6', '--operations', 'show, decision', '--arms', 'floor,SQLite']);
    assert.ok(options !== 'help');
    assert.equal(options.form, 'chosen');
    assert.deepEqual(
      options.sizes.map(({ grants }) => grants),
      [1000, 1_000_000],
    );
    assert.equal(options.operations.length, 4);
    assert.ok(options.takesPart('naive, SQLite', 'naive') && !options.takesPart('naive, PostgreSQL', 'naive'));
    const named = optionsOf(['--arms', 'bare node:http; Bailiwick, SQLite']);
    assert.ok(named !== 'help' && named.takesPart('Bailiwick, SQLite', 'ours'));
    assert.ok(!named.takesPart('Bailiwick, PostgreSQL', 'ours') && !named.takesPart('naive, SQLite', 'naive'));
    for (const wrong of [['--sizes', '7'], ['--operations', 'sing'], ['--rounds', '0'], ['--loud']])
      assert.throws(() => optionsOf(wrong), WrongOption);
  });
});

describe('the load', () => {
  const served = async (t: TestContext, listener: RequestListener): Promise<{ arm: Served; generator: Generator }> => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const generator = new Generator();
    t.after(async () => {
      await generator.end();
      server.closeAllConnections();
      server.close();
    });
    const requests: HttpRequest[] = [{ method: 'POST', path: '/', headers: { accept: '*/*' }, body: 'ä' }];
    const { port } = server.address() as AddressInfo;
    const pids = () => [process.pid];
    const arm: Served = {
      ...{ kind: 'served', name: 'a server', role: 'floor', port, server: pids, database: () => [] },
      requests: async () => requests,
      close: async () => {},
    };
    return { arm, generator };
  };
  const manner = { connections: 3, seconds: 0.05 };

  it('counts every answer: with a length, in chunks, in pieces and without a body', guard, async t => {
    let count = 0;
    const sockets = new Set<unknown>();
    const { arm, generator } = await served(t, (request, response) => {
      sockets.add(request.socket);
      let body = '';
      request.on('data', piece => {
        body += piece;
      });
      request.on('end', async () => {
        assert.equal(body, 'ä');
        switch (count++ % 4) {
          case 0:
            return response.end('x'.repeat(200_000));
          case 1:
            response.write('a'.repeat(70_000));
            await new Promise(setImmediate);
            response.write('\r\n0\r\n\r\n');
            return response.end('c');
          case 2:
            return response.writeHead(204).end();
          default:
            return response.end();
        }
      });
    });
    const measured = await generator.measured(arm, 'show one', manner);
    assert.ok(measured && measured.rate > 0 && count > 0);
    if (isMeasurable) assert.ok(measured.cpu > 0 && measured.memory > 2 ** 20);
    const before = count;
    const inTime = await generator.measured(arm, 'show one', { ...manner, seconds: 0.1, rate: 200 });
    // However long that takes.
    assert.equal(count - before, 20);
    assert.ok(sockets.size <= 6 && sockets.size > 1, `${sockets.size}`);
    assert.ok(inTime && inTime.latency.p50 > 0 && inTime.latency.p50 <= inTime.latency.p999);
  });

  it('sends what can be sent once no more than once', guard, async t => {
    let count = 0;
    const { arm, generator } = await served(t, (_request, response) => {
      count++;
      response.writeHead(201).end('{}');
    });
    await generator.measured(arm, 'create', { connections: 4, seconds: 5 });
    assert.equal(count, 1);
  });

  it('fails where an answer is no success, or there is none', guard, async t => {
    let status = 503;
    const { arm, generator } = await served(t, (request, response) => {
      if (status === 0) request.socket.destroy();
      else response.writeHead(status).end('{"errors":[]}');
    });
    await assert.rejects(generator.measured(arm, 'show one', manner), /of \d+ were refused, such as 503 .*errors/s);
    status = 0;
    await assert.rejects(generator.measured(arm, 'show one', manner), /closed a connection/);
    status = 200;
    assert.ok(await generator.measured(arm, 'show one', manner));
  });

  it('counts the CPU of a process as the process itself does', { skip: !isMeasurable }, () => {
    const [before, own] = [cpuOf([process.pid]), process.cpuUsage()];
    let sum = 0;
    for (let index = 0; index < 5e7; index++) sum += Math.sqrt(index);
    const { user, system } = process.cpuUsage(own);
    const ratio = (cpuOf([process.pid]) - before) / (user + system);
    assert.ok(sum > 0 && ratio > 0.9 && ratio < 1.1, `${ratio}`);
  });
});

describe('the arms', () => {
  it('answer every operation with success, ours and the naive version alike', { timeout: 120_000 }, async t => {
    const worlds = new Worlds();
    const world = worlds.of(small);
    const arms: Served[] = [];
    t.after(async () => {
      for (const arm of arms.reverse()) await arm.close();
      await worlds.end();
    });
    const ours = await bailiwick(worlds, world, engine, { atOnce: 30 });
    arms.push(ours);
    const plain = await naive(worlds, world, engine, 30);
    arms.push(plain);
    const bare = await bareHttp(world, ours);
    arms.push(bare);
    const success = async (arm: Served, request: HttpRequest) => {
      const reply = await asked(arm.port, request);
      assert.ok(reply.status >= 200 && reply.status < 300, `${arm.name} answered ${reply.status}: ${reply.text}`);
      return reply;
    };
    for (const operation of operations) {
      const requests = (await ours.requests(operation)) ?? [];
      assert.ok(requests.length > 0, operation);
      const theirs = await plain.requests(operation);
      assert.equal(theirs === undefined, operation === 'everybody on a project');
      for (const [index, request] of requests.slice(0, 10).entries()) {
        const mine = await success(ours, request);
        const other = theirs?.[index] && (await success(plain, theirs[index]));
        if (!other || writes.includes(operation) || operation === "a member's list") continue;
        const [left, right] = [JSON.parse(mine.text), JSON.parse(other.text)];
        const decisions = ({ evaluations }: { evaluations?: { decision: boolean }[] }) =>
          evaluations?.map(({ decision }) => decision);
        assert.deepEqual(right.data, left.data);
        assert.deepEqual(right.decision, left.decision);
        assert.deepEqual(decisions(right), decisions(left));
      }
      const [like] = (await bare.requests(operation)) ?? [];
      assert.ok(like);
      const [real, floor] = [await success(ours, requests.at(-1) as HttpRequest), await success(bare, like)];
      assert.deepEqual([...floor.headers.keys()].sort(), [...real.headers.keys()].sort(), operation);
    }
    const [created] = (await ours.requests('delete')) ?? [];
    await success(ours, created as HttpRequest);
  });
});
