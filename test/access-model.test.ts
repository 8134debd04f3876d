/** The page on the access model is true: its tables are those of the code, and its examples come out as it says. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { allPermissions, type Kind, onProjects, onWorkspaces, type Permission, valueIn } from '../src/core/access.ts';
import type { Json } from './support/client.ts';
import { rowsAfter } from './support/markdown.ts';
import { type Actor, type Directory, newDirectory } from './support/world.ts';

const page = readFileSync(new URL('../docs/access-model.md', import.meta.url), 'utf8');

const named = (name = ''): Permission => {
  const permission = allPermissions.find(permission => permission.name === name);
  assert.ok(permission, name);
  return permission;
};

test('the ladders are those of the code, every one of them', () => {
  const rows = rowsAfter(page, '## Permissions').flatMap(([names = '', steps = '']) => {
    const [first = '', ...others] = names.split(', ');
    const [group] = first.split('.');
    return [first, ...others.map(key => `${group}.${key}`)].map(name => ({ name, steps: steps.split(' < ') }));
  });
  assert.deepEqual(rows.map(({ name }) => name).toSorted(), allPermissions.map(({ name }) => name).toSorted());
  for (const { name, steps } of rows)
    assert.deepEqual(
      steps,
      named(name).chain.map(value => (value === null ? 'no access' : `${value}`)),
      name,
    );
});

const holdsTable = <L extends string>(heading: string, { levels, impliedBy, changed, granted }: Kind<L>) => {
  const rows = rowsAfter(page, heading);
  const given = levels.reduce((all, level) => all | impliedBy(level), 0);
  const fresh = changed(undefined, { access: 'custom', values: [] });
  assert.ok(!('refused' in fresh));
  for (const [name = '', ...cells] of rows) {
    const permission = named(name);
    const defaultOf: string = permission.key === 'administration' ? 'never' : `${valueIn(granted(fresh), permission)}`;
    assert.deepEqual(cells, [...levels.map(level => `${valueIn(impliedBy(level), permission)}`), defaultOf], name);
  }
  const told = rows.map(([name]) => named(name));
  assert.ok(allPermissions.every(permission => (given & permission.mask) === 0 || told.includes(permission)));
};

test('the tables of levels are those of the code', () => {
  holdsTable('**1. A grant on the project**', onProjects);
  holdsTable('**2. A grant on one workspace**', onWorkspaces);
});

describe('the examples', () => {
  let directory: Directory;
  let owner: Actor;
  const people = new Map<string, { id: string; actor: Actor }>();
  before(async () => {
    directory = await newDirectory();
    ({ actor: owner } = await directory.user('owner'));
    await directory.organization(owner, 'acme');
    for (const name of ['ada', 'grace', 'linus', 'margaret'])
      people.set(name, await directory.member(owner, 'acme', name));
  });
  after(() => directory.server.close());

  const person = (name: string) => people.get(name) as { id: string; actor: Actor };
  const newProject = (name: string) => directory.project(owner, 'acme', name);
  const team = (name: string, members: string[], attributes: Json = {}) =>
    directory.team(owner, 'acme', { name, visibility: 'organization', ...attributes }, members);

  /** The effective access of somebody in a place, as a caller sees it. */
  const accessOf = async (name: string, place: string, caller = owner): Promise<Json> => {
    const kind = place.startsWith('ws-') ? 'workspaces' : 'projects';
    const { body } = await caller.get(`/${kind}/${place}/effective-access`);
    return body.data.find((each: Json) => each.relationships.subject.data.id === person(name).id).attributes;
  };
  const shownIn = (attributes: Json, name = ''): string => {
    const { group, key } = named(name);
    return `${attributes[group][key]}`;
  };
  const reasonsOf = (attributes: Json, name = ''): Json[] => {
    const { group, key } = named(name);
    return attributes.reasons[group][key];
  };
  /** What one origin gives of a permission, or its lowest value where it is no reason. */
  const by = (attributes: Json, name: string, origin: (reason: Json) => boolean): string =>
    `${reasonsOf(attributes, name).find(origin)?.value ?? named(name).chain[0] ?? 'none'}`;

  test('an organization-level permission above a read grant', async () => {
    const project = await newProject('first');
    const platform = await team('platform', ['ada'], { 'organization-access': { 'manage-projects': true } });
    const grant = await directory.grant(owner, project, platform, { access: 'read' });
    const access = await accessOf('ada', project);
    const rows = rowsAfter(page, '### An organization-level permission above');
    assert.equal(rows.length, 4);
    for (const [name = '', byPermission, byGrant, effective] of rows) {
      assert.equal(shownIn(access, name), effective, name);
      assert.equal(
        by(access, name, reason => reason['organization-permission'] === 'manage-projects'),
        byPermission,
        name,
      );
      assert.equal(
        by(access, name, reason => reason['grant-id'] === grant),
        byGrant,
        name,
      );
    }
    assert.equal(access.access, 'admin');
    assert.equal(reasonsOf(access, 'workspace-access.runs').length, 2);
  });

  test('two teams, neither of which is enough', async () => {
    const project = await newProject('second');
    const custom = (workspace: Json) => ({ access: 'custom', 'workspace-access': workspace });
    const planners = await team('planners', ['grace']);
    const keepers = await team('keepers', ['grace']);
    await directory.grant(owner, project, planners, custom({ runs: 'plan' }));
    await directory.grant(owner, project, keepers, custom({ variables: 'write' }));
    const access = await accessOf('grace', project);
    const rows = rowsAfter(page, '### Two teams, neither of which is enough');
    assert.equal(rows.length, 4);
    for (const [name = '', byPlanners, byKeepers, effective] of rows) {
      assert.equal(shownIn(access, name), effective, name);
      assert.equal(
        by(access, name, reason => reason['team-id'] === planners),
        byPlanners,
        name,
      );
      assert.equal(
        by(access, name, reason => reason['team-id'] === keepers),
        byKeepers,
        name,
      );
    }
    assert.equal(access.access, 'custom');
    for (const [filter, found] of [
      ['runs]=plan', 1],
      ['variables]=write', 1],
      ['runs]=apply', 0],
    ] as const) {
      const { body } = await owner.get(
        `/users/${person('grace').id}/effective-access?filter[project][id]=${project}&filter[workspace-access][${filter}`,
      );
      assert.equal(body.data.length, found, filter);
    }
  });

  test('one workspace, and a secret team', async () => {
    const project = await newProject('third');
    const network = await directory.workspace(owner, 'acme', 'network', project);
    const devs = await team('devs', ['linus', 'margaret']);
    const nightShift = await team('night-shift', ['linus'], { visibility: 'secret' });
    await directory.grant(owner, project, devs, { access: 'write' });
    await directory.workspaceGrant(owner, network, nightShift, { access: 'admin' });
    const rows = rowsAfter(page, '### One workspace, and a secret team');
    assert.equal(rows.length, 4);
    for (const [place = '', name = '', byDevs, byNightShift, linus, margaret] of rows) {
      const at = place.startsWith('project') ? project : network;
      const access = await accessOf('linus', at);
      assert.equal(shownIn(access, name), linus, name);
      assert.equal(shownIn(await accessOf('margaret', at), name), margaret, name);
      assert.equal(
        by(access, name, reason => reason['team-id'] === devs),
        byDevs,
        name,
      );
      if (byNightShift !== '')
        assert.equal(
          by(access, name, reason => reason['team-id'] === nightShift),
          byNightShift,
          name,
        );
    }
    assert.equal((await accessOf('linus', project)).access, 'write');
    assert.equal((await accessOf('linus', network)).access, 'admin');
    const toMargaret = await accessOf('linus', network, person('margaret').actor);
    assert.equal(toMargaret['workspace-access']['run-tasks'], false);
    assert.ok(!JSON.stringify(toMargaret).includes(nightShift));
    const toLinus = await accessOf('linus', network, person('linus').actor);
    assert.deepEqual(toLinus, await accessOf('linus', network));
  });
});
