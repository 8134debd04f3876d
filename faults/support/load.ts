/** Clients that write without a pause, each to things of its own, and note in a ledger what they were told. */

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { grantBody } from '../../test/support/world.ts';
import { type Kind, type Ledger, type Thing, telling } from './ledger.ts';
import { organization, type Reply, type Server } from './stage.ts';

const levels = ['read', 'write', 'maintain', 'admin'];
/** Of each kind, for each client: enough for variety, and few enough to be looked at after every fault. */
const most = 4;

/** Far beyond every bar: what has not come by then does not come. */
const never = 30_000;

const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(Math.random() * from.length)];

export class Load {
  readonly #ledger: Ledger;
  readonly #clients: number;
  readonly #told: (reply: Reply) => void;
  /** Pairs of team and project that were tried once: nobody tries one twice, as the first may have succeeded. */
  readonly #tried = new Set<string>();
  /** The team and the project of a grant. */
  readonly #parts = new Map<string, readonly string[]>();
  readonly #others: (() => Promise<unknown>)[] = [];
  #names = 0;
  #isOn = false;
  #working: Promise<unknown> = Promise.resolve();

  /** Told is every answer to a write. */
  constructor(ledger: Ledger, clients: number, told: (reply: Reply) => void = () => {}) {
    this.#ledger = ledger;
    this.#clients = clients;
    this.#told = told;
  }

  /** Further clients, which do this over and over while the load is on. */
  also(clients: number, doing: () => Promise<unknown>): void {
    for (let client = 0; client < clients; client++) this.#others.push(doing);
  }

  begin(server: Server): void {
    this.#isOn = true;
    const writers = Array.from({ length: this.#clients }, (_, client) => this.#work(server, client));
    const others = this.#others.map(async doing => {
      while (this.#isOn) await doing();
    });
    this.#working = Promise.all([...writers, ...others]);
    // Whoever awaits the end hears of it.
    this.#working.catch(() => {
      this.#isOn = false;
    });
  }

  /** While it goes on; it fails as soon as the load does, and if what is awaited never comes. */
  async until(awaited: string, isTrue: () => boolean): Promise<void> {
    for (const begun = performance.now(); !isTrue(); ) {
      if (!this.#isOn) await this.#working;
      assert.ok(performance.now() - begun < never, `in vain for ${never / 1000} s under load: ${awaited}`);
      await pause(2);
    }
  }

  /** Each client finishes what it has begun. */
  async end(): Promise<void> {
    this.#isOn = false;
    await this.#working;
  }

  async #work(server: Server, client: number): Promise<void> {
    while (this.#isOn) {
      const reply = await this.write(server, client);
      this.#told(reply);
      // Told to come back later, a client does, if sooner than it was told.
      if (reply.status === 0 || reply.status === 503) await pause(10 + Math.random() * 40);
    }
  }

  /** One write: whatever is lacking is made, and whatever is there is changed or deleted. */
  async write(server: Server, owner: number): Promise<Reply> {
    const all = [...this.#ledger.things.values()].filter(each => each.owner === owner);
    const own = all.filter(each => each.state && !each.doubt);
    const of = (kind: Kind) => own.filter(thing => thing.kind === kind);
    const [teams, projects, grants] = [of('teams'), of('projects'), of('team-projects')];
    const name = `${owner}-${++this.#names}`;
    if (teams.length < most)
      return this.#create(server, owner, 'teams', `organizations/${organization}/teams`, {
        type: 'teams',
        attributes: { name },
      });
    if (projects.length < most)
      return this.#create(server, owner, 'projects', `organizations/${organization}/projects`, {
        type: 'projects',
        attributes: { name, description: name },
      });
    const pairs = teams.flatMap(team => projects.map(project => [team, project] as const));
    const pair = pick(pairs.filter(pair => !this.#tried.has(keyOf(pair))));
    if (pair && grants.length < most) {
      this.#tried.add(keyOf(pair));
      const body = grantBody(pair[1].id, pair[0].id, { access: pick(levels) });
      return this.#create(server, owner, 'team-projects', 'team-projects', body);
    }
    const isUsed = ({ id }: Thing): boolean =>
      all.some(each => (each.state || each.doubt) && this.#parts.get(each.id)?.includes(id));
    const thing = pick(own) as Thing;
    if (Math.random() < 0.6) return this.#change(server, thing, name);
    return isUsed(thing) ? this.#change(server, thing, name) : this.#to(server, thing, undefined, 'DELETE');
  }

  async #create(server: Server, owner: number, kind: Kind, path: string, body: Body): Promise<Reply> {
    const { told, reply } = await this.#ledger.send(server, 'POST', path, body);
    if (told === 'done') {
      const { id, attributes } = reply.body.data;
      this.#ledger.things.set(id, { kind, id, owner, state: attributes[telling[kind]] });
      this.#parts.set(
        id,
        Object.values(body.relationships ?? {}).map(({ data }) => data.id),
      );
    }
    return reply;
  }

  #change(server: Server, thing: Thing, name: string): Promise<Reply> {
    const { kind, id, state } = thing;
    const next = kind === 'team-projects' ? pick(levels.filter(level => level !== state)) : name;
    return this.#to(server, thing, next, 'PATCH', { type: kind, id, attributes: { [telling[kind]]: next } });
  }

  async #to(server: Server, thing: Thing, next: string | undefined, method: string, body?: unknown): Promise<Reply> {
    const { told, reply } = await this.#ledger.send(server, method, `${thing.kind}/${thing.id}`, body);
    if (told === 'done') thing.state = next;
    if (told === 'unknown') thing.doubt = { state: next };
    return reply;
  }
}

type Body = {
  readonly type: string;
  readonly attributes?: unknown;
  readonly relationships?: Readonly<Record<string, { readonly data: { readonly id: string } }>>;
};

const keyOf = ([team, project]: readonly [Thing, Thing]): string => `${team.id} ${project.id}`;
