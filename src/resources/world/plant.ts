/** Puts a world into an empty database. It must be without flaws. */

import { type Grant, onProjects, onWorkspaces, type WorkspaceGrant } from '../../core/access.ts';
import { addAuditEvent, ownDoing } from '../../store/audit.ts';
import { newId, newUuid, type Prefix, type Random } from '../../store/id.ts';
import { ownersTeam } from '../../store/standing.ts';
import type { Tx } from '../../store/store.ts';
import { auditTrails, decisions, newToken } from '../../store/token.ts';
import { instantOf } from '../../wire/time.ts';
import { addToken, single, type Token } from '../authentication-token-resource.ts';
import { addInvitation, addMembership } from '../organization-membership-resource.ts';
import { addOrganization } from '../organization-resource.ts';
import { changedOrganization } from '../organizations.ts';
import { addProject, defaultProject } from '../project-resource.ts';
import { changedSettings as changedProjectSettings } from '../project-settings.ts';
import { addTags, type Owner } from '../tag-bindings.ts';
import { addTeamProject, wishOnProject } from '../team-projects.ts';
import { addTeam, addTeamMember, newOwnersTeam, newTeam } from '../team-resource.ts';
import { addTeamWorkspace, wishOnWorkspace } from '../team-workspaces.ts';
import { changedTeam } from '../teams.ts';
import { addUser } from '../user-resource.ts';
import { addWorkspace } from '../workspace-resource.ts';
import { changedSettings } from '../workspace-settings.ts';
import { exported } from './export.ts';
import {
  actorWithId,
  lower,
  noMatterWhich,
  type World,
  type WorldOrganization,
  type WorldProject,
  type WorldTeam,
  type WorldToken,
  type WorldWorkspace,
} from './shape.ts';

export type Making = { readonly key: string; readonly random: Random; readonly now: () => Date };

/** A token that the world gave no secret, with the one that was made: to be shown once. */
export type NewSecret = { readonly token: string; readonly whose: string; readonly secret: string };

type Made = { readonly id?: string; readonly 'created-at'?: string };

/** Upper bound of what is to be planted. */
const sizeOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((size, inner) => size + sizeOf(inner), 1)
    : 1;

class Planting {
  readonly secrets: NewSecret[] = [];
  readonly #tx: Tx;
  readonly #making: Making;
  /** Ids of users, by username and by e-mail in small letters. */
  readonly #people = new Map<string, string>();
  #time: number;

  constructor(tx: Tx, making: Making, world: World) {
    this.#tx = tx;
    this.#making = making;
    this.#time = making.now().getTime() - sizeOf(world);
  }

  /** What has no time of its own has come in the order of the file, a moment before now: lists are by creation. */
  #next(): string {
    return new Date(this.#time++).toISOString();
  }

  #timeOf(given: string | null | undefined): string {
    return (given && instantOf(given)) || this.#next();
  }

  #idOf(prefix: Prefix, { id }: Made): string {
    return id ?? newId(this.#making.random, prefix);
  }

  #userNamed(name: string): string {
    return this.#people.get(lower(name)) ?? '';
  }

  async world({ users = [], organizations = [] }: World): Promise<void> {
    const planted = [];
    for (const user of users) {
      const { username, email } = user;
      const id = this.#idOf('user', user);
      for (const name of [username, email]) this.#people.set(lower(name), id);
      const admin = user['is-admin'] ?? false;
      const unconfirmedEmail = user['unconfirmed-email'] ?? null;
      await addUser(this.#tx, { id, username, email, unconfirmedEmail, admin }, this.#timeOf(user['created-at']));
      planted.push({ id, user });
    }
    for (const { id, user } of planted)
      await this.#tokens({ type: 'users', id }, `user ${user.username}`, user.tokens ?? []);
    for (const organization of organizations) await this.#organization(organization);
  }

  async #organization(organization: WorldOrganization): Promise<void> {
    const { name, email, memberships = [], teams = [], projects = [] } = organization;
    const id = this.#idOf('org', organization);
    const createdAt = this.#timeOf(organization['created-at']);
    const blank = { id, name, email, createdAt, userTokens: true, settings: {} };
    await addOrganization(this.#tx, changedOrganization(blank, organization));
    const owner = { type: 'organizations', id } as const;
    const whose = `organization ${name}`;
    await this.#token(owner, whose, organization.token, single);
    await this.#token(owner, `${whose}, ${auditTrails}`, organization['audit-trails-token'], auditTrails);
    await this.#token(owner, `${whose}, ${decisions}`, organization['decisions-token'], decisions);
    const members = new Map<string, string>();
    for (const membership of memberships) await this.#membership(id, members, membership);
    const teamIds = new Map<string, string>();
    for (const team of teams) teamIds.set(lower(team.name), await this.#team(organization, id, members, team));
    const ofDefault = organization['default-project'] ?? defaultProject;
    const isDefault = ({ name }: WorldProject) => lower(name) === lower(ofDefault);
    const all = projects.some(isDefault) ? projects : [{ name: ofDefault }, ...projects];
    for (const project of all) await this.#project(id, teamIds, project, isDefault(project));
  }

  /** `members` are ids of memberships, by id of user or by e-mail in small letters. */
  async #membership(
    organization: string,
    members: Map<string, string>,
    membership: Made & { readonly user?: string; readonly email?: string },
  ): Promise<string> {
    const { user, email = '' } = membership;
    const id = this.#idOf('ou', membership);
    const time = this.#timeOf(membership['created-at']);
    const member = this.#userNamed(user ?? email);
    if (member === '') await addInvitation(this.#tx, id, organization, email, time);
    else await addMembership(this.#tx, id, organization, member, time);
    members.set(member || lower(email), id);
    return id;
  }

  async #team(
    organization: WorldOrganization,
    organizationId: string,
    members: Map<string, string>,
    team: WorldTeam,
  ): Promise<string> {
    const id = this.#idOf('team', team);
    const blank =
      team.name === ownersTeam ? newOwnersTeam(id, organization.name) : newTeam(id, organization.name, team.name);
    await addTeam(this.#tx, changedTeam(blank, team), organizationId, this.#timeOf(team['created-at']));
    for (const member of team.members ?? []) {
      const user = this.#userNamed(member);
      const membership =
        members.get(user || lower(member)) ?? (await this.#membership(organizationId, members, { user: member }));
      await addTeamMember(this.#tx, organizationId, id, membership, this.#next());
    }
    const owner = { type: 'teams', id } as const;
    const whose = `team ${organization.name}/${team.name}`;
    await this.#token(owner, whose, team.token, single);
    await this.#tokens(owner, whose, team.tokens ?? []);
    return id;
  }

  async #project(
    organization: string,
    teams: ReadonlyMap<string, string>,
    project: WorldProject,
    isDefault: boolean,
  ): Promise<void> {
    const { name, description = null, workspaces = [] } = project;
    const id = this.#idOf('prj', project);
    const createdAt = this.#timeOf(project['created-at']);
    const settings = changedProjectSettings({}, project, {});
    await addProject(this.#tx, { id, name, description, settings, createdAt }, organization, isDefault);
    await this.#tags({ type: 'projects', id }, project.tags);
    for (const given of project['team-access'] ?? []) {
      const grant = onProjects.changed(undefined, wishOnProject(given)) as Grant;
      const team = { id: teams.get(lower(given.team)) ?? '' };
      const made = { id: this.#idOf('tprj', given), place: id, team, grant };
      await addTeamProject(this.#tx, made, organization, this.#timeOf(given['created-at']));
    }
    for (const workspace of workspaces) await this.#workspace(organization, teams, id, workspace);
  }

  async #workspace(
    organizationId: string,
    teams: ReadonlyMap<string, string>,
    project: string,
    workspace: WorldWorkspace,
  ): Promise<void> {
    const { name, lock } = workspace;
    const id = this.#idOf('ws', workspace);
    const createdAt = this.#timeOf(workspace['created-at']);
    const updatedAt = instantOf(workspace['updated-at'] ?? createdAt) ?? createdAt;
    const settings = changedSettings({}, workspace, noMatterWhich);
    const locked = lock ? { ...this.#actorNamed(lock.by), reason: lock.reason ?? null } : null;
    await addWorkspace(this.#tx, { id, organizationId, project, name, settings, createdAt, updatedAt, lock: locked });
    await this.#tags({ type: 'workspaces', id }, workspace.tags);
    for (const given of workspace['team-access'] ?? []) {
      const grant = onWorkspaces.changed(undefined, wishOnWorkspace(given)) as WorkspaceGrant;
      const team = { id: teams.get(lower(given.team)) ?? '' };
      const made = { id: this.#idOf('tws', given), place: id, team, grant };
      await addTeamWorkspace(this.#tx, made, organizationId, this.#timeOf(given['created-at']));
    }
  }

  async #tags(on: Owner, tags: WorldProject['tags'] = []): Promise<void> {
    const made = tags.map(tag => ({
      id: this.#idOf('tb', tag),
      key: tag.key,
      value: tag.value ?? '',
      createdAt: this.#timeOf(tag['created-at']),
    }));
    if (made.length > 0) await addTags(this.#tx, on, made);
  }

  #actorNamed(name: string) {
    return actorWithId(name) ?? ({ type: 'users', id: this.#userNamed(name) } as const);
  }

  async #tokens(owner: Token['owner'], whose: string, tokens: readonly WorldToken[]): Promise<void> {
    for (const token of tokens) await this.#token(owner, whose, token, null);
  }

  async #token(
    owner: Token['owner'],
    whose: string,
    token: WorldToken | undefined,
    slot: string | null,
  ): Promise<void> {
    if (!token) return;
    const { description = null, 'created-by': by, 'expired-at': end } = token;
    const made = {
      id: this.#idOf('at', token),
      owner,
      slot,
      description,
      createdBy: by === undefined ? owner : this.#actorNamed(by),
      createdAt: this.#timeOf(token['created-at']),
      expiredAt: end ? (instantOf(end) ?? null) : null,
    };
    const secret = token.secret ?? newToken(this.#making.random);
    await addToken(this.#tx, made, secret, this.#making.key);
    if (token.secret === undefined)
      this.secrets.push({ token: made.id, whose: description ? `${whose} (${description})` : whose, secret });
  }
}

/** Nobody's doing but that of whoever started the server. */
const seeding = { actor: { type: ownDoing, id: 'seed', name: 'seed' }, token: 'seed', request: 'start' } as const;

/** Gives back the secrets that were made. One audit row tells of each user and of each organization with all that is in it. */
export const plant = async (tx: Tx, world: World, making: Making): Promise<NewSecret[]> => {
  const planting = new Planting(tx, making, world);
  await planting.world(world);
  const { users = [], organizations = [] } = await exported(tx);
  const created = { ...seeding, action: 'create', createdAt: making.now().toISOString(), before: null };
  const rows = [
    ...users.map(user => ({ type: 'user', organization: null, after: user })),
    ...organizations.map(organization => ({
      type: 'organization',
      organization: organization.id,
      after: organization,
    })),
  ];
  for (const { type, organization, after } of rows)
    await addAuditEvent(tx, {
      ...created,
      id: newUuid(making.random),
      organization: organization ?? null,
      resource: { type, id: after.id ?? '' },
      after,
    });
  return planting.secrets;
};
