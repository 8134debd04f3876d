/** An organization in a server of its own, and new people, teams, projects and workspaces in it, in a word each. */

import { fresh } from './answers.ts';
import type { Json } from './client.ts';
import { type Actor, type Directory, newDirectory } from './world.ts';

export class Office {
  readonly directory: Directory;
  readonly owner: Actor;
  readonly defaultProject: string;

  private constructor(directory: Directory, owner: Actor, defaultProject: string) {
    this.directory = directory;
    this.owner = owner;
    this.defaultProject = defaultProject;
  }

  static async open(): Promise<Office> {
    const directory = await newDirectory();
    const { actor: owner } = await directory.user('owner');
    await directory.organization(owner, 'acme');
    const { body } = await owner.get('/organizations/acme/projects');
    return new Office(directory, owner, body.data[0].id);
  }

  close(): Promise<void> {
    return this.directory.server.close();
  }

  async organizationToken(): Promise<Actor> {
    return this.#tokenFrom('/organizations/acme/authentication-token');
  }

  async tokenOf(team: string): Promise<Actor> {
    return this.#tokenFrom(`/teams/${team}/authentication-token`);
  }

  async #tokenFrom(path: string): Promise<Actor> {
    return this.directory.actor((await this.owner.make(path)).attributes.token);
  }

  project(): Promise<string> {
    return this.directory.project(this.owner, 'acme', fresh('project'));
  }

  workspace(project?: string): Promise<string> {
    return this.directory.workspace(this.owner, 'acme', fresh('workspace'), project);
  }

  team(members: string[] = [], attributes: Json = {}): Promise<string> {
    const all = { name: fresh('team'), visibility: 'organization', ...attributes };
    return this.directory.team(this.owner, 'acme', all, members);
  }

  /** A member of one new team. */
  async member(attributes: Json = {}) {
    const name = fresh('member');
    const { actor, id } = await this.directory.member(this.owner, 'acme', name);
    return { name, actor, id, team: await this.team([name], attributes) };
  }

  /** A member whose team holds these permissions in the whole organization. */
  async holder(...permissions: string[]): Promise<Actor> {
    const access = Object.fromEntries(permissions.map(permission => [permission, true]));
    return (await this.member({ 'organization-access': access })).actor;
  }

  /** A member whose team has these grants, each on a project or a workspace. */
  async granted(...grants: readonly { on: string; access: Json }[]): Promise<Actor> {
    const { actor, team } = await this.member();
    for (const { on, access } of grants) await this.grant(on, team, access);
    return actor;
  }

  grant(on: string, team: string, access: Json): Promise<string> {
    return on.startsWith('ws-')
      ? this.directory.workspaceGrant(this.owner, on, team, access)
      : this.directory.grant(this.owner, on, team, access);
  }
}

/** A custom grant on a project, with these permissions on its workspaces. */
export const custom = (workspaceAccess: Json) => ({ access: 'custom', 'workspace-access': workspaceAccess });
