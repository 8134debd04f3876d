/** What is wrong with a world: every flaw, with the place where it stands. Pure. */

import { accesses, type Kind, onProjects, onWorkspaces, type Wish, workspaceAccesses } from '../../core/access.ts';
import { Fault } from '../../core/fault.ts';
import { ownersTeam } from '../../store/standing.ts';
import { isWellMade, publicPartOf } from '../../store/token.ts';
import { isCleanText } from '../../wire/body.ts';
import { instantOf } from '../../wire/time.ts';
import { checker, pathIn } from '../../wire/validation.ts';
import { expectAgentPool } from '../organization-settings.ts';
import { changedSettings as changedProjectSettings } from '../project-settings.ts';
import { wishOnProject } from '../team-projects.ts';
import { attributeOf, wishOnWorkspace } from '../team-workspaces.ts';
import { firstAdmin } from '../user-resource.ts';
import { changedSettings } from '../workspace-settings.ts';
import { actorWithId, lower, noMatterWhich, settings, World } from './shape.ts';

export type Path = readonly (string | number)[];
export type WorldFlaw = { readonly path: Path; readonly detail: string };

const check = checker(World);

const flawsOfShape = (value: unknown): WorldFlaw[] => {
  const flaws = flawsIn(() => check(value));
  return flaws.map(({ pointer, detail }) =>
    pointer === ''
      ? { path: [], detail: 'a world is an object with users and organizations' }
      : { path: pathIn(pointer), detail },
  );
};

/** NUL and half a surrogate pair: no database agrees with another on them. */
const flawsOfText = (value: unknown, path: Path = []): WorldFlaw[] => {
  if (typeof value === 'string')
    return isCleanText(value) ? [] : [{ path, detail: 'this has a NUL or half a surrogate pair in it' }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => flawsOfText(inner, [...path, key]));
};

const flawsIn = (work: () => unknown) => {
  try {
    work();
    return [];
  } catch (error) {
    if (error instanceof Fault && error.problem.kind === 'invalid') return error.problem.flaws;
    throw error;
  }
};

/** Somewhere in a value of whatever shape: what has another shape than asked for is passed over, since the schema tells of it. */
class Place {
  readonly value: unknown;
  readonly path: Path;

  constructor(value: unknown, path: Path = []) {
    this.value = value;
    this.path = path;
  }

  get isObject(): boolean {
    return typeof this.value === 'object' && this.value !== null && !Array.isArray(this.value);
  }

  at(key: string): Place {
    const inner = this.isObject ? (this.value as Record<string, unknown>)[key] : undefined;
    return new Place(inner, [...this.path, key]);
  }

  get text(): string | undefined {
    return typeof this.value === 'string' ? this.value : undefined;
  }

  /** The items of a list under this key, or the one object. */
  all(key: string): Place[] {
    const inner = this.at(key);
    if (!Array.isArray(inner.value)) return inner.isObject ? [inner] : [];
    return inner.value.map((item, index) => new Place(item, [...inner.path, index]));
  }
}

type Refuse = (place: Place, detail: string) => void;

/** Refuses the second of two that are the same. */
const once = (refuse: Refuse, detail: string, same: (text: string) => string = lower) => {
  const seen = new Set<string>();
  return (place: Place): void => {
    if (place.text === undefined) return;
    if (seen.has(same(place.text))) refuse(place, detail);
    seen.add(same(place.text));
  };
};

/** The rules that hold for the whole of a file: what is named must be there, and what is one must not be there twice. */
class Checking {
  readonly flaws: WorldFlaw[];
  /** Usernames, in small letters, by username and by e-mail. */
  readonly people = new Map<string, string>();
  readonly #refuse: Refuse = ({ path }, detail) => this.flaws.push({ path, detail });
  readonly #idOnce = once(this.#refuse, 'id has already been used', id => id);
  readonly #secretOnce = once(this.#refuse, 'secret has already been given to another token', this.#publicPart);

  constructor(known: readonly WorldFlaw[]) {
    this.flaws = [...known];
  }

  world(world: Place): void {
    const users = world.all('users');
    this.#users(users);
    const nameOnce = once(this.#refuse, 'Name has already been taken');
    for (const organization of world.all('organizations')) {
      nameOnce(organization.at('name'));
      this.#made(organization);
      this.#settings(organization, 'organization', given => expectAgentPool(given, undefined));
      for (const key of ['token', 'audit-trails-token', 'decisions-token']) this.#tokens(organization.all(key));
      const members = this.#memberships(organization);
      const teams = this.#teams(organization, members);
      this.#wayBack(organization);
      this.#projects(organization, teams);
    }
  }

  #users(users: readonly Place[]): void {
    const usernameOnce = once(this.#refuse, 'Username has already been taken');
    const emailOnce = once(this.#refuse, 'Email has already been taken');
    for (const user of users) {
      this.#made(user);
      usernameOnce(user.at('username'));
      emailOnce(user.at('email'));
      const name = lower(user.at('username').text ?? '');
      for (const key of ['username', 'email']) this.people.set(lower(user.at(key).text ?? ''), name);
    }
    this.people.delete('');
    // Only now: a token may have been made by someone further down.
    for (const user of users) this.#tokens(user.all('tokens'));
    if (users.some(user => user.at('is-admin').value === true)) return;
    for (const user of users)
      for (const key of ['username', 'email'] as const)
        if (lower(user.at(key).text ?? '') === firstAdmin[key])
          this.#refuse(user.at(key), `${key} is the one of the site admin who is made when no user has is-admin: true`);
  }

  /** Gives back the members by their usernames, and those who are invited by their e-mails. */
  #memberships(organization: Place): Set<string> {
    const members = new Set<string>();
    for (const membership of organization.all('memberships')) {
      this.#made(membership);
      const [user, email] = [membership.at('user'), membership.at('email')];
      if ((user.value === undefined) === (email.value === undefined))
        this.#refuse(membership, 'a membership names either a user or an email');
      const named = user.text ?? email.text;
      if (named === undefined) continue;
      const member = this.people.get(lower(named)) ?? (user.text === undefined ? lower(named) : undefined);
      if (member === undefined) this.#refuse(user, `there is no user '${named}'`);
      else if (members.has(member)) this.#refuse(membership, `'${named}' is a member already`);
      else members.add(member);
    }
    return members;
  }

  #teams(organization: Place, members: ReadonlySet<string>): Set<string> {
    const nameOnce = once(this.#refuse, 'Name has already been taken');
    const teams = new Set<string>();
    let owned = false;
    for (const team of organization.all('teams')) {
      const name = lower(team.at('name').text ?? '');
      teams.add(name);
      nameOnce(team.at('name'));
      this.#made(team);
      this.#tokens([...team.all('token'), ...team.all('tokens')]);
      const descriptionOnce = once(this.#refuse, 'Description has already been taken', text => text);
      for (const token of team.all('tokens')) descriptionOnce(token.at('description'));
      const users = this.#members(team, members);
      if (name !== ownersTeam) continue;
      owned ||= users > 0;
      if (team.at('name').text !== name) this.#refuse(team.at('name'), 'The owners team is written in small letters');
      if (team.at('visibility').value === 'secret')
        this.#refuse(team.at('visibility'), 'The owners team is visible to all members');
    }
    if (!owned && organization.isObject)
      this.#refuse(organization, `an organization needs an owner: a team named ${ownersTeam} with a user in it`);
    return teams;
  }

  /** As `expectAWayBack` has it, but for the time: what expires is in order when it is written. */
  #wayBack(organization: Place): void {
    const userTokens = organization.at('user-tokens-enabled');
    const owners = organization.all('teams').filter(team => team.at('name').text === ownersTeam);
    const ways = [organization, ...owners].flatMap(holder => [...holder.all('token'), ...holder.all('tokens')]);
    if (userTokens.value === false && ways.length === 0)
      this.#refuse(
        userTokens,
        `user tokens are disabled only where the team ${ownersTeam} or the organization has a token`,
      );
  }

  /** The number of those who are users. */
  #members(team: Place, members: ReadonlySet<string>): number {
    const seen = new Set<string>();
    for (const member of team.all('members')) {
      if (member.text === undefined) continue;
      const name = this.people.get(lower(member.text)) ?? lower(member.text);
      const known = this.people.has(name) || (name.includes('@') && members.has(name));
      if (!known) this.#refuse(member, `'${member.text}' is neither a user nor an e-mail that memberships invites`);
      else if (seen.has(name)) this.#refuse(member, `'${member.text}' is in the team already`);
      seen.add(name);
    }
    return [...seen].filter(name => this.people.has(name)).length;
  }

  #projects(organization: Place, teams: ReadonlySet<string>): void {
    const nameOnce = once(this.#refuse, 'Name has already been taken');
    const workspaceOnce = once(this.#refuse, 'Name has already been taken');
    const names = new Set<string>();
    for (const project of organization.all('projects')) {
      names.add(lower(project.at('name').text ?? ''));
      nameOnce(project.at('name'));
      this.#made(project);
      this.#tags(project);
      this.#settings(project, 'project', given => changedProjectSettings({}, given, {}));
      const pathOf = ({ group, key }: { group: string; key: string }) => [group, key];
      this.#access(project, teams, onProjects, accesses, wishOnProject, pathOf);
      for (const workspace of project.all('workspaces')) {
        workspaceOnce(workspace.at('name'));
        this.#workspace(workspace, teams);
      }
    }
    const byDefault = organization.at('default-project');
    if (byDefault.text !== undefined && !names.has(lower(byDefault.text)))
      this.#refuse(byDefault, `there is no project '${byDefault.text}'`);
  }

  #tags(on: Place): void {
    const keyOnce = once(this.#refuse, 'key is there twice', key => key);
    for (const tag of on.all('tags')) {
      this.#made(tag);
      keyOnce(tag.at('key'));
    }
  }

  #workspace(workspace: Place, teams: ReadonlySet<string>): void {
    this.#made(workspace);
    this.#tags(workspace);
    this.#time(workspace.at('updated-at'));
    this.#actor(workspace.at('lock').at('by'));
    this.#access(workspace, teams, onWorkspaces, workspaceAccesses, wishOnWorkspace, each => [attributeOf(each)]);
    this.#settings(workspace, 'workspace', given => changedSettings({}, given, noMatterWhich));
  }

  /** The rules between settings, where each of them is of the right kind. */
  #settings(place: Place, kind: keyof typeof settings, expect: (given: object) => unknown): void {
    const depth = place.path.length;
    const isFlawed = ({ path }: WorldFlaw) =>
      place.path.every((key, index) => `${path[index]}` === `${key}`) && `${path[depth]}` in settings[kind];
    if (!place.isObject || this.flaws.some(isFlawed)) return;
    for (const { pointer, detail } of flawsIn(() => expect(place.value as object)))
      this.#refuse(new Place(undefined, [...place.path, ...pathIn(pointer).slice(2)]), detail);
  }

  #access<L extends string>(
    on: Place,
    teams: ReadonlySet<string>,
    { changed }: Kind<L>,
    known: readonly string[],
    wishOf: (attributes: never) => Wish<L>,
    pathOf: (permission: Kind<L>['choosable'][number]) => readonly string[],
  ): void {
    const teamOnce = once(this.#refuse, 'The team already has access here');
    for (const grant of on.all('team-access')) {
      this.#made(grant);
      const team = grant.at('team');
      teamOnce(team);
      if (team.text !== undefined && !teams.has(lower(team.text)))
        this.#refuse(team, `there is no team '${team.text}'`);
      const access = grant.at('access').text ?? '';
      if (!known.includes(access)) continue;
      const next = changed(undefined, wishOf(grant.value as never));
      if ('refused' in next)
        for (const permission of next.refused) {
          const path = pathOf(permission);
          const detail = `${path.at(-1)} cannot be chosen with the access level '${access}': use 'custom'`;
          this.#refuse(new Place(undefined, [...grant.path, ...path]), detail);
        }
    }
  }

  #tokens(tokens: readonly Place[]): void {
    for (const token of tokens) {
      this.#made(token);
      this.#time(token.at('expired-at'));
      this.#actor(token.at('created-by'));
      const secret = token.at('secret');
      if (secret.text !== undefined && !isWellMade(secret.text))
        this.#refuse(secret, 'secret looks like a token of ours, but its checksum is wrong');
      else this.#secretOnce(secret);
    }
  }

  /** Tokens are found by this part of them, which must be one token's own. */
  #publicPart(secret: string): string {
    return publicPartOf(secret) ?? secret;
  }

  #made(place: Place): void {
    this.#idOnce(place.at('id'));
    this.#time(place.at('created-at'));
  }

  #time(place: Place): void {
    if (place.text !== undefined && instantOf(place.text) === undefined)
      this.#refuse(place, `${place.path.at(-1)} is a time that does not exist`);
  }

  #actor(place: Place): void {
    if (place.text === undefined || actorWithId(place.text) || this.people.has(lower(place.text))) return;
    this.#refuse(place, `there is no user '${place.text}', and it is no id of a user, a team or an organization`);
  }
}

/** Of several flaws in one place the first, which is the plainest. */
export const flawsOf = (value: unknown): WorldFlaw[] => {
  const checking = new Checking([...flawsOfText(value), ...flawsOfShape(value)]);
  checking.world(new Place(value));
  const first = new Map<string, WorldFlaw>();
  for (const flaw of checking.flaws) {
    const place = JSON.stringify(flaw.path.map(String));
    if (!first.has(place)) first.set(place, flaw);
  }
  return [...first.values()];
};
