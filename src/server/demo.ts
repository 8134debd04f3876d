/** An organization that shows every rule, made through the API itself. */

import type { FastifyInstance } from 'fastify';
import { mediaType } from '../wire/document.ts';

type Made = { readonly data: { readonly id: string; readonly attributes: { readonly token: string } } };

const organization = 'demo';

/** Who is who: the user's team, whether it is secret, what it may do in the organization, and its grant on production. */
const cast = [
  { user: 'olivia', team: 'owners', shows: 'owner: everything, secret teams included' },
  { user: 'adam', team: 'leads', access: 'admin', shows: "level admin: changes who has access to 'production'" },
  { user: 'mona', team: 'maintainers', access: 'maintain', shows: 'level maintain: administers the workspaces' },
  { user: 'walt', team: 'developers', access: 'write', shows: 'level write: plans and applies' },
  { user: 'rita', team: 'auditors', access: 'read', shows: 'level read' },
  {
    user: 'cleo',
    team: 'planners',
    access: 'custom',
    chosen: {
      'project-access': { teams: 'read' },
      'workspace-access': { runs: 'plan', 'state-versions': 'read-outputs' },
    },
    shows: "custom: may plan but not apply, and reads the visible teams' access",
  },
  {
    user: 'sam',
    team: 'incident-response',
    secret: true,
    access: 'write',
    shows: 'in a secret team: sees its access, others do not',
  },
  {
    user: 'max',
    team: 'platform',
    access: 'read',
    organizationAccess: { 'manage-projects': true, 'manage-workspaces': true },
    shows: "grant 'read', raised to admin by manage-projects",
  },
  { user: 'nora', shows: 'plain member without a team: an empty list' },
  { user: 'otto', outsider: true, shows: 'not in the organization: 404 for everything in it' },
] as const;

type DemoRow = { readonly who: string; readonly shows: string; readonly token: string };

/** Needs an empty database and its site admin's token. */
export const fillDemo = async (app: FastifyInstance, adminToken: string) => {
  const call = async (token: string, url: string, data?: unknown): Promise<Made> => {
    const answer = await app.inject({
      method: 'POST',
      url: `/api/v2${url}`,
      headers: { authorization: `Bearer ${token}`, 'content-type': mediaType },
      ...(data !== undefined && { payload: JSON.stringify({ data }) }),
    });
    if (answer.statusCode >= 300) throw new Error(`the demo could not be made: POST ${url}: ${answer.body}`);
    return answer.statusCode === 204 ? ({} as Made) : answer.json<Made>();
  };

  const tokens = new Map<string, string>();
  for (const { user } of cast) {
    const email = `${user}@example.com`;
    const made = await call(adminToken, '/admin/users', { type: 'users', attributes: { username: user, email } });
    const token = await call(adminToken, `/users/${made.data.id}/authentication-tokens`);
    tokens.set(user, token.data.attributes.token);
  }
  const owner = tokens.get('olivia') ?? '';
  const inside = `/organizations/${organization}`;
  await call(owner, '/organizations', {
    type: 'organizations',
    attributes: { name: organization, email: 'olivia@example.com' },
  });
  const project = await call(owner, `${inside}/projects`, { type: 'projects', attributes: { name: 'production' } });

  const grants = new Map<string, string>();
  for (const member of cast) {
    if (member.user === 'olivia' || 'outsider' in member) continue;
    const email = `${member.user}@example.com`;
    await call(owner, `${inside}/organization-memberships`, {
      type: 'organization-memberships',
      attributes: { email },
    });
    if (!('team' in member)) continue;
    const team = await call(owner, `${inside}/teams`, {
      type: 'teams',
      attributes: {
        name: member.team,
        visibility: 'secret' in member ? 'secret' : 'organization',
        'organization-access': 'organizationAccess' in member ? member.organizationAccess : {},
      },
    });
    await call(owner, `/teams/${team.data.id}/relationships/users`, [{ type: 'users', id: member.user }]);
    const grant = await call(owner, '/team-projects', {
      type: 'team-projects',
      attributes: { access: member.access, ...('chosen' in member && member.chosen) },
      relationships: {
        project: { data: { type: 'projects', id: project.data.id } },
        team: { data: { type: 'teams', id: team.data.id } },
      },
    });
    grants.set(member.user, grant.data.id);
  }
  const rows: DemoRow[] = cast.map(({ user, shows }) => ({ who: user, shows, token: tokens.get(user) ?? '' }));
  return { project: project.data.id, grantOfRita: grants.get('rita') ?? '', rows };
};
