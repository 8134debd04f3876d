/** The requests of an operation to a server that speaks our interface. */

import type { HttpRequest } from '../arm.ts';
import { type Call, callsOf, type Operation } from '../operations.ts';
import type { World } from '../world/plan.ts';

const mediaType = 'application/vnd.api+json';

export const requestOf = ({ method, path, token, body }: Call): HttpRequest => {
  const type = path.startsWith('/api/') ? mediaType : 'application/json';
  const headers = { authorization: `Bearer ${token}`, accept: type };
  return body === undefined
    ? { method, path, headers }
    : { method, path, headers: { ...headers, 'content-type': type }, body: JSON.stringify(body) };
};

export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string };

export const asked = async (port: number, { method, path, headers, body }: HttpRequest): Promise<Reply> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(body && { body }) });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

/** Many, some at a time. */
const inSome = async <T, R>(list: readonly T[], one: (each: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < list.length; index = next++) results[index] = await one(list[index] as T);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return results;
};

type Related = { readonly data: { readonly id: string } };
type Listed = {
  readonly data: readonly { readonly id: string; readonly relationships: { readonly team: Related } }[];
  readonly meta: { readonly pagination: { readonly 'next-page': number | null } };
};

/** Of a creation. */
const pairOf = ({ body }: Call): { readonly project: string; readonly team: string } => {
  const { relationships } = (body as { data: { relationships: Record<'project' | 'team', Related> } }).data;
  return { project: relationships.project.data.id, team: relationships.team.data.id };
};

/** As many as are given at once, of those that can be sent once each. */
const most = 2_000;
/** Fewer than these are too few to be deleted. */
const fewest = 500;

/**
 * What is created is deleted by `delete`, or before the free pairs of a team and a project are used up: so the world stays
 * as large as it was.
 */
export class Requests {
  readonly #world: World;
  readonly #port: number;
  readonly #most: number;
  readonly #known = new Map<Operation, readonly HttpRequest[]>();
  /** Creations that are still to be given, and those that were. */
  #free: Call[] = [];
  #given: Call[] = [];

  constructor(world: World, port: number, atOnce = most) {
    this.#world = world;
    this.#port = port;
    this.#most = atOnce;
  }

  async of(operation: Operation): Promise<readonly HttpRequest[]> {
    if (operation === 'create') return (await this.#creations()).map(requestOf);
    if (operation === 'delete') return this.#deletions();
    const known = this.#known.get(operation) ?? callsOf(this.#world, operation).map(requestOf);
    this.#known.set(operation, known);
    return known;
  }

  async #creations(): Promise<readonly Call[]> {
    if (this.#free.length + this.#given.length === 0) this.#free = callsOf(this.#world, 'create');
    const some = Math.min(this.#most, Math.floor((this.#free.length + this.#given.length) / 2));
    if (this.#free.length < some) {
      await inSome(await this.#created(), each => this.#success(each));
      this.#free.push(...this.#given.splice(0));
    }
    const taken = this.#free.splice(0, some);
    this.#given.push(...taken);
    return taken;
  }

  /** Creates as many as are missing. */
  async #deletions(): Promise<readonly HttpRequest[]> {
    const there = await this.#created();
    if (there.length >= Math.min(fewest, this.#most)) return there.slice(0, this.#most);
    await inSome(await this.#creations(), each => this.#success(requestOf(each)));
    return (await this.#created()).slice(0, this.#most);
  }

  /** The deletions of those that were given and are there. */
  async #created(): Promise<readonly HttpRequest[]> {
    const byProject = Map.groupBy(this.#given, call => pairOf(call).project);
    const found = await inSome([...byProject], async ([project, calls]) => {
      const ids = await this.#idsByTeam(project, calls);
      return calls.flatMap(call => {
        const id = ids.get(pairOf(call).team);
        const path = `/api/v2/team-projects/${id}`;
        return id === undefined ? [] : [requestOf({ method: 'DELETE', path, token: call.token })];
      });
    });
    return found.flat();
  }

  /** Of all teams with a grant on the project, or of the only one that is asked about. */
  async #idsByTeam(project: string, calls: readonly Call[]): Promise<ReadonlyMap<string, string>> {
    const [first] = calls as [Call];
    const team = calls.length === 1 ? `&filter%5Bteam%5D%5Bid%5D=${pairOf(first).team}` : '';
    const list = `/api/v2/team-projects?filter%5Bproject%5D%5Bid%5D=${project}${team}&page%5Bsize%5D=100`;
    const ids = new Map<string, string>();
    for (let page: number | null = 1; page !== null; ) {
      const request = requestOf({ method: 'GET', path: `${list}&page%5Bnumber%5D=${page}`, token: first.token });
      const { data, meta } = JSON.parse(await this.#success(request)) as Listed;
      for (const { id, relationships } of data) ids.set(relationships.team.data.id, id);
      page = meta.pagination['next-page'];
    }
    return ids;
  }

  async #success(request: HttpRequest): Promise<string> {
    const { status, text } = await asked(this.#port, request);
    if (status < 200 || status > 299) throw new Error(`${request.method} ${request.path} answered ${status}: ${text}`);
    return text;
  }
}
