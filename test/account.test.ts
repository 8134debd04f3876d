/** The account of a token's holder, what its user may change of it, and what others see of a user. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import { fresh, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, newDirectory } from './support/world.ts';

describe('accounts', () => {
  let directory: Directory;
  let owner: Actor;
  let ownerId: string;
  let teamToken: Actor;
  let organizationToken: Actor;
  let auditToken: Actor;
  let team: string;
  before(async () => {
    directory = await newDirectory();
    ({ actor: owner, id: ownerId } = await directory.user('owner'));
    await directory.organization(owner, 'acme');
    team = await directory.team(owner, 'acme', { name: 'devs', visibility: 'organization' });
    const issued = async (path: string) => owner.make(`${path}/authentication-token`);
    const audit = await issued('/organizations/acme');
    auditToken = directory.actor(audit.attributes.token);
    await directory.server.store.write(tx =>
      tx.run(sql`update authentication_tokens set slot = 'audit-trails' where id = ${audit.id}`),
    );
    organizationToken = directory.actor((await issued('/organizations/acme')).attributes.token);
    teamToken = directory.actor((await issued(`/teams/${team}`)).attributes.token);
  });
  after(() => directory.server.close());

  const person = async () => {
    const username = fresh('person');
    return { username, ...(await directory.user(username)) };
  };
  const services = () => [teamToken, organizationToken];

  describe('GET account/details', () => {
    const own = (username: string) => ({
      username,
      email: `${username}@example.com`,
      'unconfirmed-email': null,
      'is-service-account': false,
      'is-admin': false,
      'is-site-admin': false,
      'is-sso-login': false,
      'auth-method': 'tfc',
      'v2-only': false,
      'two-factor': { enabled: false, verified: false },
      password: null,
      permissions: {
        'can-create-organizations': true,
        'can-change-email': true,
        'can-change-username': true,
        'can-manage-user-tokens': true,
        'can-view2fa-settings': false,
        'can-manage-hcp-account': false,
      },
    });

    test('a user: every attribute, its tokens and itself', async () => {
      const { id, attributes, relationships, links } = (await owner.get('/account/details')).body.data;
      const { 'avatar-url': picture, ...rest } = attributes;
      assert.equal(id, ownerId);
      assert.deepEqual(rest, own('owner'));
      assert.match(picture, /^data:image\/svg\+xml,/);
      assert.deepEqual(relationships, {
        'authentication-tokens': { links: { related: `/api/v2/users/${id}/authentication-tokens` } },
        'authenticated-resource': { data: { id, type: 'users' } },
      });
      assert.deepEqual(links, { self: `/api/v2/users/${id}` });
      assert.equal((await owner.get(relationships['authentication-tokens'].links.related.slice(7))).status, 200);
    });

    test('a site admin is told so', async () => {
      const { attributes } = (await directory.admin.get('/account/details')).body.data;
      assert.deepEqual([attributes['is-admin'], attributes['is-site-admin']], [true, true]);
    });

    test('a team or an organization appears as a service account, with what is behind it', async () => {
      const behind = [
        { id: team, type: 'teams' },
        { id: 'acme', type: 'organizations' },
      ];
      for (const [index, actor] of services().entries()) {
        const { id, attributes, relationships, links } = (await actor.get('/account/details')).body.data;
        assert.match(id, /^user-/);
        assert.equal(links, undefined);
        assert.deepEqual(relationships, { 'authenticated-resource': { data: behind[index] } });
        const { username, 'avatar-url': picture, permissions, ...rest } = attributes;
        const { username: _, email: __, permissions: ofUser, ...others } = own('x');
        assert.deepEqual(rest, { ...others, email: null, 'is-service-account': true });
        assert.match(username, /^api-/);
        assert.ok(picture);
        assert.deepEqual(Object.keys(permissions), Object.keys(ofUser));
        assert.ok(Object.values(permissions).every(may => may === false));
      }
    });

    test('404 to a token that reads the audit trail and nothing else', async () => {
      for (const path of ['/account/details', `/users/${ownerId}`, '/organizations/acme'])
        assert.equal((await auditToken.get(path)).status, 404, path);
      assert.deepEqual((await auditToken.get('/organizations')).body.data, []);
    });
  });

  describe('PATCH account/update', () => {
    const update = (actor: Actor, attributes: Json, more: Json = {}) =>
      actor.patch('/account/update', { type: 'users', attributes, ...more });

    test('the username changes at once, also as a member of a team', async () => {
      const { id, actor } = await person();
      const next = fresh('renamed');
      const answer = await update(actor, { username: next });
      assert.equal(answer.status, 200);
      assert.equal(answer.body.data.attributes.username, next);
      assert.equal((await actor.get('/account/details')).text, answer.text);
      assert.equal((await directory.admin.get(`/admin/users/${id}`)).body.data.attributes.username, next);
    });

    test('another e-mail is unconfirmed until a site admin sets it, and accepts no invitation before', async () => {
      const { id, username, actor } = await person();
      const email = `${username}@new.example`;
      const path = '/organizations/acme/organization-memberships';
      const invited = await owner.make(path, { type: 'organization-memberships', attributes: { email } });
      const asked = await update(actor, { email });
      const emails = ({ body }: Answer) => [body.data.attributes.email, body.data.attributes['unconfirmed-email']];
      assert.deepEqual(emails(asked), [`${username}@example.com`, email]);
      assert.equal((await actor.get('/account/details')).text, asked.text);
      const status = async () =>
        (await owner.get(`/organization-memberships/${invited.id}`)).body.data.attributes.status;
      assert.equal(await status(), 'invited');
      assert.equal((await actor.get('/organizations/acme')).status, 404);
      const seen = await directory.admin.get(`/admin/users/${id}`);
      assert.deepEqual(emails(seen), emails(asked));
      // Whatever else is changed leaves the wish as it is.
      await directory.admin.patch(`/admin/users/${id}`, { attributes: { username: fresh('other') } });
      assert.deepEqual(emails(await update(actor, {})), emails(asked));
      const confirmed = await directory.admin.patch(`/admin/users/${id}`, { attributes: { email } });
      assert.deepEqual(emails(confirmed), [email, null]);
      assert.deepEqual(emails(await actor.get('/account/details')), [email, null]);
      assert.equal(await status(), 'active');
      assert.equal((await actor.get('/organizations/acme')).status, 200);
    });

    test('the wish is taken back by asking for the present e-mail, and refused by a site admin who sets it', async () => {
      const { id, username, actor } = await person();
      const present = `${username}@example.com`;
      const unconfirmed = async () => (await actor.get('/account/details')).body.data.attributes['unconfirmed-email'];
      for (const takeBack of [
        () => update(actor, { email: present }),
        () => directory.admin.patch(`/admin/users/${id}`, { attributes: { email: present } }),
      ]) {
        await update(actor, { email: 'wished@example.com' });
        assert.equal(await unconfirmed(), 'wished@example.com');
        assert.equal((await takeBack()).status, 200);
        assert.equal(await unconfirmed(), null);
      }
    });

    test('asking for somebody else’s e-mail tells nothing of them, and is 422 only to the site admin who would set it', async () => {
      const { id, actor } = await person();
      const other = await person();
      const email = `${other.username}@example.com`;
      const taken = await update(actor, { email });
      const free = await update(actor, { email: 'free@example.com' });
      assert.deepEqual([taken.status, free.status], [200, 200]);
      assert.equal(taken.text.replace(email, ''), free.text.replace('free@example.com', ''));
      const set = await directory.admin.patch(`/admin/users/${id}`, { attributes: { email } });
      assert.deepEqual(pointers(set), ['/data/attributes/email']);
    });

    test('422 for a username that is taken or not well made, and for what is no e-mail address', async () => {
      const { actor, username } = await person();
      const before = (await actor.get('/account/details')).text;
      for (const name of ['OWNER', 'user-1', 'a b', '', 5])
        assert.deepEqual(pointers(await update(actor, { username: name })), ['/data/attributes/username']);
      assert.deepEqual(pointers(await update(actor, { email: 'nobody' })), ['/data/attributes/email']);
      assert.equal((await actor.get('/account/details')).text, before);
      assert.equal((await update(actor, { username })).text, before);
    });

    test('data.id may be the user’s own, empty or absent; any other is 422', async () => {
      const { id, actor } = await person();
      for (const own of [id, '']) assert.equal((await update(actor, {}, { id: own })).status, 200);
      for (const other of [ownerId, 'x'])
        assert.deepEqual(pointers(await update(actor, {}, { id: other })), ['/data/id']);
    });

    test('an attribute that is not the user’s to set has no effect', async () => {
      const { actor } = await person();
      const before = (await actor.get('/account/details')).text;
      const attributes = {
        'is-admin': true,
        'is-site-admin': true,
        'unconfirmed-email': 'x@example.com',
        password: 'x',
      };
      assert.equal((await update(actor, attributes)).text, before);
      assert.equal((await actor.get('/admin/users')).status, 404);
    });

    test('412 with a stale tag; 404 for whoever is no user, with a good body or a bad one', async () => {
      const { actor } = await person();
      const stale = await actor.patch('/account/update', { attributes: {} }, { 'if-match': '"stale"' });
      assert.equal(stale.status, 412);
      const { etag = '' } = (await actor.get('/account/details')).headers;
      assert.equal((await actor.patch('/account/update', { attributes: {} }, { 'if-match': etag })).status, 200);
      for (const service of [...services(), auditToken])
        for (const attributes of [{ username: fresh('api') }, { username: 5 }])
          assert.equal((await update(service, attributes)).status, 404);
    });
  });

  describe('PATCH account/password', () => {
    const set = (actor: Actor, password: unknown, current?: unknown, again = password) =>
      actor.patch('/account/password', {
        type: 'users',
        attributes: {
          password,
          password_confirmation: again,
          ...(current !== undefined && { current_password: current }),
        },
      });
    const hashOf = async (id: string) =>
      (
        await directory.server.store.read(tx =>
          tx.row<[string | null]>(sql`select password_hash from users where id = ${id}`),
        )
      )?.[0];

    test('the first one needs no current one, each later one does', async () => {
      const { id, actor } = await person();
      assert.equal(await hashOf(id), null);
      const first = await set(actor, 'first password');
      assert.equal(first.status, 200);
      assert.equal(first.text, (await actor.get('/account/details')).text);
      const kept = await hashOf(id);
      assert.match(kept ?? '', /^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
      for (const wrong of [undefined, '', 'first passwore', 'FIRST PASSWORD', 'first password '])
        assert.deepEqual(pointers(await set(actor, 'second password', wrong)), ['/data/attributes/current_password']);
      assert.equal(await hashOf(id), kept);
      assert.equal((await set(actor, 'second password', 'first password')).status, 200);
      assert.equal((await set(actor, 'second password', 'second password')).status, 200);
      assert.notEqual(await hashOf(id), kept);
      assert.deepEqual(pointers(await set(actor, 'third password', 'first password')), [
        '/data/attributes/current_password',
      ]);
    });

    test('two users with one password have two hashes, and letters composed in two ways are the same', async () => {
      const [one, two] = [await person(), await person()];
      for (const { actor } of [one, two]) assert.equal((await set(actor, 'caf\u00e9 au lait')).status, 200);
      assert.notEqual(await hashOf(one.id), await hashOf(two.id));
      assert.equal((await set(one.actor, 'something else', 'cafe\u0301 au lait')).status, 200);
    });

    test('422: too short, too long, of another kind, missing, or not confirmed', async () => {
      const { id, actor } = await person();
      const at = (name: string) => [`/data/attributes/${name}`];
      for (const password of ['nine char', '', 'x'.repeat(257), 5, null])
        assert.deepEqual(pointers(await set(actor, password, undefined, 'ten chars.')), at('password'), `${password}`);
      assert.equal((await set(actor, 'ten chars.')).status, 200);
      assert.deepEqual(
        pointers(await set(actor, 'long enough', 'ten chars.', 'long enougH')),
        at('password_confirmation'),
      );
      assert.deepEqual(pointers(await actor.patch('/account/password', { attributes: {} })), [
        '/data/attributes/password',
        '/data/attributes/password_confirmation',
      ]);
      assert.deepEqual(pointers(await actor.patch('/account/password', {})), ['/data/attributes']);
      const attributes = {
        password: 'long enough',
        password_confirmation: 'long enough',
        current_password: 'ten chars.',
      };
      assert.deepEqual(pointers(await actor.patch('/account/password', { type: 'teams', attributes })), ['/data/type']);
      assert.deepEqual(pointers(await actor.patch('/account/password', { id: ownerId, attributes })), ['/data/id']);
      assert.equal((await actor.patch('/account/password', { id, attributes })).status, 200);
    });

    test('404 for whoever is no user, with a good body or a bad one; 412 with a stale tag', async () => {
      for (const service of [...services(), auditToken])
        for (const password of ['long enough', 5]) assert.equal((await set(service, password)).status, 404);
      const { actor } = await person();
      const attributes = { password: 'long enough', password_confirmation: 'long enough' };
      const stale = await actor.patch('/account/password', { attributes }, { 'if-match': '"stale"' });
      assert.equal(stale.status, 412);
    });

    test('no password is in an answer, in an audit row or anywhere in the database as it was sent', async () => {
      const { id, actor } = await person();
      const secrets = ['correct horse battery', 'staple correct horse'];
      const answers = [
        await set(actor, secrets[0]),
        await set(actor, secrets[1], secrets[0]),
        await set(actor, secrets[0], secrets[0]),
        await set(actor, secrets[0], secrets[1], secrets[1]),
        await actor.get('/account/details'),
        await directory.admin.get(`/admin/users/${id}`),
      ];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 422, 422, 200, 200],
      );
      const { store } = directory.server;
      const rows = await store.read(tx => tx.rows<Json>(sql`select * from audit_events where resource_id = ${id}`));
      assert.equal(rows.filter(row => row.includes('change_password')).length, 2);
      const user = await store.read(tx => tx.row(sql`select * from users where id = ${id}`));
      const hash = await hashOf(id);
      for (const text of [...answers.map(({ text }) => text), JSON.stringify(rows)])
        for (const secret of [...secrets, hash ?? '', hash?.split('$').at(-1) ?? ''])
          assert.ok(!text.includes(secret), `${secret} in ${text}`);
      for (const secret of secrets) assert.ok(!JSON.stringify(user).includes(secret));
    });

    test('it opens nothing: a token is still the only way in', async () => {
      const { username, actor } = await person();
      await set(actor, 'open sesame!');
      const basic = `Basic ${Buffer.from(`${username}:open sesame!`).toString('base64')}`;
      const { client } = directory.server;
      for (const authorization of [basic, 'Bearer open sesame!']) {
        const answer = await client.send('GET', '/api/v2/account/details', { headers: { authorization } });
        assert.equal(answer.status, 401);
      }
    });
  });

  describe('GET users/:id', () => {
    test('everything to the user itself; to a fellow member and to a site admin neither e-mail nor account', async () => {
      const { id, actor } = await directory.member(owner, 'acme', fresh('member'));
      const { relationships, ...account } = (await actor.get('/account/details')).body.data;
      const { relationships: own, ...whole } = (await actor.get(`/users/${id}`)).body.data;
      assert.deepEqual(whole, account);
      assert.deepEqual(own, { 'authentication-tokens': relationships['authentication-tokens'] });
      const publicKeys = ['auth-method', 'avatar-url', 'is-service-account', 'username', 'v2-only'];
      for (const reader of [owner, directory.admin, ...services()]) {
        const { attributes } = (await reader.get(`/users/${id}`)).body.data;
        assert.deepEqual(Object.keys(attributes).sort(), publicKeys);
      }
      const stranger = await person();
      assert.equal((await stranger.actor.get(`/users/${id}`)).status, 404);
    });

    test('what a user asks for or keeps for itself changes no byte for a fellow member', async () => {
      const { id, actor } = await directory.member(owner, 'acme', fresh('member'));
      const paths = [`/users/${id}`, '/organizations/acme/organization-memberships?include=user&page[size]=100'];
      const seen = async () => {
        const texts = [];
        for (const path of paths) texts.push((await owner.get(path)).text);
        return texts;
      };
      const before = await seen();
      await actor.patch('/account/update', { attributes: { email: 'secret-wish@example.com' } });
      const attributes = { password: 'secret password', password_confirmation: 'secret password' };
      await actor.patch('/account/password', { attributes });
      assert.deepEqual(await seen(), before);
    });
  });
});
