/** One seeded world, made over HTTP: an organization with every kind of caller in it. */

import assert from 'node:assert/strict';
import { type Answer, type Client, type Json, mediaType, plainMediaType } from './client.ts';
import { startServer, type TestServer } from './server.ts';

export { mediaType };

/** A caller with a token, and the few words that tests need. */
export class Actor {
  readonly client: Client;
  readonly token: string | undefined;

  constructor(client: Client, token: string | undefined) {
    this.client = client;
    this.token = token;
  }

  get(path: string): Promise<Answer> {
    return this.client.call(this.token, 'GET', `/api/v2${path}`);
  }

  post(path: string, data?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.client.call(this.token, 'POST', `/api/v2${path}`, data === undefined ? undefined : { data }, headers);
  }

  patch(path: string, data?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.client.call(this.token, 'PATCH', `/api/v2${path}`, data === undefined ? undefined : { data }, headers);
  }

  put(path: string, data?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.client.call(this.token, 'PUT', `/api/v2${path}`, data === undefined ? undefined : { data }, headers);
  }

  delete(path: string, data?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.client.call(this.token, 'DELETE', `/api/v2${path}`, data === undefined ? undefined : { data }, headers);
  }

  /** A question by AuthZEN, below the path of an organization; a text goes as it is. */
  ask(organization: string, path: string, question: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const address = `/organizations/${organization}/access/v1/${path}`;
    return this.client.call(this.token, 'POST', address, question, { 'content-type': plainMediaType, ...headers });
  }

  /** A POST that must succeed; the resource that it made. */
  async make(path: string, data?: unknown): Promise<Json> {
    const answer = await this.post(path, data);
    assert.ok(answer.status < 300, `POST ${path} answered ${answer.status}: ${answer.text}`);
    return answer.body?.data;
  }
}

export const grantBody = (project: string, team: string, attributes: Json) => ({
  type: 'team-projects',
  attributes,
  relationships: {
    project: { data: { type: 'projects', id: project } },
    team: { data: { type: 'teams', id: team } },
  },
});

export const workspaceBody = (name: string, project?: string, attributes: Json = {}) => ({
  type: 'workspaces',
  attributes: { name, ...attributes },
  ...(project !== undefined && { relationships: { project: { data: { type: 'projects', id: project } } } }),
});

export const workspaceGrantBody = (workspace: string, team: string, attributes: Json) => ({
  type: 'team-workspaces',
  attributes,
  relationships: {
    workspace: { data: { type: 'workspaces', id: workspace } },
    team: { data: { type: 'teams', id: team } },
  },
});

/** Shorthands for setting up a directory. */
export class Directory<S extends Pick<TestServer, 'client' | 'adminToken'> = TestServer> {
  readonly server: S;
  readonly admin: Actor;

  constructor(server: S) {
    this.server = server;
    this.admin = new Actor(server.client, server.adminToken);
  }

  actor(token: string | undefined): Actor {
    return new Actor(this.server.client, token);
  }

  async user(username: string): Promise<{ id: string; actor: Actor }> {
    const attributes = { username, email: `${username}@example.com` };
    const { id } = await this.admin.make('/admin/users', { type: 'users', attributes });
    const token = await this.admin.make(`/users/${id}/authentication-tokens`);
    return { id, actor: this.actor(token.attributes.token) };
  }

  async organization(owner: Actor, name: string): Promise<void> {
    const attributes = { name, email: `${name}@example.com` };
    await owner.make('/organizations', { type: 'organizations', attributes });
  }

  async member(owner: Actor, organization: string, username: string): Promise<{ id: string; actor: Actor }> {
    const user = await this.user(username);
    await owner.make(`/organizations/${organization}/organization-memberships`, {
      type: 'organization-memberships',
      attributes: { email: `${username}@example.com` },
    });
    return user;
  }

  async team(owner: Actor, organization: string, attributes: Json, members: string[] = []): Promise<string> {
    const { id } = await owner.make(`/organizations/${organization}/teams`, { type: 'teams', attributes });
    if (members.length > 0)
      await owner.make(
        `/teams/${id}/relationships/users`,
        members.map(username => ({ type: 'users', id: username })),
      );
    return id;
  }

  async project(owner: Actor, organization: string, name: string): Promise<string> {
    return (await owner.make(`/organizations/${organization}/projects`, { type: 'projects', attributes: { name } })).id;
  }

  async grant(owner: Actor, project: string, team: string, attributes: Json): Promise<string> {
    return (await owner.make('/team-projects', grantBody(project, team, attributes))).id;
  }

  /** In the default project, where no other is named. */
  async workspace(owner: Actor, organization: string, name: string, project?: string): Promise<string> {
    return (await owner.make(`/organizations/${organization}/workspaces`, workspaceBody(name, project))).id;
  }

  async workspaceGrant(owner: Actor, workspace: string, team: string, attributes: Json): Promise<string> {
    return (await owner.make('/team-workspaces', workspaceGrantBody(workspace, team, attributes))).id;
  }
}

export const newDirectory = async (seed?: number): Promise<Directory> =>
  new Directory(await startServer(seed === undefined ? {} : { seed }));
