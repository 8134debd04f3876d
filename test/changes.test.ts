/** The interface's dated list of changes: what it says of a family that is served is true here. docs/changes.md is its index. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { operations } from '../src/resources/index.ts';
import { fresh } from './support/answers.ts';
import type { Json } from './support/client.ts';
import { startServer } from './support/server.ts';
import { type Actor, Directory, grantBody, workspaceBody, workspaceGrantBody } from './support/world.ts';

let directory: Directory;
let owner: Actor;
let project: string;
let workspace: string;
let team: string;
let member: { id: string; actor: Actor };

const organization = '/organizations/dated';

before(async () => {
  directory = new Directory(await startServer());
  owner = (await directory.user('olga')).actor;
  await directory.organization(owner, 'dated');
  member = await directory.member(owner, 'dated', 'mia');
  project = await directory.project(owner, 'dated', 'calendar');
  team = await directory.team(owner, 'dated', { name: 'daters', visibility: 'organization' }, ['mia']);
  workspace = (await owner.make(`${organization}/workspaces`, workspaceBody('january', project))).id;
});
after(() => directory.server.close());

const attributesOf = async (actor: Actor, path: string): Promise<Json> => {
  const { status, text, body } = await actor.get(path);
  assert.equal(status, 200, `${path} answered ${text}`);
  return body.data.attributes;
};

const namesOf = async (actor: Actor, path: string): Promise<string[]> => {
  const { body, text } = await actor.get(path);
  assert.ok(Array.isArray(body.data), text);
  return body.data.map(({ attributes }: Json) => attributes.name);
};

/** Sets attributes, and expects them back from the answer and from a later read. */
const keeps = async (path: string, type: string, attributes: Json): Promise<void> => {
  const { status, text, body } = await owner.patch(path, { type, attributes });
  assert.equal(status, 200, text);
  for (const shown of [body.data.attributes, await attributesOf(owner, path)])
    for (const [name, value] of Object.entries(attributes)) assert.deepEqual(shown[name], value, name);
};

const newTeam = async (organizationAccess: Json): Promise<{ id: string; actor: Actor }> => {
  const attributes = { name: fresh('team'), 'organization-access': organizationAccess };
  const { id, attributes: shown } = await owner.make(`${organization}/teams`, { type: 'teams', attributes });
  for (const [name, value] of Object.entries(organizationAccess))
    assert.equal(shown['organization-access'][name], value);
  const token = await owner.make(`/teams/${id}/authentication-token`);
  return { id, actor: directory.actor(token.attributes.token) };
};

const projectBody = (name: string, attributes: Json = {}) => ({
  type: 'projects',
  attributes: { name, ...attributes },
});

describe('team access', () => {
  test('2021-03-18: team access to a workspace is listed in pages', async () => {
    const { id } = await owner.make(`${organization}/workspaces`, workspaceBody(fresh('paged'), project));
    for (const name of [fresh('page'), fresh('page'), fresh('page')])
      await owner.make(
        '/team-workspaces',
        workspaceGrantBody(id, await directory.team(owner, 'dated', { name }), { access: 'plan' }),
      );
    const { body } = await owner.get(`/team-workspaces?filter[workspace][id]=${id}&page[size]=2&page[number]=2`);
    assert.equal(body.data.length, 1);
    assert.deepEqual(body.meta.pagination['total-pages'], 2);
  });

  test('2023-01-17: team access to projects is created, listed, shown, updated and removed', async () => {
    const { id } = await owner.make('/team-projects', grantBody(project, team, { access: 'read' }));
    assert.equal((await attributesOf(owner, `/team-projects/${id}`)).access, 'read');
    assert.equal((await owner.get(`/team-projects?filter[project][id]=${project}`)).body.data.length, 1);
    await keeps(`/team-projects/${id}`, 'team-projects', { access: 'admin' });
    assert.equal((await owner.delete(`/team-projects/${id}`)).status, 204);
  });

  test('2023-03-13: the project roles are read, write, maintain and admin', async () => {
    const { id } = await owner.make('/team-projects', grantBody(project, team, { access: 'write' }));
    for (const access of ['maintain', 'admin', 'read', 'write'])
      await keeps(`/team-projects/${id}`, 'team-projects', { access });
    assert.equal((await owner.patch(`/team-projects/${id}`, { attributes: { access: 'plan' } })).status, 422);
    await owner.delete(`/team-projects/${id}`);
  });

  test('2023-07-26: custom access carries its own permissions on the project and its workspaces', async () => {
    const chosen = { access: 'custom', 'project-access': { settings: 'update' }, 'workspace-access': { runs: 'plan' } };
    const { id, attributes } = await owner.make('/team-projects', grantBody(project, team, chosen));
    assert.equal(attributes['project-access'].settings, 'update');
    assert.equal(attributes['workspace-access'].runs, 'plan');
    await owner.delete(`/team-projects/${id}`);
  });
});

describe('projects', () => {
  test('2023-01-17: projects are created, updated and deleted', async () => {
    const { id } = await owner.make(`${organization}/projects`, projectBody(fresh('made')));
    await keeps(`/projects/${id}`, 'projects', { name: fresh('remade') });
    assert.equal((await owner.delete(`/projects/${id}`)).status, 204);
    assert.equal((await owner.get(`/projects/${id}`)).status, 404);
  });

  test('2023-03-20: the list of projects is filtered by names', async () => {
    await owner.make(`${organization}/projects`, projectBody('first-named'));
    await owner.make(`${organization}/projects`, projectBody('second-named'));
    const filtered = await namesOf(owner, `${organization}/projects?filter[names]=first-named,second-named,absent`);
    assert.deepEqual(filtered, ['first-named', 'second-named']);
  });

  test('2024-04-04: the list of projects is sorted by name, both ways', async () => {
    for (const name of ['sorted b', 'sorted c', 'sorted a'])
      await owner.make(`${organization}/projects`, projectBody(name));
    const sorted = ['sorted a', 'sorted b', 'sorted c'];
    assert.deepEqual(await namesOf(owner, `${organization}/projects?q=sorted&sort=name`), sorted);
    assert.deepEqual(await namesOf(owner, `${organization}/projects?q=sorted&sort=-name`), sorted.toReversed());
  });

  test('2024-04-04: a project has a description', () =>
    keeps(`/projects/${project}`, 'projects', { description: 'Days and months' }));

  test('2024-04-04: a project tells how many projects and workspaces there are', async () => {
    const { 'workspace-count': before } = await attributesOf(owner, `/projects/${project}`);
    await owner.make(`${organization}/workspaces`, workspaceBody(fresh('counted'), project));
    const { 'workspace-count': now, 'project-count': projects } = await attributesOf(owner, `/projects/${project}`);
    assert.equal(now, before + 1);
    assert.equal(projects, (await owner.get(`${organization}/projects`)).body.meta.pagination['total-count']);
  });

  test('2024-04-25: a project name has up to 40 characters', async () => {
    await owner.make(`${organization}/projects`, projectBody('n'.repeat(40)));
    const longer = await owner.post(`${organization}/projects`, projectBody('n'.repeat(41)));
    assert.equal(longer.status, 422);
  });
});

describe('teams', () => {
  test('2022-04-29: the list of teams is filtered by names', async () => {
    const [one, two] = [fresh('named'), fresh('named')];
    for (const name of [one, two]) await directory.team(owner, 'dated', { name });
    assert.deepEqual(await namesOf(owner, `${organization}/teams?filter[names]=${one},${two}`), [one, two]);
  });

  test('2022-10-12: a team takes members by their organization membership', async () => {
    const { body } = await owner.get(`${organization}/organization-memberships?filter[email]=mia@example.com`);
    const members = [{ type: 'organization-memberships', id: body.data[0].id }];
    const { id } = await newTeam({});
    assert.equal((await owner.post(`/teams/${id}/relationships/organization-memberships`, members)).status, 204);
    assert.equal((await attributesOf(owner, `/teams/${id}`))['users-count'], 1);
    assert.equal((await owner.delete(`/teams/${id}/relationships/organization-memberships`, members)).status, 204);
    assert.equal((await attributesOf(owner, `/teams/${id}`))['users-count'], 0);
  });

  test('2023-01-17: the list of teams is searched by q', async () => {
    await directory.team(owner, 'dated', { name: 'a needle in hay' });
    assert.deepEqual(await namesOf(owner, `${organization}/teams?q=NEEDLE`), ['a needle in hay']);
  });

  test('2021-04-13: manage-policy-overrides is an organization permission, and reads all workspaces', async () => {
    const { actor } = await newTeam({ 'manage-policy-overrides': true });
    assert.equal((await actor.get(`/workspaces/${workspace}`)).status, 200);
  });

  test('2023-01-18: read-workspaces shows all workspaces, read-projects all projects', async () => {
    const reader = await newTeam({ 'read-workspaces': true });
    assert.equal((await reader.actor.get(`/workspaces/${workspace}`)).status, 200);
    assert.equal((await reader.actor.get(`/projects/${project}`)).status, 404);
    const both = await newTeam({ 'read-workspaces': true, 'read-projects': true });
    assert.equal((await both.actor.get(`/projects/${project}`)).status, 200);
  });

  test('2023-02-16: manage-membership invites people', async () => {
    const { actor } = await newTeam({ 'manage-membership': true });
    const invitation = { type: 'organization-memberships', attributes: { email: 'guest@example.com' } };
    assert.equal((await actor.post(`${organization}/organization-memberships`, invitation)).status, 201);
  });

  test('2024-04-08: manage-teams makes teams, access-secret-teams reaches the secret ones', async () => {
    const secret = await directory.team(owner, 'dated', { name: fresh('secret') });
    const manager = await newTeam({ 'manage-membership': true, 'manage-teams': true });
    const made = await manager.actor.post(`${organization}/teams`, {
      type: 'teams',
      attributes: { name: fresh('made'), visibility: 'organization' },
    });
    assert.equal(made.status, 200);
    assert.equal((await manager.actor.get(`/teams/${secret}`)).status, 404);
    const all = { 'manage-membership': true, 'manage-teams': true, 'manage-organization-access': true };
    const chief = await newTeam({ ...all, 'access-secret-teams': true });
    assert.equal((await chief.actor.get(`/teams/${secret}`)).status, 200);
  });

  test('2024-05-10: manage-agent-pools is an organization permission, and reads all projects and workspaces', async () => {
    const { actor } = await newTeam({ 'manage-agent-pools': true });
    assert.equal((await actor.get(`/projects/${project}`)).status, 200);
    assert.equal((await actor.get(`/workspaces/${workspace}`)).status, 200);
  });
});

describe('tokens', () => {
  test('2021-11-17: lists of organizations and of user tokens come in pages', async () => {
    for (const path of ['/organizations', `/users/${member.id}/authentication-tokens`]) {
      const { body } = await member.actor.get(`${path}?page[size]=1`);
      assert.equal(body.meta.pagination['page-size'], 1);
      assert.equal(body.data.length, 1);
    }
  });

  test('2024-06-25: whoever manages teams makes their tokens', async () => {
    const { actor } = await newTeam({ 'manage-membership': true, 'manage-teams': true });
    assert.equal((await actor.post(`/teams/${team}/authentication-token`)).status, 201);
    assert.equal((await actor.delete(`/teams/${team}/authentication-token`)).status, 204);
  });

  test('2024-07-15: allow-member-token-management lets members make the token of their team, or not', async () => {
    await keeps(`/teams/${team}`, 'teams', { 'allow-member-token-management': false });
    assert.equal((await member.actor.post(`/teams/${team}/authentication-token`)).status, 404);
    await keeps(`/teams/${team}`, 'teams', { 'allow-member-token-management': true });
    assert.equal((await member.actor.post(`/teams/${team}/authentication-token`)).status, 201);
  });

  test('2024-07-24, 2024-07-12, 2024-05-29: the audit trails token reads the audit trail', async () => {
    const { attributes } = await owner.make(`${organization}/authentication-token?token=audit-trails`);
    const reader = directory.actor(attributes.token);
    assert.ok((await reader.get('/organization/audit-trail')).body.data.length > 0);
    assert.equal((await reader.get(organization)).status, 404);
  });

  test('2024-08-14: the team tokens of an organization are listed', async () => {
    const { id } = await owner.make(`/teams/${team}/authentication-tokens`, { attributes: { description: 'listed' } });
    const { body } = await owner.get(`${organization}/team-tokens`);
    assert.ok(body.data.some((token: Json) => token.id === id));
  });

  test('2024-01-30: the events of the audit trail tell what they are about', async () => {
    const { attributes } = await owner.make(`${organization}/authentication-token`);
    const { id } = await owner.make('/team-projects', grantBody(project, team, { access: 'read' }));
    await owner.delete(`/team-projects/${id}`);
    const { body } = await directory.actor(attributes.token).get('/organization/audit-trail');
    const told = body.data.find(({ resource }: Json) => resource.action === 'add_team');
    assert.equal(told.resource.id, project);
    assert.ok(JSON.stringify(told.resource.meta).includes(team));
  });
});

describe('organizations', () => {
  test('2022-04-29: memberships are filtered by e-mail', async () => {
    const { body } = await owner.get(`${organization}/organization-memberships?filter[email]=mia@example.com`);
    assert.deepEqual(
      body.data.map(({ attributes }: Json) => attributes.email),
      ['mia@example.com'],
    );
  });

  test('2022-06-23: assessments are a setting of organizations and workspaces', async () => {
    await keeps(organization, 'organizations', { 'assessments-enforced': true });
    await keeps(`/workspaces/${workspace}`, 'workspaces', { 'assessments-enabled': true });
  });

  test('2022-10-17: organizations keep allow-force-delete-workspaces', () =>
    keeps(organization, 'organizations', { 'allow-force-delete-workspaces': true }));

  test('2023-05-25: the limits of a free tier are shown, and are none', async () => {
    const set = await attributesOf(owner, `${organization}/entitlement-set`);
    assert.equal(set['user-limit'], null);
    assert.equal(set['policy-set-limit'], null);
  });

  test('2023-09-08: organizations have a default execution mode, which workspaces take over', async () => {
    await keeps(organization, 'organizations', { 'default-execution-mode': 'local' });
    assert.equal((await attributesOf(owner, `/workspaces/${workspace}`))['execution-mode'], 'local');
    await keeps(organization, 'organizations', { 'default-execution-mode': 'remote' });
  });

  test('2023-11-17: the account names the resource that the token stands for', async () => {
    const { body } = await owner.get('/account/details');
    const { data } = body.data.relationships['authenticated-resource'];
    assert.deepEqual(data, { id: body.data.id, type: 'users' });
    const { id, actor } = await newTeam({});
    const service = (await actor.get('/account/details')).body.data;
    assert.deepEqual(service.relationships['authenticated-resource'].data, { id, type: 'teams' });
    assert.equal(service.attributes['is-service-account'], true);
  });

  test('2024-01-04: organizations keep aggregated-commit-status-enabled', async () => {
    await keeps(organization, 'organizations', { 'aggregated-commit-status-enabled': false });
    await keeps(organization, 'organizations', { 'aggregated-commit-status-enabled': true });
  });

  test('2024-02-27: private-policy-agents is among the entitlements', async () =>
    assert.equal(
      typeof (await attributesOf(owner, `${organization}/entitlement-set`))['private-policy-agents'],
      'boolean',
    ));

  test('2024-03-27: private-vcs is among the entitlements', async () =>
    assert.equal(typeof (await attributesOf(owner, `${organization}/entitlement-set`))['private-vcs'], 'boolean'));
});

describe('workspaces', () => {
  const path = () => `/workspaces/${workspace}`;

  test('2021-03-08: current_configuration_version may be included, and there is none', async () => {
    const { status, body } = await owner.get(`${path()}?include=current_configuration_version`);
    assert.equal(status, 200);
    assert.deepEqual(body.included, []);
    assert.equal(body.data.relationships['current-configuration-version'].data, null);
  });

  test('2021-03-18: a workspace has the attributes of its overview', async () => {
    const shown = await attributesOf(owner, path());
    for (const name of ['resource-count', 'apply-duration-average', 'plan-duration-average', 'run-failures'])
      assert.ok(name in shown, name);
  });

  test('2021-04-16: access to remote state is controlled by a setting, and its consumers are listed', async () => {
    await keeps(path(), 'workspaces', { 'global-remote-state': true });
    assert.deepEqual((await owner.get(`${path()}/relationships/remote-state-consumers`)).body.data, []);
  });

  test('2021-07-09: who locked a workspace may be included', async () => {
    assert.equal((await owner.post(`${path()}/actions/lock`)).status, 200);
    const { body } = await owner.get(`${path()}?include=locked_by`);
    assert.equal(body.included[0].id, body.data.relationships['locked-by'].data.id);
    assert.equal(body.included[0].attributes.username, 'olga');
    assert.equal((await owner.post(`${path()}/actions/unlock`)).status, 200);
  });

  test('2021-07-30: a workspace is tagged by names, which are added and removed', async () => {
    const tags = (name: string) => [{ type: 'tags', attributes: { name } }];
    for (const name of ['spring', 'autumn']) await owner.post(`${path()}/relationships/tags`, tags(name));
    assert.deepEqual((await attributesOf(owner, path()))['tag-names'], ['autumn', 'spring']);
    assert.deepEqual((await namesOf(owner, `${path()}/relationships/tags`)).sort(), ['autumn', 'spring']);
    assert.equal((await owner.delete(`${path()}/relationships/tags`, tags('autumn'))).status, 204);
    assert.deepEqual((await attributesOf(owner, path()))['tag-names'], ['spring']);
  });

  test('2022-06-09: workspaces are searched by tags that they have and have not', async () => {
    const tags = { tags: { data: [{ type: 'tags', attributes: { name: 'searched' } }] } };
    const name = fresh('tagged');
    await owner.make(`${organization}/workspaces`, { ...workspaceBody(name), relationships: tags });
    assert.deepEqual(await namesOf(owner, `${organization}/workspaces?search[tags]=searched`), [name]);
    for (const spelling of ['exclude-tags', 'exclude_tags'])
      assert.ok(!(await namesOf(owner, `${organization}/workspaces?search[${spelling}]=searched`)).includes(name));
  });

  test('2022-10-17, 2022-12-22: a workspace is deleted safely by POST, and not while it is locked', async () => {
    const { id } = await owner.make(`${organization}/workspaces`, workspaceBody(fresh('safe')));
    await owner.make(`/workspaces/${id}/actions/lock`);
    assert.equal((await owner.post(`/workspaces/${id}/actions/safe-delete`)).status, 409);
    await owner.make(`/workspaces/${id}/actions/unlock`);
    assert.equal((await owner.post(`/workspaces/${id}/actions/safe-delete`)).status, 204);
    assert.equal((await owner.get(`/workspaces/${id}`)).status, 404);
  });

  test('2023-03-08: vcs-repo takes a GitHub App installation', async () => {
    const repository = { identifier: 'acme/web', 'github-app-installation-id': 'ghain-1' };
    const { body } = await owner.patch(path(), { type: 'workspaces', attributes: { 'vcs-repo': repository } });
    assert.equal(body.data.attributes['vcs-repo']['github-app-installation-id'], 'ghain-1');
    await keeps(path(), 'workspaces', { 'vcs-repo': null });
  });

  test('2023-03-30: the list of workspaces is sorted', async () => {
    const names = await namesOf(owner, `${organization}/workspaces?sort=-name`);
    assert.ok(names.length > 2);
    assert.deepEqual(names, names.toSorted().reverse());
  });

  test('2023-06-09: a workspace names its project, which may be included', async () => {
    const { body } = await owner.get(`${path()}?include=project`);
    assert.deepEqual(body.data.relationships.project.data, { id: project, type: 'projects' });
    assert.equal(body.included[0].attributes.name, 'calendar');
  });

  test('2023-09-08: setting-overwrites tells which settings a workspace does not inherit', async () => {
    await keeps(path(), 'workspaces', { 'execution-mode': 'local' });
    const own = await attributesOf(owner, path());
    assert.deepEqual(own['setting-overwrites'], { 'execution-mode': true, 'agent-pool': true });
    await owner.patch(path(), {
      type: 'workspaces',
      attributes: { 'setting-overwrites': { 'execution-mode': false } },
    });
    assert.equal((await attributesOf(owner, path()))['execution-mode'], 'remote');
  });

  test('2023-09-15: a workspace keeps auto-destroy-at', () =>
    keeps(path(), 'workspaces', { 'auto-destroy-at': '2051-04-11T23:15:59.000Z' }));

  test('2023-10-31: a workspace keeps auto-apply-run-trigger', () =>
    keeps(path(), 'workspaces', { 'auto-apply-run-trigger': true }));

  test('2023-11-07: a workspace keeps auto-destroy-activity-duration', () =>
    keeps(path(), 'workspaces', { 'auto-destroy-activity-duration': '14d' }));

  test('2024-08-16: every answer about a workspace has all attributes and relationships', async () => {
    const created = await owner.make(`${organization}/workspaces`, workspaceBody('consistent'));
    const shown = (await owner.get(`/workspaces/${created.id}`)).body.data;
    assert.deepEqual(created, shown);
    assert.deepEqual((await owner.get(`${organization}/workspaces/consistent`)).body.data, shown);
    const { body } = await owner.get(`${organization}/workspaces?search[name]=consistent`);
    assert.deepEqual(body.data, [shown]);
    const locked = await owner.make(`/workspaces/${created.id}/actions/lock`);
    for (const part of ['attributes', 'relationships'])
      assert.deepEqual(Object.keys(locked[part]), Object.keys(shown[part]));
  });
});

describe('docs/changes.md', () => {
  const read = (...path: string[]) => readFileSync(join(import.meta.dirname, ...path), 'utf8');
  const rows = read('..', 'docs', 'changes.md')
    .split('\n')
    .flatMap(line => {
      const [, dates = '', , here = ''] = line.split('|').map(cell => cell.trim());
      return /^\d{4}-/.test(dates) ? [{ dates: dates.split(', '), served: here.startsWith('served') }] : [];
    });
  const titles = [...read('changes.test.ts').matchAll(/test\('([\d, -]+):/g)].flatMap(([, dates = '']) =>
    dates.split(', '),
  );

  test('every row is served or outside, and each date that is served has a test that names it', () => {
    const served = new Set(rows.filter(row => row.served).flatMap(({ dates }) => dates));
    assert.ok(rows.length > 80 && served.size > 40);
    assert.deepEqual(
      [...served].filter(date => !titles.includes(date)),
      [],
    );
    assert.deepEqual(
      titles.filter(date => !served.has(date)),
      [],
    );
  });

  test('the dates of the operations are those of the list', () => {
    const dates = new Set(rows.flatMap(row => row.dates));
    for (const { since, method, path } of operations)
      if (/^\d/.test(since)) assert.ok(dates.has(since), `${method} ${path} is said to be of ${since}`);
  });
});
