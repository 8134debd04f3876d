/** Random histories over HTTP, each answer held against a model that shares nothing with the service. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { verifyChains } from '../src/store/audit-chain.ts';
import type { Answer, Json } from './support/client.ts';
import { printSeed, testSeed } from './support/dice.ts';
import {
  anyHistory,
  anyStart,
  attributesOf,
  type Caller,
  flawed,
  type Holds,
  managers,
  members,
  type Operation,
  type OwnTeam,
  ownProjects,
  ownTeams,
  type Person,
  type ProjectPlace,
  people,
  projectPlaces,
  type Read,
  type revocable,
  type Start,
  type TeamPlace,
  type Turn,
  teamTokens,
  type Which,
  type WorkspacePlace,
  type Writer,
  workspacePlaces,
} from './support/histories.ts';
import {
  type Action,
  flags,
  Model,
  onProjects,
  onWorkspaces,
  type Prediction,
  type ShownWorkspace,
} from './support/model.ts';
import type { Kind } from './support/model-grants.ts';
import {
  type Actor,
  type Directory,
  grantBody,
  newDirectory,
  workspaceBody,
  workspaceGrantBody,
} from './support/world.ts';

const target = 28_000;

// One server and its people serve all histories; each history has organizations of its own.

let directory: Directory;
type Token = { readonly id: string; readonly secret: string };
const userIds = new Map<Person, string>();
const userTokens = new Map<Person, Token>();
const seen = new Map<string, number>();
const total = () => [...seen.values()].reduce((sum, count) => sum + count, 0);
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
  readonly #workspaces = new Map<WorkspacePlace, string>([['unknown', 'ws-none']]);
  readonly #tokens = new Map<Caller, Token>();
  readonly #memberships = new Map<Person, string>();
  /** Every grant that ever was, and what its last write said of it. */
  readonly #grants: { readonly id: string; readonly kind: Kind }[] = [];
  /** What lists of whole projects were read, with their tags. */
  readonly #lists = new Map<string, readonly { readonly etag: string; readonly text: string }[]>();
  readonly #written = new Map<string, { on: string; text: string; etags: { etag: string; text: string }[] }>();

  constructor(ann: Actor, eve: Actor) {
    worlds += 1;
    this.#organization = `home-${worlds}`;
    this.#foreign = `abroad-${worlds}`;
    this.#ann = ann;
    this.#eve = eve;
    this.#owners = ann;
  }

  async found({ teams, workspaces, porters, grants, workspaceGrants }: Start): Promise<void> {
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

    await this.#makeWorkspace('eve', 'foreign', 'foreign', 'foreign');
    for (const { name, project } of workspaces) await this.#makeWorkspace('ann', name, name, project);
    const create = (caller: Caller, kind: Kind, on: string, team: TeamPlace, attributes: unknown) =>
      this.#create(caller, kind, JSON.stringify({ data: this.#grantBody(kind, on, team, attributes) }));
    await create('eve', onProjects, this.#project('foreign'), 'foreign', { access: 'admin' });
    await create('eve', onWorkspaces, this.#workspace('foreign'), 'foreign', { access: 'admin' });
    for (const team of porters)
      for (const project of ['orchard', 'cellar', 'default'] as const)
        await create('ann', onProjects, this.#project(project), team, {
          access: 'custom',
          'workspace-access': { move: true },
        });
    for (const { project, team, attributes } of grants)
      await create('ann', onProjects, this.#project(project), team, attributesOf(attributes));
    for (const { workspace, team, attributes } of workspaceGrants)
      await create('ann', onWorkspaces, this.#workspace(workspace), team, attributesOf(attributes));
  }

  #grantBody(kind: Kind, on: string, team: TeamPlace, attributes: unknown) {
    return (kind === onProjects ? grantBody : workspaceGrantBody)(on, this.#team(team), attributes);
  }

  async #makeWorkspace(caller: Caller, place: WorkspacePlace, name: string, project: ProjectPlace): Promise<void> {
    const organization = caller === 'eve' ? this.#foreign : this.#organization;
    const payload = JSON.stringify({ data: workspaceBody(name, this.#project(project)) });
    await this.#createWorkspace(caller, organization, place, payload);
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

  #workspace(place: WorkspacePlace): string {
    return this.#workspaces.get(place) ?? 'ws-none';
  }

  #place(kind: Kind, place: ProjectPlace | WorkspacePlace): string {
    return kind === onProjects ? this.#project(place as ProjectPlace) : this.#workspace(place as WorkspacePlace);
  }

  #grant(kind: Kind, { of, index }: Which): string {
    const all = this.#grants.filter(grant => grant.kind === kind).map(({ id }) => id);
    const living = all.filter(id => this.model.hasGrant(id));
    const ids = of === 'living' && living.length > 0 ? living : [...all, 'grant-unknown'];
    return ids[index % ids.length] as string;
  }

  /** Somebody who is no owner and has a right there, if anybody does. */
  #writer(writer: Writer, may: (secret: string | undefined) => boolean): Caller {
    const index = (managers as readonly string[]).indexOf(writer);
    if (index === -1) return writer as Caller;
    const pool = [...members, ...teamTokens].filter(caller => may(this.#secret(caller)));
    return pool[index % pool.length] ?? 'bea';
  }

  #actor(writer: Writer, id: string, action: Action): Caller {
    return this.#writer(writer, secret =>
      /lock$/.test(action) && action !== 'force-unlock'
        ? this.model.mayLockWorkspaces(secret, id)
        : this.model.manages(secret, id),
    );
  }

  #secret(caller: Caller): string | undefined {
    return this.#tokens.get(caller)?.secret;
  }

  // Operations, each compared.

  async run(operation: Operation): Promise<void> {
    switch (operation.do) {
      case 'list': {
        const { kind, caller, on, team, number, size } = operation;
        return this.#list(caller, kind, {
          ...(on !== undefined && { [`filter[${kind.place}][id]`]: this.#place(kind, on) }),
          ...(team !== undefined && { 'filter[team][id]': this.#team(team) }),
          ...paged(number, size),
        });
      }
      case 'show':
        return this.#show(operation.caller, operation.kind, this.#grant(operation.kind, operation.grant));
      case 'create': {
        const { kind, attributes, flaws, instead, afterwards } = operation;
        const on = this.#place(kind, operation.on);
        const body = { data: this.#grantBody(kind, on, operation.team, attributesOf(attributes)) };
        const caller = this.#writer(operation.caller, secret => this.model.manages(secret, on));
        const id = await this.#create(caller, kind, flawed(body, flaws, instead));
        return this.#read(afterwards, kind, id ?? this.#grant(kind, { of: 'living', index: 0 }), on);
      }
      case 'update': {
        const { kind, attributes, flaws, instead, holds, afterwards } = operation;
        const grant = this.#grant(kind, operation.grant);
        const on = this.#written.get(grant)?.on ?? this.#place(kind, 'foreign');
        const id = { absent: undefined, right: grant, wrong: 'tprj-unknown', empty: '' }[operation.id];
        const data = {
          ...(id !== undefined && { id }),
          ...(operation.type && { type: kind.type }),
          attributes: attributesOf(attributes),
        };
        const caller = this.#writer(operation.caller, secret => this.model.manages(secret, on));
        await this.#update(caller, kind, grant, flawed({ data }, flaws, instead), holds);
        return this.#read(afterwards, kind, grant, on);
      }
      case 'remove': {
        const { kind, holds, afterwards } = operation;
        const grant = this.#grant(kind, operation.grant);
        const on = this.#written.get(grant)?.on ?? this.#place(kind, 'foreign');
        const caller = this.#writer(operation.caller, secret => this.model.manages(secret, on));
        await this.#remove(caller, kind, grant, holds);
        return this.#read(afterwards, kind, grant, on);
      }
      case 'whole':
        await this.#whole(operation.caller, this.#project(operation.on));
        return;
      case 'replace': {
        const { keeps, twice, items, instead, holds } = operation;
        const on = this.#project(operation.on);
        const present = this.model.accessTo(on);
        const idOf = (team: string) => present.find(({ relationships }) => relationships.team?.data.id === team)?.id;
        const named = items.map(item => this.#team(item.team));
        const kept = present
          .filter((_, index) => keeps[index % keeps.length])
          .filter(({ relationships }) => twice || !named.includes(relationships.team?.data.id ?? ''));
        const wanted = items.map(({ team, attributes, id, flaws }, index) => {
          const ids = { absent: undefined, right: idOf(named[index] ?? ''), wrong: 'tprj-unknown', empty: '' };
          const data = { id: ids[id], ...grantBody(on, this.#team(team), attributesOf(attributes)) };
          return JSON.parse(flawed({ data }, flaws, undefined) ?? '').data;
        });
        const payload = flawed({ data: [...kept, ...wanted] }, [], instead);
        const caller = this.#writer(operation.caller, secret => this.model.manages(secret, on));
        return this.#replace(caller, on, payload, holds);
      }
      case 'create workspace': {
        const { name, flaws, instead } = operation;
        const project = operation.project && this.#project(operation.project);
        const caller = this.#writer(operation.caller, secret =>
          this.model.mayCreateWorkspace(secret, project ?? this.#project('default')),
        );
        const payload = flawed({ data: workspaceBody(name, project) }, flaws, instead);
        return this.#createWorkspace(caller, this.#organization, name, payload);
      }
      case 'update workspace': {
        const { to, attributes, flaws, instead, holds, by } = operation;
        const id = this.#workspace(operation.workspace);
        const project = to && this.#project(to);
        const data = {
          type: 'workspaces',
          ...(attributes && { attributes }),
          ...(project !== undefined && { relationships: { project: { data: { type: 'projects', id: project } } } }),
        };
        const caller = this.#writer(operation.caller, secret =>
          project === undefined ? this.model.manages(secret, id) : this.model.mayMoveWorkspaces(secret, id),
        );
        return this.#updateWorkspace(caller, id, by, flawed({ data }, flaws, instead), holds);
      }
      case 'act': {
        const { action, by, next } = operation;
        const id = this.#workspace(operation.workspace);
        const first = this.#actor(operation.caller, id, action);
        await this.#act(first, id, by, action);
        if (!next) return;
        return this.#act(next.caller ? this.#actor(next.caller, id, next.action) : first, id, by, next.action);
      }
      case 'show workspace':
        return this.#showWorkspace(operation.caller, this.#workspace(operation.workspace), operation.by);
      case 'list workspaces': {
        const { caller, project, part, number, size } = operation;
        return this.#listWorkspaces(caller, {
          ...(project !== undefined && { 'filter[project][id]': this.#project(project) }),
          ...(part !== undefined && { 'search[name]': part }),
          ...paged(number, size),
        });
      }
      case 'turn':
        return this.#turn(operation.of);
    }
  }

  #read({ reader, by }: Read, kind: Kind, grant: string, on: string): Promise<void> {
    return by === 'show'
      ? this.#show(reader, kind, grant)
      : this.#list(reader, kind, { [`filter[${kind.place}][id]`]: on });
  }

  /** Everything that there is, as the owners see it. */
  async readAll(): Promise<void> {
    await this.#turn({ turn: 'user tokens', wanted: true });
    const ownerOf = (place: string): Caller => (place === 'foreign' ? 'eve' : 'ann');
    for (const [kind, places] of [
      [onProjects, projectPlaces],
      [onWorkspaces, workspacePlaces],
    ] as const)
      for (const place of places)
        await this.#list(ownerOf(place), kind, {
          [`filter[${kind.place}][id]`]: this.#place(kind, place),
          'page[size]': '100',
        });
    await this.#listWorkspaces('ann', {});
  }

  async #list(caller: Caller, kind: Kind, query: Record<string, string>): Promise<void> {
    const answer = await this.#send(caller, 'GET', `/api/v2/${kind.type}?${new URLSearchParams(query)}`);
    this.#compare(`${kind.type} list`, answer, this.model.list(kind, this.#secret(caller), query));
    this.#asWritten(answer);
  }

  #asWritten({ status, body }: Answer): void {
    for (const item of status === 200 ? body.data : [])
      this.#same(
        JSON.stringify(item),
        this.#written.get(item.id)?.text,
        'a listed resource and its last write, byte by byte',
      );
  }

  async #whole(caller: Caller, project: string): Promise<Answer> {
    const answer = await this.#send(caller, 'GET', `/api/v2/projects/${project}/team-projects`);
    this.#compare('team-projects whole', answer, this.model.whole(this.#secret(caller), project));
    this.#asWritten(answer);
    return answer;
  }

  async #replace(caller: Caller, project: string, payload: string | undefined, holds: Holds): Promise<void> {
    const { headers, matches } = await this.#conditionOnList(caller, project, holds);
    const answer = await this.#send(caller, 'PUT', `/api/v2/projects/${project}/team-projects`, payload, headers);
    const added: string[] = answer.status === 200 ? answer.body.meta.added : [];
    const expected = this.model.replace(this.#secret(caller), project, payload, matches, added);
    this.#compare('team-projects replace', answer, expected);
    if (answer.status !== 200) return;
    this.#grants.push(...added.map(id => ({ id, kind: onProjects })));
    // Each grant that came or changed was written, seen by the caller or not.
    for (const grant of this.model.accessTo(project)) {
      if (!added.includes(grant.id) && !answer.body.meta.changed.includes(grant.id)) continue;
      const shown = answer.body.data.find(({ id }: Json) => id === grant.id) ?? grant;
      this.#wrote(onProjects, { ...answer, headers: {}, body: { data: shown } });
    }
    const then = await this.#whole(caller, project);
    this.#same(then.headers.etag, answer.headers.etag, 'the ETags of the list and of its last write');
    this.#same(then.body.data, answer.body.data, 'the list and its last write');
  }

  /** As `#condition`, of the list as the caller sees it. */
  async #conditionOnList(caller: Caller, project: string, holds: Holds) {
    if (holds === 'unasked') return { headers: {}, matches: true };
    if (holds === 'any') return { headers: { 'if-match': '*' }, matches: true };
    const { text, headers } = await this.#whole(caller, project);
    const known = this.#lists.get(project) ?? [];
    if (headers.etag) this.#lists.set(project, [...known, { text, etag: headers.etag }]);
    if (holds === 'current' && headers.etag) return { headers: { 'if-match': headers.etag }, matches: true };
    const old = known.find(each => each.text !== text)?.etag;
    return { headers: { 'if-match': (holds === 'old' && old) || '"AAAAAAAAAAAAAAAAAAAAAA"' }, matches: false };
  }

  async #show(caller: Caller, kind: Kind, id: string): Promise<void> {
    const answer = await this.#send(caller, 'GET', `/api/v2/${kind.type}/${id}`);
    this.#compare(`${kind.type} show`, answer, this.model.show(kind, this.#secret(caller), id));
    if (answer.status !== 200) return;
    const written = this.#written.get(id);
    this.#same(JSON.stringify(answer.body.data), written?.text, 'a shown resource and its last write, byte by byte');
    const last = written?.etags.at(-1);
    // A write of the whole list tells no tag of each: the first who reads it does.
    if (last?.etag === '') last.etag = answer.headers.etag ?? '';
    this.#same(answer.headers.etag, last?.etag, 'the ETags of a resource and of its last write');
  }

  async #create(caller: Caller, kind: Kind, payload: string | undefined): Promise<string | undefined> {
    const answer = await this.#send(caller, 'POST', `/api/v2/${kind.type}`, payload);
    const id: string | undefined = answer.status === 200 ? answer.body.data.id : undefined;
    if (id !== undefined) {
      assert.match(id, kind === onProjects ? /^tprj-[1-9A-HJ-NP-Za-km-z]{16}$/ : /^tws-[1-9A-HJ-NP-Za-km-z]{16}$/);
      assert.ok(!this.#grants.some(grant => grant.id === id), 'an id is given once');
      this.#grants.push({ id, kind });
      this.#wrote(kind, answer);
    }
    this.#compare(`${kind.type} create`, answer, this.model.create(kind, this.#secret(caller), payload, id));
    return id;
  }

  async #update(caller: Caller, kind: Kind, id: string, payload: string | undefined, holds: Holds): Promise<void> {
    const { headers, matches } = this.#condition(id, holds);
    const answer = await this.#send(caller, 'PATCH', `/api/v2/${kind.type}/${id}`, payload, headers);
    const expected = this.model.update(kind, this.#secret(caller), id, payload, matches);
    this.#compare(`${kind.type} update`, answer, expected);
    if (answer.status === 200) this.#wrote(kind, answer);
  }

  async #remove(caller: Caller, kind: Kind, id: string, holds: Holds): Promise<void> {
    const { headers, matches } = this.#condition(id, holds);
    const answer = await this.#send(caller, 'DELETE', `/api/v2/${kind.type}/${id}`, undefined, headers);
    this.#compare(`${kind.type} remove`, answer, this.model.remove(kind, this.#secret(caller), id, matches));
  }

  #wrote({ place }: Kind, { body, headers }: Answer): void {
    const text = JSON.stringify(body.data);
    const etags = this.#written.get(body.data.id)?.etags ?? [];
    const on: string = body.data.relationships[place].data.id;
    this.#written.set(body.data.id, { on, text, etags: [...etags, { text, etag: headers.etag ?? '' }] });
  }

  #condition(id: string, holds: Holds): { headers: Record<string, string>; matches: boolean } {
    const written = this.#written.get(id);
    const current = written?.etags.at(-1)?.etag;
    if (holds === 'unasked' || !current) return { headers: {}, matches: true };
    if (holds === 'any') return { headers: { 'if-match': '*' }, matches: true };
    if (holds === 'current') return { headers: { 'if-match': current }, matches: true };
    // A state that came back may have its old tag again: only a tag of a state that differs is surely stale.
    const old = written?.etags.find(({ text, etag }) => text !== written.text && etag !== '')?.etag;
    return { headers: { 'if-match': (holds === 'old' && old) || '"AAAAAAAAAAAAAAAAAAAAAA"' }, matches: false };
  }

  // Workspaces, each compared.

  /** By its id or, in any case of letters, by its name; one that is gone has none. */
  #pathTo(id: string, by: 'id' | 'name'): string {
    const workspace = this.model.workspace(id);
    if (by === 'id' || !workspace) return `/api/v2/workspaces/${id}`;
    return `/api/v2/organizations/${workspace.organization}/workspaces/${workspace.name.toUpperCase()}`;
  }

  async #createWorkspace(caller: Caller, organization: string, place: WorkspacePlace, payload: string | undefined) {
    const answer = await this.#send(caller, 'POST', `/api/v2/organizations/${organization}/workspaces`, payload);
    const id: string | undefined = answer.status === 201 ? answer.body.data.id : undefined;
    if (id !== undefined) this.#workspaces.set(place, id);
    const expected = this.model.createWorkspace(this.#secret(caller), organization, payload, id);
    this.#compare('workspaces create', answer, expected);
  }

  async #updateWorkspace(
    caller: Caller,
    id: string,
    by: 'id' | 'name',
    payload: string | undefined,
    holds: 'unasked' | 'any' | 'nonsense',
  ): Promise<void> {
    const tag = { unasked: undefined, any: '*', nonsense: '"AAAAAAAAAAAAAAAAAAAAAA"' }[holds];
    const headers = tag === undefined ? {} : { 'if-match': tag };
    const answer = await this.#send(caller, 'PATCH', this.#pathTo(id, by), payload, headers);
    const expected = this.model.updateWorkspace(this.#secret(caller), id, payload, holds !== 'nonsense');
    this.#compare('workspaces update', answer, expected);
  }

  async #act(caller: Caller, id: string, by: 'id' | 'name', action: Action): Promise<void> {
    const path =
      action === 'delete'
        ? this.#pathTo(id, by)
        : `${this.#pathTo(id, action === 'safe-delete' ? by : 'id')}/actions/${action}`;
    const answer = await this.#send(caller, action === 'delete' ? 'DELETE' : 'POST', path);
    this.#compare(`workspaces ${action}`, answer, this.model.act(this.#secret(caller), id, action));
  }

  async #showWorkspace(caller: Caller, id: string, by: 'id' | 'name'): Promise<void> {
    const answer = await this.#send(caller, 'GET', this.#pathTo(id, by));
    this.#compare('workspaces show', answer, this.model.showWorkspace(this.#secret(caller), id));
  }

  async #listWorkspaces(caller: Caller, query: Record<string, string>): Promise<void> {
    const path = `/api/v2/organizations/${this.#organization}/workspaces`;
    const answer = await this.#send(caller, 'GET', `${path}?${new URLSearchParams(query)}`);
    const expected = this.model.listWorkspaces(this.#secret(caller), this.#organization, query);
    this.#compare('workspaces list', answer, expected);
    if (expected.total !== undefined)
      this.#same(answer.body.meta.pagination['total-count'], expected.total, 'the number of workspaces');
  }

  /** As much of a workspace as the model foretells, in its words. */
  #foretold({ id, attributes, relationships }: Json): ShownWorkspace {
    const { data: by } = relationships['locked-by'];
    const person = [...userIds].find(([, user]) => user === by?.id)?.[0];
    return {
      id,
      name: attributes.name,
      project: relationships.project.data.id,
      locked: attributes.locked,
      lockedBy: by && { type: by.type, id: person ?? by.id },
      permissions: attributes.permissions,
    };
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

  #compare(operation: string, answer: Answer, expected: Prediction): void {
    const key = `${operation} ${answer.status}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    const { status, text, body } = answer;
    const errors: {
      status: string;
      detail: string;
      source?: { pointer?: string; parameter?: string };
      meta?: unknown;
    }[] = body?.errors ?? [];
    const pointers = errors.flatMap(({ source }) => source?.pointer ?? []).toSorted();
    const parameters = errors.flatMap(({ source }) => source?.parameter ?? []);
    if (status !== expected.status) this.#diverges(`status ${status}: ${text}`, expected);
    if (status < 300) {
      if (expected.workspaces)
        this.#same(
          [body.data].flat().map((workspace: Json) => this.#foretold(workspace)),
          expected.workspaces,
          'the workspaces',
        );
      else this.#same(body, expected.body, 'the body');
      return;
    }
    if (expected.words && !expected.words.test(errors[0]?.detail ?? '')) this.#diverges(`in other words: ${text}`);
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
    const places = [...this.#teams, ...this.#projects, ...this.#workspaces].map(
      ([place, id]) => [id, `${id.split('-')[0]} ${place}`] as const,
    );
    const named = (line: string) => places.reduce((text, [id, name]) => text.replaceAll(id, `<${name}>`), line);
    throw new Error([...lines, 'after', ...this.history].map(named).join('\n'));
  }

  // The surroundings change, always as somebody who may change them.

  async #turn(turn: Turn): Promise<void> {
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
        // Only an empty one is deleted.
        for (const workspace of model.workspacesIn(id)) {
          this.#done(await this.#owners.delete(`/workspaces/${workspace.id}`), 204);
          model.removeWorkspace(workspace.id);
        }
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

const paged = (number: string | undefined, size: string | undefined) => ({
  ...(number !== undefined && { 'page[number]': number }),
  ...(size !== undefined && { 'page[size]': size }),
});

const ofGrants = {
  list: [200, 400, 401, 404],
  show: [200, 401, 404],
  create: [200, 400, 401, 404, 422],
  update: [200, 400, 401, 404, 412, 422],
  remove: [204, 401, 404, 412],
};
const answers = Object.entries({
  'team-projects': { ...ofGrants, whole: [200, 401, 404], replace: [200, 400, 401, 404, 412, 422] },
  'team-workspaces': ofGrants,
  workspaces: {
    list: [200, 400, 401, 404],
    show: [200, 401, 404],
    create: [201, 400, 401, 404, 422],
    update: [200, 400, 401, 404, 412, 422],
    lock: [200, 401, 404, 409],
    unlock: [200, 401, 404, 409],
    'force-unlock': [200, 401, 404, 409],
    'safe-delete': [204, 401, 404, 409],
    delete: [204, 401, 404],
  },
}).flatMap(([type, operations]) =>
  Object.entries<number[]>(operations).flatMap(([operation, statuses]) =>
    statuses.map(status => `${type} ${operation} ${status}`),
  ),
);

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

test(`${target} random operations on team access and workspaces answer as the model does`, async t => {
  printSeed(t);
  const property = fc.asyncProperty(anyStart, anyHistory, async (start, operations) => {
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
  t.diagnostic(`${total()} operations compared in ${worlds} worlds`);
  t.diagnostic(JSON.stringify(Object.fromEntries([...seen].toSorted())));
  assert.ok(total() >= target);
  // Every answer that there can be was there: otherwise the histories have grown dull. Some are rare.
  const isRare = (answer: string) => /^(team-)?workspaces.* (400|401|412)$/.test(answer);
  const missing = answers.filter(answer => !seen.has(answer) && !isRare(answer));
  const surplus = [...seen.keys()].filter(answer => !answers.includes(answer));
  assert.deepEqual({ missing, surplus }, { missing: [], surplus: [] });
  const hearing = { found: (finding: unknown) => assert.fail(JSON.stringify(finding)), ended: () => {} };
  const rows = await directory.server.store.read(tx => verifyChains(tx, hearing));
  t.diagnostic(`${rows} rows in the audit trail, which is whole`);
});
