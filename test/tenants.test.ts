/** To the tokens of one organization, whatever is in another is as what does not exist: in every place of every request. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { organizationPermissions } from '../src/core/authority.ts';
import type { Answer, Json } from './support/client.ts';
import { Dice, printSeed, testSeed } from './support/dice.ts';
import { engine, newStore } from './support/engine.ts';
import { rehearsing } from './support/rehearsal.ts';
import { neededBy, type Route, routesOf } from './support/routes.ts';
import { startServer, type TestServer } from './support/server.ts';
import { contents } from './support/tables.ts';
import { type Actor, Directory, mediaType } from './support/world.ts';

const target = 20_000;

// An organization with everything in it

type Tenant = {
  readonly name: string;
  /** By the type that a path or a relationship names; the first is the one that a request of its own would name. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  readonly callers: Readonly<Record<string, Actor>>;
};

const settled = async (directory: Directory, name: string): Promise<Tenant> => {
  const owner = await directory.user(`${name}-owner`);
  await directory.organization(owner.actor, name);
  const member = await directory.member(owner.actor, name, `${name}-minor`);
  const guest = { type: 'organization-memberships', attributes: { email: `${name}@guest.example` } };
  await owner.actor.make(`/organizations/${name}/organization-memberships`, guest);
  const team = (attributes: Json, members: string[] = []) => directory.team(owner.actor, name, attributes, members);
  const open = await team({ name: 'open', visibility: 'organization' }, [`${name}-minor`]);
  const secret = await team({ name: 'secret', visibility: 'secret' }, [`${name}-owner`]);
  const idle = await team({ name: 'idle', visibility: 'organization' });
  const steward = await directory.member(owner.actor, name, `${name}-major`);
  const access = Object.fromEntries(organizationPermissions.map(permission => [permission, true]));
  const strong = await team({ name: 'strong', visibility: 'secret', 'organization-access': access }, [`${name}-major`]);
  const project = await directory.project(owner.actor, name, 'project');
  const workspaces = [
    await directory.workspace(owner.actor, name, `${name}-first`, project),
    await directory.workspace(owner.actor, name, `${name}-other`),
  ];
  const grants = [
    await directory.grant(owner.actor, project, open, { access: 'write' }),
    await directory.grant(owner.actor, project, secret, { access: 'admin' }),
  ];
  const workspaceGrants = [
    await directory.workspaceGrant(owner.actor, workspaces[0] ?? '', open, { access: 'plan' }),
    await directory.workspaceGrant(owner.actor, workspaces[1] ?? '', secret, { access: 'custom' }),
  ];
  const listed = async (family: string): Promise<Json[]> =>
    (await owner.actor.get(`/organizations/${name}/${family}`)).body.data;
  const owners = (await listed('teams')).find(({ attributes }) => attributes.name === 'owners').id;
  const tokens = [
    await owner.actor.make(`/teams/${open}/authentication-token`),
    await owner.actor.make(`/teams/${owners}/authentication-token`),
    await owner.actor.make(`/organizations/${name}/authentication-token`),
    await owner.actor.make(`/teams/${strong}/authentication-token`),
    await member.actor.make(`/users/${member.id}/authentication-tokens`),
  ];
  const [ofTeam, ofOwners, ofOrganization, ofStrong] = tokens.map(({ attributes }) =>
    directory.actor(attributes.token),
  );
  const limited = ['audit-trails', 'decisions'].map(async kind => {
    const { attributes } = await owner.actor.make(`/organizations/${name}/authentication-token?token=${kind}`);
    return [`${kind} token`, directory.actor(attributes.token)] as const;
  });
  const { attributes } = (await owner.actor.get(`/organizations/${name}`)).body.data;
  const ids = (rows: readonly Json[]) => rows.map(({ id }) => id);
  return {
    name,
    ids: {
      organizations: [name],
      'external ids': [attributes['external-id']],
      teams: [idle, open, secret, owners],
      projects: [project, ...ids(await listed('projects')).filter(id => id !== project)],
      workspaces,
      'workspaces by name': [`${name}-first`, `${name}-other`],
      'team-projects': grants,
      'team-workspaces': workspaceGrants,
      'organization-memberships': ids(await listed('organization-memberships')).toReversed(),
      users: [member.id, owner.id],
      usernames: [`${name}-minor`, `${name}-owner`],
      'authentication-tokens': ids(tokens),
    },
    callers: {
      member: member.actor,
      'member with every permission': steward.actor,
      owner: owner.actor,
      'team token': ofTeam as Actor,
      'token of a team with every permission': ofStrong as Actor,
      'owners-team token': ofOwners as Actor,
      'organization token': ofOrganization as Actor,
      ...Object.fromEntries(await Promise.all(limited)),
    },
  };
};

// Requests of a tenant at home, and the places in them where an id stands

type Place =
  | { readonly in: 'path'; readonly at: number }
  | { readonly in: 'query'; readonly at: string }
  | { readonly in: 'body'; readonly at: readonly (string | number)[] };
/** As it is right, with a body that has a flaw, or on a condition that does not hold. */
type Manner = 'right' | 'flawed' | 'conditional';
type Sent = {
  readonly method: string;
  readonly path: string;
  readonly payload?: string;
  readonly condition?: string;
};

/** What a body holds where its schema wants more than a text. */
const rightTexts: Readonly<Record<string, string>> = {
  name: 'something-new',
  username: 'somebody-new',
  email: 'somebody@new.example',
  key: 'key',
  password: 'a long password',
};

class Requests {
  readonly #home: Tenant;

  constructor(home: Tenant) {
    this.#home = home;
  }

  #own(type: string): string {
    return this.#home.ids[type === 'users' ? 'usernames' : type]?.[0] ?? 'none';
  }

  /** The least that a schema asks for, and every relationship that it knows. */
  #bodyOf(schema: Json, key = ''): Json {
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return schema.enum[0];
    const types: string[] = [schema.type].flat();
    if (types.includes('object')) {
      const wanted = Object.entries<Json>(schema.properties ?? {}).filter(
        ([name]) => schema.required?.includes(name) || key === 'relationships' || name === 'relationships',
      );
      const body = Object.fromEntries(wanted.map(([name, inner]) => [name, this.#bodyOf(inner, name)]));
      const isReference = schema.properties?.id && !schema.properties.attributes;
      return isReference ? { ...body, id: this.#own(body.type) } : body;
    }
    if (types.includes('array')) return [this.#bodyOf(schema.items)];
    if (types.includes('boolean')) return true;
    return rightTexts[key] ?? 'text';
  }

  placesIn({ path, parameters, choices, schema, method }: Route): Place[] {
    const inPath = [...path.matchAll(/\{\w+\}/g)].map((_, at): Place => ({ in: 'path', at }));
    const inQuery = parameters
      // What takes a few words only refuses every id in the same way.
      .filter(name => !/^(page\[|sort$|include$|dry-run$)/.test(name) && (choices?.[name] ?? []).length === 0)
      .map((at): Place => ({ in: 'query', at }));
    const inBody: Place[] = [];
    const search = (value: Json, at: (string | number)[]): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        const step = Array.isArray(value) ? Number(key) : key;
        if (key === 'id') inBody.push({ in: 'body', at: [...at, key] });
        else search(inner, [...at, step]);
      }
    };
    if (schema) search(this.#bodyOf(schema), []);
    if (method === 'PATCH' && schema?.properties?.data?.properties?.id) inBody.push({ in: 'body', at: ['data', 'id'] });
    return [...inPath, ...inQuery, ...inBody];
  }

  mannersOf({ method, schema }: Route): Manner[] {
    const isConditional = ['PATCH', 'PUT', 'DELETE'].includes(method);
    return ['right', ...(schema ? ['flawed' as const] : []), ...(isConditional ? ['conditional' as const] : [])];
  }

  /** A request about what is at home, but for one place. */
  to(route: Route, manner: Manner = 'right', place?: Place, id = ''): Sent {
    const { method, path, schema } = route;
    let at = 0;
    const filled = path.replace(/([\w-]+)\/\{(\w+)\}/g, (_, type, parameter) => {
      const own = this.#own(parameter === 'name' ? `${type} by name` : type);
      const isPlace = place?.in === 'path' && place.at === at;
      at++;
      // Tokens of users are theirs; the paths of users take an id, not a name.
      const inPath = type === 'users' ? (this.#home.ids.users?.[0] ?? '') : own;
      return `${type}/${isPlace ? encodeURIComponent(id) : inPath}`;
    });
    const query = new URLSearchParams();
    for (const name of neededBy(route)) query.set(name, this.#own(`${/\[(\w+)\]/.exec(name)?.[1]}s`));
    if (place?.in === 'query') query.set(place.at, id);
    const address = query.size > 0 ? `${filled}?${query}` : filled;
    const sent = { method, path: address, ...(manner === 'conditional' && { condition: '"stale"' }) };
    if (!schema) return sent;
    const body = this.#bodyOf(schema);
    if (place?.in === 'body') {
      const inner = place.at.slice(0, -1).reduce<Json>((value, key) => value[key], body);
      inner[place.at.at(-1) as string] = id;
    }
    if (manner === 'flawed')
      for (const value of [body, body.data]) Object.assign(value ?? {}, { type: 5, attributes: 5 });
    return { ...sent, payload: JSON.stringify(body) };
  }
}

const send = ({ client }: TestServer, { token }: Actor, { method, path, payload, condition }: Sent): Promise<Answer> =>
  client.send(method, path, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(condition !== undefined && { 'if-match': condition }),
      ...(payload !== undefined && { 'content-type': mediaType, 'content-length': `${Buffer.byteLength(payload)}` }),
    },
    ...(payload !== undefined && { payload }),
  });

// What does not exist, and how an answer about it compares

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Ids and names that are nowhere, one for each shape: an id by its prefix, a name by its length. */
class Nowhere {
  readonly #dice: Dice;
  readonly #known = new Map<string, string>();

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  like(id: string): string {
    const prefix = /^[a-z]+-(?=[1-9A-HJ-NP-Za-km-z]{16}$)/.exec(id)?.[0] ?? '';
    const shape = `${prefix}${id.length}`;
    const known = this.#known.get(shape) ?? prefix + this.#text(id.length - prefix.length);
    this.#known.set(shape, known);
    return known;
  }

  #text(length: number): string {
    return Array.from({ length }, () => this.#dice.pick([...base58])).join('');
  }
}

const ofTheConnection = ['date', 'x-request-id', 'connection', 'keep-alive'];

/** What is the same in two answers that tell the same: all of it, but for the ids that were sent. */
const comparable = ({ status, headers, text }: Answer, ...ids: string[]): string => {
  const said = ids.reduce((left, id) => left.replaceAll(encodeURIComponent(id), '<id>').replaceAll(id, '<id>'), text);
  // A tag is of the whole text, the ids in it included.
  const varying = said === text ? ofTheConnection : [...ofTheConnection, 'etag'];
  const kept = Object.entries(headers).filter(([name]) => !varying.includes(name));
  return JSON.stringify([status, kept, said]);
};

test(`what belongs to another organization is as what does not exist: ${target} probes, 0 leaks`, async t => {
  printSeed(t);
  const store = rehearsing(await newStore());
  const server = await startServer({ seed: testSeed, store });
  t.after(() => server.close());
  const directory = new Directory(server);
  const home = await settled(directory, 'homely');
  const abroad = await settled(directory, 'abroad');
  const routes = (await routesOf(server)).filter(({ path }) => path.startsWith('/api/v2/'));
  const requests = new Requests(home);
  const dice = new Dice(testSeed);
  const nowhere = new Nowhere(dice);

  const foreign = Object.values(abroad.ids).flat();
  /** Every row that names anything of the other organization; the audit trail of one's own may tell what one has asked for. */
  const rowsAbroad = async (): Promise<string> => {
    const rows: string[] = [];
    for (const [table, all] of await store.read(contents))
      for (const row of all) {
        const text = `${table} ${JSON.stringify(row)}`;
        const isOwnTrail = table === 'audit_events' && !row.includes(abroad.ids['external ids']?.[0] ?? '');
        if (!isOwnTrail && foreign.some(id => text.includes(id))) rows.push(text);
      }
    return rows.sort().join('\n');
  };
  const before = await rowsAbroad();

  let probes = 0;
  const statuses: Record<number, number> = {};
  const leaks: string[] = [];
  const succeeded = new Set<string>();

  /** What a request answers, with the clock and the randomness of every other, and nothing of it stays. */
  const rehearsed = async (caller: Actor, sent: Sent): Promise<Answer> => {
    if (sent.method === 'GET') return send(server, caller, sent);
    return store.rehearse(async () => {
      server.reseed(1);
      const answer = await send(server, caller, sent);
      if (answer.status < 300)
        assert.ok((await rowsAbroad()) === before, `${sent.method} ${sent.path} ${sent.payload} reached abroad`);
      return answer;
    });
  };

  const compare = (who: string, sent: Sent, answer: Answer, said: string, expected: string | undefined): void => {
    probes++;
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    if (said !== expected) leaks.push(`${who}: ${Object.values(sent).join(' ')}\n  ${said}\n  ${expected}`);
  };

  /** A request about what is at home, with something of abroad in one place of it. */
  const probe = async (who: string, caller: Actor, route: Route, manner: Manner, place: Place): Promise<void> => {
    const answers = new Map<string, string>();
    // All of them once, on one engine; in another manner, and on the other engine, one of each kind.
    const isWhole = manner === 'right' && engine === 'sqlite';
    for (const ids of Object.values(abroad.ids))
      for (const id of isWhole ? ids : [dice.pick(ids)]) {
        const absent = nowhere.like(id);
        if (!answers.has(absent))
          answers.set(absent, comparable(await rehearsed(caller, requests.to(route, manner, place, absent)), absent));
        const sent = requests.to(route, manner, place, id);
        const answer = await rehearsed(caller, sent);
        compare(who, sent, answer, comparable(answer, id), answers.get(absent));
      }
  };

  /** A request as somebody abroad would make it. */
  const absentIds = Object.entries(abroad.ids).map(([kind, ids]) => [kind, ids.map(id => nowhere.like(id))]);
  const noTenant: Tenant = { ...abroad, ids: Object.fromEntries(absentIds) };
  const requestsAbroad = new Requests(abroad);
  const requestsNowhere = new Requests(noTenant);
  const probeWhole = async (who: string, caller: Actor, route: Route, manner: Manner): Promise<void> => {
    const sent = requestsAbroad.to(route, manner);
    const answer = await rehearsed(caller, sent);
    const expected = await rehearsed(caller, requestsNowhere.to(route, manner));
    const firsts = ({ ids }: Tenant) => Object.values(ids).map(([first = '']) => first);
    compare(who, sent, answer, comparable(answer, ...firsts(abroad)), comparable(expected, ...firsts(noTenant)));
  };

  for (const route of routes)
    for (const [who, caller] of Object.entries(home.callers)) {
      const { status } = await rehearsed(caller, requests.to(route));
      if (status < 300) succeeded.add(`${route.method} ${route.path}`);
      for (const manner of requests.mannersOf(route)) {
        for (const place of requests.placesIn(route)) await probe(who, caller, route, manner, place);
        await probeWhole(who, caller, route, manner);
      }
    }

  t.diagnostic(`${probes} probes, ${leaks.length} leaks, statuses ${JSON.stringify(statuses)}`);
  const dull = routes.map(({ method, path }) => `${method} ${path}`).filter(route => !succeeded.has(route));
  t.diagnostic(`asked in vain also at home: ${dull.join(', ') || 'none'}`);
  assert.equal(leaks.length, 0, `${leaks.length} leaks:\n${leaks.slice(0, 10).join('\n')}`);
  assert.ok((await rowsAbroad()) === before, 'nothing has changed abroad');
  assert.ok(probes >= target, `only ${probes} probes`);
  // A request that fails in any case tells nothing: most of them succeed for somebody at home.
  assert.ok(dull.length < routes.length / 4, `${dull.length} of ${routes.length} routes answer nobody`);
});
