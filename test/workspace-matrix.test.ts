/** Fourteen callers by five operations by states: who sees and changes team access to a workspace, in one table. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer, type TestServer } from './support/server.ts';
import { type Actor, Directory, workspaceGrantBody } from './support/world.ts';

/**
 * Workspace `network` in project `production` has these rows: `admins` (admin), `writers` (write), `planners` (plan) and the
 * secret team `ghosts` (read). On the project are `leads` (admin), `keepers` (maintain) and `stewards` (custom, teams =
 * manage). Without a row are `idle` (visible), `shadow` (secret), and `foreign`, a team of another organization.
 *
 * list: the rows seen, by the first letter of the team. Other cells: the status.
 * A body is bad when its level is unknown; a workspace or a row is absent when its id belongs to nothing.
 */
// biome-ignore format: a table, to be checked against the document
const matrix = `
                                           | list      show            | POST                                          | PATCH                       | DELETE
caller                                     | rows      writers ghosts  | idle shadow foreign again bad(body) absent    | writers ghosts bad absent   | writers ghosts absent
owner                                      | a w p g   200     200     | 200  200    404     422   422       404       | 200     200    422 404      | 204     204    404
organization token                         | a w p g   200     200     | 200  200    404     422   422       404       | 200     200    422 404      | 204     204    404
owners-team token                          | a w p g   200     200     | 200  200    404     422   422       404       | 200     200    422 404      | 204     204    404
workspace admin                            | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
project admin                              | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
project maintainer                         | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
holder of manage-workspaces                | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
holder of teams = manage                   | - - - -   404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
holder of read-workspaces                  | - - - -   404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
member of a visible team with access       | - w - -   200     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
member of a secret team                    | - - - g   404     200     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
plain member                               | 404       404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
member of another organization             | 404       404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
revoked token                              | 401       401     401     | 401  401    401     401   401       401       | 401     401    401 401      | 401     401    401
`;

type World = {
  readonly workspace: string;
  readonly teams: Readonly<Record<string, string>>;
  readonly rows: Readonly<Record<string, string>>;
  readonly callers: Readonly<Record<string, Actor>>;
};

let worlds = 0;

const newWorld = async (server: TestServer): Promise<World> => {
  const directory = new Directory(server);
  const here = `here-${worlds++}`;
  const there = `there-${worlds}`;
  const name = (user: string) => `${user}-${worlds}`;
  const { actor: owner } = await directory.user(name('owner'));
  const { actor: stranger } = await directory.user(name('stranger'));
  await directory.organization(owner, here);
  await directory.organization(stranger, there);
  const project = await directory.project(owner, here, 'production');
  const workspace = await directory.workspace(owner, here, 'network', project);

  const teams: Record<string, string> = {};
  const members: Record<string, Actor> = {};
  const settle = async (team: string, visibility = 'organization', access: readonly string[] = []) => {
    members[team] = (await directory.member(owner, here, name(team))).actor;
    const held = Object.fromEntries(access.map(permission => [permission, true]));
    const attributes = { name: team, visibility, 'organization-access': held };
    teams[team] = await directory.team(owner, here, attributes, [name(team)]);
    return teams[team];
  };
  const rows: Record<string, string> = {};
  for (const [team, access] of Object.entries({
    admins: 'admin',
    writers: 'write',
    planners: 'plan',
    ghosts: 'read',
  })) {
    const id = await settle(team, team === 'ghosts' ? 'secret' : 'organization');
    rows[team] = await directory.workspaceGrant(owner, workspace, id, { access });
  }
  await directory.grant(owner, project, await settle('leads'), { access: 'admin' });
  await directory.grant(owner, project, await settle('keepers'), { access: 'maintain' });
  const managing = { access: 'custom', 'project-access': { teams: 'manage' } };
  await directory.grant(owner, project, await settle('stewards'), managing);
  await settle('managers', 'organization', ['manage-workspaces']);
  await settle('readers', 'organization', ['read-workspaces']);
  teams.idle = await directory.team(owner, here, { name: 'idle', visibility: 'organization' });
  teams.shadow = await directory.team(owner, here, { name: 'shadow', visibility: 'secret' });
  teams.foreign = await directory.team(stranger, there, { name: 'foreign', visibility: 'organization' });

  const { body } = await owner.get(`/organizations/${here}/teams`);
  const owners = body.data.find((team: { attributes: { name: string } }) => team.attributes.name === 'owners').id;
  const tokenFrom = async (path: string) => directory.actor((await owner.make(path)).attributes.token);
  const revoked = await owner.make(`/teams/${owners}/authentication-tokens`);
  await owner.delete(`/authentication-tokens/${revoked.id}`);
  const of = (team: string) => members[team] as Actor;
  return {
    workspace,
    teams,
    rows,
    callers: {
      owner,
      'organization token': await tokenFrom(`/organizations/${here}/authentication-token`),
      'owners-team token': await tokenFrom(`/teams/${owners}/authentication-token`),
      'workspace admin': of('admins'),
      'project admin': of('leads'),
      'project maintainer': of('keepers'),
      'holder of manage-workspaces': of('managers'),
      'holder of teams = manage': of('stewards'),
      'holder of read-workspaces': of('readers'),
      'member of a visible team with access': of('writers'),
      'member of a secret team': of('ghosts'),
      'plain member': (await directory.member(owner, here, name('plain'))).actor,
      'member of another organization': stranger,
      'revoked token': directory.actor(revoked.attributes.token),
    },
  };
};

/** What the table says of one caller: a list cell, and the other cells in order. */
const expectations = matrix
  .trim()
  .split('\n')
  .slice(2)
  .map(line => {
    const [caller = '', list = '', ...rest] = line.split('|').map(part => part.trim().replace(/\s+/g, ' '));
    const statuses = list.match(/\d{3}/g) ?? [];
    const [rows] = list.match(/^[a-z-]( [a-z-]){3}/) ?? [];
    return {
      caller,
      list: rows ?? statuses.shift(),
      shows: statuses.join(' '),
      posts: rest[0],
      patches: rest[1],
      deletes: rest[2],
    };
  });

const order = ['admins', 'writers', 'planners', 'ghosts'];

describe('the matrix of team access to workspaces', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.close());

  test('has fourteen callers', () => assert.equal(expectations.length, 14));

  for (const { caller, list, shows, posts, patches, deletes } of expectations)
    describe(caller, () => {
      let world: World;
      let actor: Actor;
      before(async () => {
        world = await newWorld(server);
        actor = world.callers[caller] as Actor;
        assert.ok(actor, `the world has a ${caller}`);
      });
      const absent = '/team-workspaces/tws-1111111111111111';
      const row = (team: string) => `/team-workspaces/${world.rows[team]}`;
      const statuses = async (calls: (() => Promise<{ status: number }>)[]): Promise<string> => {
        const seen = [];
        for (const call of calls) seen.push((await call()).status);
        return seen.join(' ');
      };

      test(`lists ${list}`, async () => {
        const { status, body } = await actor.get(`/team-workspaces?filter[workspace][id]=${world.workspace}`);
        if (status !== 200) return assert.equal(`${status}`, list);
        const seen = new Set(body.data.map(({ id }: { id: string }) => id));
        assert.equal(order.map(team => (seen.has(world.rows[team]) ? team[0] : '-')).join(' '), list);
        assert.equal(body.meta.pagination['total-count'], seen.size);
      });

      test(`shows writers and ghosts: ${shows}`, async () => {
        assert.equal(await statuses(['writers', 'ghosts'].map(team => () => actor.get(row(team)))), shows);
      });

      test(`PATCH of writers, ghosts, with a bad body, of an absent row: ${patches}`, async () => {
        const access = (level: string) => ({ type: 'team-workspaces', attributes: { access: level } });
        const calls = [
          () => actor.patch(row('writers'), access('custom')),
          () => actor.patch(row('ghosts'), access('plan')),
          () => actor.patch(row('writers'), access('maintain')),
          () => actor.patch(absent, access('read')),
        ];
        assert.equal(await statuses(calls), patches);
      });

      test(`POST of idle, shadow, foreign, again, with a bad body, to an absent workspace: ${posts}`, async () => {
        const add = (team: string, access = 'custom', workspace = world.workspace) =>
          actor.post('/team-workspaces', workspaceGrantBody(workspace, world.teams[team] as string, { access }));
        const calls = [
          () => add('idle'),
          () => add('shadow'),
          () => add('foreign'),
          () => add('writers'),
          () => add('idle', 'maintain'),
          () => add('idle', 'read', 'ws-1111111111111111'),
        ];
        assert.equal(await statuses(calls), posts);
      });

      test(`DELETE of writers, ghosts, an absent row: ${deletes}`, async () => {
        const calls = [row('writers'), row('ghosts'), absent].map(path => () => actor.delete(path));
        assert.equal(await statuses(calls), deletes);
      });
    });
});
