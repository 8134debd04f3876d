/** Tags on projects and workspaces: who reads and changes them, what they may say, and what a workspace inherits. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import { pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, newDirectory } from './support/world.ts';

const tag = (key: string, value?: Json) => ({ type: 'tag-bindings', attributes: { key, value } });
const told = ({ body }: Answer): string =>
  body.data.map(({ attributes }: Json) => `${attributes.key}=${attributes.value}`).join(' ');

let directory: Directory;
let owner: Actor;
let fresh = 0;
before(async () => {
  directory = await newDirectory();
  owner = (await directory.user('owner')).actor;
  await directory.organization(owner, 'acme');
});
after(() => directory.server.close());

const newPlaces = async () => {
  const project = await directory.project(owner, 'acme', `project-${fresh++}`);
  const workspace = await directory.workspace(owner, 'acme', `workspace-${fresh++}`, project);
  return { project: `/projects/${project}`, workspace: `/workspaces/${workspace}` };
};
const bound = async (place: string) => told(await owner.get(`${place}/tag-bindings`));

for (const kind of ['project', 'workspace'] as const)
  describe(`tags of a ${kind}`, () => {
    let place: string;
    before(async () => {
      place = (await newPlaces())[kind];
    });
    const add = (...tags: Json[]) => owner.patch(`${place}/tag-bindings`, tags);
    const replace = (...tags: Json[]) => owner.patch(`${place}/relationships/tag-bindings`, tags);

    test('PATCH tag-bindings: 200 with all of them in the order given; a key that is there gets the value and keeps its id', async () => {
      const first = await add(tag('foo', 'bar'), tag('baz', 'qux'));
      assert.equal(first.status, 200);
      assert.equal(told(first), 'foo=bar baz=qux');
      const second = await add(tag('new'), tag('foo', 'other'));
      assert.equal(told(second), 'foo=other baz=qux new=');
      const ids = ({ body }: Answer) => body.data.map(({ id }: Json) => id);
      assert.deepEqual(ids(second).slice(0, 2), ids(first));
      assert.match(ids(second)[2], /^tb-[1-9A-HJ-NP-Za-km-z]{16}$/);
      const read = await owner.get(`${place}/tag-bindings`);
      assert.equal(read.text, second.text);
      assert.equal(read.headers.etag, second.headers.etag);
      assert.equal((await owner.get(`${place}/relationships/tag-bindings`)).text, read.text);
      assert.equal((await add()).text, read.text);
    });

    test('POST relationships/tag-bindings: 204, adds as well; PATCH: 204, replaces all; an empty one clears', async () => {
      await replace(tag('a', '1'), tag('b', '2'));
      assert.equal((await owner.post(`${place}/relationships/tag-bindings`, [tag('c', '3')])).status, 204);
      assert.equal(await bound(place), 'a=1 b=2 c=3');
      assert.equal((await replace(tag('d'), tag('b', '9'))).status, 204);
      assert.equal(await bound(place), 'b=9 d=');
      assert.equal((await replace()).status, 204);
      assert.equal(await bound(place), '');
    });

    test('a value may be absent, null or empty; a key and a value have the characters that they may have', async () => {
      const signs = 'aZ09_.=+-@:';
      assert.equal(
        told(await add(tag('k'), tag('n', null), tag('e', ''), tag(signs, signs))),
        `k= n= e= ${signs}=${signs}`,
      );
      assert.equal(
        (await replace(tag('k'.repeat(128), 'v'.repeat(256)), tag('hc'), tag('hcpx:'), tag('xhc:'))).status,
        204,
      );
      for (const key of ['', ' ', 'a b', 'a,b', 'ä', 'a/b', 'hc:a', 'hcp:a', 'hcp:', 'k'.repeat(129), 5, null])
        assert.deepEqual(pointers(await add(tag('fine'), tag(key as string))), ['/data/1/attributes/key'], `${key}`);
      for (const value of [' ', 'a,b', 'a b', 'é', 'v'.repeat(257), 5, true, []])
        assert.deepEqual(pointers(await add(tag('fine', value))), ['/data/0/attributes/value'], `${value}`);
      await replace();
    });

    test('422 for a key that is there twice, for another type, and for what is no list', async () => {
      assert.deepEqual(pointers(await add(tag('a', '1'), tag('b'), tag('a', '2'))), ['/data/2/attributes/key']);
      assert.deepEqual(pointers(await replace(tag('a'), tag('a'))), ['/data/1/attributes/key']);
      assert.deepEqual(pointers(await add({ type: 'tags', attributes: { key: 'a' } })), ['/data/0/type']);
      assert.deepEqual(pointers(await add({ type: 'tag-bindings' })), ['/data/0/attributes']);
      assert.deepEqual(pointers(await owner.patch(`${place}/tag-bindings`, tag('a'))), ['/data']);
      assert.deepEqual(pointers(await owner.patch(`${place}/tag-bindings`)), ['/data']);
      assert.equal(await bound(place), '');
    });

    test('ten at most, counted after the change', async () => {
      const many = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => tag(`key-${from + at}`));
      assert.equal((await add(...many(0, 10))).status, 200);
      const refused = await add(tag('one-more'));
      assert.deepEqual([refused.status, pointers(refused)], [422, ['/data']]);
      assert.match(refused.body.errors[0].detail, /cannot exceed 10 bindings per resource/);
      assert.equal((await add(tag('key-3', 'other'))).status, 200);
      assert.equal((await replace(...many(5, 16))).status, 422);
      assert.equal((await replace(...many(5, 15))).status, 204);
      assert.equal((await bound(place)).split(' ').length, 10);
      await replace();
    });

    test('If-Match is of the list: 412 when it has changed', async () => {
      const { headers } = await add(tag('a', '1'));
      await add(tag('a', '2'));
      for (const [method, path] of [
        ['patch', 'tag-bindings'],
        ['post', 'relationships/tag-bindings'],
        ['patch', 'relationships/tag-bindings'],
      ] as const) {
        const stale = await owner[method](`${place}/${path}`, [tag('b')], { 'if-match': `${headers.etag}` });
        assert.equal(stale.status, 412);
      }
      const current = (await owner.get(`${place}/tag-bindings`)).headers.etag;
      assert.equal((await owner.patch(`${place}/tag-bindings`, [tag('b')], { 'if-match': `${current}` })).status, 200);
      await replace();
    });

    test('each change is one audit row, with the tags before and after', async () => {
      const id = place.split('/').at(-1) as string;
      await add(tag('a', '1'));
      await replace(tag('b'));
      const rows = await directory.server.store.read(tx =>
        tx.rows<[string, string, string, string]>(sql`
          select resource_type, action, before_change, after_change
          from audit_events
          where resource_id = ${id}
          order by created_at desc
          limit 2`),
      );
      const [second, first] = rows.map(([type, action, before, after]) => [
        `${type}.${action}`,
        JSON.parse(before)['tag-bindings'],
        JSON.parse(after)['tag-bindings'],
      ]);
      assert.deepEqual(first, [`${kind}.update`, [], [{ key: 'a', value: '1' }]]);
      assert.deepEqual(second, [`${kind}.update`, [{ key: 'a', value: '1' }], [{ key: 'b', value: '' }]]);
      await replace();
    });
  });

describe('who', () => {
  const attempts = async (actor: Actor, place: string): Promise<string> => {
    const statuses = [
      await actor.get(`${place}/tag-bindings`),
      await actor.get(`${place}/relationships/tag-bindings`),
      await actor.get(`${place}/effective-tag-bindings`),
      await actor.patch(`${place}/tag-bindings`, [tag('a')]),
      await actor.post(`${place}/relationships/tag-bindings`, [tag('a')]),
      await actor.patch(`${place}/relationships/tag-bindings`, [tag('a')]),
      // Whoever may not learns nothing of what is wrong.
      await actor.patch(`${place}/tag-bindings`, [{ wrong: true }]),
    ].map(({ status }) => status);
    return statuses.join(' ');
  };
  const [no, reads, changes] = [
    '404 404 404 404 404 404 404',
    '200 200 200 404 404 404 404',
    '200 200 200 200 204 204 422',
  ];
  const custom = (group: string, values: Json) => ({ access: 'custom', [group]: values });

  const onProject: [Json, string, string][] = [
    [undefined, no, no],
    [{ access: 'read' }, reads, reads],
    [{ access: 'write' }, reads, reads],
    [{ access: 'maintain' }, reads, changes],
    [{ access: 'admin' }, changes, changes],
    [custom('project-access', { settings: 'update' }), changes, reads],
    [custom('project-access', { teams: 'manage' }), reads, reads],
  ];
  for (const [access, ofProject, ofWorkspace] of onProject)
    test(`with ${access ? JSON.stringify(access) : 'nothing'} on the project: ${ofProject}; on its workspace: ${ofWorkspace}`, async () => {
      const { project, workspace } = await newPlaces();
      const name = `member-${fresh++}`;
      const { actor } = await directory.member(owner, 'acme', name);
      const team = await directory.team(owner, 'acme', { name: `team-${fresh++}` }, [name]);
      if (access) await directory.grant(owner, project.replace('/projects/', ''), team, access);
      assert.equal(await attempts(actor, project), ofProject);
      assert.equal(await attempts(actor, workspace), ofWorkspace);
    });

  for (const [access, expected] of [
    ['read', reads],
    ['plan', reads],
    ['write', reads],
    ['admin', changes],
  ] as const)
    test(`with ${access} on the workspace: ${expected}; on its project nothing`, async () => {
      const { project, workspace } = await newPlaces();
      const name = `member-${fresh++}`;
      const { actor } = await directory.member(owner, 'acme', name);
      const team = await directory.team(owner, 'acme', { name: `team-${fresh++}` }, [name]);
      await directory.workspaceGrant(owner, workspace.replace('/workspaces/', ''), team, { access });
      assert.equal(await attempts(actor, workspace), expected);
      assert.equal(await attempts(actor, project), no);
    });

  test('a stranger gets 404 on all of them', async () => {
    const { project, workspace } = await newPlaces();
    const { actor } = await directory.user(`stranger-${fresh++}`);
    for (const place of [project, workspace]) assert.equal(await attempts(actor, place), no);
  });
});

describe('effective-tag-bindings', () => {
  const effective = async (place: string): Promise<Json[]> =>
    (await owner.get(`${place}/effective-tag-bindings`)).body.data;
  const plain = (tags: Json[]) =>
    tags.map(({ attributes, links }) => `${attributes.key}=${attributes.value}${links ? ' inherited' : ''}`);

  test('a workspace has its own and those of its project, its own where both have the key, wherever it is moved', async () => {
    const { project, workspace } = await newPlaces();
    const other = await newPlaces();
    await owner.patch(`${project}/tag-bindings`, [tag('env', 'prod'), tag('dept', 'r+d')]);
    await owner.patch(`${other.project}/tag-bindings`, [tag('there')]);
    await owner.patch(`${workspace}/tag-bindings`, [tag('own', 'yes'), tag('env', 'test')]);
    assert.deepEqual(plain(await effective(workspace)), ['own=yes', 'env=test', 'dept=r+d inherited']);
    assert.deepEqual(plain(await effective(project)), ['env=prod', 'dept=r+d']);
    assert.equal(await bound(workspace), 'own=yes env=test');
    await owner.patch(`${workspace}/relationships/tag-bindings`, []);
    assert.deepEqual(plain(await effective(workspace)), ['env=prod inherited', 'dept=r+d inherited']);
    const moved = [{ type: 'workspaces', id: workspace.replace('/workspaces/', '') }];
    assert.equal((await owner.post(`${other.project}/relationships/workspaces`, moved)).status, 204);
    assert.deepEqual(plain(await effective(workspace)), ['there= inherited']);
  });

  test('an inherited one says so in a link, for one Go client, and in a relationship, for the other; an own one has neither', async () => {
    const { project, workspace } = await newPlaces();
    await owner.patch(`${project}/tag-bindings`, [tag('theirs', '1')]);
    await owner.patch(`${workspace}/tag-bindings`, [tag('mine')]);
    const [own, inherited] = await effective(workspace);
    assert.deepEqual(Object.keys(own), ['id', 'type', 'attributes']);
    const id = project.replace('/projects/', '');
    assert.deepEqual(inherited, {
      id: inherited.id,
      type: 'effective-tag-bindings',
      attributes: { key: 'theirs', value: '1' },
      relationships: {
        'inherited-from': { data: { id, type: 'projects' }, links: { related: `/api/v2${project}` } },
      },
      links: { 'inherited-from': `/api/v2${project}` },
    });
    const [ofProject] = await effective(project);
    assert.deepEqual(Object.keys(ofProject), ['id', 'type', 'attributes']);
  });

  test('they go with the project and the workspace', async () => {
    const { project, workspace } = await newPlaces();
    for (const place of [project, workspace]) await owner.patch(`${place}/tag-bindings`, [tag('gone', `${fresh}`)]);
    for (const place of [workspace, project]) assert.equal((await owner.delete(place)).status, 204);
    const rows = await directory.server.store.read(tx =>
      tx.rows(sql`select id from tag_bindings where key = 'gone' and value = ${`${fresh}`}`),
    );
    assert.deepEqual(rows, []);
  });
});

describe('tags of a workspace by name', () => {
  test('q and name search for a part of the name, in any case', async () => {
    const path = `${(await newPlaces()).workspace}/relationships/tags`;
    const names = ['uphill', 'downhill', 'flat'].map(name => ({ type: 'tags', attributes: { name } }));
    assert.equal((await owner.post(path, names)).status, 204);
    const found = async (query: string) =>
      (await owner.get(`${path}?${query}`)).body.data.map(({ attributes }: Json) => attributes.name).sort();
    assert.deepEqual(await found('q=HILL'), ['downhill', 'uphill']);
    assert.deepEqual(await found('name=HILL'), ['downhill', 'uphill']);
    assert.deepEqual(await found(''), ['downhill', 'flat', 'uphill']);
  });
});
