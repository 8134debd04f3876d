/** One request as an operation sees it. */

import { type Caller, isUser } from '../core/authority.ts';
import { Fault, type Flaw } from '../core/fault.ts';
import type { Scope } from '../store/effect-scope.ts';
import { newId, type Prefix, type Random } from '../store/id.ts';
import type { Here } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { type Document, type Resource, Written } from '../wire/document.ts';
import { etag, matches } from '../wire/etag.ts';
import { type Extras, frameOf, type Listing, type Page, pageAsked, parameter, type Query } from '../wire/paging.ts';
import { instantOf } from '../wire/time.ts';
import { Effects } from './effect.ts';
import type { Operation } from './operation.ts';

/** What operations need of the server around them; tests replace the clock and the randomness. */
export type Services = {
  readonly publicUrl: () => string;
  readonly tokenKey: string;
  readonly now: () => Date;
  readonly random: Random;
};

type ParamNames<P extends string> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | ParamNames<More>
    : Rest
  : never;

export type Incoming = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
};

/** Who asks, when and, where the operation names a place, where that is in it. */
export type Asker = { readonly caller: Caller; readonly now: string; readonly here: () => Here | undefined };

/** The parameter that every write takes. */
export const dryRun = 'dry-run';

export const pointerTo = (relationship: string, within = '/data'): string => `${within}/relationships/${relationship}`;

/** The id that a relationship of a resource names, whatever that resource is. */
export const namedIn = (resource: unknown, relationship: string): string | undefined => {
  const { relationships } = (resource ?? {}) as { relationships?: Record<string, { data?: { id?: unknown } }> };
  const id = relationships?.[relationship]?.data?.id;
  return typeof id === 'string' ? id : undefined;
};

export class Request<P extends string = string, B = unknown> {
  readonly tx: Tx;
  readonly caller: Caller;
  readonly #here: Asker['here'];
  readonly params: Readonly<Record<ParamNames<P>, string>>;
  readonly services: Services;
  readonly now: string;
  /** The body as it came, for the ids that authority depends on. */
  readonly rawBody: unknown;
  readonly #incoming: Incoming;
  readonly #operation: Operation;
  #effects: Effects | undefined;

  constructor(tx: Tx, incoming: Incoming, { caller, here, now }: Asker, operation: Operation, services: Services) {
    this.tx = tx;
    this.caller = caller;
    this.#here = here;
    this.params = incoming.params;
    this.services = services;
    this.now = now;
    this.rawBody = incoming.body;
    this.#incoming = incoming;
    this.#operation = operation;
  }

  /** The caller in the place that the operation names; undefined where there is none. It may refuse the caller. */
  get here(): Here | undefined {
    return this.#here();
  }

  newId(prefix: Prefix): string {
    return newId(this.services.random, prefix);
  }

  /**
   * The checked body; none counts as an empty one. Ask for it only after authority is decided: a caller without permission
   * learns nothing of its flaws. `ownId` is the id of what is changed, where the path does not end in it; `known` are flaws
   * that the operation has found already.
   */
  body({ ownId, known = [] }: { readonly ownId?: string; readonly known?: readonly Flaw[] } = {}): B {
    const body = this.rawBody ?? {};
    const { id } = (body as { data?: { id?: unknown } | null }).data ?? {};
    // An empty id counts as none: a client sends it so.
    const isUpdate = this.#operation.method === 'PATCH' || this.#operation.method === 'PUT';
    const isForeign = isUpdate && typeof id === 'string' && id !== '' && !this.#isOwnId(id, ownId);
    const flaws = isForeign ? [{ pointer: '/data/id', detail: 'id must be that of what is changed, or absent' }] : [];
    return this.#operation.check?.(body, [...flaws, ...known]) as B;
  }

  /** Why the body is refused, where that is certain. */
  flaws(): Fault {
    try {
      this.body();
    } catch (error) {
      if (error instanceof Fault) return error;
      throw error;
    }
    throw new Error('a body without flaws was refused');
  }

  /** Whether the path ends in this id. An organization is known by its name, whatever its case; an account is the caller's. */
  #isOwnId(id: string, ownId?: string): boolean {
    if (ownId !== undefined) return id === ownId;
    const [name, own = ''] = Object.entries(this.#incoming.params).at(-1) ?? [];
    if (name === undefined) return isUser(this.caller, id);
    return name === 'organization' ? id.toLowerCase() === own.toLowerCase() : id === own;
  }

  /** The id that a relationship of the body names, if it does. */
  named(relationship: string): string | undefined {
    return namedIn((this.rawBody as { data?: unknown } | null | undefined)?.data, relationship);
  }

  /** The items of a body that is a list, as they came. */
  get rawItems(): readonly unknown[] {
    const data = (this.rawBody as { data?: unknown } | null | undefined)?.data;
    return Array.isArray(data) ? data : [];
  }

  parameter(name: string): string | undefined {
    return parameter(this.#incoming.query, name);
  }

  /** The names of all parameters under this one, as `filter[x][y]` is under `filter[x]`. */
  parametersUnder(name: string): readonly string[] {
    return Object.keys(this.#incoming.query).filter(each => each.startsWith(`${name}[`));
  }

  /** Where a filter that is not known would list, if it were ignored, all as if they met it. */
  expectKnownFilters(): void {
    const { requiredFilters = [], filters = [] } = this.#operation;
    const known = [...requiredFilters, ...filters];
    const unknown = this.parametersUnder('filter').find(name => !known.includes(name));
    if (unknown === undefined) return;
    const detail = `${unknown} is not known; there are ${known.join(', ')}`;
    throw new Fault({ kind: 'bad parameter', parameter: unknown, detail });
  }

  requiredParameter(name: string): string {
    const value = this.parameter(name);
    if (value !== undefined) return value;
    throw new Fault({ kind: 'bad parameter', parameter: name, detail: `${name} is required` });
  }

  /** Whether the query asks for this to be included; underscores and hyphens are one. */
  includes(name: string): boolean {
    const known = this.#operation.includes ?? [];
    const asked = this.parameter('include');
    if (asked === undefined || asked === '') return false;
    const names = asked.split(',').map(each => each.trim().replaceAll('_', '-'));
    const unknown = names.find(each => !known.includes(each));
    if (unknown === undefined) return names.includes(name);
    const detail = `The include parameter knows ${known.join(', ')}; it does not know '${unknown}'`;
    throw new Fault({ kind: 'bad parameter', parameter: 'include', detail });
  }

  /** What the list is to be sorted by. */
  get sort(): { readonly by: string; readonly descending: boolean } | undefined {
    const { sorts = [] } = this.#operation;
    const asked = this.parameter('sort');
    if (asked === undefined || asked === '') return undefined;
    const descending = asked.startsWith('-');
    const by = descending ? asked.slice(1) : asked;
    if (sorts.includes(by)) return { by, descending };
    const detail = `sort must be one of ${sorts.flatMap(name => [name, `-${name}`]).join(', ')}`;
    throw new Fault({ kind: 'bad parameter', parameter: 'sort', detail });
  }

  /** A parameter that lists several values, separated by commas. */
  valuesOf(name: string): readonly string[] | undefined {
    return this.parameter(name)
      ?.split(',')
      .map(value => value.trim())
      .filter(value => value !== '');
  }

  /** Whether a filter that is either on or off is on; `off` are the values that say that it is not. */
  flag(name: string, off: readonly string[] = ['false', '']): boolean {
    const value = this.parameter(name) ?? 'false';
    if (value === 'true' || off.includes(value)) return value === 'true';
    throw new Fault({ kind: 'bad parameter', parameter: name, detail: `${name} must be true or false` });
  }

  /** The time that a parameter says, as our own are written; an empty one says none. */
  time(name: string): string | undefined {
    const asked = this.parameter(name) ?? '';
    if (asked === '') return undefined;
    const time = instantOf(asked);
    if (time !== undefined) return time;
    const detail = `${name} must be a time such as 2030-01-31T12:00:00.000Z`;
    throw new Fault({ kind: 'bad parameter', parameter: name, detail });
  }

  /** Filters that come under an index of the client's choice, as `filter[tagged][i][key]`: the parts of each index. */
  indexed<K extends string>(name: string, ...parts: K[]): readonly Readonly<Partial<Record<K, string>>>[] {
    const found = parts.flatMap(part =>
      this.#namesOf(`${name}[i][${part}]`).map(each => ({ part, index: each.slice(0, -part.length - 2), each })),
    );
    const byIndex = Map.groupBy(found, ({ index }) => index);
    return [...byIndex.values()].map(
      group => Object.fromEntries(group.map(({ part, each }) => [part, this.parameter(each)])) as Record<K, string>,
    );
  }

  /** The names under which a filter comes: `[i]` in it stands for any index. */
  #namesOf(filter: string): readonly string[] {
    const [head = '', tail] = filter.split('[i]');
    if (tail === undefined) return [filter];
    const isIndexed = (name: string) =>
      name.startsWith(`${head}[`) &&
      name.endsWith(`]${tail}`) &&
      !/[[\]]/.test(name.slice(head.length + 1, -tail.length - 1));
    return Object.keys(this.#incoming.query).filter(isIndexed);
  }

  get page(): Page {
    return pageAsked(this.#incoming.query, this.#operation.pageSizes);
  }

  /** Refuses a change to what is no longer as the caller last read it. */
  expectUnchanged(present: Document): void {
    const { ifMatch } = this.#incoming;
    if (ifMatch !== undefined && !matches(ifMatch, etag(JSON.stringify(present))))
      throw new Fault({ kind: 'changed meanwhile' });
  }

  /** Whether the write is only tried: all of it is done, told, and undone. */
  get isDryRun(): boolean {
    if (this.#operation.method === 'GET') return false;
    // Another spelling would be an unknown parameter, and the write would be done.
    const slip = Object.keys(this.#incoming.query).find(name => name !== dryRun && /^\W*dry[\W_]*run\W*$/i.test(name));
    if (slip === undefined) return this.flag(dryRun, ['false']);
    throw new Fault({ kind: 'bad parameter', parameter: slip, detail: `The parameter is ${dryRun}` });
  }

  /** Said before anything is saved: whose access may change, and where. What did is told in the audit row, and by a dry run. */
  affecting(scope: Scope): Promise<void> {
    return this.#ownEffects.watch(scope, this.isDryRun);
  }

  /** To be called once all is saved. */
  effects(): ReturnType<Effects['told']> {
    return this.#ownEffects.told();
  }

  get #ownEffects(): Effects {
    this.#effects ??= new Effects(this.tx, this.caller);
    return this.#effects;
  }

  /** A page of a list, with the operation's own filters in its links. */
  paged<T>({ items, total }: Listing<T>, shown: (item: T) => Resource, extras?: Extras): Document {
    return { data: items.map(shown), ...this.#frame(total, extras) };
  }

  /** The same as text, of rows that are texts. */
  written({ items, total }: Listing<string>, shown: (row: string) => string): Written {
    const frame = JSON.stringify(this.#frame(total));
    return new Written(`{"data":[${items.map(shown).join(',')}],${frame.slice(1)}`, `${frame}${items}`);
  }

  #frame(total: number, extras?: Extras): Omit<Document, 'data'> {
    const path = this.#operation.path.replace(/:(\w+)/g, (_, name) =>
      encodeURIComponent(this.#incoming.params[name] ?? ''),
    );
    const { requiredFilters = [], filters = [], includes, sorts } = this.#operation;
    const others = [...(includes ? ['include'] : []), ...(sorts ? ['sort'] : [])];
    const names = [...requiredFilters, ...filters, ...others].flatMap(name => this.#namesOf(name));
    const carried = names.map(name => [name, this.parameter(name)]);
    return frameOf(total, this.page, `${this.services.publicUrl()}${path}`, Object.fromEntries(carried), extras);
  }
}
