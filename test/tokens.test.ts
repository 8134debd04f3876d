/** Tokens: of which kinds there are, how they are listed and revoked, and when they were last used. */

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { tokenKey } from '../src/server/first-start.ts';
import { migrate } from '../src/store/migrations.ts';
import { sql } from '../src/store/sql.ts';
import { StartFault } from '../src/store/store.ts';
import { hashOf } from '../src/store/token.ts';
import { TokenUses } from '../src/store/token-uses.ts';
import { fresh, idsOf, pointers } from './support/answers.ts';
import type { Json } from './support/client.ts';
import { newStore } from './support/engine.ts';
import { recording } from './support/recording.ts';
import { filled, newWorld, poolOf, routesOf } from './support/routes.ts';
import { startServer } from './support/server.ts';
import { type Actor, Directory, newDirectory } from './support/world.ts';

let directory: Directory;
let owner: Actor;

const organization = async (): Promise<string> => {
  const name = fresh('org');
  await directory.organization(owner, name);
  return name;
};
/** A member of a new team that holds these organization permissions. */
const holder = async (org: string, ...permissions: string[]) => {
  const name = fresh('holder');
  const { id, actor } = await directory.member(owner, org, name);
  const access = Object.fromEntries(permissions.map(permission => [permission, true]));
  const attributes = { name: fresh('team'), visibility: 'organization', 'organization-access': access };
  return { id, actor, team: await directory.team(owner, org, attributes, [name]) };
};
const works = async (made: Json): Promise<boolean> =>
  (await directory.actor(made.attributes.token).get('/organization-memberships')).status === 200;

before(async () => {
  directory = await newDirectory();
  ({ actor: owner } = await directory.user('owner'));
});
after(() => directory.server.close());

test('a token is known by its HMAC, whatever its length and that of the key', async () => {
  // As it is before it was given any key.
  const unused = await import(`${import.meta.resolve('../src/store/token.ts')}?fresh`);
  assert.throws(() => unused.hashOf('', 'token'), /key/);
  const visible = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index));
  for (let keyLength = 1; keyLength <= 64; keyLength++)
    for (let length = 20; length <= 256; length++) {
      const key = visible.repeat(2).slice(keyLength, 2 * keyLength);
      const token = visible.repeat(4).slice(length % 94, (length % 94) + length);
      assert.equal(hashOf(key, token), createHmac('sha256', key).update(token).digest('base64url'));
    }
  const accented = `${'é'.repeat(40)}𝕏`;
  assert.equal(hashOf('key', accented), createHmac('sha256', 'key').update(accented).digest('base64url'));
  for (const foreign of ['', 'k'.repeat(65), 'clé', 'a b']) assert.throws(() => hashOf(foreign, 'token'), /key/);
});

test('a damaged key is told at the start, before any token is taken for wrong', async () => {
  const store = await newStore();
  await migrate(store, () => new Date());
  await tokenKey(store, randomBytes);
  await store.write(tx => tx.run(sql`update server_keys set value = '' where name = 'token'`));
  await assert.rejects(tokenKey(store, randomBytes), StartFault);
  await store.close();
});

const limited = ['audit-trails', 'decisions'] as const;

test('a version that does not know the kind `decisions` knows no such token, so that it cannot take it for the organization’s own', async () => {
  const path = `/organizations/${await organization()}/authentication-token`;
  const row = async ({ id }: Json) =>
    (
      await directory.server.store.read(tx =>
        tx.row<[hash: string]>(sql`select hash from authentication_tokens where id = ${id}`),
      )
    )?.[0];
  const key = await tokenKey(directory.server.store, randomBytes);
  const [own, decisions] = [await owner.make(path), await owner.make(`${path}?token=decisions`)];
  const asBefore = ({ attributes }: Json) => createHmac('sha256', key).update(attributes.token).digest('base64url');
  assert.equal(await row(own), asBefore(own));
  assert.notEqual(await row(decisions), asBefore(decisions));
  assert.equal(await works(decisions), true);
});

for (const kind of limited)
  describe(`the ${kind} token of an organization`, () => {
    test('has a place of its own beside the organization’s: made, shown and revoked without touching the others', async () => {
      const org = await organization();
      const path = `/organizations/${org}/authentication-token`;
      const trail = `${path}?token=${kind}`;
      const [other] = limited.filter(each => each !== kind);
      const beside = await owner.make(`${path}?token=${other}`);
      assert.equal((await owner.get(trail)).status, 404);
      const own = await owner.make(path);
      const first = await owner.make(trail);
      assert.equal((await owner.get(path)).body.data.id, own.id);
      assert.deepEqual((await owner.get(trail)).body.data, {
        ...first,
        attributes: { ...first.attributes, token: null },
      });
      const second = await owner.make(trail);
      assert.deepEqual([await works(own), await works(first), await works(second)], [true, false, true]);
      assert.equal((await owner.delete(path)).status, 204);
      assert.equal(await works(second), true);
      assert.equal((await owner.delete(trail)).status, 204);
      assert.deepEqual([await works(second), (await owner.get(trail)).status], [false, 404]);
      assert.equal(await works(beside), true);
    });

    const lasts = kind === 'audit-trails';
    test(lasts ? 'never expires unless it is said when' : 'expires in two years unless it is said when', async () => {
      const trail = `/organizations/${await organization()}/authentication-token?token=${kind}`;
      for (const data of [undefined, { attributes: { 'expired-at': null } }]) {
        const { 'created-at': begun, 'expired-at': end } = (await owner.make(trail, data)).attributes;
        assert.equal(end, lasts ? null : begun.replace(/^2026/, '2028'));
      }
      const end = '2051-04-11T23:15:59Z';
      const made = await owner.make(trail, { attributes: { 'expired-at': end } });
      assert.equal(made.attributes['expired-at'], '2051-04-11T23:15:59.000Z');
      assert.deepEqual(pointers(await owner.post(trail, { attributes: { 'expired-at': '2051-02-30T00:00:00Z' } })), [
        '/data/attributes/expired-at',
      ]);
    });

    test('is for owners to make, and never for itself', async () => {
      const org = await organization();
      const trail = `/organizations/${org}/authentication-token?token=${kind}`;
      const made = await owner.make(trail);
      const manager = await holder(org, 'manage-teams', 'manage-organization-access');
      const others = [manager.actor, directory.admin, directory.actor(made.attributes.token)];
      for (const actor of others) {
        for (const answer of [actor.get(trail), actor.post(trail), actor.delete(trail)])
          assert.equal((await answer).status, 404);
        assert.equal((await actor.get(`/authentication-tokens/${made.id}`)).status, 404);
      }
      assert.equal((await owner.get(`/authentication-tokens/${made.id}`)).status, 200);
    });

    const does = lasts
      ? 'reads the audit trail and nothing else: on every other'
      : 'reads and changes nothing: on every';
    test(`${does} route it is as good as a stranger’s`, async t => {
      const world = await newWorld(7);
      t.after(() => world.server.close());
      const { attributes } = await world.owner.make(`/organizations/acme/authentication-token?token=${kind}`);
      const routes = (await routesOf(world.server)).filter(
        ({ path }) => path.startsWith('/api/v2/') && path !== '/api/v2/ping',
      );
      const pool = await poolOf(world, routes);
      let asked = 0;
      const places = {
        'filter[project][id]': world.project,
        'filter[workspace][id]': pool.get('workspaces')?.[0] ?? 'none',
      };
      for (const { method, path, parameters } of routes) {
        const address = filled(path, type => pool.get(type)?.[0] ?? 'none');
        const known = Object.entries(places).filter(([name]) => parameters.includes(name));
        const query = `?${known.map(([name, id]) => `${name}=${id}`).join('&')}`;
        const body = method === 'GET' ? undefined : {};
        const {
          status,
          body: answer,
          text,
        } = await world.server.client.call(attributes.token, method, `${address}${query}`, body);
        const where = `${method} ${address} answered ${status}: ${text}`;
        asked++;
        if (lasts && /\/(organization\/audit-trail|audit-events)$/.test(path)) assert.equal(status, 200, where);
        // A caller of whatever kind may ask who it is, and what belongs to it: nothing.
        else if (status === 200 && path.includes('/account/'))
          assert.equal(answer.data.attributes['is-service-account'], true, where);
        else if (status === 200) assert.deepEqual(answer.data, [], where);
        else assert.equal(status, 404, where);
      }
      assert.ok(asked > 40);
    });
  });

describe('the kinds of an organization’s tokens', () => {
  test('a token of a kind that only a newer version knows is no token', async () => {
    const made = await owner.make(`/organizations/${await organization()}/authentication-token`);
    assert.equal(await works(made), true);
    await directory.server.store.write(tx =>
      tx.run(sql`update authentication_tokens set slot = 'later' where id = ${made.id}`),
    );
    assert.equal((await directory.actor(made.attributes.token).get('/organizations')).status, 401);
  });

  test('400 for any other kind, so that nobody gets one token for another', async () => {
    const org = await organization();
    const path = `/organizations/${org}/authentication-token`;
    const own = await owner.make(path);
    for (const kind of ['', 'x', 'audit_trails', 'AUDIT-TRAILS', 'Decisions', 'decision', 'organization', 'single'])
      for (const call of [owner.post, owner.get, owner.delete]) {
        const answer = await call.call(owner, `${path}?token=${kind}`);
        assert.equal(answer.status, 400, kind);
        assert.deepEqual(answer.body.errors[0].source, { parameter: 'token' });
      }
    assert.equal(await works(own), true);
    const { actor } = await holder(org);
    assert.equal((await actor.get(`${path}?token=x`)).status, 404, 'who may not ask is told nothing');
  });
});

describe('team tokens', () => {
  test('a team that made one is named to those who see the team; to others its name, and that it is there, change no byte', async () => {
    const org = await organization();
    const [manager, keeper] = [
      await holder(org, 'manage-teams'),
      await holder(org, 'manage-teams', 'access-secret-teams'),
    ];
    const access = { 'manage-teams': true };
    const hidden = await directory.team(owner, org, { name: 'm', visibility: 'secret', 'organization-access': access });
    const secretOf = async (team: string): Promise<string> =>
      (await owner.make(`/teams/${team}/authentication-token`)).attributes.token;
    const byHidden = directory.actor(await secretOf(hidden));
    const byManagers = directory.actor(await secretOf(manager.team));
    const team = await directory.team(owner, org, { name: fresh('team'), visibility: 'organization' });
    const several = `/teams/${team}/authentication-tokens`;
    const makers = [owner, byHidden, byManagers];
    const made: Json[] = [];
    for (const [index, actor] of makers.entries())
      made.push(await actor.make(several, { attributes: { description: `${index}` } }));
    const single = await byHidden.make(`/teams/${team}/authentication-token`);
    const makerOf = ({ relationships }: Json) => relationships['created-by'].data;
    const itself = { type: 'teams', id: hidden };
    assert.deepEqual([makerOf(made[1]), makerOf(single)], [itself, itself], 'whoever makes one sees itself');

    const one = (token: Json) => `/authentication-tokens/${token.id}`;
    const inOrganization = `/organizations/${org}/team-tokens`;
    const makersSeenBy = async (actor: Actor) => [
      makerOf((await actor.get(one(made[1]))).body.data),
      makerOf((await actor.get(`/teams/${team}/authentication-token`)).body.data),
      ...(await actor.get(several)).body.data.map(makerOf),
    ];
    const [user, managers] = [makerOf(made[0]), { type: 'teams', id: manager.team }];
    for (const actor of [owner, keeper.actor, byHidden])
      assert.deepEqual(await makersSeenBy(actor), [itself, itself, user, itself, managers, itself]);
    for (const actor of [manager.actor, byManagers])
      assert.deepEqual(await makersSeenBy(actor), [null, null, user, null, managers, null]);

    const sorts = ['', '?sort=created-by', '?sort=-created-by', '?sort=created-by&page[size]=1'];
    const paths = [one(made[1]), several, ...sorts.map(query => `${inOrganization}${query}`)];
    const withoutUse = (text: string) => text.replace(/"last-used-at":("[^"]*"|null)/g, '');
    const seen = async () => {
      const answers = [];
      for (const path of paths) answers.push(withoutUse((await manager.actor.get(path)).text));
      return answers;
    };
    const sorted = idsOf(await manager.actor.get(`${inOrganization}?sort=created-by`));
    assert.deepEqual(sorted.slice(0, 2), [made[1].id, single.id], 'as if the name were empty');
    const before = await seen();
    for (const name of ['aaa', 'zzz']) {
      assert.equal((await owner.patch(`/teams/${hidden}`, { type: 'teams', attributes: { name } })).status, 200);
      assert.deepEqual(await seen(), before, name);
    }
    assert.equal((await owner.delete(`/teams/${hidden}`)).status, 204);
    assert.deepEqual(await seen(), before);
  });

  test('a description that the team has used is refused in the very words that the Go client knows', async () => {
    const org = await organization();
    const [one, other] = [await holder(org), await holder(org)];
    const path = (team: string) => `/teams/${team}/authentication-tokens`;
    const data = { attributes: { description: 'ci' } };
    const made = await owner.make(path(one.team), data);
    const answer = await owner.post(path(one.team), data);
    assert.equal(answer.status, 422);
    assert.deepEqual(answer.body.errors, [
      {
        status: '422',
        title: 'invalid attributes',
        detail: 'Validation failed: Description has already been taken',
        source: { pointer: '/data/attributes/description' },
      },
    ]);
    assert.equal((await owner.post(path(other.team), data)).status, 201, 'another team has its own');
    await owner.delete(`/authentication-tokens/${made.id}`);
    assert.equal((await owner.post(path(one.team), data)).status, 201, 'what is revoked is free');
  });

  test('an empty description is echoed; the single token has none, and replaces only the single one before', async () => {
    const org = await organization();
    const { team } = await holder(org);
    const described = await owner.make(`/teams/${team}/authentication-tokens`, { attributes: { description: '' } });
    assert.equal(described.attributes.description, '');
    const single = await owner.make(`/teams/${team}/authentication-token`, { attributes: { description: 'mine' } });
    assert.equal(single.attributes.description, null);
    const next = await owner.make(`/teams/${team}/authentication-token`);
    assert.deepEqual([await works(described), await works(single), await works(next)], [true, false, true]);
    assert.equal((await owner.get(`/authentication-tokens/${described.id}`)).body.data.attributes.description, '');
  });

  test('two years unless another end is said, and no later end is too late', async () => {
    const org = await organization();
    const { team } = await holder(org);
    for (const data of [undefined, {}, { attributes: { 'expired-at': null } }]) {
      const { attributes } = await owner.make(`/teams/${team}/authentication-token`, data);
      const end = new Date(attributes['created-at']);
      end.setUTCFullYear(end.getUTCFullYear() + 2);
      assert.equal(attributes['expired-at'], end.toISOString());
    }
    const data = { attributes: { 'expired-at': '9999-12-31T23:59:59.999Z' } };
    assert.equal((await owner.post(`/teams/${team}/authentication-token`, data)).status, 201);
  });
});

describe('GET organizations/:organization/team-tokens', () => {
  const days = (number: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + number * 86_400_000).toISOString();

  /** Tokens with ends in no order, made by a user, a team and the organization. */
  const tokens = async () => {
    const server = await startServer({ seed: 3 });
    const here = new Directory(server);
    const { actor } = await here.user('rob');
    await here.organization(actor, 'acme');
    const teams = [];
    for (const name of ['Beta', 'alpha', 'gamma']) teams.push(await here.team(actor, 'acme', { name }));
    const owners = (await actor.get('/organizations/acme/teams')).body.data[0].id;
    const byOrganization = here.actor((await actor.make('/organizations/acme/authentication-token')).attributes.token);
    const made: Record<string, string> = {};
    const make = async (maker: Actor, team: unknown, label: string, end?: string) => {
      const attributes = { description: label, ...(end && { 'expired-at': end }) };
      const { id, attributes: shown } = await maker.make(`/teams/${team}/authentication-tokens`, { attributes });
      made[label] = id;
      return shown.token as string;
    };
    const ofOwners = await make(actor, owners, 'owners', days(400));
    await make(actor, teams[0], 'beta soon', days(5));
    await make(byOrganization, teams[1], 'alpha later', days(20));
    await make(here.actor(ofOwners), teams[2], 'gamma far', days(100));
    await make(actor, teams[1], 'alpha soonest', days(2));
    const label = (id: string) => Object.entries(made).find(([, known]) => known === id)?.[0] ?? id;
    const list = async (query = '') => idsOf(await actor.get(`/organizations/acme/team-tokens${query}`)).map(label);
    return { server, actor, made, list };
  };

  test('the first to expire come first; sort names another order, and - turns it round', async t => {
    const { server, actor, list, made } = await tokens();
    t.after(() => server.close());
    const soonest = ['alpha soonest', 'beta soon', 'alpha later', 'gamma far', 'owners'];
    assert.deepEqual(await list(), soonest);
    assert.deepEqual(await list('?sort=expired-at'), soonest);
    assert.deepEqual(await list('?sort=-expired-at'), soonest.toReversed());
    const byTeam = ['alpha later', 'alpha soonest', 'beta soon', 'gamma far', 'owners'];
    assert.deepEqual(await list('?sort=team-name'), byTeam);
    assert.deepEqual(
      (await list('?sort=-team-name')).map(label => label.split(' ')[0]),
      ['owners', 'gamma', 'beta', 'alpha', 'alpha'],
    );
    // The organization acme, the team owners, and rob.
    const byMaker = ['alpha later', 'gamma far', 'owners', 'beta soon', 'alpha soonest'];
    assert.deepEqual(await list('?sort=created-by'), byMaker);

    // Whoever never expires comes last, and whoever was never used first.
    await server.store.write(tx =>
      tx.run(sql`update authentication_tokens set expired_at = null where id = ${made['beta soon'] ?? ''}`),
    );
    assert.deepEqual((await list()).at(-1), 'beta soon');
    assert.deepEqual((await list('?sort=-expired-at'))[0], 'beta soon');
    await server.writeUses();
    assert.equal((await list('?sort=-last-used-at'))[0], 'owners');
    assert.equal((await list('?sort=last-used-at')).at(-1), 'owners');
    assert.deepEqual(await list('?sort=last-used-at&page[size]=2&page[number]=3'), ['owners']);
    const answer = await actor.get('/organizations/acme/team-tokens?sort=name');
    assert.equal(answer.status, 400);
    assert.deepEqual(answer.body.errors[0].source, { parameter: 'sort' });
  });

  test('q finds the tokens of the teams with that in their names', async t => {
    const { server, list, actor } = await tokens();
    t.after(() => server.close());
    assert.deepEqual(await list('?q=ALP'), ['alpha soonest', 'alpha later']);
    assert.deepEqual(await list('?q=a&sort=-expired-at'), ['gamma far', 'alpha later', 'beta soon', 'alpha soonest']);
    assert.deepEqual(await list('?q=%25'), []);
    const { links, meta } = (await actor.get('/organizations/acme/team-tokens?q=alpha&page[size]=1')).body;
    assert.equal(meta.pagination['total-count'], 2);
    assert.match(links.next, /q=alpha&page/);
  });

  for (const filter of ['filter[expiry_status]', 'filter[status]'])
    test(`${filter} leaves the tokens of one of the statuses that it names`, async t => {
      const { server, list, made, actor } = await tokens();
      t.after(() => server.close());
      const at = (label: string, end: string | null) =>
        server.store.write(tx =>
          tx.run(sql`update authentication_tokens set expired_at = ${end} where id = ${made[label] ?? ''}`),
        );
      await at('gamma far', null);
      await at('owners', days(-1));
      const of = (status: string) => list(`?${filter}=${status}`);
      assert.deepEqual(await of('active'), ['alpha soonest', 'beta soon', 'alpha later', 'gamma far']);
      assert.deepEqual(await of('expired'), ['owners']);
      assert.deepEqual(await of('no_expiration'), ['gamma far']);
      assert.deepEqual(await of('expiring_in_7_days'), ['alpha soonest', 'beta soon']);
      assert.deepEqual(await of('expiring_in_30_days'), ['alpha soonest', 'beta soon', 'alpha later']);
      assert.deepEqual(await of('expired,no_expiration'), ['owners', 'gamma far']);
      assert.equal((await of('')).length, 5);
      const answer = await actor.get(`/organizations/acme/team-tokens?${filter}=active,constructor`);
      assert.equal(answer.status, 400);
      assert.deepEqual(answer.body.errors[0].source, { parameter: filter });
    });
});

describe('DELETE organizations/:organization/team-tokens', () => {
  const references = (...ids: string[]) => ids.map(id => ({ type: 'authentication-tokens', id }));
  const make = (team: string, description: string) =>
    owner.make(`/teams/${team}/authentication-tokens`, { attributes: { description } });

  test('revokes all that are named, and tells so in one audit row', async () => {
    const org = await organization();
    const [one, two] = [await holder(org), await holder(org)];
    const made = [await make(one.team, 'a'), await make(one.team, 'b'), await make(two.team, 'c')];
    const ids = made.map(({ id }) => id);
    const [a = '', b = '', c = ''] = ids;
    const path = `/organizations/${org}/team-tokens`;
    assert.equal((await owner.delete(path, references(a, c, a))).status, 204);
    assert.deepEqual(await Promise.all(made.map(works)), [false, true, false]);
    assert.deepEqual(idsOf(await owner.get(path)), [b]);
    const [row] = await directory.server.store.read(tx =>
      tx.rows<[string, string, string, string]>(sql`
        select resource_type, action, resource_id, before_change
        from audit_events
        order by created_at desc
        limit 1`),
    );
    const [type, action, resource, before] = row as [string, string, string, string];
    assert.deepEqual([type, action, resource], ['authentication_token', 'destroy', `${a},${c}`]);
    assert.deepEqual(
      JSON.parse(before).map(({ id }: Json) => id),
      [a, c],
    );
  });

  test('all or none: 404 at the one that is not there, not of this organization, or not for the caller to manage', async () => {
    const org = await organization();
    const elsewhere = await holder(await organization());
    const member = await holder(org);
    const other = await holder(org);
    const path = `/organizations/${org}/team-tokens`;
    const own = await make(member.team, 'own');
    const foreign = await make(elsewhere.team, 'elsewhere');
    const theirs = await make(other.team, 'theirs');
    const ofUser = await owner.make(
      `/users/${(await owner.get('/account/details')).body.data.id}/authentication-tokens`,
    );
    const ofOrganization = await owner.make(`/organizations/${org}/authentication-token`);
    for (const id of [foreign.id, ofUser.id, ofOrganization.id, 'at-none']) {
      const answer = await owner.delete(path, references(own.id, id));
      assert.equal(answer.status, 404, id);
      assert.deepEqual(pointers(answer), ['/data/1/id']);
    }
    assert.equal((await member.actor.delete(path, references(own.id, theirs.id))).status, 404);
    assert.deepEqual(await Promise.all([own, foreign, theirs, ofUser, ofOrganization].map(works)), [
      true,
      true,
      true,
      true,
      true,
    ]);
    assert.equal((await member.actor.delete(path, references(own.id))).status, 204);
    assert.equal((await (await holder(org, 'manage-teams')).actor.delete(path, references(theirs.id))).status, 204);
  });

  test('422 for a body that names none, and 404 for who manages no tokens, whatever the body', async () => {
    const org = await organization();
    const path = `/organizations/${org}/team-tokens`;
    const { actor } = await directory.member(owner, org, fresh('plain'));
    const team = await holder(org);
    const ofTeam = directory.actor((await make(team.team, 'itself')).attributes.token);
    for (const data of [undefined, [], {}, [{ type: 'teams', id: 'x' }], [{ type: 'authentication-tokens' }]]) {
      assert.equal((await owner.delete(path, data)).status, 422);
      for (const nobody of [actor, ofTeam, directory.admin])
        assert.equal((await nobody.delete(path, data)).status, 404);
    }
  });
});

describe('GET users/:id/authentication-tokens', () => {
  test('one’s tokens come all at once when no page is asked for, up to a hundred; else twenty', async () => {
    const { id, actor } = await directory.user(fresh('many'));
    const path = `/users/${id}/authentication-tokens`;
    for (let i = 0; i < 24; i++) await actor.make(path, { attributes: { description: 'same' } });
    assert.equal((await actor.get(path)).body.data.length, 25);
    assert.equal((await actor.get(`${path}?page[number]=1`)).body.data.length, 20);
    assert.equal((await actor.get(`${path}?page[number]=2`)).body.data.length, 5);
    assert.equal((await actor.get(`${path}?page[size]=3`)).body.data.length, 3);
    const { links, meta } = (await actor.get(path)).body;
    assert.deepEqual([links.next, meta.pagination['page-size']], [null, 100]);
  });
});

describe('last-used-at', () => {
  test('is null until the uses are written, and then the minute of the last one', async t => {
    const server = await startServer({ seed: 5 });
    t.after(() => server.close());
    const here = new Directory(server);
    const { id, actor } = await here.user('ada');
    const path = `/users/${id}/authentication-tokens`;
    const { id: unused } = await actor.make(path);
    const shown = async () =>
      Object.fromEntries(
        (await actor.get(path)).body.data.map(({ id, attributes }: Json) => [id, attributes['last-used-at']]),
      );
    const [used = ''] = idsOf(await actor.get(path));
    const before = await actor.get(path);
    assert.deepEqual(await shown(), { [used]: null, [unused]: null });
    assert.equal((await actor.get(path)).headers.etag, before.headers.etag, 'to read it is not to change it');
    const events = () => server.store.read(tx => tx.rows(sql`select id from audit_events`));
    const rows = (await events()).length;
    await server.writeUses();
    assert.deepEqual(await shown(), { [used]: '2026-01-01T00:00:00.000Z', [unused]: null });
    assert.equal((await events()).length, rows, 'a use is no change to be audited');
    const tag = (await actor.get(path)).headers.etag;
    await server.writeUses();
    assert.equal((await actor.get(path)).headers.etag, tag, 'the same minute is the same answer');
    server.reseed(5);
    await actor.get('/organizations');
    await server.writeUses();
    assert.equal((await shown())[used], '2027-01-01T00:00:00.000Z');
  });

  test('a refused token is not used, and of one that was revoked meanwhile nothing is written', async t => {
    const server = await startServer({ seed: 5 });
    t.after(() => server.close());
    const here = new Directory(server);
    const { id, actor } = await here.user('ada');
    const path = `/users/${id}/authentication-tokens`;
    const soon = await actor.make(path, { attributes: { 'expired-at': '2026-06-01T00:00:00Z' } });
    const gone = await actor.make(path);
    await here.actor(gone.attributes.token).get('/organizations');
    await actor.delete(`/authentication-tokens/${gone.id}`);
    server.reseed(5);
    assert.equal((await here.actor(soon.attributes.token).get('/organizations')).status, 401);
    await server.writeUses();
    const lastUsed = async (token: string) =>
      (await here.admin.get(`/authentication-tokens/${token}`)).body.data?.attributes['last-used-at'];
    assert.equal(await lastUsed(soon.id), null);
    assert.equal(await lastUsed(gone.id), undefined);
  });

  test('what another server wrote later stays, and what could not be written is written the next time', async t => {
    let broken = false;
    const store = recording(await newStore(), [], ({ chunks }) => {
      if (broken && chunks.join('').includes('set last_used_at')) throw new Error('not now');
    });
    const server = await startServer({ store });
    t.after(() => server.close());
    const token = async () =>
      server.store.read(tx => tx.row<[string, string | null]>(sql`select id, last_used_at from authentication_tokens`));
    const [id = ''] = (await token()) ?? [];
    const uses = new TokenUses();
    uses.note(id, '2030-05-05T10:20:30.456Z');
    broken = true;
    await assert.rejects(uses.flush(store), /not now/);
    broken = false;
    await uses.flush(store);
    assert.deepEqual(await token(), [id, '2030-05-05T10:20:00.000Z']);
    const late = new TokenUses();
    late.note(id, '2030-05-05T10:19:59.999Z');
    await late.flush(store);
    assert.deepEqual(await token(), [id, '2030-05-05T10:20:00.000Z']);
    // A newer use that came while the older one could not be written.
    uses.note(id, '2030-05-05T10:21:00.000Z');
    broken = true;
    const failing = uses.flush(store);
    uses.note(id, '2030-05-05T10:22:00.000Z');
    await assert.rejects(failing);
    broken = false;
    await uses.flush(store);
    assert.deepEqual(await token(), [id, '2030-05-05T10:22:00.000Z']);
  });
});
