/** An old and a new replica side by side, under load, while the new one changes the schema under the old one. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, Client, type Json } from '../test/support/client.ts';
import { Dice, testSeed } from '../test/support/dice.ts';
import { chosenToken, type Running } from '../test/support/program.ts';
import { Actor, grantBody } from '../test/support/world.ts';
import { ourPostgres } from './support/replicas.ts';
import { until } from './support/stage.ts';
import { ask, Version } from './support/versions.ts';
import type { Trial } from './trial.ts';

/**
 * Of all that may change under a server which does not know of it; the type of a column, so that prepared statements are
 * stale. No table is written anew: to a transaction that began before, it would be empty.
 */
const newer = '0900_newer.sql';
const change = `
  alter table team_projects add column note ctext not null default 'none';
  alter table teams alter column sso_team_id type text collate "C";
  alter table team_projects alter column access type text collate "C";
  create index team_projects_note on team_projects (note, id);
  update team_projects set note = 'filled';
  update projects set description = description;`;

const clientsPerServer = 4;
const rowsPerClient = 6;
const levels = ['read', 'write', 'maintain', 'admin', 'custom'];

/** One of those who use a server all the time; it knows what it was promised. */
class User {
  /** On the server that the load balancer sends it to. */
  actor: Actor;
  readonly #organization: string;
  readonly #dice: Dice;
  readonly #team: string;
  readonly #projects: readonly string[];
  /** By project: the id of the grant, and what it must be. */
  readonly promised = new Map<string, { readonly id: string; readonly access: string }>();
  reads = 0;
  /** The ids of its requests that changed something. */
  readonly writes: string[] = [];
  slowest = 0;

  constructor(actor: Actor, organization: string, dice: Dice, team: string, projects: readonly string[]) {
    this.actor = actor;
    this.#organization = organization;
    this.#dice = dice;
    this.#team = team;
    this.#projects = projects;
  }

  async #done(work: Promise<Answer>, status: number, what: string): Promise<Answer> {
    const begun = performance.now();
    const answer = await work;
    this.slowest = Math.max(this.slowest, performance.now() - begun);
    assert.equal(answer.status, status, `${what} answered ${answer.status}: ${answer.text}`);
    return answer;
  }

  #wrote({ headers }: Answer): void {
    this.writes.push(`${headers['x-request-id']}`);
  }

  async step(): Promise<void> {
    const dice = this.#dice;
    const project = dice.pick(this.#projects);
    const access = dice.pick(levels);
    const row = this.promised.get(project);
    if (!row) {
      const body = grantBody(project, this.#team, { access });
      const made = await this.#done(this.actor.post('/team-projects', body), 200, 'a creation');
      this.promised.set(project, { id: made.body.data.id, access });
      this.#wrote(made);
    } else if (dice.chance(0.1)) {
      this.#wrote(await this.#done(this.actor.delete(`/team-projects/${row.id}`), 204, 'a removal'));
      this.promised.delete(project);
    } else if (dice.chance(0.4)) {
      const changed = this.actor.patch(`/team-projects/${row.id}`, { attributes: { access } });
      this.#wrote(await this.#done(changed, 200, 'a change'));
      this.promised.set(project, { id: row.id, access });
    } else {
      const shown = await this.#done(this.actor.get(`/team-projects/${row.id}`), 200, 'a read');
      assert.equal(shown.body.data.attributes.access, row.access, 'what was written is read');
      await this.#done(this.actor.get(`/organizations/${this.#organization}/teams`), 200, 'a list');
      this.reads += 2;
    }
  }
}

const readiness = async (url: string): Promise<Json> => {
  const answer = await fetch(`${url}/readyz`);
  return { code: answer.status, ...((await answer.json()) as object) };
};

const upgrade = async (dice: Dice, current: Version, next: Version) => {
  const postgres = await ourPostgres();
  const database = await postgres.newDatabase();
  const old = current.serve(database, '--shutdown-delay', '5');
  const oldUrl = await old.url();
  const clients: Client[] = [];
  const clientOf = async (url: string): Promise<Client> => {
    const client = new Client(url);
    await client.learn();
    clients.push(client);
    return client;
  };
  const admin = new Actor(await clientOf(oldUrl), chosenToken);
  const users: User[] = [];
  /** What the users find there; each is one request. */
  const made: string[] = [];
  const make = async (path: string, data: Json): Promise<string> => {
    const { status, text, headers, body } = await admin.post(path, data);
    assert.ok(status < 300, `POST ${path} answered ${status}: ${text}`);
    made.push(`${headers['x-request-id']}`);
    return body.data.id;
  };
  const hire = async (url: string): Promise<void> => {
    const client = await clientOf(url);
    for (let number = 0; number < clientsPerServer; number++) {
      const organization = `at-work-${users.length}`;
      const attributes = { name: organization, email: 'work@example.com' };
      await make('/organizations', { type: 'organizations', attributes });
      const inside = `/organizations/${organization}`;
      const team = await make(`${inside}/teams`, { type: 'teams', attributes: { name: 'workers' } });
      const projects: string[] = [];
      for (let row = 0; row < rowsPerClient; row++) {
        const attributes = { name: `project ${row}` };
        projects.push(await make(`${inside}/projects`, { type: 'projects', attributes }));
      }
      const actor = new Actor(client, chosenToken);
      users.push(new User(actor, organization, new Dice(dice.below(2 ** 31)), team, projects));
    }
  };
  const work = { on: true };
  const busy = async (user: User): Promise<void> => {
    while (work.on) await user.step();
  };
  const running: Promise<void>[] = [];
  const failed: unknown[] = [];
  const employ = (some: readonly User[]): void => {
    for (const user of some) running.push(busy(user).catch(error => void failed.push(error)));
  };
  const started: Running[] = [old];
  try {
    await hire(oldUrl);
    employ(users);
    await sleep(500);
    assert.deepEqual(await readiness(oldUrl), {
      code: 200,
      status: 'ready',
      database: 'answers',
      schema: 'up to date',
    });
    const replacing = next.serve(database);
    started.push(replacing);
    const newUrl = await replacing.url();
    await hire(newUrl);
    employ(users.slice(clientsPerServer));
    await sleep(1_000);
    const { code, status, schema } = await readiness(oldUrl);
    assert.deepEqual({ code, status, schema }, { code: 200, status: 'ready', schema: `newer by ${newer}` });
    assert.equal((await readiness(newUrl)).schema, 'up to date');

    // As a load balancer does: not ready, the old one gets no more requests; it finishes those that it has.
    old.child.kill('SIGTERM');
    const noticed = await until(async () => (await readiness(oldUrl)).code !== 200, 4_000);
    assert.ok(noticed !== undefined, 'ready after SIGTERM');
    const staying = users.at(-1) as User;
    for (const user of users) user.actor = staying.actor;
    assert.deepEqual(await old.exited, { code: 0, signal: null }, old.error);
    await sleep(300);
    work.on = false;
    await Promise.all(running);
    if (failed.length > 0) throw failed[0];

    const rows = await ask(database, 'select id, access, note from team_projects');
    const stored = new Map(rows.map(({ id, access }) => [id, access]));
    const promised = users.flatMap(user => [...user.promised.values()]);
    assert.deepEqual(new Map(promised.map(({ id, access }) => [id, access])), stored, 'every answered write is there');
    const audited = await ask(database, "select request_id from audit_events where request_id <> 'start'");
    const writes = users.flatMap(user => user.writes);
    assert.deepEqual(
      audited.map(({ request_id }) => request_id).sort(),
      [...made, ...writes].sort(),
      'every answered write has its one audit row, and there is no other',
    );
    const reads = users.reduce((total, user) => total + user.reads, 0);
    const slowest = Math.max(...users.map(user => user.slowest));
    return { reads, writes: writes.length, slowest };
  } finally {
    work.on = false;
    await Promise.all(running);
    for (const client of clients) client.close();
    for (const server of started) await server.end();
  }
};

export const rollingUpgrade: Trial = {
  name: 'rolling-upgrade',
  fault: 'an old and a new replica side by side under load while a migration runs',
  short: 1,
  long: 20,
  run: async (times, progress) => {
    const dice = new Dice(testSeed);
    const current = new Version();
    const next = new Version({ more: { [newer]: change } });
    const postgres = await ourPostgres();
    const stalePlans = () => postgres.log().split('cached plan must not change result type').length - 1;
    const before = stalePlans();
    const total = { reads: 0, writes: 0, slowest: 0 };
    try {
      for (let index = 0; index < times; index++) {
        const { reads, writes, slowest } = await upgrade(dice, current, next);
        total.reads += reads;
        total.writes += writes;
        total.slowest = Math.max(total.slowest, slowest);
        progress(`${index + 1} of ${times} upgrades`);
      }
    } finally {
      await current.end();
      await next.end();
    }
    const stale = stalePlans() - before;
    assert.ok(stale > 0, 'no prepared statement was made stale: nothing was proved of them');
    return [
      `${times} upgrades, ${total.reads} reads and ${total.writes} writes on both replicas, 0 refused, 0 lost, one audit row each; the old replica was stopped at the end, exit 0`,
      `${stale} prepared statements found stale and prepared anew; the slowest answer took ${Math.round(total.slowest)} ms`,
    ];
  },
};
