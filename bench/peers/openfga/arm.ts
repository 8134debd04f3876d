/** OpenFGA as an arm: what each operation is to it, over its HTTP API. */

import type { HttpRequest, Served } from '../../arm.ts';
import { freePairs, type Operation, pagedProjects, seenGrants, writes } from '../../operations.ts';
import { idOf } from '../../world/names.ts';
import { Draw, type World } from '../../world/plan.ts';
import { type Question, questionsAbout } from '../../world/questions.ts';
import { differences, refusal } from '../differences.ts';
import { projectGrant } from '../facts.ts';
import { actionRelation } from './model.ts';
import type { OpenfgaServer } from './server.ts';
import { keyOf, levelOnProject, type Tuple } from './tuples.ts';

export type Store = { readonly id: string; readonly model: string };

const count = 2_000;
const inOneBatch = 50;
const inOneWrite = 100;
/** Of each change: more than it does in some seconds. */
const changes = 1_000;
const seed = 7;

type Change = { readonly writes?: readonly Tuple[]; readonly deletes?: readonly Tuple[] };

/** From one level to another. */
type Move = { readonly from: Tuple; readonly to: Tuple };

const pieces = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));

const asTuple = ({ user, type, place, action }: Question) => ({
  user: `user:${idOf('user', user)}`,
  relation: actionRelation(type, action),
  object: `${type}:${idOf(type === 'project' ? 'prj' : 'ws', place)}`,
});

/** Two servers on one store do not meet: each changes every other grant, and creates those of one level. */
type Share = { readonly parity: 0 | 1; readonly level: string };

/** Grants with a level, each of which goes to another level, and later back: in turn for ever. */
const movesOf = (world: World, { parity }: Share): readonly Move[] => {
  const draw = new Draw(seed);
  const { grants } = world;
  const places = new Set<number>();
  for (let tries = 0; tries < 4 * changes && places.size < changes / 2; tries++)
    places.add(2 * draw.below(Math.floor(grants.length / 2)) + parity);
  const there = [...places].flatMap((place): Move[] => {
    const grant = projectGrant[grants.what[place] as number];
    if (grant === undefined || !('level' in grant)) return [];
    const [team, project] = [grants.left[place] as number, grants.right[place] as number];
    const other = grant.level === 'write' ? 'read' : 'write';
    return [{ from: levelOnProject(team, project, grant.level), to: levelOnProject(team, project, other) }];
  });
  return [...there, ...there.map(({ from, to }) => ({ from: to, to: from }))];
};

class OpenfgaRequests {
  readonly #server: OpenfgaServer;
  readonly #store: Store;
  readonly #world: World;
  readonly #consistency: string;
  readonly #share: Share;
  /** Whether there may be anything to be put back. */
  readonly #changed = new Set<'create' | 'update'>();
  /** Those that are the same each time. */
  readonly #known = new Map<Operation, readonly HttpRequest[]>();

  constructor(server: OpenfgaServer, store: Store, world: World, cached: boolean) {
    this.#server = server;
    this.#store = store;
    this.#world = world;
    this.#consistency = cached ? 'MINIMIZE_LATENCY' : 'HIGHER_CONSISTENCY';
    this.#share = cached ? { parity: 1, level: 'maintain' } : { parity: 0, level: 'write' };
  }

  #post(path: string, body: object): HttpRequest & { readonly body: string } {
    return {
      method: 'POST',
      path: `/stores/${this.#store.id}/${path}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ authorization_model_id: this.#store.model, ...body }),
    };
  }

  #reading(path: string, body: object) {
    return this.#post(path, { ...body, consistency: this.#consistency });
  }

  check(question: Question) {
    return this.#reading('check', { tuple_key: asTuple(question) });
  }

  batch(questions: readonly Question[]) {
    const checks = questions.map((each, index) => ({ tuple_key: asTuple(each), correlation_id: `${index}` }));
    return this.#reading('batch-check', { checks });
  }

  /** What is there already, or no longer, is no fault: a list of changes may be sent more than once. */
  write({ writes = [], deletes = [] }: Change) {
    return this.#post('write', {
      ...(writes.length > 0 && { writes: { tuple_keys: writes.map(keyOf), on_duplicate: 'ignore' } }),
      ...(deletes.length > 0 && { deletes: { tuple_keys: deletes.map(keyOf), on_missing: 'ignore' } }),
    });
  }

  async #written(tuples: readonly Tuple[]): Promise<void> {
    for (const writes of pieces(tuples, inOneWrite)) await this.#send({ writes });
  }

  /** One by one: on SQLite with statistics it has no plan for a deletion of more. */
  async #deleted(tuples: readonly Tuple[]): Promise<void> {
    for (const tuple of tuples) await this.#send({ deletes: [tuple] });
  }

  async #send(change: Change): Promise<void> {
    const { path, body } = this.write(change);
    await this.#server.ask('POST', path, JSON.parse(body) as object);
  }

  #created(): readonly Tuple[] {
    const wanted = Math.min(changes, this.#world.size.grants);
    return freePairs(this.#world, new Draw(seed), wanted).map(({ team, project }) =>
      levelOnProject(team, project, this.#share.level),
    );
  }

  async #updates(): Promise<readonly HttpRequest[]> {
    const moves = movesOf(this.#world, this.#share);
    const there = moves.slice(0, moves.length / 2);
    if (this.#changed.has('update')) await this.#deleted(there.map(({ to }) => to));
    await this.#written(there.map(({ from }) => from));
    this.#changed.add('update');
    return moves.map(({ from, to }) => this.write({ writes: [to], deletes: [from] }));
  }

  /** What is changed is first put back as it was: every list of changes begins where the world does. */
  async #changes(operation: Operation): Promise<readonly HttpRequest[] | undefined> {
    const tuples = operation === 'create' || operation === 'delete' ? this.#created() : [];
    switch (operation) {
      case 'create':
        if (this.#changed.has('create')) await this.#deleted(tuples);
        this.#changed.add('create');
        return tuples.map(tuple => this.write({ writes: [tuple] }));
      case 'update':
        return this.#updates();
      case 'delete':
        await this.#written(tuples);
        this.#changed.add('create');
        return tuples.map(tuple => this.write({ deletes: [tuple] }));
      case '95 % decisions, 5 % writes': {
        const updates = await this.#updates();
        const checks = this.#reads('one decision') ?? [];
        return checks.map((check, index) =>
          index % 20 === 0 ? (updates[(index / 20) % updates.length] as HttpRequest) : check,
        );
      }
      default:
        return undefined;
    }
  }

  #reads(operation: Operation): readonly HttpRequest[] | undefined {
    const world = this.#world;
    const relation = actionRelation('project', 'read');
    switch (operation) {
      case 'one decision':
        return questionsAbout(world, count, seed).map(each => this.check(each));
      case 'batch of 50 decisions':
        return pieces(questionsAbout(world, 20_000, seed), inOneBatch).map(some => this.batch(some));
      case "a member's list":
        return seenGrants(world, new Draw(seed)).map(({ user }) =>
          this.#reading('list-objects', { type: 'project', relation, user: `user:${idOf('user', user)}` }),
        );
      case 'everybody on a project':
        return pagedProjects(world).map(project => {
          const object = { type: 'project', id: idOf('prj', project) };
          return this.#reading('list-users', { object, relation, user_filters: [{ type: 'user' }] });
        });
      default:
        return undefined;
    }
  }

  async of(operation: Operation): Promise<readonly HttpRequest[] | undefined> {
    if (writes.includes(operation)) return this.#changes(operation);
    const known = this.#known.get(operation) ?? this.#reads(operation);
    if (known) this.#known.set(operation, known);
    return known;
  }
}

export type Description = {
  readonly name: string;
  readonly cached: boolean;
  readonly database: Served['database'];
  /** How many questions are asked before it may take part. */
  readonly questions: number;
};

/** The arm, or why it is left out: each answer is that of the reference, alone and in a batch. */
export const openfgaArm = async (
  server: OpenfgaServer,
  store: Store,
  world: World,
  { name, cached, database, questions }: Description,
): Promise<Served | string> => {
  const requests = new OpenfgaRequests(server, store, world, cached);
  // Late is not wrong: what is not answered in time is asked again.
  const answered = <T>(request: HttpRequest & { readonly body: string }, tries = 3): Promise<T> =>
    server.ask<T>('POST', request.path, JSON.parse(request.body) as object).catch(error => {
      if (tries === 1 || !String(error).includes('deadline_exceeded')) throw error;
      return answered<T>(request, tries - 1);
    });
  const alone = (all: readonly Question[]): Promise<boolean[]> =>
    Promise.all(all.map(async each => (await answered<{ allowed?: boolean }>(requests.check(each))).allowed === true));
  /** One after the other: each is fifty checks at once. */
  const together = async (all: readonly Question[]): Promise<boolean[]> => {
    const answers: boolean[] = [];
    for (const some of pieces(all, inOneBatch)) {
      const { result } = await answered<{ result: Record<string, { allowed?: boolean; error?: object }> }>(
        requests.batch(some),
      );
      for (const { allowed, error } of some.map((_, index) => result[index] ?? {})) {
        if (error) throw new Error(`a check in a batch fails: ${JSON.stringify(error)}`);
        answers.push(allowed === true);
      }
    }
    return answers;
  };
  const refused =
    refusal(await differences(world, alone, questions), questions) ??
    refusal(await differences(world, together, inOneBatch * 20), inOneBatch * 20);
  if (refused !== undefined) return refused;
  return {
    kind: 'served',
    name,
    role: 'peer',
    port: server.port,
    server: () => [server.pid],
    database,
    requests: operation => requests.of(operation),
    close: () => server.close(),
  };
};
