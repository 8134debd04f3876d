/** What a write does to effective access: told by the audit row to the owners, and foretold by a dry run to the caller. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import { fresh } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { custom, Office } from './support/office.ts';
import { contents } from './support/tables.ts';
import { type Actor, grantBody, workspaceBody, workspaceGrantBody } from './support/world.ts';

let office: Office;
before(async () => {
  office = await Office.open();
});
after(() => office.close());

type Call = 'post' | 'patch' | 'put' | 'delete';

const nothing = {
  changes: [],
  'changes-count': 0,
  complete: true,
  'caller-locked-out': false,
  'projects-without-admin': [],
};

/** The effects in the newest audit rows of one request, in the order in which they were written. */
const storedIn = (request: string): Promise<Json[]> =>
  office.directory.server.store.read(async tx => {
    const rows = await tx.rows<[string | null]>(sql`
      select effect
      from audit_events
      where request_id = ${request}
      order by created_at, id`);
    return rows.map(([text]) => (text === null ? null : JSON.parse(text)));
  });

/** A write, after its dry run: what the dry run tells to whoever calls, and what the audit rows tell. */
const did = async (actor: Actor, call: Call, path: string, data?: Json) => {
  const tried = await actor[call](`${path}?dry-run=true`, data);
  assert.ok(tried.status < 300, `the dry run of ${call} ${path} answered ${tried.status}: ${tried.text}`);
  const request = fresh('request');
  const done = await actor[call](path, data, { 'x-request-id': request });
  assert.ok(done.status < 300, `${call} ${path} answered ${done.status}: ${done.text}`);
  return { foretold: tried.body.meta.effect, stored: await storedIn(request), data: done.body?.data };
};

/** By an owner, to whom a dry run tells what the one audit row tells; with the ids of what a dry run makes otherwise. */
const effectOf = async (call: Call, path: string, data?: Json): Promise<Json> => {
  const { foretold, stored } = await did(office.owner, call, path, data);
  assert.equal(stored.length, 1);
  if (stored[0] === null) assert.deepEqual(foretold, nothing);
  else assert.equal(foretold['changes-count'], stored[0]['changes-count']);
  return stored[0];
};

/** In a line each: who, where, and each permission with its values before and after. */
const lines = ({ changes }: Json): string[] =>
  changes.map(({ subject, project, workspace, permissions }: Json) =>
    [
      subject.name,
      workspace ? `${project.name}/${workspace.name}` : project.name,
      ...permissions.map(({ permission, before, after }: Json) => `${permission.split('.')[1]} ${before}→${after}`),
    ].join(' '),
  );

const namesOf = async (project: string): Promise<string> =>
  (await office.owner.get(`/projects/${project}`)).body.data.attributes.name;
const teamName = async (team: string): Promise<string> =>
  (await office.owner.get(`/teams/${team}`)).body.data.attributes.name;

/** A new project, and a member of a new team. */
const scene = async (attributes: Json = {}) => {
  const project = await office.project();
  const member = await office.member(attributes);
  return { project, at: await namesOf(project), ...member, called: await teamName(member.team) };
};

const readGiven = 'settings null→read runs null→read';

describe('team access to a project', () => {
  test('is gained by the team and its members when it is given', async () => {
    const { project, at, name, team, called } = await scene();
    const effect = await effectOf('post', '/team-projects', grantBody(project, team, { access: 'custom' }));
    assert.deepEqual(lines(effect), [`${called} ${at} ${readGiven}`, `${name} ${at} ${readGiven}`]);
    assert.deepEqual({ ...effect, changes: [], 'changes-count': 0 }, nothing);
  });

  test('tells only what differs when it changes, and nothing where it stays', async () => {
    const { project, at, name, team, called } = await scene();
    const grant = await office.grant(project, team, { access: 'custom' });
    const path = `/team-projects/${grant}`;
    const attributes = { 'workspace-access': { runs: 'plan' } };
    const effect = await effectOf('patch', path, { attributes });
    assert.deepEqual(lines(effect), [`${called} ${at} runs read→plan`, `${name} ${at} runs read→plan`]);
    assert.equal(await effectOf('patch', path, { attributes }), null);
  });

  test('takes nothing from a member who has as much by another team, when it is removed', async () => {
    const { project, at, name, team, called } = await scene();
    await office.grant(project, await office.team([name]), { access: 'read' });
    const grant = await office.grant(project, team, { access: 'read' });
    const effect = await effectOf('delete', `/team-projects/${grant}`);
    assert.equal(effect['changes-count'], 1);
    assert.match(lines(effect)[0] ?? '', new RegExp(`^${called} ${at} settings read→null`));
  });
});

describe('team access to a workspace', () => {
  test('is told of the workspace', async () => {
    const { project, at, name, team, called } = await scene();
    const workspace = await office.workspace(project);
    const desk = (await office.owner.get(`/workspaces/${workspace}`)).body.data.attributes.name;
    const body = workspaceGrantBody(workspace, team, { access: 'custom' });
    const effect = await effectOf('post', '/team-workspaces', body);
    assert.deepEqual(lines(effect), [`${called} ${at}/${desk} runs null→read`, `${name} ${at}/${desk} runs null→read`]);
  });

  test('changes with the project that the workspace moves to; a workspace that comes or goes has no effect', async () => {
    const { project, at, name, team, called } = await scene();
    await office.grant(project, team, custom({ runs: 'apply' }));
    const { data, stored } = await did(
      office.owner,
      'post',
      '/organizations/acme/workspaces',
      workspaceBody(fresh('desk')),
    );
    assert.deepEqual(stored, [null]);
    const desk = data.attributes.name;
    const effect = await effectOf('post', `/projects/${project}/relationships/workspaces`, [
      { type: 'workspaces', id: data.id },
    ]);
    const gained = 'settings null→read runs null→apply';
    const own = lines(effect).filter(line => line.startsWith(called) || line.startsWith(name));
    assert.deepEqual(own, [`${called} ${at}/${desk} ${gained}`, `${name} ${at}/${desk} ${gained}`]);
    const back = { project: { data: { type: 'projects', id: office.defaultProject } } };
    const moved = await effectOf('patch', `/workspaces/${data.id}`, { type: 'workspaces', relationships: back });
    assert.equal(lines(moved).filter(line => line.startsWith(name)).length, 1);
    assert.equal(await effectOf('delete', `/workspaces/${data.id}`), null);
  });
});

describe('teams', () => {
  test('gain on every project by an organization-level permission, and lose it when they are deleted', async () => {
    const { name, team, called } = await scene();
    const count: number = (await office.owner.get('/organizations/acme/projects')).body.meta.pagination['total-count'];
    const attributes = { 'organization-access': { 'read-projects': true } };
    const given = await effectOf('patch', `/teams/${team}`, { attributes });
    assert.equal(given['changes-count'], 2 * count);
    assert.deepEqual(new Set(lines(given).map(line => line.split(' ')[0])), new Set([called, name]));
    assert.equal(lines(given).filter(line => line.endsWith('settings null→read')).length, 2 * count);
    const gone = await effectOf('delete', `/teams/${team}`);
    assert.equal(lines(gone).filter(line => line.endsWith('settings read→null')).length, 2 * count);
  });

  test('that are made with an organization-level permission gain at once; a name or a visibility gives nothing', async () => {
    const attributes = { name: fresh('team'), 'organization-access': { 'read-projects': true } };
    const made = await did(office.owner, 'post', '/organizations/acme/teams', { type: 'teams', attributes });
    assert.ok(made.stored[0]['changes-count'] > 0);
    for (const change of [{ name: fresh('team') }, { visibility: 'organization' }])
      assert.equal(await effectOf('patch', `/teams/${made.data.id}`, { attributes: change }), null);
  });

  test('give to whoever comes into them and take from whoever leaves, where they hold anything', async () => {
    const { project, at, team } = await scene();
    await office.grant(project, team, { access: 'custom' });
    const { name } = await office.member();
    const users = [{ type: 'users', id: name }];
    const path = `/teams/${team}/relationships/users`;
    assert.deepEqual(lines(await effectOf('post', path, users)), [`${name} ${at} ${readGiven}`]);
    assert.equal(await effectOf('post', path, users), null);
    assert.deepEqual(lines(await effectOf('delete', path, users)), [`${name} ${at} settings read→null runs read→null`]);
  });

  test('of owners give everything everywhere', async () => {
    const { name } = await office.member();
    const { body } = await office.owner.get('/organizations/acme/teams?filter[names]=owners');
    const path = `/teams/${body.data[0].id}/relationships/users`;
    const effect = await effectOf('post', path, [{ type: 'users', id: name }]);
    const count: number = (await office.owner.get('/organizations/acme/projects')).body.meta.pagination['total-count'];
    assert.equal(effect['changes-count'], count);
    assert.match(lines(effect)[0] ?? '', /administration false→true$/);
    await office.owner.delete(path, [{ type: 'users', id: name }]);
  });
});

describe('members', () => {
  test('lose all that their teams gave when they are removed', async () => {
    const { project, at, name, team } = await scene();
    await office.grant(project, team, { access: 'custom' });
    const { body } = await office.owner.get(`/organizations/acme/organization-memberships?q=${name}`);
    const effect = await effectOf('delete', `/organization-memberships/${body.data[0].id}`);
    assert.deepEqual(lines(effect), [`${name} ${at} settings read→null runs read→null`]);
  });

  test('gain when they are invited to teams, and who is only invited when there is a user; each organization reads of its own', async () => {
    const { owner, directory } = office;
    const other = fresh('other');
    await directory.organization(owner, other);
    const { project, at, team } = await scene();
    await office.grant(project, team, { access: 'custom' });
    const elsewhere = await directory.project(owner, other, 'elsewhere');
    const theirs = await directory.team(owner, other, { name: 'theirs' });
    await directory.grant(owner, elsewhere, theirs, { access: 'custom' });
    const invite = (organization: string, name: string, ...teams: string[]) =>
      effectOf('post', `/organizations/${organization}/organization-memberships`, {
        type: 'organization-memberships',
        attributes: { email: `${name}@example.com` },
        relationships: { teams: { data: teams.map(id => ({ type: 'teams', id })) } },
      });
    const { name: known } = { name: fresh('known') };
    await directory.user(known);
    assert.deepEqual(lines(await invite('acme', known, team)), [`${known} ${at} ${readGiven}`]);

    const name = fresh('guest');
    assert.equal(await invite('acme', name, team), null);
    assert.equal(await invite(other, name, theirs), null);
    const attributes = { username: name, email: `${name}@example.com` };
    const { data, stored } = await did(directory.admin, 'post', '/admin/users', { type: 'users', attributes });
    const [site, ...organizations] = stored;
    assert.equal(site, null);
    assert.deepEqual(
      organizations.flatMap(lines).sort(),
      [`${name} ${at} ${readGiven}`, `${name} elsewhere ${readGiven}`].sort(),
    );

    const gone = await did(directory.admin, 'delete', `/admin/users/${data.id}`);
    assert.deepEqual(
      gone.stored.map(effect => effect && lines(effect).length),
      [null, 1, 1],
    );
    assert.deepEqual(gone.foretold.changes, [], 'a site admin who is no member sees nothing of it');
  });
});

describe('projects and organizations', () => {
  test('that come are gained, and that go are lost, by whoever has organization-level access', async () => {
    const { name } = await scene({ 'organization-access': { 'read-projects': true } });
    const attributes = { name: fresh('project') };
    const made = await did(office.owner, 'post', '/organizations/acme/projects', { type: 'projects', attributes });
    const own = (effect: Json) => lines(effect).filter(line => line.startsWith(`${name} `));
    assert.deepEqual(own(made.stored[0]), [`${name} ${attributes.name} settings null→read`]);
    assert.ok(lines(made.stored[0]).some(line => line.startsWith('owner ')));
    const gone = await effectOf('delete', `/projects/${made.data.id}`);
    assert.deepEqual(own(gone), [`${name} ${attributes.name} settings read→null`]);
    assert.equal(gone['caller-locked-out'], false);
  });

  test('a new organization gives its first owner everything, and a deleted one takes it, which locks nobody out', async () => {
    const name = fresh('organization');
    const attributes = { name, email: 'a@example.com' };
    const made = await effectOf('post', '/organizations', { type: 'organizations', attributes });
    assert.deepEqual(
      made.changes.map(({ subject, project }: Json) => [subject.name, project.name]),
      [
        ['owners', 'Default Project'],
        ['owner', 'Default Project'],
      ],
    );
    const gone = await effectOf('delete', `/organizations/${name}`);
    assert.equal(gone['changes-count'], 2);
    assert.equal(gone['caller-locked-out'], false);
  });

  test('what is no access has no effect: names, tags and settings', async () => {
    const project = await office.project();
    const tag = { type: 'tag-bindings', attributes: { key: 'a', value: 'b' } };
    assert.equal(await effectOf('patch', `/projects/${project}`, { attributes: { name: fresh('project') } }), null);
    assert.equal(await effectOf('patch', `/projects/${project}/tag-bindings`, [tag]), null);
    assert.equal(await effectOf('patch', '/organizations/acme', { attributes: { 'session-timeout': 60 } }), null);
  });
});

describe('whether the caller locks itself out', () => {
  const isLockedOut = async (actor: Actor, call: Call, path: string, data?: Json): Promise<boolean> => {
    const { status, text, body } = await actor[call](`${path}?dry-run=true`, data);
    assert.ok(status < 300, text);
    return body.meta.effect['caller-locked-out'];
  };

  test('by the end of its own token, and of no other', async () => {
    const { body } = await office.owner.get('/account/details');
    const path = `/users/${body.data.id}/authentication-tokens`;
    const [{ id: own }] = (await office.owner.get(path)).body.data;
    const { id: another } = await office.owner.make(path, { attributes: { description: 'another' } });
    assert.equal(await isLockedOut(office.owner, 'delete', `/authentication-tokens/${own}`), true);
    assert.equal(await isLockedOut(office.owner, 'delete', `/authentication-tokens/${another}`), false);
    const organization = await office.organizationToken();
    const theOne = '/organizations/acme/authentication-token';
    assert.equal(await isLockedOut(organization, 'post', theOne), true);
    assert.equal(await isLockedOut(office.owner, 'post', theOne), false);
    const { stored } = await did(organization, 'delete', theOne);
    assert.deepEqual(stored, [{ ...nothing, 'caller-locked-out': true }]);
  });

  test('by an organization that takes no more tokens of users, unless it calls by another', async () => {
    const organization = await office.organizationToken();
    const closed = { attributes: { 'user-tokens-enabled': false } };
    assert.equal(await isLockedOut(office.owner, 'patch', '/organizations/acme', closed), true);
    assert.equal(await isLockedOut(organization, 'patch', '/organizations/acme', closed), false);
  });

  test('by leaving, by the loss of what it manages, and not by that of others', async () => {
    const { project, actor, team, name } = await scene();
    const grant = await office.grant(project, team, { access: 'admin' });
    const other = await office.grant(project, await office.team(), { access: 'admin' });
    const lowered = { attributes: { access: 'write' } };
    assert.equal(await isLockedOut(actor, 'patch', `/team-projects/${grant}`, lowered), true);
    assert.equal(await isLockedOut(actor, 'patch', `/team-projects/${other}`, lowered), false);
    assert.equal(await isLockedOut(office.owner, 'patch', `/team-projects/${grant}`, lowered), false);
    assert.equal(await isLockedOut(actor, 'delete', `/projects/${project}`), false, 'what is gone is nobody’s');
    const { body } = await actor.get(`/organizations/acme/organization-memberships?q=${name}`);
    assert.equal(await isLockedOut(actor, 'delete', `/organization-memberships/${body.data[0].id}`), true);
    const steward = await office.member({ 'organization-access': { 'manage-teams': true } });
    assert.equal(await isLockedOut(steward.actor, 'delete', `/teams/${steward.team}`), true);
    assert.equal(await isLockedOut(steward.actor, 'delete', `/teams/${team}`), false);
    const token = await office.tokenOf(steward.team);
    assert.equal(await isLockedOut(token, 'delete', `/teams/${steward.team}`), true);
  });
});

describe('projects that are left without an admin', () => {
  test('but the owners are named, and not those that another still manages', async () => {
    const { project, at, name, team } = await scene();
    const grant = await office.grant(project, team, { access: 'admin' });
    const foretold = async (call: Call, path: string, data?: Json) =>
      (await office.owner[call](`${path}?dry-run=true`, data)).body.meta.effect['projects-without-admin'];
    const named = [{ id: project, name: at }];
    const lowered = { attributes: { access: 'maintain' } };
    const users = [{ type: 'users', id: name }];
    assert.deepEqual(await foretold('patch', `/team-projects/${grant}`, lowered), named);
    assert.deepEqual(await foretold('delete', `/teams/${team}/relationships/users`, users), named);
    assert.deepEqual(await foretold('delete', `/projects/${project}`), []);
    const { body } = await office.owner.get('/organizations/acme/teams?filter[names]=owners');
    const becoming = `/teams/${body.data[0].id}/relationships/users`;
    assert.deepEqual(
      await foretold('post', becoming, users),
      named,
      'whoever becomes an owner is no admin beside them',
    );
    await office.grant(project, await office.team(), { access: 'admin' });
    assert.deepEqual(await foretold('patch', `/team-projects/${grant}`, lowered), named, 'a team of nobody is none');
    const { team: second } = await office.member();
    await office.grant(project, second, { access: 'custom', 'project-access': { teams: 'manage' } });
    assert.deepEqual(await foretold('patch', `/team-projects/${grant}`, lowered), []);
  });

  test('are none while a team manages all projects', async () => {
    const { project, team } = await scene();
    const grant = await office.grant(project, team, { access: 'admin' });
    const { team: managers } = await office.member({ 'organization-access': { 'manage-projects': true } });
    const effect = await effectOf('delete', `/team-projects/${grant}`);
    assert.deepEqual(effect['projects-without-admin'], []);
    await office.owner.delete(`/teams/${managers}`);
  });
});

describe('what a caller who is no owner is told', () => {
  test('is made of what it sees: of a secret team its grant, neither its name nor its members', async () => {
    const { project, at, actor, team } = await scene();
    await office.grant(project, team, { access: 'admin' });
    const hidden = await office.member({ visibility: 'secret' });
    const grant = await office.grant(project, hidden.team, { access: 'read' });
    const { foretold, stored } = await did(actor, 'patch', `/team-projects/${grant}`, {
      attributes: { access: 'write' },
    });
    assert.deepEqual(
      foretold.changes.map(({ subject, project: { name } }: Json) => [subject, name]),
      [[{ type: 'teams', id: hidden.team, name: null }, at]],
    );
    assert.equal(foretold['changes-count'], 1);
    assert.equal(stored[0]['changes-count'], 2, 'the owners read of the member too');
    assert.ok(stored[0].changes.some(({ subject }: Json) => subject.name === hidden.name));
  });

  test('does not count what a member has by a team that it does not see', async () => {
    const { project, at, actor, team } = await scene();
    await office.grant(project, team, { access: 'admin' });
    const { name, team: open } = await office.member();
    await office.grant(project, await office.team([name], { visibility: 'secret' }), custom({ runs: 'apply' }));
    const grant = await office.grant(project, open, { access: 'custom' });
    const attributes = { 'workspace-access': { runs: 'plan' } };
    const { foretold, stored } = await did(actor, 'patch', `/team-projects/${grant}`, { attributes });
    const of = (effect: Json) => lines(effect).filter(line => line.startsWith(`${name} `));
    assert.deepEqual(of(foretold), [`${name} ${at} runs read→plan`]);
    assert.deepEqual(of(stored[0]), []);
  });

  test('is the same with and without a grant on a workspace that it does not see', async () => {
    const steward = await office.holder('manage-teams', 'read-projects', 'read-workspaces');
    const workspace = await office.workspace(await office.project());
    const team = await office.team([], { 'organization-access': { 'read-workspaces': true } });
    const foretold = async () => (await steward.delete(`/teams/${team}?dry-run=true`)).body.meta.effect;
    const before = await foretold();
    assert.ok(before['changes-count'] > 0);
    await office.grant(workspace, team, { access: 'plan' });
    assert.deepEqual(await foretold(), before);
  });

  test('says nothing of projects that it does not see', async () => {
    const { project, name } = await scene();
    const steward = await office.holder('manage-membership');
    const reading = await office.team([], { 'organization-access': { 'read-projects': true } });
    const granted = await office.team();
    await office.grant(project, granted, { access: 'admin' });
    for (const team of [reading, granted]) {
      const path = `/teams/${team}/relationships/users`;
      const { foretold, stored } = await did(steward, 'post', path, [{ type: 'users', id: name }]);
      assert.deepEqual(foretold, nothing);
      assert.ok(stored[0]['changes-count'] > 0);
    }
  });
});

describe('to a site admin whose token an organization does not take, though it owns it', () => {
  test('a dry run says nothing of that organization, and what is closed already is no new loss', async () => {
    const { directory } = office;
    const { admin } = directory;
    const shut = fresh('shut');
    await directory.organization(admin, shut);
    const { attributes } = await admin.make(`/organizations/${shut}/authentication-token`);
    const token = directory.actor(attributes.token);
    const name = fresh('member');
    const { id } = await directory.member(token, shut, name);
    const project = await directory.project(token, shut, 'hidden');
    await directory.grant(token, project, await directory.team(token, shut, { name: 'theirs' }, [name]), {
      access: 'admin',
    });
    const closed = { attributes: { 'user-tokens-enabled': false } };
    assert.equal((await token.patch(`/organizations/${shut}`, closed)).status, 200);
    assert.equal((await admin.get(`/organizations/${shut}`)).status, 401);
    const { foretold, stored } = await did(admin, 'delete', `/admin/users/${id}`);
    assert.deepEqual(foretold, nothing);
    assert.deepEqual(
      stored.map(effect => effect && [effect['changes-count'], effect['caller-locked-out']]),
      [null, [1, false]],
    );
  });
});

describe('a dry run', () => {
  const trace = () => office.directory.server.store.read(contents);

  test('leaves no trace, and has the answer of the write without an ETag', async () => {
    const { project, team } = await scene();
    const held = await trace();
    const made = await office.owner.post('/team-projects?dry-run=true', grantBody(project, team, { access: 'read' }));
    assert.equal(made.status, 200);
    assert.equal(made.body.data.attributes.access, 'read');
    assert.equal(made.headers.etag, undefined);
    assert.deepEqual(await trace(), held);
    assert.equal((await office.owner.get(`/team-projects/${made.body.data.id}`)).status, 404);
    const gone = await office.owner.delete(`/projects/${project}?dry-run=true`);
    assert.deepEqual([gone.status, Object.keys(gone.body)], [200, ['meta']]);
    assert.deepEqual(await trace(), held);
  });

  test('fails as the write would', async () => {
    const { project, team, actor } = await scene();
    const grant = await office.grant(project, team, { access: 'read' });
    const both = async (ask: (query: string) => Promise<Answer>) => {
      const [tried, done] = [await ask('?dry-run=true'), await ask('')];
      assert.deepEqual([tried.status, tried.text], [done.status, done.text]);
      return done.status;
    };
    const body = grantBody(project, team, { access: 'read' });
    assert.equal(await both(query => office.owner.post(`/team-projects${query}`, body)), 422);
    assert.equal(await both(query => actor.delete(`/team-projects/${grant}${query}`)), 404);
    assert.equal(await both(query => office.owner.delete(`/projects/${office.defaultProject}${query}`)), 422);
    const stale = { 'if-match': '"AAAAAAAAAAAAAAAAAAAAAA"' };
    assert.equal(await both(query => office.owner.delete(`/team-projects/${grant}${query}`, undefined, stale)), 412);
    const nobody = office.directory.actor(undefined);
    assert.equal(await both(query => nobody.delete(`/team-projects/${grant}${query}`)), 401);
  });

  test('is asked for by true and not by false; by anything else 400, so that nothing is done on a guess, and a read knows none', async () => {
    const { project, team } = await scene();
    const grant = await office.grant(project, team, { access: 'read' });
    const path = `/team-projects/${grant}`;
    const attributes = { access: 'write' };
    for (const query of ['dry-run', 'dry-run=', 'dry-run=1', 'dry-run=TRUE', 'dry-run=true&dry-run=true']) {
      const { status, body } = await office.owner.patch(`${path}?${query}`, { attributes });
      assert.equal(status, 400);
      assert.deepEqual(body.errors[0].source, { parameter: 'dry-run' });
    }
    for (const slip of ['dry_run', 'dryrun', 'dryRun', 'Dry-Run', 'dry-run[]', 'dry.run', '-dry-run']) {
      const { status, body } = await office.owner.patch(`${path}?${slip}=true`, { attributes });
      assert.equal(status, 400, 'a slip of the pen is not done in earnest');
      assert.deepEqual(body.errors[0].source, { parameter: slip });
    }
    assert.equal((await office.owner.get(`${path}?dry-run=1`)).body.data.attributes.access, 'read');
    assert.equal((await office.owner.patch(`${path}?dry-run=false`, { attributes })).status, 200);
    assert.equal((await office.owner.get(path)).body.data.attributes.access, 'write');
  });

  test('is a use of the token, as any request is', async () => {
    const { actor, id, team } = await office.member({ 'organization-access': { 'manage-teams': true } });
    await office.directory.server.writeUses();
    const lastUse = async () =>
      (await office.directory.admin.get(`/users/${id}/authentication-tokens`)).body.data[0].attributes['last-used-at'];
    assert.equal(await lastUse(), null);
    await actor.patch(`/teams/${team}?dry-run=true`, { attributes: { name: fresh('team') } });
    await office.directory.server.writeUses();
    assert.notEqual(await lastUse(), null);
  });
});

describe('limits', () => {
  /** Members of a team that come without a request each. */
  const crowd = (team: string, size: number) =>
    office.directory.server.store.write(async tx => {
      const [organization] = (await tx.row<[string]>(sql`select organization_id from teams where id = ${team}`)) as [
        string,
      ];
      for (let number = 0; number < size; number++) {
        const name = fresh('crowd');
        await tx.run(sql`
          insert into users (id, username, email, is_admin, created_at)
          values (${`user-${name}`}, ${name}, ${`${name}@example.com`}, 0, '2026-01-01T00:00:00.000Z')`);
        await tx.run(sql`
          insert into organization_memberships (id, organization_id, user_id, invited_email, created_at)
          values (${`ou-${name}`}, ${organization}, ${`user-${name}`}, null, '2026-01-01T00:00:00.000Z')`);
        await tx.run(sql`
          insert into team_memberships (organization_id, team_id, membership_id, created_at)
          values (${organization}, ${team}, ${`ou-${name}`}, '2026-01-01T00:00:00.000Z')`);
      }
    });

  test('200 changes are listed and all that are found are counted; of more than a thousand, a thousand are looked at', async () => {
    const { project, team } = await scene();
    const body = grantBody(project, team, { access: 'read' });
    const foretold = async () => (await office.owner.post('/team-projects?dry-run=true', body)).body.meta.effect;
    await crowd(team, 198);
    const whole = await foretold();
    assert.deepEqual([whole.changes.length, whole['changes-count'], whole.complete], [200, 200, true]);
    await crowd(team, 1);
    const more = await foretold();
    assert.deepEqual([more.changes.length, more['changes-count'], more.complete], [200, 201, false]);
    await crowd(team, 1_000);
    const most = await foretold();
    assert.deepEqual([most.changes.length, most['changes-count'], most.complete], [200, 1_000, false]);
  });

  test('hold for what the caller sees: a thousand projects that are hidden take the place of none', async () => {
    const { directory, owner } = office;
    const name = fresh('large');
    await directory.organization(owner, name);
    const steward = await directory.member(owner, name, fresh('steward'));
    const guest = fresh('guest');
    await directory.member(owner, name, guest);
    const stewards = await directory.team(owner, name, {
      name: 'stewards',
      'organization-access': { 'manage-membership': true },
    });
    await directory.server.store.write(async tx => {
      const [organization, membership] = (await tx.row<[string, string]>(sql`
        select organization_id, id
        from organization_memberships
        where user_id = ${steward.id}`)) as [string, string];
      await tx.run(sql`
        insert into team_memberships (organization_id, team_id, membership_id, created_at)
        values (${organization}, ${stewards}, ${membership}, '2026-01-01T00:00:00.000Z')`);
      for (let number = 0; number < 1_001; number++)
        await tx.run(sql`
          insert into projects (id, organization_id, name, is_default, created_at)
          values (${`prj-${name}${number}`}, ${organization}, ${`hidden ${number}`}, 0, '2026-01-01T00:00:00.000Z')`);
    });
    const seen = await directory.project(owner, name, 'seen');
    await directory.grant(owner, seen, stewards, { access: 'read' });
    const readers = await directory.team(owner, name, {
      name: 'readers',
      visibility: 'organization',
      'organization-access': { 'read-projects': true },
    });
    const path = `/teams/${readers}/relationships/users`;
    const { foretold, stored } = await did(steward.actor, 'post', path, [{ type: 'users', id: guest }]);
    assert.deepEqual(lines(foretold), [`${guest} seen settings null→read`]);
    assert.deepEqual([foretold.complete, foretold['changes-count']], [true, 1]);
    assert.deepEqual([stored[0].complete, stored[0]['changes-count']], [false, 1_000]);

    // In a thousand places it is two hundred users who are looked at, and the team itself.
    await crowd(readers, 250);
    const { body } = await owner.delete(`/teams/${readers}?dry-run=true`);
    assert.deepEqual([body.meta.effect.complete, body.meta.effect['changes-count']], [false, 201_000]);
  });
});
