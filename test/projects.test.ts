/** Projects: what narrows and orders their list, what they count, what they keep, and moving workspaces into them. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import { namesOf, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, newDirectory } from './support/world.ts';

const tag = (key: string, value?: string) => ({ type: 'tag-bindings', attributes: { key, value } });
const tagged = (...tags: Json[]) => ({ 'tag-bindings': { data: tags } });

let directory: Directory;
let owner: Actor;
let fresh = 0;
before(async () => {
  directory = await newDirectory();
  owner = (await directory.user('owner')).actor;
});
after(() => directory.server.close());

const newOrganization = async (): Promise<string> => {
  const name = `org-${fresh++}`;
  await directory.organization(owner, name);
  return name;
};

/** A member whose one team holds these organization permissions. */
const memberOf = async (organization: string, permissions: readonly string[] = [], visibility = 'organization') => {
  const name = `member-${fresh++}`;
  const { actor } = await directory.member(owner, organization, name);
  const attributes = {
    name: `team-${fresh++}`,
    visibility,
    'organization-access': Object.fromEntries(permissions.map(permission => [permission, true])),
  };
  return { actor, team: await directory.team(owner, organization, attributes, [name]) };
};

const add = (actor: Actor, organization: string, attributes: Json, relationships?: Json) =>
  actor.post(`/organizations/${organization}/projects`, { type: 'projects', attributes, relationships });
const made = async (organization: string, attributes: Json, relationships?: Json): Promise<string> => {
  const answer = await add(owner, organization, attributes, relationships);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.data.id;
};
const change = (actor: Actor, id: string, attributes?: Json, relationships?: Json) =>
  actor.patch(`/projects/${id}`, { type: 'projects', attributes, relationships });
const list = (actor: Actor, organization: string, query = '') =>
  actor.get(`/organizations/${organization}/projects${query && `?${query}`}`);
const workspaceIn = (organization: string, project: string): Promise<string> =>
  directory.workspace(owner, organization, `workspace-${fresh++}`, project);
const projectOf = async (workspace: string): Promise<string> =>
  (await owner.get(`/workspaces/${workspace}`)).body.data.relationships.project.data.id;
const removeWorkspace = async (id: string) => assert.equal((await owner.delete(`/workspaces/${id}`)).status, 204);
const defaultOf = async (organization: string): Promise<string> =>
  (await list(owner, organization)).body.data[0].id as string;

describe('the list', () => {
  let organization: string;
  before(async () => {
    organization = await newOrganization();
    for (const name of ['beta', 'Alpha', 'alpha two', '100_percent'])
      await made(organization, { name, description: 'alpha' });
  });
  const found = async (query: string) => namesOf(await list(owner, organization, query));

  test('filter[names] takes whole names, several, in any case, and wins over q', async () => {
    assert.deepEqual(await found('filter[names]=ALPHA'), ['Alpha']);
    assert.deepEqual(await found('filter[names]=default%20project,Beta,none'), ['Default Project', 'beta']);
    assert.deepEqual(await found('filter[names]=beta&q=alpha'), ['beta']);
    assert.deepEqual(await found('filter[names]=alp'), []);
    assert.deepEqual(await found('filter[names]=&q=two'), ['alpha two']);
  });

  test('q takes a part of the name, in any case, and no character of it is a wildcard', async () => {
    assert.deepEqual(await found('q=ALPHA'), ['Alpha', 'alpha two']);
    assert.deepEqual(await found('q=_'), ['100_percent']);
    for (const none of ['%25', '1%25t', '0_p%25', '%5C', 'a%5C_']) assert.deepEqual(await found(`q=${none}`), [], none);
    assert.equal((await found('q=')).length, 5);
  });

  test('sort=name and -name, whatever the case; by creation without it; 400 for anything else', async () => {
    const sorted = ['100_percent', 'Alpha', 'alpha two', 'beta', 'Default Project'];
    assert.deepEqual(await found('sort=name'), sorted);
    assert.deepEqual(await found('sort=-name'), sorted.toReversed());
    assert.deepEqual(await found('sort=-name&page[size]=2&page[number]=2'), ['alpha two', 'Alpha']);
    assert.deepEqual(await found(''), ['Default Project', 'beta', 'Alpha', 'alpha two', '100_percent']);
    const refused = await list(owner, organization, 'sort=created-at');
    assert.deepEqual([refused.status, refused.body.errors[0].source], [400, { parameter: 'sort' }]);
  });

  test('totals are of what matches; status-counts tell the rest; the page stands in meta twice, for both Go clients', async () => {
    const { body } = await list(owner, organization, 'q=alpha&page[size]=1&page[number]=2');
    const page = {
      'current-page': 2,
      'page-size': 1,
      'prev-page': 1,
      'next-page': null,
      'total-pages': 2,
      'total-count': 2,
    };
    assert.deepEqual(body.meta, { ...page, pagination: page, 'status-counts': { total: 5, matching: 2 } });
    const empty = (await list(owner, organization, 'q=nothing&page[number]=3')).body;
    assert.deepEqual(empty.meta['status-counts'], { total: 5, matching: 0 });
    assert.deepEqual([empty.data, empty.meta['current-page'], empty.meta['total-count']], [[], 3, 0]);
  });

  test('the links carry every filter on', async () => {
    const asked = [
      ['filter[names]', 'beta'],
      ['q', 'b'],
      ['filter[permissions][update]', 'true'],
      ['filter[tagged][7][key]', 'a'],
      ['filter[tagged][7][value]', 'b'],
      ['include', 'effective_tag_bindings'],
      ['sort', 'name'],
    ];
    const { body } = await list(owner, organization, `${new URLSearchParams(asked)}`);
    const { searchParams } = new URL(body.links.last);
    assert.deepEqual([...searchParams], [...asked, ['page[number]', '1'], ['page[size]', '20']]);
  });

  test('a parameter given twice, or a permission that is neither true nor false, is 400', async () => {
    for (const query of [
      'q=a&q=b',
      'filter[tagged][0][key]=a&filter[tagged][0][key]=b',
      'filter[permissions][update]=yes',
      'filter[permissions][move-stack]=1',
    ])
      assert.equal((await list(owner, organization, query)).status, 400, query);
    assert.equal((await found('filter[permissions][update]=false')).length, 5);
  });
});

describe('filters by permission', () => {
  const filters = {
    'create-workspace': 'can-create-workspace',
    update: 'can-update',
    'move-stack': 'can-move-stack',
  };
  /** What the caller's team holds in the organization, and on the projects. */
  const callers: Record<string, { permissions?: string[]; expected: string }> = {
    'with grants alone': {
      expected: 'create: maintains makes administers, update: updates administers, move: moves administers',
    },
    'with manage-workspaces': {
      permissions: ['manage-workspaces'],
      expected:
        'create: Default Project maintains makes administers, update: updates administers, move: moves administers',
    },
    'with read-projects': {
      permissions: ['read-projects'],
      expected: 'create: maintains makes administers, update: updates administers, move: moves administers',
    },
    'with manage-projects': {
      permissions: ['manage-projects'],
      expected: `${['create', 'update', 'move'].map(what => `${what}: Default Project bare reads maintains makes updates moves administers`).join(', ')}`,
    },
  };
  const grants: Record<string, Json | undefined> = {
    bare: undefined,
    reads: { access: 'read' },
    maintains: { access: 'maintain' },
    makes: { access: 'custom', 'workspace-access': { create: true } },
    updates: { access: 'custom', 'project-access': { settings: 'update' } },
    moves: { access: 'custom', 'workspace-access': { move: true } },
    administers: { access: 'admin' },
  };

  for (const [caller, { permissions = [], expected }] of Object.entries(callers))
    test(`${caller}: ${expected}`, async () => {
      const organization = await newOrganization();
      const { actor, team } = await memberOf(organization, permissions);
      const other = await directory.team(owner, organization, { name: 'others' });
      for (const [name, access] of Object.entries(grants)) {
        const project = await made(organization, { name });
        if (access) await directory.grant(owner, project, team, access);
        // What another team holds is not the caller's.
        await directory.grant(owner, project, other, { access: 'admin' });
      }
      const all = (await list(actor, organization)).body.data;
      const results: string[] = [];
      for (const [filter, permission] of Object.entries(filters)) {
        const asked = `filter[permissions][${filter}]=true`;
        const answer = await list(actor, organization, asked);
        assert.deepEqual(
          answer.body.data,
          all.filter(({ attributes }: Json) => attributes.permissions[permission]),
          `${filter} is what ${permission} says`,
        );
        assert.deepEqual(answer.body.meta['status-counts'], { total: all.length, matching: answer.body.data.length });
        const last = await list(actor, organization, `${asked}&page[size]=1&page[number]=${answer.body.data.length}`);
        assert.deepEqual(last.body.data, answer.body.data.slice(-1));
        assert.equal(last.body.meta['total-pages'], answer.body.data.length);
        results.push(`${filter.split('-')[0]}: ${namesOf(answer).join(' ')}`);
      }
      assert.equal(results.join(', '), expected);
    });

  test('several at once must all hold; owners and their tokens have every project', async () => {
    const organization = await newOrganization();
    const { actor, team } = await memberOf(organization);
    for (const [name, settings, create] of [
      ['both', 'update', true],
      ['one', 'update', false],
      ['other', 'read', true],
    ] as const)
      await directory.grant(owner, await made(organization, { name }), team, {
        access: 'custom',
        'project-access': { settings },
        'workspace-access': { create },
      });
    const all = 'filter[permissions][create-workspace]=true&filter[permissions][update]=true';
    assert.deepEqual(namesOf(await list(actor, organization, all)), ['both']);
    const { attributes } = await owner.make(`/organizations/${organization}/authentication-token`);
    for (const each of [owner, directory.actor(attributes.token)])
      assert.equal((await list(each, organization, all)).body.data.length, 4);
  });

  test('what one team gives joins with what another gives', async () => {
    const organization = await newOrganization();
    const name = `member-${fresh++}`;
    const { actor } = await directory.member(owner, organization, name);
    const project = await made(organization, { name: 'shared' });
    const both = 'filter[permissions][create-workspace]=true&filter[permissions][update]=true';
    const given = [{ 'project-access': { settings: 'update' } }, { 'workspace-access': { create: true } }];
    const found: string[][] = [];
    for (const [index, access] of given.entries()) {
      const team = await directory.team(owner, organization, { name: `team-${index}` }, [name]);
      await directory.grant(owner, project, team, { access: 'custom', ...access });
      found.push(namesOf(await list(actor, organization, both)));
    }
    assert.deepEqual(found, [[], ['shared']]);
  });

  test('404 for a stranger, with a filter as without', async () => {
    const organization = await newOrganization();
    const { actor } = await directory.user(`stranger-${fresh++}`);
    for (const query of ['', 'filter[permissions][update]=true'])
      assert.equal((await list(actor, organization, query)).status, 404);
  });
});

describe('filters by tag', () => {
  test('by key, by value and by both, under any index; all of them must match', async () => {
    const organization = await newOrganization();
    await made(organization, { name: 'one' }, tagged(tag('env', 'prod'), tag('team', 'red')));
    await made(organization, { name: 'two' }, tagged(tag('env', 'test'), tag('team', 'red')));
    await made(organization, { name: 'three' }, tagged(tag('env')));
    const found = async (...filters: [index: string, part: string, value: string][]) =>
      namesOf(
        await list(
          owner,
          organization,
          `${new URLSearchParams(filters.map(([index, part, value]) => [`filter[tagged][${index}][${part}]`, value]))}`,
        ),
      );
    assert.deepEqual(await found(['0', 'key', 'env']), ['one', 'two', 'three']);
    assert.deepEqual(await found(['0', 'key', 'env'], ['0', 'value', '']), ['one', 'two', 'three']);
    assert.deepEqual(await found(['0', 'key', 'env'], ['0', 'value', 'prod']), ['one']);
    assert.deepEqual(await found(['0', 'value', 'red']), ['one', 'two']);
    assert.deepEqual(await found(['9', 'key', 'team'], ['i', 'key', 'env'], ['i', 'value', 'test']), ['two']);
    assert.deepEqual(await found(['0', 'key', 'env'], ['1', 'key', 'env']), ['one', 'two', 'three']);
    // A key has one value.
    assert.deepEqual(
      await found(['0', 'key', 'env'], ['0', 'value', 'prod'], ['1', 'key', 'env'], ['1', 'value', 'test']),
      [],
    );
    // The value of one key is not the value of another.
    assert.deepEqual(await found(['0', 'key', 'team'], ['0', 'value', 'prod']), []);
    assert.deepEqual(await found(['0', 'key', 'ENV']), []);
    assert.equal((await found(['0', 'key', ''])).length, 4);
    const { body } = await list(owner, organization, 'filter[tagged][0][key]=env&page[size]=2&page[number]=2');
    assert.deepEqual([namesOf({ body } as Answer), body.meta['total-count']], [['three'], 3]);
  });

  test('more of them than a project can have tags are one statement still, and match nothing', async () => {
    const organization = await newOrganization();
    const filters = Array.from({ length: 150 }, (_, index) => `filter[tagged][${index}][key]=key-${index}`);
    assert.deepEqual(namesOf(await list(owner, organization, filters.join('&'))), []);
  });
});

describe('include=effective_tag_bindings', () => {
  test('the list and the project bring the tags as whole resources, in order, and name them', async () => {
    const organization = await newOrganization();
    const id = await made(organization, { name: 'one' }, tagged(tag('b', '1'), tag('a')));
    for (const spelling of ['effective_tag_bindings', 'effective-tag-bindings'])
      for (const { body } of [
        await owner.get(`/projects/${id}?include=${spelling}`),
        await list(owner, organization, `include=${spelling}&q=one`),
      ]) {
        const [project] = [body.data].flat();
        const identifiers = project.relationships['effective-tag-bindings'].data;
        assert.deepEqual(
          identifiers,
          body.included.map(({ type, id }: Json) => ({ id, type })),
        );
        assert.deepEqual(
          body.included.map(({ attributes }: Json) => attributes),
          [
            { key: 'b', value: '1' },
            { key: 'a', value: '' },
          ],
        );
      }
    assert.deepEqual((await list(owner, organization, 'include=effective_tag_bindings&q=default')).body.included, []);
    for (const plain of [await owner.get(`/projects/${id}`), await list(owner, organization)])
      assert.ok(!plain.text.includes('included') && !plain.text.includes('"tb-'));
  });

  test('leaves the tag as it is, so that it holds in an If-Match, on a workspace too', async () => {
    const organization = await newOrganization();
    const project = await made(organization, { name: 'one' }, tagged(tag('a')));
    const workspace = await workspaceIn(organization, project);
    for (const path of [`/projects/${project}`, `/workspaces/${workspace}`]) {
      const { headers, body } = await owner.get(`${path}?include=effective_tag_bindings`);
      assert.equal(body.included.length, 1);
      assert.equal(headers.etag, (await owner.get(path)).headers.etag);
      assert.equal((await owner.patch(path, {}, { 'if-match': `${headers.etag}` })).status, 200);
    }
  });

  test('400 for any other, in words that the Go client looks for', async () => {
    const organization = await newOrganization();
    const id = await defaultOf(organization);
    for (const path of [`/projects/${id}`, `/organizations/${organization}/projects`]) {
      const { status, body } = await owner.get(`${path}?include=effective_tag_bindings,workspaces`);
      assert.equal(status, 400);
      assert.match(body.errors[0].detail, /include parameter/);
    }
  });
});

describe('counts', () => {
  const countsOf = ({ attributes }: Json) =>
    ['project', 'workspace', 'team'].map(what => attributes[`${what}-count`]).join(' ');

  /** Counts of projects, workspaces and teams that each caller sees, of 3, 2 and 4. */
  const expected = {
    owner: '3 2 4',
    'project admin': '1 2 4',
    'holder of teams = read': '1 2 3',
    'member of a secret team with access': '1 2 1',
    reader: '1 2 1',
    'read-projects': '3 0 0',
    'read-projects and one workspace': '3 1 0',
    'read-projects and read-workspaces': '3 2 0',
  };

  test('each caller counts what it sees, in the list as in the project', async () => {
    const organization = await newOrganization();
    const project = await made(organization, { name: 'counted' });
    await made(organization, { name: 'another' });
    const workspace = await workspaceIn(organization, project);
    await workspaceIn(organization, project);
    await workspaceIn(organization, await defaultOf(organization));
    const granted = async (access: Json, visibility = 'organization') => {
      const { actor, team } = await memberOf(organization, [], visibility);
      await directory.grant(owner, project, team, access);
      return actor;
    };
    const callers: Record<keyof typeof expected, Actor> = {
      owner,
      'project admin': await granted({ access: 'admin' }),
      'holder of teams = read': await granted({ access: 'custom', 'project-access': { teams: 'read' } }),
      'member of a secret team with access': await granted({ access: 'write' }, 'secret'),
      reader: await granted({ access: 'read' }),
      'read-projects': (await memberOf(organization, ['read-projects'])).actor,
      'read-projects and one workspace': await (async () => {
        const { actor, team } = await memberOf(organization, ['read-projects']);
        await directory.workspaceGrant(owner, workspace, team, { access: 'read' });
        return actor;
      })(),
      'read-projects and read-workspaces': (await memberOf(organization, ['read-projects', 'read-workspaces'])).actor,
    };
    const seen: Record<string, string> = {};
    for (const [name, actor] of Object.entries(callers)) {
      const { body } = await actor.get(`/projects/${project}`);
      seen[name] = countsOf(body.data);
      const listed = (await list(actor, organization)).body.data;
      assert.deepEqual(
        listed.find(({ id }: Json) => id === project),
        body.data,
        name,
      );
      const access = await actor.get(`/team-projects?filter[project][id]=${project}`);
      assert.equal(access.body.meta.pagination['total-count'], body.data.attributes['team-count'], name);
      assert.equal(listed.length, body.data.attributes['project-count'], name);
      const workspaces = await actor.get(`/organizations/${organization}/workspaces?filter[project][id]=${project}`);
      assert.equal(workspaces.body.data.length, body.data.attributes['workspace-count'], name);
    }
    assert.deepEqual(seen, expected);
  });

  test('what is hidden changes no byte: a grant of a secret team, a workspace, a project', async () => {
    const organization = await newOrganization();
    const project = await made(organization, { name: 'watched' });
    const { actor: watcher, team } = await memberOf(organization);
    await directory.grant(owner, project, team, { access: 'custom', 'project-access': { teams: 'read' } });
    const { actor: surveyor } = await memberOf(organization, ['read-projects']);
    const all = async () => {
      const texts: string[] = [];
      for (const actor of [watcher, surveyor])
        for (const path of [`/projects/${project}`, `/organizations/${organization}/projects?q=watch`]) {
          const { text, headers } = await actor.get(path);
          texts.push(text, `${headers.etag}`);
        }
      return texts;
    };
    const before = await all();
    const secret = await directory.team(owner, organization, { name: 'ghosts', visibility: 'secret' });
    const grant = await directory.grant(owner, project, secret, { access: 'admin' });
    assert.deepEqual(await all(), before, 'a grant');
    await owner.delete(`/team-projects/${grant}`);
    const workspace = await workspaceIn(organization, project);
    const [watchers, surveyors] = [before.slice(0, 4), before.slice(4)];
    assert.deepEqual((await all()).slice(4), surveyors, 'a workspace, to somebody who reads none');
    await removeWorkspace(workspace);
    await made(organization, { name: 'unseen' });
    assert.deepEqual((await all()).slice(0, 4), watchers, 'a project, to somebody who sees one');
  });
});

describe('a project that another document includes', () => {
  test('comes with a workspace to whoever sees it, and to nobody else', async () => {
    const organization = await newOrganization();
    const project = await made(organization, { name: 'home' });
    const workspace = await workspaceIn(organization, project);
    const { actor: reader, team } = await memberOf(organization);
    await directory.grant(owner, project, team, { access: 'read' });
    const { actor: guest, team: guests } = await memberOf(organization);
    await directory.workspaceGrant(owner, workspace, guests, { access: 'admin' });
    for (const path of [`/workspaces/${workspace}`, `/organizations/${organization}/workspaces`])
      for (const [actor, seen] of [
        [owner, true],
        [reader, true],
        [guest, false],
      ] as const) {
        const { status, body } = await actor.get(`${path}?include=project`);
        const shown = await actor.get(`/projects/${project}`);
        assert.deepEqual([status, shown.status], [200, seen ? 200 : 404]);
        assert.deepEqual(body.included, seen ? [shown.body.data] : []);
      }
  });
});

describe('permissions', () => {
  const all = [
    'can-read',
    'can-update',
    'can-destroy',
    'can-create-workspace',
    'can-move-workspace',
    'can-move-stack',
    'can-deploy-no-code-modules',
    'can-read-teams',
    'can-manage-teams',
    'can-manage-tags',
    'can-manage-in-hcp',
    'can-manage-ephemeral-workspace-for-projects',
    'can-manage-varsets',
  ];
  const updating = ['can-manage-ephemeral-workspace-for-projects', 'can-manage-tags', 'can-update'];
  const creating = ['can-create-workspace', 'can-deploy-no-code-modules'];
  const custom = (group: string, values: Json) => ({ access: 'custom', [group]: values });
  const byGrant: [Json, string[]][] = [
    [{ access: 'read' }, []],
    [{ access: 'write' }, []],
    [{ access: 'maintain' }, creating],
    [{ access: 'admin' }, all.filter(name => !['can-read', 'can-manage-in-hcp'].includes(name))],
    [custom('project-access', { settings: 'update' }), updating],
    [custom('project-access', { settings: 'delete' }), [...updating, 'can-destroy']],
    [custom('project-access', { teams: 'read' }), ['can-read-teams']],
    [custom('project-access', { teams: 'manage' }), ['can-read-teams', 'can-manage-teams']],
    [custom('project-access', { 'variable-sets': 'write' }), ['can-manage-varsets']],
    [custom('project-access', { 'variable-sets': 'read' }), []],
    [custom('workspace-access', { create: true }), creating],
    [custom('workspace-access', { move: true }), ['can-move-workspace', 'can-move-stack']],
  ];
  for (const [access, expected] of byGrant)
    test(`${JSON.stringify(access)}: ${['can-read', ...expected].join(', ')}`, async () => {
      const organization = await newOrganization();
      const project = await made(organization, { name: 'one' });
      const { actor, team } = await memberOf(organization);
      await directory.grant(owner, project, team, access);
      const { permissions } = (await actor.get(`/projects/${project}`)).body.data.attributes;
      assert.deepEqual(Object.keys(permissions), all);
      const held = all.filter(name => permissions[name]);
      assert.deepEqual(held.toSorted(), ['can-read', ...expected].toSorted());
    });

  test('an owner has all but what is not here, and cannot destroy the default project', async () => {
    const organization = await newOrganization();
    const { permissions } = (await owner.get(`/projects/${await defaultOf(organization)}`)).body.data.attributes;
    const missing = all.filter(name => !permissions[name]);
    assert.deepEqual(missing, ['can-destroy', 'can-manage-in-hcp']);
  });
});

describe('settings', () => {
  let organization: string;
  before(async () => {
    organization = await newOrganization();
  });
  const settingsOf = ({ body }: Answer) => {
    const { attributes } = body.data;
    const overwrites = attributes['setting-overwrites'];
    assert.equal(overwrites['default-execution-mode'], overwrites['default-agent-pool']);
    return [
      attributes['auto-destroy-activity-duration'],
      attributes['default-execution-mode'],
      overwrites['default-execution-mode'],
    ];
  };
  const project = () => made(organization, { name: `set-${fresh++}` });
  const detailOf = ({ status, body }: Answer) => {
    assert.equal(status, 422, JSON.stringify(body));
    return body.errors.map(({ title, detail }: Json) => `${title}\n\n${detail}`).join('\n');
  };

  test('POST, PATCH, GET and the list show one and the same project', async () => {
    const attributes = { name: 'the same', description: '', 'auto-destroy-activity-duration': '9h' };
    const created = await add(owner, organization, { ...attributes, 'default-execution-mode': 'local' });
    const { id } = created.body.data;
    const texts = [
      created.body.data,
      (await owner.get(`/projects/${id}`)).body.data,
      (await list(owner, organization, 'filter[names]=the%20same')).body.data[0],
      (await change(owner, id, {})).body.data,
    ];
    for (const text of texts) assert.deepEqual(text, created.body.data);
  });

  test('auto-destroy-activity-duration: up to four digits and d or h, null, kept when not sent', async () => {
    const id = await project();
    for (const duration of ['1d', '24h', '9999d', null])
      assert.equal(
        settingsOf(await change(owner, id, { 'auto-destroy-activity-duration': duration }))[0],
        duration,
        `${duration}`,
      );
    await change(owner, id, { 'auto-destroy-activity-duration': '14d' });
    assert.equal(settingsOf(await change(owner, id, { description: 'x' }))[0], '14d');
    for (const wrong of ['20m', 'bar', '', '12345d', '0d', '000h', '1.5d', '-1d', '1D', 5])
      assert.deepEqual(
        pointers(await change(owner, id, { 'auto-destroy-activity-duration': wrong })),
        ['/data/attributes/auto-destroy-activity-duration'],
        `${wrong}`,
      );
    assert.equal(
      detailOf(await add(owner, organization, { name: 'foo', 'auto-destroy-activity-duration': '20m' })),
      "invalid attribute\n\nAuto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')",
    );
  });

  test("default-execution-mode is the organization's until the project has one of its own, and again when it gives it up", async () => {
    const id = await project();
    const mode = (value: Json, more: Json = {}) => change(owner, id, { 'default-execution-mode': value, ...more });
    const overwrites = (value: boolean) => ({
      'setting-overwrites': { 'default-execution-mode': value, 'default-agent-pool': value },
    });
    assert.deepEqual(settingsOf(await owner.get(`/projects/${id}`)), [null, 'remote', false]);
    assert.deepEqual(settingsOf(await mode('local')), [null, 'local', true]);
    assert.deepEqual(settingsOf(await change(owner, id, {})), [null, 'local', true]);
    assert.deepEqual(settingsOf(await mode('remote', overwrites(true))), [null, 'remote', true]);
    assert.deepEqual(settingsOf(await change(owner, id, overwrites(true))), [null, 'remote', true]);
    await directory.server.store.write(tx =>
      tx.run(
        sql`update organizations set settings = '{"default-execution-mode":"local"}' where name = ${organization}`,
      ),
    );
    assert.deepEqual(settingsOf(await owner.get(`/projects/${id}`)), [null, 'remote', true]);
    assert.deepEqual(settingsOf(await change(owner, id, overwrites(false))), [null, 'local', false]);
    // As it was read.
    assert.deepEqual(settingsOf(await mode('local', overwrites(false))), [null, 'local', false]);
    assert.deepEqual(settingsOf(await mode('remote')), [null, 'remote', true]);
    assert.deepEqual(settingsOf(await add(owner, organization, { name: `set-${fresh++}`, ...overwrites(false) })), [
      null,
      'local',
      false,
    ]);
    await directory.server.store.write(tx =>
      tx.run(sql`update organizations set settings = '{}' where name = ${organization}`),
    );
  });

  test('setting-overwrites must agree with itself and with the mode', async () => {
    const id = await project();
    const wrong: [Json, RegExp][] = [
      [
        { 'setting-overwrites': { 'default-execution-mode': true, 'default-agent-pool': false } },
        /^invalid attribute\n\nIf agent-pool and execution-mode are both included in setting-overwrites, their values must be the same\.$/,
      ],
      [{ 'setting-overwrites': { 'default-execution-mode': true } }, /cannot be true without/],
      [
        { 'default-execution-mode': 'local', 'setting-overwrites': { 'default-agent-pool': false } },
        /cannot be false with/,
      ],
    ];
    for (const [attributes, reason] of wrong) {
      const answer = await change(owner, id, attributes);
      assert.match(detailOf(answer), reason);
      assert.deepEqual(pointers(answer), ['/data/attributes/setting-overwrites']);
    }
    assert.deepEqual(settingsOf(await owner.get(`/projects/${id}`)), [null, 'remote', false]);
  });

  test('no agent pool is here, so none is found, and agent mode cannot be had; the texts are those of the clients', async () => {
    const id = await project();
    const wrong: [Json, RegExp][] = [
      [
        { 'default-execution-mode': 'remote', 'default-agent-pool-id': 'apool-1' },
        /must not be specified unless using 'agent' execution mode/,
      ],
      [{ 'default-agent-pool-id': 'apool-1' }, /must not be specified unless using 'agent' execution mode/],
      [{ 'default-execution-mode': 'agent' }, /must be specified when using 'agent' execution mode/],
      [
        { 'default-execution-mode': 'agent', 'default-agent-pool-id': '' },
        /must be specified when using 'agent' execution mode/,
      ],
      [{ 'default-execution-mode': 'agent', 'default-agent-pool-id': 'apool-1' }, /not found/],
    ];
    for (const [attributes, reason] of wrong)
      for (const answer of [
        await change(owner, id, attributes),
        await add(owner, organization, { name: `set-${fresh++}`, ...attributes }),
      ]) {
        assert.match(detailOf(answer), reason);
        assert.deepEqual(pointers(answer), ['/data/attributes/default-agent-pool-id']);
      }
    // As the provider sends it with any other mode.
    const sent = { 'default-execution-mode': 'local', 'default-agent-pool-id': '' };
    const { status, body } = await change(owner, id, sent);
    assert.equal(status, 200);
    assert.deepEqual(body.data.relationships['default-agent-pool'], { data: null });
  });
});

describe('tags of a project', () => {
  const bound = async (id: string) =>
    (await owner.get(`/projects/${id}/tag-bindings`)).body.data.map(
      ({ attributes }: Json) => `${attributes.key}=${attributes.value}`,
    );

  test('are given when it is made, replaced whole by a PATCH that names them, and kept by one that does not', async () => {
    const organization = await newOrganization();
    const id = await made(organization, { name: 'one' }, tagged(tag('a', '1'), tag('b')));
    assert.deepEqual(await bound(id), ['a=1', 'b=']);
    assert.equal((await change(owner, id, { description: 'x' })).status, 200);
    assert.deepEqual(await bound(id), ['a=1', 'b=']);
    assert.equal((await change(owner, id, undefined, tagged(tag('c', '3'), tag('b', '2')))).status, 200);
    assert.deepEqual(await bound(id), ['b=2', 'c=3']);
    assert.equal((await change(owner, id, undefined, tagged())).status, 200);
    assert.deepEqual(await bound(id), []);
  });

  test('422 at what is wrong, and then nothing is made or changed', async () => {
    const organization = await newOrganization();
    const at = '/data/relationships/tag-bindings/data';
    const eleven = Array.from({ length: 11 }, (_, index) => tag(`key-${index}`));
    const wrong: [Json[], string[]][] = [
      [[tag('a'), tag('b c')], [`${at}/1/attributes/key`]],
      [[tag('a'), tag('a')], [`${at}/1/attributes/key`]],
      [[tag('a', 'ä')], [`${at}/0/attributes/value`]],
      [[{ type: 'tags', attributes: { key: 'a' } }], [`${at}/0/type`]],
      [eleven, [at]],
    ];
    const id = await made(organization, { name: 'one' }, tagged(tag('kept')));
    for (const [tags, expected] of wrong) {
      const created = await add(owner, organization, { name: 'two' }, tagged(...tags));
      assert.deepEqual([created.status, pointers(created)], [422, expected]);
      const changed = await change(owner, id, { name: 'renamed' }, tagged(...tags));
      assert.deepEqual([changed.status, pointers(changed)], [422, expected]);
    }
    assert.deepEqual(namesOf(await list(owner, organization)), ['Default Project', 'one']);
    assert.deepEqual(await bound(id), ['kept=']);
  });

  test('the audit row of the project tells them', async () => {
    const organization = await newOrganization();
    const id = await made(organization, { name: 'one' }, tagged(tag('a', '1')));
    await change(owner, id, undefined, tagged(tag('b')));
    const rows = await directory.server.store.read(tx =>
      tx.rows<[string, string | null, string]>(sql`
        select action, before_change, after_change
        from audit_events
        where resource_id = ${id}
        order by created_at`),
    );
    const told = rows.map(([action, before, after]) => [
      action,
      before && JSON.parse(before)['tag-bindings'],
      JSON.parse(after)['tag-bindings'],
    ]);
    assert.deepEqual(told, [
      ['create', null, [{ key: 'a', value: '1' }]],
      ['update', [{ key: 'a', value: '1' }], [{ key: 'b', value: '' }]],
    ]);
  });
});

describe('DELETE projects', () => {
  test('422 while it has workspaces, with the reason and not their number; 204 after', async () => {
    const organization = await newOrganization();
    const project = await made(organization, { name: 'full' });
    const texts = new Set<string>();
    const workspaces: string[] = [];
    for (let count = 0; count < 2; count++) {
      workspaces.push(await workspaceIn(organization, project));
      const answer = await owner.delete(`/projects/${project}`);
      assert.equal(answer.status, 422);
      texts.add(answer.text);
    }
    assert.equal(texts.size, 1);
    assert.match([...texts][0] ?? '', /workspaces/);
    for (const workspace of workspaces) assert.equal(await projectOf(workspace), project);
    for (const workspace of workspaces) await removeWorkspace(workspace);
    assert.equal((await owner.delete(`/projects/${project}`)).status, 204);
    assert.equal((await owner.delete(`/projects/${project}`)).status, 404);
  });
});

describe('POST relationships/workspaces', () => {
  const move = (actor: Actor, project: string, ...ids: string[]) =>
    actor.post(
      `/projects/${project}/relationships/workspaces`,
      ids.map(id => ({ type: 'workspaces', id })),
    );
  const world = async () => {
    const organization = await newOrganization();
    const [from, to, closed] = await Promise.all(
      ['from', 'to here', 'closed'].map(name => made(organization, { name })),
    );
    const workspaces = [];
    for (const project of [from, from, closed]) workspaces.push(await workspaceIn(organization, project as string));
    const [one, two, kept] = workspaces as [string, string, string];
    const at = async (...ids: string[]) => Promise.all(ids.map(id => projectOf(id)));
    return { organization, from: from as string, to: to as string, closed: closed as string, one, two, kept, at };
  };
  const moving = { access: 'custom', 'workspace-access': { move: true } };

  test('204: they are in the project, those that were there stay, and one audit row tells from where', async () => {
    const { organization, from, to, one, two, kept, closed, at } = await world();
    assert.equal((await move(owner, to, one, kept, one)).status, 204);
    assert.deepEqual(await at(one, two, kept), [to, from, to]);
    assert.equal((await move(owner, to, one)).status, 204);
    const rows = await directory.server.store.read(tx =>
      tx.rows<[string, string, string, string, string]>(sql`
        select resource_type, action, organizations.name, before_change, after_change
        from audit_events
        join organizations on organizations.id = organization_id
        where resource_id = ${to} and action = 'move_workspaces'
        order by audit_events.created_at`),
    );
    assert.equal(rows.length, 2);
    const [type, , name, before, after] = rows[0] as [string, string, string, string, string];
    assert.deepEqual([type, name], ['project', organization]);
    const byId = (told: string) =>
      Object.fromEntries(JSON.parse(told).workspaces.map(({ id, project }: Json) => [id, project]));
    assert.deepEqual(byId(before), { [one]: from, [kept]: closed });
    assert.deepEqual(byId(after), { [one]: to, [kept]: to });
  });

  test('with move on both projects, and with no less: 403 names those that stay, and then all stay', async () => {
    const { organization, from, to, one, two, kept, at } = await world();
    const { actor, team } = await memberOf(organization);
    await directory.grant(owner, to, team, moving);
    const grant = await directory.grant(owner, from, team, { access: 'maintain' });
    const refused = await move(actor, to, one, two);
    assert.equal(refused.status, 403);
    assert.match(refused.body.errors[0].detail, new RegExp(`: ${one}, ${two}$`));
    await owner.patch(`/team-projects/${grant}`, { attributes: moving });
    const partly = await move(actor, to, one, kept, two);
    assert.equal(partly.status, 403);
    assert.match(partly.body.errors[0].detail, new RegExp(`: ${kept}$`));
    assert.deepEqual(await at(one, two), [from, from]);
    assert.equal((await move(actor, to, one, two)).status, 204);
    assert.deepEqual(await at(one, two), [to, to]);
  });

  test('what is absent, hidden, of another organization or read but not to be moved is one and the same 403', async () => {
    const { organization, from, to, one, kept } = await world();
    const { actor, team } = await memberOf(organization);
    await directory.grant(owner, to, team, moving);
    await directory.grant(owner, from, team, { access: 'read' });
    const other = await world();
    const texts = new Set<string>();
    for (const id of [one, kept, other.one, 'ws-absent', '']) {
      const { status, text } = await move(actor, to, id);
      assert.equal(status, 403);
      texts.add(text.replace(`: ${id}"`, ': ID"'));
    }
    assert.equal(texts.size, 1);
    // The owner of both organizations moves nothing from one to the other.
    assert.equal((await move(owner, to, other.one)).status, 403);
  });

  test('a grant on the workspace itself moves nothing', async () => {
    const { organization, to, one } = await world();
    const { actor, team } = await memberOf(organization);
    await directory.grant(owner, to, team, moving);
    await directory.workspaceGrant(owner, one, team, { access: 'admin' });
    assert.equal((await move(actor, to, one)).status, 403);
  });

  test('404 for who may not move into the project, whatever is in the body; 422 for a body that names none', async () => {
    const { organization, from, to, one, at } = await world();
    const { actor, team } = await memberOf(organization);
    assert.equal((await move(actor, to, one)).status, 404);
    await directory.grant(owner, from, team, moving);
    await directory.grant(owner, to, team, { access: 'maintain' });
    assert.equal((await move(actor, to, one)).status, 404);
    assert.equal((await move(actor, to)).status, 404);
    assert.equal((await move(owner, 'prj-absent', one)).status, 404);
    assert.deepEqual(pointers(await move(owner, to)), ['/data']);
    const wrong = await owner.post(`/projects/${to}/relationships/workspaces`, [{ type: 'projects', id: one }]);
    assert.deepEqual(pointers(wrong), ['/data/0/type']);
    assert.deepEqual(await at(one), [from]);
  });
});
