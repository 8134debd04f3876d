/** Teams and who is in them: what a list can be narrowed to, what a document can include, and permissions that tell the truth. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { organizationPermissions } from '../src/core/authority.ts';
import { fresh, idsOf, namesOf } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { newStore } from './support/engine.ts';
import { type Entry, recording } from './support/recording.ts';
import { startServer } from './support/server.ts';
import { type Actor, Directory, newDirectory } from './support/world.ts';

const keysOf = (resources: Json[]): string[] => resources.map(({ type, id }) => `${type} ${id}`);

let directory: Directory;
let owner: Actor;

/** An organization of its own for each test, so that its lists are whole. */
const organization = async (): Promise<string> => {
  const name = fresh('org');
  await directory.organization(owner, name);
  return name;
};

const invited = async (org: string, email: string): Promise<Json> =>
  owner.make(`/organizations/${org}/organization-memberships`, {
    type: 'organization-memberships',
    attributes: { email },
  });

const put = (team: string, membership: string) =>
  owner.make(`/teams/${team}/relationships/organization-memberships`, [
    { type: 'organization-memberships', id: membership },
  ]);

before(async () => {
  directory = await newDirectory();
  ({ actor: owner } = await directory.user('owner'));
});
after(() => directory.server.close());

describe('GET organizations/:organization/teams', () => {
  test('filter[names] leaves the teams of those names, whatever their case, and no others', async () => {
    const org = await organization();
    for (const name of ['apples', 'Berries', 'cherries']) await directory.team(owner, org, { name });
    const named = (names: string) => owner.get(`/organizations/${org}/teams?filter[names]=${names}`);
    const answer = await named('APPLES,berries,nothing');
    assert.deepEqual(namesOf(answer), ['apples', 'Berries']);
    assert.equal(answer.body.meta.pagination['total-count'], 2);
    assert.match(answer.body.links.self, /filter%5Bnames%5D=APPLES%2Cberries%2Cnothing&page/);
    assert.deepEqual(namesOf(await named('app')), []);
    assert.deepEqual(namesOf(await named('')), ['owners', 'apples', 'Berries', 'cherries']);
  });

  test('q finds a part of a name, whatever its case, and takes every character for itself', async () => {
    const org = await organization();
    for (const name of ['Red_apple', 'redXapple', '100% juice', 'back\\slash'])
      await directory.team(owner, org, { name });
    const found = async (q: string) =>
      namesOf(await owner.get(`/organizations/${org}/teams?q=${encodeURIComponent(q)}`));
    assert.deepEqual(await found('RED'), ['Red_apple', 'redXapple']);
    assert.deepEqual(await found('d_a'), ['Red_apple']);
    assert.deepEqual(await found('0%'), ['100% juice']);
    assert.deepEqual(await found('k\\s'), ['back\\slash']);
    assert.deepEqual(await found('"'), []);
    const both = await owner.get(`/organizations/${org}/teams?q=red&filter[names]=redxapple,owners`);
    assert.deepEqual(namesOf(both), ['redXapple']);
  });

  test('a secret team is not found by its name either', async () => {
    const org = await organization();
    const { actor } = await directory.member(owner, org, fresh('plain'));
    await directory.team(owner, org, { name: 'hidden' });
    for (const query of ['q=hid', 'filter[names]=hidden', 'include=users&q=hidden']) {
      const { body } = await actor.get(`/organizations/${org}/teams?${query}`);
      assert.deepEqual([body.data, body.meta.pagination['total-count'], body.included ?? []], [[], 0, []]);
    }
  });
});

describe('include=users,organization-memberships', () => {
  test('brings each member once, as it is shown elsewhere; who is only invited is a membership and no user', async () => {
    const org = await organization();
    const name = fresh('member');
    const { id: user } = await directory.member(owner, org, name);
    const { id: invitation } = await invited(org, `${name}@guest.example`);
    const teams = [];
    for (const team of ['one', 'two']) teams.push(await directory.team(owner, org, { name: team }, [name]));
    await put(teams[0] as string, invitation);
    const members = (await owner.get(`/organizations/${org}/organization-memberships`)).body.data;
    const membership = members.find(({ relationships }: Json) => relationships.user.data.id === user).id;
    const ownMembership = members[0].id;
    const me = (await owner.get('/account/details')).body.data.id;

    const list = await owner.get(`/organizations/${org}/teams?include=users,organization-memberships`);
    assert.deepEqual(keysOf(list.body.included).sort(), [
      ...[ownMembership, membership, invitation].map(id => `organization-memberships ${id}`).sort(),
      ...[me, user].map(id => `users ${id}`).sort(),
    ]);
    const withUsers = await owner.get(`/organizations/${org}/organization-memberships?include=user`);
    for (const resource of list.body.included)
      assert.deepEqual(
        resource,
        [...withUsers.body.data, ...withUsers.body.included].find(({ id }: Json) => id === resource.id),
      );

    const shown = await owner.get(`/teams/${teams[0]}?include=users`);
    assert.deepEqual(keysOf(shown.body.included), [`users ${user}`]);
    assert.equal(shown.body.included[0].attributes.username, name);
    assert.deepEqual(shown.body.data.relationships.users.data, [{ id: user, type: 'users' }]);
    assert.deepEqual(keysOf((await owner.get(`/teams/${teams[0]}?include=organization_memberships`)).body.included), [
      `organization-memberships ${membership}`,
      `organization-memberships ${invitation}`,
    ]);
    const plain = await owner.get(`/teams/${teams[0]}`);
    assert.ok(!('included' in plain.body));
    assert.deepEqual(plain.body.data, shown.body.data);
  });

  test('of one page only, and an empty list where the teams are empty', async () => {
    const org = await organization();
    await directory.team(owner, org, { name: 'empty' });
    const page = (number: number) =>
      owner.get(`/organizations/${org}/teams?include=users&page[size]=1&page[number]=${number}`);
    assert.equal((await page(1)).body.included.length, 1);
    assert.deepEqual((await page(2)).body.included, []);
    assert.deepEqual((await page(9)).body.included, []);
    assert.match((await page(1)).body.links.next, /include=users/);
  });

  test('400 with the words that the Go client looks for, for what a team has not', async () => {
    const org = await organization();
    const team = await directory.team(owner, org, { name: 'plain' });
    for (const path of [`/organizations/${org}/teams`, `/teams/${team}`]) {
      const answer = await owner.get(`${path}?include=users,projects`);
      assert.equal(answer.status, 400);
      assert.match(answer.body.errors[0].detail, /include parameter/);
      assert.deepEqual(answer.body.errors[0].source, { parameter: 'include' });
    }
  });

  test('costs one statement for each kind that is asked for, however many teams there are', async t => {
    const log: Entry[] = [];
    const server = await startServer({ store: recording(await newStore(), log) });
    t.after(() => server.close());
    const here = new Directory(server);
    const { actor } = await here.user('lister');
    await here.organization(actor, 'wide');
    const teams = [];
    for (let i = 0; i < 30; i++) teams.push(await here.team(actor, 'wide', { name: `team-${i}` }, ['lister']));
    for (const path of ['/organizations/wide/teams', `/teams/${teams[0]}`]) {
      const statements = async (query: string) => {
        log.length = 0;
        assert.equal((await actor.get(`${path}${query}`)).status, 200);
        return log.flatMap(entry => entry.statements).length;
      };
      assert.equal(await statements(''), 3, 'the token, the standing and the list');
      assert.equal(await statements('?include=users'), 4);
      assert.equal(await statements('?include=users,organization-memberships'), 5);
    }
  });
});

describe('a team', () => {
  test('is one and the same in POST, PATCH, GET and the list, with every attribute that clients decode', async () => {
    const org = await organization();
    const made = await owner.post(`/organizations/${org}/teams`, { type: 'teams', attributes: { name: 'whole' } });
    const { id, attributes, relationships, links } = made.body.data;
    const { permissions, 'organization-access': access, ...plain } = attributes;
    assert.deepEqual(plain, {
      name: 'whole',
      'users-count': 0,
      'non-service-users-count': 0,
      visibility: 'secret',
      'sso-team-id': null,
      'allow-member-token-management': true,
      'is-unified': false,
      description: null,
      'scim-linked': null,
      'scim-sync-paused': null,
      'scim-group-name': null,
      'scim-updated-at': null,
    });
    assert.deepEqual(Object.keys(access).sort(), [...organizationPermissions].sort());
    assert.ok(Object.values(permissions).every(value => value === true));
    assert.equal(relationships['authentication-token'].links.related, `/api/v2/teams/${id}/authentication-token`);
    assert.equal(links.self, `/api/v2/teams/${id}`);
    assert.equal((await owner.get(`/teams/${id}`)).text, made.text);
    assert.equal((await owner.patch(`/teams/${id}`, { type: 'teams', attributes: {} })).text, made.text);
    assert.deepEqual((await owner.get(`/organizations/${org}/teams`)).body.data[1], made.body.data);
  });

  test('holds each organization permission by itself, and shows what was sent and nothing that it implies', async () => {
    const org = await organization();
    const id = await directory.team(owner, org, { name: 'holders' });
    const give = (access: Json) => owner.patch(`/teams/${id}`, { attributes: { 'organization-access': access } });
    const none = Object.fromEntries(organizationPermissions.map(permission => [permission, false]));
    for (const permission of organizationPermissions) {
      // As the provider does: all of them, every time.
      const sent = { ...none, [permission]: true };
      const answer = await give(sent);
      assert.equal(answer.status, 200, permission);
      assert.deepEqual(answer.body.data.attributes['organization-access'], sent);
    }
    const merged = await give({ 'manage-projects': true });
    const last = organizationPermissions.at(-1) as string;
    assert.deepEqual(merged.body.data.attributes['organization-access'], {
      ...none,
      [last]: true,
      'manage-projects': true,
    });
  });

  test('says of each caller what it may do, and so it is', async () => {
    const org = await organization();
    const { body } = await owner.get(`/organizations/${org}/teams`);
    const owners = body.data[0].id as string;
    const holder = async (...permissions: string[]) => {
      const name = fresh('holder');
      const { actor } = await directory.member(owner, org, name);
      const access = Object.fromEntries(permissions.map(permission => [permission, true]));
      const attributes = { name: fresh('team'), visibility: 'organization', 'organization-access': access };
      const team = await directory.team(owner, org, attributes, [name]);
      return { name, actor, team };
    };
    const callers = {
      owner: { actor: owner, team: owners },
      'manage-teams': await holder('manage-teams'),
      'manage-membership': await holder('manage-membership'),
      'manage-organization-access': await holder('manage-organization-access', 'read-projects'),
      'manage-teams and secret ones': await holder('manage-teams', 'access-secret-teams'),
      member: await holder(),
    };
    const visible = await directory.team(owner, org, { name: 'visible', visibility: 'organization' });
    const closed = { name: 'closed', 'allow-member-token-management': false };
    const secret = await directory.team(owner, org, closed, [callers.member.name, callers['manage-teams'].name]);

    let seen = 0;
    for (const [who, { actor, team: own }] of Object.entries(callers))
      for (const team of new Set([visible, secret, owners, own])) {
        const shown = await actor.get(`/teams/${team}`);
        const { permissions = {}, 'organization-access': access } = shown.body.data?.attributes ?? {};
        if (shown.status === 200) seen++;
        const path = `/teams/${team}`;
        const attempts: Record<string, Promise<Answer>> = {
          'can-update-membership': actor.post(`${path}/relationships/users`, []),
          'can-destroy': actor.delete(path, undefined, { 'if-match': '"stale"' }),
          'can-update-name': actor.patch(path, { attributes: { name: 5 } }),
          'can-update-visibility': actor.patch(path, { attributes: { visibility: 5 } }),
          'can-update-sso-team-id': actor.patch(path, { attributes: { 'sso-team-id': 5 } }),
          'can-update-member-token-management': actor.patch(path, {
            attributes: { 'allow-member-token-management': 5 },
          }),
          'can-update-api-token': actor.post(`${path}/authentication-tokens`, { attributes: { 'expired-at': 5 } }),
          'can-view-api-token': actor.get(`${path}/authentication-tokens`),
        };
        for (const [permission, attempt] of Object.entries(attempts)) {
          // The owners team has its own rules beyond that: its name and visibility stay, and so does it.
          const fixed = team === owners && /destroy|name|visibility/.test(permission);
          const may = (await attempt).status !== 404;
          assert.equal(permissions[permission] ?? false, may && !fixed, `${who}: ${permission} of ${team}`);
        }
        // What the one who may give access holds itself.
        const flipped = { 'organization-access': { 'read-projects': !access?.['read-projects'] } };
        const { status } = await actor.patch(path, { attributes: flipped });
        assert.equal(
          permissions['can-update-organization-access'] ?? false,
          status === 200,
          `${who}: access of ${team}`,
        );
        if (status === 200)
          await owner.patch(path, {
            attributes: { 'organization-access': { 'read-projects': access['read-projects'] } },
          });
      }
    assert.ok(seen > 15);
  });
});

describe('GET teams/:id/relationships/organization-memberships', () => {
  const path = (team: string, query = '') => `/teams/${team}/relationships/organization-memberships${query}`;

  /** Two guests and two members, in turn. */
  const mixed = async () => {
    const org = await organization();
    const team = await directory.team(owner, org, { name: 'mixed' });
    const ids: string[] = [];
    for (let pair = 0; pair < 2; pair++) {
      const name = fresh('mixed');
      ids.push((await invited(org, `${name}@guest.example`)).id);
      await directory.user(name);
      ids.push((await invited(org, `${name}@example.com`)).id);
    }
    for (const id of ids) await put(team, id);
    return { team, ids, active: [ids[1], ids[3]], guests: [ids[0], ids[2]] };
  };

  test('shows each membership as it is shown by itself, of those who are only invited too', async () => {
    const { team, ids } = await mixed();
    const answer = await owner.get(path(team));
    assert.deepEqual(idsOf(answer), ids);
    for (const membership of answer.body.data)
      assert.deepEqual(membership, (await owner.get(`/organization-memberships/${membership.id}`)).body.data);
  });

  test('filter[status], filter[is_service_account] and sort, page by page', async () => {
    const { team, ids, active, guests } = await mixed();
    const expected: Record<string, unknown[]> = {
      '?filter[status]=active': active,
      '?filter[status]=invited': guests,
      '?filter[status]=inactive': [],
      '?filter[status]=': ids,
      '?filter[is_service_account]=true': [],
      '?filter[is_service_account]=false': ids,
      '?filter[status]=invited&filter[is_service_account]=true': [],
      '?sort=status': [...active, ...guests],
      '?sort=-status': [...guests, ...active],
      '?sort=-status&filter[status]=active': active,
    };
    for (const [query, rows] of Object.entries(expected)) {
      const answer = await owner.get(path(team, query));
      assert.deepEqual(idsOf(answer), rows, query);
      assert.equal(answer.body.meta.pagination['total-count'], rows.length, query);
      const pages: string[] = [];
      for (const number of [1, 2, 3, 4])
        pages.push(...idsOf(await owner.get(path(team, `${query}&page[size]=1&page[number]=${number}`))));
      assert.deepEqual(pages, rows, query);
    }
    const { links } = (await owner.get(path(team, '?sort=status&filter[status]=active&page[size]=1'))).body;
    assert.match(links.next, /filter%5Bstatus%5D=active&sort=status&page%5Bnumber%5D=2/);
  });

  test('400 for a status, a flag or an order that there is not', async () => {
    const { team } = await mixed();
    for (const [parameter, value] of [
      ['filter[status]', 'gone'],
      ['filter[is_service_account]', '1'],
      ['sort', 'email'],
    ] as const) {
      const answer = await owner.get(path(team, `?${parameter}=${value}`));
      assert.equal(answer.status, 400, parameter);
      assert.deepEqual(answer.body.errors[0].source, { parameter });
    }
  });

  test('only those of its teams that the caller sees are shown with a membership', async () => {
    const org = await organization();
    const name = fresh('both');
    const { actor: other } = await directory.member(owner, org, fresh('other'));
    await directory.member(owner, org, name);
    const visible = await directory.team(owner, org, { name: 'seen', visibility: 'organization' }, [name]);
    const secret = await directory.team(owner, org, { name: 'unseen' }, [name]);
    const teamsFor = async (actor: Actor) =>
      (await actor.get(path(visible))).body.data[0].relationships.teams.data.map(({ id }: Json) => id);
    assert.deepEqual(await teamsFor(owner), [visible, secret]);
    assert.deepEqual(await teamsFor(other), [visible]);
    assert.equal((await other.get(path(secret))).status, 404);
  });
});

test('DELETE teams/:id/relationships/organization-memberships: 403 for the last owner, whoever else is invited', async () => {
  const org = await organization();
  const owners = (await owner.get(`/organizations/${org}/teams`)).body.data[0].id;
  const path = `/teams/${owners}/relationships/organization-memberships`;
  const { id: guest } = await invited(org, `${fresh('guest')}@guest.example`);
  await put(owners, guest);
  const [own] = idsOf(await owner.get(path));
  const remove = (...ids: unknown[]) =>
    owner.delete(
      path,
      ids.map(id => ({ type: 'organization-memberships', id })),
    );
  assert.equal((await remove(own)).status, 403);
  assert.equal((await remove(own, guest)).status, 403);
  assert.deepEqual(idsOf(await owner.get(path)), [own, guest]);
  assert.equal((await remove(guest)).status, 204);
});
