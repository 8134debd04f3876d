/** The recipe of docs/operations.md for PostgreSQL's own tools, to the letter, where they are on the machine. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { openPostgres } from '../src/store/postgres.ts';
import { onlyOn } from './support/engine.ts';
import { onMachine, startPostgres } from './support/postgres.ts';
import { guard } from './support/program.ts';
import { startServer } from './support/server.ts';
import { contents } from './support/tables.ts';
import { walk } from './support/walk.ts';
import { Directory } from './support/world.ts';

const operations = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8');
const [, recipe = ''] = /```sh\n(pg_dump [^`]+)```/.exec(operations) ?? [];

onlyOn('postgres', () =>
  test(
    'a dump by PostgreSQL’s own tools, restored elsewhere, has every row, and a server serves it',
    guard,
    async t => {
      assert.match(recipe, /pg_restore/);
      const tools = [...onMachine()].find(({ bin }) => existsSync(join(bin, 'pg_dump')));
      // The package that the tests bring along has the server alone.
      if (!tools) return t.skip('pg_dump is not on this machine');
      const postgres = await startPostgres({ bin: tools.bin });
      t.after(() => postgres.end());
      const folder = mkdtempSync(join(tmpdir(), 'bailiwick-dump-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const url = await postgres.newDatabase();
      const before = await startServer({ store: openPostgres(url) });
      await walk(new Directory(before));
      const written = await before.store.read(contents);
      assert.ok(written.some(([table, rows]) => table === 'audit_events' && rows.length > 50));

      const restored = postgres.url('bailiwick_restored');
      execFileSync('sh', ['-e', '-c', recipe], {
        cwd: folder,
        env: {
          PATH: `${tools.bin}${delimiter}${process.env.PATH}`,
          DATABASE_URL: url,
          MAINTENANCE_URL: postgres.url(),
          RESTORED_URL: restored,
        },
      });
      await before.close();
      const store = openPostgres(restored);
      assert.deepEqual(await store.read(contents), written);
      const after = await startServer({ store });
      t.after(() => after.close());
      assert.equal(
        (await new Directory({ ...after, adminToken: before.adminToken }).admin.get('/organizations')).status,
        200,
      );
    },
  ),
);
