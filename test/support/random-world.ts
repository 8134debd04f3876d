/** Random worlds, made over HTTP, and the facts that went into them: what tests reason from. */

import assert from 'node:assert/strict';
import type { Json } from './client.ts';
import type { Dice } from './dice.ts';
import { Actor, type Directory, grantBody } from './world.ts';

export type TeamsAccess = 'none' | 'read' | 'manage';
export type Person = { readonly id: string; readonly username: string; readonly email: string; readonly token: string };
export type Organization = { readonly name: string; readonly owner: Person };
export type Team = {
  readonly id: string;
  readonly name: string;
  readonly organization: string;
  readonly secret: boolean;
  readonly owners: boolean;
  readonly flags: readonly string[];
  /** User ids. */
  readonly members: readonly string[];
};
export type Project = {
  readonly id: string;
  readonly name: string;
  readonly organization: string;
  readonly isDefault: boolean;
};
export type Workspace = {
  readonly id: string;
  readonly name: string;
  readonly organization: string;
  readonly project: string;
};
export type Grant = {
  readonly id: string;
  readonly organization: string;
  readonly project: string;
  readonly team: string;
  readonly access: string;
  readonly teams: TeamsAccess;
  /** As they were sent. */
  readonly attributes: Json;
};
export type WorkspaceGrant = {
  readonly id: string;
  readonly organization: string;
  readonly workspace: string;
  readonly team: string;
  readonly attributes: Json;
};
export type Membership = { readonly id: string; readonly organization: string; readonly user: string };
export type Token = {
  readonly id: string;
  readonly secret: string;
  readonly organization?: string;
  readonly team?: string;
  readonly user?: string;
};

/** What a custom grant may choose, as the interface lists it, and the later permissions. */
const customValues: Readonly<Record<string, Readonly<Record<string, readonly (string | boolean)[]>>>> = {
  'project-access': {
    settings: ['read', 'update', 'delete'],
    teams: ['none', 'read', 'manage'],
    'variable-sets': ['none', 'read', 'write'],
  },
  'workspace-access': {
    runs: ['read', 'plan', 'apply'],
    'sentinel-mocks': ['none', 'read'],
    'state-versions': ['none', 'read-outputs', 'read', 'write'],
    variables: ['none', 'read', 'write'],
    create: [false, true],
    locking: [false, true],
    delete: [false, true],
    move: [false, true],
    'run-tasks': [false, true],
    'policy-overrides': [false, true],
  },
};

const customValuesOnWorkspace: Readonly<Record<string, readonly (string | boolean)[]>> = {
  runs: ['read', 'plan', 'apply'],
  variables: ['none', 'read', 'write'],
  'state-versions': ['none', 'read-outputs', 'read', 'write'],
  'sentinel-mocks': ['none', 'read'],
  'workspace-locking': [false, true],
  'run-tasks': [false, true],
  'policy-overrides': [false, true],
};

/** Every organization-level permission that opens something, and one that opens nothing. */
export const flagNames = [
  'delegate-policy-overrides',
  'manage-projects',
  'manage-workspaces',
  'read-projects',
  'read-workspaces',
  'manage-policies',
  'manage-policy-overrides',
  'manage-agent-pools',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-modules',
] as const;

/** Any level, with choices where it is custom; `odds` are those of each choice. */
export const randomAccess = (dice: Dice, odds?: number): Json => {
  const access = dice.pick(['read', 'write', 'maintain', 'admin', 'custom', 'custom', 'custom']);
  return access === 'custom' ? { access, ...randomChoices(dice, odds) } : { access };
};

export const randomChoices = (dice: Dice, odds = 0.4): Json =>
  Object.fromEntries(
    Object.entries(customValues).map(([group, values]) => [
      group,
      Object.fromEntries(dice.some(Object.entries(values), odds).map(([key, choices]) => [key, dice.pick(choices)])),
    ]),
  );

export const randomWorkspaceAccess = (dice: Dice, odds?: number): Json => {
  const access = dice.pick(['read', 'plan', 'write', 'admin', 'custom', 'custom', 'custom']);
  return access === 'custom' ? { access, ...randomWorkspaceChoices(dice, odds) } : { access };
};

export const randomWorkspaceChoices = (dice: Dice, odds = 0.4): Json =>
  Object.fromEntries(
    dice.some(Object.entries(customValuesOnWorkspace), odds).map(([key, choices]) => [key, dice.pick(choices)]),
  );

export const flagsAttribute = (flags: readonly string[]): Json => Object.fromEntries(flags.map(flag => [flag, true]));

/** Each method makes one thing over HTTP and notes it. Equal dice on equal servers make equal worlds. */
export class RandomWorld {
  readonly directory: Directory;
  readonly dice: Dice;
  readonly prefix: string;
  readonly people: Person[] = [];
  readonly organizations: Organization[] = [];
  readonly teams: Team[] = [];
  readonly projects: Project[] = [];
  readonly grants: Grant[] = [];
  readonly workspaces: Workspace[] = [];
  readonly workspaceGrants: WorkspaceGrant[] = [];
  readonly memberships: Membership[] = [];
  readonly tokens: Token[] = [];

  constructor(directory: Directory, dice: Dice, prefix: string) {
    this.directory = directory;
    this.dice = dice;
    this.prefix = prefix;
  }

  as(token: string): Actor {
    return new Actor(this.directory.server.client, token);
  }

  ownerOf(organization: string): Actor {
    const { owner } = this.organizations.find(({ name }) => name === organization) as Organization;
    return this.as(owner.token);
  }

  async person(role: string): Promise<Person> {
    const username = `${this.prefix}-${role}`;
    const email = `${username}@example.com`;
    const { admin } = this.directory;
    const { id } = await admin.make('/admin/users', { type: 'users', attributes: { username, email } });
    const token = await this.userToken(id);
    const person = { id, username, email, token: token.secret };
    this.people.push(person);
    return person;
  }

  async userToken(user: string): Promise<Token> {
    const { id, attributes } = await this.directory.admin.make(`/users/${user}/authentication-tokens`);
    return this.#note({ id, secret: attributes.token, user });
  }

  /** With its owners team, its default project and the owner's membership. */
  async organization(owner: Person, role: string): Promise<string> {
    const name = `${this.prefix}-${role}`;
    await this.directory.organization(this.as(owner.token), name);
    this.organizations.push({ name, owner });
    const listed = async (family: string): Promise<{ id: string; name: string }> => {
      const { id, attributes } = (await this.as(owner.token).get(`/organizations/${name}/${family}`)).body.data[0];
      return { id, name: attributes.name };
    };
    const { id } = await listed('organization-memberships');
    this.memberships.push({ id, organization: name, user: owner.id });
    const owners = { secret: false, owners: true, flags: [], members: [owner.id] };
    this.teams.push({ ...(await listed('teams')), organization: name, ...owners });
    this.projects.push({ ...(await listed('projects')), organization: name, isDefault: true });
    return name;
  }

  /** By e-mail: a person is a member at once, anyone else is invited. */
  async member(organization: string, email: string): Promise<void> {
    const data = { type: 'organization-memberships', attributes: { email } };
    const owner = this.ownerOf(organization);
    const { id, relationships } = await owner.make(`/organizations/${organization}/organization-memberships`, data);
    this.memberships.push({ id, organization, user: relationships.user.data.id });
  }

  async team(
    organization: string,
    {
      secret = this.dice.chance(0.5),
      members = [],
      flags = this.dice.some(flagNames, 0.05),
    }: { secret?: boolean; members?: readonly Person[]; flags?: readonly string[] } = {},
  ): Promise<Team> {
    const name = `${this.prefix}-team-${this.teams.length}`;
    const id = await this.directory.team(
      this.ownerOf(organization),
      organization,
      {
        name,
        visibility: secret ? 'secret' : 'organization',
        'allow-member-token-management': this.dice.chance(0.5),
        'organization-access': flagsAttribute(flags),
      },
      members.map(({ username }) => username),
    );
    const team = { id, name, organization, secret, owners: false, flags, members: members.map(({ id }) => id) };
    this.teams.push(team);
    return team;
  }

  async project(organization: string): Promise<Project> {
    const name = `${this.prefix}-project-${this.projects.length}`;
    const id = await this.directory.project(this.ownerOf(organization), organization, name);
    const project = { id, name, organization, isDefault: false };
    this.projects.push(project);
    return project;
  }

  async tag(project: Project): Promise<void> {
    const tags = this.dice
      .some(['env', 'team', 'cost'], 0.6)
      .map(key => ({ type: 'tag-bindings', attributes: { key, value: this.dice.pick(['', 'red', 'blue']) } }));
    const { status } = await this.ownerOf(project.organization).patch(`/projects/${project.id}/tag-bindings`, tags);
    assert.equal(status, 200);
  }

  async grant(project: Project, team: Team, access: Json = randomAccess(this.dice)): Promise<void> {
    const data = grantBody(project.id, team.id, access);
    const { id } = await this.ownerOf(project.organization).make('/team-projects', data);
    const teams = access.access === 'admin' ? 'manage' : (access['project-access']?.teams ?? 'none');
    const between = { organization: project.organization, project: project.id, team: team.id };
    this.grants.push({ id, ...between, access: access.access, teams, attributes: access });
  }

  async workspace(project: Project): Promise<Workspace> {
    const { organization } = project;
    const name = `${this.prefix}-workspace-${this.workspaces.length}`;
    const id = await this.directory.workspace(this.ownerOf(organization), organization, name, project.id);
    const workspace = { id, name, organization, project: project.id };
    this.workspaces.push(workspace);
    return workspace;
  }

  async workspaceGrant(workspace: Workspace, team: Team, attributes: Json = randomWorkspaceAccess(this.dice)) {
    const { organization } = workspace;
    const id = await this.directory.workspaceGrant(this.ownerOf(organization), workspace.id, team.id, attributes);
    this.workspaceGrants.push({ id, organization, workspace: workspace.id, team: team.id, attributes });
  }

  async teamToken(team: Team): Promise<Token> {
    const data = { type: 'authentication-tokens', attributes: { description: `token ${this.tokens.length}` } };
    const made = await this.ownerOf(team.organization).make(`/teams/${team.id}/authentication-tokens`, data);
    return this.#note({ id: made.id, secret: made.attributes.token, team: team.id });
  }

  /** The one token that takes the place of the one before. */
  async singleTeamToken(team: Team): Promise<Token> {
    const made = await this.ownerOf(team.organization).make(`/teams/${team.id}/authentication-token`);
    return this.#note({ id: made.id, secret: made.attributes.token, team: team.id });
  }

  async organizationToken(organization: string): Promise<Token> {
    const made = await this.ownerOf(organization).make(`/organizations/${organization}/authentication-token`);
    return this.#note({ id: made.id, secret: made.attributes.token, organization });
  }

  #note(token: Token): Token {
    this.tokens.push(token);
    return token;
  }
}
