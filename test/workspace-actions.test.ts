/** What is done to a workspace beside changing it: locks and deletions, promise by promise. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { details, fresh } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { custom, Office } from './support/office.ts';
import { type Actor, type Directory, mediaType } from './support/world.ts';

describe('actions on workspaces', () => {
  let office: Office;
  let directory: Directory;
  let owner: Actor;
  let organizationToken: Actor;
  before(async () => {
    office = await Office.open();
    ({ directory, owner } = office);
    organizationToken = await office.organizationToken();
  });
  after(() => office.close());

  const inside = '/organizations/acme/workspaces';
  const shown = async (id: string, actor = owner) => (await actor.get(`/workspaces/${id}`)).body.data;
  const act = (actor: Actor, id: string, action: string, data?: Json) =>
    actor.post(`/workspaces/${id}/actions/${action}`, data);

  describe('locks', () => {
    const lockOf = ({ body }: Answer) => [
      body.data.attributes.locked,
      body.data.attributes['locked-reason'],
      body.data.relationships['locked-by'].data,
    ];

    test('lock answers who and why; a second one is 409, by whomever; unlock by the holder, then 409', async () => {
      const { actor, id: user, team } = await office.member();
      const id = await office.workspace();
      const other = await office.granted({ on: id, access: { access: 'write' } });
      await office.grant(id, team, { access: 'write' });
      const locked = await act(actor, id, 'lock', { attributes: { reason: 'deploying' } });
      assert.equal(locked.status, 200);
      assert.deepEqual(lockOf(locked), [true, 'deploying', { id: user, type: 'users' }]);
      for (const each of [actor, other, owner]) {
        const again = await act(each, id, 'lock');
        assert.deepEqual([again.status, again.body.errors[0].title], [409, 'conflict']);
      }
      const foreign = await act(other, id, 'unlock');
      assert.equal(foreign.status, 409);
      assert.match(details(foreign)[0] ?? '', /is locked by User/);
      const unlocked = await act(actor, id, 'unlock');
      assert.equal(unlocked.status, 200);
      assert.deepEqual(lockOf(unlocked), [false, null, null]);
      const none = await act(actor, id, 'unlock');
      assert.equal(none.status, 409);
      assert.doesNotMatch(none.text, /is locked by/);
    });
    test('the bodies that clients send: none, no Content-Type, an empty type, a bare reason', async () => {
      const id = await office.workspace();
      const { client } = directory.server;
      const path = `/api/v2/workspaces/${id}/actions/lock`;
      const authorization = `Bearer ${owner.token}`;
      const bodies: [string | undefined, string | null][] = [
        [undefined, null],
        ['{"data":{"type":"","attributes":{"reason":"why"}}}', 'why'],
        ['{"data":{"type":"","attributes":{}}}', null],
        ['{"data":{"attributes":{"reason":"why"}}}', 'why'],
        ['{"data":{"type":"workspaces","attributes":{"reason":null}}}', null],
        ['{"data":{"type":""}}', null],
        ['{"data":null}', null],
        ['{"reason":"why"}', 'why'],
        ['{}', null],
      ];
      for (const [payload, reason] of bodies) {
        const answer = await client.call(owner.token, 'POST', path, payload);
        assert.equal(answer.status, 200, `${payload}: ${answer.text}`);
        assert.equal(answer.body.data.attributes['locked-reason'], reason, `${payload}`);
        assert.equal((await act(owner, id, 'unlock')).status, 200);
      }
      const headers = { authorization, 'content-length': '0' };
      for (const type of [undefined, mediaType])
        for (const action of ['lock', 'unlock', 'lock', 'force-unlock']) {
          const answer = await client.send('POST', `/api/v2/workspaces/${id}/actions/${action}`, {
            headers: { ...headers, ...(type && { 'content-type': type }) },
          });
          assert.equal(answer.status, 200, `${action}, ${type}: ${answer.text}`);
        }
      for (const bad of ['[]', '"why"', '{"reason":5}', '{"data":{"attributes":{"reason":[]}}}'])
        assert.equal((await client.call(owner.token, 'POST', path, bad)).status, 422, bad);
    });

    test('force-unlock is for administrators, whoever holds the lock; 409 where there is none', async () => {
      const id = await office.workspace();
      const writer = await office.granted({ on: id, access: { access: 'write' } });
      const admin = await office.granted({ on: id, access: { access: 'admin' } });
      assert.equal((await act(owner, id, 'lock')).status, 200);
      assert.equal((await act(writer, id, 'force-unlock')).status, 404);
      const freed = await act(admin, id, 'force-unlock');
      assert.equal(freed.status, 200);
      assert.deepEqual(lockOf(freed), [false, null, null]);
      assert.equal((await act(admin, id, 'force-unlock')).status, 409);
    });

    test('who may lock: by levels, by the custom right, by organization permissions; 404 for anyone else', async () => {
      const project = await office.project();
      const id = await office.workspace(project);
      const expected: Record<string, [Actor, number]> = {
        'organization token': [organizationToken, 200],
        'manage-workspaces': [await office.holder('manage-workspaces'), 200],
        'read-workspaces': [await office.holder('read-workspaces'), 404],
        'plain member': [(await office.member()).actor, 404],
        'custom locking': [await office.granted({ on: project, access: custom({ locking: true }) }), 200],
        'workspace-locking': [
          await office.granted({ on: id, access: { access: 'custom', 'workspace-locking': true } }),
          200,
        ],
      };
      for (const [access, status] of Object.entries({ read: 404, write: 200, maintain: 200, admin: 200 }))
        expected[`project ${access}`] = [await office.granted({ on: project, access: { access } }), status];
      for (const [access, status] of Object.entries({ read: 404, plan: 404, write: 200, admin: 200, custom: 404 }))
        expected[`workspace ${access}`] = [await office.granted({ on: id, access: { access } }), status];
      for (const [who, [actor, status]] of Object.entries(expected)) {
        assert.equal((await act(actor, id, 'lock')).status, status, who);
        assert.equal((await act(actor, id, 'unlock')).status, status, who);
      }
      assert.equal((await act(owner, 'ws-1111111111111111', 'lock')).status, 404);
    });

    test('a team and an organization hold a lock by their tokens, and are named in the words of clients', async () => {
      const id = await office.workspace();
      const team = await office.team();
      await office.grant(id, team, { access: 'write' });
      const byTeam = await office.tokenOf(team);
      assert.deepEqual(lockOf(await act(byTeam, id, 'lock')), [true, null, { id: team, type: 'teams' }]);
      assert.match(details(await act(owner, id, 'unlock'))[0] ?? '', /is locked by Team/);
      assert.equal((await act(byTeam, id, 'unlock')).status, 200);
      const locked = await act(organizationToken, id, 'lock');
      assert.deepEqual(lockOf(locked), [true, null, { id: 'acme', type: 'organizations' }]);
      // A client that reads none of its words takes the workspace for unlocked.
      assert.match(details(await act(byTeam, id, 'unlock'))[0] ?? '', /is locked by User/);
      assert.equal((await act(organizationToken, id, 'unlock')).status, 200);
    });

    test('a secret team that holds a lock is not named to those who do not see it', async () => {
      const project = await office.project();
      const id = await office.workspace(project);
      const { actor: insider, team } = await office.member({ visibility: 'secret' });
      await office.grant(id, team, { access: 'write' });
      const outsider = await office.granted({ on: project, access: { access: 'admin' } });
      const keeper = await office.holder('read-workspaces', 'manage-teams', 'access-secret-teams');
      const byTeam = await office.tokenOf(team);
      assert.deepEqual(lockOf(await act(byTeam, id, 'lock', { attributes: { reason: 'why' } })), [
        true,
        'why',
        { id: team, type: 'teams' },
      ]);
      const seen = async (actor: Actor) => {
        const single = lockOf(await actor.get(`/workspaces/${id}`));
        const { body } = await actor.get(`${inside}?filter[project][id]=${project}`);
        assert.deepEqual(lockOf({ body: { data: body.data[0] } } as Answer), single, 'the list says the same');
        return single[2];
      };
      for (const actor of [owner, insider, keeper, byTeam])
        assert.deepEqual(await seen(actor), { id: team, type: 'teams' });
      assert.equal(await seen(outsider), null);
      const refused = await act(outsider, id, 'unlock');
      assert.match(details(refused)[0] ?? '', /is locked by Team/);
      assert.ok(!refused.text.includes(team));
      assert.equal((await owner.delete(`/teams/${team}`)).status, 204);
      assert.equal(await seen(owner), null, 'nor is one that is gone');
      assert.equal((await act(owner, id, 'force-unlock')).status, 200);
    });

    test('a user who has left the organization is not named either, whether its account is still there or not', async () => {
      const id = await office.workspace();
      const { actor, id: user, team } = await office.member();
      await office.grant(id, team, { access: 'write' });
      // That it still belongs elsewhere is nobody's business here.
      const elsewhere = fresh('elsewhere');
      await directory.organization(actor, elsewhere);
      await act(actor, id, 'lock');
      const { body } = await owner.get('/organizations/acme/organization-memberships?page[size]=100');
      const { id: membership } = body.data.find(({ relationships }: Json) => relationships.user.data.id === user);
      assert.equal((await owner.delete(`/organization-memberships/${membership}`)).status, 204);
      const left = await owner.get(`/workspaces/${id}`);
      assert.deepEqual(lockOf(left), [true, null, null]);
      assert.equal((await actor.delete(`/organizations/${elsewhere}`)).status, 204);
      assert.equal((await directory.admin.delete(`/admin/users/${user}`)).status, 204);
      assert.equal((await owner.get(`/workspaces/${id}`)).text, left.text);
    });
  });

  describe('DELETE and safe-delete', () => {
    test('204 by id and by name, and then 404; DELETE takes a locked one too', async () => {
      for (const how of [
        (id: string) => owner.delete(`/workspaces/${id}`),
        async (id: string) => owner.delete(`${inside}/${(await shown(id)).attributes.name}`),
        (id: string) => act(owner, id, 'safe-delete'),
        async (id: string) => owner.post(`${inside}/${(await shown(id)).attributes.name}/actions/safe-delete`),
      ]) {
        const id = await office.workspace();
        const gone = await how(id);
        assert.deepEqual([gone.status, gone.text], [204, '']);
        assert.equal((await owner.get(`/workspaces/${id}`)).status, 404);
        assert.equal((await owner.delete(`/workspaces/${id}`)).status, 404);
        assert.equal((await act(owner, id, 'safe-delete')).status, 404);
      }
      const id = await office.workspace();
      await act(organizationToken, id, 'lock');
      assert.equal((await owner.delete(`/workspaces/${id}`)).status, 204);
    });

    test('safe-delete of a locked one is 409 with locked in its text, also for the holder', async () => {
      const id = await office.workspace();
      const { name } = (await shown(id)).attributes;
      await act(owner, id, 'lock');
      for (const path of [`/workspaces/${id}`, `${inside}/${name}`]) {
        const refused = await owner.post(`${path}/actions/safe-delete`);
        assert.equal(refused.status, 409);
        assert.match(details(refused)[0] ?? '', /locked/);
      }
      assert.equal((await owner.get(`/workspaces/${id}`)).status, 200);
    });

    test('who may delete: administrators, and holders of the custom right; 404 for anyone else', async () => {
      const project = await office.project();
      const expected: Record<string, [(id: string) => Promise<Actor>, number]> = {
        'manage-workspaces': [() => office.holder('manage-workspaces'), 204],
        'read-workspaces': [() => office.holder('read-workspaces'), 404],
        'organization token': [async () => organizationToken, 204],
        'custom delete': [() => office.granted({ on: project, access: custom({ delete: true }) }), 204],
        'custom create': [() => office.granted({ on: project, access: custom({ create: true }) }), 404],
        'project write': [() => office.granted({ on: project, access: { access: 'write' } }), 404],
        'project maintain': [() => office.granted({ on: project, access: { access: 'maintain' } }), 204],
        'workspace write': [id => office.granted({ on: id, access: { access: 'write' } }), 404],
        'workspace admin': [id => office.granted({ on: id, access: { access: 'admin' } }), 204],
      };
      for (const [who, [caller, status]] of Object.entries(expected))
        for (const safe of [false, true]) {
          const id = await office.workspace(project);
          const actor = await caller(id);
          const answer = await (safe ? act(actor, id, 'safe-delete') : actor.delete(`/workspaces/${id}`));
          assert.equal(answer.status, status, `${who}, ${safe}`);
        }
    });
  });

  test('remote-state-consumers: an empty page for whoever reads the workspace, 404 for anyone else', async () => {
    const id = await office.workspace();
    const path = `/workspaces/${id}/relationships/remote-state-consumers`;
    const { status, body } = await owner.get(`${path}?page[size]=5`);
    assert.deepEqual([status, body.data, body.meta.pagination['total-count']], [200, [], 0]);
    assert.equal(body.links.self, `https://bailiwick.example/api/v2${path}?page%5Bnumber%5D=1&page%5Bsize%5D=5`);
    assert.equal((await (await office.member()).actor.get(path)).status, 404);
  });
});
