/** The directory around team access: who sees, makes and changes organizations, members, teams, projects and tokens. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { sealed } from '../src/store/token.ts';
import { fresh, idsOf, namesOf, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, mediaType, newDirectory } from './support/world.ts';

describe('the directory', () => {
  let directory: Directory;
  let admin: Actor;
  let owner: Actor;
  let outsider: Actor;
  before(async () => {
    directory = await newDirectory();
    ({ admin } = directory);
    ({ actor: owner } = await directory.user('owner'));
    ({ actor: outsider } = await directory.user('outsider'));
    await directory.organization(owner, 'acme');
  });
  after(() => directory.server.close());

  const member = async () => {
    const name = fresh('member');
    return { name, ...(await directory.member(owner, 'acme', name)) };
  };
  /** A member of a new team that holds these organization permissions. */
  const holder = async (...permissions: string[]) => {
    const { name, actor, id } = await member();
    const organizationAccess = Object.fromEntries(permissions.map(permission => [permission, true]));
    const attributes = {
      name: fresh('holders'),
      visibility: 'organization',
      'organization-access': organizationAccess,
    };
    return { name, actor, id, team: await directory.team(owner, 'acme', attributes, [name]) };
  };
  const ownersTeam = async () => (await owner.get('/organizations/acme/teams')).body.data[0].id as string;
  const membershipOf = async (user: string) => {
    const { body } = await owner.get('/organizations/acme/organization-memberships?page[size]=100');
    return body.data.find(({ relationships }: Json) => relationships.user.data.id === user).id as string;
  };

  describe('users', () => {
    const add = (actor: Actor, username: string, email: string, more: Json = {}) =>
      actor.post('/admin/users', { type: 'users', attributes: { username, email, ...more } });

    test('a site admin adds, lists, shows, changes and deletes them; anybody else gets 404, with a good body or a bad one', async () => {
      const made = await add(admin, 'zoe', 'zoe@example.com');
      assert.equal(made.status, 201);
      const { id } = made.body.data;
      assert.ok(idsOf(await admin.get('/admin/users?page[size]=100')).includes(id));
      assert.equal((await admin.get(`/admin/users/${id}`)).text, made.text);
      const renamed = await admin.patch(`/admin/users/${id}`, { type: 'users', attributes: { username: 'zora' } });
      assert.equal(renamed.body.data.attributes.username, 'zora');
      for (const actor of [owner, outsider]) {
        assert.equal((await add(actor, 'yan', 'yan@example.com')).status, 404);
        assert.equal((await add(actor, '', 'no')).status, 404);
        assert.equal((await actor.get('/admin/users')).status, 404);
        assert.equal((await actor.get(`/admin/users/${id}`)).status, 404);
        assert.equal((await actor.patch(`/admin/users/${id}`, { attributes: { 'is-admin': true } })).status, 404);
        assert.equal((await actor.delete(`/admin/users/${id}`)).status, 404);
      }
      assert.equal((await admin.delete(`/admin/users/${id}`)).status, 204);
      assert.equal((await admin.get(`/admin/users/${id}`)).status, 404);
    });

    test('username and email are unique whatever their case, and must look like one', async () => {
      await add(admin, 'una', 'una@example.com');
      assert.deepEqual(pointers(await add(admin, 'UNA', 'UNA@EXAMPLE.COM')), [
        '/data/attributes/email',
        '/data/attributes/username',
      ]);
      assert.deepEqual(pointers(await add(admin, 'UNA', 'una3@example.com')), ['/data/attributes/username']);
      assert.deepEqual(pointers(await add(admin, 'una2', 'UNA@EXAMPLE.COM')), ['/data/attributes/email']);
      for (const name of ['user-1', 'USER-1'])
        assert.deepEqual(pointers(await add(admin, name, 'one@example.com')), ['/data/attributes/username']);
      assert.deepEqual(pointers(await add(admin, 'a b', 'nobody')), [
        '/data/attributes/email',
        '/data/attributes/username',
      ]);
    });

    test('the last site admin can neither be deleted nor demoted', async () => {
      const { id } = (await admin.get('/account/details')).body.data;
      assert.equal((await admin.delete(`/admin/users/${id}`)).status, 422);
      assert.equal((await admin.patch(`/admin/users/${id}`, { attributes: { 'is-admin': false } })).status, 422);
      assert.equal((await admin.get('/account/details')).body.data.attributes['is-admin'], true);
    });

    test('the last owner of an organization cannot be deleted', async () => {
      const { id, actor } = await directory.user('sole');
      await directory.organization(actor, 'sole-owned');
      assert.equal((await admin.delete(`/admin/users/${id}`)).status, 403);
      assert.equal((await actor.get('/organizations/sole-owned')).status, 200);
    });

    test('one sees oneself and those one shares an organization with; a stranger is 404', async () => {
      const { id, actor } = await member();
      const stranger = await directory.user(fresh('stranger'));
      assert.equal((await actor.get(`/users/${id}`)).status, 200);
      assert.equal((await owner.get(`/users/${id}`)).status, 200);
      assert.equal((await stranger.actor.get(`/users/${id}`)).status, 404);
      assert.equal((await owner.get(`/users/${stranger.id}`)).status, 404);
      assert.equal((await admin.get(`/users/${stranger.id}`)).status, 200);
    });

    test('GET account/details: the user, or a service account for a team and an organization', async () => {
      const { body } = await owner.get('/account/details');
      assert.equal(body.data.attributes.username, 'owner');
      const token = (await owner.make('/organizations/acme/authentication-token')).attributes.token;
      const service = await directory.actor(token).get('/account/details');
      assert.equal(service.body.data.attributes['is-service-account'], true);
    });
  });

  describe('organizations', () => {
    test('each gets an owners team with its creator and a Default Project', async () => {
      const { actor, id } = await directory.user(fresh('founder'));
      const name = fresh('new');
      await directory.organization(actor, name);
      const teams = await actor.get(`/organizations/${name}/teams`);
      assert.deepEqual(namesOf(teams), ['owners']);
      assert.deepEqual(teams.body.data[0].relationships.users.data, [{ id, type: 'users' }]);
      assert.deepEqual(namesOf(await actor.get(`/organizations/${name}/projects`)), ['Default Project']);
    });

    test('the id is the name, found whatever its case; the external id outlives a change of name', async () => {
      const { actor } = await directory.user(fresh('founder'));
      await directory.organization(actor, 'Casing');
      const { body } = await actor.get('/organizations/cASING');
      assert.equal(body.data.id, 'Casing');
      const renamed = await actor.patch('/organizations/Casing', { attributes: { name: 'Renamed' } });
      assert.equal(renamed.body.data.id, 'Renamed');
      assert.equal(renamed.body.data.attributes['external-id'], body.data.attributes['external-id']);
      assert.equal((await actor.get('/organizations/Casing')).status, 404);
    });

    test('a name is unique whatever its case, and made of letters, digits, hyphens and underscores', async () => {
      const add = (name: string) =>
        owner.post('/organizations', { type: 'organizations', attributes: { name, email: 'o@example.com' } });
      for (const name of ['ACME', 'a b', '', 'ä', 'a'.repeat(65)])
        assert.deepEqual(pointers(await add(name)), ['/data/attributes/name'], name);
    });

    test('one lists those one belongs to; a stranger gets 404 on all of them', async () => {
      assert.deepEqual(idsOf(await outsider.get('/organizations')), []);
      assert.ok(idsOf(await owner.get('/organizations')).includes('acme'));
      for (const path of [
        '',
        '/teams',
        '/projects',
        '/organization-memberships',
        '/team-tokens',
        '/authentication-token',
      ])
        assert.equal((await outsider.get(`/organizations/acme${path}`)).status, 404, path);
    });

    test('members read, owners change; 404 for a member who tries, and 404 for a team token that would make one', async () => {
      const { actor, team } = await holder();
      assert.equal((await actor.get('/organizations/acme')).status, 200);
      assert.equal((await actor.patch('/organizations/acme', { attributes: { email: 'x@example.com' } })).status, 404);
      assert.equal((await actor.delete('/organizations/acme')).status, 404);
      const token = (await owner.make(`/teams/${team}/authentication-token`)).attributes.token;
      const attributes = { name: fresh('by-team'), email: 'x@example.com' };
      assert.equal(
        (await directory.actor(token).post('/organizations', { type: 'organizations', attributes })).status,
        404,
      );
    });

    test('deleting one takes everything in it away', async () => {
      const { actor } = await directory.user(fresh('founder'));
      const name = fresh('doomed');
      await directory.organization(actor, name);
      const project = await directory.project(actor, name, 'gone');
      const token = (await actor.make(`/organizations/${name}/authentication-token`)).attributes.token;
      assert.equal((await actor.delete(`/organizations/${name}`)).status, 204);
      assert.equal((await actor.get(`/projects/${project}`)).status, 404);
      assert.equal((await directory.actor(token).get('/organizations')).status, 401);
    });
  });

  describe('organization memberships', () => {
    const invite = (actor: Actor, email: string) =>
      actor.post('/organizations/acme/organization-memberships', {
        type: 'organization-memberships',
        attributes: { email },
      });

    test('an unknown e-mail is invited until that user exists, and its teams are kept', async () => {
      const made = await invite(owner, 'Late@example.com');
      assert.equal(made.status, 201);
      assert.equal(made.body.data.attributes.status, 'invited');
      const { id } = made.body.data;
      const team = await directory.team(owner, 'acme', { name: fresh('waiting') });
      const reference = [{ type: 'organization-memberships', id }];
      assert.equal((await owner.post(`/teams/${team}/relationships/organization-memberships`, reference)).status, 204);
      assert.equal((await owner.get(`/teams/${team}`)).body.data.attributes['users-count'], 0);
      const late = (
        await admin.make('/admin/users', { type: 'users', attributes: { username: 'late', email: 'late@example.com' } })
      ).id;
      const shown = await owner.get(`/organization-memberships/${id}`);
      assert.equal(shown.body.data.attributes.status, 'active');
      assert.equal(shown.body.data.relationships.user.data.id, late);
      assert.equal((await owner.get(`/teams/${team}`)).body.data.attributes['users-count'], 1);
    });

    test('an invitation that is taken back leaves no user behind', async () => {
      const { id, relationships } = (await invite(owner, 'gone@example.com')).body.data;
      assert.equal((await owner.delete(`/organization-memberships/${id}`)).status, 204);
      assert.equal((await admin.get(`/users/${relationships.user.data.id}`)).status, 404);
    });

    test('an invited user has no tokens and is no user yet', async () => {
      const { relationships } = (await invite(owner, 'soon@example.com')).body.data;
      const user = relationships.user.data.id;
      assert.equal((await admin.post(`/users/${user}/authentication-tokens`)).status, 404);
      assert.equal((await admin.get(`/admin/users/${user}`)).status, 404);
    });

    test('an invitation may name teams, which the caller must be able to fill: 404 at the one that it is not', async () => {
      const manager = await holder('manage-membership');
      const visible = await directory.team(owner, 'acme', { name: fresh('open'), visibility: 'organization' });
      const secret = await directory.team(owner, 'acme', { name: fresh('shut') });
      const to = (...teams: string[]) =>
        manager.actor.post('/organizations/acme/organization-memberships', {
          type: 'organization-memberships',
          attributes: { email: `${fresh('new')}@example.com` },
          relationships: { teams: { data: teams.map(id => ({ type: 'teams', id })) } },
        });
      const made = await to(visible);
      assert.equal(made.status, 201);
      assert.deepEqual(made.body.data.relationships.teams.data, [{ id: visible, type: 'teams' }]);
      const { body } = await owner.get(`/teams/${visible}/relationships/organization-memberships`);
      assert.deepEqual(idsOf({ body } as Answer), [made.body.data.id]);
      const before = (await owner.get('/organizations/acme/organization-memberships')).body.meta.pagination;
      for (const hidden of [secret, 'team-none', await ownersTeam()]) {
        const refused = await to(visible, hidden);
        assert.equal(refused.status, 404);
        assert.deepEqual(pointers(refused), ['/data/relationships/teams/data/1']);
      }
      assert.deepEqual((await owner.get('/organizations/acme/organization-memberships')).body.meta.pagination, before);
    });

    test('a member who takes an invited e-mail has the teams of the invitation too', async () => {
      const { id, name } = await member();
      const email = `${name}@elsewhere.example`;
      const invited = (await invite(owner, email)).body.data.id;
      const team = await directory.team(owner, 'acme', { name: fresh('kept') });
      const reference = [{ type: 'organization-memberships', id: invited }];
      await owner.post(`/teams/${team}/relationships/organization-memberships`, reference);
      assert.equal((await admin.patch(`/admin/users/${id}`, { attributes: { email } })).status, 200);
      assert.equal((await owner.get(`/organization-memberships/${invited}`)).status, 404);
      assert.deepEqual((await owner.get(`/teams/${team}`)).body.data.relationships.users.data, [{ id, type: 'users' }]);
    });

    test('who is invited twice in two organizations has two ids: one tells nothing of the other', async () => {
      const { actor } = await directory.user(fresh('rival'));
      await directory.organization(actor, 'rival');
      const data = { type: 'organization-memberships', attributes: { email: 'both@example.com' } };
      const here = await owner.make('/organizations/acme/organization-memberships', data);
      const there = await actor.make('/organizations/rival/organization-memberships', data);
      assert.notEqual(here.relationships.user.data.id, there.relationships.user.data.id);
      const again = [];
      for (let twice = 0; twice < 2; twice++) {
        await owner.delete(`/organization-memberships/${again.at(-1)?.id ?? here.id}`);
        again.push(await owner.make('/organizations/acme/organization-memberships', data));
      }
      assert.equal(new Set(again.map(({ relationships }) => relationships.user.data.id)).size, 2);
    });

    test('422 for somebody who is a member already, or what is no e-mail address', async () => {
      assert.deepEqual(pointers(await invite(owner, 'OWNER@example.com')), ['/data/attributes/email']);
      assert.deepEqual(pointers(await invite(owner, 'nobody')), ['/data/attributes/email']);
    });

    test('who manages membership invites and removes, but removes no owner; a plain member does neither', async () => {
      const manager = await holder('manage-membership');
      const plain = await member();
      const { id } = (await invite(manager.actor, `${fresh('new')}@example.com`)).body.data;
      assert.equal((await invite(plain.actor, 'x@example.com')).status, 404);
      assert.equal((await plain.actor.delete(`/organization-memberships/${id}`)).status, 404);
      assert.equal((await manager.actor.delete(`/organization-memberships/${id}`)).status, 204);
      const ownerMembership = (await owner.get('/organization-memberships')).body.data[0].id;
      assert.equal((await manager.actor.delete(`/organization-memberships/${ownerMembership}`)).status, 404);
      assert.equal((await owner.delete(`/organization-memberships/${ownerMembership}`)).status, 403);
    });

    test('the last owner is not removed, not even by the organization’s own token', async () => {
      const { actor } = await directory.user(fresh('founder'));
      const name = fresh('owned');
      await directory.organization(actor, name);
      const { token } = (await actor.make(`/organizations/${name}/authentication-token`)).attributes;
      const { id } = (await actor.get(`/organizations/${name}/organization-memberships`)).body.data[0];
      assert.equal((await directory.actor(token).delete(`/organization-memberships/${id}`)).status, 403);
      assert.equal((await actor.get(`/organizations/${name}`)).status, 200);
    });

    test('anyone may leave, and has no access from the next request on', async () => {
      const { actor } = await member();
      const own = (await actor.get('/organization-memberships')).body.data[0].id;
      assert.equal((await actor.get('/organizations/acme')).status, 200);
      assert.equal((await actor.delete(`/organization-memberships/${own}`)).status, 204);
      assert.equal((await actor.get('/organizations/acme')).status, 404);
    });

    test('a membership shows only those of its teams that the caller sees', async () => {
      const { name, id, actor } = await member();
      const visible = await directory.team(owner, 'acme', { name: fresh('seen'), visibility: 'organization' }, [name]);
      const secret = await directory.team(owner, 'acme', { name: fresh('unseen') }, [name]);
      const other = await member();
      const membership = await membershipOf(id);
      const teamsFor = async (reader: Actor) =>
        (await reader.get(`/organization-memberships/${membership}`)).body.data.relationships.teams.data.map(
          ({ id }: Json) => id,
        );
      assert.deepEqual(await teamsFor(owner), [visible, secret]);
      assert.deepEqual(await teamsFor(actor), [visible, secret]);
      assert.deepEqual(await teamsFor(other.actor), [visible]);
    });
  });

  describe('teams', () => {
    const add = (actor: Actor, attributes: Json) =>
      actor.post('/organizations/acme/teams', { type: 'teams', attributes });

    test('organization access is echoed as sent: every key, with nothing implied', async () => {
      const { body } = await add(owner, { name: fresh('echo'), 'organization-access': { 'manage-workspaces': true } });
      const shown = body.data.attributes['organization-access'];
      assert.equal(Object.keys(shown).length, 21);
      assert.deepEqual(
        Object.keys(shown).filter(key => shown[key]),
        ['manage-workspaces'],
      );
      const patched = await owner.patch(`/teams/${body.data.id}`, {
        attributes: { 'organization-access': { 'read-projects': true } },
      });
      const merged = patched.body.data.attributes['organization-access'];
      assert.deepEqual(
        Object.keys(merged)
          .filter(key => merged[key])
          .sort(),
        ['manage-workspaces', 'read-projects'],
      );
      assert.equal((await owner.get(`/teams/${body.data.id}`)).text, patched.text);
    });

    test('secret by default; sso-team-id is set and cleared; the name is unique whatever its case', async () => {
      const name = fresh('plain');
      const { id, attributes } = (await add(owner, { name, 'sso-team-id': 'sso' })).body.data;
      assert.equal(attributes.visibility, 'secret');
      assert.equal(attributes['sso-team-id'], 'sso');
      const cleared = await owner.patch(`/teams/${id}`, { attributes: { 'sso-team-id': '' } });
      assert.equal(cleared.body.data.attributes['sso-team-id'], null);
      const invisible = ['owners\u200b', '\u202esrenwo', 'x\u0007', 'a\u3164', 'a\u034fb'];
      for (const taken of [name.toUpperCase(), 'Owners', '', ' x', 'x\n', 'x'.repeat(91), ...invisible])
        assert.deepEqual(pointers(await add(owner, { name: taken })), ['/data/attributes/name'], taken);
      assert.equal((await add(owner, { name: `foo bar/${name}` })).status, 200);
    });

    test('a secret team exists for its members and the owners alone', async () => {
      const { name, actor } = await member();
      const other = await member();
      const id = await directory.team(owner, 'acme', { name: fresh('secret') }, [name]);
      const sight = async (reader: Actor) => [
        (await reader.get(`/teams/${id}`)).status,
        idsOf(await reader.get('/organizations/acme/teams?page[size]=100')).includes(id),
      ];
      assert.deepEqual(await sight(owner), [200, true]);
      assert.deepEqual(await sight(actor), [200, true]);
      assert.deepEqual(await sight(other.actor), [404, false]);
      assert.deepEqual(await sight((await holder('manage-membership')).actor), [404, false]);
      assert.deepEqual(await sight((await holder('access-secret-teams')).actor), [404, false]);
      assert.deepEqual(await sight((await holder('manage-membership', 'access-secret-teams')).actor), [200, true]);
    });

    test('who manages teams makes, changes and deletes visible ones, but not the owners team; a member does not', async () => {
      const manager = await holder('manage-teams');
      const plain = await member();
      const name = fresh('managed');
      assert.equal((await add(plain.actor, { name })).status, 404);
      const made = await add(manager.actor, { name, visibility: 'organization' });
      assert.equal(made.status, 200);
      const { id } = made.body.data;
      assert.equal((await manager.actor.patch(`/teams/${id}`, { attributes: { name: `${name}-2` } })).status, 200);
      assert.equal((await plain.actor.patch(`/teams/${id}`, { attributes: { name } })).status, 404);
      assert.equal((await plain.actor.delete(`/teams/${id}`)).status, 404);
      assert.equal((await manager.actor.delete(`/teams/${id}`)).status, 204);
      const owners = await ownersTeam();
      assert.equal(
        (await manager.actor.patch(`/teams/${owners}`, { attributes: { visibility: 'secret' } })).status,
        404,
      );
      assert.equal((await manager.actor.delete(`/teams/${owners}`)).status, 404);
      assert.equal((await owner.delete(`/teams/${owners}`)).status, 422);
      const attributes = { name: 'bosses', visibility: 'secret' };
      assert.deepEqual(pointers(await owner.patch(`/teams/${owners}`, { attributes })), [
        '/data/attributes/name',
        '/data/attributes/visibility',
      ]);
    });

    test('nobody makes a team that is then hidden from them', async () => {
      const manager = await holder('manage-teams');
      assert.deepEqual(pointers(await add(manager.actor, { name: fresh('hidden') })), ['/data/attributes/visibility']);
    });

    test('nobody gives more than they hold: organization access is for owners and who may manage it', async () => {
      const target = await directory.team(owner, 'acme', { name: fresh('target'), visibility: 'organization' });
      const give = (actor: Actor, access: Json) =>
        actor.patch(`/teams/${target}`, { attributes: { 'organization-access': access } });
      const manager = await holder('manage-teams');
      assert.equal(
        (await give(manager.actor, { 'manage-projects': false })).status,
        200,
        'what does not change is no change',
      );
      assert.deepEqual(pointers(await give(manager.actor, { 'manage-teams': true })), [
        '/data/attributes/organization-access/manage-teams',
      ]);
      const granter = await holder('manage-organization-access', 'read-projects');
      assert.equal((await give(granter.actor, { 'read-projects': true })).status, 200);
      assert.deepEqual(pointers(await give(granter.actor, { 'manage-projects': true })), [
        '/data/attributes/organization-access/manage-projects',
      ]);
      const own = await granter.actor.patch(`/teams/${granter.team}`, {
        attributes: { 'organization-access': { 'manage-projects': true } },
      });
      assert.equal(own.status, 422);
    });

    test('an answer to a change that touches the caller’s own rights shows the rights that it has then', async () => {
      const { actor, team } = await holder('manage-organization-access');
      const off = { 'organization-access': { 'manage-organization-access': false } };
      const patched = await actor.patch(`/teams/${team}`, { attributes: off });
      assert.equal(patched.status, 200);
      assert.equal(patched.body.data.attributes.permissions['can-update-organization-access'], false);
      assert.equal((await actor.get(`/teams/${team}`)).text, patched.text);
    });
  });

  describe('team membership', () => {
    test('by username, by user id and by membership id; adding twice and removing twice do no harm', async () => {
      const { name, id } = await member();
      const team = await directory.team(owner, 'acme', { name: fresh('joined') });
      const membership = await membershipOf(id);
      const path = `/teams/${team}/relationships`;
      const members = async () =>
        (await owner.get(`/teams/${team}`)).body.data.relationships.users.data.map(({ id }: Json) => id);
      for (const [type, reference] of [
        ['users', name],
        ['users', id],
        ['organization-memberships', membership],
      ] as const) {
        const data = [{ type, id: reference }];
        for (let twice = 0; twice < 2; twice++) assert.equal((await owner.post(`${path}/${type}`, data)).status, 204);
        assert.deepEqual(await members(), [id]);
        assert.deepEqual(idsOf(await owner.get(`${path}/organization-memberships`)), [membership]);
        for (let twice = 0; twice < 2; twice++) assert.equal((await owner.delete(`${path}/${type}`, data)).status, 204);
        assert.deepEqual(await members(), []);
      }
    });

    test('422 at the one who is no member of the organization, and then nobody is added', async () => {
      const { name } = await member();
      const team = await directory.team(owner, 'acme', { name: fresh('strict') });
      const data = [name, 'outsider', 'nobody-at-all'].map(id => ({ type: 'users', id }));
      const answer = await owner.post(`/teams/${team}/relationships/users`, data);
      assert.equal(answer.status, 422);
      assert.deepEqual(pointers(answer), ['/data/1/id', '/data/2/id']);
      assert.deepEqual((await owner.get(`/teams/${team}`)).body.data.relationships.users.data, []);
      for (const bad of [[], [{ type: 'teams', id: 'x' }], [{ type: 'users' }], {}])
        assert.equal((await owner.post(`/teams/${team}/relationships/users`, bad)).status, 422);
    });

    test('who manages membership does so in visible teams, and never in the owners team', async () => {
      const manager = await holder('manage-membership');
      const { name } = await member();
      const data = [{ type: 'users', id: name }];
      const visible = await directory.team(owner, 'acme', { name: fresh('v'), visibility: 'organization' });
      const secret = await directory.team(owner, 'acme', { name: fresh('s') });
      const add = async (actor: Actor, team: string) =>
        (await actor.post(`/teams/${team}/relationships/users`, data)).status;
      assert.equal(await add(manager.actor, visible), 204);
      assert.equal(await add(manager.actor, secret), 404);
      assert.equal(await add(manager.actor, await ownersTeam()), 404);
      assert.equal(await add((await member()).actor, visible), 404);
    });

    test('the last owner stays: 403', async () => {
      const owners = await ownersTeam();
      const answer = await owner.delete(`/teams/${owners}/relationships/users`, [{ type: 'users', id: 'owner' }]);
      assert.equal(answer.status, 403);
      assert.equal((await owner.get('/organizations/acme')).body.data.attributes.permissions['can-update'], true);
    });
  });

  describe('projects', () => {
    const add = (actor: Actor, attributes: Json) =>
      actor.post('/organizations/acme/projects', { type: 'projects', attributes });

    test('a name has 3 to 40 letters, digits, spaces, hyphens or underscores, and is unique whatever its case', async () => {
      for (const name of ['abc', 'a'.repeat(40), 'My Project_1-2', '---'])
        assert.equal((await add(owner, { name })).status, 201, name);
      for (const name of ['ab', 'a'.repeat(41), ' abc', 'abc ', 'a/b', 'äöü', 'a\nb', 'ABC', 'default project']) {
        const answer = await add(owner, { name });
        assert.equal(answer.status, 422, name);
        assert.deepEqual(pointers(answer), ['/data/attributes/name'], name);
      }
      const { errors } = (await add(owner, { name: 'a' })).body;
      assert.equal(errors[0].title, 'invalid attribute');
      assert.match(errors[0].detail, /^Name may only contain/);
    });

    test('description: up to 256 characters, null, kept when not sent', async () => {
      const { id, attributes } = (await add(owner, { name: fresh('described'), description: 'x'.repeat(256) })).body
        .data;
      assert.equal(attributes.description.length, 256);
      assert.equal(
        (await owner.patch(`/projects/${id}`, { attributes: { name: fresh('renamed') } })).body.data.attributes
          .description.length,
        256,
      );
      assert.equal(
        (await owner.patch(`/projects/${id}`, { attributes: { description: null } })).body.data.attributes.description,
        null,
      );
      assert.deepEqual(
        pointers(await owner.patch(`/projects/${id}`, { attributes: { description: 'x'.repeat(257) } })),
        ['/data/attributes/description'],
      );
    });

    test('the default project is renamed but not deleted', async () => {
      const { actor } = await directory.user(fresh('founder'));
      const name = fresh('org');
      await directory.organization(actor, name);
      const { id } = (await actor.get(`/organizations/${name}/projects`)).body.data[0];
      assert.equal((await actor.delete(`/projects/${id}`)).status, 422);
      assert.equal((await actor.patch(`/projects/${id}`, { attributes: { name: 'First of all' } })).status, 200);
      assert.equal((await actor.delete(`/projects/${id}`)).status, 422);
    });

    /** By grant on the project: what may the member do with it? */
    const byGrant: Record<string, string> = {
      none: 'GET 404, PATCH 404, DELETE 404, list no',
      read: 'GET 200, PATCH 404, DELETE 404, list yes',
      maintain: 'GET 200, PATCH 404, DELETE 404, list yes',
      'settings = update': 'GET 200, PATCH 200, DELETE 404, list yes',
      'settings = delete': 'GET 200, PATCH 200, DELETE 204, list yes',
      admin: 'GET 200, PATCH 200, DELETE 204, list yes',
    };
    for (const [grant, expected] of Object.entries(byGrant))
      test(`with ${grant}: ${expected}`, async () => {
        const { name, actor } = await member();
        const project = await directory.project(owner, 'acme', fresh('project'));
        const team = await directory.team(owner, 'acme', { name: fresh('grantees') }, [name]);
        const [key, value] = grant.split(' = ');
        const attributes = value
          ? { access: 'custom', 'project-access': { [key as string]: value } }
          : { access: grant };
        if (grant !== 'none') await directory.grant(owner, project, team, attributes);
        const listed = idsOf(await actor.get('/organizations/acme/projects?page[size]=100')).includes(project);
        const read = (await actor.get(`/projects/${project}`)).status;
        const patched = (await actor.patch(`/projects/${project}`, { attributes: { description: 'x' } })).status;
        const removed = (await actor.delete(`/projects/${project}`)).status;
        assert.equal(`GET ${read}, PATCH ${patched}, DELETE ${removed}, list ${listed ? 'yes' : 'no'}`, expected);
      });

    test('organization permissions: manage-projects makes and sees all, read-projects sees all, read-workspaces none', async () => {
      const project = await directory.project(owner, 'acme', fresh('project'));
      const can = async (permission: string) => {
        const { actor } = await holder(permission);
        return `${(await actor.get(`/projects/${project}`)).status} ${(await add(actor, { name: fresh('made') })).status}`;
      };
      assert.equal(await can('manage-projects'), '200 201');
      assert.equal(await can('manage-workspaces'), '200 404');
      assert.equal(await can('read-projects'), '200 404');
      assert.equal(await can('manage-agent-pools'), '200 404');
      assert.equal(await can('read-workspaces'), '404 404');
      assert.equal(await can('manage-policies'), '404 404');
    });
  });

  describe('tokens', () => {
    const year = (text: string) => new Date(text).getUTCFullYear();

    test('a token is shown once, works, expires after two years by default, and stops when revoked', async () => {
      const { id, actor } = await member();
      const made = await actor.make(`/users/${id}/authentication-tokens`, { attributes: { description: 'laptop' } });
      assert.match(made.attributes.token, /^[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67}$/);
      assert.equal(year(made.attributes['expired-at']), year(made.attributes['created-at']) + 2);
      assert.equal((await directory.actor(made.attributes.token).get('/account/details')).status, 200);
      const shown = await actor.get(`/authentication-tokens/${made.id}`);
      assert.deepEqual(shown.body.data, { ...made, attributes: { ...made.attributes, token: null } });
      assert.ok(idsOf(await actor.get(`/users/${id}/authentication-tokens`)).includes(made.id));
      assert.equal((await actor.delete(`/authentication-tokens/${made.id}`)).status, 204);
      assert.equal((await directory.actor(made.attributes.token).get('/account/details')).status, 401);
      assert.equal((await actor.get(`/authentication-tokens/${made.id}`)).status, 404);
    });

    test('the public part of a token is not enough, nor one wrong character under a right checksum', async () => {
      const { id, actor } = await member();
      const { token } = (await actor.make(`/users/${id}/authentication-tokens`)).attributes;
      const body = token.slice(0, -6);
      assert.equal(sealed(body), token);
      for (const forged of [`${body.slice(0, -1)}${body.endsWith('A') ? 'B' : 'A'}`, body.slice(0, 23).padEnd(84, 'x')])
        assert.equal((await directory.actor(sealed(forged)).get('/account/details')).status, 401);
    });

    test('a token that is revoked while the body of its request is under way changes nothing: 401', async () => {
      const { id, actor } = await member();
      const made = await actor.make(`/users/${id}/authentication-tokens`);
      const body = JSON.stringify({
        data: { type: 'organizations', attributes: { name: fresh('late'), email: 'l@example.com' } },
      });
      const late = request(`${directory.server.url}/api/v2/organizations`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${made.attributes.token}`,
          'content-type': mediaType,
          'content-length': `${body.length}`,
          expect: '100-continue',
        },
      });
      late.flushHeaders();
      // The server asks for the body once the token was found to be good.
      await once(late, 'continue');
      await actor.delete(`/authentication-tokens/${made.id}`);
      late.end(body);
      const [answer] = await once(late, 'response');
      answer.resume();
      assert.equal(answer.statusCode, 401);
      assert.deepEqual(idsOf(await actor.get('/organizations')), ['acme']);
    });

    test('an expired token is 401; one that would be expired is 422', async () => {
      const { id, actor } = await member();
      const path = `/users/${id}/authentication-tokens`;
      const soon = await actor.make(path, { attributes: { 'expired-at': '2026-01-01T00:00:59+00:00' } });
      assert.equal(soon.attributes['expired-at'], '2026-01-01T00:00:59.000Z');
      const holder = directory.actor(soon.attributes.token);
      assert.equal((await holder.get('/account/details')).status, 200);
      directory.server.reseed(99);
      assert.equal((await holder.get('/account/details')).status, 401);
      for (const past of ['2020-01-01T00:00:00Z', 'tomorrow', 5, '2030-13-01T00:00:00Z'])
        assert.deepEqual(
          pointers(await actor.post(path, { attributes: { 'expired-at': past } })),
          ['/data/attributes/expired-at'],
          `${past}`,
        );
    });

    test("a user's tokens are its own: a colleague sees an empty list, a stranger 404, a site admin all", async () => {
      const { id, actor } = await member();
      const { id: token } = await actor.make(`/users/${id}/authentication-tokens`);
      const path = `/users/${id}/authentication-tokens`;
      assert.deepEqual(idsOf(await owner.get(path)), []);
      assert.equal((await outsider.get(path)).status, 404);
      assert.ok(idsOf(await admin.get(path)).includes(token));
      for (const other of [owner, outsider]) {
        assert.equal((await other.post(path)).status, 404);
        assert.equal((await other.get(`/authentication-tokens/${token}`)).status, 404);
        assert.equal((await other.delete(`/authentication-tokens/${token}`)).status, 404);
      }
      assert.equal((await admin.delete(`/authentication-tokens/${token}`)).status, 204);
    });

    test('the single token of a team or an organization replaces the one before', async () => {
      const team = await directory.team(owner, 'acme', { name: fresh('single') });
      for (const path of [`/teams/${team}/authentication-token`, '/organizations/acme/authentication-token']) {
        const first = await owner.make(path);
        const second = await owner.make(path);
        assert.notEqual(first.id, second.id);
        assert.equal((await directory.actor(first.attributes.token).get('/account/details')).status, 401);
        assert.equal((await directory.actor(second.attributes.token).get('/account/details')).status, 200);
        assert.equal((await owner.get(path)).body.data.id, second.id);
        assert.equal((await owner.delete(path)).status, 204);
        assert.equal((await owner.get(path)).status, 404);
        assert.equal((await owner.delete(path)).status, 404);
      }
    });

    test('the ETag of a new token is that of the token without its secret', async () => {
      const { id, actor } = await member();
      const team = await directory.team(owner, 'acme', { name: fresh('tagged') });
      const organization = directory.actor(
        (await owner.make('/organizations/acme/authentication-token')).attributes.token,
      );
      for (const [maker, tokens] of [
        [actor, `/users/${id}/authentication-tokens`],
        [organization, `/teams/${team}/authentication-tokens`],
      ] as const) {
        const made = await maker.post(tokens);
        const path = `/authentication-tokens/${made.body.data.id}`;
        assert.equal((await maker.get(path)).headers.etag, made.headers.etag);
        assert.equal((await maker.delete(path, undefined, { 'if-match': `${made.headers.etag}` })).status, 204);
      }
    });

    test('several per team, each description once, beside the single one', async () => {
      const team = await directory.team(owner, 'acme', { name: fresh('several') });
      const path = `/teams/${team}/authentication-tokens`;
      const ids = [];
      for (const description of ['ci', 'deploy', ''])
        ids.push((await owner.make(path, { attributes: { description } })).id);
      assert.deepEqual(pointers(await owner.post(path, { attributes: { description: 'ci' } })), [
        '/data/attributes/description',
      ]);
      ids.push((await owner.make(`/teams/${team}/authentication-token`)).id);
      assert.deepEqual(idsOf(await owner.get(path)), ids);
      const all = idsOf(await owner.get('/organizations/acme/team-tokens?page[size]=100'));
      assert.ok(ids.every(id => all.includes(id)));
    });

    test("a team's members manage its tokens unless the team forbids it; a team token never makes another", async () => {
      const { name, actor } = await member();
      const other = await member();
      const team = await directory.team(owner, 'acme', { name: fresh('own'), visibility: 'organization' }, [name]);
      const path = `/teams/${team}/authentication-tokens`;
      const made = await actor.make(path, { attributes: { description: 'mine' } });
      assert.equal((await other.actor.post(path)).status, 404);
      assert.equal((await directory.actor(made.attributes.token).post(path)).status, 404);
      await owner.patch(`/teams/${team}`, { attributes: { 'allow-member-token-management': false } });
      assert.equal((await actor.post(path)).status, 404);
      assert.equal((await actor.get(`/authentication-tokens/${made.id}`)).status, 404);
      assert.deepEqual(idsOf(await actor.get('/organizations/acme/team-tokens')), []);
      const manager = await holder('manage-teams');
      assert.equal((await manager.actor.post(path)).status, 201);
      assert.equal((await manager.actor.post(`/teams/${await ownersTeam()}/authentication-tokens`)).status, 404);
    });

    test('a site admin who is no member has no rights in an organization', async () => {
      assert.equal((await admin.get('/organizations/acme')).status, 404);
      assert.equal((await admin.post('/organizations/acme/authentication-token')).status, 404);
    });
  });
});
