/** A check, the list of effective access, the three searches and the API itself agree: for everybody, everywhere, in random worlds. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { actions } from '../src/core/actions.ts';
import { law, type Need, reaches } from './support/action-law.ts';
import type { Json } from './support/client.ts';
import { Dice, inFull, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { flagNames, type Project, RandomWorld, type Workspace } from './support/random-world.ts';
import { startServer, type TestServer } from './support/server.ts';
import { type Actor, Directory } from './support/world.ts';

const worlds = inFull ? 40 : 3;

let server: TestServer;
before(async () => {
  server = await startServer({ seed: testSeed });
});
after(() => server.close());

type Named = { readonly type: string; readonly id: string };

const isMet = (attributes: Json, need: Need): boolean => reaches(attributes?.[need[0]]?.[need[1]], need);

test('the tables of actions are those of the specification', () => {
  for (const type of ['project', 'workspace'] as const)
    assert.deepEqual(Object.keys(actions[type]).sort(), Object.keys(law[type] ?? {}).sort());
});

// A world, and everybody in it

const populated = async (directory: Directory, dice: Dice, prefix: string): Promise<RandomWorld> => {
  const world = new RandomWorld(directory, dice, prefix);
  const owner = await world.person('owner');
  const members = [await world.person('one'), await world.person('two'), await world.person('three')];
  const organization = await world.organization(owner, 'org');
  for (const { email } of members) await world.member(organization, email);
  await world.member(organization, `${prefix}@guest.example`);
  for (let count = 4; count > 0; count--)
    await world.team(organization, {
      members: dice.some(members, 0.5),
      flags: dice.some([...flagNames, 'delegate-policy-overrides'], dice.pick([0, 0, 0.1, 0.25])),
    });
  for (let count = 2; count > 0; count--) await world.project(organization);
  for (const project of world.projects)
    for (const team of dice.some(world.teams, 0.4)) await world.grant(project, team);
  for (let count = 3; count > 0; count--) {
    const workspace = await world.workspace(dice.pick(world.projects));
    for (const team of dice.some(world.teams, 0.3)) await world.workspaceGrant(workspace, team);
  }
  return world;
};

/** Somebody asked about, and whoever asks about itself with that name. */
type Subject = Named & { readonly actor: Actor };

const subjectsIn = async (world: RandomWorld): Promise<Subject[]> => {
  const users = world.people.map(({ id, token }) => ({ type: 'user', id, actor: world.as(token) }));
  const teams = [];
  for (const team of world.teams)
    teams.push({ type: 'team', id: team.id, actor: world.as((await world.teamToken(team)).secret) });
  return [...users, ...teams];
};

class World {
  readonly world: RandomWorld;
  readonly subjects: readonly Subject[];
  readonly resources: readonly Named[];
  readonly organization: string;
  readonly owner: Actor;
  readonly where: string;
  /** What the checks said, by subject, resource and action. */
  readonly checked = new Map<string, boolean>();

  constructor(world: RandomWorld, subjects: readonly Subject[], where: string) {
    this.world = world;
    this.subjects = subjects;
    this.organization = world.organizations[0]?.name ?? '';
    this.owner = world.ownerOf(this.organization);
    this.where = where;
    const all = (type: string, rows: readonly { readonly id: string }[]) => rows.map(({ id }) => ({ type, id }));
    this.resources = [
      { type: 'organization', id: this.organization },
      ...all('project', world.projects),
      ...all('workspace', world.workspaces),
      ...all('team-project', world.grants),
    ];
  }

  key(subject: Named, resource: Named, action: string): string {
    return `${subject.type} ${subject.id} ${action} ${resource.type} ${resource.id}`;
  }

  async asked(actor: Actor, path: string, question: Json): Promise<Json> {
    const { status, body, text } = await actor.ask(this.organization, path, question);
    assert.equal(status, 200, `${this.where}: ${text}`);
    return body;
  }

  /** All results, by pages of any size. */
  async found(actor: Actor, path: string, question: Json, limit?: number): Promise<Set<string>> {
    const results: string[] = [];
    let token = '';
    do {
      const page = { ...(limit && { limit }), ...(token && { token }) };
      const body = await this.asked(actor, `search/${path}`, { ...question, page });
      results.push(...body.results.map(({ id, name }: Json) => id ?? name));
      token = body.page.next_token;
    } while (token !== '');
    assert.equal(new Set(results).size, results.length, `${this.where}: nothing is found twice`);
    return new Set(results);
  }

  /** Every check, asked by the owner; and by the subject about itself, which must hear the same. */
  async check(): Promise<void> {
    for (const { actor, ...subject } of this.subjects)
      for (const resource of this.resources) {
        const names = Object.keys(actions[resource.type as keyof typeof actions]);
        const question = { subject, resource, evaluations: names.map(name => ({ action: { name } })) };
        const { evaluations } = await this.asked(this.owner, 'evaluations', question);
        const itself = await this.asked(actor, 'evaluations', question);
        for (const [index, name] of names.entries()) {
          const { decision, context } = evaluations[index];
          const { revision, ...told } = context;
          const own = itself.evaluations[index];
          delete own.context.revision;
          assert.deepEqual(own, { decision, context: told }, `${this.where}: ${name} by itself`);
          assert.equal(decision, (context.reasons?.length ?? 0) > 0, `${this.where}: a permit has reasons`);
          assert.equal(decision, context.missing === undefined, `${this.where}: a deny has what is missing`);
          this.checked.set(this.key(subject, resource, name), decision);
        }
      }
  }

  isPermitted(subject: Named, resource: Named, action: string): boolean {
    return this.checked.get(this.key(subject, resource, action)) ?? false;
  }

  /** Effective access, as the lists show it to the owner, makes each check what it is. */
  async compareLists(): Promise<number> {
    let compared = 0;
    for (const resource of this.resources.filter(({ type }) => type in law))
      for (const kind of ['user', 'team']) {
        const path = `/${resource.type}s/${resource.id}/effective-access?filter[subject]=${kind}s&page[size]=100`;
        const { status, body } = await this.owner.get(path);
        assert.equal(status, 200);
        const held = new Map(body.data.map((row: Json) => [row.relationships.subject.data.id, row.attributes]));
        for (const subject of this.subjects.filter(({ type }) => type === kind))
          for (const [name, ways] of Object.entries(law[resource.type] ?? {})) {
            const expected = ways.some(way => isMet(held.get(subject.id), way));
            const what = `${this.where}: ${this.key(subject, resource, name)}`;
            assert.equal(this.isPermitted(subject, resource, name), expected, `${what} by effective access`);
            compared++;
          }
      }
    return compared;
  }

  async compareSearches(dice: Dice): Promise<number> {
    const size = () => dice.pick([undefined, 1, 2, 1000]);
    let compared = 0;
    const same = (found: Set<string>, expected: readonly string[], what: string) => {
      assert.deepEqual([...found].sort(), expected.toSorted(), `${this.where}: ${what}`);
      compared++;
    };
    for (const resource of this.resources)
      for (const name of Object.keys(actions[resource.type as keyof typeof actions]))
        for (const type of ['user', 'team']) {
          const question = { subject: { type }, action: { name }, resource };
          const may = this.subjects.filter(each => each.type === type && this.isPermitted(each, resource, name));
          const found = await this.found(this.owner, 'subject', question, size());
          same(
            found,
            may.map(({ id }) => id),
            `which ${type}s may ${name} ${resource.type} ${resource.id}`,
          );
        }
    for (const { actor, ...subject } of this.subjects)
      for (const [type, table] of Object.entries(actions))
        for (const name of Object.keys(table)) {
          const may = this.resources.filter(each => each.type === type && this.isPermitted(subject, each, name));
          const asker = dice.pick([actor, this.owner]);
          const found = await this.found(asker, 'resource', { subject, action: { name }, resource: { type } }, size());
          same(
            found,
            may.map(({ id }) => id),
            `which ${type}s ${subject.type} ${subject.id} may ${name}`,
          );
        }
    for (const { actor, ...subject } of this.subjects)
      for (const resource of this.resources) {
        const names = Object.keys(actions[resource.type as keyof typeof actions]);
        const found = await this.found(dice.pick([actor, this.owner]), 'action', { subject, resource }, size());
        same(
          found,
          names.filter(name => this.isPermitted(subject, resource, name)),
          `what ${subject.type} ${subject.id} may do to ${resource.type} ${resource.id}`,
        );
      }
    return compared;
  }

  /** What the API does for the subject itself: with a tag that never holds, an unsound body or a dry run, nothing is done. */
  async compareApi(): Promise<number> {
    let compared = 0;
    for (const subject of this.subjects)
      for (const resource of this.resources)
        for (const [name, may] of Object.entries(this.attempts(subject.actor, resource))) {
          const what = `${this.where}: ${this.key(subject, resource, name)}`;
          assert.equal(await may(), this.isPermitted(subject, resource, name), `${what} by the API`);
          compared++;
        }
    return compared + (await this.compareMoves());
  }

  attempts(actor: Actor, { type, id }: Named): Record<string, () => Promise<boolean>> {
    const stale = { 'if-match': '"stale"' };
    /** Whether it is refused for no other reason than that it is not permitted. */
    const done = async (answer: ReturnType<Actor['get']>, ...permitted: number[]): Promise<boolean> => {
      const { status, text } = await answer;
      assert.ok([404, ...permitted].includes(status), `answered ${status}: ${text}`);
      return status !== 404;
    };
    const relating = (name: string) => ({ relationships: { [name]: { data: { type: `${name}s`, id } } } });
    const inside = `/organizations/${this.organization}`;
    const each = (path: string) => ({
      read: () => done(actor.get(path), 200),
      update: () => done(actor.patch(path, undefined, stale), 412),
      delete: () => done(actor.delete(path, undefined, stale), 412),
    });
    const made =
      (path: string, data: Json = {}) =>
      () =>
        done(actor.post(path, data), 422);
    switch (type) {
      case 'organization': {
        const { read, update } = each(inside);
        return {
          ...{ read, update, 'create-project': made(`${inside}/projects`), 'create-team': made(`${inside}/teams`) },
          'manage-membership': made(`${inside}/organization-memberships`),
        };
      }
      case 'project':
        return {
          ...each(`/projects/${id}`),
          'manage-teams': made('/team-projects', relating('project')),
          'create-workspace': made(`${inside}/workspaces`, relating('project')),
        };
      case 'workspace': {
        const { read, delete: remove } = each(`/workspaces/${id}`);
        return {
          ...{ read, delete: remove },
          lock: () => done(actor.post(`/workspaces/${id}/actions/lock?dry-run=true`), 200),
          'manage-team-access': made('/team-workspaces', relating('workspace')),
        };
      }
      default:
        return each(`/team-projects/${id}`);
    }
  }

  /** A workspace is moved by whoever may do so in both projects. */
  async compareMoves(): Promise<number> {
    const { projects, workspaces } = this.world;
    let compared = 0;
    const compare = async (
      { actor, ...subject }: Subject,
      { id, project }: Workspace,
      { id: destination }: Project,
    ) => {
      const action = { name: 'move-workspace', properties: { destination } };
      const question = { subject, action, resource: { type: 'project', id: project } };
      const { decision } = await this.asked(actor, 'evaluation', question);
      const path = `/projects/${destination}/relationships/workspaces?dry-run=true`;
      const { status, text } = await actor.post(path, [{ type: 'workspaces', id }]);
      assert.ok([200, 403, 404].includes(status), text);
      assert.equal(status === 200, decision, `${this.where}: ${subject.id} moves ${id} to ${destination}: ${text}`);
      compared++;
    };
    for (const subject of this.subjects)
      for (const workspace of workspaces)
        for (const project of projects.filter(({ id }) => id !== workspace.project))
          await compare(subject, workspace, project);
    return compared;
  }
}

test(`checks, lists, searches and the API agree for everybody, everywhere, in ${worlds} random worlds`, async t => {
  printSeed(t);
  const directory = new Directory(server);
  const counts = { checks: 0, permits: 0, lists: 0, searches: 0, api: 0 };
  for (let number = 0; number < worlds; number++) {
    const dice = new Dice(testSeed + number * 100);
    const random = await populated(directory, dice, `w${number}`);
    const world = new World(random, await subjectsIn(random), `${toRepeat}, world ${number}`);
    await world.check();
    counts.checks += world.checked.size;
    counts.permits += [...world.checked.values()].filter(Boolean).length;
    counts.lists += await world.compareLists();
    counts.searches += await world.compareSearches(dice);
    counts.api += await world.compareApi();
  }
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.permits > counts.checks / 10 && counts.permits < (9 * counts.checks) / 10, 'neither answer is rare');
});
