/** A matrix: who sees and changes team access to one kind of place, as a table of text, tried in a new world for each caller. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from './client.ts';
import { startServer, type TestServer } from './server.ts';
import { type Actor, Directory } from './world.ts';

/** What every such world has: an owner, a stranger who owns another organization, and teams without access. */
export class Ground {
  static #made = 0;

  readonly #number = Ground.#made++;
  readonly #teams: Record<string, string> = {};
  readonly #members: Record<string, Actor> = {};
  readonly directory: Directory;
  readonly owner: Actor;
  readonly #stranger: Actor;

  private constructor(directory: Directory, owner: Actor, stranger: Actor) {
    this.directory = directory;
    this.owner = owner;
    this.#stranger = stranger;
  }

  static async of(server: TestServer): Promise<Ground> {
    const directory = new Directory(server);
    const user = async (name: string) => (await directory.user(`${name}-${Ground.#made}`)).actor;
    const ground = new Ground(directory, await user('owner'), await user('stranger'));
    const there = `there-${ground.#number}`;
    await directory.organization(ground.owner, ground.here);
    await directory.organization(ground.#stranger, there);
    const add = (owner: Actor, organization: string, name: string, visibility = 'organization') =>
      directory.team(owner, organization, { name, visibility });
    ground.#teams.idle = await add(ground.owner, ground.here, 'idle');
    ground.#teams.shadow = await add(ground.owner, ground.here, 'shadow', 'secret');
    ground.#teams.foreign = await add(ground.#stranger, there, 'foreign');
    return ground;
  }

  get here(): string {
    return `here-${this.#number}`;
  }

  /** A team with one member; the team's id. */
  async settle(team: string, attributes: Json = {}): Promise<string> {
    const name = `${team}-${this.#number}`;
    this.#members[team] = (await this.directory.member(this.owner, this.here, name)).actor;
    const visibility = team === 'ghosts' ? 'secret' : 'organization';
    const id = await this.directory.team(this.owner, this.here, { name: team, visibility, ...attributes }, [name]);
    this.#teams[team] = id;
    return id;
  }

  team(name: string): string {
    return this.#teams[name] as string;
  }

  member(team: string): Actor | undefined {
    return this.#members[team];
  }

  /** The callers who are what they are without a grant. */
  async others(): Promise<Readonly<Record<string, Actor>>> {
    const { directory, owner, here } = this;
    const { body } = await owner.get(`/organizations/${here}/teams`);
    const owners = body.data.find((team: Json) => team.attributes.name === 'owners').id;
    const tokenFrom = async (path: string) => directory.actor((await owner.make(path)).attributes.token);
    const revoked = await owner.make(`/teams/${owners}/authentication-tokens`);
    await owner.delete(`/authentication-tokens/${revoked.id}`);
    return {
      owner,
      'organization token': await tokenFrom(`/organizations/${here}/authentication-token`),
      'owners-team token': await tokenFrom(`/teams/${owners}/authentication-token`),
      'plain member': (await directory.member(owner, here, `plain-${this.#number}`)).actor,
      'member of another organization': this.#stranger,
      'revoked token': directory.actor(revoked.attributes.token),
    };
  }
}

export type Matrix = {
  readonly place: 'project' | 'workspace';
  /** Two lines of heading; then for each caller what it lists and shows, and how POST, PATCH and DELETE answer it. */
  readonly table: string;
  /** How many callers the table has. */
  readonly size: number;
  /** The teams with a row, as the table lists them, and of them the one that is shown, changed and removed beside `ghosts`. */
  readonly rows: readonly string[];
  readonly known: string;
  readonly unknownLevel: string;
  /** Of each other caller, the team that makes it one. */
  readonly callers: Readonly<Record<string, string>>;
  readonly body: (place: string, team: string, attributes: Json) => object;
  /** Makes the place and its rows. */
  readonly furnish: (ground: Ground) => Promise<{ place: string; rows: Readonly<Record<string, string>> }>;
};

/** What the table says of each caller. */
const expectationsOf = (table: string) =>
  table
    .trim()
    .split('\n')
    .slice(2)
    .map(line => {
      const [caller = '', reads = '', posts, patches, deletes] = line
        .split('|')
        .map(part => part.trim().replace(/\s+/g, ' '));
      const statuses = reads.match(/\d{3}/g) ?? [];
      const [listed] = reads.match(/^[a-z-]( [a-z-])+(?= )/) ?? [];
      return { caller, list: listed ?? statuses.shift(), shows: statuses.join(' '), posts, patches, deletes };
    });

const statuses = async (calls: (() => Promise<{ status: number }>)[]): Promise<string> => {
  const seen = [];
  for (const call of calls) seen.push((await call()).status);
  return seen.join(' ');
};

export const testMatrix = ({ place, table, size, rows, known, unknownLevel, callers, body, furnish }: Matrix) => {
  const type = `team-${place}s`;
  const absentRow = `/${type}/${place === 'project' ? 'tprj' : 'tws'}-1111111111111111`;
  const absentPlace = `${place === 'project' ? 'prj' : 'ws'}-1111111111111111`;
  const expectations = expectationsOf(table);

  describe(`the matrix of team access to ${place}s`, () => {
    let server: TestServer;
    before(async () => {
      server = await startServer();
    });
    after(() => server.close());

    test(`has ${size} callers`, () => assert.equal(expectations.length, size));

    for (const { caller, list, shows, posts, patches, deletes } of expectations)
      describe(caller, () => {
        let ground: Ground;
        let world: Awaited<ReturnType<Matrix['furnish']>>;
        let actor: Actor;
        before(async () => {
          ground = await Ground.of(server);
          world = await furnish(ground);
          actor = ((await ground.others())[caller] ?? ground.member(callers[caller] ?? '')) as Actor;
          assert.ok(actor, `the world has a ${caller}`);
        });
        const row = (team: string) => `/${type}/${world.rows[team]}`;

        test(`lists ${list}`, async () => {
          const { status, body } = await actor.get(`/${type}?filter[${place}][id]=${world.place}`);
          if (status !== 200) return assert.equal(`${status}`, list);
          const seen = new Set(body.data.map(({ id }: Json) => id));
          assert.equal(rows.map(team => (seen.has(world.rows[team]) ? team[0] : '-')).join(' '), list);
          assert.equal(body.meta.pagination['total-count'], seen.size);
        });

        test(`shows ${known} and ghosts: ${shows}`, async () => {
          assert.equal(await statuses([known, 'ghosts'].map(team => () => actor.get(row(team)))), shows);
        });

        test(`PATCH of ${known}, ghosts, with a bad body, of an absent row: ${patches}`, async () => {
          const access = (level: string) => ({ type, attributes: { access: level } });
          const calls = [
            () => actor.patch(row(known), access('custom')),
            () => actor.patch(row('ghosts'), access('custom')),
            () => actor.patch(row(known), access(unknownLevel)),
            () => actor.patch(absentRow, access('read')),
          ];
          assert.equal(await statuses(calls), patches);
        });

        test(`POST of idle, shadow, foreign, again, with a bad body, to an absent ${place}: ${posts}`, async () => {
          const add = (team: string, access = 'custom', there = world.place) =>
            actor.post(`/${type}`, body(there, ground.team(team), { access }));
          const calls = [
            () => add('idle'),
            () => add('shadow'),
            () => add('foreign'),
            () => add(known),
            () => add('idle', unknownLevel),
            () => add('idle', 'read', absentPlace),
          ];
          assert.equal(await statuses(calls), posts);
        });

        test(`DELETE of ${known}, ghosts, an absent row: ${deletes}`, async () => {
          const calls = [row(known), row('ghosts'), absentRow].map(path => () => actor.delete(path));
          assert.equal(await statuses(calls), deletes);
        });
      });
  });
};
