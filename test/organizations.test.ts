/** Organizations: what is kept on them, what the caller may do in them, and whose tokens they take. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sql, sql } from '../src/store/sql.ts';
import { details, fresh, idsOf, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, newDirectory } from './support/world.ts';

const defaults = {
  'aggregated-commit-status-enabled': true,
  'allow-force-delete-workspaces': false,
  'assessments-enforced': false,
  'collaborator-auth-policy': 'password',
  'cost-estimation-enabled': false,
  'default-execution-mode': 'remote',
  'enforce-hyok': false,
  'max-ttl-enabled': false,
  'owners-team-saml-role-id': null,
  'send-passing-statuses-for-untriggered-speculative-plans': false,
  'session-remember': null,
  'session-timeout': null,
  'speculative-plan-management-enabled': true,
  'stacks-enabled': false,
};

const others = {
  'aggregated-commit-status-enabled': false,
  'allow-force-delete-workspaces': true,
  'assessments-enforced': true,
  'collaborator-auth-policy': 'two_factor_mandatory',
  'cost-estimation-enabled': true,
  'default-execution-mode': 'local',
  'enforce-hyok': true,
  'max-ttl-enabled': true,
  'owners-team-saml-role-id': 'site-owners',
  'send-passing-statuses-for-untriggered-speculative-plans': true,
  'session-remember': 20160,
  'session-timeout': 1,
  'speculative-plan-management-enabled': false,
  'stacks-enabled': true,
};

describe('organizations', () => {
  let directory: Directory;
  let owner: Actor;
  let outsider: Actor;
  before(async () => {
    directory = await newDirectory();
    ({ actor: owner } = await directory.user('owner'));
    ({ actor: outsider } = await directory.user('outsider'));
    await directory.organization(owner, 'acme');
  });
  after(() => directory.server.close());

  const create = (attributes: Json, more: Json = {}) =>
    owner.post('/organizations', {
      type: 'organizations',
      attributes: { name: fresh('made'), email: 'made@example.com', ...attributes },
      ...more,
    });
  const organization = async (): Promise<string> => (await create({})).body.data.id;
  const member = async (name = 'acme') => {
    const username = fresh('member');
    return { username, ...(await directory.member(owner, name, username)) };
  };
  /** A member of a new team that holds these organization permissions. */
  const holder = async (...permissions: string[]) => {
    const { username, actor } = await member();
    const access = Object.fromEntries(permissions.map(permission => [permission, true]));
    const team = await directory.team(owner, 'acme', { name: fresh('team'), 'organization-access': access }, [
      username,
    ]);
    return { actor, team };
  };
  const defaultProject = async () => (await owner.get('/organizations/acme/projects')).body.data[0].id as string;

  describe('attributes', () => {
    test('a new one has the defaults, as its creator, a reader and a list show it, byte for byte', async () => {
      const made = await create({});
      assert.equal(made.status, 201);
      const { id, attributes, relationships, links } = made.body.data;
      const { permissions, 'created-at': createdAt, 'external-id': externalId, ...rest } = attributes;
      assert.match(createdAt, /^2026-.*Z$/);
      assert.match(externalId, /^org-/);
      assert.deepEqual(rest, {
        name: id,
        email: 'made@example.com',
        'trial-expires-at': null,
        'is-unified': false,
        'saml-enabled': false,
        'two-factor-conformant': false,
        'remaining-testable-count': 5,
        'user-tokens-enabled': true,
        ...defaults,
      });
      assert.equal(Object.values(permissions).length, 17);
      assert.ok(Object.values(permissions).every(may => may === true));
      const project = (await owner.get(`/organizations/${id}/projects`)).body.data[0].id;
      const at = `/api/v2/organizations/${id}`;
      assert.deepEqual(relationships, {
        'default-project': {
          data: { id: project, type: 'projects' },
          links: { related: `/api/v2/projects/${project}` },
        },
        'default-agent-pool': { data: null },
        'primary-hyok-configuration': { data: null },
        'data-retention-policy': { data: null },
        'entitlement-set': {
          data: { id: externalId, type: 'entitlement-sets' },
          links: { related: `${at}/entitlement-set` },
        },
        'oauth-tokens': { links: { related: `${at}/oauth-tokens` } },
        'authentication-token': { links: { related: `${at}/authentication-token` } },
        subscription: { links: { related: `${at}/subscription` } },
      });
      assert.deepEqual(links, { self: at });
      assert.equal((await owner.get(`/organizations/${id}`)).text, made.text);
      const listed = await owner.get(`/organizations?q=${id}`);
      assert.equal(JSON.stringify(listed.body.data[0]), JSON.stringify(made.body.data));
    });

    test('every one can be set, by POST, by PATCH and by PUT, and is echoed', async () => {
      const settingsOf = ({ body }: Answer) =>
        Object.fromEntries(Object.keys(defaults).map(name => [name, body.data.attributes[name]]));
      const made = await create(others);
      assert.deepEqual(settingsOf(made), others);
      const path = `/organizations/${made.body.data.id}`;
      assert.equal((await owner.get(path)).text, made.text);
      const back = await owner.patch(path, { type: 'organizations', attributes: defaults });
      assert.deepEqual([back.status, settingsOf(back)], [200, defaults]);
      const again = await owner.put(path, { type: 'organizations', attributes: others });
      assert.deepEqual([again.status, settingsOf(again)], [200, others]);
      assert.equal((await owner.get(path)).text, again.text);
    });

    test('PATCH and PUT: what is not sent stays, and what nobody knows is ignored', async () => {
      const { id } = (await create(others)).body.data;
      const path = `/organizations/${id}`;
      for (const change of [owner.patch.bind(owner), owner.put.bind(owner)]) {
        const before = (await owner.get(path)).text;
        for (const data of [{}, { attributes: {} }, { attributes: { colour: 'red', 'is-unified': true } }])
          assert.equal((await change(path, data)).text, before);
      }
      const changed = await owner.put(path, { attributes: { 'session-timeout': 5 } });
      assert.equal(changed.body.data.attributes['session-timeout'], 5);
      assert.equal(changed.body.data.attributes['session-remember'], 20160);
    });

    test('422 with a pointer at each that is of another kind or out of its range', async () => {
      const wrong: Record<string, readonly unknown[]> = {
        ...Object.fromEntries(
          Object.entries(others)
            .filter(([, value]) => typeof value === 'boolean')
            .map(([name]) => [name, ['true', 1, null]]),
        ),
        'user-tokens-enabled': ['false', 0, null],
        'collaborator-auth-policy': ['none', null, true],
        'default-execution-mode': ['Remote', '', null],
        'owners-team-saml-role-id': [5, 'x'.repeat(257)],
        'session-remember': [0, -1, 1.5, '60', 2 ** 31],
        'session-timeout': [0, -1, 1.5, '60', 2 ** 31],
      };
      assert.equal(Object.keys(wrong).length, Object.keys(defaults).length + 1);
      const id = await organization();
      const path = `/organizations/${id}`;
      const before = (await owner.get(path)).text;
      for (const [name, values] of Object.entries(wrong))
        for (const value of values)
          for (const answer of [
            await create({ [name]: value }),
            await owner.patch(path, { attributes: { [name]: value } }),
            await owner.put(path, { attributes: { [name]: value } }),
          ]) {
            assert.equal(answer.status, 422, `${name}: ${value}`);
            assert.deepEqual(pointers(answer), [`/data/attributes/${name}`]);
          }
      assert.equal((await owner.get(path)).text, before);
    });

    test('a default agent pool goes with the mode agent alone, and there is none here', async () => {
      const path = `/organizations/${await organization()}`;
      const pool = (id: string | null) => ({
        relationships: { 'default-agent-pool': { data: id && { type: 'agent-pools', id } } },
      });
      const agent = { 'default-execution-mode': 'agent' };
      const cases: [Json, string][] = [
        [pool('apool-1'), "must not be specified unless using 'agent' execution mode"],
        [
          { attributes: { 'default-execution-mode': 'local' }, ...pool('apool-1') },
          "must not be specified unless using 'agent' execution mode",
        ],
        [{ attributes: agent }, "must be specified when using 'agent' execution mode"],
        [{ attributes: agent, ...pool(null) }, "must be specified when using 'agent' execution mode"],
        [{ attributes: agent, ...pool('apool-1') }, 'this server has no agent pools'],
      ];
      for (const [data, text] of cases) {
        const answer = await owner.patch(path, data);
        assert.equal(answer.status, 422);
        assert.deepEqual(pointers(answer), ['/data/relationships/default-agent-pool']);
        assert.match(details(answer)[0] ?? '', new RegExp(`^Default agent pool .*${text}`));
      }
      const made = await create(agent);
      assert.deepEqual(pointers(made), ['/data/relationships/default-agent-pool']);
      assert.equal((await owner.patch(path, pool(null))).status, 200);
    });

    test('a change of name changes the id and every link, and the old name is free', async () => {
      const old = await organization();
      const next = fresh('renamed');
      const { status, text, body } = await owner.patch(`/organizations/${old}`, { attributes: { name: next } });
      assert.equal(status, 200);
      assert.equal(body.data.id, next);
      assert.ok(!text.includes(old));
      assert.equal((await owner.get(`/organizations/${old}`)).status, 404);
      assert.equal((await owner.get(`/organizations/${next}`)).text, text);
      assert.equal((await create({ name: old })).status, 201);
      assert.deepEqual(
        pointers(await owner.put(`/organizations/${old}`, { attributes: { name: next.toUpperCase() } })),
        ['/data/attributes/name'],
      );
    });

    test('PUT: 404 for whoever may not, with a good body or a bad one; 412 and 422 as PATCH', async () => {
      const { actor } = await member();
      for (const who of [actor, outsider])
        for (const attributes of [{ email: 'x@example.com' }, { email: 5 }])
          assert.equal((await who.put('/organizations/acme', { attributes })).status, 404);
      const stale = { 'if-match': '"stale"' };
      assert.equal((await owner.put('/organizations/acme', { attributes: {} }, stale)).status, 412);
      assert.deepEqual(pointers(await owner.put('/organizations/acme', { id: 'other' })), ['/data/id']);
      assert.equal((await owner.put('/organizations/acme', { id: 'ACME' })).status, 200);
    });
  });

  describe('permissions', () => {
    const can = async (actor: Actor): Promise<string[]> => {
      const { permissions } = (await actor.get('/organizations/acme')).body.data.attributes;
      const listed = (await actor.get('/organizations?q[name]=acme')).body.data[0].attributes;
      assert.deepEqual(listed.permissions, permissions);
      return Object.keys(permissions)
        .filter(name => permissions[name])
        .sort();
    };
    const workspaces = ['can-create-workspace', 'can-create-workspace-migration', 'can-deploy-no-code-modules'];

    test('each says what the caller’s organization permissions let it do', async () => {
      assert.deepEqual(await can((await member()).actor), ['can-traverse']);
      const given: Record<string, string[]> = {
        'manage-run-tasks': ['can-manage-run-tasks'],
        'manage-vcs-settings': ['can-update-oauth'],
        'manage-policies': ['can-update-sentinel'],
        'manage-modules': ['can-manage-no-code-modules'],
        'manage-projects': ['can-create-project', ...workspaces],
        'manage-workspaces': workspaces,
        'manage-teams': ['can-create-team'],
        'manage-organization-access': ['can-create-team'],
        'manage-membership': [],
        'read-workspaces': [],
        'manage-agent-pools': [],
      };
      for (const [permission, names] of Object.entries(given))
        assert.deepEqual(await can((await holder(permission)).actor), [...names, 'can-traverse'].sort(), permission);
    });

    test('can-create-workspace is about the default project, where a workspace without a project goes', async () => {
      const elsewhere = await directory.project(owner, 'acme', fresh('project'));
      const grants: [string, Json, boolean][] = [
        [await defaultProject(), { access: 'maintain' }, true],
        [await defaultProject(), { access: 'custom', 'workspace-access': { create: true } }, true],
        [await defaultProject(), { access: 'write' }, false],
        [elsewhere, { access: 'admin' }, false],
      ];
      for (const [project, access, expected] of grants) {
        const { actor, team } = await holder();
        await directory.grant(owner, project, team, access);
        assert.deepEqual(await can(actor), expected ? [...workspaces, 'can-traverse'].sort() : ['can-traverse']);
      }
    });

    test('the tokens of the organization and of the owners team may all, a team’s what the team may', async () => {
      const { team } = await holder('manage-run-tasks');
      const owners = (await owner.get('/organizations/acme/teams')).body.data[0].id;
      const tokenOf = async (path: string) => directory.actor((await owner.make(path)).attributes.token);
      const all = await can(owner);
      assert.equal(all.length, 17);
      assert.deepEqual(await can(await tokenOf('/organizations/acme/authentication-token')), all);
      assert.deepEqual(await can(await tokenOf(`/teams/${owners}/authentication-token`)), all);
      assert.deepEqual(await can(await tokenOf(`/teams/${team}/authentication-token`)), [
        'can-manage-run-tasks',
        'can-traverse',
      ]);
    });
  });

  describe('the default project', () => {
    test('is named and included to those who may read it, and for the others nothing about it changes a byte', async () => {
      const project = await defaultProject();
      const { actor: plain } = await member();
      const reader = await holder();
      await directory.grant(owner, project, reader.team, { access: 'read' });
      const path = '/organizations/acme?include=default-project';
      for (const actor of [owner, reader.actor]) {
        const { data, included } = (await actor.get(path)).body;
        assert.deepEqual(data.relationships['default-project'].data, { id: project, type: 'projects' });
        assert.deepEqual(included, [(await actor.get(`/projects/${project}`)).body.data]);
      }
      const hidden = await plain.get(path);
      assert.deepEqual(hidden.body.included, []);
      assert.deepEqual(hidden.body.data.relationships['default-project'], { data: null });
      assert.ok(!hidden.text.includes(project));
      const lists = await plain.get('/organizations');
      assert.equal((await owner.patch(`/projects/${project}`, { attributes: { name: fresh('Default') } })).status, 200);
      assert.equal((await plain.get(path)).text, hidden.text);
      assert.equal((await plain.get('/organizations')).text, lists.text);
    });
  });

  test('attributes that it does not know are neither kept nor shown, whatever their names', async () => {
    const odd = { toString: { any: ['thing'] }, hasOwnProperty: 1, valueOf: 'v', constructor: null };
    const { status, body } = await owner.patch('/organizations/acme', { type: 'organizations', attributes: odd });
    assert.equal(status, 200);
    for (const name of Object.keys(odd)) assert.ok(!Object.hasOwn(body.data.attributes, name), name);
  });

  describe('include', () => {
    test('leaves the tag as it is, so that it holds in an If-Match', async () => {
      const { headers } = await owner.get('/organizations/acme?include=default-project');
      assert.equal(headers.etag, (await owner.get('/organizations/acme')).headers.etag);
      const tag = { 'if-match': `${headers.etag}` };
      assert.equal((await owner.patch('/organizations/acme', { type: 'organizations' }, tag)).status, 200);
    });

    test('the entitlement set whole, nothing for a subscription, and each spelling of a name', async () => {
      const entitlements = (await owner.get('/organizations/acme/entitlement-set')).body.data;
      for (const name of ['entitlement_set', 'entitlement-set'])
        assert.deepEqual((await owner.get(`/organizations/acme?include=${name}`)).body.included, [entitlements]);
      assert.deepEqual((await owner.get('/organizations/acme?include=subscription')).body.included, []);
      const all = await owner.get('/organizations/acme?include=subscription,entitlement_set,default_project');
      assert.deepEqual(
        all.body.included.map(({ type }: Json) => type),
        ['projects', 'entitlement-sets'],
      );
      assert.deepEqual(all.body.data, (await owner.get('/organizations/acme')).body.data);
      assert.equal('included' in (await owner.get('/organizations/acme')).body, false);
      assert.equal((await owner.get('/organizations?include=subscription')).status, 200);
    });

    test('400 that names the include parameter for any other; a stranger still gets 404', async () => {
      for (const path of ['/organizations', '/organizations/acme']) {
        const answer = await owner.get(`${path}?include=nonsense`);
        assert.equal(answer.status, 400);
        assert.match(details(answer)[0] ?? '', /include parameter/);
      }
      assert.equal((await outsider.get('/organizations/acme?include=nonsense')).status, 404);
    });
  });

  describe('the list', () => {
    let seeker: Actor;
    before(async () => {
      ({ actor: seeker } = await directory.user('seeker'));
      for (const [name, email] of [
        ['Red_Apple', 'fruit@example.com'],
        ['RedApple', 'Green@example.com'],
        ['pear', 'red_pear@example.org'],
      ])
        await seeker.make('/organizations', { type: 'organizations', attributes: { name, email } });
    });

    test('q finds by name or e-mail, q[name] and q[email] by one of them, whatever the case; q alone counts', async () => {
      const found = async (query: string) => idsOf(await seeker.get(`/organizations?${query}`));
      assert.deepEqual(await found('q=RED'), ['Red_Apple', 'RedApple', 'pear']);
      assert.deepEqual(await found('q=green@EXAMPLE.com'), ['RedApple']);
      assert.deepEqual(await found('q[name]=red'), ['Red_Apple', 'RedApple']);
      assert.deepEqual(await found('q[email]=red'), ['pear']);
      assert.deepEqual(await found('q[name]=red&q[email]=fruit'), ['Red_Apple']);
      assert.deepEqual(await found('q=pear&q[name]=red&q[email]=fruit'), ['pear']);
      assert.deepEqual(await found('q='), ['Red_Apple', 'RedApple', 'pear']);
      assert.deepEqual(await found('q=nothing'), []);
      // Not his own.
      assert.deepEqual(await found('q=acme'), []);
    });

    test('a search is for the very characters: % and _ and \\ stand for themselves', async () => {
      const found = async (text: string) =>
        idsOf(await seeker.get(`/organizations?q=${encodeURIComponent(text)}`)).length;
      assert.equal(await found('d_a'), 1);
      assert.equal(await found('d_p'), 1);
      for (const text of ['%', 'r%d', '\\', 'red\\_', "'"]) assert.equal(await found(text), 0, text);
    });

    test('the links carry the search, and totals count what it found', async () => {
      const { body } = await seeker.get('/organizations?q[name]=red&page[size]=1');
      assert.deepEqual([body.data.length, body.meta.pagination['total-count']], [1, 2]);
      assert.match(body.links.next, /\/api\/v2\/organizations\?q%5Bname%5D=red&page%5Bnumber%5D=2&page%5Bsize%5D=1$/);
      const { body: next } = await seeker.get(body.links.next.split('/api/v2')[1]);
      assert.deepEqual(idsOf({ body: next } as Answer), ['RedApple']);
    });

    test('without a word of pages a page has 100, with a number alone 20', async () => {
      const { actor } = await directory.user('founder');
      for (let index = 0; index < 22; index++) await directory.organization(actor, `founded-${index}`);
      const sizes = async (query: string) => {
        const { data, meta } = (await actor.get(`/organizations${query}`)).body;
        return [data.length, meta.pagination['page-size'], meta.pagination['total-count']];
      };
      assert.deepEqual(await sizes(''), [22, 100, 22]);
      assert.deepEqual(await sizes('?q=founded'), [22, 100, 22]);
      assert.deepEqual(await sizes('?page[number]=1'), [20, 20, 22]);
      assert.deepEqual(await sizes('?page[size]=5'), [5, 5, 22]);
    });
  });

  describe('the entitlement set', () => {
    test('a member reads it: every key, what a client may count on, and no limits', async () => {
      const { actor } = await member();
      const { body, text } = await actor.get('/organizations/acme/entitlement-set');
      const { id, type, attributes, links } = body.data;
      assert.equal(id, (await owner.get('/organizations/acme')).body.data.attributes['external-id']);
      assert.equal(type, 'entitlement-sets');
      assert.deepEqual(links, { self: `/api/v2/entitlement-sets/${id}` });
      const held = Object.keys(attributes).filter(name => attributes[name] === true);
      assert.deepEqual(held.sort(), [
        'agents',
        'audit-logging',
        'cost-estimation',
        'infragraph',
        'operations',
        'private-module-registry',
        'sentinel',
        'sso',
        'state-storage',
        'teams',
        'vcs-integrations',
        'waypoint-templates-and-addons',
      ]);
      assert.equal(Object.values(attributes).filter(value => value === false).length, 12);
      const limits = Object.keys(attributes).filter(name => attributes[name] === null);
      assert.ok(limits.length === 8 && limits.every(name => name.endsWith('-limit')));
      assert.equal((await owner.get('/organizations/ACME/entitlement-set')).text, text);
    });

    test('404 to a stranger and where there is no such organization', async () => {
      const there = await outsider.get('/organizations/acme/entitlement-set');
      const absent = await outsider.get('/organizations/none/entitlement-set');
      assert.deepEqual([there.status, there.text], [404, absent.text]);
    });
  });

  describe('user tokens', () => {
    /** An organization with a member, an owners-team token and an organization token. */
    const guarded = async () => {
      const name = await organization();
      const { actor: plain, id: user } = await member(name);
      const owners = (await owner.get(`/organizations/${name}/teams`)).body.data[0].id;
      const project = (await owner.get(`/organizations/${name}/projects`)).body.data[0].id;
      const membership = (await owner.get(`/organizations/${name}/organization-memberships`)).body.data[0].id;
      const made = await owner.make(`/teams/${owners}/authentication-token`);
      const ownersToken = directory.actor(made.attributes.token);
      const token = (await owner.make(`/organizations/${name}/authentication-token`)).attributes.token;
      const insideOf = (path: string) => `/organizations/${name}/${path}`;
      const paths = [
        `/organizations/${name}`,
        ...['teams', 'projects', 'organization-memberships', 'team-tokens', 'entitlement-set'].map(insideOf),
        `/teams/${owners}`,
        `/teams/${owners}/relationships/organization-memberships`,
        `/projects/${project}`,
        `/organization-memberships/${membership}`,
        `/team-projects?filter[project][id]=${project}`,
      ];
      const setTo = (actor: Actor, enabled: boolean) =>
        actor.patch(`/organizations/${name}`, { attributes: { 'user-tokens-enabled': enabled } });
      return {
        name,
        plain,
        user,
        owners,
        project,
        ownersToken,
        organizationToken: directory.actor(token),
        paths,
        setTo,
      };
    };

    test('once they are disabled: 401 to members everywhere in it; the owners’ and its own tokens go on, and enable them again', async () => {
      const { name, plain, project, owners, ownersToken, organizationToken, paths, setTo } = await guarded();
      const before = await owner.get(`/organizations/${name}`);
      const disabled = await setTo(ownersToken, false);
      assert.deepEqual([disabled.status, disabled.body.data.attributes['user-tokens-enabled']], [200, false]);
      const bodies = new Set<string>();
      for (const actor of [owner, plain]) {
        for (const path of paths) {
          const { status, text } = await actor.get(path);
          assert.equal(status, 401, path);
          bodies.add(text);
        }
        const writes = [
          await setTo(actor, true),
          await actor.put(`/organizations/${name}`, {}),
          await actor.delete(`/organizations/${name}`),
          await actor.post(`/organizations/${name}/teams`, { type: 'teams', attributes: { name: 'x' } }),
          await actor.post('/team-projects', {
            relationships: { project: { data: { type: 'projects', id: project } } },
          }),
          await actor.delete(`/teams/${owners}`),
        ];
        assert.deepEqual(
          writes.map(({ status }) => status),
          writes.map(() => 401),
        );
      }
      // As to any token that is not valid.
      assert.deepEqual([...bodies], [(await directory.actor('nonsense').get('/organizations')).text]);
      for (const actor of [ownersToken, organizationToken])
        for (const path of paths) assert.equal((await actor.get(path)).status, 200, path);
      assert.equal((await setTo(organizationToken, true)).status, 200);
      assert.equal((await owner.get(`/organizations/${name}`)).text, before.text);
      assert.equal((await plain.get(`/organizations/${name}`)).status, 200);
    });

    test('404 to its project named in the workspace of another organization, as to one that does not exist', async () => {
      const { project, ownersToken, setTo } = await guarded();
      const elsewhere = await organization();
      const named = (name: string, id: string) => ({
        type: 'workspaces',
        attributes: { name },
        relationships: { project: { data: { type: 'projects', id } } },
      });
      const made = await owner.post(`/organizations/${elsewhere}/workspaces`, {
        type: 'workspaces',
        attributes: { name: 'shed' },
      });
      await setTo(ownersToken, false);
      const tries = async (id: string) => [
        await owner.post(`/organizations/${elsewhere}/workspaces`, named('barn', id)),
        await owner.patch(`/workspaces/${made.body.data.id}`, named('shed', id)),
      ];
      const answers = await tries(project);
      assert.deepEqual(
        answers.map(({ status }) => status),
        [404, 404],
      );
      assert.deepEqual(
        answers.map(({ text }) => text),
        (await tries('prj-none')).map(({ text }) => text),
      );
    });

    test('while they are disabled it is in no list of a member, and shows no fellow member', async () => {
      const { name, plain, user, ownersToken, setTo } = await guarded();
      const lists = async (actor: Actor) => [
        idsOf(await actor.get(`/organizations?q=${name}`)).length,
        (await actor.get('/organization-memberships?page[size]=100')).body.data.filter(
          ({ relationships }: Json) => relationships.organization.data.id === name,
        ).length,
        (await actor.get(`/users/${user}`)).status,
      ];
      assert.deepEqual(await lists(owner), [1, 1, 200]);
      await setTo(ownersToken, false);
      assert.deepEqual(await lists(owner), [0, 0, 404]);
      assert.deepEqual(await lists(plain), [0, 0, 200]);
      assert.deepEqual((await ownersToken.get(`/users/${user}`)).status, 200);
      await setTo(ownersToken, true);
      assert.deepEqual(await lists(owner), [1, 1, 200]);
    });

    test('422 to the revocation of the last token that could enable them again, on whatever route; nothing changes', async () => {
      const { name, owners, ownersToken, organizationToken, setTo } = await guarded();
      const own = `/organizations/${name}/authentication-token`;
      const single = `/teams/${owners}/authentication-token`;
      const bulk = `/organizations/${name}/team-tokens`;
      const idAt = async (path: string) => (await organizationToken.get(path)).body.data.id;
      const ofTeam = await idAt(single);
      const named = [{ type: 'authentication-tokens', id: ofTeam }];
      const limited = ['audit-trails', 'decisions'];
      for (const kind of limited) await organizationToken.make(`${own}?token=${kind}`);
      const others = await directory.team(organizationToken, name, { name: 'others' });
      const another = await organizationToken.make(`/teams/${others}/authentication-tokens`);
      assert.equal((await setTo(organizationToken, false)).status, 200);
      const isRefused = async (actor: Actor, path: string, data?: Json) => {
        const tokens = async () => {
          const [{ body }, listed] = [await actor.get(own), await actor.get(bulk)];
          return [body.data?.id, ...listed.body.data.map(({ id }: Json) => id)];
        };
        const before = await tokens();
        const answer = await actor.delete(path, data);
        assert.equal(answer.status, 422, `${path} ${answer.text}`);
        assert.match(answer.body.errors[0].detail, /nobody could enable them again/);
        assert.deepEqual(await tokens(), before);
      };
      // Of two, either may go.
      assert.equal((await organizationToken.delete(bulk, named)).status, 204);
      for (const path of [own, `/authentication-tokens/${await idAt(own)}`]) await isRefused(organizationToken, path);
      // Neither a token that can do one thing alone nor one of another team is a way back, so they may go.
      for (const kind of limited) assert.equal((await organizationToken.delete(`${own}?token=${kind}`)).status, 204);
      assert.equal((await organizationToken.delete(`/authentication-tokens/${another.id}`)).status, 204);
      // One that takes the place of another is as good.
      const renewed = directory.actor((await organizationToken.make(own)).attributes.token);
      await isRefused(renewed, own);
      const made = await renewed.make(single);
      const ofOwners = directory.actor(made.attributes.token);
      assert.equal((await ofOwners.delete(own)).status, 204);
      assert.equal((await ofOwners.get(own)).status, 404);
      for (const path of [single, `/authentication-tokens/${made.id}`]) await isRefused(ofOwners, path);
      await isRefused(ofOwners, bulk, [{ type: 'authentication-tokens', id: made.id }]);
      // Once they are enabled, it is no matter.
      assert.equal((await setTo(ofOwners, true)).status, 200);
      assert.equal((await ofOwners.delete(single)).status, 204);
      assert.equal((await ownersToken.get(bulk)).status, 401);
    });

    test('a stranger gets 404 as before and learns nothing, nor does the site admin', async () => {
      const { ownersToken, paths, setTo } = await guarded();
      for (const actor of [outsider, directory.admin]) {
        const before = [];
        for (const path of paths) before.push((await actor.get(path)).text);
        await setTo(ownersToken, false);
        for (const [index, path] of paths.entries()) {
          const { status, text } = await actor.get(path);
          assert.deepEqual([status, text], [404, before[index]], path);
        }
        await setTo(ownersToken, true);
      }
    });

    test('a member who invites elsewhere and names a team of it gets 404 at that team', async () => {
      const { owners, ownersToken, setTo } = await guarded();
      await setTo(ownersToken, false);
      const answer = await owner.post('/organizations/acme/organization-memberships', {
        type: 'organization-memberships',
        attributes: { email: 'elsewhere@example.com' },
        relationships: { teams: { data: [{ type: 'teams', id: owners }] } },
      });
      assert.equal(answer.status, 404);
      assert.deepEqual(pointers(answer), ['/data/relationships/teams/data/0']);
    });

    test('422 while neither the owners team nor the organization has a token: nobody could enable them again', async () => {
      const pointer = ['/data/attributes/user-tokens-enabled'];
      assert.deepEqual(pointers(await create({ 'user-tokens-enabled': false })), pointer);
      const name = await organization();
      const path = `/organizations/${name}`;
      const disable = () => owner.patch(path, { attributes: { 'user-tokens-enabled': false } });
      assert.deepEqual(pointers(await disable()), pointer);
      // A token of another team does not help, nor one that can do one thing alone, nor one that has expired.
      const team = await directory.team(owner, name, { name: 'others' });
      await owner.make(`/teams/${team}/authentication-token`);
      const { id } = await owner.make(`${path}/authentication-token`);
      const change = (statement: Sql) => directory.server.store.write(tx => tx.run(statement));
      for (const slot of ['audit-trails', 'decisions']) {
        await change(sql`update authentication_tokens set slot = ${slot} where id = ${id}`);
        assert.deepEqual(pointers(await disable()), pointer);
      }
      await change(
        sql`update authentication_tokens set slot = 'single', expired_at = '2026-01-01T00:00:00.000Z' where id = ${id}`,
      );
      assert.deepEqual(pointers(await disable()), pointer);
      const owners = (await owner.get(`${path}/teams`)).body.data[0].id;
      const ownersToken = (await owner.make(`/teams/${owners}/authentication-token`)).attributes.token;
      assert.equal((await disable()).status, 200);
      assert.equal((await disable()).status, 401);
      // What is disabled already stays so without a question.
      assert.equal(
        (await directory.actor(ownersToken).patch(path, { attributes: { 'user-tokens-enabled': false } })).status,
        200,
      );
      assert.equal((await directory.actor(ownersToken).delete(path)).status, 204);
    });
  });
});
