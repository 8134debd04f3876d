/** A fuzz: valid requests, spoiled at random. Never a 5xx, never half a change, and every answer in the form that is promised. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Sql, sql } from '../src/store/sql.ts';
import type { Row, Tx } from '../src/store/store.ts';
import { type Answer, assertErrors, type Json, mediaType, plainMediaType } from './support/client.ts';
import { Dice, printSeed, testSeed } from './support/dice.ts';
import { leftHanging, type RawAnswer, raw, rawRequest } from './support/raw.ts';
import {
  filled,
  learnt,
  newWorld,
  type Pool,
  poolOf,
  type Route,
  rightfulIn,
  routesOf,
  type World,
} from './support/routes.ts';
import { damages, danglingReferences } from './support/tables.ts';

const asked = 10_000;

const oddTexts = [
  '',
  ' ',
  'a',
  'x'.repeat(91),
  'x'.repeat(300),
  'x'.repeat(9000),
  '😀'.repeat(30),
  '\u202Eevil\u202C',
  `e${'\u0301'.repeat(200)}`,
  'ﷺ',
  'İ',
  'ß',
  '\u2028',
  '\ufeff',
  '\t\r\n',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '__proto__',
  'constructor',
  'toString',
  'owners',
  'OWNERS',
  'Default Project',
  'admin',
  'custom',
  'read',
  'null',
  '0',
  '../../etc/passwd',
  "' or 1=1; drop table users; --",
  '$(id){{7*7}}%s%n',
  '<script>alert(1)</script>',
  'a@b',
  '2030-01-01T00:00:00Z',
  '9999-12-31T23:59:59-23:59',
  '0000-00-00T00:00:00Z',
];

/** Numbers as JSON text: some of them are not what they seem once parsed. */
const oddNumbers = [
  ...['0', '-0', '-1', '1.5', '1E+2', '1e999', '-1e999', '1e-400', '2147483648', '9007199254740993'],
  ...['-9223372036854775809', '18446744073709551616', '9'.repeat(400)],
];

const rawNumber = (text: string): string => `@raw ${text}@`;
const jsonText = (value: unknown): string => JSON.stringify(value).replace(/"@raw (.*?)@"/g, '$1');

const oddValue = (dice: Dice, depth = 0): Json => {
  switch (dice.below(depth > 3 ? 4 : 7)) {
    case 0:
      return dice.pick(oddTexts);
    case 1:
      return rawNumber(dice.pick(oddNumbers));
    case 2:
      return dice.pick([null, true, false]);
    case 3:
      return dice.pick([[], {}, [[]], { a: {} }, [null]]);
    case 4:
      return Array.from({ length: dice.below(4) }, () => oddValue(dice, depth + 1));
    case 5:
      return { [dice.pick(oddTexts)]: oddValue(dice, depth + 1), [dice.pick(oddTexts)]: oddValue(dice, depth + 1) };
    default: {
      let deep: Json = 1;
      for (let level = dice.below(500); level > 0; level--) deep = dice.chance(0.5) ? [deep] : { data: deep };
      return deep;
    }
  }
};

/** Values that a rightful request would have, by the name of the attribute. */
const rightValues: Readonly<Record<string, (count: number) => string>> = {
  name: count => `Name-${count}`,
  // Few enough that the invited and the users meet, in capitals or not.
  email: count => `${count % 2 === 0 ? 'e' : 'E'}${count % 29}@example.com`,
  username: count => `u${count}`,
  'expired-at': () => '2030-01-01T00:00:00Z',
  key: count => `key-${count % 7}`,
  value: count => `value-${count}`,
  'auto-destroy-activity-duration': () => '14d',
  current_password: () => 'a good password',
  password: () => 'a good password',
  password_confirmation: () => 'a good password',
};

class Fuzz {
  readonly world: World;
  readonly dice: Dice;
  readonly routes: readonly Route[];
  readonly writes: readonly Route[];
  readonly pool: Pool;
  readonly tokens: readonly (string | undefined)[];
  readonly spared: ReadonlySet<string>;
  readonly tally = new Map<string, number>();
  /** What went wrong, once per kind, with the first request that showed it. */
  readonly wrong = new Map<string, string>();
  sent = 0;
  written = 0;
  /** Grants that a whole list of team access made, changed or removed. */
  listed = 0;
  #made = 0;

  constructor(world: World, dice: Dice, routes: readonly Route[], pool: Pool) {
    this.world = world;
    this.dice = dice;
    this.routes = routes;
    // Questions among them: they have bodies, too.
    this.writes = routes.filter(({ method }) => method !== 'GET');
    this.pool = pool;
    this.spared = new Set([...world.callers, 'acme', ...(pool.get('authentication-tokens') ?? [])]);
    const { owner, admin, projectAdmin, member, outsider, organizationToken } = world;
    this.tokens = [
      ...[owner, admin, projectAdmin, member, outsider, organizationToken].map(({ token }) => token),
      ...[undefined, 'nonsense', owner.token?.slice(0, -1)],
    ];
  }

  /** Mostly of somebody who may do it: what is refused at the door goes no further. */
  tokenFor(route: Route): string | undefined {
    return this.dice.chance(0.75) ? rightfulIn(this.world, route).token : this.dice.pick(this.tokens);
  }

  /** Mostly a write, and less often the end of something than its beginning. */
  route(): Route {
    const route = this.dice.pick(this.dice.chance(0.8) ? this.writes : this.routes);
    return route.method === 'DELETE' && this.dice.chance(0.6) ? this.route() : route;
  }

  /** An id of this type; the callers, their tokens and their organization are spared, or soon everything would be 401 or 404. */
  idOf(type: string, isLast: boolean): string {
    if (type === 'organizations' && !isLast && this.dice.chance(0.9)) return 'acme';
    const ids = (this.pool.get(type) ?? []).filter(id => !this.spared.has(id));
    return ids.length === 0 ? 'none' : this.dice.pick(ids);
  }

  pathOf({ path }: Route): string {
    if (this.dice.chance(0.1)) return filled(path, () => this.oddId());
    return filled(path, type => this.idOf(type, path.endsWith('}')));
  }

  oddId(): string {
    const odd = ['%', '%zz', '%ff', '%00', '..', '%2e%2e', '%2F', '*', '~', ';a=b', ':id', '{id}', 'x'.repeat(1500)];
    if (this.dice.chance(0.5)) return this.dice.pick(odd);
    return encodeURIComponent(this.dice.pick(oddTexts).toWellFormed()) || '%20';
  }

  oddQuery(): string {
    const names = [
      'filter[project][id]',
      'filter[team][id]',
      'filter[workspace][id]',
      'filter[organization][name]',
      'filter[organization][name]',
      'filter[subject]',
      'filter[resource]',
      'filter[project-access][teams]',
      'filter[workspace-access][runs]',
      'search[name]',
      'search[wildcard-name]',
      'search[tags]',
      'sort',
      'page[number]',
      'page[size]',
      'page',
      'include',
      'sort',
      'q',
      'q[name]',
      'filter[names]',
      'filter[permissions][update]',
      'filter[tagged][0][key]',
      'filter[tagged][0][value]',
      'filter[status]',
      'filter[email]',
      'filter[expiry_status]',
      'token',
      'since',
      'filter[since]',
      'filter[until]',
      'filter[actor][id]',
      'filter[action]',
      '__proto__',
    ];
    const values = [
      this.world.project,
      this.world.workspace,
      '1',
      '0',
      '-1',
      '1e3',
      '9007199254740993',
      '%',
      '%00',
      '%zz',
      '',
      'x'.repeat(500),
      'acme',
      'teams',
      'workspaces',
      'apply',
      'user,teams',
      'default_project',
      'effective_tag_bindings',
      'true',
      'active',
      '%25_%5C',
      'e1@example.com,E2@example.com',
      '2026-01-01T00:00:00Z',
      '2026-06-31T00:00:00+99:00',
      'create',
    ];
    const parts = Array.from({ length: this.dice.below(5) }, () => {
      const name = this.dice.pick(names);
      const spelled = this.dice.chance(0.5) ? encodeURIComponent(name) : name;
      return this.dice.chance(0.1) ? spelled : `${spelled}=${this.dice.pick(values)}`;
    });
    return this.dice.pick(['?', '?', '?', '?&', '??', '?#']) + parts.join(this.dice.pick(['&', '&', '&', ';', '&&']));
  }

  /** A body that the schema allows. */
  bodyOf(schema: Json, key = ''): Json {
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return this.dice.pick(schema.enum);
    const types: string[] = [schema.type].flat();
    if (types.includes('null') && this.dice.chance(0.2)) return null;
    if (types.includes('object')) {
      const properties = Object.entries<Json>(schema.properties ?? {});
      const kept = properties.filter(([name]) => schema.required?.includes(name) || this.dice.chance(0.3));
      const made = Object.fromEntries(kept.map(([name, inner]) => [name, this.bodyOf(inner, name)]));
      // Users are named by username, and those that tests need are not among these.
      if (made.type === 'users' && 'id' in made) made.id = this.dice.pick(['sid', 'sue', `u${this.#made}`]);
      else if ('id' in made && !schema.properties?.attributes) made.id = this.idOf(made.type, true);
      return made;
    }
    if (types.includes('array')) return Array.from({ length: 1 + this.dice.below(2) }, () => this.bodyOf(schema.items));
    if (types.includes('boolean')) return this.dice.chance(0.5);
    if (types.includes('integer')) return (schema.minimum ?? 0) + this.dice.below(100);
    const right = rightValues[key];
    return right ? right(this.#made++) : `text ${this.#made++}`;
  }

  /** Somewhere in a value, something else. */
  spoiled(value: Json): Json {
    if (typeof value !== 'object' || value === null || this.dice.chance(0.1)) return oddValue(this.dice);
    const keys = Object.keys(value);
    const key = keys.length > 0 ? this.dice.pick(keys) : undefined;
    const dice = this.dice.below(10);
    if (Array.isArray(value)) {
      if (dice === 0) return [...value, oddValue(this.dice)];
      return dice === 1 ? [] : value.map((inner, index) => (`${index}` === key ? this.spoiled(inner) : inner));
    }
    if (dice === 0) return { ...value, [this.dice.pick(oddTexts)]: oddValue(this.dice) };
    if (dice === 1) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
    if (key === undefined) return oddValue(this.dice);
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, name === key ? this.spoiled(inner) : inner]),
    );
  }

  poisoned(text: string): string {
    const poisons = [
      '"__proto__":{"access":"admin"},',
      '"__pr\\u006fto__":null,',
      '"constructor":{"prototype":{"admin":true}},',
      '"constructor":1,',
      '"data":null,',
      '"id":"x","id":"y",',
      '"\\u0000":1,',
    ];
    const braces = [...text.matchAll(/\{(?=")/g)].map(({ index }) => index + 1);
    const place = braces.length === 0 ? 0 : this.dice.pick(braces);
    return text.slice(0, place) + this.dice.pick(poisons) + text.slice(place);
  }

  /** Bytes that are almost the text. */
  damaged(text: string): Buffer {
    const bytes = Buffer.from(text);
    const place = this.dice.below(bytes.length + 1);
    const [head, tail] = [bytes.subarray(0, place), bytes.subarray(place)];
    switch (this.dice.below(6)) {
      case 0:
        return head;
      case 1:
        return Buffer.concat([head, this.dice.bytes(1 + this.dice.below(4)), tail]);
      case 2:
        return Buffer.concat([head, tail.subarray(1)]);
      case 3:
        return Buffer.concat([bytes, this.dice.bytes(1 + this.dice.below(20))]);
      case 4:
        return Buffer.concat([Buffer.from('\ufeff'), bytes]);
      default:
        return Buffer.concat([bytes, Buffer.alloc(70_000, 0x20)]);
    }
  }

  payloadOf({ schema }: Route, path: string): Buffer {
    if (this.dice.chance(0.08)) return this.dice.bytes(this.dice.below(300));
    let body = schema ? this.bodyOf(schema) : { data: null };
    if (body.data?.id !== undefined) body.data.id = decodedOr(path.split('/').at(-1) ?? '');
    for (let times = this.dice.below(3); times > 0; times--) body = this.spoiled(body);
    let text = jsonText(body) ?? 'null';
    if (this.dice.chance(0.1)) text = this.poisoned(text);
    return this.dice.chance(0.1) ? this.damaged(text) : Buffer.from(text);
  }

  headersOf(
    method: string,
    media: string,
    token: string | undefined,
    payload: Buffer | undefined,
  ): Record<string, string> {
    const types = [
      'application/json',
      'text/plain',
      `${mediaType}; charset=utf-8`,
      `${mediaType};profile=x`,
      ';',
      'é',
      '',
    ];
    const odd: Record<string, string>[] = [
      // Rows of one request are told from those of another by it, so it is used once.
      { 'x-request-id': this.dice.pick(['', 'a b', 'x'.repeat(2000), '\xe9', `fine-${this.sent}`]) },
      { 'if-match': this.dice.pick(['*', '"x"', 'W/"x"', ',', '', '\xff', '"x", *']) },
      { [this.dice.pick(['__proto__', 'constructor', 'x-!#$%', 'content-encoding', 'te'])]: 'gzip' },
      // An answer to HEAD has no body, but what overflows is refused before it is known to be HEAD.
      { 'x-long': 'x'.repeat(method === 'HEAD' ? 2 : 20_000) },
      {
        authorization: this.dice.pick(['', 'Bearer', 'Basic x', 'bearer  x', '\xff\xfe', `Bearer ${'x'.repeat(5000)}`]),
      },
      { accept: this.dice.pick(['', 'text/html', `${mediaType}; ext=x`, '*/*;q=0']) },
      { host: this.dice.pick(['', 'evil.example', '[::1]:0', 'a b']) },
      { expect: this.dice.pick(['100-continue', '200-ok', '']) },
      { range: 'bytes=0-1', 'accept-version': '1.x' },
    ];
    return {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(payload && {
        'content-type': this.dice.chance(0.05) ? this.dice.pick(types) : media,
        'content-length': `${payload.length}`,
      }),
      ...(['PATCH', 'PUT', 'DELETE'].includes(method) && this.dice.chance(0.05) && { 'if-match': '"another"' }),
      ...(this.dice.chance(0.1) && this.dice.pick(odd)),
    };
  }

  /** One request over HTTP, and all that is promised of its answer. */
  async request(route: Route): Promise<void> {
    const isOdd = this.dice.chance(0.06);
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'FROB'];
    const method = isOdd ? this.dice.pick(methods) : route.method;
    const oddPaths = [
      '/',
      '//',
      '/api/v2',
      `/${this.oddId()}`,
      `/api/v2/${this.oddId()}`,
      '/healthz/..',
      '/openapi.json/',
    ];
    const base = this.dice.chance(0.03) ? this.dice.pick(oddPaths) : this.pathOf(route);
    const path = base + (this.dice.chance(route.method === 'GET' ? 0.7 : 0.1) ? this.oddQuery() : '');
    const hasBody = method === 'GET' || method === 'HEAD' ? this.dice.chance(0.1) : this.dice.chance(0.95);
    const payload = hasBody && (route.schema || this.dice.chance(0.2)) ? this.payloadOf(route, base) : undefined;
    const headers = this.headersOf(method, route.media ?? mediaType, this.tokenFor(route), payload);
    const what = () =>
      `${method} ${path.slice(0, 200)} ${JSON.stringify(headers).slice(0, 300)} ${payload?.toString('latin1').slice(0, 300) ?? ''}`;
    this.sent++;
    try {
      const answer = await this.world.server.client.send(method, path, { headers, ...(payload && { payload }) });
      this.judge(method, answer, route);
      // Answers to what never became a request of a documented route are judged by their form alone.
      const isPlain = method === route.method && base !== '' && !isOdd && ![414, 417, 431].includes(answer.status);
      if (isPlain && new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/?#]+')}$`).test(base))
        this.world.server.client.conforms(method, base, answer);
      if (answer.status < 300 && method === 'POST' && !route.asks) this.learn(answer);
      if (answer.status === 204 && method === 'DELETE') this.forget(base);
    } catch (error) {
      this.complain(error as Error, what());
    }
  }

  judge(method: string, { status, headers, body, text }: RawAnswer, route?: Route): void {
    this.tally.set(`${status}`, (this.tally.get(`${status}`) ?? 0) + 1);
    assert.ok(status >= 200 && status < 500, `answered ${status}: ${text}`);
    if (headers['content-type'] === plainMediaType && status >= 400 && method !== 'HEAD') {
      assert.ok(!route || route.asks, `${status} in one sentence where JSON:API is spoken`);
      assert.equal(typeof body, 'string', `${status} without a sentence`);
    } else if (status >= 400 && method !== 'HEAD') assertErrors(status, headers, body, `${status}`);
    if (status >= 300 || ['GET', 'HEAD'].includes(method) || route?.asks) return;
    // A dry run writes nothing.
    if (body?.meta?.effect !== undefined) return;
    this.written++;
    const { added = [], changed = [], removed = [] } = body?.meta ?? {};
    this.listed += added.length + changed.length + removed.length;
  }

  complain({ message }: Error, request: string): void {
    const kind = message.replace(/^[A-Z]+ \/\S*/, '').slice(0, 100);
    if (!this.wrong.has(kind)) this.wrong.set(kind, `${message.slice(0, 300)}\n    ${request}`);
  }

  learn({ body }: Answer): void {
    learnt(this.pool, body);
  }

  forget(path: string): void {
    const [type = '', id = ''] = path.split('/').slice(-2);
    const known = this.pool.get(type);
    if (known)
      this.pool.set(
        type,
        known.filter(other => other !== id),
      );
  }

  /** A request as bytes, without a right to write: what is answered with an error must not have been done. */
  rawBytes(): Buffer {
    const { dice, world } = this;
    const route = dice.pick(this.routes);
    const isRead = route.method === 'GET';
    const headers: Record<string, string> = { Connection: dice.pick(['close', 'keep-alive', 'upgrade', 'x']) };
    if (isRead) headers.Authorization = `Bearer ${world.owner.token}`;
    const body = isRead ? '' : jsonText(route.schema ? this.bodyOf(route.schema) : {});
    if (!isRead) Object.assign(headers, { 'Content-Type': mediaType, 'Content-Length': `${Buffer.byteLength(body)}` });
    const request = rawRequest(route.method, this.pathOf(route), headers, isRead ? '' : body).concat(
      isRead ? '\r\n' : '',
    );
    switch (dice.below(8)) {
      case 0:
      case 1:
        // Line ends alone are no request, and need no answer.
        return Buffer.concat([Buffer.from([1 + dice.below(9)]), dice.bytes(dice.below(1500))]);
      case 2:
        return Buffer.concat([Buffer.from(`${dice.pick(['GET', 'POST', 'BREW'])} /`), dice.bytes(dice.below(200))]);
      case 3:
        return Buffer.from(request.slice(0, 1 + dice.below(request.length - 1)));
      case 4:
        return Buffer.from(request.replace(/Host: .*\r\n/, dice.pick(['', 'Host:\r\n', 'Host: x\r\nHost: y\r\n'])));
      case 5:
        return Buffer.from(
          request.replace('HTTP/1.1', dice.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', 'X', ''])),
        );
      case 6:
        return Buffer.from(
          request.replace('Host:', `${dice.pick(['Expect: x', 'X:\0', 'X', ': x', ' x: y', 'é: x'])}\r\nHost:`),
        );
      default: {
        const bytes = Buffer.from(request);
        for (let times = 1 + dice.below(4); times > 0; times--) bytes[dice.below(bytes.length)] = dice.below(256);
        return bytes;
      }
    }
  }

  async rawRequest(): Promise<void> {
    const bytes = this.rawBytes();
    this.sent++;
    try {
      const answers = await raw(this.world.server, bytes);
      assert.ok(answers.length > 0, 'no answer to raw bytes');
      for (const answer of answers) this.judge('GET', answer);
    } catch (error) {
      const sent = JSON.stringify(bytes.toString('latin1').slice(0, 400));
      // Each of these takes a while: one is enough.
      if ((error as Error).message.includes(leftHanging)) throw new Error(`${leftHanging} by ${sent}`);
      this.complain(error as Error, sent);
    }
  }
}

const decodedOr = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** What must hold of the tables whatever was asked of them: each finds what breaks it. */
type Search = (tx: Tx) => Promise<readonly Row[]>;

const by =
  (statement: Sql): Search =>
  tx =>
    tx.rows(statement);

const isObject = (text: string): boolean => {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};

const noObjects =
  (statement: Sql): Search =>
  async tx =>
    (await tx.rows<[id: string, settings: string]>(statement)).filter(([, settings]) => !isObject(settings));

const invariants: Readonly<Record<string, Search>> = {
  'every foreign key leads somewhere': danglingReferences,
  'every organization has its default project': by(sql`
    select id
    from organizations
    where (select count(*) from projects where organization_id = organizations.id and is_default = 1) <> 1`),
  'every organization has an owner that exists': by(sql`
    select id
    from organizations
    where not exists (
      select 1
      from teams
      join team_memberships on team_memberships.team_id = teams.id
      join organization_memberships on organization_memberships.id = team_memberships.membership_id
      join users on users.id = organization_memberships.user_id
      where teams.organization_id = organizations.id and teams.name = 'owners'
    )`),
  'nobody is invited under the e-mail of a user': by(sql`
    select organization_memberships.id, users.id
    from organization_memberships
    join users on lower(users.email) = lower(organization_memberships.invited_email)`),
  'a token has exactly one holder': by(sql`
    select id
    from authentication_tokens
    where
      case when user_id is null then 0 else 1 end +
      case when team_id is null then 0 else 1 end +
      case when organization_id is null then 0 else 1 end <> 1`),
  'the settings of an organization are one JSON object': noObjects(sql`
    select id, settings
    from organizations`),
  'the settings of a project are one JSON object': noObjects(sql`
    select id, settings
    from projects`),
  'a project or a workspace has ten tags at most': by(sql`
    select coalesce(project_id, workspace_id)
    from tag_bindings
    group by project_id, workspace_id
    having count(*) > 10`),
  'what is new is told of in the audit trail': by(sql`
    select id
    from projects
    where is_default = 0 and id not in (select resource_id from audit_events)`),
};

test(`${asked} hostile requests: each is answered below 500 in the form that is promised, and none is half done`, async t => {
  printSeed(t);
  const world = await newWorld(testSeed);
  t.after(() => world.server.close());
  const { client, store } = world.server;
  const routes = await routesOf(world.server);
  const fuzz = new Fuzz(world, new Dice(testSeed), routes, await poolOf(world, routes));
  // One row for each write; who comes or goes with an account has others besides, in the trails of organizations, and a whole
  // list of team access has one for each grant.
  const mainRows = sql`
    select count(*)
    from audit_events as event
    where resource_type <> 'organization_user' or not exists (
      select 1
      from audit_events as main
      where main.request_id = event.request_id and main.resource_type = 'user'
    )`;
  const events = () => store.read(async tx => (await tx.row<[number]>(mainRows))?.[0] ?? 0);
  const before = await events();

  const broken = new Map<string, string>();
  const holdTables = async () => {
    for (const [promise, breaking] of Object.entries(invariants)) {
      const rows = await store.read(breaking);
      const what = `broken within ${fuzz.sent} requests: ${promise}: ${JSON.stringify(rows).slice(0, 300)}`;
      if (rows.length > 0 && !broken.has(promise)) broken.set(promise, what);
    }
  };

  while (fuzz.sent < asked) {
    if (fuzz.sent % 100 === 0) {
      assert.equal((await client.send('GET', '/healthz')).status, 200);
      // What one request breaks, a later one may delete.
      await holdTables();
    }
    if (fuzz.dice.chance(0.15)) await fuzz.rawRequest();
    else await fuzz.request(fuzz.route());
  }

  t.diagnostic(
    `${fuzz.sent} requests, ${fuzz.written} of them written: ${JSON.stringify(Object.fromEntries([...fuzz.tally].sort()))}`,
  );
  assert.ok(fuzz.sent >= 10_000);
  assert.equal((await client.send('GET', '/healthz')).status, 200);
  const rows = fuzz.written + fuzz.listed;
  assert.equal((await events()) - before, rows, 'one audit row for each write that was answered as done');
  await holdTables();
  assert.deepEqual(await damages(store), []);
  assert.deepEqual([...broken.values(), ...fuzz.wrong.values()], []);
  // A fuzz that is refused at the door proves little: every kind of answer was among them, and much was done.
  for (const status of [200, 201, 204, 400, 401, 404, 405, 412, 413, 415, 422, 431])
    assert.ok((fuzz.tally.get(`${status}`) ?? 0) > 0, `no request was answered ${status}`);
  assert.ok(fuzz.written > 300, `only ${fuzz.written} writes were done`);
  assert.equal((await world.owner.get(`/organizations/acme`)).status, 200, 'the owner has kept its rights');
  assert.equal((await world.admin.get('/admin/users')).status, 200, 'the site admin has kept its rights');
});
