/** Workspaces and grants on them, made straight in the store. */

import { type Sql, sql } from '../../src/store/sql.ts';
import type { TestServer } from './server.ts';

const long = '2026-01-01T00:00:00.000Z';

const write = ({ store }: TestServer, statement: Sql): Promise<number> => store.write(tx => tx.run(statement));

/** Its id is its name with the prefix of one, so that two worlds have the same. */
export const addWorkspace = async (server: TestServer, project: string, name: string): Promise<string> => {
  const id = `ws-${name}`;
  await write(
    server,
    sql`
      insert into workspaces (id, organization_id, project_id, name, settings, created_at, updated_at)
      select ${id}, organization_id, id, ${name}, '{}', ${long}, ${long}
      from projects
      where id = ${project}`,
  );
  return id;
};

export const removeWorkspace = (server: TestServer, id: string): Promise<number> =>
  write(server, sql`delete from workspaces where id = ${id}`);

export const grantWorkspace = async (
  server: TestServer,
  workspace: string,
  team: string,
  access: 'read' | 'plan' | 'write' | 'admin',
): Promise<string> => {
  const id = `tws-${workspace}-${team}`;
  await write(
    server,
    sql`
      insert into team_workspaces (id, organization_id, workspace_id, team_id, access, created_at)
      select ${id}, organization_id, ${workspace}, id, ${access}, ${long}
      from teams
      where id = ${team}`,
  );
  return id;
};

export const projectOf = async ({ store }: TestServer, workspace: string): Promise<string | undefined> => {
  const row = await store.read(tx => tx.row<[string]>(sql`select project_id from workspaces where id = ${workspace}`));
  return row?.[0];
};
