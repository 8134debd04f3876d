/** A database on its way to the schema of this version: from wherever it stands, and by whoever may bring it there. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Client as PostgresClient } from 'pg';
import { migrate, migrationNames } from '../src/store/migrations.ts';
import { openPostgres } from '../src/store/postgres.ts';
import { type Sql, sql } from '../src/store/sql.ts';
import type { Store } from '../src/store/store.ts';
import type { Json } from './support/client.ts';
import { inDatabase } from './support/databases.ts';
import { engine, newDatabase, newStore, onlyOn } from './support/engine.ts';
import { chosenToken, guard, newGround, type Running } from './support/program.ts';
import { schemaQuery } from './support/schema.ts';
import { tableNames } from './support/tables.ts';

const now = () => new Date('2026-11-15T00:00:00.000Z');
const names = migrationNames();
const plain = (text: string): Sql => ({ chunks: [text], values: [] });

/** Some row in each table that there was after a migration; what a later one needs to cope with. */
const rows: Readonly<Record<string, string>> = {
  '0001_directory_and_team_access.sql': `
    insert into server_keys (name, value) values ('old key', 'x');
    insert into users (id, username, email, is_admin, created_at) values ('user-1', 'Ada', 'ada@example.com', 1, '2026');
    insert into organizations (id, name, email, created_at) values ('org-1', 'Acme', 'acme@example.com', '2026');
    insert into organization_memberships (id, organization_id, user_id, created_at) values ('ou-1', 'org-1', 'user-1', '2026');
    insert into teams (id, organization_id, name, visibility, allow_member_token_management, organization_access, created_at)
      values ('team-1', 'org-1', 'owners', 'organization', 1, 0, '2026');
    insert into team_memberships (organization_id, team_id, membership_id, created_at) values ('org-1', 'team-1', 'ou-1', '2026');
    insert into projects (id, organization_id, name, is_default, created_at) values ('prj-1', 'org-1', 'Default', 1, '2026');
    insert into team_projects (id, organization_id, project_id, team_id, access, chosen, beyond, created_at)
      values ('tprj-1', 'org-1', 'prj-1', 'team-1', 'custom', 7, 0, '2026');
    insert into authentication_tokens (id, lookup, hash, user_id, created_by_type, created_by_id, created_at)
      values ('at-1', 'lookup', 'hash', 'user-1', 'users', 'user-1', '2026');
    insert into audit_events (id, organization_id, action, resource_type, resource_id, actor_type, actor_id, token_id, request_id, created_at)
      values ('event-1', 'org-1', 'create', 'team', 'team-1', 'user', 'user-1', 'at-1', 'request', '2026'),
        ('event-2', null, 'create', 'user', 'user-1', 'user', 'user-1', 'at-1', 'request', '2026');`,
  '0002_workspaces_and_settings.sql': `
    insert into workspaces (id, organization_id, project_id, name, settings, created_at, updated_at)
      values ('ws-1', 'org-1', 'prj-1', 'desk', '{}', '2026', '2026');
    insert into team_workspaces (id, organization_id, workspace_id, team_id, access, created_at)
      values ('tws-1', 'org-1', 'ws-1', 'team-1', 'plan', '2026');
    insert into tag_bindings (id, workspace_id, key, value, ordinal, created_at) values ('tag-1', 'ws-1', 'a', 'b', 0, '2026');`,
};

/** The first migrations alone, as the versions before had them. */
const folderOf = (t: TestContext, count: number): URL => {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-migrations-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of names.slice(0, count))
    cpSync(new URL(`../migrations/${name}`, import.meta.url), join(folder, name));
  return pathToFileURL(`${folder}/`);
};

/** As a version with the first migrations left it, with rows in it. */
const age = async (t: TestContext, store: Store, count: number): Promise<void> => {
  await migrate(store, now, () => {}, folderOf(t, count));
  for (const name of names.slice(0, count)) await store.alone(tx => tx.script(rows[name] ?? ''));
};

const storeFor = async (t: TestContext): Promise<Store> => {
  const store = await newStore();
  t.after(() => store.close());
  return store;
};

const schemaOf = (store: Store): Promise<string[]> =>
  store.read(async tx => (await tx.rows<[string]>(plain(schemaQuery[engine]))).map(([line]) => line));

const columnsOf = (table: string): Sql =>
  engine === 'sqlite'
    ? sql`select name from pragma_table_info(${table})`
    : sql`
        select cast(attname as text)
        from pg_attribute
        where attrelid = cast(cast(${table} as text) as regclass) and attnum > 0 and not attisdropped`;

describe('a migrated database', () => {
  for (const [count, next] of names.entries())
    test(`from before ${next}, with rows in it, it has the schema of a fresh one and has lost nothing`, async t => {
      const fresh = await storeFor(t);
      await migrate(fresh, now);
      const old = await storeFor(t);
      await age(t, old, count);
      assert.notDeepEqual(await schemaOf(old), await schemaOf(fresh));
      const kept = await old.read(async tx => {
        const found = [];
        for (const table of count === 0 ? [] : await tableNames(tx)) {
          if (/^schema_/.test(table)) continue;
          const columns = (await tx.rows<[string]>(columnsOf(table))).map(([name]) => name);
          const text = `select ${columns.join(', ')} from ${table} order by 1`;
          found.push({ text, rows: await tx.rows(plain(text)) });
        }
        return found;
      });
      assert.ok(count === 0 || kept.filter(({ rows }) => rows.length > 0).length >= 9);

      assert.deepEqual(await migrate(old, now), names.slice(count));
      assert.deepEqual(await schemaOf(old), await schemaOf(fresh));
      for (const { text, rows } of kept) assert.deepEqual(await old.read(tx => tx.rows(plain(text))), rows, text);
    });
});

onlyOn('postgres', () =>
  test('no migration that older servers serve with writes a table anew: to what is under way it would be empty', async t => {
    const store = await storeFor(t);
    const files = async (): Promise<Map<string, number>> =>
      new Map(
        await store.read(tx =>
          tx.rows<[string, number]>(sql`
            select cast(relname as text), cast(relfilenode as bigint)
            from pg_class
            where relkind = 'r' and relnamespace = cast('public' as regnamespace)`),
        ),
      );
    for (const [count, name] of names.entries()) {
      const before = await files();
      await migrate(store, now, () => {}, folderOf(t, count + 1));
      const after = await files();
      if (!name.endsWith('.breaking.sql'))
        for (const [table, file] of before) assert.equal(after.get(table), file, `${table} by ${name}`);
    }
  }),
);

const operations = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8');
const [, roles = ''] = /\n### Roles\n(.*?)\n##/s.exec(operations) ?? [];
const [, recipe = ''] = /```sql\n(.*?)```/s.exec(roles) ?? [];
/** The owner's and the server's. */
const addresses = [...roles.matchAll(/postgres:[^'\s]+/g)].map(([address]) => address);

/** Whoever owns the schema, and whoever serves from it and cannot change it: as docs/operations.md tells to make them. */
const ownedDatabase = async (t: TestContext): Promise<{ owner: string; server: string }> => {
  assert.ok(recipe.includes('\\connect') && addresses.length === 2, 'the recipe is where it was');
  const { url = '', drop } = await newDatabase();
  // The names are of the whole PostgreSQL, where others may have them.
  const unique = `bailiwick_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const here = (text: string): string => text.replaceAll('bailiwick', unique);
  const connected = async (database: string): Promise<PostgresClient> => {
    const client = new PostgresClient({ connectionString: inDatabase(url, database) });
    await client.connect();
    return client;
  };
  const maintenance = await connected(new URL(url).pathname.slice(1));
  t.after(async () => {
    await maintenance.query(`drop database if exists ${unique} with (force)`);
    for (const address of addresses) await maintenance.query(`drop role if exists ${new URL(here(address)).username}`);
    await maintenance.end();
    drop();
  });
  let client = maintenance;
  for (const statement of here(recipe).split(/;\n|(?<=\\connect \w+)\n/)) {
    const [, database] = /^\\connect (\w+)$/.exec(statement) ?? [];
    if (database) client = await connected(database);
    else await client.query(statement);
  }
  await client.end();
  const { host } = new URL(url);
  const [owner = '', server = ''] = addresses.map(address => Object.assign(new URL(here(address)), { host }).href);
  return { owner, server };
};

const readinessOf = async (url: string): Promise<Json> => {
  const answer = await fetch(`${url}/readyz`);
  return { code: answer.status, ...((await answer.json()) as object) };
};

/** Where a server listens that is not ready. */
const waitingUrl = async (server: Running): Promise<string> =>
  (await server.printed(/listens on (\S+) and is not ready/))[1] ?? '';

onlyOn('postgres', () =>
  describe('a schema that another role owns', () => {
    for (const [how, flags] of [
      ['that may not change it', []],
      ['that is told to leave it alone', ['--migrate-apart']],
    ] as const)
      test(`a server ${how} waits for bailiwick migrate, says so, and then serves by itself`, guard, async t => {
        const { owner, server } = await ownedDatabase(t);
        const before = openPostgres(owner);
        await age(t, before, 2);
        await before.close();
        const ground = await newGround(t);
        const running = ground.start(['--database', server, '--admin-token', chosenToken, ...flags]);
        const address = await waitingUrl(running);
        const missing = names.slice(2).join(', ');
        const reason = `The schema of the database is older than this version needs, it lacks ${missing}: run bailiwick migrate.`;
        assert.deepEqual(await readinessOf(address), {
          code: 503,
          status: 'not ready',
          reason,
          database: 'answers',
          schema: `lacks ${missing}`,
        });
        assert.equal((await fetch(`${address}/healthz`)).status, 200);
        const refused = await fetch(`${address}/api/v2/account/details`, { headers: { authorization: 'Bearer x' } });
        assert.equal(refused.status, 503);
        assert.match(`${refused.headers.get('retry-after')}`, /^\d+$/);
        assert.equal(((await refused.json()) as Json).errors[0].detail, reason);

        const forbidden = ground.run(['migrate', '--database', server]);
        assert.equal((await forbidden.exited).code, 2);
        assert.match(
          forbidden.error,
          /^bailiwick: cannot migrate [^\n]+: this role may not change the schema: [^\n]+\n$/,
        );
        const migrating = ground.run(['migrate', '--database', owner]);
        assert.equal((await migrating.exited).code, 0, migrating.error);
        for (const name of names.slice(2)) assert.ok(migrating.out.includes(`applied ${name}\n`), migrating.out);

        assert.equal(await running.url(), address);
        assert.deepEqual(await readinessOf(address), {
          code: 200,
          status: 'ready',
          database: 'answers',
          schema: 'up to date',
        });
        await running.stop();
      });

    test('the role of the server can do all that a server does, and nothing to the schema', guard, async t => {
      const { owner, server } = await ownedDatabase(t);
      const ground = await newGround(t);
      const migrating = ground.run(['migrate', '--database', owner]);
      assert.equal((await migrating.exited).code, 0, migrating.error);
      const running = ground.start(['--database', server, '--admin-token', chosenToken]);
      const admin = await running.actor(chosenToken);
      const attributes = { name: 'served', email: 'served@example.com' };
      await admin.make('/organizations', { type: 'organizations', attributes });
      assert.equal((await admin.get('/organizations/served')).status, 200);
      assert.equal((await admin.delete('/organizations/served')).status, 204);
      await running.stop();
      const store = openPostgres(server);
      t.after(() => store.close());
      for (const text of [
        'create table more (x integer)',
        'alter table teams add column x integer',
        'drop table teams',
      ])
        await assert.rejects(
          store.write(tx => tx.script(text)),
          /permission denied|must be owner/,
        );
    });
  }),
);

onlyOn('sqlite', () =>
  test(
    'a server that is told to leave the schema alone does not keep the file from bailiwick migrate',
    guard,
    async t => {
      const ground = await newGround(t);
      const start = () => ground.start(['--migrate-apart', '--admin-token', chosenToken]);
      const early = start();
      assert.equal((await early.exited).code, 2);
      assert.match(
        early.error,
        /^bailiwick: cannot serve sqlite:[^\n]+ it lacks 0001_[^\n]+: run bailiwick migrate\.\n$/,
      );
      const migrating = ground.run(['migrate']);
      assert.equal((await migrating.exited).code, 0, migrating.error);
      assert.ok(
        names.every(name => migrating.out.includes(`applied ${name}\n`)),
        migrating.out,
      );
      const server = start();
      assert.equal((await readinessOf(await server.url())).code, 200);
      await server.stop();
    },
  ),
);
