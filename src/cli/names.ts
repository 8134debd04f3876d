/** From names to ids, over HTTP. An id is taken as it is; a name is looked for as it is written, whatever its case. */

import { Failure } from './fault.ts';
import type { Options } from './options.ts';
import type { Document, Resource, Server } from './server.ts';

export type Named = { readonly id: string; readonly name: string };

type OfName = Resource<{ readonly name: string }>;
type OfUser = Resource<{ readonly username: string | null; readonly email?: string | null }>;

/** As the server has them: a prefix and 16 characters. */
export const isId = (prefix: string, text: string): boolean => new RegExp(`^${prefix}-[0-9A-Za-z]{16}$`).test(text);

const isSame = (a: string | null | undefined, b: string): boolean => a?.toLowerCase() === b.toLowerCase();

export class Names {
  readonly #server: Server;
  readonly #options: Options;
  #organization: string | undefined;

  constructor(server: Server, options: Options) {
    this.#server = server;
    this.#options = options;
  }

  /** The one that is named, or else the only one that there is for the token. */
  async organization(): Promise<string> {
    this.#organization ??= this.#options.get('organization') ?? (await this.#onlyOne());
    return this.#organization;
  }

  async #onlyOne(): Promise<string> {
    const { data } = await this.#server.get<Document<readonly Resource[]>>('/api/v2/organizations?page[size]=20');
    const [only] = data;
    if (only && data.length === 1) return only.id;
    if (!only) throw new Failure('this token sees no organization: name one with --organization');
    throw new Failure(
      `the token belongs to several organizations: --organization ${data.map(({ id }) => id).join(' | ')}`,
    );
  }

  async #inside(): Promise<string> {
    return `/api/v2/organizations/${encodeURIComponent(await this.organization())}`;
  }

  /** As the list that it stands in shows it. */
  async #listed(family: string, what: string, name: string, query: Record<string, string>): Promise<Named> {
    for await (const { data } of this.#server.pages<OfName>(`${await this.#inside()}/${family}`, query)) {
      const found = data.find(({ attributes }) => isSame(attributes.name, name));
      if (found) return { id: found.id, name: found.attributes.name };
    }
    throw await this.#absent(what, name);
  }

  async #absent(what: string, name: string): Promise<Failure> {
    return new Failure(`there is no ${what} '${name}' in ${await this.organization()}, or this token may not see it`);
  }

  async project(name: string): Promise<Named> {
    return isId('prj', name) ? { id: name, name } : this.#listed('projects', 'project', name, { q: name });
  }

  async workspace(name: string): Promise<Named> {
    return isId('ws', name)
      ? { id: name, name }
      : this.#listed('workspaces', 'workspace', name, { 'search[name]': name });
  }

  async team(name: string): Promise<Named> {
    return isId('team', name) ? { id: name, name } : this.#listed('teams', 'team', name, { q: name });
  }

  /** All at once, by name in small letters and by id. */
  async teams(): Promise<ReadonlyMap<string, Named>> {
    const all = await this.#server.all<OfName>(`${await this.#inside()}/teams`);
    const named = all.map(({ id, attributes: { name } }) => ({ id, name }));
    return new Map(named.flatMap(team => [[team.id, team] as const, [team.name.toLowerCase(), team] as const]));
  }

  /** By username, or by e-mail. */
  async user(name: string): Promise<Named> {
    if (isId('user', name)) return { id: name, name };
    const path = `${await this.#inside()}/organization-memberships`;
    for await (const { included = [] } of this.#server.pages(path, { q: name, include: 'user' })) {
      const users = included as readonly OfUser[];
      const found = users.find(
        ({ attributes: { username, email } }) => username !== null && (isSame(username, name) || isSame(email, name)),
      );
      if (found) return { id: found.id, name: found.attributes.username ?? name };
    }
    throw await this.#absent('member', name);
  }

  async place({ flag, value }: { readonly flag: 'project' | 'workspace'; readonly value: string }): Promise<Place> {
    return flag === 'project'
      ? { kind: 'projects', word: 'project', ...(await this.project(value)) }
      : { kind: 'workspaces', word: 'workspace', ...(await this.workspace(value)) };
  }

  /** Undefined is the caller itself. */
  async subject(given: { readonly flag: 'user' | 'team'; readonly value: string } | undefined): Promise<Subject> {
    if (!given) return { path: '/api/v2/account', name: 'this token' };
    const { id, name } = given.flag === 'user' ? await this.user(given.value) : await this.team(given.value);
    return { path: `/api/v2/${given.flag}s/${encodeURIComponent(id)}`, name: `${given.flag} ${name}` };
  }
}

export type Place = Named & { readonly kind: 'projects' | 'workspaces'; readonly word: 'project' | 'workspace' };

export type Subject = { readonly path: string; readonly name: string };
