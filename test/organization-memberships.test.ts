/** Organization memberships: how they are found, counted and included, and what they tell of hidden teams. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { idsOf } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, newDirectory } from './support/world.ts';

const emailsOf = ({ body }: Answer): string[] => body.data.map(({ attributes }: Json) => attributes.email);

describe('organization memberships', () => {
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

  const inside = '/organizations/acme/organization-memberships';
  const invite = (email: string, teams: string[] = [], actor = owner) =>
    actor.post(inside, {
      type: 'organization-memberships',
      attributes: { email },
      ...(teams.length > 0 && { relationships: { teams: { data: teams.map(id => ({ type: 'teams', id })) } } }),
    });
  const avatar = /^data:image\/svg\+xml,/;

  describe('POST', () => {
    test('201 with the user in included, as a later read with include=user has it', async () => {
      const { id: user } = await directory.user('anna');
      for (const [email, username] of [
        ['anna@example.com', 'anna'],
        ['nobody@example.com', null],
      ] as const) {
        const made = await invite(email);
        assert.equal(made.status, 201);
        const { id, attributes, relationships } = made.body.data;
        assert.deepEqual(Object.keys(attributes).sort(), ['created-at', 'email', 'status']);
        assert.deepEqual([attributes.status, attributes.email], [username ? 'active' : 'invited', email]);
        assert.deepEqual(relationships.organization.data, { id: 'acme', type: 'organizations' });
        const [included, ...more] = made.body.included;
        assert.deepEqual(more, []);
        assert.deepEqual(relationships.user.data, { id: included.id, type: 'users' });
        if (username) assert.equal(included.id, user);
        const { 'avatar-url': picture, ...rest } = included.attributes;
        assert.match(picture, avatar);
        assert.deepEqual(rest, {
          username,
          email,
          'is-service-account': false,
          'auth-method': 'tfc',
          'v2-only': false,
        });
        const shown = await owner.get(`/organization-memberships/${id}?include=user`);
        assert.equal(shown.text, made.text);
        assert.deepEqual((await owner.get(`/organization-memberships/${id}`)).body, { data: made.body.data });
        const found = (await owner.get(`${inside}?filter[email]=${email}&include=user`)).body;
        assert.deepEqual([found.data, found.included], [[made.body.data], made.body.included]);
      }
    });

    test('its ETag is that of the membership, so that it holds for If-Match', async () => {
      const { body, headers } = await invite('tagged@example.com');
      const path = `/organization-memberships/${body.data.id}`;
      assert.equal((await owner.get(path)).headers.etag, headers.etag);
      const removed = await owner.delete(path, undefined, { 'if-match': headers.etag ?? '' });
      assert.equal(removed.status, 204);
    });

    test('a team of another organization is 404 at that team, even to an owner of both', async () => {
      await directory.organization(owner, 'rival');
      const foreign = await directory.team(owner, 'rival', { name: 'foreign', visibility: 'organization' });
      const own = await directory.team(owner, 'acme', { name: 'own' });
      const answer = await invite('teamed@example.com', [own, foreign]);
      assert.equal(answer.status, 404);
      assert.equal(answer.body.errors[0].source.pointer, '/data/relationships/teams/data/1');
      assert.deepEqual((await owner.get(`${inside}?q=teamed`)).body.data, []);
      const made = await invite('teamed@example.com', [own]);
      assert.deepEqual(made.body.data.relationships.teams.data, [{ id: own, type: 'teams' }]);
    });
  });

  describe('the list', () => {
    let directory: Directory;
    let owner: Actor;
    before(async () => {
      directory = await newDirectory();
      ({ actor: owner } = await directory.user('boss'));
      await directory.organization(owner, 'acme');
      for (const name of ['Alice_B', 'aliceXb', 'carol']) await directory.member(owner, 'acme', name);
      for (const email of ['dora@guest.example', 'ALICE@guest.example'])
        await owner.make(inside, { type: 'organization-memberships', attributes: { email } });
    });
    after(() => directory.server.close());

    const found = async (query: string) => emailsOf(await owner.get(`${inside}?${query}`));
    const all = [
      'boss@example.com',
      'Alice_B@example.com',
      'aliceXb@example.com',
      'carol@example.com',
      'dora@guest.example',
      'ALICE@guest.example',
    ];

    test('q finds by username or e-mail, whatever the case, and by the very characters', async () => {
      assert.deepEqual(await found(''), all);
      assert.deepEqual(await found('q='), all);
      assert.deepEqual(await found('q=ALICE'), ['Alice_B@example.com', 'aliceXb@example.com', 'ALICE@guest.example']);
      assert.deepEqual(await found('q=guest.EXAMPLE'), ['dora@guest.example', 'ALICE@guest.example']);
      assert.deepEqual(await found('q=alice_b'), ['Alice_B@example.com']);
      assert.deepEqual(await found('q=%25'), []);
    });

    test('filter[email] takes one or several whole addresses, whatever their case', async () => {
      assert.deepEqual(await found('filter[email]=CAROL@example.com'), ['carol@example.com']);
      assert.deepEqual(await found('filter[email]=dora@guest.example,,%20boss@example.com'), [
        'boss@example.com',
        'dora@guest.example',
      ]);
      assert.deepEqual(await found('filter[email]=carol'), []);
      assert.deepEqual(await found('filter[email]=nobody@example.com'), []);
      assert.deepEqual(await found('filter[email]='), all);
    });

    test('filter[status]: active, invited, inactive, of whom there are none; any other is 400', async () => {
      assert.deepEqual(await found('filter[status]=active'), all.slice(0, 4));
      assert.deepEqual(await found('filter[status]=invited'), all.slice(4));
      assert.deepEqual(await found('filter[status]=inactive'), []);
      assert.deepEqual(await found('filter[status]='), all);
      for (const status of ['pending', 'Active', 'toString', '__proto__']) {
        const answer = await owner.get(`${inside}?filter[status]=${status}`);
        assert.equal(answer.status, 400);
        assert.deepEqual(answer.body.errors[0].source, { parameter: 'filter[status]' });
      }
    });

    test('they narrow together, page by page, and the links carry them', async () => {
      const { body } = await owner.get(`${inside}?q=alice&filter[status]=active&include=user&page[size]=1`);
      assert.deepEqual(body.meta.pagination['total-count'], 2);
      assert.equal(body.included.length, 1);
      const next = await owner.get(body.links.next.split('/api/v2')[1]);
      assert.deepEqual(emailsOf(next), ['aliceXb@example.com']);
      assert.equal(next.body.included[0].attributes.username, 'aliceXb');
      const beyond = await owner.get(`${inside}?page[number]=9`);
      assert.deepEqual([beyond.status, beyond.body.data], [200, []]);
    });

    test('status-counts are of all that the search finds, whatever the status and the page asked for', async () => {
      const counts = async (query: string) => (await owner.get(`${inside}?${query}`)).body.meta['status-counts'];
      const whole = { total: 6, active: 4, invited: 2 };
      for (const query of ['', 'filter[status]=invited', 'filter[status]=inactive', 'page[size]=1', 'page[number]=9'])
        assert.deepEqual(await counts(query), whole, query);
      assert.deepEqual(await counts('q=alice'), { total: 3, active: 2, invited: 1 });
      assert.deepEqual(await counts('q=nothing'), { total: 0, active: 0, invited: 0 });
      assert.deepEqual(await counts('filter[email]=dora@guest.example&filter[status]=active'), {
        total: 1,
        active: 0,
        invited: 1,
      });
    });

    test('any member may ask; a stranger gets 404, with whatever query', async () => {
      const { actor } = await directory.member(owner, 'acme', 'zed');
      const stranger = await directory.user('stranger');
      for (const query of ['', '?include=nonsense', '?filter[status]=pending', '?q=a']) {
        assert.equal((await actor.get(`${inside}${query}`)).status, /nonsense|pending/.test(query) ? 400 : 200);
        assert.equal((await stranger.actor.get(`${inside}${query}`)).status, 404, query);
      }
    });
  });

  describe('include', () => {
    test('400 that names the include parameter for what cannot be included', async () => {
      const [id] = idsOf(await owner.get(inside));
      for (const path of [inside, `/organization-memberships/${id}`])
        for (const include of ['organization', 'user,nonsense']) {
          const answer = await owner.get(`${path}?include=${include}`);
          assert.equal(answer.status, 400);
          assert.match(answer.body.errors[0].detail, /include parameter/);
        }
      assert.equal((await outsider.get(`/organization-memberships/${id}?include=nonsense`)).status, 404);
    });

    test('teams are whole, each once, as they are shown by themselves, and only those that the caller sees', async () => {
      const { id: user, actor: mate } = await directory.member(owner, 'acme', 'mate');
      const { actor: other } = await directory.member(owner, 'acme', 'other');
      const visible = await directory.team(owner, 'acme', { name: 'visible', visibility: 'organization' }, [
        'mate',
        'other',
      ]);
      const secret = await directory.team(owner, 'acme', { name: 'secret' }, ['mate']);
      const [id] = idsOf(await owner.get(`${inside}?q=mate`));
      const includedFor = async (actor: Actor, path: string) => (await actor.get(path)).body.included;
      for (const [actor, teams] of [
        [owner, [visible, secret]],
        [mate, [visible, secret]],
        [other, [visible]],
      ] as const) {
        const whole = [];
        for (const team of teams) whole.push((await actor.get(`/teams/${team}`)).body.data);
        assert.deepEqual(await includedFor(actor, `/organization-memberships/${id}?include=teams`), whole);
        const included = await includedFor(actor, `${inside}?q=t&include=user,teams&page[size]=100`);
        const ofType = (type: string) => included.filter((each: Json) => each.type === type);
        assert.deepEqual(
          ofType('teams').filter((team: Json) => [visible, secret].includes(team.id)),
          whole,
        );
        const names = ofType('users').map(({ attributes }: Json) => attributes.username);
        assert.ok(names.includes('mate') && names.includes('other'));
        assert.equal(new Set(included.map((each: Json) => each.id)).size, included.length);
      }
      const before = (await other.get(`${inside}?include=user,teams&page[size]=100`)).text;
      await owner.delete(`/teams/${secret}/relationships/users`, [{ type: 'users', id: user }]);
      assert.equal((await other.get(`${inside}?include=user,teams&page[size]=100`)).text, before);
      await owner.delete(`/teams/${secret}`);
      assert.equal((await other.get(`${inside}?include=user,teams&page[size]=100`)).text, before);
    });

    test('an included user tells its e-mail and nothing that is the account’s own affair', async () => {
      const [membership] = (await owner.get('/organization-memberships')).body.data;
      const { included } = (await owner.get(`/organization-memberships/${membership.id}?include=user`)).body;
      assert.deepEqual(Object.keys(included[0].attributes).sort(), [
        'auth-method',
        'avatar-url',
        'email',
        'is-service-account',
        'username',
        'v2-only',
      ]);
    });
  });

  describe('DELETE', () => {
    test('an owner does not remove itself: 403; somebody else’s twice: 204, then 404', async () => {
      const [own] = idsOf(await owner.get(`${inside}?q=owner@`));
      const refused = await owner.delete(`/organization-memberships/${own}`);
      assert.equal(refused.status, 403);
      const { id } = (await invite('brief@example.com')).body.data;
      assert.equal((await outsider.delete(`/organization-memberships/${id}`)).status, 404);
      assert.equal((await owner.delete(`/organization-memberships/${id}`)).status, 204);
      assert.equal((await owner.delete(`/organization-memberships/${id}`)).status, 404);
      assert.equal((await owner.get(`/organization-memberships/${id}`)).status, 404);
    });
  });
});
