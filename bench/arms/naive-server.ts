/**
 * What a competent developer writes in an afternoon: the same tables and answers, one plain statement for each thing, the
 * token looked up, and neither authorization nor audit. Neither tuned nor crippled.
 */

import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import Fastify from 'fastify';
import pg from 'pg';
import {
  type Grant,
  impliedBy,
  type Level,
  levels,
  type Permission,
  permissions,
  valueIn,
  type WorkspaceLevel,
} from '../../src/core/access.ts';
import { permits, type TeamFacts } from '../../src/core/authority.ts';
import { grantOf } from '../../src/store/standing.ts';
import { isSameHash, kept } from '../../src/store/token.ts';

type Row = Record<string, string | number | null>;
type Query = (text: string, ...values: (string | number | null)[]) => Promise<Row[]>;

const onSqlite = (path: string): Query => {
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
  const prepared = new Map<string, StatementSync>();
  return async (text, ...values) => {
    const statement = prepared.get(text) ?? database.prepare(text.replaceAll(/\$\d+/g, '?'));
    prepared.set(text, statement);
    return statement.all(...values) as Row[];
  };
};

const onPostgres = (url: string): Query => {
  const pool = new pg.Pool({ connectionString: url });
  return async (text, ...values) => (await pool.query(text, values)).rows;
};

const attributesOf = (access: string, set: number) => {
  const groups: Record<Permission['group'], Record<string, unknown>> = { 'project-access': {}, 'workspace-access': {} };
  for (const permission of permissions)
    if (!permission.later) groups[permission.group][permission.key] = valueIn(set, permission);
  return { access, ...groups };
};
const attributesOfLevel = new Map(levels.map(level => [level as string, attributesOf(level, impliedBy(level))]));

const related = (type: string, id: unknown) => ({ data: { id, type }, links: { related: `/api/v2/${type}/${id}` } });

const teamProject = (row: Row) => ({
  id: row.id,
  type: 'team-projects',
  attributes: attributesOfLevel.get(`${row.access}`) ?? attributesOf('custom', Number(row.chosen)),
  relationships: { team: related('teams', row.team_id), project: related('projects', row.project_id) },
  links: { self: `/api/v2/team-projects/${row.id}` },
});

const project = (
  row: Row,
  organization: string,
  counts: { readonly workspaces: unknown; readonly teams: unknown },
) => ({
  id: row.id,
  type: 'projects',
  attributes: {
    name: row.name,
    description: row.description,
    'created-at': row.created_at,
    'is-unified': false,
    'workspace-count': counts.workspaces,
    'team-count': counts.teams,
    permissions: { 'can-read': true, 'can-update': true, 'can-destroy': true, 'can-create-workspace': true },
  },
  relationships: { organization: related('organizations', organization) },
  links: { self: `/api/v2/projects/${row.id}` },
});

type Paging = { readonly 'page[number]'?: string; readonly 'page[size]'?: string };
const pageOf = (query: Paging) => {
  const number = Number(query['page[number]'] ?? 1);
  const size = Math.min(Number(query['page[size]'] ?? 20), 100);
  return { number, size, offset: (number - 1) * size };
};

const listed = (data: unknown[], path: string, total: number, { number, size }: { number: number; size: number }) => {
  const last = Math.max(1, Math.ceil(total / size));
  const link = (page: number) => `http://localhost${path}?page[number]=${page}&page[size]=${size}`;
  const [previous, next] = [number > 1 ? number - 1 : null, number < last ? number + 1 : null];
  return {
    data,
    links: {
      self: link(number),
      first: link(1),
      prev: previous && link(previous),
      next: next && link(next),
      last: link(last),
    },
    meta: {
      pagination: {
        'current-page': number,
        'page-size': size,
        'prev-page': previous,
        'next-page': next,
        'total-pages': last,
        'total-count': total,
      },
    },
  };
};

class Refusal extends Error {
  readonly statusCode: number;
  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

const one = (rows: Row[]): Row => {
  if (!rows[0]) throw new Refusal(404, 'not found');
  return rows[0];
};

type Evaluation = {
  readonly subject: { readonly id: string };
  readonly action: { readonly name: string };
  readonly resource: { readonly type: 'project' | 'workspace'; readonly id: string };
};

const grantIn = <L extends Level | WorkspaceLevel>(row: Row | undefined): Grant<L> | undefined =>
  row && grantOf<L>(row.access as L, row.chosen as number | null, row.beyond as number | null);

const decide = async (query: Query, { subject, action, resource }: Evaluation): Promise<boolean> => {
  const isWorkspace = resource.type === 'workspace';
  const workspace = isWorkspace ? one(await query('select * from workspaces where id = $1', resource.id)) : undefined;
  const place = one(await query('select * from projects where id = $1', workspace?.project_id ?? resource.id));
  const teams = await query(
    `select teams.* from teams
     join team_memberships on team_memberships.team_id = teams.id
     join organization_memberships on organization_memberships.id = team_memberships.membership_id
     where organization_memberships.user_id = $1 and teams.organization_id = $2
     order by teams.id`,
    subject.id,
    place.organization_id as string,
  );
  const facts: TeamFacts[] = [];
  for (const team of teams) {
    const [grant] = await query(
      'select * from team_projects where team_id = $1 and project_id = $2',
      ...[team.id as string, place.id as string],
    );
    const [onWorkspace] = workspace
      ? await query(
          'select * from team_workspaces where team_id = $1 and workspace_id = $2',
          ...[team.id as string, workspace.id as string],
        )
      : [];
    facts.push({
      id: `${team.id}`,
      owners: team.name === 'owners',
      organizationAccess: Number(team.organization_access),
      grant: grantIn(grant),
      workspaceGrant: grantIn(onWorkspace),
    });
  }
  const standing = {
    organization: `${place.organization_id}`,
    project: `${place.id}`,
    onDefaultProject: place.is_default === 1,
    workspace: workspace ? `${workspace.id}` : null,
    member: true,
    organizationToken: false,
    teams: facts,
  };
  return permits(standing, resource.type, action.name);
};

const serve = async (url: string): Promise<number> => {
  const query = url.startsWith('postgres') ? onPostgres(url) : onSqlite(url.replace(/^sqlite:/, ''));
  const key = `${one(await query("select value from server_keys where name = 'token'")).value}`;
  const app = Fastify({ keepAliveTimeout: 120_000 });
  app.addContentTypeParser(
    'application/vnd.api+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  );
  app.addHook('onRequest', async (request, reply) => {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const [stored] = await query(
      'select * from authentication_tokens where lookup = $1',
      kept(key, token)?.lookup ?? '',
    );
    const isKnown = stored && isSameHash(`${stored.hash}`, kept(key, token, stored.slot as string | null)?.hash ?? '');
    if (!isKnown) throw new Refusal(401, 'unauthorized');
    reply.type(request.url.startsWith('/api/') ? 'application/vnd.api+json' : 'application/json');
  });
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    reply.code(status).send({ errors: [{ status: `${status}`, title: error.message }] });
  });

  type ById = { Params: { id: string } };
  type Body = {
    data: { attributes: { access: string }; relationships: Record<'team' | 'project', { data: { id: string } }> };
  };

  app.get<ById>('/api/v2/team-projects/:id', async ({ params }) => ({
    data: teamProject(one(await query('select * from team_projects where id = $1', params.id))),
  }));

  app.get<{ Querystring: Paging & { 'filter[project][id]': string; 'filter[team][id]'?: string } }>(
    '/api/v2/team-projects',
    async request => {
      const page = pageOf(request.query);
      const { 'filter[project][id]': inProject, 'filter[team][id]': ofTeam } = request.query;
      const narrowed = ofTeam === undefined ? '' : 'and team_id = $2';
      const values = ofTeam === undefined ? [inProject] : [inProject, ofTeam];
      const where = `from team_projects where project_id = $1 ${narrowed}`;
      const { count } = one(await query(`select count(*) as count ${where}`, ...values));
      const rows = await query(
        `select * ${where} order by created_at, id limit ${page.size} offset ${page.offset}`,
        ...values,
      );
      return listed(rows.map(teamProject), '/api/v2/team-projects', Number(count), page);
    },
  );

  app.post<{ Body: Body }>('/api/v2/team-projects', async (request, reply) => {
    const { attributes, relationships } = request.body.data;
    const team = one(await query('select * from teams where id = $1', relationships.team.data.id));
    const place = one(await query('select * from projects where id = $1', relationships.project.data.id));
    if (team.organization_id !== place.organization_id) throw new Refusal(404, 'not found');
    const id = `tprj-${randomBytes(8).toString('hex')}`;
    const [row] = await query(
      `insert into team_projects (id, organization_id, project_id, team_id, access, created_at)
       values ($1, $2, $3, $4, $5, $6) returning *`,
      ...[id, team.organization_id as string, place.id as string, team.id as string, attributes.access],
      new Date().toISOString(),
    );
    reply.code(201);
    return { data: teamProject(row as Row) };
  });

  app.patch<ById & { Body: Body }>('/api/v2/team-projects/:id', async ({ params, body }) => {
    const text = 'update team_projects set access = $1, chosen = null, beyond = null where id = $2 returning *';
    return { data: teamProject(one(await query(text, body.data.attributes.access, params.id))) };
  });

  app.delete<ById>('/api/v2/team-projects/:id', async ({ params }, reply) => {
    one(await query('delete from team_projects where id = $1 returning id', params.id));
    return reply.code(204).send();
  });

  app.get<{ Params: { name: string }; Querystring: Paging }>(
    '/api/v2/organizations/:name/projects',
    async ({ params, query: asked }) => {
      const page = pageOf(asked);
      const { id } = one(await query('select id from organizations where lower(name) = lower($1)', params.name));
      const { count } = one(
        await query('select count(*) as count from projects where organization_id = $1', id as string),
      );
      const rows = await query(
        `select * from projects where organization_id = $1 order by created_at, id limit ${page.size} offset ${page.offset}`,
        id as string,
      );
      const data = [];
      for (const row of rows) {
        const [inProject] = await query('select count(*) as count from workspaces where project_id = $1', `${row.id}`);
        const [ofTeams] = await query('select count(*) as count from team_projects where project_id = $1', `${row.id}`);
        data.push(project(row, params.name, { workspaces: Number(inProject?.count), teams: Number(ofTeams?.count) }));
      }
      return listed(data, `/api/v2/organizations/${params.name}/projects`, Number(count), page);
    },
  );

  app.post<{ Body: Evaluation }>('/organizations/:name/access/v1/evaluation', async ({ body }) => ({
    decision: await decide(query, body),
  }));

  app.post<{ Body: { evaluations: Evaluation[] } }>('/organizations/:name/access/v1/evaluations', async ({ body }) => {
    const evaluations = [];
    for (const evaluation of body.evaluations) evaluations.push({ decision: await decide(query, evaluation) });
    return { evaluations };
  });

  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
};

process.on('message', async ({ url }: { readonly url: string }) => process.send?.(await serve(url)));
process.on('disconnect', () => process.exit());
