/** The five operations on team access, promise by promise. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { idsOf, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, grantBody, newDirectory } from './support/world.ts';

const workspaceAccess = (values: string) => {
  const [runs, mocks, states, variables, ...flags] = values.split(' ');
  const [create, locking, del, move, tasks] = flags.map(flag => flag === 'true');
  return {
    runs,
    'sentinel-mocks': mocks,
    'state-versions': states,
    variables,
    create,
    locking,
    delete: del,
    move,
    'run-tasks': tasks,
  };
};

/** The document's implied levels, as attributes of a resource. */
const implied: Record<string, Json> = {
  read: {
    'project-access': { settings: 'read', teams: 'none' },
    'workspace-access': workspaceAccess('read none read read false false false false false'),
  },
  write: {
    'project-access': { settings: 'read', teams: 'none' },
    'workspace-access': workspaceAccess('apply read write write false true false false false'),
  },
  maintain: {
    'project-access': { settings: 'read', teams: 'none' },
    'workspace-access': workspaceAccess('apply read write write true true true false true'),
  },
  admin: {
    'project-access': { settings: 'delete', teams: 'manage' },
    'workspace-access': workspaceAccess('apply read write write true true true true true'),
  },
  custom: {
    'project-access': { settings: 'read', teams: 'none' },
    'workspace-access': workspaceAccess('read none none none false false false false false'),
  },
};

describe('team-projects', () => {
  let directory: Directory;
  let owner: Actor;
  let count = 0;
  before(async () => {
    directory = await newDirectory();
    ({ actor: owner } = await directory.user('owner'));
    await directory.organization(owner, 'acme');
  });
  after(() => directory.server.close());

  const newTeam = (members: string[] = [], attributes: Json = {}) =>
    directory.team(owner, 'acme', { name: `team-${count++}`, visibility: 'organization', ...attributes }, members);
  const newProject = () => directory.project(owner, 'acme', `project-${count++}`);
  const newMember = async () => {
    const name = `member-${count++}`;
    return { name, actor: (await directory.member(owner, 'acme', name)).actor };
  };
  const newGrant = async (attributes: Json, team?: string) => {
    const project = await newProject();
    const teamId = team ?? (await newTeam());
    return { project, team: teamId, id: await directory.grant(owner, project, teamId, attributes) };
  };
  const patched = async (id: string, attributes: Json, actor = owner) =>
    actor.patch(`/team-projects/${id}`, { type: 'team-projects', attributes });

  describe('POST', () => {
    for (const access of Object.keys(implied))
      test(`200 with access ${access} answers the whole resource, with what the level implies`, async () => {
        const [project, team] = [await newProject(), await newTeam()];
        const { status, body } = await owner.post('/team-projects', grantBody(project, team, { access }));
        assert.equal(status, 200);
        assert.match(body.data.id, /^tprj-[1-9A-HJ-NP-Za-km-z]{16}$/);
        assert.deepEqual(body, {
          data: {
            id: body.data.id,
            type: 'team-projects',
            attributes: { access, ...implied[access] },
            relationships: {
              team: { data: { id: team, type: 'teams' }, links: { related: `/api/v2/teams/${team}` } },
              project: { data: { id: project, type: 'projects' }, links: { related: `/api/v2/projects/${project}` } },
            },
            links: { self: `/api/v2/team-projects/${body.data.id}` },
          },
        });
      });

    test('create, show, list and update answer the same resource byte for byte', async () => {
      const [project, team] = [await newProject(), await newTeam()];
      const attributes = { access: 'custom', 'workspace-access': { runs: 'plan', move: true } };
      const created = await owner.post('/team-projects', grantBody(project, team, attributes));
      const { id } = created.body.data;
      const shown = await owner.get(`/team-projects/${id}`);
      const updated = await patched(id, {});
      const listed = await owner.get(`/team-projects?filter[project][id]=${project}`);
      assert.equal(shown.text, created.text);
      assert.equal(updated.text, created.text);
      assert.ok(listed.text.startsWith(`{"data":[${created.text.slice('{"data":'.length, -1)}]`));
    });

    test('200 with custom: what is named is chosen, the rest takes the default', async () => {
      const { id } = await newGrant({
        access: 'custom',
        'project-access': { teams: 'read' },
        'workspace-access': { 'state-versions': 'read-outputs', locking: true, create: false },
      });
      const { body } = await owner.get(`/team-projects/${id}`);
      assert.deepEqual(body.data.attributes, {
        access: 'custom',
        'project-access': { ...implied.custom['project-access'], teams: 'read' },
        'workspace-access': { ...implied.custom['workspace-access'], 'state-versions': 'read-outputs', locking: true },
      });
    });

    test('200 with a fixed level and empty objects, or with the very values that it implies', async () => {
      for (const more of [{ 'project-access': {}, 'workspace-access': {} }, implied.write]) {
        const answer = await owner.post(
          '/team-projects',
          grantBody(await newProject(), await newTeam(), { access: 'write', ...more }),
        );
        assert.equal(answer.status, 200);
        assert.deepEqual(answer.body.data.attributes, { access: 'write', ...implied.write });
      }
    });

    test('422 with a pointer per permission that a fixed level does not imply', async () => {
      const answer = await owner.post(
        '/team-projects',
        grantBody(await newProject(), await newTeam(), {
          access: 'read',
          'project-access': { settings: 'update' },
          'workspace-access': { runs: 'read', locking: true },
        }),
      );
      assert.equal(answer.status, 422);
      assert.deepEqual(pointers(answer), [
        '/data/attributes/project-access/settings',
        '/data/attributes/workspace-access/locking',
      ]);
    });

    test('422 with one error per fault: type, level, values outside a chain, wrong kinds, missing keys', async () => {
      const [project, team] = [await newProject(), await newTeam()];
      const answer = await owner.post('/team-projects', {
        type: 'team-project',
        attributes: {
          access: 'plan',
          'project-access': { settings: 'none' },
          'workspace-access': { create: 'yes', 'state-versions': null },
        },
        relationships: { project: { data: { type: 'project', id: project } }, team: { data: { id: team } } },
      });
      assert.equal(answer.status, 422);
      assert.deepEqual(pointers(answer), [
        '/data/attributes/access',
        '/data/attributes/project-access/settings',
        '/data/attributes/workspace-access/create',
        '/data/attributes/workspace-access/state-versions',
        '/data/relationships/project/data/type',
        '/data/relationships/team/data/type',
        '/data/type',
      ]);
      const bare = await owner.post('/team-projects', { type: 'team-projects' });
      assert.equal(bare.status, 422);
      assert.deepEqual(pointers(bare), ['/data/attributes', '/data/relationships']);
    });

    test('a body that names no project: 422 for whoever manages one, 404 for anyone else', async () => {
      const [steward, plain] = [await newMember(), await newMember()];
      await newGrant({ access: 'custom', 'project-access': { teams: 'manage' } }, await newTeam([steward.name]));
      await newGrant({ access: 'maintain' }, await newTeam([plain.name]));
      const { actor: nobody } = await directory.user(`nobody-${count++}`);
      for (const data of [
        undefined,
        {},
        [],
        'x',
        { type: 'team-projects', relationships: { project: { data: { id: 5 } } } },
      ]) {
        for (const manager of [owner, steward.actor])
          assert.equal((await manager.post('/team-projects', data)).status, 422);
        for (const other of [plain.actor, nobody]) assert.equal((await other.post('/team-projects', data)).status, 404);
      }
    });

    test('422 for a team that is attached already, naming the existing id', async () => {
      const { project, team, id } = await newGrant({ access: 'read' });
      const { status, body } = await owner.post('/team-projects', grantBody(project, team, { access: 'admin' }));
      assert.equal(status, 422);
      assert.deepEqual(body.errors[0].source, { pointer: '/data/relationships/team' });
      assert.deepEqual(body.errors[0].meta, { id });
      assert.ok(body.errors[0].detail.includes(id));
    });

    test('unknown attributes are ignored', async () => {
      const attributes = { access: 'read', colour: 'blue', 'workspace-access': { 'later-still': 1 } };
      const answer = await owner.post('/team-projects', grantBody(await newProject(), await newTeam(), attributes));
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body.data.attributes, { access: 'read', ...implied.read });
    });

    test('variable-sets and policy-overrides are stored for custom, and shown only where a client has set them', async () => {
      const later = { 'project-access': { 'variable-sets': 'none' }, 'workspace-access': { 'policy-overrides': true } };
      const { id } = await newGrant({ access: 'custom', ...later });
      const { attributes } = (await owner.get(`/team-projects/${id}`)).body.data;
      assert.equal(attributes['project-access']['variable-sets'], 'none');
      assert.equal(attributes['workspace-access']['policy-overrides'], true);
      await patched(id, { access: 'maintain' });
      const { body } = await patched(id, { access: 'custom' });
      assert.deepEqual(body.data.attributes, { access: 'custom', ...implied.maintain });
    });
  });

  describe('PATCH', () => {
    for (const from of Object.keys(implied))
      for (const to of Object.keys(implied))
        test(`${from} to ${to}: ${to === 'custom' ? 'what is not sent keeps its present value' : 'the implied values replace everything'}`, async () => {
          const { id } = await newGrant({ access: from });
          const { status, body } = await patched(id, { access: to, 'project-access': {}, 'workspace-access': {} });
          assert.equal(status, 200);
          const expected = structuredClone(to === 'custom' ? implied[from] : implied[to]);
          // What admin implies beyond the interface stays in force, so it is shown.
          if (from === 'admin' && to === 'custom') expected['project-access']['variable-sets'] = 'write';
          assert.deepEqual(body.data.attributes, { access: to, ...expected });
        });

    test('without access, it applies to the present level', async () => {
      const custom = await newGrant({ access: 'custom', 'workspace-access': { runs: 'plan' } });
      const answer = await patched(custom.id, { 'workspace-access': { locking: true } });
      assert.equal(answer.status, 200);
      const { runs, locking } = answer.body.data.attributes['workspace-access'];
      assert.deepEqual({ runs, locking }, { runs: 'plan', locking: true });
      const fixed = await newGrant({ access: 'read' });
      const refused = await patched(fixed.id, { 'workspace-access': { locking: true } });
      assert.equal(refused.status, 422);
      assert.deepEqual(pointers(refused), ['/data/attributes/workspace-access/locking']);
    });

    test('data.id and data.type may be absent, and must be right where they are present', async () => {
      const { id } = await newGrant({ access: 'read' });
      const path = `/team-projects/${id}`;
      const attributes = { access: 'write' };
      assert.equal((await owner.patch(path, { attributes })).status, 200);
      assert.equal((await owner.patch(path, { id, type: 'team-projects', attributes })).status, 200);
      assert.equal((await owner.patch(path, { id: '', attributes })).status, 200, 'the Go client sends an empty id');
      assert.deepEqual(pointers(await owner.patch(path, { id: 'tprj-x', attributes })), ['/data/id']);
      assert.deepEqual(pointers(await owner.patch(path, { type: 'teams', attributes })), ['/data/type']);
    });

    test('a refused change changes nothing', async () => {
      const { id } = await newGrant({ access: 'write' });
      const before = await owner.get(`/team-projects/${id}`);
      assert.equal((await patched(id, { access: 'custom', 'workspace-access': { runs: 'all' } })).status, 422);
      assert.equal((await owner.get(`/team-projects/${id}`)).text, before.text);
    });
  });

  describe('nobody grants more than they hold', () => {
    test('422 at the level, or at each permission, that exceeds the caller’s own access', async () => {
      const { name, actor } = await newMember();
      const { project } = await newGrant(
        {
          access: 'custom',
          'project-access': { teams: 'manage' },
          'workspace-access': { runs: 'plan', locking: true },
        },
        await newTeam([name]),
      );
      const give = async (attributes: Json) =>
        actor.post('/team-projects', grantBody(project, await newTeam(), attributes));
      for (const access of ['read', 'write', 'maintain', 'admin']) {
        const answer = await give({ access });
        assert.equal(answer.status, 422, access);
        assert.deepEqual(pointers(answer), ['/data/attributes/access']);
      }
      const custom = await give({
        access: 'custom',
        'project-access': { settings: 'update', teams: 'manage' },
        'workspace-access': { runs: 'apply', locking: true, move: true },
      });
      assert.equal(custom.status, 422);
      assert.deepEqual(pointers(custom), [
        '/data/attributes/project-access/settings',
        '/data/attributes/workspace-access/move',
        '/data/attributes/workspace-access/runs',
      ]);
      const own = { 'project-access': { teams: 'manage' }, 'workspace-access': { runs: 'plan', locking: true } };
      assert.equal((await give({ access: 'custom', ...own })).status, 200);
    });

    test('200 for lowering or keeping what is above the caller, since that gives nothing', async () => {
      const { name, actor } = await newMember();
      const { project } = await newGrant(
        { access: 'custom', 'project-access': { teams: 'manage' } },
        await newTeam([name]),
      );
      const id = await directory.grant(owner, project, await newTeam(), { access: 'admin' });
      assert.equal((await patched(id, { access: 'write' }, actor)).status, 200);
      assert.equal(
        (await patched(id, { access: 'custom', 'workspace-access': { locking: false } }, actor)).status,
        200,
      );
      assert.equal((await patched(id, { 'workspace-access': { locking: true } }, actor)).status, 422);
    });

    test('a project admin gives up to admin, but no policy overrides, which admin does not hold', async () => {
      const { name, actor } = await newMember();
      const { project } = await newGrant({ access: 'admin' }, await newTeam([name]));
      const give = async (attributes: Json) =>
        actor.post('/team-projects', grantBody(project, await newTeam(), attributes));
      assert.equal((await give({ access: 'admin' })).status, 200);
      const answer = await give({ access: 'custom', 'workspace-access': { 'policy-overrides': true } });
      assert.deepEqual(pointers(answer), ['/data/attributes/workspace-access/policy-overrides']);
    });
  });

  describe('organization-level permissions raise access', () => {
    test('a team that may manage projects is admin on every project, even where its own grant says read', async () => {
      const { name, actor } = await newMember();
      const organizationAccess = { 'manage-projects': true, 'manage-workspaces': true };
      const team = await newTeam([name], { 'organization-access': organizationAccess });
      const { project, id } = await newGrant({ access: 'read' }, team);
      assert.equal((await actor.get(`/team-projects/${id}`)).body.data.attributes.access, 'read');
      const other = await directory.grant(owner, project, await newTeam(), { access: 'read' });
      assert.equal((await patched(other, { access: 'admin' }, actor)).status, 200);
      // Taken away, the next request knows.
      await owner.patch(`/teams/${team}`, {
        type: 'teams',
        attributes: { 'organization-access': { 'manage-projects': false } },
      });
      assert.equal((await patched(other, { access: 'read' }, actor)).status, 404);
    });

    test("a team token has that team's rights alone", async () => {
      const { name, actor } = await newMember();
      const [strong, weak] = [await newTeam([name]), await newTeam([name])];
      const { project, id } = await newGrant({ access: 'admin' }, strong);
      const tokenOf = async (team: string) =>
        directory.actor((await owner.make(`/teams/${team}/authentication-token`)).attributes.token);
      assert.equal((await patched(id, {}, actor)).status, 200);
      assert.equal((await patched(id, {}, await tokenOf(strong))).status, 200);
      const weakToken = await tokenOf(weak);
      assert.equal((await patched(id, {}, weakToken)).status, 404);
      const list = await weakToken.get(`/team-projects?filter[project][id]=${project}`);
      assert.deepEqual(list.body.data, []);
    });
  });

  describe('GET list', () => {
    let project: string;
    const ids: string[] = [];
    before(async () => {
      project = await newProject();
      for (let i = 0; i < 5; i++) ids.push(await directory.grant(owner, project, await newTeam(), { access: 'read' }));
    });
    const url = (page: number, size: number) =>
      `https://bailiwick.example/api/v2/team-projects?filter%5Bproject%5D%5Bid%5D=${project}&page%5Bnumber%5D=${page}&page%5Bsize%5D=${size}`;
    const list = (query: string) => owner.get(`/team-projects?filter[project][id]=${project}${query}`);

    test('in order of creation, page-size 20 when none is given, links null where there is no page', async () => {
      const answer = await list('');
      assert.deepEqual(idsOf(answer), ids);
      assert.deepEqual(answer.body.links, {
        self: url(1, 20),
        first: url(1, 20),
        prev: null,
        next: null,
        last: url(1, 20),
      });
      assert.deepEqual(answer.body.meta.pagination, {
        'current-page': 1,
        'page-size': 20,
        'prev-page': null,
        'next-page': null,
        'total-pages': 1,
        'total-count': 5,
      });
    });

    test('a page in the middle links to its neighbours with filter and page', async () => {
      const answer = await list('&page[number]=2&page[size]=2');
      assert.deepEqual(idsOf(answer), ids.slice(2, 4));
      assert.deepEqual(answer.body.links, {
        self: url(2, 2),
        first: url(1, 2),
        prev: url(1, 2),
        next: url(3, 2),
        last: url(3, 2),
      });
      assert.deepEqual(answer.body.meta.pagination, {
        'current-page': 2,
        'page-size': 2,
        'prev-page': 1,
        'next-page': 3,
        'total-pages': 3,
        'total-count': 5,
      });
    });

    test('following next from page to page gives every row once', async () => {
      const seen: string[] = [];
      let path: string | null = `/team-projects?filter[project][id]=${project}&page[size]=2`;
      while (path) {
        const answer = await owner.get(path);
        seen.push(...idsOf(answer));
        path = answer.body.links.next?.replace('https://bailiwick.example/api/v2', '') ?? null;
      }
      assert.deepEqual(seen, ids);
    });

    test('brackets may be raw or percent-encoded', async () => {
      const encoded = await owner.get(`/team-projects?filter%5Bproject%5D%5Bid%5D=${project}&page%5Bsize%5D=2`);
      assert.equal(encoded.text, (await list('&page[size]=2')).text);
    });

    test('a page past the end is empty, with true totals', async () => {
      const answer = await list('&page[number]=999999999999999&page[size]=2');
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body.data, []);
      const { pagination } = answer.body.meta;
      assert.equal(pagination['current-page'], 999999999999999);
      assert.equal(pagination['next-page'], null);
      assert.equal(pagination['prev-page'], 3);
      assert.equal(pagination['total-count'], 5);
    });

    test('an empty list has one page, its first and last', async () => {
      const empty = await newProject();
      const { body } = await owner.get(`/team-projects?filter[project][id]=${empty}`);
      const only = url(1, 20).replace(project, empty);
      assert.deepEqual(body, {
        data: [],
        links: { self: only, first: only, prev: null, next: null, last: only },
        meta: {
          pagination: {
            'current-page': 1,
            'page-size': 20,
            'prev-page': null,
            'next-page': null,
            'total-pages': 1,
            'total-count': 0,
          },
        },
      });
    });

    test('page[size] above 100 counts as 100', async () => {
      for (const size of ['101', '99999999999999999999'])
        assert.equal((await list(`&page[size]=${size}`)).body.meta.pagination['page-size'], 100);
    });

    test('400 names the parameter: no project, or a page that is no whole number from 1 on', async () => {
      const parameterOf = ({ status, body }: Answer) => [status, body.errors[0].source.parameter];
      assert.deepEqual(parameterOf(await owner.get('/team-projects')), [400, 'filter[project][id]']);
      for (const value of ['0', '-1', '1.5', 'one', '', '1e3', ' 1', '0x1', '9007199254740993'])
        assert.deepEqual(
          parameterOf(await list(`&page[number]=${encodeURIComponent(value)}`)),
          [400, 'page[number]'],
          value,
        );
      for (const value of ['0', '-1', '2.0', 'all'])
        assert.deepEqual(parameterOf(await list(`&page[size]=${value}`)), [400, 'page[size]'], value);
    });

    test('filter[team][id] narrows the list, and the links carry it', async () => {
      const [, second] = ids;
      const team = (await owner.get(`/team-projects/${second}`)).body.data.relationships.team.data.id;
      const answer = await list(`&filter[team][id]=${team}`);
      assert.deepEqual(idsOf(answer), [second]);
      assert.ok(answer.body.links.self.includes(`filter%5Bteam%5D%5Bid%5D=${team}`));
      assert.deepEqual((await list('&filter[team][id]=team-none')).body.data, []);
    });

    test('404 for a project that does not exist, whatever its id looks like', async () => {
      for (const id of ['prj-1111111111111111', 'x', '%00', '%F0%9F%92%A5', 'a'.repeat(2000)])
        assert.equal((await owner.get(`/team-projects?filter[project][id]=${id}`)).status, 404, id);
    });
  });

  describe('concurrent writes', () => {
    test('412 when If-Match no longer holds, and nothing is changed', async () => {
      const { id } = await newGrant({ access: 'read' });
      const path = `/team-projects/${id}`;
      const data = (access: string) => ({ type: 'team-projects', attributes: { access } });
      const { etag = '' } = (await owner.get(path)).headers;
      assert.equal((await owner.patch(path, data('write'), { 'if-match': etag })).status, 200);
      assert.equal((await owner.patch(path, data('admin'), { 'if-match': etag })).status, 412);
      assert.equal((await owner.delete(path, undefined, { 'if-match': etag })).status, 412);
      assert.equal((await owner.get(path)).body.data.attributes.access, 'write');
      assert.equal(
        (await owner.patch(path, data('admin'), { 'if-match': `"x", ${(await owner.get(path)).headers.etag}` })).status,
        200,
      );
      assert.equal((await owner.delete(path, undefined, { 'if-match': '*' })).status, 204);
      assert.equal((await owner.get(path)).status, 404);
    });

    test('the same team and project from many clients at once: one 200, the rest 422', async () => {
      const [project, team] = [await newProject(), await newTeam()];
      const answers = await Promise.all(
        Array.from({ length: 32 }, () => owner.post('/team-projects', grantBody(project, team, { access: 'read' }))),
      );
      const statuses = answers.map(({ status }) => status);
      assert.equal(statuses.filter(status => status === 200).length, 1);
      assert.equal(statuses.filter(status => status === 422).length, 31);
    });
  });

  test('deleting a team or a project removes its grants', async () => {
    const first = await newGrant({ access: 'read' });
    assert.equal((await owner.delete(`/teams/${first.team}`)).status, 204);
    assert.equal((await owner.get(`/team-projects/${first.id}`)).status, 404);
    const second = await newGrant({ access: 'read' });
    assert.equal((await owner.delete(`/projects/${second.project}`)).status, 204);
    assert.equal((await owner.get(`/team-projects/${second.id}`)).status, 404);
  });

  test('DELETE: 204 without a body, and then 404', async () => {
    const { id } = await newGrant({ access: 'read' });
    const removed = await owner.delete(`/team-projects/${id}`);
    assert.equal(removed.status, 204);
    assert.equal(removed.text, '');
    assert.equal((await owner.delete(`/team-projects/${id}`)).status, 404);
  });
});
