/** The command line: every question as a process of its own, against a server, with an exit code that means something. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Json } from './support/client.ts';
import { newDatabase } from './support/engine.ts';
import { rowsAfter } from './support/markdown.ts';
import { chosenToken, type Environment, Ground, guard, newGround } from './support/program.ts';
import type { Actor } from './support/world.ts';

const program = fileURLToPath(new URL('../bin/bailiwick.js', import.meta.url));

const secrets = { olga: 'the-token-of-olga-the-owner', rita: 'the-token-of-rita-who-reads' };

/** Of 150 teams and projects, so that a list has several pages. */
const many = Array.from({ length: 150 }, (_, index) => `${index}`.padStart(3, '0'));

const odd = 'q\u001b[2Jq@example.com';

const world = {
  users: [
    { username: 'olga', email: 'olga@example.com', tokens: [{ secret: secrets.olga }] },
    { username: 'rita', email: 'rita@example.com', tokens: [{ secret: secrets.rita }] },
    { username: 'walt', email: 'walt@example.com' },
    { username: 'quip', email: odd },
  ],
  organizations: [
    {
      name: 'acme',
      email: 'acme@example.com',
      memberships: ['olga', 'rita', 'walt', 'quip'].map(user => ({ user })),
      teams: [
        { name: 'owners', members: ['olga'] },
        { name: 'readers', visibility: 'organization', members: ['rita', 'quip'] },
        { name: 'writers', visibility: 'organization', members: ['walt'] },
        {
          name: 'platform',
          visibility: 'organization',
          members: ['walt'],
          'organization-access': { 'read-projects': true, 'read-workspaces': true },
        },
        ...many.map(index => ({ name: `team ${index}` })),
      ],
      projects: [
        {
          name: 'net prod',
          'team-access': [
            { team: 'readers', access: 'read' },
            { team: 'writers', access: 'write' },
          ],
          workspaces: [{ name: 'core', 'team-access': [{ team: 'readers', access: 'plan' }] }],
        },
        { name: '-web' },
        ...many.map(index => ({ name: `project ${index}` })),
      ],
    },
  ],
};

/** Another server, which answers as it likes. */
const standIn = async (t: TestContext, answer: RequestListener): Promise<Environment> => {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { BAILIWICK_ADDRESS: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

type Ended = { readonly code: number | null; readonly out: string; readonly error: string };

describe('bailiwick access', () => {
  let ground: Ground;
  let address: string;
  let owner: Actor;
  const ends: (() => unknown)[] = [];

  before(async () => {
    ground = new Ground({ after: (end: () => unknown) => ends.push(end) } as never, await newDatabase());
    writeFileSync(ground.path('world.json'), JSON.stringify(world));
    const server = ground.start(['--seed', ground.path('world.json')]);
    address = await server.url();
    owner = await server.actor(secrets.olga);
  }, guard);
  after(async () => {
    for (const end of ends) await end();
  });

  const given = (environment: Environment = {}): Environment => ({
    BAILIWICK_ADDRESS: address,
    BAILIWICK_TOKEN: secrets.olga,
    ...environment,
  });

  const asked = async (args: readonly string[], environment?: Environment): Promise<Ended> => {
    const running = ground.run(['access', ...args], given(environment));
    const { code } = await running.exited;
    for (const text of [running.out, running.error])
      for (const secret of Object.values(secrets)) assert.ok(!text.includes(secret), 'no token is ever printed');
    return { code, out: running.out, error: running.error };
  };

  /** Exit code 2, nothing printed, and one line that says why. */
  const refused = async (args: readonly string[], why: RegExp, environment?: Environment): Promise<void> => {
    const { code, out, error } = await asked(args, environment);
    assert.deepEqual([code, out], [2, ''], `${args.join(' ')}: ${error}`);
    assert.match(error, why);
    assert.match(error, /^bailiwick: .*\n$/);
  };

  const lines = (text: string): string[] => text.split('\n').map(line => line.replace(/(tprj|tws)-\w+/g, '$1'));

  const file = (name: string, text: string): string => {
    writeFileSync(ground.path(name), text);
    return ground.path(name);
  };

  describe('explain', () => {
    test('tells what a user may do on a project, and every reason, the highest first', guard, async () => {
      const { code, out, error } = await asked(['explain', '--user', 'walt', '--project', 'net prod']);
      assert.deepEqual([code, error], [0, '']);
      const told = lines(out);
      assert.deepEqual(told.slice(0, 3), [
        'user walt on project net prod: write',
        '',
        'PERMISSION                         VALUE  BY                                        GIVES',
      ]);
      assert.ok(told.includes('workspace-access.create            -'));
      const runs = told.findIndex(line => line.startsWith('workspace-access.runs '));
      assert.match(told[runs] ?? '', /^workspace-access\.runs {14}apply {2}project: writers \(tprj\) +apply$/);
      assert.match(told[runs + 1] ?? '', /^ {42}organization: platform \(read-workspaces\) +read$/);
    });

    test('takes names in any case, e-mails and ids, of users, teams, projects and workspaces', guard, async () => {
      const ids = async (path: string, name: string): Promise<string> =>
        (await owner.get(`/organizations/acme/${path}?${path === 'workspaces' ? 'search[name]' : 'q'}=${name}`)).body
          .data[0].id;
      const [project, workspace, team] = [
        await ids('projects', 'net'),
        await ids('workspaces', 'core'),
        await ids('teams', 'readers'),
      ];
      for (const [args, first] of [
        [['--user', 'RITA', '--workspace', 'CORE'], 'user rita on workspace core: plan'],
        [['--user', 'rita@example.com', '--project', project], 'user rita on project net prod: read'],
        [['--team', team, '--workspace', workspace], `team ${team} on workspace core: plan`],
        [['--team', 'Readers', '--project', 'NET PROD'], 'team readers on project net prod: read'],
        [['--project', 'net prod'], 'this token on project net prod: admin'],
        [
          ['--team', 'team 149', '--project', 'project 149', '--organization', 'acme'],
          'team team 149 may do nothing on project project 149, as far as this token sees',
        ],
      ] as const) {
        const { code, out } = await asked(['explain', ...args]);
        assert.deepEqual([code, lines(out)[0]], [/nothing/.test(first) ? 1 : 0, first]);
      }
    });

    test('with --json gives what the server said', guard, async () => {
      const { code, out } = await asked(['explain', '--user', 'rita', '--project', 'net prod', '--json']);
      const { data } = JSON.parse(out);
      assert.equal(code, 0);
      const rita = data[0].relationships.subject.data.id;
      const { body } = await owner.get(
        `/users/${rita}/effective-access?filter[project][id]=${data[0].relationships.project.data.id}`,
      );
      assert.deepEqual(data, body.data);
    });
  });

  describe('who-can', () => {
    test('lists users or teams that have it, with their reasons', guard, async () => {
      const who = await asked(['who-can', 'runs=apply', '--project', 'net prod']);
      assert.deepEqual(
        [who.code, lines(who.out)],
        [
          0,
          [
            'workspace-access.runs=apply on project net prod: 2 users',
            '',
            'USER  VALUE  BY',
            'olga  apply  organization: owners (owners)',
            'walt  apply  project: writers (tprj)',
            '',
          ],
        ],
      );
      const teams = await asked(['who-can', 'workspace-access.runs=plan', '--workspace', 'core', '--teams']);
      assert.deepEqual(lines(teams.out).slice(2), [
        'TEAM     VALUE  BY',
        'owners   apply  organization: owners (owners)',
        'readers  plan   workspace: readers (tws)',
        'writers  apply  project: writers (tprj)',
        '',
      ]);
    });

    test('nobody is exit code 1', guard, async t => {
      // Owners may do everything: it takes another server to answer so.
      const api = (await owner.client.send('GET', '/openapi.json')).text;
      const elsewhere = await standIn(t, (request, response) =>
        response.end(request.url === '/openapi.json' ? api : '{"data":[],"meta":{"pagination":{"next-page":null}}}'),
      );
      const args = ['who-can', 'create', '--project', 'prj-1234567890123456'];
      const { code, out } = await asked(args, elsewhere);
      assert.deepEqual([code, out], [1, 'workspace-access.create=true on project prj-1234567890123456: nobody\n']);
      const data = await asked([...args, '--json'], elsewhere);
      assert.deepEqual([data.code, JSON.parse(data.out)], [1, { data: [] }]);
    });

    test('a permission without a value means its highest', guard, async () => {
      const { out } = await asked(['who-can', 'variables', '--project', 'net prod', '--json']);
      const { body } = await owner.get(
        `/projects/${JSON.parse(out).data[0].relationships.project.data.id}/effective-access?filter[workspace-access][variables]=write`,
      );
      assert.deepEqual(JSON.parse(out).data, body.data);
    });

    test('what is no permission, or no value of one, is refused with those that there are', guard, async () => {
      await refused(
        ['who-can', 'fly', '--project', 'net prod'],
        /no permission 'fly'; there are project-access\.settings, /,
      );
      await refused(
        ['who-can', 'runs=fly', '--project', 'net prod'],
        /no value 'fly' to ask for; it has read, plan, apply/,
      );
      await refused(['who-can', 'runs=apply=plan', '--project', 'net prod'], /no value 'apply=plan'/);
      await refused(['who-can', 'create=false', '--project', 'net prod'], /it has true/);
    });
  });

  describe('what-can', () => {
    test('lists the places of a user, a team or the token itself, over all pages', guard, async () => {
      const all = await asked(['what-can', '--user', 'walt']);
      const told = lines(all.out);
      assert.deepEqual([all.code, told.length], [0, 3 + 153 + 1]);
      assert.equal(told[0], 'user walt, anything: 153 projects');
      assert.match(told[2] ?? '', /^PROJECT +ACCESS +SETTINGS +TEAMS +RUNS +VARIABLES +STATE-VERSIONS$/);
      assert.ok(told.some(line => /^net prod +write +read +- +apply +write +write$/.test(line)));
      assert.ok(told.some(line => /^project 149 +read +read +- +read +read +read$/.test(line)));
      const itself = await asked(['what-can', 'runs=plan', '--workspaces'], { BAILIWICK_TOKEN: secrets.rita });
      assert.deepEqual(
        [itself.code, lines(itself.out)],
        [
          0,
          [
            'this token, workspace-access.runs=plan: 1 workspace',
            '',
            'WORKSPACE  PROJECT   ACCESS  RUNS  BY',
            'core       net prod  plan    plan  workspace: readers (tws)',
            '',
          ],
        ],
      );
      const nothing = await asked(['what-can', '--team', 'team 000']);
      assert.deepEqual([nothing.code, nothing.out], [1, 'team team 000, anything: no project\n']);
      const data = JSON.parse((await asked(['what-can', '--user', 'walt', '--json'])).out).data;
      assert.equal(data.length, 153);
    });
  });

  describe('review', () => {
    test('passes the CSV on as it is, to standard output or to a file for this user alone', guard, async () => {
      const path = '/api/v2/organizations/acme/access-review';
      const expected = (await owner.client.call(owner.token, 'GET', path, undefined, { accept: 'text/csv' })).text;
      const printed = await asked(['review', '--csv']);
      assert.deepEqual([printed.code, printed.error], [0, '']);
      assert.equal(printed.out, expected);
      const target = ground.path('review.csv');
      const written = await asked(['review', '--csv', '--output', target]);
      assert.deepEqual([written.code, written.out, written.error], [0, '', '']);
      assert.equal(readFileSync(target, 'utf8'), expected);
      assert.equal(statSync(target).mode & 0o777, 0o600);
      assert.deepEqual(
        readdirSync(ground.folder).filter(name => name.endsWith('.part')),
        [],
      );
    });

    test('with --json it is the document', guard, async () => {
      const { out } = await asked(['review', '--json', '--user', 'rita']);
      const { data, meta } = JSON.parse(out);
      assert.equal(data.length, meta['total-count']);
      assert.ok(data.every(({ attributes }: Json) => attributes.username === 'rita'));
    });

    test('for people it is users, projects and permissions, and no control character of a name', guard, async () => {
      const { out } = await asked(['review', '--user', 'quip']);
      assert.deepEqual(lines(out), [
        'quip <q\\u{1b}[2Jq@example.com>',
        '  net prod',
        '    project-access.settings           read          project: readers (tprj)',
        '    workspace-access.runs             read          project: readers (tprj)',
        '    workspace-access.state-versions   read          project: readers (tprj)',
        '    workspace-access.variables        read          project: readers (tprj)',
        '',
      ]);
      const dashed = await asked(['review', '--project=-web', '--user', 'olga']);
      assert.equal(lines(dashed.out)[1], '  -web');
    });

    test('a file that cannot be written, or a token that may not, leaves nothing behind', guard, async () => {
      await refused(['review', '--output', ground.path('no/such/folder.csv')], /cannot be written: ENOENT/);
      const target = ground.path('never.csv');
      await refused(['review', '--output', target], /answered 404/, { BAILIWICK_TOKEN: secrets.rita });
      await refused(['review', '--csv', '--json'], /--csv or --json, not both/);
      assert.ok(!existsSync(target) && !existsSync(`${target}.part`));
    });

    test('one that is cut is told as such, and is no file', guard, async t => {
      const elsewhere = await standIn(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/csv' });
        response.write('user id,username\r\n', () => response.destroy());
      });
      const target = ground.path('cut.csv');
      const args = ['review', '--csv', '--organization', 'acme', '--output', target];
      await refused(args, /cut before its end, and is not whole/, elsewhere);
      assert.ok(!existsSync(target) && !existsSync(`${target}.part`));
    });

    test('a reader that stops early, as head does, ends it quietly', guard, async () => {
      const child = spawn(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', program, 'access', 'review', '--csv'],
        {
          env: { PATH: process.env.PATH, ...given() },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      let error = '';
      child.stderr.setEncoding('utf8').on('data', text => {
        error += text;
      });
      child.stdout.once('data', () => child.stdout.destroy());
      const [code] = await once(child, 'close');
      assert.deepEqual([code, error], [0, '']);
    });
  });

  describe('diff', () => {
    const same = JSON.stringify([
      { team: 'readers', access: 'read' },
      { team: 'WRITERS', access: 'write' },
    ]);

    test('a file that says what is so: 0, in JSON as in YAML', guard, async () => {
      for (const [name, text] of [
        ['same.json', same],
        ['same.yaml', '- { team: readers, access: read }\n- team: writers\n  access: write\n'],
      ] as const) {
        const { code, out } = await asked(['diff', file(name, text), '--project', 'net prod']);
        assert.equal(code, 0);
        assert.deepEqual(lines(out).slice(2), [
          '  2 teams unchanged',
          '',
          'Nobody’s effective access would change.',
          '',
        ]);
      }
    });

    test(
      'tells what would be added, changed and removed, and whose access would change: 1, and nothing is changed',
      guard,
      async () => {
        const wanted = `
- team: readers
  access: custom
  workspace-access: { runs: plan }
- { team: team 007, access: admin }`;
        const before = (await owner.get('/organizations/acme/audit-events')).text;
        const { code, out, error } = await asked(['diff', file('wanted.yaml', wanted), '--project', 'net prod']);
        assert.deepEqual([code, error], [1, '']);
        const told = lines(out);
        assert.deepEqual(told.slice(1, 7), [
          '',
          '+ team 007: admin',
          '~ readers: read -> custom (settings read, runs plan)',
          '- writers: write',
          '  0 teams unchanged',
          '',
        ]);
        assert.ok(
          told.some(line => /^user walt +project net prod +workspace-access\.runs +apply +read$/.test(line)),
          out,
        );
        assert.ok(
          told.some(line => /^team team 007 +project net prod +project-access\.teams +- +manage$/.test(line)),
          out,
        );
        assert.equal((await owner.get('/organizations/acme/audit-events')).text, before);
        const { data, meta } = JSON.parse(
          (await asked(['diff', ground.path('wanted.yaml'), '--project', 'net prod', '--json'])).out,
        );
        assert.deepEqual([data.length, meta.added.length, meta.changed.length, meta.removed.length], [2, 1, 1, 1]);
        assert.ok(meta.effect.complete);
      },
    );

    test('whatever is wrong with the file is told with its place', guard, async () => {
      const on = ['--project', 'net prod'];
      await refused(['diff', ground.path('none.yaml'), ...on], /none\.yaml cannot be read: ENOENT/);
      await refused(['diff', file('a.yaml', '- {'), ...on], /a\.yaml:\d+:\d+: /);
      await refused(['diff', file('b.yaml', 'team: x'), ...on], /b\.yaml: it must be a list of teams/);
      await refused(['diff', file('c.yaml', '- access: read'), ...on], /c\.yaml: item 1 must name its team/);
      await refused(
        ['diff', file('d.yaml', '- { team: readers, acess: read }'), ...on],
        /item 1: 'acess' is not known/,
      );
      await refused(
        ['diff', file('e.yaml', '- { team: nobody, access: read }'), ...on],
        /item 1: there is no team 'nobody'/,
      );
      const { code, error } = await asked(['diff', file('f.yaml', '- { team: readers, access: fly }'), ...on]);
      assert.equal(code, 2);
      assert.match(
        error,
        /f\.yaml: team readers: access must be one of .*\nbailiwick: PUT .* answered 422: .*\(request id /,
      );
      // Nothing is wrong with the file where the token may not.
      const fine = file('g.yaml', '- { team: readers, access: read }');
      await refused(['diff', fine, ...on], /PUT .* answered 404/, { BAILIWICK_TOKEN: secrets.rita });
    });
  });

  describe('audit', () => {
    test('lists changes, the newest first, narrowed by what is named: 0; where there is none, 1', guard, async () => {
      const made = await owner.post('/organizations/acme/teams', { type: 'teams', attributes: { name: 'audited' } });
      const { id } = made.body.data;
      await owner.patch(`/teams/${id}`, { type: 'teams', attributes: { visibility: 'organization' } });
      const { code, out } = await asked(['audit', '--team', 'audited', '--actor', 'olga']);
      assert.equal(code, 0);
      const [head, ...rows] = out.trimEnd().split('\n');
      assert.match(head ?? '', /^TIME +ACTOR +ACTION +ON +EFFECTIVE ACCESS$/);
      assert.deepEqual(
        rows.map(row => row.split(/ {2,}/).slice(1, 4)),
        [
          ['olga', 'team.update', id],
          ['olga', 'team.create', id],
        ],
      );
      const [web] = (await owner.get('/organizations/acme/projects?q=-web')).body.data;
      const grant = await owner.post('/team-projects', {
        type: 'team-projects',
        attributes: { access: 'admin' },
        relationships: {
          project: { data: { type: 'projects', id: web.id } },
          team: { data: { type: 'teams', id } },
        },
      });
      const member = [{ type: 'users', id: 'walt' }];
      await owner.post(`/teams/${id}/relationships/users`, member);
      assert.equal((await owner.delete(`/team-projects/${grant.body.data.id}`)).status, 204);
      const [, last = ''] = (await asked(['audit', '--project=-web', '--limit', '1'])).out.split('\n');
      assert.match(last, / {2}2 changed, 1 project left without an admin$/);
      const limited = await asked(['audit', '--limit', '1', '--json']);
      assert.equal(JSON.parse(limited.out).data.length, 1);
      const more = await asked(['audit', '--limit', '1', '--action', 'create', '--since', '2020-01-01T00:00:00Z']);
      assert.match(more.out, /team\.create/);
      assert.match(more.error, /^$|there are more/);
      const none = await asked(['audit', '--until', '2020-01-01T00:00:00Z']);
      assert.deepEqual([none.code, none.out], [1, 'no such change\n']);
      await refused(['audit', '--limit', '0'], /--limit must be a whole number/);
      await refused(['audit', '--since', 'yesterday'], /answered 400: .*filter\[since\]/);
      await refused(['audit'], /answered 404/, { BAILIWICK_TOKEN: secrets.rita });
    });
  });

  describe('whatever is asked', () => {
    const question = ['who-can', 'runs', '--project', 'net prod'];

    test('--help on every level says how to ask, without a server', guard, async () => {
      const nowhere = { BAILIWICK_ADDRESS: 'http://127.0.0.1:1', BAILIWICK_TOKEN: '' };
      const top = await asked(['--help'], nowhere);
      assert.equal(top.code, 0);
      const commands = [...top.out.matchAll(/^ {2}([a-z][a-z-]+) {2,}\S/gm)].map(([, name]) => name ?? '');
      assert.deepEqual(commands, ['explain', 'who-can', 'what-can', 'review', 'diff', 'audit']);
      for (const name of commands) {
        const { code, out } = await asked([name, '--help'], nowhere);
        assert.equal(code, 0);
        assert.match(out, new RegExp(`^Usage: bailiwick access ${name} .*--token TOKEN`, 's'));
      }
      const rows = rowsAfter(readFileSync(new URL('../README.md', import.meta.url), 'utf8'), '### On the command line');
      assert.deepEqual(
        rows.map(([line]) => line?.split(' ').slice(0, 4).join(' ')),
        commands.map(name => `npx bailiwick access ${name}`),
      );
      for (const [at, row] of rows.entries()) {
        const { out } = await asked([commands[at] ?? '', '--help'], nowhere);
        for (const [flag] of row.join(' ').matchAll(/--[a-z]+/g))
          assert.ok(out.includes(`  ${flag} `), `${commands[at]} has ${flag}`);
      }
      const bare = await asked([], nowhere);
      assert.deepEqual([bare.code, bare.out, bare.error], [2, '', top.out]);
      const server = ground.run(['--help']);
      await server.exited;
      assert.match(server.out, /bailiwick access --help/);
    });

    test('a wrong use is one line', guard, async () => {
      await refused(['fly'], /no command 'fly'; there are explain, who-can/);
      await refused(['explain', '--fly'], /--fly is not known/);
      await refused(['explain'], /--project NAME or --workspace NAME is missing/);
      await refused(['explain', '--project', 'a', '--workspace', 'b'], /--project or --workspace, not both/);
      await refused(['explain', '--user', 'a', '--team', 'b', '--project', 'net prod'], /--user or --team, not both/);
      await refused(['who-can', '--project', 'net prod'], /the command is: bailiwick access who-can PERMISSION/);
      await refused(['explain', 'word', '--project', 'net prod'], /the command is: bailiwick access explain/);
      await refused(['explain', '--project', ''], /--project must not be empty/);
      await refused(['explain', '--token'], /--token takes a value/);
      await refused(['explain', '--project', '-web'], /begins with - is given as --project=NAME/);
      await refused(['explain', '--json=x'], /--json takes no value/);
      await refused([...question, '--timeout', 'soon'], /--timeout must be a number/);
      await refused([...question, '--address', 'ftp://x'], /must be an http or https URL/);
      await refused(
        [...question, '--ca', 'none.pem', '--address', 'https://127.0.0.1:1'],
        /--ca none\.pem cannot be read/,
      );
    });

    test('a name that is not there is one line', guard, async () => {
      await refused(['explain', '--project', 'nowhere'], /there is no project 'nowhere' in acme/);
      await refused(['explain', '--workspace', 'cor'], /there is no workspace 'cor' in acme/);
      await refused(['explain', '--user', 'rit', '--project', 'net prod'], /there is no member 'rit' in acme/);
      await refused(['what-can', '--team', 'team'], /there is no team 'team' in acme/);
      await refused(['what-can', '--organization', 'nowhere'], /answered 404.*\(request id [\w-]+\)/);
      await refused(['explain', '--project', 'prj-1234567890123456'], /answered 404/);
      await refused(['what-can', '--team', '\u001b[2J'], /there is no team '\\u\{1b\}\[2J'/);
    });

    test('a token that is wrong, missing or malformed is told without being told', guard, async () => {
      const wrong = 'a-token-that-is-not-known-here';
      const running = ground.run(['access', ...question], given({ BAILIWICK_TOKEN: wrong }));
      assert.deepEqual((await running.exited).code, 2);
      assert.match(running.error, /answered 401/);
      assert.ok(!running.error.includes(wrong));
      await refused(question, /there is no token/, { BAILIWICK_TOKEN: '' });
      await refused(question, /characters in it that no token has/, { BAILIWICK_TOKEN: 'two\nlines' });
      const flagged = ground.run(['access', ...question, '--token', secrets.olga], { BAILIWICK_ADDRESS: address });
      assert.equal((await flagged.exited).code, 0);
      const others = { BAILIWICK_TOKEN: '', BAILIWICK_ADDRESS: '', TFE_TOKEN: secrets.olga, TFE_ADDRESS: address };
      assert.equal((await asked(question, others)).code, 0);
    });

    test(
      'an address where nothing is, where something else is, or that is silent, could not be asked',
      guard,
      async t => {
        await refused(question, /nothing answers at this address/, { BAILIWICK_ADDRESS: 'http://127.0.0.1:1' });
        const elsewhere = await standIn(t, (request, response) => {
          if (request.url === '/openapi.json') response.end('<html>');
        });
        await refused(question, /is this the address of a Bailiwick server/, elsewhere);
        await refused(['what-can', '--timeout', '0.2'], /no answer within 0\.2 seconds/, elsewhere);
      },
    );

    test('over TLS, a certificate is trusted by --ca or NODE_EXTRA_CA_CERTS, and else refused', guard, async t => {
      const secured = await newGround(t);
      const server = secured.start(['--tls-self-signed', '--admin-token', chosenToken]);
      const elsewhere = { BAILIWICK_ADDRESS: await server.url(), BAILIWICK_TOKEN: chosenToken };
      const [, certificate = ''] = await server.printed(/NODE_EXTRA_CA_CERTS='([^']+)'/);
      const asking = ['what-can', '--organization', 'nowhere'];
      await refused(asking, /its certificate is not trusted; --ca FILE names one to trust/, elsewhere);
      await refused([...asking, '--ca', certificate], /answered 404/, elsewhere);
      await refused(asking, /answered 404/, { ...elsewhere, NODE_EXTRA_CA_CERTS: certificate });
      const plain = elsewhere.BAILIWICK_ADDRESS.replace('https', 'http');
      await refused(asking, /answered 400: This port speaks TLS/, { ...elsewhere, BAILIWICK_ADDRESS: plain });
    });

    test('no colours where there is no terminal; where there is one, NO_COLOR is heard', guard, async () => {
      const sequence = '\u001b[';
      assert.ok(!(await asked(question)).out.includes(sequence));
      assert.ok((await asked(question, { FORCE_COLOR: '1' })).out.includes(sequence), 'it would have colours');
      assert.ok(!(await asked(question, { NO_COLOR: '1' })).out.includes(sequence));
    });

    test('nothing of the server is loaded for it', guard, async () => {
      const code = `
        import { registerHooks } from 'node:module';
        registerHooks({ load: (url, context, next) => { process.stderr.write(url + '\\n'); return next(url, context); } })`;
      const running = ground.evaluate(code, ['access', '--help']);
      await running.exited;
      assert.match(running.error, /src\/cli\/main\.ts/);
      assert.doesNotMatch(running.error, /src\/(server|resources|store|wire|core)\/|node_modules/);
    });
  });

  test('with several organizations, one has to be named', guard, async () => {
    const attributes = { name: 'second', email: 'second@example.com' };
    assert.equal((await owner.post('/organizations', { type: 'organizations', attributes })).status, 201);
    await refused(['what-can'], /several organizations: --organization acme \| second/);
    assert.equal((await asked(['what-can', '--organization', 'second'])).code, 0);
    assert.equal((await asked(['what-can'], { BAILIWICK_ORGANIZATION: 'acme' })).code, 0);
    await owner.delete('/organizations/second');
  });
});
