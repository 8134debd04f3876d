/** The routes, as the server itself documents them, and a world in which every one of them finds something. */

import type { Json } from './client.ts';
import type { TestServer } from './server.ts';
import { type Actor, type Directory, newDirectory } from './world.ts';

export type Route = {
  readonly method: string;
  readonly path: string;
  /** Whether it needs no token. */
  readonly open?: boolean;
  /** Whether its body is a question: it writes nothing, and what is wrong with it is told in one sentence. */
  readonly asks?: boolean;
  /** Of the body, where there is one. */
  readonly schema?: Json;
  readonly media?: string | undefined;
  /** Names of those in the query, what the document lets each of them be, and which of them must be there. */
  readonly parameters: readonly string[];
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  readonly required: readonly string[];
};

export const routesOf = async ({ client }: TestServer): Promise<Route[]> => {
  const { body } = await client.send('GET', '/openapi.json');
  return Object.entries<Json>(body.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, { requestBody, security, parameters = [], ...others }]) => {
      const inQuery = parameters.filter((parameter: Json) => parameter.in === 'query');
      const [[media, content] = []] = Object.entries<Json>(requestBody?.content ?? {});
      return {
        method: method.toUpperCase(),
        path,
        open: security?.length === 0,
        asks: method !== 'get' && !others['x-audit'],
        schema: content?.schema,
        media,
        parameters: inQuery.map(({ name }: Json) => name),
        choices: Object.fromEntries(inQuery.map((parameter: Json) => [parameter.name, choicesOf(parameter)])),
        required: inQuery.filter(({ required }: Json) => required).map(({ name }: Json) => name),
      };
    }),
  );
};

const choicesOf = ({ name, schema, description }: Json): readonly string[] => {
  if (name !== 'include') return schema.enum ?? [];
  const names: string[] = /^Of (.*), separated by commas$/.exec(description)?.[1]?.split(', ') ?? [];
  return [...names, names.join(',')];
};

/** A path with its parameters filled in, by the type that the segment before each one names; some are known by name. */
export const filled = (path: string, idOf: (type: string) => string): string =>
  path.replace(/([\w-]+)\/\{(\w+)\}/g, (_, type, parameter) => {
    const kind = parameter === 'name' ? byName(type) : type;
    return `${type}/${idOf(kind)}`;
  });

/** Under this kind a pool keeps the names of a type's resources. */
const byName = (type: string): string => `${type} by name`;

/** An organization with callers of every right, and a second one of the same owner. */
export type World = {
  readonly directory: Directory;
  readonly server: TestServer;
  readonly admin: Actor;
  readonly owner: Actor;
  readonly projectAdmin: Actor;
  readonly member: Actor;
  readonly outsider: Actor;
  readonly organizationToken: Actor;
  readonly project: string;
  readonly team: string;
  readonly grant: string;
  readonly workspace: string;
  readonly foreignTeam: string;
  readonly foreignProject: string;
  /** Users whom the callers are, and their memberships: who is kept out of harm's way keeps the other requests meaningful. */
  readonly callers: ReadonlySet<string>;
};

export const newWorld = async (seed: number): Promise<World> => worldIn(await newDirectory(seed));

export const worldIn = async (directory: Directory): Promise<World> => {
  const olivia = await directory.user('olivia');
  const owner = olivia.actor;
  await directory.organization(owner, 'acme');
  await directory.organization(owner, 'rival');
  const adam = await directory.member(owner, 'acme', 'adam');
  const nora = await directory.member(owner, 'acme', 'nora');
  const otto = await directory.user('otto');
  for (const spare of ['sid', 'sue']) await directory.member(owner, 'acme', spare);
  const project = await directory.project(owner, 'acme', 'production');
  const leads = await directory.team(owner, 'acme', { name: 'leads', visibility: 'organization' }, ['adam']);
  const team = await directory.team(owner, 'acme', { name: 'developers', visibility: 'organization' }, ['sid']);
  await directory.team(owner, 'acme', { name: 'idle', visibility: 'organization' });
  await directory.grant(owner, project, leads, { access: 'admin' });
  const workspace = await directory.workspace(owner, 'acme', 'network', project);
  await directory.workspaceGrant(owner, workspace, team, { access: 'plan' });
  const { attributes } = await owner.make('/organizations/acme/authentication-token');
  const me = await directory.admin.get('/account/details');
  const callers = [me.body.data.id, olivia.id, adam.id, nora.id, otto.id];
  const members = await owner.get('/organizations/acme/organization-memberships?page[size]=100');
  const theirs = members.body.data.filter(({ relationships }: Json) => callers.includes(relationships.user.data.id));
  return {
    directory,
    server: directory.server,
    admin: directory.admin,
    owner,
    projectAdmin: adam.actor,
    member: nora.actor,
    outsider: otto.actor,
    organizationToken: directory.actor(attributes.token),
    project,
    team,
    workspace,
    grant: await directory.grant(owner, project, team, { access: 'write' }),
    foreignTeam: await directory.team(owner, 'rival', { name: 'foreign', visibility: 'organization' }),
    foreignProject: await directory.project(owner, 'rival', 'foreign'),
    callers: new Set([...callers, ...theirs.map(({ id }: Json) => id)]),
  };
};

/** Ids by the type that a path names before its parameter. */
export type Pool = Map<string, string[]>;

/** Adds what a document holds. */
export const learnt = (pool: Pool, body: Json): void => {
  const add = (kind: string, id: string) => {
    const known = pool.get(kind) ?? [];
    if (!known.includes(id)) pool.set(kind, [...known, id]);
  };
  for (const { type, id, attributes } of [body?.data ?? []].flat()) {
    add(type, id);
    if (type === 'workspaces') add(byName(type), attributes.name);
  }
};

/** What a list must be asked for to answer at all; what somebody holds is asked of an organization, unless of a place. */
export const neededBy = ({ path, required }: Pick<Route, 'path' | 'required'>): readonly string[] =>
  /\/(users\/\{id\}|account)\/effective-access$/.test(path) ? ['filter[organization][name]'] : required;

export const requiredQuery = ({ project, workspace }: World, route: Pick<Route, 'path' | 'required'>): string => {
  const ids: Readonly<Record<string, string>> = { organization: 'acme', project, workspace };
  return neededBy(route)
    .map(name => `${name}=${ids[/\[(\w+)\]/.exec(name)?.[1] ?? '']}`)
    .join('&');
};

/** Everything that the lists show to the owner and to the site admin; a new family of routes is found by itself. */
export const poolOf = async (world: World, routes: readonly Route[]): Promise<Pool> => {
  const pool: Pool = new Map([['organizations', ['acme']]]);
  const lists = routes.filter(({ method, open }) => method === 'GET' && !open);
  // The nested lists need the ids of those above them.
  for (const route of lists.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length))
    for (const caller of [world.owner, world.admin]) {
      const address = `${filled(route.path, type => pool.get(type)?.[0] ?? 'none')}?${requiredQuery(world, route)}`;
      const { body } = await world.server.client.call(caller.token, 'GET', address);
      learnt(pool, body);
    }
  return pool;
};

/** Who may do it: the site admin what concerns users, the organization's token what concerns its audit trail, the owner the rest. */
export const rightfulIn = ({ admin, owner, organizationToken }: World, { path }: Route): Actor => {
  if (path.endsWith('/organization/audit-trail')) return organizationToken;
  return /^\/api\/v2\/(admin|users)\/(?!.*\/effective-access$)/.test(path) ? admin : owner;
};
