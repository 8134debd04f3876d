/** The same operations at random to both engines, and names and ids that differ by what some engines overlook. */

import assert from 'node:assert/strict';
import { type Json, mediaType } from '../test/support/client.ts';
import { Dice, testSeed, toRepeat } from '../test/support/dice.ts';
import {
  filled,
  learnt,
  type Pool,
  poolOf,
  type Route,
  rightfulIn,
  routesOf,
  type World,
  worldIn,
} from '../test/support/routes.ts';
import type { Directory } from '../test/support/world.ts';
import { onTwins, type Twins } from './support/twins.ts';
import type { Trial } from './trial.ts';

// Operations

const operationsPerWorld = 1_000;

/** Few, so that they meet; in more than one case, and in scripts in which engines have been known to differ. */
const texts = [
  'a',
  'A',
  'B',
  'b',
  'é',
  'É',
  'e\u0301',
  'ß',
  'SS',
  'İ',
  'ı',
  'ﬀ',
  'Ω',
  'ω',
  'я',
  'Я',
  '中',
  '😀',
  '%',
  '_',
  '\\',
  '10',
  '9',
  '',
];

const words: Readonly<Record<string, (dice: Dice) => string>> = {
  name: dice => `${dice.pick(['Name', 'name', 'NAME', 'Other', 'other'])}${dice.pick(['-', '_'])}${dice.below(40)}`,
  username: dice => `${dice.pick(['User', 'user'])}${dice.below(40)}`,
  email: dice => `${dice.pick(['Mail', 'mail', 'ë', 'Ë', 'e\u0308'])}${dice.below(30)}@example.com`,
  key: dice => dice.pick(['key', 'Key', 'other', 'k9', 'k10']),
  value: dice => dice.pick(['', 'red', 'Red', 'blue']),
  'expired-at': dice => dice.pick(['2030-01-01T00:00:00Z', '2030-01-01T02:00:00+02:00', '2020-01-01T00:00:00Z']),
  'auto-destroy-activity-duration': dice => dice.pick(['14d', '3m']),
  'terraform-version': dice => dice.pick(['1.9.0', '1.10.0']),
};

const anyText = (dice: Dice): string => Array.from({ length: 1 + dice.below(4) }, () => dice.pick(texts)).join('');

class Operations {
  readonly #world: World;
  readonly #routes: readonly Route[];
  readonly #dice: Dice;
  readonly #pool: Pool;
  readonly #spared: ReadonlySet<string>;
  readonly #tags = new Map<string, string>();
  readonly tally = new Map<string, number>();

  constructor(world: World, routes: readonly Route[], pool: Pool, dice: Dice) {
    this.#world = world;
    this.#routes = routes.filter(({ open }) => !open);
    this.#dice = dice;
    this.#pool = pool;
    // Who asks and where, without which there would soon be nothing to ask.
    this.#spared = new Set([...world.callers, 'acme', ...(pool.get('authentication-tokens') ?? [])]);
  }

  #id(type: string, isEnding = false): string {
    const dice = this.#dice;
    const known = (this.#pool.get(type) ?? []).filter(id => !(isEnding && this.#spared.has(id)));
    if (type === 'organizations' && !isEnding && dice.chance(0.8)) return 'acme';
    return known.length === 0 || dice.chance(0.05) ? dice.pick(['none', 'NONE', 'a b', '中']) : dice.pick(known);
  }

  #body(schema: Json, key = ''): Json {
    const dice = this.#dice;
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return dice.pick(schema.enum);
    const types: string[] = [schema.type].flat();
    if (types.includes('null') && dice.chance(0.2)) return null;
    if (types.includes('object')) {
      const kept = Object.entries<Json>(schema.properties ?? {}).filter(
        ([name]) => schema.required?.includes(name) || dice.chance(0.4),
      );
      const made = Object.fromEntries(kept.map(([name, inner]) => [name, this.#body(inner, name)]));
      if ('id' in made && !schema.properties?.attributes)
        made.id = made.type === 'users' ? dice.pick(['sid', 'SUE', 'nora', 'none']) : this.#id(made.type);
      return made;
    }
    if (types.includes('array')) return Array.from({ length: 1 + dice.below(2) }, () => this.#body(schema.items, key));
    if (types.includes('boolean')) return dice.chance(0.5);
    if (types.includes('integer')) return (schema.minimum ?? 0) + dice.below(100);
    return dice.chance(0.9) && words[key] ? words[key](dice) : anyText(dice);
  }

  #query({ parameters, choices = {}, required }: Route): string {
    const dice = this.#dice;
    const query = new URLSearchParams();
    for (const name of parameters) {
      if (!dice.chance(required.includes(name) ? 0.98 : 0.2)) continue;
      const type = /^filter\[([\w-]+)\]\[id\]$/.exec(name)?.[1];
      const choice = choices[name] ?? [];
      if (name.startsWith('page[')) query.append(name, `${dice.pick([1, 1, 2, 3, 100, 0, 'x'])}`);
      else if (type) query.append(name, this.#id(`${type}s`));
      else if (choice.length > 0) query.append(name, dice.pick(choice));
      else query.append(name, dice.chance(0.5) ? (words.name?.(dice) ?? '') : anyText(dice));
    }
    return query.size > 0 ? `?${query}` : '';
  }

  async run(): Promise<void> {
    const dice = this.#dice;
    const route = dice.pick(this.#routes);
    const isEnding = route.method === 'DELETE' || route.path.endsWith('safe-delete');
    if (isEnding && dice.chance(0.5)) return this.run();
    const { owner, projectAdmin, member, outsider, admin, organizationToken } = this.#world;
    const others = [owner, projectAdmin, member, outsider, admin, organizationToken];
    const caller = dice.chance(0.8) ? rightfulIn(this.#world, route) : dice.pick(others);
    // Those who ask keep their names and their passwords.
    if (route.path.includes('/account/') && route.method !== 'GET') return this.run();
    const ending = isEnding || route.path.includes('/admin/users/');
    const path = filled(route.path, type =>
      encodeURIComponent(this.#id(type, ending && !route.path.includes(`${type}/{organization}/`))),
    );
    if (isEnding && /\/organizations\/acme(\/authentication-token)?$/.test(path)) return this.run();
    const body = route.schema && this.#body(route.schema);
    if (body?.data?.id !== undefined && dice.chance(0.9)) delete body.data.id;
    // The organization stays what it is called, and open to those who ask.
    if (path.endsWith('/organizations/acme'))
      for (const name of ['name', 'user-tokens-enabled']) delete body?.data?.attributes?.[name];
    const tag = dice.chance(0.2) ? this.#tags.get(path) : undefined;
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.#world.server.client.send(route.method, `${path}${this.#query(route)}`, {
      headers: {
        authorization: `Bearer ${caller.token}`,
        ...(tag !== undefined && { 'if-match': tag }),
        ...(payload !== undefined && { 'content-type': mediaType, 'content-length': `${Buffer.byteLength(payload)}` }),
      },
      ...(payload !== undefined && { payload }),
    });
    assert.ok(answer.status < 500, `${route.method} ${path} answered ${answer.status}: ${answer.text}`);
    if (answer.headers.etag) this.#tags.set(path, answer.headers.etag);
    learnt(this.#pool, answer.body);
    const kind = `${route.method === 'GET' ? 'read' : 'write'} ${answer.status < 300 ? 'done' : 'refused'}`;
    this.tally.set(kind, (this.tally.get(kind) ?? 0) + 1);
  }
}

// Pairs

/** Lower case as SQL has it on both engines: of ASCII letters only. */
const lower = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase());

const lookAlikes: Readonly<Record<string, string>> = {
  a: 'а',
  e: 'е',
  o: 'о',
  p: 'р',
  c: 'с',
  i: 'і',
  k: 'к',
  s: 'ѕ',
  '-': '‐',
};

const another = (dice: Dice, text: string, change: (letter: string) => string): string => {
  const letters = [...text];
  const places = letters
    .map((letter, place) => ({ place, to: change(letter) }))
    .filter(({ place, to }) => to !== letters[place]);
  if (places.length === 0) return `${text}\u200b`;
  const { place, to } = dice.pick(places);
  letters[place] = to;
  return letters.join('');
};

const swapped = (letter: string): string =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();

/** Another text which one might take for it. */
const disguises: readonly ((text: string, dice: Dice) => string)[] = [
  (text, dice) => another(dice, text, swapped),
  text => [...text].map(swapped).join(''),
  text => (text.normalize('NFD') === text ? text.normalize('NFC') : text.normalize('NFD')),
  text => `${text}\u0301`,
  text => `${text} `,
  text => ` ${text}`,
  text => `${text}\t`,
  text => `${text}\u00a0`,
  text => `${text}\u200b`,
  text => `${text}\0`,
  text => `${text}\ufeff`,
  (text, dice) => another(dice, text, letter => lookAlikes[letter] ?? letter),
  (text, dice) =>
    another(dice, text, letter =>
      /[!-~]/.test(letter) ? String.fromCodePoint(letter.charCodeAt(0) + 0xfee0) : letter,
    ),
];

/** Ids are exact; names are the same in capitals; a list of names has room around its commas. */
const rules = { exact: (text: string) => text, named: lower, listed: (text: string) => lower(text).trim() };

type Kept = {
  readonly kind: string;
  readonly text: string;
  /** Whether it is found by this other text. */
  readonly finds: (other: string) => Promise<boolean>;
  /** Two texts that this makes the same mean the same. */
  readonly rule: (text: string) => string;
};

/** All that is found by an id or a name, with ways to ask for it. */
const keptIn = async (directory: Directory): Promise<Kept[]> => {
  const world = await worldIn(directory);
  const { owner, admin, project, team, grant, workspace } = world;
  const at =
    (path: string, actor = owner) =>
    async (other: string) => {
      const { status, text } = await actor.get(path.replace('*', encodeURIComponent(other)));
      assert.ok(
        status === 200 || status === 404,
        `GET ${path} for ${JSON.stringify(other)} answered ${status}: ${text}`,
      );
      return status === 200;
    };
  const among =
    (path: string, actor = owner) =>
    async (other: string) => {
      const { status, body, text } = await actor.get(path.replace('*', encodeURIComponent(other)));
      assert.ok(
        status === 200 || status === 400,
        `GET ${path} for ${JSON.stringify(other)} answered ${status}: ${text}`,
      );
      return status === 200 && body.data.length > 0;
    };
  const ofMember = await owner.get('/organizations/acme/organization-memberships');
  const membership: string = ofMember.body.data[0].id;
  const { id: token } = await owner.make(`/teams/${team}/authentication-tokens`, {
    type: 'authentication-tokens',
    attributes: { description: 'kept' },
  });
  const mail = 'Zoë.Ångström-Ωµ@example.com';
  const { id: user } = await admin.make('/admin/users', {
    type: 'users',
    attributes: { username: 'Zoe', email: mail },
  });
  const invitation = { type: 'organization-memberships', attributes: { email: mail } };
  await owner.make('/organizations/acme/organization-memberships', invitation);
  const taken =
    (path: string, type: string, attributes: (other: string) => Json, undo: (id: string) => string, actor = owner) =>
    async (other: string) => {
      const { status, body, text } = await actor.post(path, { type, attributes: attributes(other) });
      assert.ok(status < 300 || status === 422 || status === 400, `POST ${path} answered ${status}: ${text}`);
      // What can be made beside it is another; what cannot for its form is none at all.
      if (status < 300) assert.equal((await actor.delete(undo(body.data.id))).status, 204);
      return status === 422 && /taken|already/i.test(text);
    };
  const id = (kind: string, text: string, finds: Kept['finds']): Kept => ({ kind, text, finds, rule: rules.exact });
  const name = (kind: string, text: string, finds: Kept['finds']): Kept => ({ kind, text, finds, rule: rules.named });
  const listed = (kind: string, text: string, finds: Kept['finds']): Kept => ({
    kind,
    text,
    finds,
    rule: rules.listed,
  });
  const grants = `/team-projects?filter[project][id]=`;
  return [
    id('team', team, at('/teams/*')),
    id('project', project, at('/projects/*')),
    id('grant', grant, at('/team-projects/*')),
    id('workspace', workspace, at('/workspaces/*')),
    id('membership', membership, at('/organization-memberships/*')),
    id('token', token, at('/authentication-tokens/*')),
    id('user', user, at('/admin/users/*', admin)),
    id('project of a list', project, at(`${grants}*`)),
    id('team of a list', team, among(`${grants}${project}&filter[team][id]=*`)),
    name('organization', 'acme', at('/organizations/*')),
    name('workspace by name', 'network', at('/organizations/acme/workspaces/*')),
    listed('team by name', 'developers', among('/organizations/acme/teams?filter[names]=*')),
    listed('project by name', 'production', among('/organizations/acme/projects?filter[names]=*')),
    listed('member by e-mail', mail, among('/organizations/acme/organization-memberships?filter[email]=*')),
    name(
      'new user by e-mail',
      mail,
      taken(
        '/admin/users',
        'users',
        email => ({ username: 'fresh', email }),
        id => `/admin/users/${id}`,
        admin,
      ),
    ),
    name(
      'new user by name',
      'Zoe',
      taken(
        '/admin/users',
        'users',
        username => ({ username, email: 'fresh@example.com' }),
        id => `/admin/users/${id}`,
        admin,
      ),
    ),
    name(
      'new team',
      'developers',
      taken(
        '/organizations/acme/teams',
        'teams',
        name => ({ name }),
        id => `/teams/${id}`,
      ),
    ),
    name(
      'new project',
      'production',
      taken(
        '/organizations/acme/projects',
        'projects',
        name => ({ name }),
        id => `/projects/${id}`,
      ),
    ),
    id(
      'new token',
      'kept',
      taken(
        `/teams/${team}/authentication-tokens`,
        'authentication-tokens',
        description => ({ description }),
        id => `/authentication-tokens/${id}`,
      ),
    ),
  ];
};

const comparePairs = async ({ directory }: Twins, times: number, dice: Dice, progress: (text: string) => void) => {
  const all = await keptIn(directory);
  for (const { kind, text, finds } of all) assert.ok(await finds(text), `the ${kind} is not found by its own text`);
  let same = 0;
  for (let index = 0; index < times; index++) {
    const { kind, text, finds, rule } = all[index % all.length] as Kept;
    const other = dice.pick(disguises)(text, dice);
    const isSame = rule(other) === rule(text);
    if (isSame) same++;
    assert.equal(
      await finds(other),
      isSame,
      `the ${kind} ${JSON.stringify(text)} is ${isSame ? 'not ' : ''}found by ${JSON.stringify(other)} (${toRepeat})`,
    );
    progress(`${index + 1} of ${times} pairs`);
  }
  return { same, kinds: all.length };
};

export const twoEngines: Trial = {
  name: 'two-engines',
  fault:
    'the same random operations to both engines, and ids and names that differ in case, Unicode form or at the end',
  short: 300,
  long: 20_000,
  run: async (times, progress) => {
    const dice = new Dice(testSeed);
    const tally = new Map<string, number>();
    for (let done = 0; done < times; done += operationsPerWorld)
      await onTwins(testSeed + done, async ({ directory, client }) => {
        const world = await worldIn(directory);
        const routes = await routesOf(directory.server);
        const pool = await poolOf(world, routes);
        const operations = new Operations(world, routes, pool, dice);
        const before = client.asked;
        for (const end = Math.min(operationsPerWorld, times - done) + before; client.asked < end; ) {
          await operations.run();
          progress(`${done + client.asked - before} of ${times} operations`);
        }
        for (const [kind, count] of operations.tally) tally.set(kind, (tally.get(kind) ?? 0) + count);
      });
    // Otherwise nothing was proved.
    for (const [kind, least] of Object.entries({ 'read done': 0.05, 'write done': 0.05, 'write refused': 0.05 }))
      assert.ok((tally.get(kind) ?? 0) > times * least, `too few of one kind: ${JSON.stringify([...tally])}`);
    const pairs = Math.ceil(times / 2);
    const { same, kinds } = await onTwins(testSeed, twins => comparePairs(twins, pairs, dice, progress));
    const told = [...tally].toSorted().map(([kind, count]) => `${count} ${kind}`);
    return [
      `${times} operations, 0 differences in status, headers and body (${told.join(', ')})`,
      `${pairs} pairs of ids and names in ${kinds} ways to ask, 0 differences, 0 cross-matches (${same} the same by rule)`,
    ];
  },
};
