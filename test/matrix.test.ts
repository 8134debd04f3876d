/** Eleven callers by five operations by states: who sees and changes team access, in one table. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startServer, type TestServer } from './support/server.ts';
import { type Actor, Directory, grantBody } from './support/world.ts';

/**
 * Project `production` has these rows: `leads` (admin), `stewards` (custom, teams = manage), `viewers` (custom, teams = read),
 * `devs` (write) and the secret team `ghosts` (write). Without a row are `idle` (visible), `shadow` (secret),
 * and `foreign`, a team of another organization.
 *
 * list: the rows seen, by the first letter of the team. Other cells: the status.
 * A body is bad when its level is unknown; a project or a row is absent when its id belongs to nothing.
 */
// biome-ignore format: a table, to be checked against the document
const matrix = `
                                           | list      show        | POST                                          | PATCH                    | DELETE
caller                                     | rows      devs ghosts | idle shadow foreign again bad(body) absent    | devs ghosts bad absent   | devs ghosts absent
owner                                      | l s v d g 200  200    | 200  200    404     422   422       404       | 200  200    422 404      | 204  204    404
organization token                         | l s v d g 200  200    | 200  200    404     422   422       404       | 200  200    422 404      | 204  204    404
owners-team token                          | l s v d g 200  200    | 200  200    404     422   422       404       | 200  200    422 404      | 204  204    404
project admin                              | l s v d g 200  200    | 200  404    404     422   422       404       | 200  200    422 404      | 204  204    404
holder of teams = manage                   | l s v d g 200  200    | 200  404    404     422   422       404       | 200  200    422 404      | 204  204    404
holder of teams = read                     | l s v d - 200  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
member of a visible team with access       | - - - d - 200  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
member of a secret team                    | - - - - g 404  200    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
plain member                               | - - - - - 404  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
member of another organization             | 404       404  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
revoked token                              | 401       401  401    | 401  401    401     401   401       401       | 401  401    401 401      | 401  401    401
`;

type World = {
  readonly project: string;
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
  const owner = await directory.user(name('owner'));
  const stranger = await directory.user(name('stranger'));
  await directory.organization(owner.actor, here);
  await directory.organization(stranger.actor, there);
  const project = await directory.project(owner.actor, here, 'production');

  const teams: Record<string, string> = {};
  const rows: Record<string, string> = {};
  const members: Record<string, Actor> = {};
  const grants = {
    leads: { access: 'admin' },
    stewards: { access: 'custom', 'project-access': { teams: 'manage' } },
    viewers: { access: 'custom', 'project-access': { teams: 'read' } },
    devs: { access: 'write' },
    ghosts: { access: 'write' },
  };
  for (const [team, attributes] of Object.entries(grants)) {
    const { actor } = await directory.member(owner.actor, here, name(team));
    members[team] = actor;
    const visibility = team === 'ghosts' ? 'secret' : 'organization';
    teams[team] = await directory.team(owner.actor, here, { name: team, visibility }, [name(team)]);
    rows[team] = await directory.grant(owner.actor, project, teams[team], attributes);
  }
  teams.idle = await directory.team(owner.actor, here, { name: 'idle', visibility: 'organization' });
  teams.shadow = await directory.team(owner.actor, here, { name: 'shadow', visibility: 'secret' });
  teams.foreign = await directory.team(stranger.actor, there, { name: 'foreign', visibility: 'organization' });

  const { body } = await owner.actor.get(`/organizations/${here}/teams`);
  const owners = body.data.find((team: { attributes: { name: string } }) => team.attributes.name === 'owners').id;
  const tokenFrom = async (path: string) => directory.actor((await owner.actor.make(path)).attributes.token);
  const revoked = await owner.actor.make(`/teams/${owners}/authentication-tokens`);
  await owner.actor.delete(`/authentication-tokens/${revoked.id}`);
  return {
    project,
    teams,
    rows,
    callers: {
      owner: owner.actor,
      'organization token': await tokenFrom(`/organizations/${here}/authentication-token`),
      'owners-team token': await tokenFrom(`/teams/${owners}/authentication-token`),
      'project admin': members.leads as Actor,
      'holder of teams = manage': members.stewards as Actor,
      'holder of teams = read': members.viewers as Actor,
      'member of a visible team with access': members.devs as Actor,
      'member of a secret team': members.ghosts as Actor,
      'plain member': (await directory.member(owner.actor, here, name('plain'))).actor,
      'member of another organization': stranger.actor,
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
    const [rows] = list.match(/^[a-z-]( [a-z-]){4}/) ?? [];
    return {
      caller,
      list: rows ?? statuses.shift(),
      shows: statuses,
      posts: rest[0],
      patches: rest[1],
      deletes: rest[2],
    };
  });

const order = ['leads', 'stewards', 'viewers', 'devs', 'ghosts'];

describe('the matrix of team access', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.close());

  test('has eleven callers', () => assert.equal(expectations.length, 11));

  for (const { caller, list, shows, posts, patches, deletes } of expectations)
    describe(caller, () => {
      let world: World;
      let actor: Actor;
      before(async () => {
        world = await newWorld(server);
        actor = world.callers[caller] as Actor;
        assert.ok(actor, `the world has a ${caller}`);
      });
      const row = (team: string) => `/team-projects/${world.rows[team]}`;
      const statuses = async (calls: (() => Promise<{ status: number }>)[]): Promise<string> => {
        const seen = [];
        for (const call of calls) seen.push((await call()).status);
        return seen.join(' ');
      };

      test(`lists ${list}`, async () => {
        const { status, body } = await actor.get(`/team-projects?filter[project][id]=${world.project}`);
        if (status !== 200) return assert.equal(`${status}`, list);
        const seen = new Set(body.data.map(({ id }: { id: string }) => id));
        assert.equal(order.map(team => (seen.has(world.rows[team]) ? team[0] : '-')).join(' '), list);
        assert.equal(body.meta.pagination['total-count'], seen.size);
      });

      test(`shows devs and ghosts: ${shows.join(' ')}`, async () => {
        assert.equal(await statuses(['devs', 'ghosts'].map(team => () => actor.get(row(team)))), shows.join(' '));
      });

      test(`PATCH of devs, ghosts, with a bad body, of an absent row: ${patches}`, async () => {
        const access = (level: string) => ({ type: 'team-projects', attributes: { access: level } });
        const calls = [
          () => actor.patch(row('devs'), access('custom')),
          () => actor.patch(row('ghosts'), access('custom')),
          () => actor.patch(row('devs'), access('plan')),
          () => actor.patch('/team-projects/tprj-1111111111111111', access('read')),
        ];
        assert.equal(await statuses(calls), patches);
      });

      test(`POST of idle, shadow, foreign, again, with a bad body, to an absent project: ${posts}`, async () => {
        const add = (team: string, access = 'custom', project = world.project) =>
          actor.post('/team-projects', grantBody(project, world.teams[team] as string, { access }));
        const calls = [
          () => add('idle'),
          () => add('shadow'),
          () => add('foreign'),
          () => add('devs'),
          () => add('viewers', 'plan'),
          () => add('idle', 'read', 'prj-1111111111111111'),
        ];
        assert.equal(await statuses(calls), posts);
      });

      test(`DELETE of devs, ghosts, an absent row: ${deletes}`, async () => {
        const calls = [
          () => actor.delete(row('devs')),
          () => actor.delete(row('ghosts')),
          () => actor.delete('/team-projects/tprj-1111111111111111'),
        ];
        assert.equal(await statuses(calls), deletes);
      });
    });
});
