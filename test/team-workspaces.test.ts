/** Team access to workspaces, promise by promise. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fresh, idsOf, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { custom, Office } from './support/office.ts';
import { type Actor, type Directory, grantBody, workspaceGrantBody } from './support/world.ts';

/** What each level implies, as the contract of the clients has it; the last column is what custom begins with. */
const table = `
| attribute         | read  | plan  | write | admin | custom |
| runs              | read  | plan  | apply | apply | read   |
| variables         | read  | read  | write | write | none   |
| state-versions    | read  | read  | write | write | none   |
| sentinel-mocks    | none  | none  | read  | read  | none   |
| workspace-locking | false | false | true  | true  | false  |
| run-tasks         | false | false | false | true  | false  |
`;
const values: Record<string, readonly (string | boolean)[]> = {
  runs: ['read', 'plan', 'apply'],
  variables: ['none', 'read', 'write'],
  'state-versions': ['none', 'read-outputs', 'read', 'write'],
  'sentinel-mocks': ['none', 'read'],
  'workspace-locking': [false, true],
  'run-tasks': [false, true],
};

const [[, ...accesses] = [], ...rows] = table
  .trim()
  .split('\n')
  .map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  );
const fromCell = (cell = '') => (cell === 'true' || cell === 'false' ? cell === 'true' : cell);
/** The attributes of a resource at each level. */
const implied: Record<string, Record<string, string | boolean>> = Object.fromEntries(
  accesses.map((access, index) => [
    access,
    Object.fromEntries(rows.map(([attribute = '', ...cells]) => [attribute, fromCell(cells[index])])),
  ]),
);
const levels = accesses.filter(access => access !== 'custom');

const humanised = (attribute: string) => attribute.replaceAll('-', ' ').replace(/^./, letter => letter.toUpperCase());

describe('team-workspaces', () => {
  let office: Office;
  let directory: Directory;
  let owner: Actor;
  before(async () => {
    office = await Office.open();
    ({ directory, owner } = office);
  });
  after(() => office.close());

  const newGrant = async (attributes: Json) => {
    const [workspace, team] = [await office.workspace(), await office.team()];
    return { workspace, team, id: await office.grant(workspace, team, attributes) };
  };
  const give = async (attributes: Json, actor = owner) =>
    actor.post('/team-workspaces', workspaceGrantBody(await office.workspace(), await office.team(), attributes));
  const patched = (id: string, attributes: Json, actor = owner) =>
    actor.patch(`/team-workspaces/${id}`, { type: 'team-workspaces', attributes });
  const rowsOf = (workspace: string) => `/team-workspaces?filter[workspace][id]=${workspace}`;

  test('the table has six attributes and five columns', () => {
    assert.deepEqual(Object.keys(implied), ['read', 'plan', 'write', 'admin', 'custom']);
    assert.deepEqual(Object.keys(implied.read ?? {}), Object.keys(values));
  });

  describe('POST', () => {
    for (const access of accesses)
      test(`200 with access ${access} answers the whole resource, cell by cell as the table has it`, async () => {
        const [workspace, team] = [await office.workspace(), await office.team()];
        const { status, body } = await owner.post('/team-workspaces', workspaceGrantBody(workspace, team, { access }));
        assert.equal(status, 200);
        assert.match(body.data.id, /^tws-[1-9A-HJ-NP-Za-km-z]{16}$/);
        assert.deepEqual(body, {
          data: {
            id: body.data.id,
            type: 'team-workspaces',
            attributes: { access, ...implied[access] },
            relationships: {
              team: { data: { id: team, type: 'teams' }, links: { related: `/api/v2/teams/${team}` } },
              workspace: {
                data: { id: workspace, type: 'workspaces' },
                links: { related: `/api/v2/workspaces/${workspace}` },
              },
            },
            links: { self: `/api/v2/team-workspaces/${body.data.id}` },
          },
        });
      });

    test('create, show, list and update answer the same resource byte for byte', async () => {
      const [workspace, team] = [await office.workspace(), await office.team()];
      const attributes = { access: 'custom', runs: 'plan', 'policy-overrides': true };
      const created = await owner.post('/team-workspaces', workspaceGrantBody(workspace, team, attributes));
      const { id } = created.body.data;
      assert.equal((await owner.get(`/team-workspaces/${id}`)).text, created.text);
      assert.equal((await patched(id, {})).text, created.text);
      const listed = await owner.get(rowsOf(workspace));
      assert.ok(listed.text.startsWith(`{"data":[${created.text.slice('{"data":'.length, -1)}]`));
    });

    test('200 with custom: every value of every attribute, alone, and the rest takes the default', async () => {
      for (const [attribute, choices] of Object.entries(values))
        for (const value of choices) {
          const { status, body } = await give({ access: 'custom', [attribute]: value });
          assert.equal(status, 200);
          assert.deepEqual(body.data.attributes, { access: 'custom', ...implied.custom, [attribute]: value });
        }
    });

    test('422 in the words that clients compare, for a permission sent with a level', async () => {
      const { status, body } = await give({ access: 'read', runs: 'apply' });
      assert.equal(status, 422);
      assert.deepEqual(body.errors, [
        {
          status: '422',
          title: 'invalid attribute',
          detail: "Runs is read-only when access level is 'read'; use the 'custom' access level to set this attribute.",
          source: { pointer: '/data/attributes/runs' },
        },
      ]);
    });

    test('every level takes exactly the values that it implies, one refusal for each of the others', async () => {
      for (const access of levels) {
        const { id } = await newGrant({ access });
        assert.equal((await give({ access, ...implied[access] })).status, 200, `${access} with all that it implies`);
        for (const [attribute, choices] of Object.entries(values))
          for (const value of choices) {
            const answer = await patched(id, { access, [attribute]: value });
            const where = `${access} with ${attribute} = ${value}`;
            if (value === implied[access]?.[attribute]) {
              assert.equal(answer.status, 200, where);
              continue;
            }
            assert.equal(answer.status, 422, where);
            assert.deepEqual(pointers(answer), [`/data/attributes/${attribute}`], where);
            const words = `${humanised(attribute)} is read-only when access level is '${access}'; `;
            assert.ok(answer.body.errors[0].detail.startsWith(words), answer.text);
          }
      }
      const several = await give({ access: 'plan', runs: 'read', 'run-tasks': true, variables: 'read' });
      assert.deepEqual(pointers(several), ['/data/attributes/run-tasks', '/data/attributes/runs']);
    });

    test('422 with one error per fault: type, level, values outside a chain, wrong kinds, missing keys', async () => {
      const [workspace, team] = [await office.workspace(), await office.team()];
      const answer = await owner.post('/team-workspaces', {
        type: 'team-workspace',
        attributes: { access: 'maintain', runs: 'none', 'workspace-locking': 'yes', variables: null },
        relationships: {
          workspace: { data: { type: 'workspace', id: workspace } },
          team: { data: { id: team } },
        },
      });
      assert.equal(answer.status, 422);
      assert.deepEqual(pointers(answer), [
        '/data/attributes/access',
        '/data/attributes/runs',
        '/data/attributes/variables',
        '/data/attributes/workspace-locking',
        '/data/relationships/team/data/type',
        '/data/relationships/workspace/data/type',
        '/data/type',
      ]);
      const bare = await owner.post('/team-workspaces', { type: 'team-workspaces' });
      assert.deepEqual([bare.status, pointers(bare)], [422, ['/data/attributes', '/data/relationships']]);
    });

    test('a body that names no workspace: 422 for whoever administers one, 404 for anyone else', async () => {
      const [project, workspace] = [await office.project(), await office.workspace()];
      const administrators = {
        owner,
        'workspace admin': await office.granted({ on: workspace, access: { access: 'admin' } }),
        'project maintain': await office.granted({ on: project, access: { access: 'maintain' } }),
        'manage-workspaces': await office.holder('manage-workspaces'),
      };
      const others = {
        'workspace write': await office.granted({ on: workspace, access: { access: 'write' } }),
        'project write': await office.granted({ on: project, access: { access: 'write' } }),
        'teams = manage': await office.granted({
          on: project,
          access: { access: 'custom', 'project-access': { teams: 'manage' } },
        }),
        nobody: (await directory.user(fresh('nobody'))).actor,
      };
      const bodies = [undefined, {}, [], 'x', { relationships: { workspace: { data: { id: 5 } } } }];
      for (const data of bodies) {
        for (const [who, actor] of Object.entries(administrators))
          assert.equal((await actor.post('/team-workspaces', data)).status, 422, who);
        for (const [who, actor] of Object.entries(others))
          assert.equal((await actor.post('/team-workspaces', data)).status, 404, who);
      }
    });

    test('422 for a team that is attached already, naming the existing id', async () => {
      const { workspace, team, id } = await newGrant({ access: 'read' });
      const again = await owner.post('/team-workspaces', workspaceGrantBody(workspace, team, { access: 'admin' }));
      assert.equal(again.status, 422);
      const [{ source, meta, detail }] = again.body.errors;
      assert.deepEqual([source, meta], [{ pointer: '/data/relationships/team' }, { id }]);
      assert.ok(detail.includes(id));
      assert.equal((await owner.get(`/team-workspaces/${id}`)).body.data.attributes.access, 'read');
    });

    test('the same team and workspace from many clients at once: one 200, the rest 422', async () => {
      const body = workspaceGrantBody(await office.workspace(), await office.team(), { access: 'read' });
      const answers = await Promise.all(Array.from({ length: 16 }, () => owner.post('/team-workspaces', body)));
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [200, ...Array.from({ length: 15 }, () => 422)]);
    });

    test('unknown attributes are ignored: the names that permissions have on a project, and those of no choice', async () => {
      const attributes = { locking: true, create: true, move: true, delete: true, administration: true, colour: 1 };
      const { status, body } = await give({ access: 'custom', ...attributes, 'workspace-access': { runs: 'apply' } });
      assert.equal(status, 200);
      assert.deepEqual(body.data.attributes, { access: 'custom', ...implied.custom });
    });

    test('404 at what is absent, hidden, foreign or not yours, the same for all of them', async () => {
      const workspace = await office.workspace();
      const { actor: stranger } = await directory.user(fresh('stranger'));
      const elsewhere = fresh('elsewhere');
      await directory.organization(stranger, elsewhere);
      const foreignTeam = await directory.team(stranger, elsewhere, { name: 'foreign', visibility: 'organization' });
      const foreignWorkspace = await directory.workspace(stranger, elsewhere, 'foreign');
      const secret = await office.team([], { visibility: 'secret' });
      const admin = await office.granted({ on: workspace, access: { access: 'admin' } });
      const writer = await office.granted({ on: workspace, access: { access: 'write' } });
      const attempt = async (actor: Actor, on: string, team: string) =>
        actor.post('/team-workspaces', workspaceGrantBody(on, team, { access: 'none' }));
      const atTeam = [
        await attempt(admin, workspace, secret),
        await attempt(admin, workspace, 'team-1111111111111111'),
        await attempt(admin, workspace, foreignTeam),
        await attempt(owner, workspace, foreignTeam),
      ];
      const atWorkspace = [
        await attempt(writer, workspace, await office.team()),
        await attempt(admin, await office.workspace(), await office.team()),
        await attempt(owner, 'ws-1111111111111111', await office.team()),
        await attempt(owner, foreignWorkspace, foreignTeam),
        await attempt(stranger, workspace, foreignTeam),
      ];
      for (const [answers, pointer] of [
        [atTeam, '/data/relationships/team'],
        [atWorkspace, '/data/relationships/workspace'],
      ] as const) {
        assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
        assert.deepEqual([answers[0]?.status, pointers(answers[0] as Answer)], [404, [pointer]]);
      }
    });
  });

  describe('policy-overrides', () => {
    const of = ({ body }: Answer) => body.data.attributes['policy-overrides'];

    test('it is shown only on a custom grant where a client has set it, whatever its value', async () => {
      for (const access of accesses)
        assert.equal('policy-overrides' in (await give({ access })).body.data.attributes, false);
      assert.equal(of(await give({ access: 'custom', 'policy-overrides': false })), false);
      const { id } = await newGrant({ access: 'custom' });
      assert.equal(of(await patched(id, { 'policy-overrides': true })), true);
      assert.equal(of(await patched(id, { runs: 'plan' })), true);
      assert.equal(of(await patched(id, { access: 'admin' })), undefined);
      assert.equal(of(await patched(id, { access: 'custom' })), undefined);
      assert.equal((await patched(id, { access: 'read', 'policy-overrides': true })).status, 422);
    });

    test('an administrator gives it only where it holds it: by a grant, in a team that has it delegated', async () => {
      const workspace = await office.workspace();
      const { actor, name, team } = await office.member();
      await office.grant(workspace, team, { access: 'admin' });
      const attributes = { access: 'custom', 'policy-overrides': true };
      const attempt = async () =>
        actor.post('/team-workspaces', workspaceGrantBody(workspace, await office.team(), attributes));
      const refused = await attempt();
      assert.deepEqual([refused.status, pointers(refused)], [422, ['/data/attributes/policy-overrides']]);
      const delegated = await office.team([name]);
      await office.grant(workspace, delegated, attributes);
      assert.equal((await attempt()).status, 422, 'a grant alone does not act');
      const access = { 'delegate-policy-overrides': true };
      await owner.patch(`/teams/${delegated}`, { attributes: { 'organization-access': access } });
      assert.equal((await attempt()).status, 200);
    });
  });

  describe('PATCH', () => {
    for (const from of accesses)
      for (const to of accesses)
        test(`${from} to ${to}: ${to === 'custom' ? 'what is not sent keeps its present value' : 'the implied values replace everything'}`, async () => {
          const { id } = await newGrant({ access: from });
          const { status, body } = await patched(id, { access: to });
          assert.equal(status, 200);
          assert.deepEqual(body.data.attributes, { access: to, ...implied[to === 'custom' ? from : to] });
        });

    test('from a level to custom, what is sent changes and the rest stays as it was implied', async () => {
      const { id } = await newGrant({ access: 'write' });
      const { body } = await patched(id, { access: 'custom', runs: 'plan' });
      assert.deepEqual(body.data.attributes, { access: 'custom', ...implied.write, runs: 'plan' });
    });

    test('from admin to custom, the administration of the workspace is gone: no custom grant has it', async () => {
      const workspace = await office.workspace();
      const { actor, team } = await office.member();
      const id = await office.grant(workspace, team, { access: 'admin' });
      const may = async () => (await actor.get(`/workspaces/${workspace}`)).body.data.attributes.permissions;
      assert.deepEqual([(await may())['can-update'], (await may())['can-manage-run-tasks']], [true, true]);
      await patched(id, { access: 'custom' });
      assert.deepEqual([(await may())['can-update'], (await may())['can-manage-run-tasks']], [false, true]);
      assert.equal((await patched(id, { access: 'admin' }, actor)).status, 404);
    });

    test('without access, it applies to the present level', async () => {
      const chosen = await newGrant({ access: 'custom', runs: 'plan' });
      const { attributes } = (await patched(chosen.id, { variables: 'write' })).body.data;
      assert.deepEqual(attributes, { access: 'custom', ...implied.custom, runs: 'plan', variables: 'write' });
      const fixed = await newGrant({ access: 'read' });
      assert.deepEqual(pointers(await patched(fixed.id, { variables: 'write' })), ['/data/attributes/variables']);
    });

    test('data.id and data.type may be absent, and must be right where they are present', async () => {
      const { id } = await newGrant({ access: 'read' });
      const path = `/team-workspaces/${id}`;
      const attributes = { access: 'write' };
      for (const data of [{ attributes }, { id, type: 'team-workspaces', attributes }, { id: '', attributes }, {}])
        assert.equal((await owner.patch(path, data)).status, 200);
      assert.deepEqual(pointers(await owner.patch(path, { id: 'tws-x' })), ['/data/id']);
      assert.deepEqual(pointers(await owner.patch(path, { type: 'team-projects' })), ['/data/type']);
    });

    test('412 when If-Match no longer holds, and nothing is changed', async () => {
      const { id } = await newGrant({ access: 'read' });
      const path = `/team-workspaces/${id}`;
      const tag = { 'if-match': (await owner.get(path)).headers.etag ?? '' };
      assert.equal((await owner.patch(path, { attributes: { access: 'plan' } }, tag)).status, 200);
      assert.equal((await owner.patch(path, { attributes: { access: 'admin' } }, tag)).status, 412);
      assert.equal((await owner.delete(path, undefined, tag)).status, 412);
      assert.equal((await owner.get(path)).body.data.attributes.access, 'plan');
    });
  });

  describe('who sees and changes it', () => {
    test('administrators of the workspace see every row, secret teams included; anyone else those of its own teams', async () => {
      const project = await office.project();
      const workspace = await office.workspace(project);
      const visible = await office.member();
      const secret = await office.member({ visibility: 'secret' });
      const rows = {
        visible: await office.grant(workspace, visible.team, { access: 'read' }),
        secret: await office.grant(workspace, secret.team, { access: 'write' }),
      };
      const all = [rows.visible, rows.secret];
      const teams = (teams: string) => ({ access: 'custom', 'project-access': { teams } });
      const callers: Record<string, [Actor, string[] | number]> = {
        owner: [owner, all],
        'organization token': [await office.organizationToken(), all],
        'project admin': [await office.granted({ on: project, access: { access: 'admin' } }), all],
        'project maintain': [await office.granted({ on: project, access: { access: 'maintain' } }), all],
        'manage-workspaces': [await office.holder('manage-workspaces'), all],
        'visible team': [visible.actor, [rows.visible]],
        'secret team': [secret.actor, [rows.secret]],
        'token of the secret team': [await office.tokenOf(secret.team), [rows.secret]],
        'project write': [await office.granted({ on: project, access: { access: 'write' } }), []],
        'teams = read': [await office.granted({ on: project, access: teams('read') }), []],
        'teams = manage': [await office.granted({ on: project, access: teams('manage') }), []],
        'read-workspaces': [await office.holder('read-workspaces'), []],
        'access-secret-teams': [await office.holder('manage-teams', 'access-secret-teams'), 404],
        'read-projects': [await office.holder('read-projects'), 404],
        'plain member': [(await office.member()).actor, 404],
        stranger: [(await directory.user(fresh('stranger'))).actor, 404],
      };
      for (const [who, [actor, seen]] of Object.entries(callers)) {
        const list = await actor.get(rowsOf(workspace));
        if (typeof seen === 'number') assert.equal(list.status, seen, who);
        else {
          assert.deepEqual(idsOf(list), seen, who);
          assert.equal(list.body.meta.pagination['total-count'], seen.length, who);
        }
        const [readable, changeable] = [typeof seen === 'number' ? [] : seen, seen === all ? all : []];
        for (const id of all) {
          const path = `/team-workspaces/${id}`;
          assert.equal((await actor.get(path)).status, readable.includes(id) ? 200 : 404, `${who}: GET`);
          const status = changeable.includes(id) ? 412 : 404;
          const stale = { 'if-match': '"stale"' };
          assert.equal((await actor.patch(path, { attributes: {} }, stale)).status, status, `${who}: PATCH`);
          assert.equal((await actor.delete(path, undefined, stale)).status, status, `${who}: DELETE`);
        }
      }
    });

    test('a secret team is named by who sees it: a member, an owner, a holder of access-secret-teams', async () => {
      const workspace = await office.workspace();
      const access = { 'manage-workspaces': true, 'manage-teams': true };
      for (const [attributes, status] of [
        [{ 'organization-access': { ...access, 'access-secret-teams': true } }, 200],
        [{ 'organization-access': access }, 404],
      ] as const) {
        const { actor } = await office.member(attributes);
        const body = workspaceGrantBody(workspace, await office.team([], { visibility: 'secret' }), { access: 'read' });
        assert.equal((await actor.post('/team-workspaces', body)).status, status);
      }
      const { actor, team } = await office.member({ visibility: 'secret', 'organization-access': access });
      const own = workspaceGrantBody(workspace, team, { access: 'read' });
      assert.equal((await actor.post('/team-workspaces', own)).status, 200);
    });

    test('a grant on a workspace opens that workspace and nothing beside it', async () => {
      const project = await office.project();
      const [here, beside] = [await office.workspace(project), await office.workspace(project)];
      const { actor, team } = await office.member();
      const id = await office.grant(here, team, { access: 'admin' });
      assert.equal((await actor.get(`/workspaces/${here}`)).status, 200);
      for (const path of [`/workspaces/${beside}`, `/projects/${project}`, rowsOf(beside)])
        assert.equal((await actor.get(path)).status, 404, path);
      const list = await actor.get(`/team-projects?filter[project][id]=${project}`);
      assert.deepEqual([list.status, list.body.data], [200, []]);
      const more = grantBody(project, team, { access: 'read' });
      assert.equal((await actor.post('/team-projects', more)).status, 404);
      await owner.delete(`/team-workspaces/${id}`);
      assert.equal((await actor.get(`/workspaces/${here}`)).status, 404, 'taken away, the next request knows');
    });

    test('a grant on a workspace adds to the one on its project, and never takes from it', async () => {
      const project = await office.project();
      const workspace = await office.workspace(project);
      const { actor, team } = await office.member();
      const id = await office.grant(workspace, team, { access: 'read' });
      await office.grant(project, team, custom({ runs: 'plan', locking: true }));
      const may = async () => (await actor.get(`/workspaces/${workspace}`)).body.data.attributes.permissions;
      const keys = ['can-queue-run', 'can-lock', 'can-read-variable', 'can-update-variable'];
      const held = async () => {
        const permissions = await may();
        return keys.map(key => permissions[key]);
      };
      assert.deepEqual(await held(), [true, true, true, false]);
      await patched(id, { access: 'custom', runs: 'read', variables: 'write' });
      assert.deepEqual(await held(), [true, true, true, true]);
      await owner.delete(`/team-workspaces/${id}`);
      assert.deepEqual(await held(), [true, true, false, false]);
    });
  });

  describe('GET list', () => {
    let workspace: string;
    const ids: string[] = [];
    before(async () => {
      workspace = await office.workspace();
      for (let i = 0; i < 5; i++) ids.push(await office.grant(workspace, await office.team(), { access: 'read' }));
    });

    test('in order of creation, in pages, with full links that carry the filters', async () => {
      const answer = await owner.get(`${rowsOf(workspace)}&page[number]=2&page[size]=2`);
      assert.deepEqual(idsOf(answer), ids.slice(2, 4));
      const url = (page: number) =>
        `https://bailiwick.example/api/v2/team-workspaces?filter%5Bworkspace%5D%5Bid%5D=${workspace}&page%5Bnumber%5D=${page}&page%5Bsize%5D=2`;
      assert.deepEqual(answer.body.links, { self: url(2), first: url(1), prev: url(1), next: url(3), last: url(3) });
      assert.equal(answer.body.meta.pagination['total-count'], 5);
      assert.deepEqual(idsOf(await owner.get(rowsOf(workspace))), ids);
      assert.deepEqual(idsOf(await owner.get(`${rowsOf(workspace)}&page[number]=9`)), []);
    });

    test('filter[team][id] narrows it; without filter[workspace][id] it is 400, of an unknown workspace 404', async () => {
      const team = (await owner.get(`/team-workspaces/${ids[1]}`)).body.data.relationships.team.data.id;
      const one = await owner.get(`${rowsOf(workspace)}&filter[team][id]=${team}`);
      assert.deepEqual(idsOf(one), [ids[1]]);
      assert.ok(one.body.links.self.includes(`filter%5Bteam%5D%5Bid%5D=${team}`));
      assert.deepEqual(idsOf(await owner.get(`${rowsOf(workspace)}&filter[team][id]=team-none`)), []);
      const missing = await owner.get('/team-workspaces');
      assert.deepEqual([missing.status, missing.body.errors[0].source.parameter], [400, 'filter[workspace][id]']);
      for (const id of ['ws-1111111111111111', 'x', '%00', '%F0%9F%92%A5'])
        assert.equal((await owner.get(rowsOf(id))).status, 404, id);
    });
  });

  test('DELETE: 204 without a body, and then 404 on everything', async () => {
    const { id } = await newGrant({ access: 'read' });
    const removed = await owner.delete(`/team-workspaces/${id}`);
    assert.deepEqual([removed.status, removed.text], [204, '']);
    assert.equal((await owner.delete(`/team-workspaces/${id}`)).status, 404);
    assert.equal((await owner.get(`/team-workspaces/${id}`)).status, 404);
    assert.equal((await patched(id, { access: 'read' })).status, 404);
  });

  test('deleting a team, a workspace or the whole organization removes the grants; a move does not', async () => {
    const ofTeam = await newGrant({ access: 'read' });
    await owner.delete(`/teams/${ofTeam.team}`);
    assert.equal((await owner.get(`/team-workspaces/${ofTeam.id}`)).status, 404);
    assert.deepEqual(idsOf(await owner.get(rowsOf(ofTeam.workspace))), []);
    const ofWorkspace = await newGrant({ access: 'read' });
    await owner.delete(`/workspaces/${ofWorkspace.workspace}`);
    assert.equal((await owner.get(`/team-workspaces/${ofWorkspace.id}`)).status, 404);
    const moved = await newGrant({ access: 'read' });
    const relationships = { project: { data: { type: 'projects', id: await office.project() } } };
    assert.equal((await owner.patch(`/workspaces/${moved.workspace}`, { relationships })).status, 200);
    assert.equal((await owner.get(`/team-workspaces/${moved.id}`)).status, 200);

    const organization = fresh('doomed');
    await directory.organization(owner, organization);
    const team = await directory.team(owner, organization, { name: 'gone' });
    const id = await office.grant(await directory.workspace(owner, organization, 'gone'), team, { access: 'read' });
    await owner.delete(`/organizations/${organization}`);
    assert.equal((await owner.get(`/team-workspaces/${id}`)).status, 404);
  });
});
