/** A world: all that a server holds but secrets and history, by names, in the words of the API. A seed file and an export have it. */

import type { Prefix } from '../../store/id.ts';
import { chosenToken } from '../../store/token.ts';
import {
  closed,
  emailAddress,
  flag,
  instant,
  listOf,
  open,
  optional,
  orNull,
  ruled,
  type Static,
  type TProperties,
  text,
} from '../../wire/schemas.ts';
import { settableOfToken } from '../authentication-token-resource.ts';
import { organizationName, settableOfOrganization } from '../organization-resource.ts';
import { projectName, settableOfProject } from '../projects.ts';
import { mostTags, wishedTag } from '../tag-bindings.ts';
import { wishedOnProject } from '../team-projects.ts';
import { wishedOnWorkspace } from '../team-workspaces.ts';
import { settableOfTeam, teamName } from '../teams.ts';
import { username } from '../user-resource.ts';
import { reason } from '../workspace-actions.ts';
import { type Inherited, settable as settableOfWorkspace } from '../workspace-settings.ts';
import { workspaceName } from '../workspaces.ts';

/** Given, or made when the world is planted. */
const made = (prefix: Prefix) => ({
  id: optional(ruled(`^${prefix}-[0-9A-Za-z]{16}$`, `id must be ${prefix}- and 16 letters or digits`)),
  'created-at': optional(instant('created-at')),
});

/** The id of whoever did something, who may be gone by now; its beginning tells the type. */
const actorId = /^(user|team|org)-[0-9A-Za-z]{16}$/;
const actorTypes: Readonly<Record<string, 'users' | 'teams' | 'organizations'>> = {
  user: 'users',
  team: 'teams',
  org: 'organizations',
};

/** Undefined for what is no id, and so a username. */
export const actorWithId = (id: string) => {
  const type = actorTypes[actorId.exec(id)?.[1] ?? ''];
  return type && { type, id };
};

const secret = ruled(chosenToken.pattern, `secret ${chosenToken.rule}`);

const { description, ...lifetime } = settableOfToken;
const token = { ...made('at'), ...lifetime, 'created-by': optional(text), secret: optional(secret) };
/** One in a slot of its own needs nothing to tell it from others. */
const single = optional(open(token));
const tokens = optional(listOf(open({ ...token, description })));

const user = open({
  ...made('user'),
  username,
  email: emailAddress,
  'unconfirmed-email': optional(orNull(emailAddress)),
  'is-admin': optional(flag),
  tokens,
});

const membership = open({ ...made('ou'), user: optional(text), email: optional(emailAddress) });

const team = open({
  ...made('team'),
  name: teamName,
  ...settableOfTeam,
  members: optional(listOf(text)),
  token: single,
  tokens,
});

const tags = optional(listOf(open({ ...made('tb'), ...wishedTag }), { maxItems: mostTags }));

const teamAccess = <P extends TProperties>(prefix: Prefix, wished: P) =>
  optional(listOf(open({ ...made(prefix), team: text, ...wished })));

/** What a request may say in another way besides, a world says in one way; and there are no agent pools here to be named. */
const spare = ['operations', 'agent-pool-id', 'default-agent-pool-id', 'setting-overwrites'] as const;
const without = <P extends TProperties>(settable: P) =>
  Object.fromEntries(Object.entries(settable).filter(([name]) => !spare.some(each => each === name))) as Omit<
    P,
    (typeof spare)[number]
  >;

/** The settings of each that a world has. */
export const settings = {
  organization: settableOfOrganization,
  project: without(settableOfProject),
  workspace: without(settableOfWorkspace),
};

const workspace = open({
  ...made('ws'),
  'updated-at': optional(instant('updated-at')),
  name: workspaceName,
  ...settings.workspace,
  tags,
  lock: optional(orNull(open({ by: text, reason }))),
  'team-access': teamAccess('tws', wishedOnWorkspace),
});

const project = open({
  ...made('prj'),
  name: projectName,
  ...settings.project,
  tags,
  'team-access': teamAccess('tprj', wishedOnProject),
  workspaces: optional(listOf(workspace)),
});

const organization = open({
  ...made('org'),
  name: organizationName,
  email: emailAddress,
  ...settings.organization,
  'default-project': optional(text),
  memberships: optional(listOf(membership)),
  teams: optional(listOf(team)),
  projects: optional(listOf(project)),
  token: single,
  'audit-trails-token': single,
  'decisions-token': single,
});

export const World = closed(open({ users: optional(listOf(user)), organizations: optional(listOf(organization)) }));

export type World = Static<typeof World>;

/** For editors. */
export const worldSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'A world of Bailiwick',
  ...World,
};

export type WorldOrganization = NonNullable<World['organizations']>[number];
export type WorldTeam = NonNullable<WorldOrganization['teams']>[number];
export type WorldProject = NonNullable<WorldOrganization['projects']>[number];
export type WorldWorkspace = NonNullable<WorldProject['workspaces']>[number];
export type WorldToken = NonNullable<WorldTeam['tokens']>[number];

/** What a workspace inherits does not matter to what is set on it. */
export const noMatterWhich: Inherited = { executionMode: 'remote', autoDestroyActivityDuration: null };

/** Names and e-mails are the same whatever the case of their letters, as in the database: those of ASCII. */
export const lower = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase());
