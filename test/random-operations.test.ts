/** Random histories over HTTP, each answer held against a model that shares nothing with the service. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import type { Answer } from './support/client.ts';
import { printSeed, testSeed } from './support/dice.ts';
import { flags, Model, onProjects, type Prediction, teamManagement } from './support/model.ts';
import type { Value } from './support/model-grants.ts';
import { type Actor, type Directory, grantBody, newDirectory } from './support/world.ts';

const target = 20_000;

const { implied, levels, values } = onProjects;
type Level = string;

// The places of a world. What stands in one can change: a team is deleted and made anew, a token revoked and issued.
const people = ['ann', 'bea', 'cas', 'dan', 'eve', 'fay'] as const;
const members = ['bea', 'cas', 'dan', 'fay'] as const;
const ownTeams = ['apples', 'berries', 'cherries', 'dates'] as const;
const teamPlaces = [...ownTeams, 'owners', 'foreign', 'unknown'] as const;
const ownProjects = ['orchard', 'cellar'] as const;
const projectPlaces = [...ownProjects, 'default', 'foreign', 'unknown'] as const;
const ownerCallers = ['ann', 'organization token', 'owners token'] as const;
const teamTokens = ['apples token', 'berries token', 'cherries token', 'dates token'] as const;
const strangers = ['eve', 'foreign organization token', 'site admin', 'garbage', 'forged', 'nobody'] as const;
const revocable = [...members, ...teamTokens, 'organization token', 'owners token'] as const;
type Person = (typeof people)[number];
type OwnTeam = (typeof ownTeams)[number];
type TeamPlace = (typeof teamPlaces)[number];
type ProjectPlace = (typeof projectPlaces)[number];
type Caller = (typeof revocable)[number] | 'ann' | (typeof strangers)[number];

// What the histories are made of.

type Sent = readonly (readonly [name: string, value: Value])[];
type Attributes = {
  readonly access: string | undefined;
  readonly empty: readonly string[];
  readonly sent: Sent;
};
type Flaw = { readonly path: string; readonly value: unknown };
type Read = { readonly reader: Caller; readonly by: 'show' | 'list' };
/** One of the grants that are there, or of those that ever were and one that never was. */
type Which = { readonly of: 'living' | 'ever'; readonly index: number };
type Holds = 'unasked' | 'current' | 'any' | 'old' | 'nonsense';
type Of<A> = A extends fc.Arbitrary<infer T> ? T : never;

const weighted = <C extends readonly (readonly [number, fc.Arbitrary<unknown>])[]>(...choices: C) =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary }))) as fc.Arbitrary<Of<C[number][1]>>;
const { constant, constantFrom, record } = fc;

const names = Object.keys(values);
const anyCaller: fc.Arbitrary<Caller> = weighted(
  [3, constantFrom(...ownerCallers)],
  [6, constantFrom(...members, ...teamTokens)],
  [1, constantFrom(...strangers)],
);
/** Who manages the project at that moment without being an owner, if anybody does: found out when the history runs. */
const managers = ['manager 1', 'manager 2', 'manager 3'] as const;
type Writer = Caller | (typeof managers)[number];
const anyWriter: fc.Arbitrary<Writer> = weighted([2, anyCaller], [3, constantFrom(...managers)]);
const anyTeam = weighted([5, constantFrom(...ownTeams)], [1, constantFrom(...teamPlaces)]);
const anyProject = weighted([5, constantFrom(...ownProjects, 'default' as const)], [1, constantFrom(...projectPlaces)]);
const anyGrant: fc.Arbitrary<Which> = record({
  of: weighted([6, constant('living' as const)], [1, constant('ever' as const)]),
  index: fc.nat(40),
});
const anyRead: fc.Arbitrary<Read> = record({ reader: anyCaller, by: constantFrom('show', 'list') });
const anyHolds: fc.Arbitrary<Holds> = weighted(
  [6, constant('unasked' as const)],
  [1, constantFrom('current' as const, 'any' as const, 'old' as const, 'nonsense' as const)],
);

const anyPermission: fc.Arbitrary<Sent[number]> = weighted(
  [6, constantFrom(...names).chain(name => fc.tuple(constant(name), constantFrom(...(values[name] ?? []))))],
  [1, constant(['workspace-access/policy-overrides', true] as const)],
);
// Somebody who manages but holds little else is where the rules get narrow: such grants come often.
const managing: fc.Arbitrary<Sent> = fc
  .tuple(constantFrom('manage', 'manage', 'read'), fc.boolean(), fc.array(anyPermission, { maxLength: 3 }))
  .map(([teams, overrides, more]) => [
    ...more,
    ['project-access/teams', teams],
    ...(overrides ? [['workspace-access/policy-overrides', true] as const] : []),
  ]);
const one: fc.Arbitrary<Sent> = anyPermission.map(permission => [permission]);
const few: fc.Arbitrary<Sent> = fc.array(anyPermission, { maxLength: 3 });
const many: fc.Arbitrary<Sent> = fc.array(anyPermission, { maxLength: 16 });
const none: fc.Arbitrary<Sent> = constant([]);
const impliedBy = (level: Level): fc.Arbitrary<Sent> =>
  fc.subarray(names).map(chosen => chosen.map(name => [name, implied[level]?.[name] ?? ''] as const));
const anyLevel = constantFrom(...levels);
const attributes = (access: fc.Arbitrary<Attributes['access']>, sent: fc.Arbitrary<Sent>): fc.Arbitrary<Attributes> =>
  record({ access, empty: fc.subarray(['project-access', 'workspace-access']), sent });
const anyAttributes = weighted(
  [3, attributes(anyLevel, none)],
  [2, anyLevel.chain(level => attributes(constant(level), impliedBy(level)))],
  [1, attributes(anyLevel, few)],
  [3, attributes(constant('custom'), one)],
  [3, attributes(constant('custom'), few)],
  [2, attributes(constant('custom'), many)],
  [5, attributes(constant('custom'), managing)],
  [2, attributes(constant(undefined), few)],
);

const attributePaths = [
  '/data',
  '/data/type',
  '/data/attributes',
  '/data/attributes/access',
  '/data/attributes/project-access',
  '/data/attributes/workspace-access',
  ...names.map(name => `/data/attributes/${name}`),
  // Nobody knows these: they are ignored.
  '/meta',
  '/data/links',
  '/data/attributes/colour',
  '/data/attributes/project-access/colour',
];
const relationshipPaths = ['project', 'team'].flatMap(name =>
  ['', '/data', '/data/type', '/data/id', '/meta'].map(end => `/data/relationships/${name}${end}`),
);
const anyOddity = constantFrom<unknown[]>(
  ...[undefined, null, '', 'plan', 'write', 'owner', 'true', 'teams', 'team-projects', 3, true, [], {}, ['read']],
);
const flawsAt = (...paths: string[]): fc.Arbitrary<Flaw[]> => {
  const flaw = record({ path: constantFrom(...paths), value: anyOddity });
  return weighted([5, constant<Flaw[]>([])], [1, fc.array(flaw, { minLength: 1, maxLength: 3 })]);
};
/** Instead of the document: something that is no JSON, no object, or nothing at all. */
const anyInstead = weighted(
  [40, constant(undefined)],
  [1, constantFrom('{"data":', 'access=read', '{}', '{"data":null}', '[]', 'null', '"data"', 'nothing')],
);

const anyList = record({
  do: constant('list' as const),
  caller: anyCaller,
  project: weighted([20, anyProject], [1, constant(undefined)]),
  team: weighted([3, constant(undefined)], [1, anyTeam]),
  number: weighted(
    [2, constant(undefined)],
    [3, constantFrom('1', '2', '3', '7')],
    [1, constantFrom('0', '-1', '1.5', 'two', '')],
  ),
  size: weighted(
    [2, constant(undefined)],
    [3, constantFrom('1', '2', '3', '100', '101', '5000')],
    [1, constantFrom('0', '-1', '2.5', 'all', '')],
  ),
});
const anyShow = record({ do: constant('show' as const), caller: anyCaller, grant: anyGrant });
const anyCreate = record({
  do: constant('create' as const),
  caller: anyWriter,
  project: anyProject,
  team: anyTeam,
  attributes: anyAttributes,
  flaws: flawsAt(...attributePaths, '/data/relationships', ...relationshipPaths),
  instead: anyInstead,
  afterwards: anyRead,
});
const anyUpdate = record({
  do: constant('update' as const),
  caller: anyWriter,
  grant: anyGrant,
  id: weighted(
    [5, constantFrom('absent' as const, 'right' as const)],
    [1, constantFrom('wrong' as const, 'empty' as const)],
  ),
  type: fc.boolean(),
  attributes: anyAttributes,
  flaws: flawsAt(...attributePaths, '/data/id'),
  instead: anyInstead,
  holds: anyHolds,
  afterwards: anyRead,
});
const anyRemove = record({
  do: constant('remove' as const),
  caller: anyWriter,
  grant: anyGrant,
  holds: anyHolds,
  afterwards: anyRead,
});

// These depend on each other, and would meet too seldom by themselves.
const anyFlags: fc.Arbitrary<string[]> = weighted(
  [2, fc.subarray([...flags], { maxLength: 3 })],
  [1, constant<string[]>(['delegate-policy-overrides'])],
  [2, fc.subarray(['access-secret-teams', ...teamManagement], { minLength: 1, maxLength: 2 })],
);
const anyVisibility = weighted([1, constant('organization' as const)], [2, constant('secret' as const)]);
// Mostly there, so that most of a history happens among the living.
const mostly = weighted([3, constant(true)], [1, constant(false)]);
const anyTurn = weighted(
  [
    5,
    record({
      turn: constant('flags' as const),
      team: constantFrom(...ownTeams),
      flags: anyFlags,
    }),
  ],
  [
    2,
    record({
      turn: constant('visibility' as const),
      team: constantFrom(...ownTeams),
      visibility: anyVisibility,
    }),
  ],
  [
    5,
    record({
      turn: constant('in team' as const),
      team: weighted([9, constantFrom(...ownTeams)], [1, constant('owners' as const)]),
      member: constantFrom(...members),
      wanted: fc.boolean(),
    }),
  ],
  [2, record({ turn: constant('in organization' as const), member: constantFrom(...members), wanted: mostly })],
  [2, record({ turn: constant('team' as const), team: constantFrom(...ownTeams), wanted: mostly })],
  [2, record({ turn: constant('project' as const), project: constantFrom(...ownProjects), wanted: mostly })],
  [1, record({ turn: constant('user tokens' as const), wanted: mostly })],
  [3, record({ turn: constant('token' as const), token: constantFrom(...revocable), wanted: mostly })],
);
const anyOperation = weighted(
  [4, anyCreate],
  [5, anyUpdate],
  [1, anyRemove],
  [2, anyShow],
  [2, anyList],
  [3, record({ do: constant('turn' as const), of: anyTurn })],
);
type Operation = Of<typeof anyOperation>;

/** How a history starts: its teams, and grants that the owners give. */
const anyStart = record({
  teams: fc.tuple(
    ...ownTeams.map(() =>
      record({
        visibility: anyVisibility,
        flags: anyFlags,
        members: fc.subarray([...members], { maxLength: 3 }),
      }),
    ),
  ),
  grants: fc.array(
    record({
      project: constantFrom(...ownProjects, 'default' as const),
      team: constantFrom(...ownTeams),
      attributes: weighted([3, attributes(constant('custom'), managing)], [1, anyAttributes]),
    }),
    { maxLength: 12, size: 'max' },
  ),
});
type Start = Of<typeof anyStart>;

// Bodies.

const attributesOf = ({ access, empty, sent }: Attributes) => {
  const attributes: Record<string, unknown> = access === undefined ? {} : { access };
  for (const group of empty) attributes[group] = {};
  for (const [name, value] of sent) setAt(attributes, name.split('/'), value);
  return attributes;
};

/** Sets or, with undefined, removes what is at the path; where the way there is no object, nothing happens. */
const setAt = (into: unknown, [key = '', ...rest]: string[], value: unknown): void => {
  if (typeof into !== 'object' || into === null || Array.isArray(into)) return;
  const members = into as Record<string, unknown>;
  if (rest.length > 0) {
    if (members[key] === undefined) members[key] = {};
    setAt(members[key], rest, value);
  } else if (value === undefined) delete members[key];
  else members[key] = value;
};

const flawed = (document: unknown, flaws: readonly Flaw[], instead: string | undefined): string | undefined => {
  if (instead !== undefined) return instead === 'nothing' ? undefined : instead;
  for (const { path, value } of flaws) setAt(document, path.slice(1).split('/'), structuredClone(value));
  return JSON.stringify(document);
};

// One server and its people serve all histories; each history has organizations of its own.

let directory: Directory;
type Token = { readonly id: string; readonly secret: string };
const userIds = new Map<Person, string>();
const userTokens = new Map<Person, Token>();
const compared = { list: 0, show: 0, create: 0, update: 0, remove: 0 };
const total = () => Object.values(compared).reduce((sum, count) => sum + count, 0);
const seen = new Map<string, number>();
// What a 401 or a 404 says must not depend on why.
const words = new Map<string, string>();
let worlds = 0;

const issued = (made: { id: string; attributes: { token: string } }): Token => ({
  id: made.id,
  secret: made.attributes.token,
});

class World {
  readonly model = new Model();
  readonly history: string[] = [];
  readonly #organization: string;
  readonly #foreign: string;
  /** Ann and Eve with tokens that nothing revokes, and the owners team with one that nothing shuts out. */
  readonly #ann: Actor;
  readonly #eve: Actor;
  #owners: Actor;
  readonly #teams = new Map<TeamPlace, string>([['unknown', 'team-none']]);
  readonly #projects = new Map<ProjectPlace, string>([['unknown', 'prj-none']]);
  readonly #tokens = new Map<Caller, Token>();
  readonly #memberships = new Map<Person, string>();
  /** Every grant that ever was, and what its last write said of it. */
  readonly #grants: string[] = [];
  readonly #written = new Map<string, { project: string; text: string; etags: { etag: string; text: string }[] }>();

  constructor(ann: Actor, eve: Actor) {
    worlds += 1;
    this.#organization = `home-${worlds}`;
    this.#foreign = `abroad-${worlds}`;
    this.#ann = ann;
    this.#eve = eve;
    this.#owners = ann;
  }

  async found({ teams, grants }: Start): Promise<void> {
    const { model } = this;
    for (const person of people) {
      if (!userTokens.has(person)) await this.#issueToUser(person);
      else model.issue(this.#userToken(person).secret, { kind: 'user', user: person });
      this.#tokens.set(person, this.#userToken(person));
    }
    // The site's administrator is a user like any other here.
    this.#tokens.set('site admin', { id: '', secret: directory.server.adminToken });
    model.issue(directory.server.adminToken, { kind: 'user', user: 'site admin' });
    this.#tokens.set('garbage', { id: '', secret: 'garbage' });
    const { secret } = this.#userToken('ann');
    this.#tokens.set('forged', { id: '', secret: secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A') });

    await this.#organize(this.#ann, 'ann', this.#organization, 'owners', 'default');
    const token = await this.#ann.make(`/teams/${this.#team('owners')}/authentication-tokens`);
    this.#owners = directory.actor(issued(token).secret);
    await this.#organize(this.#eve, 'eve', this.#foreign, undefined, 'foreign');
    for (const member of members) await this.#join(member);
    await this.#eve.make(`/organizations/${this.#foreign}/organization-memberships`, membershipOf('fay'));
    model.addMember(this.#foreign, 'fay');

    for (const [index, team] of ownTeams.entries()) {
      const { visibility, flags, members } = teams[index] as Start['teams'][number];
      await this.#makeTeam(team, visibility, flags, members);
    }
    const visible = { visibility: 'organization' } as const;
    const foreign = await directory.team(this.#eve, this.#foreign, { name: 'foreign', ...visible }, ['fay']);
    this.#teams.set('foreign', foreign);
    model.addTeam(foreign, this.#foreign, visible);
    model.team(foreign)?.members.add('fay');
    for (const project of ownProjects) await this.#makeProject(project);
    for (const caller of ['organization token', 'owners token', ...teamTokens] as const) await this.#issue(caller);
    await this.#issue('foreign organization token');

    const body = (project: ProjectPlace, team: TeamPlace, attributes: unknown) =>
      JSON.stringify({ data: grantBody(this.#project(project), this.#team(team), attributes) });
    await this.#create('eve', body('foreign', 'foreign', { access: 'admin' }));
    for (const { project, team, attributes } of grants)
      await this.#create('ann', body(project, team, attributesOf(attributes)));
  }

  /** The people go on to the next world, and must bring nothing along. */
  async end(): Promise<void> {
    await this.#owners.delete(`/organizations/${this.#organization}`);
    await this.#eve.delete(`/organizations/${this.#foreign}`);
  }

  async #organize(owner: Actor, person: Person, name: string, team: TeamPlace | undefined, project: ProjectPlace) {
    await directory.organization(owner, name);
    this.model.addMember(name, person);
    const ownersTeam: string = (await owner.get(`/organizations/${name}/teams`)).body.data[0].id;
    this.model.addTeam(ownersTeam, name, { isOwners: true, visibility: 'organization' });
    this.model.team(ownersTeam)?.members.add(person);
    if (team) this.#teams.set(team, ownersTeam);
    const defaultProject: string = (await owner.get(`/organizations/${name}/projects`)).body.data[0].id;
    this.model.addProject(defaultProject, name, true);
    this.#projects.set(project, defaultProject);
  }

  async #join(member: Person): Promise<void> {
    const path = `/organizations/${this.#organization}/organization-memberships`;
    this.#memberships.set(member, (await this.#owners.make(path, membershipOf(member))).id);
    this.model.addMember(this.#organization, member);
  }

  async #makeTeam(place: OwnTeam, visibility: 'secret' | 'organization', flags: string[], members: Person[]) {
    const access = Object.fromEntries(flags.map(flag => [flag, true]));
    const attributes = { name: place, visibility, 'organization-access': access };
    const id = await directory.team(this.#owners, this.#organization, attributes, members);
    this.#teams.set(place, id);
    this.model.addTeam(id, this.#organization, { visibility, flags });
    for (const member of members) this.model.team(id)?.members.add(member);
  }

  async #makeProject(place: (typeof ownProjects)[number]): Promise<void> {
    const id = await directory.project(this.#owners, this.#organization, place);
    this.#projects.set(place, id);
    this.model.addProject(id, this.#organization);
  }

  async #issueToUser(person: Person): Promise<void> {
    const token = issued(await directory.admin.make(`/users/${userIds.get(person)}/authentication-tokens`));
    userTokens.set(person, token);
    this.model.issue(token.secret, { kind: 'user', user: person });
  }

  async #issue(caller: (typeof revocable)[number] | 'foreign organization token'): Promise<void> {
    if (isPerson(caller)) {
      await this.#issueToUser(caller);
      this.#tokens.set(caller, this.#userToken(caller));
      return;
    }
    if (caller === 'organization token' || caller === 'foreign organization token') {
      const [owner, organization] =
        caller === 'organization token' ? [this.#owners, this.#organization] : [this.#eve, this.#foreign];
      const token = issued(await owner.make(`/organizations/${organization}/authentication-token`));
      this.#tokens.set(caller, token);
      this.model.issue(token.secret, { kind: 'organization', organization });
      return;
    }
    const team = this.#team(caller.slice(0, -' token'.length) as TeamPlace);
    const token = issued(await this.#owners.make(`/teams/${team}/authentication-token`));
    this.#tokens.set(caller, token);
    this.model.issue(token.secret, { kind: 'team', team });
  }

  #userToken(person: Person): Token {
    return userTokens.get(person) as Token;
  }

  #team(place: TeamPlace): string {
    return this.#teams.get(place) as string;
  }

  #project(place: ProjectPlace): string {
    return this.#projects.get(place) as string;
  }

  #grant({ of, index }: Which): string {
    const living = this.#grants.filter(id => this.model.hasGrant(id));
    const ids = of === 'living' && living.length > 0 ? living : [...this.#grants, 'tprj-unknown'];
    return ids[index % ids.length] as string;
  }

  #writer(writer: Writer, project: string): Caller {
    const index = (managers as readonly string[]).indexOf(writer);
    if (index === -1) return writer as Caller;
    const pool = [...members, ...teamTokens].filter(caller => this.model.manages(this.#secret(caller), project));
    return pool[index % pool.length] ?? 'bea';
  }

  #secret(caller: Caller): string | undefined {
    return this.#tokens.get(caller)?.secret;
  }

  // Operations, each compared.

  async run(operation: Operation): Promise<void> {
    switch (operation.do) {
      case 'list': {
        const { caller, project, team, number, size } = operation;
        return this.#list(caller, {
          ...(project !== undefined && { 'filter[project][id]': this.#project(project) }),
          ...(team !== undefined && { 'filter[team][id]': this.#team(team) }),
          ...(number !== undefined && { 'page[number]': number }),
          ...(size !== undefined && { 'page[size]': size }),
        });
      }
      case 'show':
        return this.#show(operation.caller, this.#grant(operation.grant));
      case 'create': {
        const { attributes, flaws, instead, afterwards } = operation;
        const project = this.#project(operation.project);
        const body = { data: grantBody(project, this.#team(operation.team), attributesOf(attributes)) };
        const id = await this.#create(this.#writer(operation.caller, project), flawed(body, flaws, instead));
        return this.#read(afterwards, id ?? this.#grant({ of: 'living', index: 0 }), project);
      }
      case 'update': {
        const { attributes, flaws, instead, holds, afterwards } = operation;
        const grant = this.#grant(operation.grant);
        const project = this.#written.get(grant)?.project ?? this.#project('orchard');
        const id = { absent: undefined, right: grant, wrong: 'tprj-unknown', empty: '' }[operation.id];
        const data = {
          ...(id !== undefined && { id }),
          ...(operation.type && { type: 'team-projects' }),
          attributes: attributesOf(attributes),
        };
        await this.#update(this.#writer(operation.caller, project), grant, flawed({ data }, flaws, instead), holds);
        return this.#read(afterwards, grant, project);
      }
      case 'remove': {
        const grant = this.#grant(operation.grant);
        const project = this.#written.get(grant)?.project ?? this.#project('orchard');
        await this.#remove(this.#writer(operation.caller, project), grant, operation.holds);
        return this.#read(operation.afterwards, grant, project);
      }
      case 'turn':
        return this.#turn(operation.of);
    }
  }

  #read({ reader, by }: Read, grant: string, project: string): Promise<void> {
    return by === 'show' ? this.#show(reader, grant) : this.#list(reader, { 'filter[project][id]': project });
  }

  /** Everything that there is, as the owners see it. */
  async readAll(): Promise<void> {
    await this.#turn({ turn: 'user tokens', wanted: true });
    for (const project of projectPlaces)
      await this.#list(project === 'foreign' ? 'eve' : 'ann', {
        'filter[project][id]': this.#project(project),
        'page[size]': '100',
      });
  }

  async #list(caller: Caller, query: Record<string, string>): Promise<void> {
    const answer = await this.#send(caller, 'GET', `/api/v2/team-projects?${new URLSearchParams(query)}`);
    this.#compare('list', answer, this.model.list(onProjects, this.#secret(caller), query));
    for (const item of answer.status === 200 ? answer.body.data : [])
      this.#same(
        JSON.stringify(item),
        this.#written.get(item.id)?.text,
        'a listed resource and its last write, byte by byte',
      );
  }

  async #show(caller: Caller, id: string): Promise<void> {
    const answer = await this.#send(caller, 'GET', `/api/v2/team-projects/${id}`);
    this.#compare('show', answer, this.model.show(onProjects, this.#secret(caller), id));
    if (answer.status !== 200) return;
    const written = this.#written.get(id);
    this.#same(JSON.stringify(answer.body.data), written?.text, 'a shown resource and its last write, byte by byte');
    this.#same(answer.headers.etag, written?.etags.at(-1)?.etag, 'the ETags of a resource and of its last write');
  }

  async #create(caller: Caller, payload: string | undefined): Promise<string | undefined> {
    const answer = await this.#send(caller, 'POST', '/api/v2/team-projects', payload);
    const id: string | undefined = answer.status === 200 ? answer.body.data.id : undefined;
    if (id !== undefined) {
      assert.match(id, /^tprj-[1-9A-HJ-NP-Za-km-z]{16}$/);
      assert.ok(!this.#grants.includes(id), 'an id is given once');
      this.#grants.push(id);
      this.#wrote(answer);
    }
    this.#compare('create', answer, this.model.create(onProjects, this.#secret(caller), payload, id));
    return id;
  }

  async #update(caller: Caller, id: string, payload: string | undefined, holds: Holds): Promise<void> {
    const { headers, matches } = this.#condition(id, holds);
    const answer = await this.#send(caller, 'PATCH', `/api/v2/team-projects/${id}`, payload, headers);
    this.#compare('update', answer, this.model.update(onProjects, this.#secret(caller), id, payload, matches));
    if (answer.status === 200) this.#wrote(answer);
  }

  async #remove(caller: Caller, id: string, holds: Holds): Promise<void> {
    const { headers, matches } = this.#condition(id, holds);
    const answer = await this.#send(caller, 'DELETE', `/api/v2/team-projects/${id}`, undefined, headers);
    this.#compare('remove', answer, this.model.remove(onProjects, this.#secret(caller), id, matches));
  }

  #wrote({ body, headers }: Answer): void {
    const text = JSON.stringify(body.data);
    const etags = this.#written.get(body.data.id)?.etags ?? [];
    const project: string = body.data.relationships.project.data.id;
    this.#written.set(body.data.id, { project, text, etags: [...etags, { text, etag: headers.etag ?? '' }] });
  }

  #condition(id: string, holds: Holds): { headers: Record<string, string>; matches: boolean } {
    const written = this.#written.get(id);
    const current = written?.etags.at(-1)?.etag;
    if (holds === 'unasked' || current === undefined) return { headers: {}, matches: true };
    if (holds === 'any') return { headers: { 'if-match': '*' }, matches: true };
    if (holds === 'current') return { headers: { 'if-match': current }, matches: true };
    // A state that came back may have its old tag again: only a tag of a state that differs is surely stale.
    const old = written?.etags.find(({ text }) => text !== written.text)?.etag;
    return { headers: { 'if-match': (holds === 'old' && old) || '"AAAAAAAAAAAAAAAAAAAAAA"' }, matches: false };
  }

  async #send(caller: Caller, method: string, path: string, payload?: string, headers?: Record<string, string>) {
    const condition = headers?.['if-match'] && `If-Match: ${headers['if-match']}`;
    this.history.push([caller, method, path, condition, payload].filter(Boolean).join(' '));
    try {
      return await directory.server.client.call(this.#secret(caller), method, path, payload, headers);
    } catch (error) {
      return this.#diverges((error as Error).message);
    }
  }

  #compare(operation: keyof typeof compared, answer: Answer, expected: Prediction): void {
    compared[operation] += 1;
    const key = `${operation} ${answer.status}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    const { status, text, body } = answer;
    const errors: { status: string; source?: { pointer?: string; parameter?: string }; meta?: unknown }[] =
      body?.errors ?? [];
    const pointers = errors.flatMap(({ source }) => source?.pointer ?? []).toSorted();
    const parameters = errors.flatMap(({ source }) => source?.parameter ?? []);
    if (status !== expected.status) this.#diverges(`status ${status}: ${text}`, expected);
    if (status < 300) {
      this.#same(body, expected.body, 'the body');
      return;
    }
    this.#same(pointers, expected.pointers, 'where the errors point');
    this.#same(
      errors.map(error => error.status),
      errors.map(() => `${status}`),
      'the status in the errors',
    );
    const { parameters: wrong = [], existing } = expected;
    if (wrong.length > 0 && !(parameters.length > 0 && parameters.every(name => wrong.includes(name))))
      this.#diverges(`parameters ${parameters}`, expected);
    if (existing !== undefined) this.#same(errors[0]?.meta, { id: existing }, 'the existing grant');
    if (status !== 401 && status !== 404) return;
    const reason = `${status} ${pointers}`;
    this.#same(text, words.get(reason) ?? text, `what every ${reason} says`);
    words.set(reason, text);
  }

  #same(actual: unknown, expected: unknown, what: string): void {
    try {
      assert.deepStrictEqual(actual, expected);
    } catch (error) {
      this.#diverges(`${what}: ${(error as Error).message}`);
    }
  }

  #diverges(actual: string, expected?: Prediction): never {
    const lines = ['The service and the model differ.', actual];
    if (expected) lines.push(`expected ${JSON.stringify(expected)}`);
    // Names say more than ids.
    const places = [...this.#teams, ...this.#projects].map(
      ([place, id]) => [id, `${id.split('-')[0]} ${place}`] as const,
    );
    const named = (line: string) => places.reduce((text, [id, name]) => text.replaceAll(id, `<${name}>`), line);
    throw new Error([...lines, 'after', ...this.history].map(named).join('\n'));
  }

  // The surroundings change, always as somebody who may change them.

  async #turn(turn: Of<typeof anyTurn>): Promise<void> {
    this.history.push(JSON.stringify(turn));
    const { model } = this;
    switch (turn.turn) {
      case 'flags': {
        const team = model.team(this.#team(turn.team));
        if (!team) return;
        const access = Object.fromEntries(flags.map(flag => [flag, turn.flags.includes(flag)]));
        const attributes = { 'organization-access': access };
        this.#done(await this.#owners.patch(`/teams/${team.id}`, { type: 'teams', attributes }), 200);
        team.flags = new Set(turn.flags);
        return;
      }
      case 'visibility': {
        const team = model.team(this.#team(turn.team));
        if (!team) return;
        const attributes = { visibility: turn.visibility };
        this.#done(await this.#owners.patch(`/teams/${team.id}`, { type: 'teams', attributes }), 200);
        team.visibility = turn.visibility;
        return;
      }
      case 'in team': {
        const team = model.team(this.#team(turn.team));
        if (!team || !model.isMember(this.#organization, turn.member)) return;
        if (team.members.has(turn.member) === turn.wanted) return;
        const path = `/teams/${team.id}/relationships/users`;
        const users = [{ type: 'users', id: turn.member }];
        this.#done(await (turn.wanted ? this.#owners.post(path, users) : this.#owners.delete(path, users)), 204);
        if (turn.wanted) team.members.add(turn.member);
        else team.members.delete(turn.member);
        return;
      }
      case 'in organization': {
        if (model.isMember(this.#organization, turn.member) === turn.wanted) return;
        if (turn.wanted) return this.#join(turn.member);
        const membership = this.#memberships.get(turn.member);
        this.#done(await this.#owners.delete(`/organization-memberships/${membership}`), 204);
        model.removeMember(this.#organization, turn.member);
        return;
      }
      case 'team': {
        const id = this.#team(turn.team);
        if ((model.team(id) !== undefined) === turn.wanted) return;
        if (turn.wanted) {
          await this.#makeTeam(turn.team, 'organization', [], []);
          return this.#issue(`${turn.team} token`);
        }
        this.#done(await this.#owners.delete(`/teams/${id}`), 204);
        model.removeTeam(id);
        return;
      }
      case 'project': {
        const id = this.#project(turn.project);
        if (model.hasProject(id) === turn.wanted) return;
        if (turn.wanted) return this.#makeProject(turn.project);
        this.#done(await this.#owners.delete(`/projects/${id}`), 204);
        model.removeProject(id);
        return;
      }
      case 'user tokens': {
        const attributes = { 'user-tokens-enabled': turn.wanted };
        this.#done(await this.#owners.patch(`/organizations/${this.#organization}`, { attributes }), 200);
        model.enableUserTokens(this.#organization, turn.wanted);
        return;
      }
      case 'token': {
        const token = this.#tokens.get(turn.token) as Token;
        if (model.accepts(token.secret) === turn.wanted) return;
        if (turn.wanted) {
          // A team that is gone cannot have one.
          const team = this.#teams.get(turn.token.replace(/ token$/, '') as TeamPlace);
          return team === undefined || model.team(team) ? this.#issue(turn.token) : undefined;
        }
        // A user's token is the user's own affair; the others are the owners'.
        const actor = isPerson(turn.token) ? directory.actor(token.secret) : this.#owners;
        this.#done(await actor.delete(`/authentication-tokens/${token.id}`), 204);
        model.revoke(token.secret);
        if (isPerson(turn.token)) userTokens.delete(turn.token);
        return;
      }
    }
  }

  #done(answer: Answer, status: number): void {
    if (answer.status !== status) this.#diverges(`the surroundings answered ${answer.status}: ${answer.text}`);
  }
}

const isPerson = (caller: string): caller is Person => (people as readonly string[]).includes(caller);
const membershipOf = (person: Person) => ({
  type: 'organization-memberships',
  attributes: { email: `${person}@example.com` },
});

const answers = Object.entries({
  list: [200, 400, 401, 404],
  show: [200, 401, 404],
  create: [200, 400, 401, 404, 422],
  update: [200, 400, 401, 404, 412, 422],
  remove: [204, 401, 404, 412],
}).flatMap(([operation, statuses]) => statuses.map(status => `${operation} ${status}`));

let owners: { ann: Actor; eve: Actor };

before(async () => {
  directory = await newDirectory(testSeed);
  const made = new Map<Person, Actor>();
  for (const person of people) {
    const { id, actor } = await directory.user(person);
    userIds.set(person, id);
    made.set(person, actor);
  }
  owners = { ann: made.get('ann') as Actor, eve: made.get('eve') as Actor };
});

after(() => directory.server.close());

test(`${target} random operations on team access answer as the model does`, async t => {
  printSeed(t);
  const history = fc.array(anyOperation, { maxLength: 150, size: 'max' });
  const property = fc.asyncProperty(anyStart, history, async (start, operations) => {
    const world = new World(owners.ann, owners.eve);
    try {
      await world.found(start);
      for (const operation of operations) await world.run(operation);
      await world.readAll();
    } finally {
      await world.end();
    }
  });
  // A round that fails names its own seed; with it, it is the first round.
  for (let round = 0; total() < target; round++)
    await fc.assert(property, { seed: testSeed + round, numRuns: 10, includeErrorInReport: true });
  t.diagnostic(`${total()} operations compared in ${worlds} worlds: ${JSON.stringify(compared)}`);
  t.diagnostic(JSON.stringify(Object.fromEntries([...seen].toSorted())));
  assert.ok(total() >= target);
  // Every answer that there can be was there: otherwise the histories have grown dull.
  assert.deepEqual([...seen.keys()].toSorted(), answers.toSorted());
});
