/** The PostgreSQL that the tests bring along: what the trials of faults do with it, and that nothing of it stays. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { selfSigned } from '../src/server/certificate.ts';
import { onlyOn } from './support/engine.ts';
import { startPostgres } from './support/postgres.ts';
import { gone, isAlive } from './support/processes.ts';
import { guard } from './support/program.ts';

const answerOf = async (url: string, options = {}): Promise<string> => {
  const client = new Client({ connectionString: url, ...options });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query('select name from kept')).rows[0].name;
  } catch (error) {
    return `${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`;
  } finally {
    client.end().catch(() => {});
  }
};

const keep = async (url: string, options = {}): Promise<void> => {
  const client = new Client({ connectionString: url, ...options });
  await client.connect();
  await client.query("create table kept as select 'ada' as name");
  await client.end();
};

onlyOn('postgres', () =>
  describe('a PostgreSQL for tests', () => {
    test(
      'is stopped, killed and started again with its data at the same address, and frozen and thawed',
      guard,
      async t => {
        const server = await startPostgres({ durable: true });
        t.after(() => server.end());
        const url = await server.newDatabase();
        await keep(url);
        for (const stop of ['smart', 'fast', 'immediate', 'kill9'] as const) {
          await (stop === 'kill9' ? server.kill9() : server.stop(stop));
          assert.deepEqual([server.pid, await answerOf(url)], [0, 'ECONNREFUSED'], stop);
          await server.start();
          assert.equal(await answerOf(url), 'ada', stop);
        }
        server.freeze();
        assert.match(await answerOf(url, { connectionTimeoutMillis: 500, query_timeout: 500 }), /timeout/);
        server.thaw();
        assert.equal(await answerOf(url), 'ada');
      },
    );

    test('asks for a password and speaks TLS, where that is wanted', guard, async t => {
      const tls = selfSigned(['localhost', '127.0.0.1'], new Date(Date.now() - 1000), new Date(Date.now() + 1e8));
      const server = await startPostgres({ password: 's3cr/t', tls });
      t.after(() => server.end());
      const ssl = { ca: tls.cert };
      await keep(server.url(), { ssl });
      assert.equal(await answerOf(server.url(), { ssl }), 'ada');
      assert.equal(await answerOf(server.url().replace('s3cr', 'secr'), { ssl }), '28P01');
    });

    test('is gone with its folder when whoever started it is killed, even while it is frozen', guard, async () => {
      const script = `
        import { startPostgres } from ${JSON.stringify(new URL('support/postgres.ts', import.meta.url).href)};
        const server = await startPostgres();
        const { rows: [{ data_directory: folder }] } = await (async () => {
          const { Client } = await import(${JSON.stringify(import.meta.resolve('pg'))});
          const client = new Client({ connectionString: server.url() });
          await client.connect();
          return client.query('show data_directory');
        })();
        server.freeze();
        console.log(JSON.stringify({ pid: server.pid, folder }));
        setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [text] = await once(child.stdout, 'data');
      const { pid, folder } = JSON.parse(`${text}`);
      assert.ok(isAlive(pid) && existsSync(folder));
      child.kill('SIGKILL');
      assert.ok(await gone([pid], 10_000));
      while (existsSync(folder)) await new Promise(resolve => setTimeout(resolve, 10));
    });

    test('is never missed in silence: without one, the run fails and says so', guard, async () => {
      const env = { ...process.env, BAILIWICK_TEST_POSTGRES: 'postgres://127.0.0.1:1/none' };
      const child = spawn(process.execPath, [fileURLToPath(new URL('run.ts', import.meta.url))], { env });
      let said = '';
      child.stderr.on('data', more => {
        said += more;
      });
      const [code] = await once(child, 'close');
      assert.match(said, /^No tests were run, since there is no PostgreSQL to run them on: .*ECONNREFUSED/);
      assert.equal(code, 1);
    });
  }),
);
