/** Who may do what, where, and why: effective access, promise by promise. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import { idsOf } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { type Actor, type Directory, newDirectory } from './support/world.ts';

type Member = { readonly id: string; readonly actor: Actor };

/**
 * `acme` has the projects `production` with the workspace `network`, and `vault`, where nobody has a grant, with `safe`.
 *
 * | Team       | Members    | on production                     | on network  | in the organization |
 * | owners     | olivia     |                                   |             | everything          |
 * | developers | dora, sam  | write                             |             |                     |
 * | planners   | dora, pia  |                                   | plan        |                     |
 * | editors    | dora       | custom: settings update           |             |                     |
 * | surveyors  | sam        |                                   |             | read-workspaces     |
 * | leads      | lea        | admin                             |             |                     |
 * | watchers   | wanda      | custom: teams read                |             |                     |
 * | ghosts     | gus        | maintain                          | admin       | read-projects       |
 *
 * `ghosts` is secret. `nora` is in no team.
 */
class Scene {
  readonly directory: Directory;
  readonly people: Record<string, Member> = {};
  readonly teams: Record<string, string> = {};
  readonly grants: Record<string, string> = {};
  production = '';
  vault = '';
  network = '';
  safe = '';

  private constructor(directory: Directory) {
    this.directory = directory;
  }

  static async set(): Promise<Scene> {
    const scene = new Scene(await newDirectory());
    const { directory, people, teams, grants } = scene;
    people.olivia = await directory.user('olivia');
    const owner = people.olivia.actor;
    await directory.organization(owner, 'acme');
    teams.owners = (await owner.get('/organizations/acme/teams')).body.data[0].id;
    for (const name of ['dora', 'sam', 'pia', 'lea', 'wanda', 'gus', 'nora'])
      people[name] = await directory.member(owner, 'acme', name);
    const team = async (name: string, members: string[], attributes: Json = {}) => {
      teams[name] = await directory.team(owner, 'acme', { name, visibility: 'organization', ...attributes }, members);
    };
    await team('developers', ['dora', 'sam']);
    await team('planners', ['dora', 'pia']);
    await team('editors', ['dora']);
    await team('surveyors', ['sam'], { 'organization-access': { 'read-workspaces': true } });
    await team('leads', ['lea']);
    await team('watchers', ['wanda']);
    await team('ghosts', ['gus'], { visibility: 'secret', 'organization-access': { 'read-projects': true } });
    scene.production = await directory.project(owner, 'acme', 'production');
    scene.vault = await directory.project(owner, 'acme', 'vault');
    scene.network = await directory.workspace(owner, 'acme', 'network', scene.production);
    scene.safe = await directory.workspace(owner, 'acme', 'safe', scene.vault);
    const grant = async (name: string, attributes: Json) => {
      grants[name] = await directory.grant(owner, scene.production, scene.team(name), attributes);
    };
    await grant('developers', { access: 'write' });
    await grant('editors', { access: 'custom', 'project-access': { settings: 'update' } });
    await grant('leads', { access: 'admin' });
    await grant('watchers', { access: 'custom', 'project-access': { teams: 'read' } });
    await grant('ghosts', { access: 'maintain' });
    for (const [name, access] of [
      ['planners', 'plan'],
      ['ghosts', 'admin'],
    ] as const)
      grants[`${name} on network`] = await directory.workspaceGrant(owner, scene.network, scene.team(name), { access });
    return scene;
  }

  team(name: string): string {
    return this.teams[name] as string;
  }

  actor(name: string): Actor {
    return (this.people[name] as Member).actor;
  }

  user(name: string): string {
    return (this.people[name] as Member).id;
  }
}

const namesOf = ({ body }: Answer): string[] => body.data.map(({ attributes }: Json) => attributes['subject-name']);
const placesOf = ({ body }: Answer): string[] =>
  body.data.map(({ attributes }: Json) => attributes['workspace-name'] ?? attributes['project-name']);
const parametersOf = ({ body }: Answer): string[] => body.errors.map(({ source }: Json) => source?.parameter);

const refused = async (answer: Promise<Answer>, status: number, parameter?: string): Promise<Answer> => {
  const refusal = await answer;
  assert.equal(refusal.status, status, refusal.text);
  if (parameter !== undefined) assert.deepEqual(parametersOf(refusal), [parameter]);
  return refusal;
};

describe('effective access', () => {
  let scene: Scene;
  let owner: Actor;
  before(async () => {
    scene = await Scene.set();
    owner = scene.actor('olivia');
  });
  after(() => scene.directory.server.close());

  const on = (place: string, query = '') => `/${place}/effective-access${query && `?${query}`}`;
  const inProduction = (query = '') => on(`projects/${scene.production}`, query);
  const inNetwork = (query = '') => on(`workspaces/${scene.network}`, query);
  const inAcme = 'filter[organization][name]=acme';
  const ok = async (answer: Promise<Answer>): Promise<Answer> => {
    const given = await answer;
    assert.equal(given.status, 200, given.text);
    return given;
  };
  const of = async (answer: Promise<Answer>, name: string): Promise<Json> => {
    const { body } = await ok(answer);
    return body.data.find(({ attributes }: Json) => attributes['subject-name'] === name);
  };
  const reason = (team: string, value: unknown, scope = 'project') => ({
    scope,
    'team-id': scene.teams[team],
    'team-name': team,
    'grant-id': scene.grants[scope === 'workspace' ? `${team} on network` : team],
    'organization-permission': null,
    value,
  });
  const byPermission = (team: string, permission: string, value: unknown) => ({
    scope: 'organization',
    'team-id': scene.teams[team],
    'team-name': team,
    'grant-id': null,
    'organization-permission': permission,
    value,
  });

  describe('GET projects/:id/effective-access', () => {
    test('a resource has what somebody may do, in a word and by permission, and for each permission every reason', async () => {
      const dora = await of(owner.get(inProduction()), 'dora');
      const both = (value: unknown, other: unknown) => [reason('developers', value), reason('editors', other)];
      assert.deepEqual(dora, {
        id: `${scene.user('dora')}:${scene.production}`,
        type: 'effective-access',
        attributes: {
          access: 'write',
          'subject-name': 'dora',
          'project-name': 'production',
          'project-access': { settings: 'update', teams: 'none', 'variable-sets': 'none' },
          'workspace-access': {
            runs: 'apply',
            'sentinel-mocks': 'read',
            'state-versions': 'write',
            variables: 'write',
            create: false,
            locking: true,
            delete: false,
            move: false,
            'run-tasks': false,
            'policy-overrides': false,
            administration: false,
          },
          reasons: {
            'project-access': { settings: both('read', 'update'), teams: [], 'variable-sets': [] },
            'workspace-access': {
              runs: both('apply', 'read'),
              'sentinel-mocks': [reason('developers', 'read')],
              'state-versions': [reason('developers', 'write')],
              variables: [reason('developers', 'write')],
              create: [],
              locking: [reason('developers', true)],
              delete: [],
              move: [],
              'run-tasks': [],
              'policy-overrides': [],
              administration: [],
            },
          },
        },
        relationships: {
          subject: { data: { type: 'users', id: scene.user('dora') } },
          project: {
            data: { type: 'projects', id: scene.production },
            links: { related: `/api/v2/projects/${scene.production}` },
          },
        },
      });
    });

    test('everybody who holds anything is listed, users by default, in the order in which they joined', async () => {
      const users = await ok(owner.get(inProduction()));
      assert.deepEqual(namesOf(users), ['olivia', 'dora', 'sam', 'lea', 'wanda', 'gus']);
      assert.deepEqual(users.body.data, (await owner.get(inProduction('filter[subject]=users'))).body.data);
    });

    test('filter[subject]=teams lists teams, in the order of creation, each with what it alone holds', async () => {
      const teams = await ok(owner.get(inProduction('filter[subject]=teams')));
      assert.deepEqual(namesOf(teams), ['owners', 'developers', 'editors', 'surveyors', 'leads', 'watchers', 'ghosts']);
      const [, developers] = teams.body.data;
      assert.deepEqual(developers.relationships.subject, { data: { type: 'teams', id: scene.teams.developers } });
      assert.equal(developers.id, `${scene.teams.developers}:${scene.production}`);
      assert.deepEqual(
        teams.body.data.map(({ attributes }: Json) => attributes.access),
        ['admin', 'write', 'custom', 'custom', 'admin', 'custom', 'maintain'],
      );
    });

    test('an owner holds everything by owners, and what its teams give besides is told too', async () => {
      const { attributes } = await of(owner.get(inProduction()), 'olivia');
      assert.deepEqual(attributes.reasons['workspace-access'].runs, [byPermission('owners', 'owners', 'apply')]);
      assert.equal(attributes.access, 'admin');
      assert.equal(attributes['workspace-access']['policy-overrides'], true);
      assert.equal(attributes['workspace-access'].administration, true);
    });

    test('no access at all to settings or runs is null, and has no reason', async () => {
      const { attributes } = await of(owner.get(inProduction('filter[subject]=teams')), 'surveyors');
      assert.equal(attributes['project-access'].settings, null);
      assert.deepEqual(attributes.reasons['project-access'].settings, []);
      assert.deepEqual(attributes.reasons['workspace-access'].runs, [
        byPermission('surveyors', 'read-workspaces', 'read'),
      ]);
      const vault = await ok(owner.get(on(`projects/${scene.vault}`)));
      assert.deepEqual(namesOf(vault), ['olivia', 'sam', 'gus'], 'an organization-level permission counts everywhere');
      assert.equal(vault.body.data[2].attributes['workspace-access'].runs, null);
      assert.equal(vault.body.data[2].attributes.access, 'custom');
    });

    test('a grant on a workspace is none on its project', async () => {
      assert.equal(await of(owner.get(inProduction()), 'pia'), undefined);
    });

    test('a filter keeps who holds the value or a higher one', async () => {
      const holders = async (filter: string) => namesOf(await ok(owner.get(inProduction(filter))));
      assert.deepEqual(await holders('filter[workspace-access][runs]=apply'), ['olivia', 'dora', 'sam', 'lea', 'gus']);
      assert.deepEqual(await holders('filter[workspace-access][runs]=plan'), ['olivia', 'dora', 'sam', 'lea', 'gus']);
      assert.deepEqual(await holders('filter[project-access][settings]=update'), ['olivia', 'dora', 'lea']);
      assert.deepEqual(await holders('filter[project-access][teams]=read'), ['olivia', 'lea', 'wanda']);
      assert.deepEqual(await holders('filter[workspace-access][administration]=true'), ['olivia', 'lea', 'gus']);
      assert.deepEqual(await holders('filter[workspace-access][policy-overrides]=true'), ['olivia']);
      assert.deepEqual(await holders('filter[subject]=teams&filter[project-access][teams]=manage'), [
        'owners',
        'leads',
      ]);
    });

    test('the lowest value is everybody’s: a filter on it narrows nothing', async () => {
      const { body } = await owner.get(inProduction());
      for (const filter of ['project-access][teams]=none', 'workspace-access][move]=false'])
        assert.deepEqual((await ok(owner.get(inProduction(`filter[${filter}`)))).body.data, body.data);
    });

    test('several filters are met together, be it by different teams', async () => {
      const both = 'filter[project-access][settings]=update&filter[workspace-access][runs]=apply';
      assert.deepEqual(namesOf(await ok(owner.get(inProduction(both)))), ['olivia', 'dora', 'lea']);
      assert.deepEqual(namesOf(await ok(owner.get(inProduction(`${both}&filter[subject]=teams`)))), [
        'owners',
        'leads',
      ]);
    });

    test('pages and totals are of what the filters leave, and the links carry the filters', async () => {
      const query = 'filter[subject]=teams&filter[workspace-access][runs]=apply&page[size]=1&page[number]=2';
      const { body } = await ok(owner.get(inProduction(query)));
      assert.deepEqual(idsOf({ body } as Answer), [`${scene.teams.developers}:${scene.production}`]);
      assert.deepEqual(body.meta.pagination, {
        'current-page': 2,
        'page-size': 1,
        'prev-page': 1,
        'next-page': 3,
        'total-pages': 4,
        'total-count': 4,
      });
      const carried = (link: string) => Object.fromEntries(new URL(link).searchParams);
      const kept = { 'filter[subject]': 'teams', 'filter[workspace-access][runs]': 'apply', 'page[size]': '1' };
      for (const [link, page] of [
        ['self', 2],
        ['first', 1],
        ['prev', 1],
        ['next', 3],
        ['last', 4],
      ] as const) {
        assert.deepEqual(carried(body.links[link]), { ...kept, 'page[number]': `${page}` });
        assert.ok(body.links[link].startsWith(`https://bailiwick.example/api/v2${inProduction()}?`));
      }
      const past = await ok(owner.get(inProduction('page[number]=9')));
      assert.deepEqual([past.body.data, past.body.meta.pagination['total-count']], [[], 6]);
    });

    test('a policy override counts only in a team that has it delegated', async () => {
      const { directory } = scene;
      const project = await directory.project(owner, 'acme', 'overridden');
      const grant = { access: 'custom', 'workspace-access': { 'policy-overrides': true } };
      for (const [name, delegated] of [
        ['delegated', true],
        ['undelegated', false],
      ] as const) {
        const access = { 'organization-access': { 'delegate-policy-overrides': delegated } };
        const team = await directory.team(owner, 'acme', { name, visibility: 'organization', ...access }, ['nora']);
        await directory.grant(owner, project, team, grant);
      }
      const here = (query = '') => on(`projects/${project}`, query);
      const named = 'filter[workspace-access][policy-overrides]=true';
      assert.deepEqual(namesOf(await owner.get(here(`${named}&filter[subject]=teams`))), ['owners', 'delegated']);
      assert.deepEqual(namesOf(await owner.get(here(named))), ['olivia', 'nora']);
      const { attributes } = await of(owner.get(here()), 'nora');
      const [reason, ...more] = attributes.reasons['workspace-access']['policy-overrides'];
      assert.deepEqual([reason['team-name'], reason.value, more], ['delegated', true, []]);
      const narrowed = `${inAcme}&${named}&filter[project][id]=${project}`;
      assert.equal((await ok(owner.get(on(`users/${scene.user('nora')}`, narrowed)))).body.data.length, 1);
      for (const team of ['delegated', 'undelegated']) {
        const id = (await owner.get(`/organizations/acme/teams?filter[names]=${team}`)).body.data[0].id;
        const { body } = await ok(owner.get(on(`teams/${id}`, named)));
        assert.equal(body.data.length, team === 'delegated' ? 1 : 0, team);
        await owner.delete(`/teams/${id}`);
      }
      assert.equal((await owner.delete(`/projects/${project}`)).status, 204);
    });

    test('the document says what each filter may be, and each of these words is taken', async () => {
      const { paths } = (await scene.directory.server.client.send('GET', '/openapi.json')).body;
      let words = 0;
      for (const [path, at] of [
        ['/api/v2/projects/{id}/effective-access', inProduction],
        ['/api/v2/workspaces/{id}/effective-access', inNetwork],
        ['/api/v2/account/effective-access', (query: string) => on('account', `${inAcme}&${query}`)],
      ] as const)
        for (const { name, schema } of paths[path].get.parameters) {
          if (!name.startsWith('filter') || /\[(id|name)\]$/.test(name)) continue;
          for (const word of schema.enum) {
            await ok(owner.get(at(`${name}=${word}`)));
            words++;
          }
        }
      assert.equal(words, 3 * (2 + 35));
    });

    test('400 that names the parameter, for a permission, a value or a subject that there is not', async () => {
      for (const [parameter, value] of [
        ['filter[project-access][runs]', 'read'],
        ['filter[workspace-access][settings]', 'read'],
        ['filter[workspace-access][runs][x]', 'read'],
        ['filter[workspace-access][runs]', 'manage'],
        ['filter[workspace-access][runs]', ''],
        ['filter[workspace-access][runs]', 'null'],
        ['filter[workspace-access][locking]', 'yes'],
        ['filter[project-access][teams]', 'Manage'],
        // Were these ignored, everybody would be listed as if they could apply.
        ['filter[workspace-access]', 'apply'],
        ['filter[workspace_access][runs]', 'apply'],
        ['filter[runs]', 'apply'],
        ['filter[subject]', 'organizations'],
        ['filter[subject]', ''],
        ['page[number]', '0'],
        ['page[size]', 'x'],
      ] as const) {
        await refused(owner.get(inProduction(`${parameter}=${value}`)), 400, parameter);
        await refused(owner.get(inNetwork(`${parameter}=${value}`)), 400, parameter);
      }
      await refused(owner.get(inProduction('filter[subject]=users&filter[subject]=users')), 400, 'filter[subject]');
    });

    test('404 with one body, hidden or absent, whatever is wrong with the query', async () => {
      const absent = await refused(owner.get(on('projects/prj-1111111111111111')), 404);
      for (const [who, path] of [
        ['nora', inProduction()],
        ['nora', inProduction('filter[subject]=nonsense')],
        ['pia', inProduction()],
        ['dora', on(`projects/${scene.vault}`)],
        ['sam', on(`projects/${scene.vault}`)],
        ['dora', on(`workspaces/${scene.safe}`)],
        ['nora', inNetwork()],
      ] as const)
        assert.equal((await refused(scene.actor(who).get(path), 404)).text, absent.text, `${who} ${path}`);
      const stranger = await scene.directory.user('stranger');
      await scene.directory.organization(stranger.actor, 'rival');
      const paths = [
        inProduction(),
        inNetwork(),
        on(`teams/${scene.teams.developers}`),
        on(`users/${scene.user('dora')}`, inAcme),
        on(`users/${scene.user('dora')}`, 'filter[organization][name]=rival'),
        on('account', inAcme),
        on('account', 'filter[organization][name]=absent'),
      ];
      for (const path of paths) assert.equal((await refused(stranger.actor.get(path), 404)).text, absent.text, path);
      const audit = await owner.make('/organizations/acme/authentication-token?token=audit-trails');
      const auditor = scene.directory.actor(audit.attributes.token);
      for (const path of paths.filter(path => !path.includes('=rival')))
        assert.equal((await refused(auditor.get(path), 404)).text, absent.text, path);
    });
  });

  describe('what a caller is told', () => {
    test('a member who sees no grants but its own is told of those, and of what visible teams have in the organization', async () => {
      const dora = scene.actor('dora');
      assert.deepEqual(namesOf(await ok(dora.get(inProduction()))), ['olivia', 'dora', 'sam']);
      const teams = await ok(dora.get(inProduction('filter[subject]=teams')));
      assert.deepEqual(namesOf(teams), ['owners', 'developers', 'editors', 'surveyors']);
      const sam = await of(dora.get(inProduction()), 'sam');
      assert.deepEqual(sam.attributes.reasons['workspace-access'].runs, [
        reason('developers', 'apply'),
        byPermission('surveyors', 'read-workspaces', 'read'),
      ]);
    });

    test('who reads team access is told of the grants of visible teams', async () => {
      const wanda = scene.actor('wanda');
      assert.deepEqual(namesOf(await ok(wanda.get(inProduction()))), ['olivia', 'dora', 'sam', 'lea', 'wanda']);
      const teams = await ok(wanda.get(inProduction('filter[subject]=teams')));
      assert.deepEqual(namesOf(teams), ['owners', 'developers', 'editors', 'surveyors', 'leads', 'watchers']);
    });

    test('who manages team access knows a secret team by its grant alone: no name, no members, nothing else that it has', async () => {
      const lea = scene.actor('lea');
      assert.deepEqual(namesOf(await ok(lea.get(inProduction()))), ['olivia', 'dora', 'sam', 'lea', 'wanda']);
      const { body } = await ok(lea.get(inProduction('filter[subject]=teams')));
      const ghosts = body.data.at(-1);
      assert.equal(ghosts.id, `${scene.teams.ghosts}:${scene.production}`);
      assert.equal(ghosts.attributes['subject-name'], null);
      assert.deepEqual(ghosts.attributes.reasons['project-access'].settings, [
        { ...reason('ghosts', 'read'), 'team-name': null },
      ]);
      await refused(lea.get(on(`teams/${scene.teams.ghosts}`)), 404);
      const gus = await ok(lea.get(on(`users/${scene.user('gus')}`, inAcme)));
      assert.deepEqual([gus.body.data, gus.body.meta.pagination['total-count']], [[], 0]);
    });

    test('everybody is told all of itself, secret teams included', async () => {
      const gus = scene.actor('gus');
      const whole = await of(owner.get(inProduction()), 'gus');
      for (const path of [inProduction(), on(`users/${scene.user('gus')}`, inAcme), on('account', inAcme)]) {
        const { body } = await ok(gus.get(`${path}${path.includes('?') ? '' : '?'}`));
        assert.deepEqual(
          body.data.find(({ id }: Json) => id === whole.id),
          whole,
          path,
        );
      }
    });
  });

  describe('GET workspaces/:id/effective-access', () => {
    test('what the organization, the project and the workspace give is joined, each with its reason', async () => {
      const { attributes, relationships, id } = await of(owner.get(inNetwork()), 'dora');
      assert.equal(id, `${scene.user('dora')}:${scene.network}`);
      assert.deepEqual(attributes.reasons['workspace-access'].runs, [
        reason('developers', 'apply'),
        reason('planners', 'plan', 'workspace'),
        reason('editors', 'read'),
      ]);
      assert.deepEqual(
        [attributes['workspace-name'], attributes['project-name'], attributes.access],
        ['network', 'production', 'write'],
      );
      assert.deepEqual(relationships.workspace, {
        data: { type: 'workspaces', id: scene.network },
        links: { related: `/api/v2/workspaces/${scene.network}` },
      });
      assert.equal(relationships.project.data.id, scene.production);
      const pia = await of(owner.get(inNetwork()), 'pia');
      assert.equal(pia.attributes.access, 'plan', 'the levels are those of workspaces');
      assert.equal(pia.attributes['project-access'].settings, null);
    });

    test('who holds something of the project alone is not listed on its workspace', async () => {
      const { directory } = scene;
      const { id } = await directory.member(owner, 'acme', 'rita');
      const access = { 'organization-access': { 'read-projects': true } };
      const team = await directory.team(owner, 'acme', { name: 'readers', ...access }, ['rita']);
      assert.equal(await of(owner.get(inNetwork()), 'rita'), undefined);
      assert.equal((await of(owner.get(inProduction()), 'rita')).id, `${id}:${scene.production}`);
      assert.equal((await owner.delete(`/teams/${team}`)).status, 204);
    });

    test('a filter on the project’s permissions holds there too', async () => {
      const query = 'filter[project-access][settings]=update';
      assert.deepEqual(namesOf(await ok(owner.get(inNetwork(query)))), ['olivia', 'dora', 'lea']);
      const plan = 'filter[workspace-access][runs]=plan&filter[subject]=teams';
      const teams = ['owners', 'developers', 'planners', 'leads', 'ghosts'];
      assert.deepEqual(namesOf(await ok(owner.get(inNetwork(plan)))), teams);
    });

    test('who does not administer it is told of no grants on it but its own', async () => {
      const { attributes } = await of(scene.actor('sam').get(inNetwork()), 'dora');
      assert.deepEqual(attributes.reasons['workspace-access'].runs, [reason('developers', 'apply')]);
      const teams = await ok(scene.actor('pia').get(inNetwork('filter[subject]=teams')));
      assert.deepEqual(namesOf(teams), ['owners', 'planners', 'surveyors']);
    });
  });

  describe('GET teams/:id/effective-access', () => {
    test('lists the projects where the team holds anything, or with filter[resource]=workspaces the workspaces', async () => {
      const developers = on(`teams/${scene.teams.developers}`);
      assert.deepEqual(placesOf(await ok(owner.get(developers))), ['production']);
      assert.deepEqual(placesOf(await ok(owner.get(`${developers}?filter[resource]=workspaces`))), ['network']);
      const surveyors = on(`teams/${scene.teams.surveyors}`);
      assert.deepEqual(placesOf(await ok(owner.get(surveyors))), ['Default Project', 'production', 'vault']);
      assert.deepEqual(placesOf(await ok(owner.get(`${surveyors}?filter[resource]=workspaces`))), ['network', 'safe']);
    });

    test('lists only places that the caller reads', async () => {
      const seen = await ok(scene.actor('dora').get(on(`teams/${scene.teams.surveyors}`)));
      assert.deepEqual(placesOf(seen), ['production']);
      assert.equal(seen.body.meta.pagination['total-count'], 1);
    });

    test('filters narrow to a project, a workspace, an organization and what is held at least', async () => {
      const surveyors = (query: string) => owner.get(on(`teams/${scene.teams.surveyors}`, query));
      assert.deepEqual(placesOf(await ok(surveyors(`filter[project][id]=${scene.vault}`))), ['vault']);
      assert.deepEqual(placesOf(await ok(surveyors(`filter[workspace][id]=${scene.safe}`))), ['safe']);
      const inside = `filter[project][id]=${scene.vault}&filter[resource]=workspaces`;
      assert.deepEqual(placesOf(await ok(surveyors(inside))), ['safe']);
      const elsewhere = `filter[project][id]=${scene.vault}&filter[workspace][id]=${scene.network}`;
      assert.deepEqual(placesOf(await ok(surveyors(elsewhere))), []);
      assert.deepEqual(placesOf(await ok(surveyors('filter[organization][name]=ACME&page[size]=1'))), [
        'Default Project',
      ]);
      assert.deepEqual(placesOf(await ok(surveyors('filter[organization][name]=rival'))), []);
      assert.deepEqual(placesOf(await ok(surveyors('filter[workspace-access][runs]=plan'))), []);
      await refused(
        surveyors(`filter[workspace][id]=${scene.safe}&filter[resource]=projects`),
        400,
        'filter[resource]',
      );
      await refused(surveyors('filter[resource]=teams'), 400, 'filter[resource]');
      await refused(surveyors('filter[subject]=users'), 400, 'filter[subject]');
    });

    test('create in the default project is found by manage-workspaces there, and nowhere else', async () => {
      const access = { 'organization-access': { 'manage-workspaces': true } };
      const team = await scene.directory.team(owner, 'acme', { name: 'makers', ...access }, ['nora']);
      const create = 'filter[workspace-access][create]=true';
      for (const path of [on(`teams/${team}`, create), on(`users/${scene.user('nora')}`, `${inAcme}&${create}`)])
        assert.deepEqual(placesOf(await ok(owner.get(path))), ['Default Project']);
      assert.deepEqual(namesOf(await ok(owner.get(inProduction(create)))), ['olivia', 'lea', 'gus']);
      assert.equal((await owner.delete(`/teams/${team}`)).status, 204);
    });

    test('404 for a secret team, a foreign one and an absent one alike', async () => {
      const absent = await refused(owner.get(on('teams/team-1111111111111111')), 404);
      const secret = await refused(scene.actor('dora').get(on(`teams/${scene.teams.ghosts}`)), 404);
      assert.equal(secret.text, absent.text);
    });
  });

  describe('GET users/:id/effective-access', () => {
    test('an organization must be named, unless a place is', async () => {
      const dora = (query: string) => owner.get(on(`users/${scene.user('dora')}`, query));
      await refused(dora(''), 400, 'filter[organization][name]');
      assert.deepEqual(placesOf(await ok(dora(inAcme))), ['production']);
      assert.deepEqual(placesOf(await ok(dora('filter[organization][name]=Acme&filter[resource]=workspaces'))), [
        'network',
      ]);
      assert.deepEqual(placesOf(await ok(dora(`filter[project][id]=${scene.production}`))), ['production']);
      assert.deepEqual(placesOf(await ok(dora(`filter[workspace][id]=${scene.network}`))), ['network']);
    });

    test('a place of another organization than the named one is none', async () => {
      await scene.directory.organization(owner, 'second');
      const { body } = await owner.get('/organizations/second/projects');
      const query = `filter[organization][name]=acme&filter[project][id]=${body.data[0].id}`;
      for (const path of [`users/${scene.user('olivia')}`, 'account']) {
        assert.deepEqual(placesOf(await ok(owner.get(on(path, query)))), []);
        const second = query.replace('acme', 'second');
        assert.deepEqual(placesOf(await ok(owner.get(on(path, second)))), ['Default Project']);
      }
    });

    test('a place that is hidden is as one that is absent: 404 by itself, none of a named organization', async () => {
      const dora = scene.actor('dora');
      const path = (query: string) => on(`users/${scene.user('sam')}`, query);
      for (const [filter, hidden, absent] of [
        ['filter[project][id]', scene.vault, 'prj-1111111111111111'],
        ['filter[workspace][id]', scene.safe, 'ws-1111111111111111'],
      ]) {
        const [one, other] = [hidden, absent].map(id => refused(dora.get(path(`${filter}=${id}`)), 404));
        assert.equal((await one)?.text, (await other)?.text);
        for (const id of [hidden, absent])
          assert.deepEqual(placesOf(await ok(dora.get(path(`${inAcme}&${filter}=${id}`)))), []);
      }
    });

    test('who reads workspaces but not their project finds them by it, and is not told what it is called', async () => {
      const query = `${inAcme}&filter[resource]=workspaces&filter[project][id]=${scene.vault}`;
      const { actor, id } = scene.people.sam as Member;
      assert.deepEqual(placesOf(await ok(actor.get(on(`users/${id}`, query)))), ['safe']);
      assert.deepEqual(placesOf(await ok(actor.get(on('account', query)))), ['safe']);
      for (const path of [on('account', query), on(`workspaces/${scene.safe}`)]) {
        const { attributes, relationships } = (await ok(actor.get(path))).body.data.at(-1);
        assert.deepEqual([attributes['project-name'], relationships.project.data.id], [null, scene.vault], path);
      }
    });

    test('404 for a user who is no member, and for one who is not there', async () => {
      const { id } = await scene.directory.user('outside');
      const outside = await refused(owner.get(on(`users/${id}`, inAcme)), 404);
      const absent = await refused(owner.get(on('users/user-1111111111111111', inAcme)), 404);
      assert.equal(outside.text, absent.text);
      await refused(scene.directory.admin.get(on(`users/${scene.user('dora')}`, inAcme)), 404);
    });

    test('a member without teams holds nothing', async () => {
      const { body } = await ok(owner.get(on(`users/${scene.user('nora')}`, inAcme)));
      assert.deepEqual([body.data, body.meta.pagination['total-count']], [[], 0]);
    });

    test('links carry every filter', async () => {
      const query = `${inAcme}&filter[resource]=workspaces&filter[project][id]=${scene.production}&filter[workspace-access][runs]=read`;
      const { body } = await ok(owner.get(on(`users/${scene.user('dora')}`, query)));
      const carried = Object.fromEntries(new URL(body.links.self).searchParams);
      assert.deepEqual(carried, {
        ...Object.fromEntries(new URLSearchParams(query)),
        'page[number]': '1',
        'page[size]': '20',
      });
    });
  });

  describe('GET account/effective-access', () => {
    test('a user is told what it holds in an organization, which must be named', async () => {
      const dora = scene.actor('dora');
      await refused(dora.get(on('account')), 400, 'filter[organization][name]');
      const account = await ok(dora.get(on('account', inAcme)));
      const user = await ok(owner.get(on(`users/${scene.user('dora')}`, inAcme)));
      assert.deepEqual(account.body.data, user.body.data);
    });

    test('the token of a team is the team, in the one organization that it has', async () => {
      const { attributes } = await owner.make(`/teams/${scene.teams.developers}/authentication-token`);
      const token = scene.directory.actor(attributes.token);
      const account = await ok(token.get(on('account')));
      assert.deepEqual(account.body.data, (await owner.get(on(`teams/${scene.teams.developers}`))).body.data);
      assert.deepEqual(placesOf(await ok(token.get(on('account', 'filter[organization][name]=second')))), []);
    });

    test('the token of an organization holds everything in it, by itself', async () => {
      const { attributes } = await owner.make('/organizations/acme/authentication-token');
      const token = scene.directory.actor(attributes.token);
      const account = await ok(token.get(on('account')));
      assert.deepEqual(placesOf(account), ['Default Project', 'production', 'vault']);
      const [first] = account.body.data;
      assert.equal(first.attributes['subject-name'], 'acme');
      assert.deepEqual(first.relationships.subject, { data: { type: 'organizations', id: 'acme' } });
      assert.deepEqual(first.attributes.reasons['project-access'].teams, [
        {
          scope: 'organization',
          'team-id': null,
          'team-name': null,
          'grant-id': null,
          'organization-permission': 'organization-token',
          value: 'manage',
        },
      ]);
      const workspaces = on('account', 'filter[resource]=workspaces&filter[workspace-access][administration]=true');
      assert.deepEqual(placesOf(await ok(token.get(workspaces))), ['network', 'safe']);
    });

    test('401 to a user where the organization takes no tokens of users', async () => {
      const open = (enabled: boolean) =>
        token.patch('/organizations/acme', { attributes: { 'user-tokens-enabled': enabled } });
      const { attributes } = await owner.make('/organizations/acme/authentication-token');
      const token = scene.directory.actor(attributes.token);
      assert.equal((await open(false)).status, 200);
      for (const path of [inProduction(), on('account', inAcme), on(`teams/${scene.teams.developers}`)])
        await refused(owner.get(path), 401);
      assert.equal((await open(true)).status, 200);
    });

    test('whoever is in thousands of teams is answered as anybody else', async () => {
      const { id, actor } = await scene.directory.member(owner, 'acme', 'max');
      await scene.directory.server.store.write(async tx => {
        const [membership, organization] = (await tx.row<[string, string]>(sql`
          select id, organization_id
          from organization_memberships
          where user_id = ${id}`)) as [string, string];
        for (let number = 0; number < 2_100; number++) {
          const team = `team-crowd${number}`;
          await tx.run(sql`
            insert into teams (
              id, organization_id, name, visibility, allow_member_token_management, organization_access, created_at
            )
            values (${team}, ${organization}, ${`crowd${number}`}, 'organization', 0, 0, '2026-01-01T00:00:00.000Z')`);
          await tx.run(sql`
            insert into team_memberships (organization_id, team_id, membership_id, created_at)
            values (${organization}, ${team}, ${membership}, '2026-01-01T00:00:00.000Z')`);
        }
      });
      await scene.directory.workspaceGrant(owner, scene.safe, 'team-crowd7', { access: 'plan' });
      const workspaces = `${inAcme}&filter[resource]=workspaces`;
      for (const path of [on('account', workspaces), on(`users/${id}`, workspaces)])
        assert.deepEqual(placesOf(await ok(actor.get(path))), ['safe']);
    });
  });
});
