/** The audit trail of an organization by name: every change with before, after and effect, narrowed in every way, to whom it is due. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { operations } from '../src/resources/index.ts';
import { addAuditEvent } from '../src/store/audit.ts';
import { newUuid, secureRandom } from '../src/store/id.ts';
import { sql } from '../src/store/sql.ts';
import { fresh, idsOf } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { verified } from './support/trail.ts';
import {
  type Actor,
  type Directory,
  grantBody,
  newDirectory,
  workspaceBody,
  workspaceGrantBody,
} from './support/world.ts';

let directory: Directory;
let owner: Actor;
let ownerId: string;

before(async () => {
  directory = await newDirectory();
  ({ actor: owner, id: ownerId } = await directory.user('owner'));
});
after(() => directory.server.close());

const organization = async (): Promise<string> => {
  const name = fresh('org');
  await directory.organization(owner, name);
  return name;
};
const pathOf = (name: string): string => `/organizations/${name}/audit-events`;
const eventsOf = async (name: string, query = '', actor = owner): Promise<Json[]> => {
  const events: Json[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const { status, text, body }: Answer = await actor.get(
      `${pathOf(name)}?page[size]=100&page[number]=${page}${query && `&${query}`}`,
    );
    assert.equal(status, 200, text);
    events.push(...body.data);
    page = body.meta.pagination['next-page'];
  }
  return events;
};
const idOf = async (name: string): Promise<string> =>
  (await owner.get(`/organizations/${name}`)).body.data.attributes['external-id'];

/** What was written, by request and action: what the event must say, and the project and the team that it concerns. */
type Written = { readonly event: Json; readonly project?: string | undefined; readonly team?: string | undefined };

/** Every kind of write in an organization, and for each what its event must say. */
const everyWrite = async (name: string) => {
  const written = new Map<string, Written>();
  const id = await idOf(name);
  const inside = `/organizations/${name}`;
  type Call = readonly ['POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, data?: unknown];
  type Said = { readonly before?: Json; readonly after?: Json; readonly project?: string; readonly team?: string };
  /** The event is of this type and action; its id, before and after are told by whoever knows what the answer is. */
  const write = async (
    actor: Actor,
    [method, path, data]: Call,
    event: `${string}.${string}`,
    said: (made: Json) => Said & { readonly id: string },
    also?: (made: Json) => Readonly<Record<string, Said & { readonly id: string }>>,
  ): Promise<Json> => {
    const request = fresh('request');
    const body = data === undefined ? undefined : { data };
    const headers = { 'x-request-id': request };
    const answer = await directory.server.client.call(actor.token, method, `/api/v2${path}`, body, headers);
    assert.ok(answer.status < 300, `${method} ${path} answered ${answer.status}: ${answer.text}`);
    const tell = (
      event: string,
      { id, before = null, after = null, project, team }: Said & { readonly id: string },
    ) => {
      const [type, action] = event.split('.');
      const told = { 'resource-type': type, 'resource-id': id, action, before, after };
      written.set(`${request} ${action}`, { event: told, project, team });
    };
    tell(event, said(answer.body?.data));
    for (const [event, besides] of Object.entries(also?.(answer.body?.data) ?? {})) tell(event, besides);
    return answer.body?.data;
  };
  const shown = async (path: string): Promise<Json> => (await owner.get(path)).body.data;
  const whole = (made: Json) => ({ id: made.id, after: made });
  /** A change of what a path shows. */
  const change = async (call: Call, event: `${string}.${string}`, more: Partial<Said> = {}, path = call[1]) => {
    const before = await shown(path);
    const id = before.type === 'organizations' ? await idOf(before.id) : before.id;
    await write(owner, call, event, made => ({ id, before, after: made ?? null, ...more }));
    return shown(path);
  };
  const tags = (...keys: string[]) => keys.map(key => ({ type: 'tag-bindings', attributes: { key, value: 'x' } }));
  const bound = (...keys: string[]) => ({ 'tag-bindings': keys.map(key => ({ key, value: 'x' })) });

  await change(['PATCH', inside, { attributes: { email: 'new@example.com' } }], 'organization.update');
  await change(['PUT', inside, { attributes: { 'session-timeout': 60 } }], 'organization.update');

  const email = `${name}-member@example.com`;
  const username = `${name}-member`;
  const user = await directory.user(username);
  const invitation = { type: 'organization-memberships', attributes: { email } };
  const membership = await write(
    owner,
    ['POST', `${inside}/organization-memberships`, invitation],
    'organization_user.create',
    whole,
  );

  const attributes = { name: 'devs', 'organization-access': { 'manage-projects': true } };
  const ofTeam = (made: Json) => ({ ...whole(made), team: made.id });
  const devs = await write(owner, ['POST', `${inside}/teams`, { type: 'teams', attributes }], 'team.create', ofTeam);
  const team = devs.id;
  await change(['PATCH', `/teams/${team}`, { attributes: { visibility: 'organization' } }], 'team.update', { team });
  const member = { 'organization-memberships': [membership.id], users: [username] };
  const nobody = { 'organization-memberships': [], users: [] };
  for (const [kind, of] of [
    ['users', username],
    ['organization-memberships', membership.id],
  ]) {
    const path = `/teams/${team}/relationships/${kind}`;
    const one = [{ type: kind, id: of }];
    await write(owner, ['POST', path, one], 'team.add_member', () => ({
      id: team,
      before: nobody,
      after: member,
      team,
    }));
    await write(owner, ['DELETE', path, one], 'team.remove_member', () => ({
      id: team,
      before: member,
      after: nobody,
      team,
    }));
  }

  const tokenless = ({ attributes, ...rest }: Json) => ({ ...rest, attributes: { ...attributes, token: null } });
  const [create, destroy] = ['authentication_token.create', 'authentication_token.destroy'] as const;
  const makeToken = (path: string, more: Partial<Said> = {}) =>
    write(owner, ['POST', path], create, made => ({ id: made.id, after: tokenless(made), ...more }));
  const one = `/teams/${team}/authentication-token`;
  const ofDevs = await makeToken(one, { team });
  const renewed = await write(owner, ['POST', one], create, made => ({
    id: made.id,
    before: tokenless(ofDevs),
    after: tokenless(made),
    team,
  }));
  const devsToken = directory.actor(renewed.attributes.token);

  const byDevs = (made: Json) => ({ ...whole(made), project: made.id });
  const newProject = (name: string): Call => [
    'POST',
    `${inside}/projects`,
    { type: 'projects', attributes: { name }, relationships: { 'tag-bindings': { data: tags('a') } } },
  ];
  const first = await write(devsToken, newProject('first'), 'project.create', made => ({
    ...byDevs(made),
    after: { ...made, ...bound('a') },
  }));
  const [project, another] = [first.id, await directory.project(owner, name, 'another')];
  await change(['PATCH', `/projects/${project}`, { attributes: { description: 'new' } }], 'project.update', {
    project,
  });

  const others = await directory.team(owner, name, { name: 'others' });
  const grant = await write(
    owner,
    ['POST', '/team-projects', grantBody(project, others, { access: 'read' })],
    'project.add_team',
    made => ({
      id: project,
      after: made,
      project,
      team: others,
    }),
  );
  const grantPath = `/team-projects/${grant.id}`;
  const aboutGrant = { id: project, project, team: others };
  const wider = await write(
    owner,
    ['PATCH', grantPath, { attributes: { access: 'write' } }],
    'project.update_team_permissions',
    made => ({
      ...aboutGrant,
      before: grant,
      after: made,
    }),
  );
  await write(owner, ['DELETE', grantPath], 'project.remove_team', () => ({ ...aboutGrant, before: wider }));

  // The whole list at once: one comes, one changes, one goes, and each is told of beside the list.
  const [coming, going] = [
    await directory.team(owner, name, { name: 'coming' }),
    await directory.team(owner, name, { name: 'going' }),
  ];
  const [staying, leaving] = [
    await owner.make('/team-projects', grantBody(project, others, { access: 'read' })),
    await owner.make('/team-projects', grantBody(project, going, { access: 'read' })),
  ];
  const wanted = [coming, others].map(id => ({
    type: 'team-projects',
    attributes: { access: 'write' },
    relationships: { team: { data: { type: 'teams', id } } },
  }));
  const grantOf = (list: Json[], team: string) => list.find(({ relationships }) => relationships.team.data.id === team);
  await write(
    owner,
    ['PUT', `/projects/${project}/team-projects`, wanted],
    'project.set_teams',
    after => ({ id: project, before: [staying, leaving], after, project }),
    after => ({
      'project.add_team': { id: project, after: grantOf(after, coming), project, team: coming },
      'project.update_team_permissions': { ...aboutGrant, before: staying, after: grantOf(after, others) },
      'project.remove_team': { id: project, before: leaving, project, team: going },
    }),
  );

  const desk = await write(
    owner,
    ['POST', `${inside}/workspaces`, workspaceBody('desk', project)],
    'workspace.create',
    made => ({
      ...whole(made),
      project,
    }),
  );
  const workspace = `/workspaces/${desk.id}`;
  await change(['PATCH', workspace, { attributes: { description: 'new' } }], 'workspace.update', { project });
  for (const release of ['unlock', 'force-unlock']) {
    await change(['POST', `${workspace}/actions/lock`], 'workspace.lock', { project }, workspace);
    const event = `workspace.${release.replace('-', '_')}` as const;
    await change(['POST', `${workspace}/actions/${release}`], event, { project }, workspace);
  }
  const moving = { relationships: { project: { data: { type: 'projects', id: another } } } };
  await change(['PATCH', workspace, moving], 'workspace.update', { project: another });
  await write(
    owner,
    ['POST', `/projects/${project}/relationships/workspaces`, [{ type: 'workspaces', id: desk.id }]],
    'project.move_workspaces',
    () => {
      const moved = (project: string) => ({ workspaces: [{ id: desk.id, project }] });
      return { id: project, before: moved(another), after: moved(project), project };
    },
  );
  for (const [path, noun, id, had] of [
    [`/projects/${project}`, 'project', project, ['a']],
    [workspace, 'workspace', desk.id, []],
  ] as const) {
    const event = `${noun}.update` as const;
    const tagged = (before: readonly string[], after: readonly string[]) => () => ({
      id,
      before: bound(...before),
      after: bound(...after),
      project,
    });
    await write(owner, ['PATCH', `${path}/tag-bindings`, tags('b')], event, tagged(had, [...had, 'b']));
    const relationship = `${path}/relationships/tag-bindings`;
    await write(owner, ['POST', relationship, tags('c')], event, tagged([...had, 'b'], [...had, 'b', 'c']));
    await write(owner, ['PATCH', relationship, tags('c')], event, tagged([...had, 'b', 'c'], ['c']));
  }
  const flat = [{ type: 'tags', attributes: { name: 'oak' } }];
  const oak = { 'tag-bindings': [...bound('c')['tag-bindings'], { key: 'oak', value: '' }] };
  const flatPath = `${workspace}/relationships/tags`;
  const flatly = (before: Json, after: Json) => () => ({ id: desk.id, before, after, project });
  await write(owner, ['POST', flatPath, flat], 'workspace.update', flatly(bound('c'), oak));
  await write(owner, ['DELETE', flatPath, flat], 'workspace.update', flatly(oak, bound('c')));

  const onDesk = { id: desk.id, project, team: others };
  const wsGrant = await write(
    owner,
    ['POST', '/team-workspaces', workspaceGrantBody(desk.id, others, { access: 'read' })],
    'workspace.add_team',
    made => ({ ...onDesk, after: made }),
  );
  const wsGrantPath = `/team-workspaces/${wsGrant.id}`;
  const admin = await write(
    owner,
    ['PATCH', wsGrantPath, { attributes: { access: 'admin' } }],
    'workspace.update_team_permissions',
    made => ({
      ...onDesk,
      before: wsGrant,
      after: made,
    }),
  );
  await write(owner, ['DELETE', wsGrantPath], 'workspace.remove_team', () => ({ ...onDesk, before: admin }));
  const removed = (before: Json, more: Partial<Said>) => () => ({ id: before.id, before, ...more });
  const remove = async (path: string, event: `${string}.${string}`, more: Partial<Said> = {}) =>
    write(owner, ['DELETE', path], event, removed(await shown(path), more));
  const safely = await shown(workspace);
  await write(owner, ['POST', `${workspace}/actions/safe-delete`], 'workspace.destroy', removed(safely, { project }));
  await directory.workspace(owner, name, 'short', another);
  await remove(`${inside}/workspaces/short`, 'workspace.destroy', { project: another });
  await remove(`/projects/${another}`, 'project.destroy', { project: another });

  // Tokens of every holder, revoked on every path.
  const several = `/teams/${team}/authentication-tokens`;
  const extra = [await makeToken(several, { team })];
  const described = (description: string): Call => ['POST', several, { attributes: { description } }];
  for (const description of ['x', 'y'])
    extra.push(
      await write(owner, described(description), create, made => ({ id: made.id, after: tokenless(made), team })),
    );
  const ofOthers = await makeToken(`/teams/${others}/authentication-token`, { team: others });
  const revoke = (...tokens: Json[]): Call => [
    'DELETE',
    `${inside}/team-tokens`,
    tokens.map(({ id }) => ({ type: 'authentication-tokens', id })),
  ];
  const gone =
    (more: Partial<Said>, ...tokens: Json[]) =>
    () => ({
      id: tokens.map(({ id }) => id).join(','),
      before: tokens.map(tokenless),
      ...more,
    });
  await write(owner, revoke(extra[1]), destroy, gone({ team }, extra[1]));
  await write(owner, revoke(extra[2], ofOthers), destroy, gone({}, extra[2], ofOthers));
  await remove(`/authentication-tokens/${extra[0].id}`, destroy, { team });
  const used = await shown(one);
  await write(owner, ['DELETE', one], destroy, () => ({ id: used.id, before: used, team }));
  for (const kind of ['', '?token=audit-trails', '?token=decisions']) {
    await makeToken(`${inside}/authentication-token${kind}`);
    await remove(`${inside}/authentication-token${kind}`, destroy);
  }

  await remove(`/organization-memberships/${membership.id}`, 'organization_user.destroy');
  await remove(`/teams/${others}`, 'team.destroy', { team: others });

  // What a site admin does to users, their organizations read of.
  const guest = `${name}-guest`;
  const invited = { type: 'organization-memberships', attributes: { email: `${guest}@example.com` } };
  const pending = await owner.make(`${inside}/organization-memberships`, invited);
  const asGuest = { email: `${guest}@example.com` };
  const made = await write(
    directory.admin,
    ['POST', '/admin/users', { type: 'users', attributes: { username: guest, ...asGuest } }],
    'organization_user.accept_invitation',
    made => ({
      id: pending.id,
      before: { status: 'invited', ...asGuest },
      after: { status: 'active', ...asGuest, user: made.id },
    }),
  );
  await write(directory.admin, ['DELETE', `/admin/users/${made.id}`], 'organization_user.destroy', () => ({
    id: pending.id,
    before: { status: 'active', ...asGuest, user: made.id },
  }));
  return { id, written, project, another, team, others, user, member: user.id };
};

describe('GET organizations/:organization/audit-events', () => {
  test('an event tells what was done to what, by whom, by which token and request, before and after, and its place', async () => {
    const name = await organization();
    const data = { type: 'projects', attributes: { name: 'production' } };
    const made = await owner.post(`/organizations/${name}/projects`, data, { 'x-request-id': 'the-request' });
    const { status, headers, body } = await owner.get(pathOf(name));
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'application/vnd.api+json');
    const { id, type, attributes, ...rest } = body.data[0];
    assert.deepEqual(rest, {});
    assert.equal(type, 'audit-events');
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const [token] = (await owner.get(`/users/${ownerId}/authentication-tokens`)).body.data;
    const { 'created-at': createdAt, hash, effect, ...told } = attributes;
    assert.match(createdAt, /^2026-01-01T00:0\d:\d\d\.\d{3}Z$/);
    assert.match(hash, /^[0-9a-f]{64}$/);
    assert.ok(effect === null || typeof effect === 'object');
    assert.deepEqual(told, {
      action: 'create',
      'resource-type': 'project',
      'resource-id': made.body.data.id,
      actor: { type: 'users', id: ownerId, name: 'owner' },
      'token-id': token.id,
      'request-id': 'the-request',
      before: null,
      after: made.body.data,
      position: 2,
    });
  });

  test('every kind of write is in it, with what was before and what came after', async () => {
    const name = await organization();
    const { written } = await everyWrite(name);
    const events = await eventsOf(name);
    const seen = new Set<string>();
    for (const [key, { event }] of written) {
      const [request, action] = key.split(' ');
      const [found, ...others] = events.filter(
        ({ attributes }) => attributes['request-id'] === request && attributes.action === action,
      );
      assert.equal(others.length, 0);
      const picked = Object.fromEntries(Object.keys(event).map(key => [key, found?.attributes[key]]));
      // When a token was last used is written down now and then.
      const settled = JSON.parse(
        JSON.stringify([picked, event]).replace(/"last-used-at":"[^"]*"/g, '"last-used-at":null'),
      );
      assert.deepEqual(settled[0], settled[1], key);
      seen.add(`${event['resource-type']}.${event.action}`);
    }
    // What concerns users and their accounts is the site's; an organization that is gone is asked for nothing.
    const all = operations.flatMap(({ audit }) => (audit ? [`${audit.resource}.${audit.action}`] : []));
    const missing = all.filter(each => !seen.has(each) && !each.startsWith('user.'));
    assert.deepEqual(new Set(missing), new Set(['organization.create', 'organization.destroy']));
    assert.equal(events.at(-1).attributes.action, 'create');
    assert.equal(events.at(-1).attributes['resource-type'], 'organization');
  });

  test('the newest is first, by its place in the chain, whose hashes audit verify tells; a clock that was set back changes nothing', async () => {
    const name = await organization();
    await everyWrite(name);
    const events = await eventsOf(name);
    const places = (list: Json[]) => list.map(({ attributes }) => attributes.position);
    assert.deepEqual(
      places(events),
      Array.from(events, (_, index) => events.length - index),
    );
    const chain = await idOf(name);
    const { endings } = await directory.server.store.read(tx => verified(tx));
    const end = endings.find(each => each.chain === chain);
    assert.deepEqual([end?.position, end?.hash], [events.length, events[0].attributes.hash]);
    await directory.server.store.write(tx =>
      tx.run(sql`
        update audit_events
        set created_at = '2025-01-01T00:00:00.000Z'
        where chain = ${chain} and position = ${events.length}`),
    );
    assert.deepEqual(places(await eventsOf(name)), places(events));
  });

  test('each filter leaves what a plain look at the whole list leaves, alone and with all the others', async () => {
    const name = await organization();
    const { written, project, another, team, others, member } = await everyWrite(name);
    const events = await eventsOf(name);
    const concerns = (key: 'project' | 'team') => (event: Json, id: string) => {
      const known = written.get(`${event.attributes['request-id']} ${event.attributes.action}`)?.[key];
      // Those made on the way to another are told of by their resource, or by what they grant.
      const { 'resource-type': type, 'resource-id': resource, after, before } = event.attributes;
      const relation = (after ?? before)?.relationships?.[key]?.data?.id;
      return (known ?? (type === key ? resource : relation)) === id;
    };
    const times = [events[events.length - 12], events[9]].map(({ attributes }) => attributes['created-at']);
    const [early, late] = times as [string, string];
    const elsewhere = new Date(Date.parse(late) + 3_600_000).toISOString().replace('Z', '+01:00');
    const actorIs = (event: Json, id: string) => event.attributes.actor.id === id;
    const time = (event: Json) => event.attributes['created-at'];
    type Choice = readonly [values: readonly (string | undefined)[], holds: (event: Json, value: string) => boolean];
    const choices: Record<string, Choice> = {
      'filter[project][id]': [[undefined, project, another, 'prj-none'], concerns('project')],
      'filter[team][id]': [[undefined, team, others], concerns('team')],
      'filter[actor][id]': [[undefined, ownerId, team, member], actorIs],
      'filter[action]': [
        [undefined, 'create', 'update', 'add_team', 'CREATE'],
        (event, action) => event.attributes.action === action,
      ],
      'filter[since]': [[undefined, early, ''], (event, since) => since === '' || time(event) >= since],
      'filter[until]': [[undefined, elsewhere], (event, until) => time(event) < new Date(until).toISOString()],
    };
    const names = Object.keys(choices);
    const combinations = names.reduce<(string | undefined)[][]>(
      (all, each) => all.flatMap(chosen => (choices[each] as Choice)[0].map(value => [...chosen, value])),
      [[]],
    );
    let some = 0;
    for (const chosen of combinations) {
      const given = names.flatMap((each, at) => (chosen[at] === undefined ? [] : [[each, chosen[at]] as const]));
      const wanted = events.filter(event => given.every(([each, value]) => (choices[each] as Choice)[1](event, value)));
      const query = new URLSearchParams(given.map(([each, value]) => [each, value]));
      const answer = await owner.get(`${pathOf(name)}?page[size]=100&${query}`);
      assert.equal(answer.status, 200, `${query}: ${answer.text}`);
      assert.deepEqual(answer.body.data, wanted.slice(0, 100), `${query}`);
      assert.equal(answer.body.meta.pagination['total-count'], wanted.length, `${query}`);
      if (wanted.length > 0 && wanted.length < events.length) some++;
    }
    assert.ok(some > 100 && combinations.length > 1000, `only ${some} combinations leave some`);
  });

  test('what was written before it named projects and teams is found by its resource', async () => {
    const name = await organization();
    const { id, project, team } = await everyWrite(name);
    await directory.server.store.write(tx =>
      tx.run(sql`update audit_events set project_id = null, team_id = null where chain = ${id}`),
    );
    const events = await eventsOf(name);
    for (const [filter, type, resource] of [
      ['project', 'project', project],
      ['team', 'team', team],
    ]) {
      const wanted = events.filter(
        ({ attributes }) => attributes['resource-type'] === type && attributes['resource-id'] === resource,
      );
      assert.ok(wanted.length > 4);
      assert.deepEqual(await eventsOf(name, `filter[${filter}][id]=${resource}`), wanted);
    }
  });

  test('page by page it is the whole list, and the links carry the filters', async () => {
    const name = await organization();
    await everyWrite(name);
    const all = await eventsOf(name, 'filter[action]=update');
    const path = `${pathOf(name)}?filter[action]=update&filter[until]=2027-01-01T00:00:00Z`;
    const pages: Json[] = [];
    for (let number = 1; number <= Math.ceil(all.length / 3); number++) {
      const { body } = await owner.get(`${path}&page[size]=3&page[number]=${number}`);
      assert.equal(body.meta.pagination['total-count'], all.length);
      pages.push(...body.data);
      const query = new URL(body.links.first).searchParams;
      assert.equal(query.get('filter[action]'), 'update');
      assert.equal(query.get('filter[until]'), '2027-01-01T00:00:00Z');
    }
    assert.deepEqual(pages, all);
    assert.deepEqual((await owner.get(`${path}&page[number]=999`)).body.data, []);
  });

  test('400 for what is no time and for an end before its beginning, named, and so for a filter that is not known; other parameters are ignored', async () => {
    const name = await organization();
    const path = pathOf(name);
    for (const parameter of ['filter[since]', 'filter[until]'])
      for (const wrong of ['yesterday', '2026-01-01', '2026-02-30T00:00:00Z', '2026-01-01T00:00:00', '1', '~']) {
        const { status, body } = await owner.get(`${path}?${parameter}=${wrong}`);
        assert.equal(status, 400, `${parameter}=${wrong}`);
        assert.deepEqual(body.errors[0].source, { parameter });
      }
    const [one, two] = ['2026-01-01T00:00:00.001Z', '2026-01-01T00:00:00Z'];
    const turned = await owner.get(`${path}?filter[since]=${one}&filter[until]=${two}`);
    assert.equal(turned.status, 400);
    assert.deepEqual(turned.body.errors[0].source, { parameter: 'filter[since]' });
    assert.deepEqual((await owner.get(`${path}?filter[since]=${one}&filter[until]=${one}`)).body.data, []);
    const doubled = await owner.get(`${path}?filter[action]=create&filter[action]=update`);
    assert.deepEqual(doubled.body.errors[0].source, { parameter: 'filter[action]' });
    const plain = await owner.get(path);
    assert.deepEqual((await owner.get(`${path}?sort=x&include=x&q=x`)).body, plain.body);
    for (const parameter of ['filter[workspace][id]', 'filter[actor]']) {
      const { status, body } = await owner.get(`${path}?${parameter}=x`);
      assert.equal(status, 400, 'a slip must not list everything as if it were narrowed');
      assert.deepEqual(body.errors[0].source, { parameter });
    }
    for (const query of [
      'filter[since]=x',
      'page[size]=x',
      'filter[since]=2027-01-01T00:00:00Z&filter[until]=2026-01-01T00:00:00Z',
    ])
      assert.equal((await directory.admin.get(`${path}?${query}`)).status, 404, 'who may not ask is told nothing');
  });

  test('the effect is shown as it was stored, and null where there is none; an actor without a name has its id', async () => {
    const name = await organization();
    const event = {
      id: newUuid(secureRandom),
      organization: await idOf(name),
      action: 'test',
      resource: { type: 'team', id: 'team-x' },
      actor: { type: 'users', id: 'user-x', name: 'x' },
      token: 'at-x',
      request: 'x',
      createdAt: '2026-01-01T00:00:00.000Z',
      before: null,
      after: null,
    };
    const effect = {
      changes: [
        {
          subject: { type: 'users', id: 'user-x', name: 'é "' },
          project: { id: 'prj-x', name: 'x' },
          permissions: [{ permission: 'workspace-access.runs', before: null, after: 'apply' }],
        },
      ],
      'changes-count': 1,
      complete: true,
      'caller-locked-out': false,
      'projects-without-admin': [],
    };
    const { store } = directory.server;
    await store.write(tx => addAuditEvent(tx, { ...event, effect, project: 'prj-x', team: 'team-y' }));
    await store.write(tx => addAuditEvent(tx, { ...event, id: newUuid(secureRandom), effect: null }));
    await store.write(tx => tx.run(sql`update audit_events set actor_name = null where id = ${event.id}`));
    const [none, some] = await eventsOf(name, 'filter[action]=test');
    assert.equal(none.attributes.effect, null);
    assert.deepEqual(some.attributes.effect, effect);
    assert.deepEqual(some.attributes.actor, { type: 'users', id: 'user-x', name: 'user-x' });
    assert.deepEqual(idsOf(await owner.get(`${pathOf(name)}?filter[project][id]=prj-x&filter[team][id]=team-y`)), [
      event.id,
    ]);
    assert.deepEqual(
      idsOf(await owner.get(`${pathOf(name)}?filter[team][id]=team-x`)),
      [none.id],
      'what it says counts',
    );
  });
});

describe('who reads it', () => {
  const tokenAt = async (path: string): Promise<Actor> => directory.actor((await owner.make(path)).attributes.token);
  /** Everybody in and around an organization, and whether they read its events. */
  const callers = async (name: string) => {
    const inside = `/organizations/${name}`;
    const member = await directory.member(owner, name, `${name}-minor`);
    const steward = await directory.member(owner, name, `${name}-steward`);
    const second = await directory.member(owner, name, `${name}-second`);
    const { body } = await owner.get(`${inside}/teams`);
    const [owners] = body.data;
    const flags = Object.keys(owners.attributes['organization-access']).map(flag => [flag, true]);
    const attributes = { name: 'strong', 'organization-access': Object.fromEntries(flags) };
    const strong = await directory.team(owner, name, attributes, [`${name}-steward`]);
    await owner.make(`/teams/${owners.id}/relationships/users`, [{ type: 'users', id: `${name}-second` }]);
    return {
      readers: {
        owner,
        'another owner': second.actor,
        'organization token': await tokenAt(`${inside}/authentication-token`),
        'audit-trails token': await tokenAt(`${inside}/authentication-token?token=audit-trails`),
        'owners-team token': await tokenAt(`/teams/${owners.id}/authentication-token`),
      },
      others: {
        member: member.actor,
        'member with every permission': steward.actor,
        'token of a team with every permission': await tokenAt(`/teams/${strong}/authentication-token`),
        'decisions token': await tokenAt(`${inside}/authentication-token?token=decisions`),
        'site admin': directory.admin,
      },
    };
  };

  test('owners, the owners-team token, the organization’s and the audit-trails token; 404 for all others, 401 for none', async () => {
    const [name, other] = [await organization(), await organization()];
    const { readers, others } = await callers(name);
    const abroad = await callers(other);
    const outsider = (await directory.user(fresh('outsider'))).actor;
    const { text } = await owner.get(pathOf(name));
    for (const [who, actor] of Object.entries(readers))
      for (const spelled of [name, name.toUpperCase()]) {
        const answer = await actor.get(pathOf(spelled));
        assert.equal(answer.status, 200, who);
        assert.equal(answer.text.replaceAll(spelled, name), text, who);
      }
    const absent = await outsider.get(pathOf('nowhere'));
    const { owner: _, ...foreign } = abroad.readers;
    for (const [who, actor] of Object.entries({ ...others, ...abroad.others, ...foreign, outsider })) {
      const answer = await actor.get(pathOf(name));
      assert.deepEqual([answer.status, answer.text], [404, absent.text], who);
    }
    assert.equal((await directory.actor(undefined).get(pathOf(name))).status, 401);
    // Whom the organization does not take, it tells nothing.
    const byToken = readers['organization token'];
    await byToken.patch(`/organizations/${name}`, { attributes: { 'user-tokens-enabled': false } });
    assert.equal((await owner.get(pathOf(name))).status, 401);
    assert.equal((await readers['audit-trails token'].get(pathOf(name))).status, 200);
    // Who is an owner no more reads no more.
    const { body } = await byToken.get(`/organizations/${name}/teams`);
    await byToken.patch(`/organizations/${name}`, { attributes: { 'user-tokens-enabled': true } });
    const second = readers['another owner'];
    assert.equal((await second.get(pathOf(name))).status, 200);
    const leaving = [{ type: 'users', id: `${name}-second` }];
    await byToken.delete(`/teams/${body.data[0].id}/relationships/users`, leaving);
    assert.equal((await second.get(pathOf(name))).status, 404);
  });

  test('of its own organization alone, whatever is asked for: nothing there changes a byte', async () => {
    const [name, other] = [await organization(), await organization()];
    const home = await everyWrite(name);
    const ids = [home.project, home.another, home.team, home.others, home.member, home.id];
    const filters = ids.flatMap(id => ['project', 'team', 'actor'].map(key => `filter[${key}][id]=${id}`));
    const asked = ['', ...filters, 'filter[action]=create', 'filter[since]=2026-01-01T00:00:00Z'];
    const answers = async () => {
      const texts = [];
      for (const query of asked) texts.push((await owner.get(`${pathOf(other)}?${query}`)).text);
      return texts;
    };
    const before = await answers();
    assert.ok(before.every(text => ids.every(id => !text.replace(/"links":.*/, '').includes(id))));
    await directory.project(owner, name, 'one more');
    await owner.delete(`/organizations/${name}`);
    assert.deepEqual(await answers(), before);
    // One of the same name is another: what it was is its own.
    await directory.organization(owner, name);
    assert.deepEqual(
      (await eventsOf(name)).map(({ attributes }) => [attributes['resource-type'], attributes.position]),
      [['organization', 1]],
    );
  });
});
