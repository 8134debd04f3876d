/** The AuthZEN Authorization API: who may ask, what is answered, and what nobody learns by asking. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Answer, type Json, mediaType, plainMediaType } from './support/client.ts';
import { newStore } from './support/engine.ts';
import { type Entry, recording } from './support/recording.ts';
import { startServer } from './support/server.ts';
import { type Actor, Directory, newDirectory } from './support/world.ts';

const paths = ['evaluation', 'evaluations', 'search/subject', 'search/resource', 'search/action'] as const;
const address = (path: string, organization = 'acme') => `/organizations/${organization}/access/v1/${path}`;

/** An organization with a team that has something, one that is secret, and a neighbour. */
const settled = async (directory: Directory) => {
  const olivia = await directory.user('olivia');
  const owner = olivia.actor;
  await directory.organization(owner, 'acme');
  await directory.organization(owner, 'rival');
  const mia = await directory.member(owner, 'acme', 'mia');
  const nora = await directory.member(owner, 'acme', 'nora');
  const otto = await directory.user('otto');
  const developers = await directory.team(owner, 'acme', { name: 'developers', visibility: 'organization' }, ['mia']);
  const secret = await directory.team(owner, 'acme', { name: 'shadows', visibility: 'secret' }, ['nora']);
  const project = await directory.project(owner, 'acme', 'web');
  const hidden = await directory.project(owner, 'acme', 'vault');
  const grant = await directory.grant(owner, project, developers, { access: 'write' });
  const hiddenGrant = await directory.grant(owner, hidden, secret, { access: 'admin' });
  const workspace = await directory.workspace(owner, 'acme', 'prod', project);
  const hiddenWorkspace = await directory.workspace(owner, 'acme', 'safe', hidden);
  const workspaceGrant = await directory.workspaceGrant(owner, workspace, developers, { access: 'admin' });
  const ownersTeam = (await owner.get('/organizations/acme/teams?filter[names]=owners')).body.data[0].id;
  const token = async (path: string, attributes?: Json) =>
    owner.make(path, attributes && { type: 'authentication-tokens', attributes });
  const tokens = {
    organization: await token('/organizations/acme/authentication-token'),
    decisions: await token('/organizations/acme/authentication-token?token=decisions'),
    trail: await token('/organizations/acme/authentication-token?token=audit-trails'),
    rivals: await token('/organizations/rival/authentication-token?token=decisions'),
    team: await token(`/teams/${developers}/authentication-tokens`, { description: 'team' }),
    owners: await token(`/teams/${ownersTeam}/authentication-tokens`, { description: 'owners' }),
    mia: (await mia.actor.get(`/users/${mia.id}/authentication-tokens`)).body.data[0],
    otto: (await otto.actor.get(`/users/${otto.id}/authentication-tokens`)).body.data[0],
  };
  const by = (made: Json): Actor => directory.actor(made.attributes.token);
  return {
    ...{ directory, owner, olivia, mia, nora, otto, developers, secret, project, hidden, grant, hiddenGrant },
    ...{ workspace, hiddenWorkspace, workspaceGrant, ownersTeam, tokens, by },
    foreignProject: await directory.project(owner, 'rival', 'foreign'),
    foreignTeam: await directory.team(owner, 'rival', { name: 'foreign' }),
  };
};

type World = Awaited<ReturnType<typeof settled>>;

const named = (type: string, id: string) => ({ type, id });
const asks = (subject: Json, name: string, resource: Json, properties?: Json) => ({
  subject,
  action: { name, ...(properties && { properties }) },
  resource,
});

describe('AuthZEN', () => {
  let world: World;
  before(async () => {
    world = await settled(await newDirectory());
  });
  after(() => world.directory.server.close());

  const send = (method: string, path: string, headers: Record<string, string> = {}, payload?: string) =>
    world.directory.server.client.send(method, path, {
      headers,
      ...(payload !== undefined && { payload: Buffer.from(payload) }),
    });

  const bearer = ({ token }: Actor) => ({ authorization: `Bearer ${token}` });

  /** A well-made question of the caller about itself, for each path; a search for subjects is for those who may. */
  const questionFor = (path: string, subject: Json): Json => {
    const { action, ...rest } = asks(subject, 'read', named('project', world.project));
    return path === 'search/action' ? rest : { ...rest, action };
  };

  const decision = async (actor: Actor, question: Json): Promise<Json> => {
    const { status, body, text } = await actor.ask('acme', 'evaluation', question);
    assert.equal(status, 200, text);
    return body;
  };

  const found = async (actor: Actor, path: string, question: Json): Promise<Json[]> => {
    const { status, body, text } = await actor.ask('acme', `search/${path}`, question);
    assert.equal(status, 200, text);
    assert.deepEqual(
      [body.page.count, body.page.total, body.page.next_token],
      [body.results.length, body.results.length, ''],
    );
    return body.results.map(({ id, name }: Json) => id ?? name);
  };

  describe('discovery', () => {
    const wellKnown = (name: string) => `/.well-known/authzen-configuration/organizations/${name}`;

    test('without a token, the addresses are those of the public URL, whatever the Host header says', async () => {
      const here = 'https://bailiwick.example/organizations/acme';
      for (const headers of [{}, { host: 'evil.example' }, { 'x-forwarded-host': 'evil.example' }]) {
        const { status, headers: told, body } = await send('GET', wellKnown('acme'), headers as Record<string, string>);
        assert.deepEqual([status, told['content-type']], [200, plainMediaType]);
        assert.deepEqual(body, {
          policy_decision_point: here,
          access_evaluation_endpoint: `${here}/access/v1/evaluation`,
          access_evaluations_endpoint: `${here}/access/v1/evaluations`,
          search_subject_endpoint: `${here}/access/v1/search/subject`,
          search_resource_endpoint: `${here}/access/v1/search/resource`,
          search_action_endpoint: `${here}/access/v1/search/action`,
        });
      }
    });

    test('each address is served, and every name that an organization may have is answered alike', async () => {
      const { client } = world.directory.server;
      const [there, nowhere] = await Promise.all(
        ['acme', 'none'].map(name => client.call(undefined, 'GET', wellKnown(name))),
      );
      assert.equal(nowhere?.text, there?.text.replaceAll('acme', 'none'));
      for (const [key, url] of Object.entries<string>(there?.body)) {
        const { status } = await send('POST', new URL(url).pathname);
        assert.equal(status, key === 'policy_decision_point' ? 404 : 401, url);
      }
    });

    test('404 for what is no name of an organization, 405 for another method', async () => {
      for (const name of ['a%20b', '%00', 'x'.repeat(65), 'a.b', '%2e%2e'])
        assert.equal((await world.directory.server.client.call(undefined, 'GET', wellKnown(name))).status, 404, name);
      const { status, headers } = await send('POST', wellKnown('acme'));
      assert.deepEqual([status, headers.allow], [405, 'HEAD, GET']);
      assert.equal((await send('GET', '/.well-known/authzen-configuration')).status, 404);
    });
  });

  describe('who may ask', () => {
    test('owners, the organization’s token and the decisions token about anyone; anyone else only about itself', async () => {
      const { owner, mia, nora, developers, secret, tokens, by } = world;
      const about = {
        mia: named('user', mia.id),
        nora: named('user', nora.id),
        team: named('team', developers),
        secret: named('team', secret),
        'token of mia': named('token', tokens.mia.id),
        'token of the team': named('token', tokens.team.id),
        nobody: named('user', 'user-none'),
        'of no type': named('spaceship', 'x'),
      };
      const all = Object.keys(about);
      const table: [who: string, actor: Actor, may: readonly string[]][] = [
        ['owner', owner, all],
        ['organization token', by(tokens.organization), all],
        ['owners-team token', by(tokens.owners), all],
        ['decisions token', by(tokens.decisions), all],
        ['mia', mia.actor, ['mia', 'token of mia']],
        ['nora', nora.actor, ['nora']],
        ['team token', by(tokens.team), ['team', 'token of the team']],
        ['audit-trails token', by(tokens.trail), []],
        ['outsider', world.otto.actor, []],
        ['decisions token of another organization', by(tokens.rivals), []],
        ['site admin', world.directory.admin, []],
      ];
      const refusals = new Set<string>();
      for (const [who, actor, may] of table)
        for (const [name, subject] of Object.entries(about))
          for (const path of paths.filter(path => path !== 'search/subject')) {
            const { status, text } = await actor.ask('acme', path, questionFor(path, subject));
            assert.equal(status, may.includes(name) ? 200 : 403, `${who} about ${name}, ${path}: ${text}`);
            if (status === 403) refusals.add(text);
          }
      for (const [who, actor, may] of table) {
        const { status, text } = await actor.ask('acme', 'search/subject', questionFor('', named('user', 'ignored')));
        assert.equal(status, may === all ? 200 : 403, `${who} searches subjects`);
        if (status === 403) refusals.add(text);
      }
      assert.equal(refusals.size, 1, 'one and the same refusal');
    });

    test('403 is one and the same whether or not the organization, the subject or the resource exists', async () => {
      const { mia, otto, tokens, by, project } = world;
      const answers = new Set<string>();
      const heard = ({ status, headers, text }: Answer) => {
        const { date, ...kept } = headers;
        answers.add(JSON.stringify([status, { ...kept, 'x-request-id': '' }, text]));
      };
      for (const organization of ['acme', 'rival', 'none', 'no%20name', '%00'])
        for (const actor of [
          otto.actor,
          by(tokens.trail),
          by(tokens.rivals),
          ...(organization === 'acme' ? [] : [mia.actor]),
        ]) {
          if (organization === 'rival' && actor.token === by(tokens.rivals).token) continue;
          for (const id of [mia.id, 'user-none'])
            for (const resource of [named('project', project), named('project', 'none'), named('x', 'y')])
              heard(await actor.ask(organization, 'evaluation', asks(named('user', id), 'read', resource)));
          // Whoever may ask nothing learns nothing of its flaws.
          heard(await actor.ask(organization, 'evaluation', { subject: 5 }));
        }
      for (const id of [world.nora.id, world.otto.id, 'user-none'])
        heard(await mia.actor.ask('acme', 'evaluation', asks(named('user', id), 'read', named('project', project))));
      heard(await mia.actor.ask('acme', 'search/subject', { subject: 5 }));
      assert.equal(answers.size, 1, [...answers].join('\n'));
      assert.match([...answers][0] ?? '', /^\[403,/);
    });

    test('401 as one sentence with WWW-Authenticate, whatever the body; the tokens of users where they are shut out too', async () => {
      for (const path of paths)
        for (const [body, type] of [
          ['{', plainMediaType],
          ['x', 'text/plain'],
          ['x'.repeat(70_000), plainMediaType],
        ] as const)
          for (const headers of [{}, { authorization: 'Bearer nonsense' }] as Record<string, string>[]) {
            const answer = await send('POST', address(path), { ...headers, 'content-type': type }, body);
            assert.deepEqual([answer.status, answer.headers['www-authenticate']], [401, 'Bearer']);
            world.directory.server.client.conforms('POST', address(path), answer);
          }
      const { owner } = world;
      await world.directory.organization(owner, 'closed');
      const { attributes } = await owner.make('/organizations/closed/authentication-token');
      await owner.patch('/organizations/closed', {
        type: 'organizations',
        attributes: { 'user-tokens-enabled': false },
      });
      const own = named('user', world.olivia.id);
      const question = asks(own, 'update', named('organization', 'closed'));
      assert.equal((await owner.ask('closed', 'evaluation', question)).status, 401);
      const organization = world.directory.actor(attributes.token);
      assert.equal((await organization.ask('closed', 'evaluation', question)).body.decision, true, 'the user as such');
      const token = (await owner.get(`/users/${world.olivia.id}/authentication-tokens`)).body.data[0].id;
      const { body } = await organization.ask('closed', 'evaluation', { ...question, subject: named('token', token) });
      assert.deepEqual([body.decision, body.context.reason], [false, 'The organization takes no tokens of users.']);
    });
  });

  describe('requests', () => {
    const wrong = (body: Json, ...said: RegExp[]) => ({ body, said });

    test('400 with a sentence that says what is wrong', async () => {
      const subject = named('user', world.mia.id);
      const resource = named('project', world.project);
      const action = { name: 'read' };
      const whole = { subject, action, resource };
      const flawed = [
        wrong({ action, resource }, /^subject is required$/),
        wrong({ subject, resource }, /^action is required$/),
        wrong({ subject, action }, /^resource is required$/),
        wrong({ ...whole, subject: { id: 'x' } }, /^subject\.type is required$/),
        wrong({ ...whole, subject: { type: 'user' } }, /^subject\.id is required$/),
        wrong({ ...whole, action: {} }, /^action\.name is required$/),
        wrong({ ...whole, resource: { id: 'x' } }, /^resource\.type is required$/),
        wrong({ ...whole, resource: { type: 'x' } }, /^resource\.id is required$/),
        wrong({ ...whole, subject: 'mia' }, /^subject must be an object$/),
        wrong({ ...whole, subject: null }, /^subject must be an object$/),
        wrong({ ...whole, action: { name: 123 } }, /^action\.name must be a string$/),
        wrong({ ...whole, action: { name: { toString: 1 }, properties: {} } }, /^action\.name must be a string$/),
        wrong({ ...whole, resource: { type: 'x', id: 5 } }, /^resource\.id must be a string$/),
        wrong({ ...whole, subject: { ...subject, properties: [] } }, /^subject\.properties must be an object$/),
        wrong({ ...whole, context: 'x' }, /^context must be an object$/),
        wrong({ subject: 5, action: { name: 3 } }, /subject must be/, /action\.name must be/, /resource is required/),
        wrong([], /^The body must be an object$/),
        wrong('"x"', /^The body must be an object$/),
        wrong('', /^The body is empty\.$/),
        wrong('{', /^The body is not JSON/),
        wrong('{"subject":{"__proto__":{}}}', /__proto__/),
        wrong('{"subject":"\\u0000"}', /NUL/),
      ];
      for (const path of ['evaluation', 'evaluations'])
        for (const { body, said } of flawed) {
          const { status, text, body: message } = await world.mia.actor.ask('acme', path, body);
          assert.equal(status, 400, `${path} ${JSON.stringify(body)}: ${text}`);
          // Of many questions, it is first seen whether there are any.
          for (const sentence of said.slice(0, path === 'evaluation' ? 9 : 1)) assert.match(message, sentence);
        }
      for (const [body, said] of [
        [{ evaluations: 5 }, /^evaluations must be an array$/],
        [{ evaluations: [{}], options: 5 }, /^options must be an object$/],
        [
          { evaluations: [{}], options: { evaluations_semantic: 'x' } },
          /^options\.evaluations_semantic must be one of/,
        ],
        [{ evaluations: [{}], subject: 'mia' }, /^subject must be an object$/],
        [{ evaluations: Array.from({ length: 1001 }, () => ({})) }, /^evaluations may have 1000 at most$/],
      ] as const) {
        const { status, body: message } = await world.mia.actor.ask('acme', 'evaluations', body);
        assert.equal(status, 400);
        assert.match(message, said);
      }
      const { owner } = world;
      for (const [path, body] of [
        ['subject', { subject: { type: 'user' }, resource }],
        ['subject', { action, resource }],
        ['subject', { subject: {}, action, resource }],
        ['subject', { subject: { type: 'user' }, action, resource: { type: 'project' } }],
        ['resource', { action, resource: { type: 'project' } }],
        ['resource', { subject: { type: 'user' }, action, resource: { type: 'project' } }],
        ['resource', { subject, action, resource: {} }],
        ['action', { subject }],
        ['action', { subject, resource: { type: 'project' } }],
      ] as const)
        assert.equal((await owner.ask('acme', `search/${path}`, body)).status, 400, JSON.stringify(body));
      for (const page of [
        { limit: 0 },
        { limit: 1.5 },
        { limit: '1' },
        { token: 5 },
        'x',
        { token: 'x' },
        { limit: -1 },
      ])
        assert.equal((await owner.ask('acme', 'search/subject', { ...whole, page })).status, 400, JSON.stringify(page));
    });

    test('400 for another content type than application/json, with or without a charset', async () => {
      const question = JSON.stringify(questionFor('evaluation', named('user', world.mia.id)));
      const typed = async (type: string | undefined) => {
        const headers = { ...bearer(world.mia.actor), ...(type !== undefined && { 'content-type': type }) };
        const answer = await send('POST', address('evaluation'), headers, question);
        world.directory.server.client.conforms('POST', address('evaluation'), answer);
        return answer.status;
      };
      for (const type of [
        undefined,
        '',
        ';',
        'text/plain',
        mediaType,
        'application/jsonx',
        'application/x-www-form-urlencoded',
      ])
        assert.equal(await typed(type), 400, `${type}`);
      for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/json;charset=UTF-8'])
        assert.equal(await typed(type), 200, type);
    });

    test('413 for a body over 64 KiB, and for several evaluations over 1 MiB', async () => {
      const padded = (size: number) => `{"x":"${'x'.repeat(size - 8)}"}`;
      const sent = async (what: string, size: number) => (await world.mia.actor.ask('acme', what, padded(size))).status;
      assert.deepEqual([await sent('evaluation', 65_536), await sent('evaluation', 65_537)], [400, 413]);
      assert.deepEqual([await sent('evaluations', 1_048_576), await sent('evaluations', 1_048_577)], [400, 413]);
    });

    test('what nobody knows is ignored: fields, properties, context, and the order of keys', async () => {
      const subject = named('user', world.mia.id);
      const plain = await decision(world.mia.actor, questionFor('evaluation', subject));
      const resource = { properties: { status: 'x' }, id: world.project, type: 'project', owner: 'bob' };
      const rich = {
        ...{ foo: 'bar', page: 7, evaluations: 'x', resource, context: { time: 'x', as_of: 3, ip: null } },
        ...{
          action: { properties: { destination: 5, soft: true }, name: 'read' },
          subject: { ...subject, properties: {} },
        },
      };
      assert.deepEqual(await decision(world.mia.actor, rich), plain);
    });

    test('X-Request-ID comes back as it was sent, in every answer', async () => {
      const question = JSON.stringify(questionFor('evaluation', named('user', world.mia.id)));
      const about = (actor: Actor, body: string, id: string) =>
        send(
          'POST',
          address('evaluation'),
          { ...bearer(actor), 'content-type': plainMediaType, 'x-request-id': id },
          body,
        );
      for (const id of ['bfe9eb29-ab87-4ca3-be83-a1d5d8305716', 'a b c', '{"x":1}', '<é>', 'x'.repeat(1024), 'a\tb'])
        for (const [actor, body, status] of [
          [world.mia.actor, question, 200],
          [world.mia.actor, '{', 400],
          [world.otto.actor, question, 403],
          [world.directory.actor('nonsense'), question, 401],
        ] as const) {
          const answer = await about(actor, body, id);
          assert.deepEqual([answer.status, answer.headers['x-request-id']], [status, id]);
        }
      for (const id of ['', 'x'.repeat(1025)])
        assert.match(`${(await about(world.mia.actor, question, id)).headers['x-request-id']}`, /^[0-9a-f-]{36}$/);
    });

    test('405 with Allow for every method but POST', async () => {
      for (const path of paths)
        for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
          const { status, headers } = await send(method, address(path), bearer(world.owner));
          assert.deepEqual([status, headers.allow], [405, 'POST'], `${method} ${path}`);
        }
    });

    test('what is not served below these paths is told in one sentence, too', async () => {
      for (const [method, path, status] of [
        ['POST', address('nope'), 404],
        ['GET', address('evaluation'), 405],
        ['POST', address('evaluation', '%F0'), 400],
      ] as const) {
        const answer = await send(method, path, { 'x-request-id': 'a b' });
        assert.deepEqual([answer.status, typeof answer.body], [status, 'string'], path);
        assert.equal(answer.headers['x-request-id'], 'a b');
      }
    });
  });

  describe('evaluation', () => {
    test('a permit tells each team, grant and permission that gives it, and nothing that does not', async () => {
      const { mia, workspace, developers, grant, workspaceGrant } = world;
      const team = { 'team-id': developers, 'team-name': 'developers' };
      const may = (name: string) =>
        decision(mia.actor, asks(named('user', mia.id), name, named('workspace', workspace)));
      assert.deepEqual(await may('apply-runs'), {
        decision: true,
        context: {
          reasons: [
            { permission: 'workspace-access.runs', scope: 'project', ...team, 'grant-id': grant, value: 'apply' },
            {
              permission: 'workspace-access.runs',
              scope: 'workspace',
              ...team,
              'grant-id': workspaceGrant,
              value: 'apply',
            },
          ],
        },
      });
      assert.deepEqual((await may('manage-team-access')).context.reasons, [
        {
          ...{ permission: 'workspace-access.administration', scope: 'workspace', ...team },
          ...{ 'grant-id': workspaceGrant, value: true },
        },
      ]);
      assert.deepEqual(
        (await may('delete')).context.reasons.map(({ permission }: Json) => permission),
        ['workspace-access.administration'],
      );
    });

    test('owners may everything, and so may the organization itself, for that reason', async () => {
      const { owner, olivia, ownersTeam, tokens, hiddenWorkspace } = world;
      const question = (subject: Json) => asks(subject, 'override-policies', named('workspace', hiddenWorkspace));
      const permission = { permission: 'workspace-access.policy-overrides', scope: 'organization', value: true };
      const byTeam = {
        ...permission,
        'team-id': ownersTeam,
        'team-name': 'owners',
        'organization-permission': 'owners',
      };
      const reasons = async (subject: Json) => (await decision(owner, question(subject))).context.reasons;
      for (const subject of [named('user', olivia.id), named('team', ownersTeam), named('token', tokens.owners.id)])
        assert.deepEqual(await reasons(subject), [byTeam]);
      assert.deepEqual(await reasons(named('token', tokens.organization.id)), [
        { ...permission, 'organization-permission': 'organization-token' },
      ]);
    });

    test('a deny tells the smallest step that is missing, and what is held instead where the subject may read', async () => {
      const { mia, project, grant } = world;
      const missing = async (name: string, resource: Json) => {
        const { decision: may, context } = await decision(mia.actor, asks(named('user', mia.id), name, resource));
        assert.equal(may, false, name);
        return context;
      };
      const on = named('project', project);
      assert.deepEqual(await missing('update', on), {
        missing: { permission: 'project-access.settings', value: 'update', held: 'read' },
      });
      assert.deepEqual(await missing('manage-teams', on), {
        missing: { permission: 'project-access.teams', value: 'manage', held: 'none' },
      });
      assert.deepEqual(await missing('create-workspace', on), {
        missing: { permission: 'workspace-access.create', value: true, held: false },
      });
      assert.deepEqual(await missing('delete', named('team-project', grant)), {
        missing: { permission: 'project-access.teams', value: 'manage', held: 'none' },
      });
      assert.deepEqual(await missing('create-team', named('organization', 'acme')), {
        missing: { permission: 'manage-teams', value: true, held: false },
      });
      assert.deepEqual(await missing('update', named('organization', 'ACME')), {
        missing: { permission: 'owners', value: true, held: false },
      });
    });

    test('unknown, foreign, hidden and denied are one and the same answer to whoever asks about itself', async () => {
      const { mia, hidden, hiddenWorkspace, hiddenGrant, foreignProject } = world;
      const own = named('user', mia.id);
      const kinds: Record<string, readonly string[]> = {
        project: [hidden, foreignProject, 'prj-none', world.workspace, '', 'acme', '__proto__'],
        workspace: [hiddenWorkspace, 'ws-none', world.project],
        'team-project': [hiddenGrant, 'tprj-none', world.project],
        organization: ['rival', 'none', '', world.project],
      };
      for (const [type, ids] of Object.entries(kinds))
        for (const name of ['read', 'update', 'delete', 'manage-teams', 'lock', 'create-team', 'nonsense']) {
          const texts = new Set<string>();
          for (const id of ids)
            texts.add((await mia.actor.ask('acme', 'evaluation', asks(own, name, named(type, id)))).text);
          assert.equal(texts.size, 1, `${name} on ${type}: ${[...texts].join(' ')}`);
          assert.equal(JSON.parse([...texts][0] ?? '').decision, false);
        }
      // What is not in the tables, which everybody may read, is answered without a word; whatever its name.
      for (const [type, name] of [
        ['project', 'nonsense'],
        ['project', 'constructor'],
        ['project', '__proto__'],
        ['constructor', 'name'],
        ['spaceship', 'read'],
      ] as const)
        assert.deepEqual(await decision(mia.actor, asks(own, name, named(type, world.project))), { decision: false });
    });

    test('to whoever may ask about anyone, what is abroad is as what does not exist', async () => {
      const { owner, olivia, foreignProject, foreignTeam } = world;
      const own = named('user', olivia.id);
      const same = async (there: Json, nowhere: Json) => {
        const [a, b] = [await owner.ask('acme', 'evaluation', there), await owner.ask('acme', 'evaluation', nowhere)];
        assert.equal(a.text, b.text);
        assert.equal(a.body.decision, false);
      };
      const resource = named('project', world.project);
      await same(asks(own, 'read', named('project', foreignProject)), asks(own, 'read', named('project', 'none')));
      await same(asks(named('team', foreignTeam), 'read', resource), asks(named('team', 'none'), 'read', resource));
      await same(asks(named('user', world.otto.id), 'read', resource), asks(named('user', 'none'), 'read', resource));
      for (const token of [world.tokens.otto.id, world.tokens.rivals.id])
        await same(asks(named('token', token), 'read', resource), asks(named('token', 'none'), 'read', resource));
    });

    test('only those who may ask about anyone are told the revision, and it moves with every change', async () => {
      const { owner, mia, tokens, by } = world;
      const question = questionFor('evaluation', named('user', mia.id));
      const revision = async (actor: Actor) => (await decision(actor, question)).context.revision;
      const before = await revision(owner);
      assert.ok(Number.isInteger(before));
      await owner.patch(`/projects/${world.hidden}`, { type: 'projects', attributes: { description: 'new' } });
      assert.deepEqual([await revision(owner), await revision(by(tokens.decisions))], [before + 1, before + 1]);
      assert.equal(await revision(mia.actor), undefined);
    });

    test('a token acts for its holder while it is valid; else the answer is false and says why', async () => {
      const { owner, mia, tokens, project, developers, directory } = world;
      const may = async (id: string) => {
        const { decision: permitted, context } = await decision(
          owner,
          asks(named('token', id), 'read', named('project', project)),
        );
        return permitted || context.reason;
      };
      const { id: user } = world.nora;
      for (const { id } of [tokens.mia, tokens.team, tokens.owners, tokens.organization])
        assert.equal(await may(id), true);
      const unknown = 'There is no such token of this organization, its teams or its members.';
      for (const id of [tokens.otto.id, tokens.rivals.id, 'at-none', project, '']) assert.equal(await may(id), unknown);
      for (const { id } of [tokens.trail, tokens.decisions])
        assert.equal(await may(id), 'A token of this kind acts for nobody.');
      assert.equal(
        await may((await directory.admin.get(`/users/${user}/authentication-tokens`)).body.data[0].id),
        undefined,
      );
      const made = await owner.make(`/teams/${developers}/authentication-tokens`, {
        type: 'authentication-tokens',
        attributes: { description: 'soon', 'expired-at': '2026-01-01T00:00:10.000Z' },
      });
      assert.equal(await may(made.id), true);
      // The clock of a test server goes on by a millisecond each time that it is read.
      while ((await mia.actor.get('/account/details')).status === 200) {
        const { status } = await directory.actor(made.attributes.token).get('/account/details');
        if (status === 401) break;
      }
      assert.equal(await may(made.id), 'The token has expired.');
      assert.equal((await owner.delete(`/authentication-tokens/${made.id}`)).status, 204);
      assert.equal(await may(made.id), unknown);
    });

    test('a move needs both projects; without a destination the answer is for the source, and says so', async () => {
      const { owner, directory } = world;
      const mover = await directory.member(owner, 'acme', 'mover');
      const team = await directory.team(owner, 'acme', { name: 'movers' }, ['mover']);
      const [from, to] = [
        await directory.project(owner, 'acme', 'from'),
        await directory.project(owner, 'acme', 'target'),
      ];
      const admin = await directory.grant(owner, from, team, { access: 'admin' });
      const move = (destination?: Json) =>
        decision(
          mover.actor,
          asks(
            named('user', mover.id),
            'move-workspace',
            named('project', from),
            destination !== undefined && { destination },
          ),
        );
      const alone = await move();
      assert.equal(alone.decision, true);
      assert.match(alone.context.note, /destination/);
      const refused = {
        decision: false,
        context: { missing: { permission: 'workspace-access.move', value: true, at: 'destination' } },
      };
      for (const destination of [to, 'prj-none', world.hidden, world.foreignProject])
        assert.deepEqual(await move(destination), refused);
      const target = await directory.grant(owner, to, team, { access: 'admin' });
      const both = await move(to);
      assert.deepEqual(
        [both.decision, both.context.reasons.map(({ 'grant-id': id, at }: Json) => [id, at])],
        [
          true,
          [
            [admin, undefined],
            [target, 'destination'],
          ],
        ],
      );
      const { status, body } = await mover.actor.ask(
        'acme',
        'evaluation',
        asks(named('user', mover.id), 'move-workspace', named('project', from), { destination: 5 }),
      );
      assert.deepEqual([status, body], [400, 'action.properties.destination must be a string: a project id']);
      const searched = asks(named('user', mover.id), 'move-workspace', named('project', from), { destination: to });
      assert.ok((await found(owner, 'subject', searched)).includes(mover.id));
      assert.ok((await found(owner, 'subject', { ...searched, subject: { type: 'team' } })).includes(team));
      assert.deepEqual(await found(mover.actor, 'resource', searched), [from, to]);
      await owner.delete(`/team-projects/${target}`);
      assert.ok(!(await found(owner, 'subject', searched)).includes(mover.id));
      assert.ok(!(await found(owner, 'subject', { ...searched, subject: { type: 'team' } })).includes(team));
      assert.deepEqual(await found(mover.actor, 'resource', searched), []);
    });
  });

  describe('evaluations', () => {
    const batch = async (actor: Actor, body: Json): Promise<Json[]> => {
      const answer = await actor.ask('acme', 'evaluations', body);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(Object.keys(answer.body), ['evaluations']);
      return answer.body.evaluations;
    };
    const decisions = (evaluations: Json[]) => evaluations.map(({ decision }) => decision);

    test('each item is answered in its place as it would be by itself, also where it is repeated', async () => {
      const { owner, mia, nora, project, hidden, workspace, tokens } = world;
      const items = [
        asks(named('user', mia.id), 'read', named('project', project)),
        asks(named('user', mia.id), 'update', named('project', project)),
        asks(named('user', nora.id), 'read', named('project', project)),
        asks(named('user', mia.id), 'read', named('project', project)),
        asks(named('token', tokens.mia.id), 'lock', named('workspace', workspace)),
        asks(named('token', 'none'), 'lock', named('workspace', workspace)),
        asks(named('user', nora.id), 'delete', named('project', hidden)),
        asks(named('user', nora.id), 'nonsense', named('project', hidden)),
        asks(named('team', world.developers), 'read', named('organization', 'acme')),
        asks(named('user', nora.id), 'delete', named('project', hidden)),
      ];
      const together = await batch(owner, { evaluations: items });
      const apart = [];
      for (const item of items) apart.push(await decision(owner, item));
      assert.deepEqual(together, apart);
      assert.deepEqual(decisions(together), [true, false, false, true, true, false, true, false, true, true]);
    });

    test('what an item has replaces the default whole', async () => {
      const { mia, project } = world;
      const body = {
        subject: named('user', mia.id),
        action: { name: 'move-workspace', properties: { destination: 'prj-none' } },
        resource: named('project', project),
        context: { time: 'x' },
        evaluations: [
          {},
          { action: { name: 'read' } },
          { resource: { id: project } },
          { context: 5 },
          { subject: null },
        ],
      };
      const [whole, other, ...failed] = await batch(mia.actor, body);
      assert.equal(whole.context.note, undefined, 'the destination is the default’s');
      assert.equal(other.decision, true);
      assert.deepEqual(
        failed.map(({ decision, context }) => [decision, context.error]),
        ['resource.type is required', 'context must be an object', 'subject must be an object'].map(message => [
          false,
          { status: 400, message },
        ]),
      );
    });

    test('the failure of an item is its own: false, with the error in its context', async () => {
      const { mia, project } = world;
      const own = { subject: named('user', mia.id), action: { name: 'read' } };
      const evaluations = [
        { resource: named('project', project) },
        {},
        'x',
        null,
        [],
        { subject: named('user', world.nora.id), resource: named('project', project) },
        { resource: named('project', project), action: { name: 'move-workspace', properties: { destination: 1 } } },
        { resource: named('project', project) },
      ];
      const answers = await batch(mia.actor, { ...own, evaluations });
      assert.deepEqual(decisions(answers), [true, false, false, false, false, false, false, true]);
      assert.deepEqual(
        answers.map(({ context }) => context.error?.status),
        [undefined, 400, 400, 400, 400, 403, 400, undefined],
      );
    });

    test('the semantics stop at the first deny, at the first permit, or not at all', async () => {
      const { mia, project } = world;
      const items = ['read', 'update', 'nonsense', 'read'].map(name => ({ action: { name } }));
      const run = (semantic: string | undefined, evaluations: Json[]) =>
        batch(mia.actor, {
          subject: named('user', mia.id),
          resource: named('project', project),
          evaluations,
          ...(semantic && { options: { evaluations_semantic: semantic, other: 1 } }),
        }).then(decisions);
      for (const semantic of [undefined, 'execute_all'])
        assert.deepEqual(await run(semantic, items), [true, false, false, true]);
      assert.deepEqual(await run('deny_on_first_deny', items), [true, false]);
      assert.deepEqual(await run('deny_on_first_deny', [{ action: 5 }, ...items]), [false], 'a failure is a deny');
      assert.deepEqual(await run('deny_on_first_deny', [items[0], items[3]]), [true, true]);
      assert.deepEqual(await run('permit_on_first_permit', items), [true]);
      assert.deepEqual(await run('permit_on_first_permit', items.slice(1)), [false, false, true]);
      assert.deepEqual(await run('permit_on_first_permit', items.slice(1, 3)), [false, false]);
    });

    test('without items it is one evaluation', async () => {
      const question = questionFor('evaluation', named('user', world.mia.id));
      const one = await decision(world.mia.actor, question);
      for (const evaluations of [undefined, []]) {
        const { body } = await world.mia.actor.ask('acme', 'evaluations', { ...question, evaluations });
        assert.deepEqual(body, one);
      }
      const other = { ...question, subject: named('user', world.nora.id) };
      assert.equal((await world.mia.actor.ask('acme', 'evaluations', other)).status, 403);
    });
  });

  describe('searches', () => {
    test('an entity of an unknown type, or that is not there, leads to nothing', async () => {
      const { owner, mia, project } = world;
      const own = named('user', mia.id);
      const on = named('project', project);
      const nothing: [path: string, question: Json][] = [
        ['subject', asks({ type: 'spaceship' }, 'read', on)],
        ['subject', asks({ type: 'token' }, 'read', on)],
        ['subject', asks({ type: 'user' }, 'nonsense', on)],
        ['subject', asks({ type: 'user' }, 'constructor', on)],
        ['subject', asks({ type: 'user' }, 'read', named('spaceship', 'x'))],
        ['subject', asks({ type: 'user' }, 'read', named('project', 'none'))],
        ['subject', asks({ type: 'user' }, 'read', named('project', world.foreignProject))],
        ['subject', asks({ type: 'user' }, 'read', named('organization', 'rival'))],
        ['resource', asks(own, 'read', { type: 'spaceship' })],
        ['resource', asks(own, 'nonsense', { type: 'project' })],
        ['resource', asks(named('user', 'none'), 'read', { type: 'project' })],
        ['resource', asks(named('user', world.otto.id), 'read', { type: 'project' })],
        ['resource', asks(named('token', 'none'), 'read', { type: 'project' })],
        ['resource', asks(named('spaceship', 'x'), 'read', { type: 'project' })],
        ['action', { subject: named('user', 'none'), resource: on }],
        ['action', { subject: own, resource: named('project', 'none') }],
        ['action', { subject: own, resource: named('spaceship', 'x') }],
        ['action', { subject: named('spaceship', 'x'), resource: on }],
      ];
      for (const [path, question] of nothing)
        assert.deepEqual(await found(owner, path, question), [], JSON.stringify(question));
    });

    test('the id of what is searched for is ignored, and actions come in the order of their names', async () => {
      const { owner, mia, project, workspace } = world;
      const on = named('project', project);
      const plain = await found(owner, 'subject', asks({ type: 'user' }, 'read', on));
      assert.deepEqual(await found(owner, 'subject', asks({ type: 'user', id: 5 }, 'read', on)), plain);
      const own = named('user', mia.id);
      const where = await found(mia.actor, 'resource', asks(own, 'read', { type: 'project' }));
      assert.deepEqual(where, [project]);
      assert.deepEqual(await found(mia.actor, 'resource', asks(own, 'read', { type: 'project', id: 5 })), where);
      const names = await found(mia.actor, 'action', {
        subject: own,
        resource: named('workspace', workspace),
        action: 5,
      });
      assert.deepEqual(names, names.toSorted());
      assert.ok(names.includes('apply-runs') && names.includes('manage-team-access'));
    });

    test('pages follow each other to the end, and no token serves another search', async () => {
      const { owner, directory } = world;
      const team = await directory.team(owner, 'acme', { name: 'crowd' });
      const project = await directory.project(owner, 'acme', 'square');
      await directory.grant(owner, project, team, { access: 'read' });
      for (let n = 0; n < 5; n++) {
        await directory.member(owner, 'acme', `c${n}`);
        await owner.make(`/teams/${team}/relationships/users`, [{ type: 'users', id: `c${n}` }]);
      }
      const question = asks({ type: 'user' }, 'read', named('project', project));
      const all = await found(owner, 'subject', question);
      assert.equal(all.length, 6);
      const page = (token: string | undefined, more: Json = {}, limit?: number) =>
        owner.ask('acme', 'search/subject', {
          ...question,
          page: { ...(token !== undefined && { token }), ...(limit && { limit }) },
          ...more,
        });
      for (const limit of [1, 2, 4, 6, 7]) {
        const seen: string[] = [];
        let token: string | undefined;
        do {
          const { status, body } = await page(token, {}, token === undefined || limit % 2 === 0 ? limit : undefined);
          assert.equal(status, 200);
          assert.deepEqual([body.page.total, body.page.count], [6, body.results.length]);
          assert.ok(body.results.length <= limit);
          seen.push(...body.results.map(({ id }: Json) => id));
          token = body.page.next_token;
        } while (token !== '');
        assert.deepEqual(seen, all, `by ${limit}`);
      }
      const { next_token: token } = (await page(undefined, {}, 2)).body.page;
      assert.equal((await page('', {}, 2)).body.page.next_token, token, 'an empty token is none');
      assert.equal((await page(token, { subject: { type: 'user', id: 'ignored' }, context: { x: 1 } })).status, 200);
      const others: Json[] = [
        { subject: { type: 'team' } },
        { action: { name: 'update' } },
        { resource: named('project', world.project) },
        { resource: named('workspace', project) },
      ];
      for (const other of others) assert.equal((await page(token, other)).status, 400, JSON.stringify(other));
      assert.equal((await page(token, {}, 3)).status, 400, 'another limit');
      const inside = Buffer.from(token, 'base64url').toString();
      for (const forged of [
        Buffer.from(inside.replace(/^2 /, '9 ')).toString('base64url'),
        Buffer.from(inside.replace(/ 2 /, ' 999 ')).toString('base64url'),
        Buffer.from('9 9 x').toString('base64url'),
        token.slice(1),
        `${token}x`.repeat(50),
        '../../etc/passwd',
      ])
        assert.equal((await page(forged)).status, 400, forged);
      const sought = { ...question, subject: named('user', world.mia.id), page: { token } };
      assert.equal((await owner.ask('acme', 'search/resource', sought)).status, 400, 'of another kind of search');
      assert.equal((await owner.ask('rival', 'search/subject', { ...question, page: { token } })).status, 400);
      const largest = (await page(undefined, {}, 5_000)).body.page;
      assert.deepEqual([largest.count, largest.next_token], [6, '']);
    });
  });
});

test('one question and one of many have one answer, whoever is asked about and whatever its teams are called', async t => {
  const world = await settled(await newDirectory());
  const { directory, owner, mia, nora, otto, developers, secret, foreignTeam, project, workspace, grant, hidden } =
    world;
  t.after(() => directory.server.close());
  const names = ['a, b', '7 x', '😀 "ops" 😀', 'länge,', '0'];
  for (const name of names)
    await directory.grant(owner, project, await directory.team(owner, 'acme', { name }, ['mia']), { access: 'custom' });
  const subjects = [
    ...[mia, nora, otto, world.olivia].map(({ id }) => named('user', id)),
    ...[developers, secret, foreignTeam, 'absent'].map(id => named('team', id)),
    named('user', 'absent'),
  ];
  const resources = [
    ...[project, hidden, world.foreignProject, 'absent'].map(id => named('project', id)),
    ...[workspace, 'absent'].map(id => named('workspace', id)),
    ...[grant, 'absent'].map(id => named('team-project', id)),
    named('organization', 'acme'),
  ];
  const questions = subjects.flatMap(subject =>
    resources.flatMap(resource => ['read', 'update'].map(name => asks(subject, name, resource))),
  );
  const many = (await owner.ask('acme', 'evaluations', { evaluations: questions })).body.evaluations;
  for (const [index, question] of questions.entries())
    assert.deepEqual((await owner.ask('acme', 'evaluation', question)).body, many[index], JSON.stringify(question));
  const told = many[questions.findIndex(({ subject, resource }) => subject.id === mia.id && resource.id === project)];
  assert.deepEqual(
    told.context.reasons.map((reason: Json) => reason['team-name']),
    ['developers', ...names],
  );
});

test('a decision takes the statement of the token and its place alone, three more for tokens; many take two, as a search does at most', async t => {
  const log: Entry[] = [];
  const server = await startServer({ store: recording(await newStore(), log) });
  t.after(() => server.close());
  const { owner, mia, project, workspace, grant, developers, tokens } = await settled(new Directory(server));
  const statementsOf = async (path: string, question: Json) => {
    const { length } = log;
    const { status, text } = await owner.ask('acme', path, question);
    assert.equal(status, 200, text);
    // Where the body is large, the first read is that of the token alone, before the body is read.
    return (log.slice(length).at(-1)?.statements.length ?? 0) - 1;
  };
  const own = named('user', mia.id);
  const resources = [named('project', project), named('workspace', workspace), named('team-project', grant)];
  for (const resource of [...resources, named('organization', 'acme')]) {
    assert.equal(await statementsOf('evaluation', asks(own, 'read', resource)), 0);
    const withProperties = { ...asks(own, 'read', resource), action: { name: 'read', properties: {} } };
    assert.equal(await statementsOf('evaluation', withProperties), 0, 'properties mean nothing here');
    assert.equal(
      await statementsOf('evaluation', asks(named('token', tokens.mia.id), 'read', resource)),
      resource.type === 'organization' ? 2 : 3,
    );
    for (const type of ['user', 'team'])
      assert.ok((await statementsOf('search/subject', asks({ type }, 'read', resource))) <= 2);
    assert.ok((await statementsOf('search/resource', asks(own, 'read', { type: resource.type }))) <= 2);
    assert.equal(
      await statementsOf('search/action', { subject: own, resource }),
      resource.type === 'organization' ? 1 : 2,
    );
  }
  const subjects = [own, named('team', developers), named('user', 'none')];
  for (const count of [1, 10, 400]) {
    const evaluations = Array.from({ length: count }, (_, n) =>
      asks(subjects[n % 3], n % 2 ? 'read' : 'delete', resources[n % 3]),
    );
    assert.equal(await statementsOf('evaluations', { evaluations }), 2, `${count} at once`);
  }
});
