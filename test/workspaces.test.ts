/** Workspaces, promise by promise: who makes, sees, changes and moves them, and how they are shown. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import { details, fresh, namesOf, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { custom, Office } from './support/office.ts';
import { type Actor, type Directory, workspaceBody } from './support/world.ts';

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What a workspace shows of its settings when nothing was set. */
const defaults = {
  description: null,
  'allow-destroy-plan': true,
  'assessments-enabled': false,
  'auto-apply': false,
  'auto-apply-run-trigger': false,
  'file-triggers-enabled': true,
  'global-remote-state': false,
  'project-remote-state': false,
  'migration-environment': null,
  'queue-all-runs': false,
  'speculative-enabled': true,
  'source-name': null,
  'source-url': null,
  'structured-run-output-enabled': true,
  'terraform-version': '1.14.0',
  'trigger-prefixes': [],
  'trigger-patterns': [],
  'working-directory': '',
  'auto-destroy-at': null,
  'auto-destroy-activity-duration': null,
  'inherits-project-auto-destroy': true,
  'execution-mode': 'remote',
  'agent-pool-id': null,
  operations: true,
  'setting-overwrites': { 'execution-mode': false, 'agent-pool': false },
  'vcs-repo': null,
};

/** What an owner may do with a workspace. */
const everything = {
  'can-update': true,
  'can-destroy': true,
  'can-force-delete': true,
  'can-move': true,
  'can-lock': true,
  'can-unlock': true,
  'can-force-unlock': true,
  'can-read-settings': true,
  'can-read-run': true,
  'can-queue-run': true,
  'can-queue-apply': true,
  'can-queue-destroy': true,
  'can-read-variable': true,
  'can-update-variable': true,
  'can-read-state-versions': true,
  'can-read-state-outputs': true,
  'can-create-state-versions': true,
  'can-manage-tags': true,
  'can-manage-run-tasks': true,
  'can-manage-assessments': true,
  'can-manage-ephemeral-workspaces': true,
  'can-read-assessment-results': true,
  'can-manage-hyok': false,
};

describe('workspaces', () => {
  let office: Office;
  let directory: Directory;
  let owner: Actor;
  let organizationToken: Actor;
  let defaultProject: string;
  before(async () => {
    office = await Office.open();
    ({ directory, owner, defaultProject } = office);
    organizationToken = await office.organizationToken();
  });
  after(() => office.close());

  const inside = '/organizations/acme/workspaces';
  const shown = async (id: string, actor = owner) => (await actor.get(`/workspaces/${id}`)).body.data;
  const add = (actor: Actor, attributes: Json = {}, project?: string) =>
    actor.post(inside, workspaceBody(fresh('workspace'), project, attributes));
  const change = (actor: Actor, id: string, attributes: Json) =>
    actor.patch(`/workspaces/${id}`, { type: 'workspaces', attributes });
  const move = (actor: Actor, id: string, project: string, attributes?: Json) =>
    actor.patch(`/workspaces/${id}`, {
      type: 'workspaces',
      ...(attributes && { attributes }),
      relationships: { project: { data: { type: 'projects', id: project } } },
    });

  describe('POST', () => {
    test('201 with a name alone answers the whole resource, with every default', async () => {
      const name = fresh('plain');
      const { status, body } = await owner.post(inside, workspaceBody(name));
      assert.equal(status, 201);
      const { id, attributes } = body.data;
      assert.match(id, /^ws-[1-9A-HJ-NP-Za-km-z]{16}$/);
      assert.match(attributes['created-at'], time);
      const link = (relation: string) => ({ links: { related: `/api/v2/workspaces/${id}/${relation}` } });
      const none = { data: null };
      assert.deepEqual(body, {
        data: {
          id,
          type: 'workspaces',
          attributes: {
            name,
            ...defaults,
            actions: { 'is-destroyable': true },
            'can-queue-destroy-plan': true,
            'created-at': attributes['created-at'],
            'updated-at': attributes['created-at'],
            'latest-change-at': attributes['created-at'],
            environment: 'default',
            locked: false,
            'locked-reason': null,
            'no-code-upgrade-available': false,
            source: 'tfe-api',
            'source-module-id': null,
            'resource-count': 0,
            'apply-duration-average': null,
            'plan-duration-average': null,
            'policy-check-failures': null,
            'run-failures': null,
            'workspace-kpis-runs-count': null,
            'tag-names': [],
            'hyok-enabled': false,
            permissions: everything,
          },
          relationships: {
            organization: {
              data: { id: 'acme', type: 'organizations' },
              links: { related: '/api/v2/organizations/acme' },
            },
            project: {
              data: { id: defaultProject, type: 'projects' },
              links: { related: `/api/v2/projects/${defaultProject}` },
            },
            'locked-by': none,
            'agent-pool': none,
            'current-run': none,
            'current-state-version': none,
            'current-configuration-version': none,
            'ssh-key': none,
            'data-retention-policy': none,
            outputs: { data: [] },
            vars: { data: [] },
            tags: { links: { related: `/api/v2/workspaces/${id}/relationships/tags` } },
            'remote-state-consumers': link('relationships/remote-state-consumers'),
            'tag-bindings': link('tag-bindings'),
            'effective-tag-bindings': link('effective-tag-bindings'),
          },
          links: { self: `/api/v2/organizations/acme/workspaces/${name}`, 'self-html': `/app/acme/workspaces/${name}` },
        },
      });
    });

    /** A value other than the default for every setting that is echoed as it was sent. */
    const sent = {
      description: 'what it is for',
      'allow-destroy-plan': false,
      'assessments-enabled': true,
      'auto-apply': true,
      'auto-apply-run-trigger': true,
      'file-triggers-enabled': false,
      'global-remote-state': true,
      'project-remote-state': true,
      'migration-environment': 'staging',
      'queue-all-runs': true,
      'speculative-enabled': false,
      'source-name': 'a tool',
      'source-url': 'https://tool.example',
      'structured-run-output-enabled': false,
      'terraform-version': '0.11.1',
      'trigger-prefixes': ['/modules', '/shared'],
      'trigger-patterns': ['/**/networking/*'],
      'working-directory': 'bar/',
      'auto-destroy-at': '2100-01-01T00:00:00.000Z',
      'auto-destroy-activity-duration': '14d',
      'inherits-project-auto-destroy': false,
      'execution-mode': 'local',
    };

    test('201 echoes every setting as it was sent, and a PATCH that names one of them leaves the others', async () => {
      const { body } = await add(owner, sent);
      const expected = {
        ...defaults,
        ...sent,
        operations: false,
        'setting-overwrites': { 'execution-mode': true, 'agent-pool': true },
      };
      for (const [name, value] of Object.entries(expected)) assert.deepEqual(body.data.attributes[name], value, name);
      // These follow from others.
      const derived = ['operations', 'setting-overwrites', 'can-queue-destroy-plan', 'updated-at', 'latest-change-at'];
      derived.push('inherits-project-auto-destroy', 'auto-destroy-activity-duration');
      for (const [name, value] of Object.entries(sent)) {
        const alone = await change(owner, await office.workspace(), { [name]: value });
        assert.equal(alone.status, 200, alone.text);
        assert.deepEqual(alone.body.data.attributes[name], value, name);
        const byDefault = defaults[name as keyof typeof defaults];
        const { attributes } = (await change(owner, body.data.id, { [name]: byDefault })).body.data;
        for (const [other, present] of Object.entries(body.data.attributes))
          if (other !== name && !derived.includes(other))
            assert.deepEqual(attributes[other], present, `${other} after ${name}`);
        await change(owner, body.data.id, { [name]: value });
      }
    });

    test('create, show by id, show by name and list answer the same resource byte for byte', async () => {
      const created = await add(owner, sent);
      const { id, attributes } = created.body.data;
      assert.equal((await owner.get(`/workspaces/${id}`)).text, created.text);
      assert.equal((await owner.get(`${inside}/${attributes.name}`)).text, created.text);
      const listed = await owner.get(`${inside}?search[name]=${attributes.name}`);
      assert.ok(listed.text.startsWith(`{"data":[${created.text.slice('{"data":'.length, -1)}]`));
      const updated = await change(owner, id, { description: 'other' });
      assert.equal((await owner.get(`/workspaces/${id}`)).text, updated.text);
      const locked = await owner.post(`/workspaces/${id}/actions/lock`);
      assert.equal((await owner.get(`${inside}/${attributes.name}`)).text, locked.text);
    });

    test('a time is kept to the millisecond and in UTC, whatever offset it came with', async () => {
      for (const [given, kept] of [
        ['2030-01-31T12:00:00Z', '2030-01-31T12:00:00.000Z'],
        ['2030-01-31T12:00:00.123456Z', '2030-01-31T12:00:00.123Z'],
        ['2030-01-31T12:00:00+02:00', '2030-01-31T10:00:00.000Z'],
      ])
        assert.equal((await add(owner, { 'auto-destroy-at': given })).body.data.attributes['auto-destroy-at'], kept);
    });

    test('a repository is shown with all its keys, and null takes it away', async () => {
      const { body } = await add(owner, { 'vcs-repo': { identifier: 'acme/infra', 'tags-regex': 'v.*' } });
      assert.deepEqual(body.data.attributes['vcs-repo'], {
        identifier: 'acme/infra',
        'display-identifier': 'acme/infra',
        branch: '',
        'ingress-submodules': false,
        'oauth-token-id': null,
        'github-app-installation-id': null,
        'tags-regex': 'v.*',
      });
      const gone = await change(owner, body.data.id, { 'vcs-repo': null });
      assert.equal(gone.body.data.attributes['vcs-repo'], null);
    });

    test('422 names the attribute: a name with other characters, an unknown version, wrong kinds and lengths', async () => {
      const bad: Record<string, unknown[]> = {
        name: ['', 'a b', 'a/b', 'ä', 'a.b', 'a'.repeat(91), null, 5],
        // The last one once took the server eleven seconds to refuse.
        'terraform-version': [
          `1.1,${' '.repeat(60_000)}x`,
          'nonexisting',
          '',
          '1',
          '1.x',
          'v1.2.3',
          '1.2.3.4.5',
          '1.2.3 or so',
          1.2,
        ],
        'execution-mode': ['cloud', '', null],
        'auto-destroy-at': [
          ...['soon', '2030-13-01T00:00:00Z', '2030-02-30T00:00:00Z', '2030-01-01T25:00:00Z', '2030-01-01', 5],
          ...['9999-12-31T23:59:59-14:00', '0000-01-01T00:00:00+10:00'],
        ],
        'auto-destroy-activity-duration': ['14', '14w', 'd', '12345d', '-1d', '0d', '000h', ''],
        'auto-apply': ['true', 1, null],
        'trigger-prefixes': ['/a', [5], null],
        description: ['x'.repeat(1025), 5],
        'vcs-repo': ['acme/infra', []],
        'setting-overwrites': [true, null],
        operations: ['remote', null],
        'agent-pool-id': [5],
      };
      const workspace = await office.workspace();
      for (const [attribute, values] of Object.entries(bad))
        for (const value of values) {
          const pointer = `/data/attributes/${attribute}`;
          const where = `${attribute} = ${JSON.stringify(value)}`;
          const created = await owner.post(inside, workspaceBody(fresh('bad'), undefined, { [attribute]: value }));
          assert.equal(created.status, 422, where);
          assert.ok(
            pointers(created).every(each => each.startsWith(pointer)),
            `${where}: ${pointers(created)}`,
          );
          assert.equal((await change(owner, workspace, { [attribute]: value })).status, 422, where);
        }
      const many = await owner.post(inside, {
        type: 'workspace',
        attributes: { 'auto-apply': 'yes', 'queue-all-runs': 0 },
        relationships: { project: { data: { id: defaultProject } } },
      });
      assert.deepEqual(pointers(many), [
        '/data/attributes/auto-apply',
        '/data/attributes/name',
        '/data/attributes/queue-all-runs',
        '/data/relationships/project/data/type',
        '/data/type',
      ]);
    });

    test('versions, constraints and latest are versions', async () => {
      for (const version of ['1.14.0', '0.15.4', '1.5', 'latest', '~> 1.9.0', '>= 1.2.0, < 2.0.0', '1.15.0-beta1'])
        assert.equal((await add(owner, { 'terraform-version': version })).status, 201, version);
    });

    test('a name is unique in its organization whatever its case, and free in another', async () => {
      const name = fresh('Unique');
      assert.equal((await owner.post(inside, workspaceBody(name))).status, 201);
      const again = await owner.post(inside, workspaceBody(name.toUpperCase(), await office.project()));
      assert.equal(again.status, 422);
      assert.deepEqual(pointers(again), ['/data/attributes/name']);
      assert.deepEqual(details(again), ['Name has already been taken']);
      const other = fresh('other');
      await directory.organization(owner, other);
      assert.equal((await owner.post(`/organizations/${other}/workspaces`, workspaceBody(name))).status, 201);
    });

    test('unknown attributes and relationships are ignored', async () => {
      const { status } = await owner.post(inside, {
        ...workspaceBody(fresh('odd'), undefined, { colour: 'blue' }),
        relationships: { colour: { data: null } },
      });
      assert.equal(status, 201);
    });

    test('who may create: where, by the right that gives it', async () => {
      const other = await office.project();
      const callers: Record<string, { actor: Actor; byDefault: number; there: number }> = {
        owner: { actor: owner, byDefault: 201, there: 201 },
        'organization token': { actor: organizationToken, byDefault: 201, there: 201 },
        'manage-workspaces': { actor: await office.holder('manage-workspaces'), byDefault: 201, there: 404 },
        'manage-projects': { actor: await office.holder('manage-projects'), byDefault: 201, there: 201 },
        'read-workspaces': {
          actor: await office.holder('read-workspaces', 'read-projects'),
          byDefault: 404,
          there: 404,
        },
        'plain member': { actor: (await office.member()).actor, byDefault: 404, there: 404 },
      };
      for (const [level, there] of Object.entries({ read: 404, write: 404, maintain: 201, admin: 201 }))
        callers[level] = {
          actor: await office.granted({ on: other, access: { access: level } }),
          byDefault: 404,
          there,
        };
      for (const [name, there] of Object.entries({ create: 201, delete: 404, move: 404, locking: 404 }))
        callers[`custom ${name}`] = {
          actor: await office.granted({ on: other, access: custom({ [name]: true }) }),
          byDefault: 404,
          there,
        };
      for (const [caller, { actor, byDefault, there }] of Object.entries(callers)) {
        assert.equal((await add(actor)).status, byDefault, `${caller} in the default project`);
        assert.equal(
          (await add(actor, {}, defaultProject)).status,
          byDefault,
          `${caller} in the default project by id`,
        );
        const elsewhere = await add(actor, {}, other);
        assert.equal(elsewhere.status, there, `${caller} in another project`);
        if (there === 201) assert.equal(elsewhere.body.data.relationships.project.data.id, other);
      }
    });

    test('404 for a project that is absent, hidden, elsewhere or not yours, before a word on the body', async () => {
      const { actor } = await office.member();
      const { actor: stranger } = await directory.user(fresh('stranger'));
      const elsewhere = fresh('elsewhere');
      await directory.organization(stranger, elsewhere);
      const foreign = await directory.project(stranger, elsewhere, 'foreign');
      const texts = new Set<string>();
      for (const [caller, project] of [
        [owner, 'prj-1111111111111111'],
        [owner, foreign],
        [actor, await office.project()],
        [actor, foreign],
      ] as const) {
        const answer = await add(caller, { 'auto-apply': 'yes' }, project);
        assert.equal(answer.status, 404);
        assert.deepEqual(pointers(answer), ['/data/relationships/project']);
        texts.add(answer.text);
      }
      assert.equal(texts.size, 1);
      assert.equal((await stranger.post(inside, workspaceBody('x', foreign))).text, (await stranger.get(inside)).text);
    });
  });

  describe('execution mode', () => {
    const shownMode = ({ body }: Answer) => {
      const { 'execution-mode': mode, operations, 'setting-overwrites': overwrites } = body.data.attributes;
      return [mode, operations, overwrites['execution-mode'], overwrites['agent-pool']];
    };
    const settings = (table: 'projects' | 'organizations', id: string, value: Json) =>
      directory.server.store.write(tx =>
        tx.run(
          table === 'projects'
            ? sql`update projects set settings = ${JSON.stringify(value)} where id = ${id}`
            : sql`update organizations set settings = ${JSON.stringify(value)} where name = ${id}`,
        ),
      );

    test('it comes from the project, and what that leaves open from the organization, until the workspace has its own', async () => {
      const organization = fresh('modes');
      await directory.organization(owner, organization);
      const project = await directory.project(owner, organization, 'modal');
      const id = await directory.workspace(owner, organization, 'heir', project);
      const read = async () => shownMode(await owner.get(`/workspaces/${id}`));
      assert.deepEqual(await read(), ['remote', true, false, false]);
      await settings('organizations', organization, { 'default-execution-mode': 'local' });
      assert.deepEqual(await read(), ['local', false, false, false]);
      await settings('projects', project, { 'default-execution-mode': 'remote' });
      assert.deepEqual(await read(), ['remote', true, false, false]);
      assert.deepEqual(shownMode(await change(owner, id, { 'execution-mode': 'local' })), ['local', false, true, true]);
      const inherits = { 'setting-overwrites': { 'execution-mode': false, 'agent-pool': false } };
      assert.deepEqual(shownMode(await change(owner, id, inherits)), ['remote', true, false, false]);
      const keeps = { 'setting-overwrites': { 'execution-mode': true } };
      assert.deepEqual(shownMode(await change(owner, id, keeps)), ['remote', true, true, true]);
      await settings('projects', project, { 'default-execution-mode': 'local' });
      assert.deepEqual(await read(), ['remote', true, true, true], 'its own stays');
    });

    test('operations is the older word for it: false is local, true is anything else', async () => {
      const { id } = (await add(owner)).body.data;
      assert.deepEqual(shownMode(await change(owner, id, { operations: true })), ['remote', true, false, false]);
      assert.deepEqual(shownMode(await change(owner, id, { operations: false })), ['local', false, true, true]);
      assert.deepEqual(shownMode(await change(owner, id, { operations: true })), ['remote', true, true, true]);
      assert.deepEqual(shownMode(await add(owner, { operations: false })), ['local', false, true, true]);
    });

    test('422 in the words that clients look for: an agent pool without agent mode, and agent mode without one', async () => {
      const { id } = (await add(owner)).body.data;
      const answers = async (attributes: Json) => [await add(owner, attributes), await change(owner, id, attributes)];
      const pointer = ['/data/attributes/agent-pool-id'];
      for (const answer of await answers({ 'agent-pool-id': 'apool-xxxxx' })) {
        assert.deepEqual([answer.status, pointers(answer)], [422, pointer]);
        assert.match(details(answer)[0] ?? '', /must not be specified unless using 'agent' execution mode/);
      }
      for (const answer of await answers({ 'execution-mode': 'agent' })) {
        assert.deepEqual([answer.status, pointers(answer)], [422, pointer]);
        assert.match(details(answer)[0] ?? '', /must be specified when using 'agent' execution mode/);
      }
      for (const answer of await answers({ 'execution-mode': 'agent', 'agent-pool-id': 'apool-xxxxx' }))
        assert.deepEqual([answer.status, pointers(answer)], [422, pointer]);
      for (const none of [null, '']) assert.equal((await change(owner, id, { 'agent-pool-id': none })).status, 200);
    });

    test('422 where setting-overwrites or operations contradict themselves or the mode, and nothing is changed', async () => {
      const { id } = (await add(owner)).body.data;
      const overwrites = (mode?: boolean, pool?: boolean) => ({
        'setting-overwrites': { 'execution-mode': mode, 'agent-pool': pool },
      });
      const same =
        'If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.';
      const inherited = 'setting-overwrites cannot be false with another execution-mode than the inherited one';
      const cases: [Json, string, string][] = [
        [overwrites(true, false), 'setting-overwrites', same],
        [overwrites(false, true), 'setting-overwrites', same],
        [{ 'execution-mode': 'local', ...overwrites(false) }, 'setting-overwrites', inherited],
        [{ 'execution-mode': 'local', ...overwrites(undefined, false) }, 'setting-overwrites', inherited],
        [{ operations: false, ...overwrites(false, false) }, 'setting-overwrites', inherited],
        [
          { 'execution-mode': 'local', operations: true },
          'operations',
          "operations cannot be true with the execution-mode 'local'",
        ],
        [
          { 'execution-mode': 'remote', operations: false },
          'operations',
          "operations cannot be false with the execution-mode 'remote'",
        ],
      ];
      for (const [attributes, pointer, detail] of cases)
        for (const answer of [await add(owner, attributes), await change(owner, id, attributes)]) {
          assert.deepEqual([answer.status, pointers(answer)], [422, [`/data/attributes/${pointer}`]]);
          assert.equal(details(answer)[0]?.split('\n').at(-1), detail);
        }
      assert.deepEqual(shownMode(await owner.get(`/workspaces/${id}`)), ['remote', true, false, false]);
    });

    test('what was read may be sent back, and mode and pool are given up together', async () => {
      const { id, attributes } = (await add(owner)).body.data;
      const { 'execution-mode': mode, operations, 'setting-overwrites': overwrites } = attributes;
      const read = { 'execution-mode': mode, operations, 'setting-overwrites': overwrites };
      assert.deepEqual(shownMode(await change(owner, id, read)), ['remote', true, false, false]);
      const local = { 'execution-mode': 'local', operations: false };
      assert.deepEqual(shownMode(await change(owner, id, local)), ['local', false, true, true]);
      const givenUp = { 'setting-overwrites': { 'agent-pool': false } };
      assert.deepEqual(shownMode(await change(owner, id, givenUp)), ['remote', true, false, false]);
    });

    test('auto-destroy: a time or a duration of its own inherits none, and what the project sets is shown until then', async () => {
      const project = await office.project();
      await settings('projects', project, { 'auto-destroy-activity-duration': '30d' });
      const shownDestroy = ({ body }: Answer) => {
        const { attributes } = body.data;
        return [
          attributes['auto-destroy-at'],
          attributes['auto-destroy-activity-duration'],
          attributes['inherits-project-auto-destroy'],
        ];
      };
      const created = await add(owner, {}, project);
      assert.deepEqual(shownDestroy(created), [null, '30d', true]);
      const { id } = created.body.data;
      const at = '2100-01-01T00:00:00.000Z';
      for (const [attributes, expected] of [
        [{ 'auto-destroy-at': at }, [at, null, false]],
        [{ 'auto-destroy-at': null }, [null, '30d', true]],
        [{ 'auto-destroy-activity-duration': '6h' }, [null, '6h', false]],
        [{ 'inherits-project-auto-destroy': true }, [null, '30d', true]],
        [{ 'inherits-project-auto-destroy': false, 'auto-destroy-activity-duration': null }, [null, null, false]],
      ] as const)
        assert.deepEqual(shownDestroy(await change(owner, id, attributes)), expected, JSON.stringify(attributes));
    });
  });

  describe('PATCH', () => {
    test('renames: the new name leads to it in any case, the old one to 404', async () => {
      const { id, attributes } = (await add(owner)).body.data;
      const name = fresh('Renamed');
      const renamed = await change(owner, id, { name });
      assert.equal(renamed.status, 200);
      assert.equal(renamed.body.data.links.self, `/api/v2/organizations/acme/workspaces/${name}`);
      assert.equal((await owner.get(`/organizations/ACME/workspaces/${name.toUpperCase()}`)).text, renamed.text);
      assert.equal((await owner.get(`${inside}/${attributes.name}`)).status, 404);
      assert.equal((await change(owner, id, { name: name.toLowerCase() })).status, 200, 'its own name is not taken');
      const taken = (await add(owner)).body.data.attributes.name;
      assert.deepEqual(pointers(await change(owner, id, { name: taken.toUpperCase() })), ['/data/attributes/name']);
    });

    test('by name as by id; data.id and data.type may be absent, and must be right where they are present', async () => {
      const { id, attributes } = (await add(owner)).body.data;
      for (const path of [`/workspaces/${id}`, `${inside}/${attributes.name.toUpperCase()}`]) {
        for (const data of [
          { attributes: { description: path } },
          { type: 'workspaces', attributes: { description: path } },
          { id, type: 'workspaces', attributes: { description: path } },
          { id: '', attributes: { description: path } },
          {},
        ]) {
          const answer = await owner.patch(path, data);
          assert.equal(answer.status, 200, answer.text);
          assert.equal(answer.body.data.attributes.description, path);
        }
        for (const wrong of ['ws-1111111111111111', attributes.name, 'acme'])
          assert.deepEqual(pointers(await owner.patch(path, { id: wrong })), ['/data/id'], wrong);
        assert.deepEqual(pointers(await owner.patch(path, { type: 'projects' })), ['/data/type']);
        assert.deepEqual(pointers(await owner.patch(path)), ['/data']);
      }
    });

    test('updated-at and latest-change-at tell of the last change, created-at of the first', async () => {
      const { id, attributes } = (await add(owner)).body.data;
      const changed = (await change(owner, id, { description: 'x' })).body.data.attributes;
      assert.equal(changed['created-at'], attributes['created-at']);
      assert.ok(changed['updated-at'] > attributes['updated-at']);
      assert.equal(changed['latest-change-at'], changed['updated-at']);
    });

    test('412 when If-Match no longer holds, by id and by name, and nothing is changed', async () => {
      const { id, attributes } = (await add(owner)).body.data;
      const { headers } = await owner.get(`/workspaces/${id}`);
      const tag = { 'if-match': headers.etag ?? '' };
      assert.equal((await owner.patch(`/workspaces/${id}`, { attributes: { description: 'a' } }, tag)).status, 200);
      for (const path of [`/workspaces/${id}`, `${inside}/${attributes.name}`]) {
        assert.equal((await owner.patch(path, { attributes: { description: 'b' } }, tag)).status, 412);
        assert.equal((await owner.delete(path, undefined, tag)).status, 412);
      }
      assert.equal((await shown(id)).attributes.description, 'a');
    });

    test('a refused change changes nothing', async () => {
      const id = await office.workspace();
      const before = await owner.get(`/workspaces/${id}`);
      assert.equal((await change(owner, id, { description: 'x', 'execution-mode': 'agent' })).status, 422);
      assert.equal((await move(owner, id, 'prj-1111111111111111', { description: 'x' })).status, 404);
      assert.equal((await owner.get(`/workspaces/${id}`)).text, before.text);
    });

    test('who may change the settings: administrators of the workspace, of its project and of all workspaces', async () => {
      const project = await office.project();
      const id = await office.workspace(project);
      const expected: Record<string, [Actor, number]> = {
        owner: [owner, 200],
        'organization token': [organizationToken, 200],
        'manage-workspaces': [await office.holder('manage-workspaces'), 200],
        'manage-projects': [await office.holder('manage-projects'), 200],
        'read-workspaces': [await office.holder('read-workspaces'), 404],
        'plain member': [(await office.member()).actor, 404],
        'every custom right': [
          await office.granted({
            on: project,
            access: custom({
              runs: 'apply',
              'sentinel-mocks': 'read',
              'state-versions': 'write',
              variables: 'write',
              create: true,
              locking: true,
              delete: true,
              'run-tasks': true,
            }),
          }),
          404,
        ],
      };
      for (const [access, status] of Object.entries({ read: 404, write: 404, maintain: 200, admin: 200 }))
        expected[`project ${access}`] = [await office.granted({ on: project, access: { access } }), status];
      for (const [access, status] of Object.entries({ read: 404, plan: 404, write: 404, admin: 200, custom: 404 }))
        expected[`workspace ${access}`] = [await office.granted({ on: id, access: { access } }), status];
      for (const [who, [actor, status]] of Object.entries(expected)) {
        assert.equal((await change(actor, id, { description: who })).status, status, who);
        assert.equal((await change(actor, id, { 'auto-apply': 'yes' })).status, status === 200 ? 422 : 404, who);
        assert.equal((await actor.patch(`/workspaces/${id}`, {})).status, status, `${who}, of nothing`);
      }
    });
  });

  describe('moves', () => {
    test('200 with the right to move on both projects; the grants of the workspace go with it', async () => {
      const [from, to] = [await office.project(), await office.project()];
      const id = await office.workspace(from);
      const reader = await office.granted({ on: id, access: { access: 'read' } });
      const inFrom = await office.granted({ on: from, access: { access: 'admin' } });
      const inTo = await office.granted({ on: to, access: { access: 'write' } });
      const mover = await office.granted(
        { on: from, access: custom({ move: true }) },
        { on: to, access: custom({ move: true }) },
      );
      assert.deepEqual(
        [(await reader.get(`/workspaces/${id}`)).status, (await inTo.get(`/workspaces/${id}`)).status],
        [200, 404],
      );
      const moved = await move(mover, id, to);
      assert.equal(moved.status, 200, moved.text);
      assert.equal(moved.body.data.relationships.project.data.id, to);
      assert.equal((await mover.get(`/workspaces/${id}`)).text, moved.text);
      const statuses = [];
      for (const actor of [reader, inFrom, inTo]) statuses.push((await actor.get(`/workspaces/${id}`)).status);
      assert.deepEqual(statuses, [200, 404, 200]);
      assert.deepEqual(namesOf(await owner.get(`${inside}?filter[project][id]=${from}`)), []);
    });

    test('404 at the project without it on either side, and nothing moves', async () => {
      const [from, to] = [await office.project(), await office.project()];
      const id = await office.workspace(from);
      const moves = custom({ move: true });
      const { move: _, ...rest } = { move: true, create: true, delete: true, locking: true };
      const cases: [string, Actor, string[]][] = [
        ['only out', await office.granted({ on: from, access: moves }, { on: to, access: custom(rest) }), [to]],
        ['only in', await office.granted({ on: to, access: moves }, { on: from, access: { access: 'maintain' } }), []],
        ['manage-workspaces', await office.holder('manage-workspaces'), []],
        [
          'workspace admin',
          await office.granted({ on: id, access: { access: 'admin' } }, { on: to, access: moves }),
          [],
        ],
      ];
      for (const [who, actor, named] of cases) {
        const answer = await move(actor, id, to);
        assert.equal(answer.status, 404, who);
        assert.deepEqual(pointers(answer), named.length > 0 ? ['/data/relationships/project'] : [undefined], who);
        assert.equal(answer.text, (await move(actor, id, 'prj-1111111111111111')).text, `${who}: as an absent one`);
      }
      assert.equal((await shown(id)).relationships.project.data.id, from);
    });

    test('who may move but not administer sends the move alone: with a setting it is 404, with the present project too', async () => {
      const [from, to] = [await office.project(), await office.project()];
      const id = await office.workspace(from);
      const mover = await office.granted(
        { on: from, access: custom({ move: true }) },
        { on: to, access: { access: 'admin' } },
      );
      assert.equal((await move(mover, id, to, { description: 'x' })).status, 404);
      assert.equal((await move(mover, id, from)).status, 404);
      assert.equal((await mover.patch(`/workspaces/${id}`, {})).status, 404);
      assert.equal((await move(mover, id, to, {})).status, 200, 'no attributes are no change');
      assert.equal((await move(mover, id, to, { description: 'x' })).status, 200, 'and there it administers');
    });

    test('a move and a change of settings in one go; a project of another organization is as one that is absent', async () => {
      const [from, to] = [await office.project(), await office.project()];
      const id = await office.workspace(from);
      const both = await move(owner, id, to, { description: 'moved', name: fresh('moved') });
      assert.equal(both.status, 200);
      assert.equal(both.body.data.attributes.description, 'moved');
      assert.equal(both.body.data.relationships.project.data.id, to);
      const elsewhere = fresh('elsewhere');
      await directory.organization(owner, elsewhere);
      const foreign = await directory.project(owner, elsewhere, 'foreign');
      const refused = await move(owner, id, foreign);
      assert.equal(refused.status, 404);
      assert.equal(refused.text, (await move(owner, id, 'prj-1111111111111111')).text);
      const wrongType = await owner.patch(`/workspaces/${id}`, {
        relationships: { project: { data: { type: 'teams', id: from } } },
      });
      assert.deepEqual(pointers(wrongType), ['/data/relationships/project/data/type']);
    });
  });

  describe('lists', () => {
    const organization = 'shelf';
    const path = `/organizations/${organization}/workspaces`;
    const names = ['Beta', 'alpha', 'gamma-prod', 'delta-prod', 'under_score', 'underxscore', 'epsilon'];
    let project: string;
    let reader: Actor;
    before(async () => {
      await directory.organization(owner, organization);
      project = await directory.project(owner, organization, 'other');
      for (const [index, name] of names.entries())
        await directory.workspace(owner, organization, name, index % 2 ? project : undefined);
      reader = (await directory.member(owner, organization, fresh('shelf-reader'))).actor;
    });
    const list = (query = '', actor = owner) => actor.get(`${path}${query}`);
    const among = (pattern: RegExp) => names.filter(name => pattern.test(name));

    test('in the order of creation, with totals, pages and full links that carry the query', async () => {
      const whole = await list();
      assert.deepEqual(namesOf(whole), names);
      assert.deepEqual(whole.body.meta.pagination, {
        'current-page': 1,
        'page-size': 20,
        'prev-page': null,
        'next-page': null,
        'total-pages': 1,
        'total-count': 7,
      });
      const second = await list('?page[number]=2&page[size]=3&search[name]=a&sort=-name');
      const matches = among(/a/i).toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? 1 : -1));
      assert.deepEqual(namesOf(second), matches.slice(3, 6));
      const at = (page: number) =>
        `https://bailiwick.example/api/v2${path}?search%5Bname%5D=a&sort=-name&page%5Bnumber%5D=${page}&page%5Bsize%5D=3`;
      assert.deepEqual(second.body.links, { self: at(2), first: at(1), prev: at(1), next: null, last: at(2) });
      const past = await list('?page[number]=999&page[size]=100');
      assert.deepEqual([namesOf(past), past.body.meta.pagination['current-page']], [[], 999]);
      assert.equal(past.body.meta.pagination['total-count'], 7);
    });

    test('search[name] is a part of the name in any case, and its signs stand for themselves', async () => {
      for (const [text, pattern] of [
        ['A', /a/i],
        ['PROD', /prod/],
        ['under_', /under_/],
        ['%25', /%/],
        ['%5C', /\\/],
        ['', /./],
        ['nothing', /nothing/],
      ] as const)
        assert.deepEqual(namesOf(await list(`?search[name]=${text}`)), among(pattern), text);
    });

    test('search[wildcard-name] is the whole name, with * for any text', async () => {
      for (const [text, pattern] of [
        ['*-prod', /-prod$/],
        ['*-dev', /-dev$/],
        ['ALPHA', /^alpha$/],
        ['*a', /a$/],
        ['under_*', /^under_/],
        ['*elta*', /elta/],
        ['*', /./],
        ['prod', /^prod$/],
      ] as const)
        assert.deepEqual(namesOf(await list(`?search[wildcard-name]=${text}`)), among(pattern), text);
    });

    test('filter[project][id], search[tags], search[exclude-tags] and filter[current-run][status] narrow it', async () => {
      const inProject = names.filter((_, index) => index % 2);
      assert.deepEqual(namesOf(await list(`?filter[project][id]=${project}`)), inProject);
      assert.deepEqual(namesOf(await list(`?filter%5Bproject%5D%5Bid%5D=${project}&search[name]=prod`)), [
        'delta-prod',
      ]);
      for (const none of ['filter[project][id]=prj-1111111111111111', `filter[project][id]=${defaultProject}`])
        assert.deepEqual(namesOf(await list(`?${none}`)), [], 'absent, or of another organization');
      assert.deepEqual(namesOf(await list('?search[tags]=a,b')), []);
      assert.deepEqual(namesOf(await list('?search[exclude-tags]=a,b')), names);
      assert.deepEqual(namesOf(await list('?filter[current-run][status]=applied')), [], 'nothing is run here');
    });

    test('sort by name whatever its case, by the latest change, and the other way round; 400 for anything else', async () => {
      const byName = names.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
      assert.deepEqual(namesOf(await list('?sort=name')), byName);
      assert.deepEqual(namesOf(await list('?sort=-name')), byName.toReversed());
      assert.deepEqual(namesOf(await list('?sort=current-run.created-at')), names);
      assert.deepEqual(namesOf(await list('?sort=-current-run.created-at')), names.toReversed());
      await owner.patch(`${path}/Beta`, { attributes: { description: 'changed' } });
      assert.deepEqual(namesOf(await list('?sort=latest-change-at')), [...names.slice(1), 'Beta']);
      assert.deepEqual(namesOf(await list('?sort=-latest-change-at')), ['Beta', ...names.slice(1).toReversed()]);
      const bad = await list('?sort=size');
      assert.deepEqual([bad.status, bad.body.errors[0].source.parameter], [400, 'sort']);
    });

    test('a hidden workspace counts nowhere: what a caller sees are the totals of its list', async () => {
      const unseen = await list('', reader);
      assert.deepEqual([unseen.status, unseen.body.data], [200, []]);
      assert.equal(unseen.body.meta.pagination['total-count'], 0);
      const username = (await reader.get('/account/details')).body.data.attributes.username;
      const attributes = { name: fresh('shelf'), visibility: 'secret' };
      const team = await directory.team(owner, organization, attributes, [username]);
      const [alpha = '', beta = ''] = await Promise.all(
        ['alpha', 'Beta'].map(async name => (await owner.get(`${path}/${name}`)).body.data.id),
      );
      await office.grant(beta, team, { access: 'custom' });
      assert.deepEqual(namesOf(await list('', reader)), ['Beta']);
      assert.equal((await reader.get(`/workspaces/${alpha}`)).status, 404);
      assert.equal((await reader.get(`${path}/alpha`)).status, 404);
      const grant = await office.grant(project, team, { access: 'read' });
      const both = names.filter((name, index) => index % 2 || name === 'Beta');
      const paged = await list('?page[size]=2&page[number]=2', reader);
      assert.deepEqual(namesOf(paged), both.slice(2));
      assert.deepEqual(paged.body.meta.pagination['total-count'], both.length);
      await owner.delete(`/team-projects/${grant}`);
      assert.deepEqual(namesOf(await list('', reader)), ['Beta']);
      await owner.patch(`/teams/${team}`, { attributes: { 'organization-access': { 'manage-policies': true } } });
      assert.deepEqual(namesOf(await list('', reader)), names);
    });

    test('404 to a stranger, of the list and of each workspace by id and by name', async () => {
      const { actor: stranger } = await directory.user(fresh('stranger'));
      const { id } = (await owner.get(`${path}/alpha`)).body.data;
      const texts = new Set<string>();
      for (const wanted of [
        path,
        `/workspaces/${id}`,
        `${path}/alpha`,
        `${path}/none`,
        '/organizations/none/workspaces/x',
      ])
        texts.add((await stranger.get(wanted)).text);
      assert.equal(texts.size, 1);
      assert.match([...texts][0] ?? '', /"404"/);
    });
  });

  describe('permissions', () => {
    const held = async (actor: Actor, id: string) => {
      const { permissions } = (await shown(id, actor)).attributes;
      return Object.keys(permissions).filter(key => permissions[key]);
    };
    const reading = ['can-read-settings', 'can-read-run', 'can-read-assessment-results'];
    const all = Object.entries(everything).flatMap(([key, value]) => (value ? [key] : []));

    test('what each level on a workspace opens, and what it does not', async () => {
      const id = await office.workspace();
      const states = ['can-read-state-versions', 'can-read-state-outputs'];
      const read = [...reading, 'can-read-variable', ...states];
      const write = [
        ...read,
        'can-queue-run',
        'can-queue-apply',
        'can-queue-destroy',
        'can-update-variable',
        'can-create-state-versions',
        'can-lock',
        'can-unlock',
      ];
      for (const [access, expected] of Object.entries({
        read,
        plan: [...read, 'can-queue-run'],
        write,
        admin: all.filter(key => key !== 'can-move'),
        custom: reading,
      }))
        assert.deepEqual(
          (await held(await office.granted({ on: id, access: { access } }), id)).toSorted(),
          expected.toSorted(),
          access,
        );
    });

    test('what each choice of a custom grant opens beside reading, and nothing else', async () => {
      const id = await office.workspace();
      const opened: [string, string | boolean, string[]][] = [
        ['runs', 'read', []],
        ['runs', 'plan', ['can-queue-run']],
        ['runs', 'apply', ['can-queue-apply', 'can-queue-destroy', 'can-queue-run']],
        ['variables', 'read', ['can-read-variable']],
        ['variables', 'write', ['can-read-variable', 'can-update-variable']],
        ['state-versions', 'read-outputs', ['can-read-state-outputs']],
        ['state-versions', 'read', ['can-read-state-outputs', 'can-read-state-versions']],
        ['state-versions', 'write', ['can-create-state-versions', 'can-read-state-outputs', 'can-read-state-versions']],
        ['sentinel-mocks', 'read', []],
        ['workspace-locking', true, ['can-lock', 'can-unlock']],
        ['run-tasks', true, ['can-manage-run-tasks']],
        ['policy-overrides', true, []],
      ];
      for (const [name, value, expected] of opened) {
        const actor = await office.granted({ on: id, access: { access: 'custom', [name]: value } });
        assert.deepEqual(
          (await held(actor, id)).toSorted(),
          [...reading, ...expected].toSorted(),
          `${name} = ${value}`,
        );
      }
    });

    test('grants join: on the workspace, on its project, of every team of the caller', async () => {
      const project = await office.project();
      const id = await office.workspace(project);
      const other = await office.workspace(project);
      const caller = await office.granted(
        { on: project, access: custom({ variables: 'read', locking: true }) },
        { on: id, access: { access: 'plan' } },
      );
      const [here, there] = [await held(caller, id), await held(caller, other)];
      assert.ok(
        here.includes('can-queue-run') && here.includes('can-lock') && here.includes('can-read-state-versions'),
      );
      assert.deepEqual(there.toSorted(), [...reading, 'can-read-variable', 'can-lock', 'can-unlock'].toSorted());
      const alone = await office.granted({ on: id, access: { access: 'plan' } });
      assert.equal((await alone.get(`/workspaces/${other}`)).status, 404);
      assert.equal((await alone.get(`/projects/${project}`)).status, 404, 'a workspace does not show its project');
    });

    test('an organization token starts nothing, and no token of it says that it can', async () => {
      const id = await office.workspace();
      const starting = ['can-queue-run', 'can-queue-apply', 'can-queue-destroy'];
      assert.deepEqual(
        (await held(organizationToken, id)).toSorted(),
        all.filter(key => !starting.includes(key)).toSorted(),
      );
      const { attributes } = await shown(id, organizationToken);
      assert.equal(attributes['can-queue-destroy-plan'], false);
      await change(owner, id, { 'allow-destroy-plan': false });
      assert.equal((await shown(id)).attributes['can-queue-destroy-plan'], false, 'nor where no plan is allowed');
    });
  });

  test('deleting an organization takes its workspaces away', async () => {
    const organization = fresh('doomed');
    await directory.organization(owner, organization);
    const id = await directory.workspace(owner, organization, 'gone');
    assert.equal((await owner.delete(`/organizations/${organization}`)).status, 204);
    assert.equal((await owner.get(`/workspaces/${id}`)).status, 404);
  });

  test('an organization that shuts out user tokens does so on its workspaces too; its own tokens go on', async () => {
    const organization = fresh('closed');
    await directory.organization(owner, organization);
    const id = await directory.workspace(owner, organization, 'inside');
    const token = (await owner.make(`/organizations/${organization}/authentication-token`)).attributes.token;
    await directory.server.store.write(tx =>
      tx.run(sql`update organizations set user_tokens_enabled = 0 where name = ${organization}`),
    );
    for (const path of [`/workspaces/${id}`, `/organizations/${organization}/workspaces`])
      assert.deepEqual(
        [(await owner.get(path)).status, (await directory.actor(token).get(path)).status],
        [401, 200],
        path,
      );
    assert.equal((await owner.post(`/workspaces/${id}/actions/lock`)).status, 401);
  });
});
