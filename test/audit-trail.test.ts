/** The audit trail: every change in an organization, told to those who hold its token, in the form that clients read. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { operations } from '../src/resources/index.ts';
import { sql } from '../src/store/sql.ts';
import { fresh } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { newStore } from './support/engine.ts';
import { type Entry, recording } from './support/recording.ts';
import { startServer } from './support/server.ts';
import { type Actor, Directory, newDirectory } from './support/world.ts';

const path = '/organization/audit-trail';
const actionsOf = ({ body }: Answer): string[] =>
  body.data.map(({ resource }: Json) => `${resource.type}.${resource.action}`);

let directory: Directory;
let owner: Actor;
let ownerId: string;

/** An organization, and its token, which is the second event of its trail. */
const audited = async () => {
  const name = fresh('org');
  await directory.organization(owner, name);
  const { attributes } = await owner.make(`/organizations/${name}/authentication-token`);
  return { name, auditor: directory.actor(attributes.token) };
};

before(async () => {
  directory = await newDirectory();
  ({ id: ownerId, actor: owner } = await directory.user('owner'));
});
after(() => directory.server.close());

describe('GET organization/audit-trail', () => {
  test('is plain JSON with snake_case pages: the changes in the token’s organization, the newest first', async () => {
    const { name, auditor } = await audited();
    const project = await directory.project(owner, name, 'production');
    const answer = await auditor.get(path);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.deepEqual(actionsOf(answer), ['project.create', 'authentication_token.create', 'organization.create']);
    assert.deepEqual(answer.body.pagination, {
      current_page: 1,
      page_size: 1000,
      prev_page: null,
      next_page: null,
      total_pages: 1,
      total_count: 3,
    });
    const { id, timestamp, ...event } = answer.body.data[0];
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.match(timestamp, /^2026-01-01T00:00:\d\d\.\d{3}Z$/);
    const organization = (await owner.get(`/organizations/${name}`)).body.data.attributes['external-id'];
    assert.deepEqual(event, {
      version: '0',
      type: 'Resource',
      auth: {
        accessor_id: ownerId,
        description: 'owner',
        type: 'Client',
        impersonator_id: null,
        organization_id: organization,
      },
      request: { id: event.request.id },
      resource: { id: project, type: 'project', action: 'create', meta: null },
    });
    assert.ok(event.request.id);
  });

  test('a request as the Go client makes it is answered: no Accept header, and a type for a body that is not there', async () => {
    const { auditor } = await audited();
    const { client } = directory.server;
    const headers = { authorization: `Bearer ${auditor.token}`, 'content-type': 'application/json' };
    const answer = await client.send('GET', `/api/v2${path}?page%5Bnumber%5D=1&page%5Bsize%5D=20`, { headers });
    assert.equal(answer.status, 200);
    client.conforms('GET', `/api/v2${path}`, answer);
  });

  test('is for the organization’s token and the audit-trails one: 404 for every other, and 401 for none', async () => {
    const { name, auditor } = await audited();
    const token = async (address: string) => directory.actor((await owner.make(address)).attributes.token);
    const trail = await token(`/organizations/${name}/authentication-token?token=audit-trails`);
    assert.equal((await trail.get(path)).text, (await auditor.get(path)).text);
    const owners = (await owner.get(`/organizations/${name}/teams`)).body.data[0].id;
    const others = [owner, directory.admin, await token(`/teams/${owners}/authentication-token`)];
    for (const other of others) assert.equal((await other.get(path)).status, 404);
    assert.equal((await directory.actor(undefined).get(path)).status, 401);
    await owner.delete(`/organizations/${name}/authentication-token?token=audit-trails`);
    assert.equal((await trail.get(path)).status, 401);
  });

  test('tells of its own organization alone', async () => {
    const { name, auditor } = await audited();
    const { name: other, auditor: stranger } = await audited();
    const project = await directory.project(owner, name, 'mine');
    const foreign = await directory.project(owner, other, 'theirs');
    const ids = async (actor: Actor) => (await actor.get(path)).body.data.map(({ resource }: Json) => resource.id);
    assert.ok((await ids(auditor)).includes(project) && !(await ids(auditor)).includes(foreign));
    assert.ok((await ids(stranger)).includes(foreign) && !(await ids(stranger)).includes(project));
    assert.equal((await stranger.get(path)).body.pagination.total_count, 3);
  });

  test('since: what came after that moment, in whatever zone it is said; 400 for what is no time', async () => {
    const { name, auditor } = await audited();
    for (const project of ['one', 'two', 'three']) await directory.project(owner, name, project);
    const all = (await auditor.get(path)).body.data;
    const since = async (time: string) => auditor.get(`${path}?since=${encodeURIComponent(time)}`);
    const { timestamp } = all[1];
    assert.deepEqual((await since(timestamp)).body.data, all.slice(0, 1));
    assert.equal((await since(timestamp)).body.pagination.total_count, 1);
    const justBefore = new Date(Date.parse(timestamp) - 1);
    assert.deepEqual((await since(justBefore.toISOString())).body.data, all.slice(0, 2));
    const inMunich = new Date(justBefore.getTime() + 3_600_000).toISOString().replace('Z', '+01:00');
    assert.deepEqual((await since(inMunich)).body.data, all.slice(0, 2));
    assert.deepEqual((await since('2020-01-01T00:00:00Z')).body.data, all);
    assert.deepEqual((await since('2099-01-01T00:00:00Z')).body.data, []);
    for (const wrong of ['yesterday', '2026-01-01', '2026-02-30T00:00:00Z', '2026-01-01T00:00:00', '1']) {
      const answer = await since(wrong);
      assert.equal(answer.status, 400, wrong);
      assert.deepEqual(answer.body.errors[0].source, { parameter: 'since' });
    }
    assert.equal((await owner.get(`${path}?since=yesterday`)).status, 404, 'who may not ask is told nothing');
  });

  test('page by page: a thousand at most and by default, and a page past the end is empty', async () => {
    const { name, auditor } = await audited();
    for (const project of ['one', 'two', 'three']) await directory.project(owner, name, project);
    const all = (await auditor.get(path)).body.data;
    const page = async (query: string) => (await auditor.get(`${path}?${query}`)).body;
    const first = await page('page[size]=2');
    assert.deepEqual(first.data, all.slice(0, 2));
    const pages = { page_size: 2, total_pages: 3, total_count: 5 };
    assert.deepEqual(first.pagination, { current_page: 1, prev_page: null, next_page: 2, ...pages });
    const last = await page('page[size]=2&page[number]=3');
    assert.deepEqual(last.data, all.slice(4));
    assert.deepEqual(last.pagination, { current_page: 3, prev_page: 2, next_page: null, ...pages });
    const past = await page('page[size]=2&page[number]=9');
    assert.deepEqual([past.data, past.pagination.prev_page, past.pagination.next_page], [[], 3, null]);
    assert.equal((await page('page[size]=5000')).pagination.page_size, 1000);
    assert.equal((await page('page[number]=1')).pagination.page_size, 1000);
    for (const wrong of ['page[size]=0', 'page[number]=x'])
      assert.equal((await auditor.get(`${path}?${wrong}`)).status, 400);
  });

  test('a thousand events come in one statement beside the token’s', async t => {
    const log: Entry[] = [];
    const server = await startServer({ store: recording(await newStore(), log) });
    t.after(() => server.close());
    const here = new Directory(server);
    const { actor } = await here.user('busy');
    await here.organization(actor, 'acme');
    const auditor = here.actor((await actor.make('/organizations/acme/authentication-token')).attributes.token);
    const project = await here.project(actor, 'acme', 'changing');
    for (let i = 0; i < 40; i++) await actor.patch(`/projects/${project}`, { attributes: { description: `${i}` } });
    log.length = 0;
    assert.equal((await auditor.get(path)).body.data.length, 43);
    assert.deepEqual(
      log.map(({ kind, statements }) => [kind, statements.length]),
      [['read', 2]],
    );
  });
});

describe('an event', () => {
  const lastOf = async (auditor: Actor) => (await auditor.get(`${path}?page[size]=1`)).body.data[0];

  test('names the actor as it was called then, be it a user, a team or the organization', async () => {
    const { name, auditor } = await audited();
    const username = fresh('named');
    const { id, actor } = await directory.member(owner, name, username);
    const attributes = { name: 'before', 'organization-access': { 'manage-projects': true } };
    const team = await directory.team(owner, name, attributes, [username]);
    const ofTeam = directory.actor((await owner.make(`/teams/${team}/authentication-token`)).attributes.token);
    const organization = (await owner.get(`/organizations/${name}`)).body.data.attributes['external-id'];
    const by = async (maker: Actor) => {
      await directory.project(maker, name, fresh('made'));
      const { accessor_id, description } = (await lastOf(auditor)).auth;
      return [accessor_id, description];
    };
    assert.deepEqual(await by(actor), [id, username]);
    assert.deepEqual(await by(ofTeam), [team, 'before']);
    assert.deepEqual(await by(auditor), [organization, name]);
    await directory.admin.patch(`/admin/users/${id}`, { attributes: { username: `${username}-later` } });
    await owner.patch(`/teams/${team}`, { attributes: { name: 'after' } });
    assert.deepEqual(await by(actor), [id, `${username}-later`]);
    const described = (await auditor.get(path)).body.data.map(({ auth }: Json) => auth.description);
    assert.ok(described.includes(username) && described.includes('before') && !described.includes('after'));
    await directory.admin.delete(`/admin/users/${id}`);
    assert.ok((await auditor.get(path)).body.data.some(({ auth }: Json) => auth.accessor_id === id));
  });

  test('of team access tells the team and its permissions, each of them where they are custom', async () => {
    const { name, auditor } = await audited();
    const team = await directory.team(owner, name, { name: 'devs' });
    const project = await directory.project(owner, name, 'production');
    const grant = await directory.grant(owner, project, team, { access: 'write' });
    const told = async () => {
      const { id, type, action, meta } = (await lastOf(auditor)).resource;
      assert.deepEqual([id, type], [project, 'project']);
      return { action, ...meta };
    };
    assert.deepEqual(await told(), { action: 'add_team', team, permissions: 'write' });
    const attributes = { access: 'custom', 'project-access': { teams: 'read' } };
    const { body } = await owner.patch(`/team-projects/${grant}`, { attributes });
    assert.deepEqual(await told(), {
      action: 'update_team_permissions',
      team,
      permissions: 'custom',
      'project-access': body.data.attributes['project-access'],
      'workspace-access': body.data.attributes['workspace-access'],
    });
    await owner.delete(`/team-projects/${grant}`);
    assert.deepEqual(await told(), { action: 'remove_team', team });
  });

  test('of team membership tells who came or went, and nobody who was named in vain', async () => {
    const { name, auditor } = await audited();
    const [one, two] = [fresh('one'), fresh('two')];
    for (const member of [one, two]) await directory.member(owner, name, member);
    const email = `${fresh('guest')}@guest.example`;
    const { id: guest } = await owner.make(`/organizations/${name}/organization-memberships`, {
      type: 'organization-memberships',
      attributes: { email },
    });
    const team = await directory.team(owner, name, { name: 'devs' });
    const users = (...ids: string[]) => ids.map(id => ({ type: 'users', id }));
    const told = async () => {
      const { id, type, action, meta } = (await lastOf(auditor)).resource;
      assert.deepEqual([id, type], [team, 'team']);
      return [action, meta];
    };
    await owner.post(`/teams/${team}/relationships/users`, users(one.toUpperCase()));
    assert.deepEqual(await told(), ['add_member', { user: one }]);
    await owner.post(`/teams/${team}/relationships/users`, users(one, two));
    assert.deepEqual(await told(), ['add_member', { user: two }]);
    await owner.post(`/teams/${team}/relationships/organization-memberships`, [
      { type: 'organization-memberships', id: guest },
    ]);
    assert.deepEqual(await told(), ['add_member', { user: email }]);
    await owner.delete(`/teams/${team}/relationships/users`, users('nobody', two, one));
    assert.deepEqual(await told(), ['remove_member', { user: `${two}, ${one}` }]);
  });

  test('never holds a secret, whatever was made', async () => {
    const { name, auditor } = await audited();
    const team = await directory.team(owner, name, { name: 'makers' });
    const secrets: string[] = [];
    for (const address of [
      `/teams/${team}/authentication-token`,
      `/teams/${team}/authentication-tokens`,
      `/organizations/${name}/authentication-token?token=audit-trails`,
    ])
      secrets.push((await owner.make(address)).attributes.token);
    const { text } = await auditor.get(path);
    const rows = await directory.server.store.read(tx => tx.rows(sql`select * from audit_events`));
    for (const secret of [...secrets, auditor.token ?? ''])
      assert.ok(![text, JSON.stringify(rows)].some(told => told.includes(secret.slice(0, 14))));
  });

  test('from before names were kept has the actor’s id for its name', async () => {
    const { auditor } = await audited();
    await directory.server.store.write(tx =>
      tx.run(sql`update audit_events set actor_name = null where actor_id = ${ownerId}`),
    );
    assert.equal((await lastOf(auditor)).auth.description, ownerId);
  });
});

test('the changes of teams, their members and tokens are called as they are documented', () => {
  const families = ['teams', 'team-memberships', 'authentication-tokens', 'team-projects'];
  const called = operations
    .filter(({ family }) => families.includes(family))
    .flatMap(({ audit }) => (audit ? [`${audit.resource}.${audit.action}`] : []));
  assert.deepEqual([...new Set(called)].sort(), [
    'authentication_token.create',
    'authentication_token.destroy',
    'project.add_team',
    'project.remove_team',
    // Our own, beside the others, of a whole list at once.
    'project.set_teams',
    'project.update_team_permissions',
    'team.add_member',
    'team.create',
    'team.destroy',
    'team.remove_member',
    'team.update',
  ]);
});

describe('who comes and goes by a site admin’s doing', () => {
  test('is told in the trail of every organization that it concerns', async () => {
    const { actor: founder } = await directory.user('founder-of-trails');
    await directory.organization(founder, 'trailed');
    const { attributes } = await founder.make('/organizations/trailed/authentication-token');
    const trail = async (): Promise<string[]> =>
      (await directory.actor(attributes.token).get('/organization/audit-trail')).body.data.map(
        ({ resource }: Json) => `${resource.type} ${resource.action}`,
      );
    const invitation = await founder.make('/organizations/trailed/organization-memberships', {
      type: 'organization-memberships',
      attributes: { email: 'guest-of-trails@example.com' },
    });
    const { id } = await directory.user('guest-of-trails');
    assert.equal((await trail())[0], 'organization_user accept_invitation');
    assert.equal((await directory.admin.delete(`/admin/users/${id}`)).status, 204);
    assert.equal((await trail())[0], 'organization_user destroy');
    const rows = await directory.server.store.read(tx =>
      tx.rows<[after: string | null]>(
        sql`select after_change from audit_events where resource_id = ${invitation.id} order by created_at`,
      ),
    );
    assert.equal(JSON.parse(rows[1]?.[0] ?? '{}').user, id);
  });
});
