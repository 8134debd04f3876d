/** What the store promises: few statements, each by an index; all or nothing; one audit row for every change. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { base62, newId, randomText, secureRandom } from '../src/store/id.ts';
import { migrate, migrationNames, schemaOf } from '../src/store/migrations.ts';
import { type Sql, sql } from '../src/store/sql.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Store } from '../src/store/store.ts';
import { kept, newToken } from '../src/store/token.ts';
import type { Json } from './support/client.ts';
import { engine, newStore, onlyOn } from './support/engine.ts';
import { type Entry, recording } from './support/recording.ts';
import { startServer } from './support/server.ts';
import { walk } from './support/walk.ts';
import { type Actor, Directory, grantBody } from './support/world.ts';

/** Closed at the end of the test, however it ends. */
const serverFor = async (t: TestContext, options?: Parameters<typeof startServer>[0]) => {
  const server = await startServer(options);
  t.after(() => server.close());
  return server;
};

/** Whatever narrows the list of projects, or adds to it. */
const projectQueries = [
  'q=a&sort=-name&include=effective_tag_bindings',
  'filter[names]=a,b,c',
  'filter[tagged][0][key]=a&filter[tagged][1][key]=b&filter[tagged][1][value]=c&filter[tagged][2][value]=d',
  'filter[permissions][update]=true&filter[permissions][create-workspace]=true&filter[permissions][move-stack]=true',
];

/** Whatever narrows the audit events. */
const eventQueries = [
  '',
  ...['project', 'team', 'actor'].map(key => `filter[${key}][id]=x`),
  'filter[action]=create',
  'filter[since]=2026-01-01T00:00:00Z',
  'filter[until]=2026-01-01T00:00:00Z',
  'filter[project][id]=x&filter[team][id]=x&filter[actor][id]=x&filter[action]=create&filter[since]=2026-01-01T00:00:00Z',
];

const textOf = ({ chunks }: Sql): string => chunks.join('?').replace(/\s+/g, ' ').trim();

/** A page of who holds something in one place, or of where somebody does: its question is about others than the caller. */
const isAboutOthers = ({ statements }: Entry): boolean =>
  statements.some(statement => /^with (holders as|visible as \( with on_projects) /.test(textOf(statement)));

/** Everything that can be asked of effective access, of one organization. */
const questionsOf = (
  organization: string,
  ids: Record<'project' | 'workspace' | 'team' | 'user', string>,
): string[] => {
  const { project, workspace, team, user } = ids;
  const needs = [
    'filter[workspace-access][runs]=apply',
    'filter[project-access][teams]=manage&filter[workspace-access][policy-overrides]=true',
    'filter[workspace-access][create]=true&filter[workspace-access][move]=false',
  ];
  const everybody = [`/projects/${project}`, `/workspaces/${workspace}`].flatMap(place =>
    ['users', 'teams'].map(subject => `${place}/effective-access?filter[subject]=${subject}`),
  );
  const named = `filter[organization][name]=${organization}`;
  const everywhere = [`/teams/${team}`, `/users/${user}`, '/account'].flatMap(subject =>
    [
      ...['projects', 'workspaces'].map(kind => `${named}&filter[resource]=${kind}`),
      `filter[project][id]=${project}`,
      `filter[workspace][id]=${workspace}&${named}`,
    ].map(query => `${subject}/effective-access?${query}`),
  );
  return [...everybody, ...everywhere].flatMap(path => [path, ...needs.map(need => `${path}&${need}`)]);
};

/** The export is the one read of everything: it walks each table once, from end to end. */
const isOfExport = ({ statements }: Entry): boolean =>
  statements.some(statement => /from organizations order by created_at, id$/.test(textOf(statement)));

/** A piece of a review is a read of its own, and takes one statement more: members, projects, and who asks. */
const isOfReview = ({ statements }: Entry): boolean =>
  statements.some(statement => /^select page\.created_at, page\.id, page\.user_id/.test(textOf(statement)));

/** Every question of AuthZEN, about each of these subjects and resources. */
const askedByAuthzen = async (actor: Actor, subjects: readonly Json[], resources: readonly Json[]): Promise<void> => {
  const ask = async (path: string, question: Json) => {
    const { status, text } = await actor.ask('asked', path, question);
    assert.equal(status, 200, text);
  };
  for (const subject of subjects)
    for (const resource of resources)
      for (const name of ['read', 'update', 'manage-team-access', 'move-workspace']) {
        const properties = name === 'move-workspace' ? { destination: resource.id } : {};
        const question = { subject, action: { name, properties }, resource };
        for (const path of ['evaluation', 'search/subject', 'search/resource', 'search/action'])
          await ask(path, question);
        await ask('evaluations', {
          ...question,
          evaluations: [{}, { subject: subjects[0] }, { resource: resources[1] }],
        });
      }
};

/** The steps of a statement that go through a whole table, in the engine's words. */
const walksOver = async (store: Store, { chunks, values }: Sql): Promise<string[]> => {
  const asked = (how: string): Sql => ({ chunks: [`${how} ${chunks[0]}`, ...chunks.slice(1)], values });
  if (store.engine === 'sqlite') {
    const plan = await store.read(tx => tx.rows<[number, number, number, string]>(asked('explain query plan')));
    // One constant row, or what was just looked up, has nothing to look up; the list of all users is all of them.
    return plan
      .map(([, , , step]) => step)
      .filter(step =>
        /^SCAN (?!(one|page|visible|place|own|counted|holders|on_\w+|schema_migrations|\(subquery|CONSTANT|\d+ CONSTANT))/.test(
          step,
        ),
      )
      .filter(step => !/^SCAN \w+ USING (COVERING )?INDEX (\w+_order|users_admin)\b/.test(step));
  }
  const plan = await store.read(async tx => {
    // A small table is read whole whatever indexes there are, unless all other ways are closed.
    for (const way of ['seqscan', 'hashjoin', 'mergejoin', 'material'])
      await tx.script(`set local enable_${way} = off`);
    return tx.row<[string]>(asked('explain (format json)'));
  });
  const walks = (node: Json): string[] => {
    const isWhole =
      node['Node Type'] === 'Seq Scan' || (/^Index.* Scan$/.test(node['Node Type']) && !node['Index Cond']);
    const isMeant =
      node['Relation Name'] === 'schema_migrations' || /(_order|users_admin)$/.test(node['Index Name'] ?? '');
    const own =
      isWhole && !isMeant ? [`${node['Node Type']} on ${node['Relation Name']} ${node['Index Name'] ?? ''}`] : [];
    return [...own, ...(node.Plans ?? []).flatMap(walks)];
  };
  return JSON.parse(plan?.[0] ?? '').flatMap(({ Plan: node }: Json) => walks(node));
};

describe('statements', () => {
  test('a read takes two statements at most beside the token’s, whatever the page size', async t => {
    const log: Entry[] = [];
    const server = await serverFor(t, { store: recording(await newStore(), log) });
    const directory = new Directory(server);
    await walk(directory);
    const { actor } = await directory.user('lister');
    await directory.organization(actor, 'wide');
    for (let i = 0; i < 40; i++) await directory.team(actor, 'wide', { name: `team-${i}` }, i % 2 ? ['lister'] : []);
    for (let i = 0; i < 5; i++) await directory.workspace(actor, 'wide', `workspace-${i}`);
    for (const size of [1, 10, 100])
      for (const path of ['teams', 'projects', 'workspaces', 'organization-memberships', 'team-tokens', 'audit-events'])
        assert.equal((await actor.get(`/organizations/wide/${path}?page[size]=${size}`)).status, 200);
    for (const query of projectQueries)
      assert.equal((await actor.get(`/organizations/wide/projects?${query}`)).status, 200);
    const reads = log.filter(({ kind, statements }) => kind === 'read' && statements.length > 1);
    assert.ok(reads.length > 15);
    for (const read of reads.filter(read => !isOfExport(read) && !isAboutOthers(read))) {
      const { statements } = read;
      assert.ok(
        statements.length <= (isOfReview(read) ? 4 : 3),
        `${statements.length} statements: ${statements.map(textOf).join('\n')}`,
      );
    }
  });

  test('what a read includes takes one statement more at most, whatever the page size, and none where it is not asked for', async t => {
    const log: Entry[] = [];
    const server = await serverFor(t, { store: recording(await newStore(), log) });
    const directory = new Directory(server);
    const { actor } = await directory.user('lister');
    await directory.organization(actor, 'wide');
    for (let i = 0; i < 10; i++) {
      await directory.member(actor, 'wide', `member-${i}`);
      await directory.team(actor, 'wide', { name: `team-${i}` }, ['lister', `member-${i}`]);
    }
    const statementsOf = async (path: string) => {
      const { length } = log;
      assert.equal((await actor.get(path)).status, 200, path);
      // Beside the token's.
      return (log.slice(length).find(({ kind }) => kind === 'read')?.statements.length ?? 0) - 1;
    };
    const members = '/organizations/wide/organization-memberships';
    for (const size of [1, 10, 100]) {
      assert.equal(await statementsOf(`${members}?page[size]=${size}&q=m&filter[status]=active`), 2);
      assert.equal(await statementsOf(`${members}?page[size]=${size}&include=user`), 2);
      assert.equal(await statementsOf(`${members}?page[size]=${size}&include=user,teams`), 3);
    }
    assert.equal(await statementsOf('/organizations/wide'), 2);
    assert.equal(await statementsOf('/organizations/wide?include=entitlement_set,subscription'), 2);
    assert.equal(await statementsOf('/organizations/wide?include=entitlement_set,subscription,default_project'), 3);
  });

  test('a question about others takes three statements at most beside the token’s, whatever the page size and the filters', async t => {
    const log: Entry[] = [];
    const server = await serverFor(t, { store: recording(await newStore(), log) });
    const directory = new Directory(server);
    const { id: user, actor } = await directory.user('asker');
    await directory.organization(actor, 'wide');
    const project = await directory.project(actor, 'wide', 'place');
    const workspace = await directory.workspace(actor, 'wide', 'desk', project);
    let team = '';
    for (let i = 0; i < 12; i++) {
      await directory.member(actor, 'wide', `member-${i}`);
      team = await directory.team(actor, 'wide', { name: `team-${i}` }, ['asker', `member-${i}`]);
      await directory.grant(actor, project, team, { access: i % 2 ? 'write' : 'custom' });
    }
    for (const size of [1, 10, 100])
      for (const path of questionsOf('wide', { project, workspace, team, user })) {
        const { length } = log;
        assert.equal((await actor.get(`${path}&page[size]=${size}`)).status, 200, path);
        const statements = log.slice(length).flatMap(({ statements }) => statements);
        assert.ok(statements.length <= 4, `${path}: ${statements.map(textOf).join('\n')}`);
      }
  });

  test('an export takes one statement for each table, whatever is in it', async t => {
    const log: Entry[] = [];
    const server = await serverFor(t, { store: recording(await newStore(), log) });
    const directory = new Directory(server);
    const counts = [];
    for (const name of ['one', 'two']) {
      await directory.organization(directory.admin, name);
      for (let i = 0; i < 20; i++) await directory.team(directory.admin, name, { name: `team-${i}` }, ['admin']);
      await directory.admin.get('/admin/export');
      const { statements } = log.findLast(isOfExport) as Entry;
      counts.push(statements.length);
      const tables = statements.map(statement => / from (\w+)/.exec(textOf(statement))?.[1]);
      assert.equal(new Set(tables).size, tables.length - 1, 'and one for the token, whose table it reads as well');
    }
    assert.equal(counts[0], counts[1]);
  });

  test('every statement finds its rows by an index', async t => {
    const log: Entry[] = [];
    const store = await newStore();
    const server = await serverFor(t, { store: recording(store, log) });
    const directory = new Directory(server);
    await walk(directory);
    // The walk is by users; a team's and an organization's token ask in their own words.
    const { actor } = await directory.user('asker');
    await directory.organization(actor, 'asked');
    const member = await directory.member(actor, 'asked', 'asked-member');
    const team = await directory.team(actor, 'asked', { name: 'askers' }, ['asked-member']);
    const project = await directory.project(actor, 'asked', 'question');
    const grant = await directory.grant(actor, project, team, { access: 'read' });
    const workspace = await directory.workspace(actor, 'asked', 'answer', project);
    const workspaceGrant = await directory.workspaceGrant(actor, workspace, team, { access: 'plan' });
    const tokens = [];
    for (const path of [`/teams/${team}/authentication-token`, '/organizations/asked/authentication-token'])
      tokens.push((await actor.make(path)).attributes.token);
    for (const asker of [member.actor, ...tokens.map(token => directory.actor(token))]) {
      const search = 'search[name]=a&search[wildcard-name]=a*&search[exclude-tags]=x,y&filter[project][id]';
      const inside = [
        ...['teams', 'projects', 'workspaces', 'organization-memberships', 'team-tokens'],
        ...['workspaces/answer', 'workspaces?sort=name', 'workspaces?sort=-latest-change-at'],
        ...[`workspaces?${search}=${project}`, 'workspaces?search[tags]=x'],
      ].map(list => `/organizations/asked/${list}`);
      const each = [
        '/organizations',
        '/organizations?q=ask&page[size]=1',
        '/organizations?q[name]=ask&q[email]=ask',
        '/organizations/asked?include=default-project',
        '/organizations/asked/organization-memberships?include=user,teams&q=ask&filter[email]=a@example.com,b@example.com',
        '/organization-memberships',
        '/account/details',
        `/teams/${team}`,
        `/users/${member.id}`,
      ];
      const access = [
        `/team-projects/${grant}`,
        `/team-projects?filter[project][id]=${project}`,
        `/projects/${project}/team-projects`,
        `/projects/${project}`,
        `/workspaces/${workspace}`,
        `/team-workspaces/${workspaceGrant}`,
        `/team-workspaces?filter[workspace][id]=${workspace}`,
      ];
      const narrowed = [
        '/organizations/asked/teams?include=users,organization-memberships&q=ask&filter[names]=askers',
        `/teams/${team}?include=users,organization-memberships`,
        `/teams/${team}/relationships/organization-memberships?sort=status&filter[status]=active`,
        ...['team-name', '-created-by', 'expired-at', 'last-used-at'].map(
          sort => `/organizations/asked/team-tokens?sort=${sort}&q=ask&filter[expiry_status]=expired,active`,
        ),
      ];
      for (const path of [...inside, ...each, ...access, ...narrowed])
        assert.equal((await asker.get(path)).status, 200, path);
      for (const path of questionsOf('asked', { project, workspace, team, user: member.id }))
        assert.equal((await asker.get(path)).status, 200, path);
      for (const query of projectQueries)
        assert.equal((await asker.get(`/organizations/asked/projects?${query}`)).status, 200, query);
      for (const path of ['/team-projects', '/team-workspaces']) assert.ok((await asker.post(path, {})).status >= 404);
    }
    const trail = await actor.make('/organizations/asked/authentication-token?token=audit-trails');
    for (const asker of [actor, ...[...tokens.slice(1), trail.attributes.token].map(token => directory.actor(token))])
      for (const query of eventQueries)
        assert.equal((await asker.get(`/organizations/asked/audit-events?${query}`)).status, 200, query);
    // Who loses an admin is looked for, and whoever is no owner looks with its own eyes.
    const given = (access: string) => ({ attributes: { access } });
    assert.equal((await actor.patch(`/team-projects/${grant}`, given('admin'))).status, 200);
    assert.equal((await member.actor.patch(`/team-projects/${grant}?dry-run=true`, given('read'))).status, 200);
    assert.equal((await actor.patch(`/team-projects/${grant}`, given('read'))).status, 200);
    await askedByAuthzen(
      actor,
      [
        { type: 'user', id: member.id },
        { type: 'team', id: team },
        ...(await member.actor.get(`/users/${member.id}/authentication-tokens`)).body.data.map(({ id }: Json) => ({
          type: 'token',
          id,
        })),
      ],
      [
        { type: 'organization', id: 'asked' },
        { type: 'project', id: project },
        { type: 'workspace', id: workspace },
        { type: 'team-project', id: grant },
      ],
    );
    await server.writeUses();
    const exported = new Set(log.filter(isOfExport).flatMap(({ statements }) => statements.map(textOf)));
    const statements = new Map(log.flatMap(({ statements }) => statements.map(each => [textOf(each), each])));
    assert.ok(statements.size > 60);
    const wrong: string[] = [];
    for (const [text, statement] of statements) {
      let walked = 0;
      for (const step of await walksOver(store, statement)) {
        const deliberate = /from users(\)| limit 1)/.test(text) || (exported.has(text) && walked++ === 0);
        if (!deliberate) wrong.push(`${step}\n${text}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
});

describe('audit', () => {
  const events = (rows: Json[][]) =>
    rows.map(([action, type, actorType, token, request, before, after]) => ({
      action: `${type}.${action}`,
      actorType,
      token,
      request,
      before: before && JSON.parse(before),
      after: after && JSON.parse(after),
    }));
  const all = sql`
    select action, resource_type, actor_type, token_id, request_id, before_change, after_change
    from audit_events
    order by created_at, id`;

  test('every successful write leaves exactly one row, with actor, token, request, before and after', async t => {
    const server = await serverFor(t);
    const { writes } = await walk(new Directory(server));
    const rows = events(await server.store.read(tx => tx.rows<Json>(all)));
    // And one for the site admin of the first start.
    assert.equal(rows.length, writes + 1);
    for (const row of rows) {
      assert.match(row.token, /^at-/);
      assert.ok(row.request);
      assert.ok(row.before !== null || row.after !== null, row.action);
      if (/\.(create|add_team)$/.test(row.action)) assert.ok(row.after !== null, row.action);
      if (/\.(destroy|remove_team)$/.test(row.action)) assert.ok(row.before !== null && row.after === null, row.action);
    }
    const of = (action: string) => rows.filter(row => row.action === action);
    const [update] = of('project.update_team_permissions');
    assert.equal(update?.before.attributes.access, 'custom');
    assert.equal(update?.after.attributes.access, 'write');
    assert.equal(of('project.add_team').length, 1);
  });

  test('the row says who did it: a user, a team or an organization, by which token, in which request', async t => {
    const server = await serverFor(t);
    const directory = new Directory(server);
    const { id: user, actor: owner } = await directory.user('ada');
    await directory.organization(owner, 'acme');
    const organization = (await owner.get('/organizations/acme')).body.data.attributes['external-id'];
    const team = await directory.team(owner, 'acme', {
      name: 'admins',
      'organization-access': { 'manage-projects': true },
    });
    const tokenFrom = async (path: string) => {
      const { id, attributes } = await owner.make(path);
      return { token: id, actor: directory.actor(attributes.token) };
    };
    const own = (await owner.get(`/users/${user}/authentication-tokens`)).body.data[0].id;
    const callers = [
      { type: 'users', id: user, token: own, actor: owner },
      { type: 'teams', id: team, ...(await tokenFrom(`/teams/${team}/authentication-token`)) },
      { type: 'organizations', id: organization, ...(await tokenFrom('/organizations/acme/authentication-token')) },
    ];
    for (const { type, id, token, actor } of callers) {
      const data = { type: 'projects', attributes: { name: `by ${type}` } };
      const made = await actor.post('/organizations/acme/projects', data, { 'x-request-id': `request-${type}` });
      const [row] = await server.store.read(tx =>
        tx.rows<Json>(sql`
          select organization_id, resource_type, resource_id, action, actor_type, actor_id, token_id, request_id
          from audit_events
          where request_id = ${`request-${type}`}`),
      );
      assert.deepEqual(row, [organization, 'project', made.body.data.id, 'create', type, id, token, `request-${type}`]);
    }
  });

  test('the row of a team membership tells who came or went, and not who was named in vain', async t => {
    const server = await serverFor(t);
    const directory = new Directory(server);
    const { actor: owner } = await directory.user('ada');
    await directory.organization(owner, 'acme');
    await directory.member(owner, 'acme', 'bob');
    const team = await directory.team(owner, 'acme', { name: 'devs' });
    const membership = (await owner.get('/organizations/acme/organization-memberships')).body.data[1].id;
    const users = (...names: string[]) => names.map(id => ({ type: 'users', id }));
    const told = async (call: (path: string, data: unknown) => Promise<unknown>, ...names: string[]) => {
      await call(`/teams/${team}/relationships/users`, users(...names));
      const rows = events(await server.store.read(tx => tx.rows<Json>(all)));
      const { before, after } = rows.at(-1) as Json;
      return [before['organization-memberships'], after['organization-memberships']];
    };
    const add = owner.post.bind(owner);
    const remove = owner.delete.bind(owner);
    assert.deepEqual(await told(add, 'BOB'), [[], [membership]]);
    assert.deepEqual(await told(add, 'bob'), [[], []]);
    assert.deepEqual(await told(remove, 'nobody', 'bob', 'bob'), [[membership], []]);
    assert.deepEqual(await told(remove, 'bob'), [[], []]);
  });

  test('a refused write leaves none, and no secret is ever in one', async t => {
    const server = await serverFor(t);
    const directory = new Directory(server);
    const { id } = await directory.user('ada');
    const secret = (await directory.admin.make(`/users/${id}/authentication-tokens`)).attributes.token;
    const count = async () => (await server.store.read(tx => tx.rows(all))).length;
    const before = await count();
    await directory.admin.post('/organizations', { type: 'organizations', attributes: { name: '!' } });
    await directory.admin.delete('/teams/none');
    assert.equal(await count(), before);
    const text = JSON.stringify(await server.store.read(tx => tx.rows(sql`select * from audit_events`)));
    assert.ok(!text.includes(secret) && !text.includes(secret.slice(0, 14)));
    const tokens = JSON.stringify(await server.store.read(tx => tx.rows(sql`select * from authentication_tokens`)));
    assert.ok(!tokens.includes(secret.slice(24)), 'the secret part is kept as a hash alone');
  });

  test('if the row cannot be written, the change does not happen: 500 with a request id', async t => {
    let broken = false;
    const store = recording(await newStore(), [], statement => {
      if (broken && textOf(statement).startsWith('insert into audit_events')) throw new Error('no audit today');
    });
    const server = await serverFor(t, { store });
    const directory = new Directory(server);
    const { actor } = await directory.user('ada');
    await directory.organization(actor, 'acme');
    const project = await directory.project(actor, 'acme', 'production');
    const team = await directory.team(actor, 'acme', { name: 'devs' });
    broken = true;
    const answer = await actor.post('/team-projects', grantBody(project, team, { access: 'read' }), {
      'x-request-id': 'abc-1',
    });
    assert.equal(answer.status, 500);
    assert.deepEqual(answer.body.errors[0].meta, { 'request-id': 'abc-1' });
    assert.ok(!answer.text.includes('no audit today'), 'what went wrong inside stays inside');
    broken = false;
    assert.deepEqual((await actor.get(`/team-projects?filter[project][id]=${project}`)).body.data, []);
    assert.equal((await actor.post('/team-projects', grantBody(project, team, { access: 'read' }))).status, 200);
  });
});

onlyOn('sqlite', () =>
  test('what is asked most is looked up in the indexes that were made for it', async t => {
    const log: Entry[] = [];
    const store = await newStore();
    const server = await serverFor(t, { store: recording(store, log) });
    const directory = new Directory(server);
    const { id, actor } = await directory.user('asker');
    await directory.organization(actor, 'asked');
    const project = await directory.project(actor, 'asked', 'place');
    const team = await directory.team(actor, 'asked', { name: 'team' }, ['asker']);
    const grant = await directory.grant(actor, project, team, { access: 'read' });
    const indexesOf = async (request: () => Promise<{ status: number }>): Promise<string[]> => {
      const { length } = log;
      assert.equal((await request()).status, 200);
      const found: string[] = [];
      for (const { chunks, values } of log.slice(length).flatMap(({ statements }) => statements)) {
        const asked = { chunks: [`explain query plan ${chunks[0]}`, ...chunks.slice(1)], values };
        const plan = await store.read(tx => tx.rows<[number, number, number, string]>(asked));
        for (const [, , , step] of plan) found.push(/ INDEX (\w+)/.exec(step)?.[1] ?? step);
      }
      return found;
    };
    const decision = {
      subject: { type: 'user', id },
      action: { name: 'read' },
      resource: { type: 'project', id: project },
    };
    const show = await indexesOf(() => actor.get(`/team-projects/${grant}`));
    const asked = await indexesOf(() => actor.ask('asked', 'evaluation', decision));
    const wanted = ['users_admin', 'teams_holding', 'team_projects_place'];
    for (const indexes of [show, asked]) {
      const missing = wanted.filter(name => !indexes.includes(name));
      assert.deepEqual(missing, []);
      // By the constraint's, team before project, each team of a member would be another page; the first is that of the ids.
      const others = indexes.filter(name => /^sqlite_autoindex_team_projects_(?!1$)/.test(name));
      assert.deepEqual(others, []);
    }
  }),
);

onlyOn('sqlite', () =>
  describe('sqlite', () => {
    test('statements are prepared once, and those not used for long are let go: their texts have no end', async t => {
      const { prepare } = DatabaseSync.prototype;
      const texts: string[] = [];
      DatabaseSync.prototype.prepare = function (text, ...rest) {
        texts.push(text);
        return prepare.call(this, text, ...rest);
      };
      t.after(() => {
        DatabaseSync.prototype.prepare = prepare;
      });
      const store = openSqlite(':memory:');
      t.after(() => store.close());
      const ask = (column: Sql) => store.read(tx => tx.rows(sql`select ${column}`));
      const zero = sql`0`;
      const others = Array.from({ length: 2000 }, (_, index) => ({ chunks: [`${index + 1}`], values: [] }));
      await ask(zero);
      await ask(zero);
      assert.equal(texts.filter(text => text === 'select 0').length, 1);
      for (const other of others) {
        await ask(other);
        await ask(zero);
      }
      assert.equal(texts.filter(text => text === 'select 0').length, 1, 'what is used stays');
      await ask(others[0] as Sql);
      assert.equal(texts.filter(text => text === 'select 1').length, 2, 'what is not used goes');
    });
  }),
);

onlyOn('sqlite', () =>
  test('a reader beside another process sees one state throughout', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'bailiwick-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'data.db');
    const owner = openSqlite(file);
    await owner.write(tx => tx.script('create table things (id integer)'));
    const reader = openSqlite(file, { readOnly: true });
    const count = sql`select count(*) from things`;
    const counts = await reader.read(async tx => {
      const before = await tx.row(count);
      await owner.write(tx => tx.run(sql`insert into things values (1)`));
      return [before, await tx.row(count)];
    });
    assert.deepEqual(counts, [[0], [0]]);
    assert.deepEqual(await reader.read(tx => tx.row(count)), [1]);
    await reader.close();
    await owner.close();
  }),
);

describe('the engine', () => {
  const migrated = async (t: TestContext): Promise<Store> => {
    const store = await newStore();
    t.after(() => store.close());
    await migrate(store, () => new Date());
    return store;
  };

  test('work that fails leaves nothing, and the next work goes on', async t => {
    const store = await migrated(t);
    await store.alone(tx => tx.script('create table t (x ctext)'));
    const failing = store.write(async tx => {
      await tx.run(sql`insert into t values (${'a'})`);
      throw new Error('no');
    });
    await assert.rejects(failing, /no/);
    await store.write(tx => tx.run(sql`insert into t values (${'b'})`));
    assert.deepEqual(await store.read(tx => tx.rows(sql`select x from t`)), [['b']]);
  });

  test('work that waits in the middle neither sees nor is seen by other work', async t => {
    const store = await migrated(t);
    await store.alone(tx => tx.script('create table t (x integer)'));
    const begun = Promise.withResolvers<void>();
    const slow = store.write(async tx => {
      await tx.run(sql`insert into t values (${1})`);
      begun.resolve();
      await new Promise(resolve => setTimeout(resolve, 20));
      await tx.run(sql`insert into t values (${2})`);
    });
    await begun.promise;
    const count = () => store.read(async tx => (await tx.rows(sql`select x from t`)).length);
    const seen = count();
    // It waits for the write on one engine; on the other it sees what was before it, if it does not come late.
    const whole = engine === 'sqlite' ? [2] : [0, 2];
    assert.ok(whole.includes(await seen));
    await slow;
    assert.equal(await count(), 2);
  });

  test('migrations run once; a database of a newer version is served, unless that version broke with this one', async () => {
    const store = await newStore();
    const now = () => new Date();
    assert.deepEqual(await migrate(store, now), migrationNames());
    assert.deepEqual(await migrate(store, now), []);
    await store.write(tx =>
      tx.run(sql`insert into schema_migrations (name, applied_at) values ('9999_later.sql', '')`),
    );
    assert.deepEqual(await migrate(store, now), []);
    assert.deepEqual(await schemaOf(store), { missing: [], unknown: ['9999_later.sql'] });
    await store.write(tx =>
      tx.run(sql`insert into schema_migrations (name, applied_at) values ('9999_now.breaking.sql', '')`),
    );
    await assert.rejects(migrate(store, now), /newer version.*9999_now/);
    await store.close();
  });

  test('the schema itself refuses a grant across organizations, and a fixed level with permissions', async t => {
    const server = await serverFor(t);
    const directory = new Directory(server);
    const { actor } = await directory.user('ada');
    for (const name of ['here', 'there']) await directory.organization(actor, name);
    const team = await directory.team(actor, 'here', { name: 'devs' });
    const project = await directory.project(actor, 'there', 'production');
    const rows = await server.store.read(tx =>
      tx.rows<[string]>(sql`select id from organizations order by created_at`),
    );
    const [here] = rows[0] as [string];
    const insert = (access: string, chosen: number | null, projectId: string) =>
      server.store.write(tx =>
        tx.run(sql`
          insert into team_projects (id, organization_id, project_id, team_id, access, chosen, beyond, created_at)
          values ('tprj-x', ${here}, ${projectId}, ${team}, ${access}, ${chosen}, ${chosen}, '')`),
      );
    await assert.rejects(insert('read', null, project), /foreign key/i);
    const own = await directory.project(actor, 'here', 'production');
    await assert.rejects(insert('read', 5, own), /check/i);
    await assert.rejects(insert('custom', null, own), /check/i);
  });
});

describe('sql', () => {
  test('holes take values, lists and other statements, and nothing else becomes text', () => {
    const inner = sql`b = ${2} and c in (${['x', 'y', 'z']})`;
    const { chunks, values } = sql`select a where a = ${1} and ${inner} limit ${null}`;
    assert.equal(chunks.join('?'), 'select a where a = ? and b = ? and c in (?, ?, ?, ?) limit ?');
    assert.deepEqual(values, [1, 2, 'x', 'y', 'z', 'z', null]);
  });

  test('a list of any length shares few texts, and an empty one matches nothing', () => {
    const texts = new Set(
      Array.from({ length: 100 }, (_, n) => textOf(sql`in (${Array.from({ length: n }, (_, i) => i)})`)),
    );
    assert.equal(texts.size, 8);
    assert.deepEqual(sql`in (${[]})`.values, [null]);
  });

  test('an undefined hole is a fault, not a null', () => {
    assert.throws(() => sql`a = ${undefined as never}`, /undefined/);
    assert.throws(() => sql`a = ${undefined as never} and ${sql`b`}`, /undefined/);
  });
});

describe('ids and tokens', () => {
  test('an id is its prefix and 16 base58 characters, every character as likely as another', () => {
    assert.match(newId(secureRandom, 'tprj'), /^tprj-[1-9A-HJ-NP-Za-km-z]{16}$/);
    const text = randomText(secureRandom, base62, 62_000);
    for (const character of base62) {
      const times = text.split(character).length - 1;
      assert.ok(times > 800 && times < 1200, `${character} came ${times} times`);
    }
  });

  test('a token has 14 characters, .atlasv1. and 67 characters, and one wrong character is refused without a query', () => {
    const token = newToken(secureRandom);
    assert.match(token, /^[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67}$/);
    assert.equal(kept('key', token)?.lookup, token.slice(0, 14));
    const places = [...token].map((_, place) => place).filter(place => place < 14 || place > 22);
    for (const place of places) {
      const other = token[place] === 'A' ? 'B' : 'A';
      assert.equal(kept('key', token.slice(0, place) + other + token.slice(place + 1)), undefined);
    }
  });

  test('what is kept depends on the key', () => {
    const token = newToken(secureRandom);
    assert.notEqual(kept('key', token)?.hash, kept('another', token)?.hash);
    const chosen = 'a token that somebody chose';
    assert.notEqual(kept('key', chosen)?.lookup, kept('another', chosen)?.lookup);
    assert.ok(!JSON.stringify(kept('key', chosen)).includes('somebody'));
  });
});
