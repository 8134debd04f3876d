/** Every operation once, with success: for the tests that look at all of them. */

import assert from 'node:assert/strict';
import type { Answer } from './client.ts';
import { type Actor, type Directory, grantBody } from './world.ts';

export const walk = async (directory: Directory): Promise<{ owner: Actor; writes: number }> => {
  let writes = 0;
  const done = async (answer: Promise<Answer>, what: string): Promise<Answer> => {
    const { status, text } = await answer;
    assert.ok(status < 300, `${what} answered ${status}: ${text}`);
    return answer;
  };
  const by = (actor: Actor) => ({
    get: async (path: string) => (await done(actor.get(path), `GET ${path}`)).body,
    post: async (path: string, data?: unknown) => {
      writes++;
      return (await done(actor.post(path, data), `POST ${path}`)).body?.data;
    },
    patch: async (path: string, type: string, attributes: unknown) => {
      writes++;
      return (await done(actor.patch(path, { type, attributes }), `PATCH ${path}`)).body.data;
    },
    patchAll: async (path: string, data: unknown) => {
      writes++;
      await done(actor.patch(path, data), `PATCH ${path}`);
    },
    put: async (path: string, type: string, attributes: unknown) => {
      writes++;
      await done(actor.put(path, { type, attributes }), `PUT ${path}`);
    },
    putAll: async (path: string, data: unknown) => {
      writes++;
      await done(actor.put(path, data), `PUT ${path}`);
    },
    delete: async (path: string, data?: unknown) => {
      writes++;
      await done(actor.delete(path, data), `DELETE ${path}`);
    },
  });

  const admin = by(directory.admin);
  const addUser = async (username: string) => {
    const attributes = { username, email: `${username}@example.com` };
    const { id } = await admin.post('/admin/users', { type: 'users', attributes });
    const token = await admin.post(`/users/${id}/authentication-tokens`, { attributes: { description: 'first' } });
    return { id, token: token.attributes.token as string };
  };
  const ada = await addUser('ada');
  const bob = await addUser('bob');
  const actor = directory.actor(ada.token);
  const owner = by(actor);
  await owner.get('/account/details');
  await owner.patch('/account/update', 'users', { email: 'ada@elsewhere.example' });
  const password = { password: 'a long password', password_confirmation: 'a long password' };
  await owner.patch('/account/password', 'users', password);
  await owner.get(`/users/${ada.id}`);
  await owner.get(`/users/${ada.id}/authentication-tokens`);
  await admin.get('/admin/users');
  await admin.get('/admin/export');
  await admin.get(`/admin/users/${bob.id}`);
  await admin.patch(`/admin/users/${bob.id}`, 'users', { username: 'robert' });

  await owner.post('/organizations', { type: 'organizations', attributes: { name: 'walked', email: 'a@example.com' } });
  await owner.get('/organizations');
  await owner.get('/organizations?q=walk');
  await owner.get('/organizations?q[name]=walk&q[email]=example');
  await owner.get('/organizations/walked');
  await owner.get('/organizations/walked/entitlement-set');
  await owner.patch('/organizations/walked', 'organizations', { email: 'b@example.com' });
  await owner.put('/organizations/walked', 'organizations', { 'session-timeout': 60 });
  const inside = '/organizations/walked';
  const email = 'bob@example.com';
  const membership = await owner.post(`${inside}/organization-memberships`, {
    type: 'organization-memberships',
    attributes: { email },
  });
  await owner.get(`${inside}/organization-memberships`);
  await owner.get(`${inside}/organization-memberships?q=bob&filter[status]=active&filter[email]=${email}`);
  await owner.get('/organization-memberships');
  await owner.get(`/organization-memberships/${membership.id}`);

  const team = await owner.post(`${inside}/teams`, { type: 'teams', attributes: { name: 'walkers' } });
  await owner.get(`${inside}/teams`);
  await owner.get(`/teams/${team.id}`);
  await owner.patch(`/teams/${team.id}`, 'teams', { visibility: 'organization' });
  for (const [type, id] of [
    ['users', 'robert'],
    ['organization-memberships', membership.id],
  ]) {
    await owner.post(`/teams/${team.id}/relationships/${type}`, [{ type, id }]);
    await owner.get(`/teams/${team.id}/relationships/organization-memberships`);
    await owner.delete(`/teams/${team.id}/relationships/${type}`, [{ type, id }]);
  }

  const project = await owner.post(`${inside}/projects`, { type: 'projects', attributes: { name: 'path' } });
  await owner.get(`${inside}/projects`);
  await owner.get(`/projects/${project.id}`);
  await owner.patch(`/projects/${project.id}`, 'projects', { description: 'a path' });

  for (const filter of ['filter[names]=path,other', 'q=at', 'filter[tagged][0][key]=a&filter[tagged][1][value]=b'])
    await owner.get(`${inside}/projects?${filter}&sort=-name&include=effective_tag_bindings`);
  for (const permission of ['create-workspace', 'update', 'move-stack'])
    await owner.get(`${inside}/projects?filter[permissions][${permission}]=true`);
  await owner.get(`/projects/${project.id}?include=effective_tag_bindings`);
  const moved = await owner.post(`${inside}/workspaces`, { type: 'workspaces', attributes: { name: 'moved' } });
  await owner.post(`/projects/${project.id}/relationships/workspaces`, [{ type: 'workspaces', id: moved.id }]);
  const tags = (...keys: string[]) => keys.map(key => ({ type: 'tag-bindings', attributes: { key, value: 'b' } }));
  for (const tagged of [`/projects/${project.id}`, `/workspaces/${moved.id}`]) {
    await owner.patchAll(`${tagged}/tag-bindings`, tags('a', 'b'));
    await owner.post(`${tagged}/relationships/tag-bindings`, tags('c'));
    await owner.patchAll(`${tagged}/relationships/tag-bindings`, tags('c', 'd'));
    for (const list of ['tag-bindings', 'relationships/tag-bindings', 'effective-tag-bindings'])
      await owner.get(`${tagged}/${list}`);
  }
  await owner.delete(`/workspaces/${moved.id}`);

  const grant = await owner.post('/team-projects', grantBody(project.id, team.id, { access: 'custom' }));
  await owner.get(`/team-projects?filter[project][id]=${project.id}&filter[team][id]=${team.id}`);
  await owner.get(`/team-projects/${grant.id}`);
  await owner.patch(`/team-projects/${grant.id}`, 'team-projects', { access: 'write' });
  // As it is, so that it is one change: each grant that it changed would be one more.
  const whole = await owner.get(`/projects/${project.id}/team-projects`);
  await owner.putAll(`/projects/${project.id}/team-projects`, whole.data);

  const newWorkspace = (name: string) => ({
    type: 'workspaces',
    attributes: { name },
    relationships: { project: { data: { type: 'projects', id: project.id } } },
  });
  const workspace = await owner.post(`${inside}/workspaces`, newWorkspace('desk'));
  await owner.get(`${inside}/workspaces`);
  for (const path of [`/workspaces/${workspace.id}`, `${inside}/workspaces/desk`]) {
    await owner.get(path);
    await owner.patch(path, 'workspaces', { description: path });
  }
  const flat = `/workspaces/${workspace.id}/relationships/tags`;
  await owner.post(flat, [{ type: 'tags', attributes: { name: 'oak' } }]);
  await owner.get(flat);
  await owner.delete(flat, [{ type: 'tags', attributes: { name: 'oak' } }]);
  const actions = `/workspaces/${workspace.id}/actions`;
  for (const release of ['unlock', 'force-unlock']) {
    await owner.post(`${actions}/lock`);
    await owner.post(`${actions}/${release}`);
  }
  await owner.get(`/workspaces/${workspace.id}/relationships/remote-state-consumers`);

  const workspaceGrant = await owner.post('/team-workspaces', {
    type: 'team-workspaces',
    attributes: { access: 'custom' },
    relationships: {
      workspace: { data: { type: 'workspaces', id: workspace.id } },
      team: { data: { type: 'teams', id: team.id } },
    },
  });
  await owner.get(`/team-workspaces?filter[workspace][id]=${workspace.id}&filter[team][id]=${team.id}`);
  await owner.get(`/team-workspaces/${workspaceGrant.id}`);
  await owner.patch(`/team-workspaces/${workspaceGrant.id}`, 'team-workspaces', { access: 'plan' });

  const everybody = ['filter[subject]=users', 'filter[subject]=teams&filter[workspace-access][runs]=plan'];
  for (const place of [`/projects/${project.id}`, `/workspaces/${workspace.id}`])
    for (const query of everybody) await owner.get(`${place}/effective-access?${query}`);
  const everywhere = [
    'filter[organization][name]=walked&filter[project-access][settings]=read',
    `filter[project][id]=${project.id}&filter[resource]=workspaces`,
    `filter[workspace][id]=${workspace.id}`,
  ];
  for (const subject of [`/teams/${team.id}`, `/users/${ada.id}`, '/account'])
    for (const query of everywhere) await owner.get(`${subject}/effective-access?${query}`);

  await owner.delete(`/team-workspaces/${workspaceGrant.id}`);

  await owner.delete(`/workspaces/${workspace.id}`);
  await owner.post(`${inside}/workspaces`, newWorkspace('chair'));
  await owner.delete(`${inside}/workspaces/chair`);
  const { id: third } = await owner.post(`${inside}/workspaces`, newWorkspace('table'));
  await owner.post(`/workspaces/${third}/actions/safe-delete`);
  await owner.post(`${inside}/workspaces`, newWorkspace('shelf'));
  await owner.post(`${inside}/workspaces/shelf/actions/safe-delete`);

  const question = {
    subject: { type: 'team', id: team.id },
    action: { name: 'read' },
    resource: { type: 'project', id: project.id },
  };
  const { action: _, ...unnamed } = question;
  for (const [path, asked] of Object.entries({
    evaluation: question,
    evaluations: { ...question, evaluations: [{}, { action: { name: 'delete' } }] },
    'search/subject': question,
    'search/resource': question,
    'search/action': unnamed,
  }))
    await done(actor.ask('walked', path, asked), path);

  const several = await owner.post(`/teams/${team.id}/authentication-tokens`, { attributes: { description: 'one' } });
  await owner.get(`/teams/${team.id}/authentication-tokens`);
  await owner.get(`${inside}/team-tokens`);
  await owner.get(`/authentication-tokens/${several.id}`);
  await owner.delete(`/authentication-tokens/${several.id}`);
  const another = await owner.post(`/teams/${team.id}/authentication-tokens`, { attributes: { description: 'two' } });
  await owner.delete(`${inside}/team-tokens`, [{ type: 'authentication-tokens', id: another.id }]);
  for (const holder of [`/teams/${team.id}`, inside]) {
    await owner.post(`${holder}/authentication-token`);
    await owner.get(`${holder}/authentication-token`);
    await owner.delete(`${holder}/authentication-token`);
  }

  const trail = `${inside}/authentication-token?token=audit-trails`;
  const auditor = by(directory.actor((await owner.post(trail)).attributes.token));
  await auditor.get('/organization/audit-trail?since=2020-01-01T00:00:00Z');
  for (const reader of [owner, auditor]) await reader.get(`${inside}/audit-events`);
  for (const filter of [`project][id]=${project.id}`, `team][id]=${team.id}`, `actor][id]=${ada.id}`, 'action]=create'])
    await owner.get(`${inside}/audit-events?filter[${filter}`);
  await owner.get(`${inside}/audit-events?filter[since]=2020-01-01T00:00:00Z&filter[until]=2040-01-01T00:00:00Z`);
  await owner.get(trail);
  await owner.delete(trail);
  await owner.post(`${inside}/authentication-token?token=decisions`);

  await owner.get(`${inside}/access-review?filter[user][id]=${ada.id}&filter[project][id]=${project.id}`);

  await owner.delete(`/team-projects/${grant.id}`);
  await owner.delete(`/projects/${project.id}`);
  await owner.delete(`/teams/${team.id}`);
  await owner.delete(`/organization-memberships/${membership.id}`);
  await owner.delete('/organizations/walked');
  await admin.delete(`/admin/users/${bob.id}`);
  for (const path of [
    '/healthz',
    '/readyz',
    '/metrics',
    '/api/v2/ping',
    '/.well-known/terraform.json',
    '/.well-known/authzen-configuration/organizations/walked',
    '/openapi.json',
  ])
    await done(directory.server.client.call(undefined, 'GET', path), `GET ${path}`);
  return { owner: actor, writes };
};
