/** Two servers over one real PostgreSQL, each a process of its own, so that nothing in memory is shared; and callers who hold one right that can be taken from them. */

import assert from 'node:assert/strict';
import type { Answer, Client, Json } from '../../test/support/client.ts';
import { type Postgres, startPostgres } from '../../test/support/postgres.ts';
import { chosenToken } from '../../test/support/program.ts';
import { Actor, Directory, grantBody } from '../../test/support/world.ts';
import { Stage } from './stage.ts';

let started: Promise<Postgres> | undefined;

/** One for all trials of this process, with which it ends. It can tell when each change was committed. */
export const ourPostgres = (): Promise<Postgres> => {
  started ??= startPostgres({ settings: { track_commit_timestamp: 'on' } });
  return started;
};

export type Replica = { readonly client: Client; readonly adminToken: string };

export type Replicas = {
  readonly url: string;
  readonly servers: readonly [Replica, Replica];
  readonly directory: Directory<Replica>;
};

/** On an empty database. */
export const onReplicas = async <T>(work: (replicas: Replicas) => Promise<T>): Promise<T> => {
  const url = await (await ourPostgres()).newDatabase();
  await using stage = new Stage();
  const replica = async (): Promise<Replica> => {
    const { running } = await stage.serve(url);
    return { client: await running.client(), adminToken: chosenToken };
  };
  const servers = [await replica(), await replica()] as const;
  return await work({ url, servers, directory: new Directory(servers[0]) });
};

export const on = ({ client }: Replica, { token }: Actor): Actor => new Actor(client, token);

/** So many at a time, each with its own number, until there were enough. */
export const inLanes = async (
  enough: number | ((begun: number) => boolean),
  lanes: number,
  work: (index: number, lane: number) => Promise<void>,
): Promise<void> => {
  const isEnough = typeof enough === 'number' ? (begun: number) => begun >= enough : enough;
  let next = 0;
  const lane = async (_: unknown, number: number): Promise<void> => {
    while (!isEnough(next)) await work(next++, number);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
};

export const expectStatus = (answer: Answer, status: number, what: string): Answer => {
  assert.equal(answer.status, status, `${what} answered ${answer.status}, not ${status}: ${answer.text}`);
  return answer;
};

/** The ways to lose the one right that a holder has. */
export const losses = [
  'token',
  'team membership',
  'organization membership',
  'grant',
  'organization permission',
] as const;
export type Loss = (typeof losses)[number];

let holders = 0;

/** A caller who may see and change one row by one right, and an owner who takes the right away and gives it back. */
export class Holder {
  readonly loss: Loss;
  readonly #directory: Directory<Replica>;
  readonly #owner: Actor;
  readonly #organization: string;
  readonly #user: { readonly id: string; readonly name: string };
  readonly #team: string;
  readonly #project: string;
  readonly #row: string;
  #caller: Actor;
  /** What is deleted to take the right away: a token, a membership or a grant. */
  #right: string;
  #changes = 0;

  static async found(directory: Directory<Replica>, loss: Loss): Promise<Holder> {
    const name = `holder-${++holders}`;
    const { actor: owner } = await directory.user(`${name}-owner`);
    await directory.organization(owner, name);
    const { id, actor: caller } = await directory.member(owner, name, name);
    const project = await directory.project(owner, name, 'place');
    const team = await directory.team(owner, name, { name: 'holders' }, [name]);
    const target = await directory.team(owner, name, { name: 'target' });
    const row = await directory.grant(owner, project, target, { access: 'read' });
    const holder = new Holder(directory, loss, owner, name, { id, name }, { team, project, row }, caller);
    if (loss !== 'grant' && loss !== 'organization permission')
      await directory.grant(owner, project, team, { access: 'admin' });
    if (loss === 'organization membership') {
      const { body } = await owner.get(`/organizations/${name}/organization-memberships?q=${name}@`);
      expectStatus(await owner.delete(`/organization-memberships/${body.data[0].id}`), 204, 'a removal');
    }
    if (loss === 'team membership') await holder.lose(directory.server);
    return holder;
  }

  private constructor(
    directory: Directory<Replica>,
    loss: Loss,
    owner: Actor,
    organization: string,
    user: { readonly id: string; readonly name: string },
    { team, project, row }: { readonly team: string; readonly project: string; readonly row: string },
    caller: Actor,
  ) {
    this.#directory = directory;
    this.loss = loss;
    this.#owner = owner;
    this.#organization = organization;
    this.#user = user;
    this.#team = team;
    this.#project = project;
    this.#row = row;
    this.#caller = caller;
    this.#right = '';
  }

  get #users() {
    return { path: `/teams/${this.#team}/relationships/users`, data: [{ type: 'users', id: this.#user.name }] };
  }

  async #permit(actor: Actor, may: boolean): Promise<Answer> {
    const attributes = { 'organization-access': { 'manage-projects': may } };
    return actor.patch(`/teams/${this.#team}`, { type: 'teams', attributes });
  }

  /** Gives the right, or gives it back. */
  async restore(): Promise<void> {
    const owner = this.#owner;
    const make = async (actor: Actor, path: string, data?: Json): Promise<Json> => actor.make(path, data);
    switch (this.loss) {
      case 'token': {
        const made = await make(this.#directory.admin, `/users/${this.#user.id}/authentication-tokens`);
        this.#caller = this.#directory.actor(made.attributes.token);
        this.#right = made.id;
        return;
      }
      case 'team membership':
        return make(owner, this.#users.path, this.#users.data);
      case 'organization membership': {
        const made = await make(owner, `/organizations/${this.#organization}/organization-memberships`, {
          type: 'organization-memberships',
          attributes: { email: `${this.#user.name}@example.com` },
          relationships: { teams: { data: [{ type: 'teams', id: this.#team }] } },
        });
        this.#right = made.id;
        return;
      }
      case 'grant': {
        const made = await make(owner, '/team-projects', grantBody(this.#project, this.#team, { access: 'admin' }));
        this.#right = made.id;
        return;
      }
      case 'organization permission':
        expectStatus(await this.#permit(owner, true), 200, 'a permission');
    }
  }

  async lose(server: Replica): Promise<Answer> {
    const owner = on(server, this.#owner);
    switch (this.loss) {
      case 'token':
        return on(server, this.#directory.admin).delete(`/authentication-tokens/${this.#right}`);
      case 'team membership':
        return owner.delete(this.#users.path, this.#users.data);
      case 'organization membership':
        return owner.delete(`/organization-memberships/${this.#right}`);
      case 'grant':
        return owner.delete(`/team-projects/${this.#right}`);
      case 'organization permission':
        return this.#permit(owner, false);
    }
  }

  /** What taking the right away answers, and what the holder is answered from then on. */
  get lost() {
    return {
      taking: this.loss === 'organization permission' ? 200 : 204,
      asking: this.loss === 'token' ? 401 : 404,
    };
  }

  read(server: Replica): Promise<Answer> {
    return on(server, this.#caller).get(`/team-projects/${this.#row}`);
  }

  /** To another level than before. */
  change(server: Replica): Promise<Answer> {
    const access = this.#changes++ % 2 === 0 ? 'write' : 'read';
    return on(server, this.#caller).patch(`/team-projects/${this.#row}`, { attributes: { access } });
  }
}
