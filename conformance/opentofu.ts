/** OpenTofu with one version of the provider, over our own configurations. */

import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Level, levels, type ProjectPermissions } from './levels.ts';
import { run } from './processes.ts';
import type { Server } from './server.ts';

/** One step of one resource or data source. */
export type StepRow = {
  readonly provider: string;
  readonly kind: 'resource' | 'data' | 'level';
  /** The type of the resource, or the name of the level. */
  readonly name: string;
  readonly step: string;
  readonly ok: boolean;
  readonly detail: string;
};

type Resource = {
  readonly address: string;
  readonly mode: 'managed' | 'data';
  readonly type: string;
  readonly values: { readonly [name: string]: unknown };
};

type Message = {
  readonly type: string;
  readonly change?: {
    readonly resource: { readonly addr: string; readonly resource_type: string };
    readonly action: string;
  };
  readonly hook?: { readonly resource: { readonly addr: string; readonly resource_type: string } };
  readonly changes?: {
    readonly add: number;
    readonly change: number;
    readonly remove: number;
    readonly import?: number;
  };
  readonly diagnostic?: {
    readonly severity: string;
    readonly summary: string;
    readonly detail?: string;
    readonly address?: string;
  };
};

/** What OpenTofu takes "hashicorp/tfe" for. */
const source = 'registry.opentofu.org/hashicorp/tfe';
const configurations = join(import.meta.dirname, 'opentofu');
const changing = { project: 'tfe_team_project_access.changing', workspace: 'tfe_team_access.changing' };

const platform = (): string => {
  const system = { win32: 'windows' }[process.platform as string] ?? process.platform;
  const processor = { x64: 'amd64', ia32: '386' }[process.arch as string] ?? process.arch;
  return `${system}_${processor}`;
};

type Built = { readonly version: string; readonly binary: string };

/** Settings by which OpenTofu takes the provider from a mirror in the folder, and from nowhere else. */
export const environmentFor = (provider: Built, server: Server, folder: string): NodeJS.ProcessEnv => {
  const mirror = join(folder, 'mirror');
  const place = join(mirror, source, provider.version, platform());
  mkdirSync(place, { recursive: true });
  symlinkSync(provider.binary, join(place, `terraform-provider-tfe_v${provider.version}`));
  const cliConfiguration = join(folder, 'cli.tfrc');
  writeFileSync(
    cliConfiguration,
    `disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(mirror)}\n  }\n}\n`,
  );
  return {
    TF_CLI_CONFIG_FILE: cliConfiguration,
    TF_IN_AUTOMATION: '1',
    CHECKPOINT_DISABLE: '1',
    TFE_HOSTNAME: server.host,
    TFE_TOKEN: server.token,
    TFE_ORGANIZATION: undefined,
    TF_LOG: undefined,
    SSL_CERT_FILE: server.certificate,
    // Go reads that file on neither of these.
    TFE_SSL_SKIP_VERIFY: ['darwin', 'win32'].includes(process.platform) ? 'true' : undefined,
  };
};

export const useOpenTofu = async (
  tofu: string,
  provider: Built,
  server: Server,
  folder: string,
  say: (text: string) => void,
): Promise<StepRow[]> => {
  const { version } = provider;
  const rows: StepRow[] = [];
  const note = (kind: StepRow['kind'], name: string, step: string, fault = ''): void => {
    rows.push({ provider: version, kind, name, step, ok: fault === '', detail: fault });
  };

  const env = environmentFor(provider, server, folder);

  const call = async (cwd: string, args: readonly string[]) => {
    const outcome = await run(tofu, args, { cwd, env, limit: 3 * 60_000 });
    const messages: Message[] = outcome.stdout
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line));
    const faults = messages
      .filter(({ diagnostic }) => diagnostic?.severity === 'error')
      .map(({ diagnostic }) => ({
        address: diagnostic?.address,
        text: [diagnostic?.summary, diagnostic?.detail].filter(Boolean).join(': ').replace(/\s+/g, ' '),
      }));
    if (outcome.code !== 0 && faults.length === 0 && messages.length === 0)
      faults.push({ address: undefined, text: outcome.stderr.trim().replace(/\s+/g, ' ') });
    return { ...outcome, messages, faults };
  };

  /** A folder with a configuration, ready for use. */
  const prepare = async (name: string, configuration: string): Promise<string> => {
    const target = join(folder, name);
    cpSync(join(configurations, configuration), target, { recursive: true });
    const { code, stderr, stdout } = await run(tofu, ['init', '-input=false', '-no-color'], { cwd: target, env });
    if (code !== 0) throw new Error(`tofu init: ${stderr || stdout}`);
    return target;
  };

  const give = (target: string, variables: object): void =>
    writeFileSync(join(target, 'terraform.tfvars.json'), JSON.stringify(variables, undefined, 2));

  const resourcesIn = async (target: string): Promise<Resource[]> => {
    const { stdout } = await run(tofu, ['show', '-json'], { cwd: target, env });
    return JSON.parse(stdout || '{}').values?.root_module?.resources ?? [];
  };

  /** Applies, and tells for each resource that was to be changed how that went. */
  const apply = async (target: string, step: string, destroy = false): Promise<boolean> => {
    say(step);
    const verb = destroy ? ['destroy'] : ['apply'];
    const { code, messages, faults } = await call(target, [...verb, '-auto-approve', '-input=false', '-json']);
    const done = new Set(
      messages.filter(({ type }) => type === 'apply_complete').map(({ hook }) => hook?.resource.addr ?? ''),
    );
    for (const { type, change } of messages) {
      if (type !== 'planned_change' || !change || change.action === 'read') continue;
      const { addr, resource_type } = change.resource;
      const fault = faults.find(({ address }) => address === addr)?.text ?? 'it was not reached';
      note('resource', resource_type, step, done.has(addr) || change.action === 'import' ? '' : `${addr}: ${fault}`);
    }
    const strays = faults.filter(({ address }) => address === undefined);
    if (strays.length > 0 || (code !== 0 && faults.length === 0))
      note('resource', 'tofu', step, strays.map(({ text }) => text).join('; ') || `it ended with code ${code}`);
    return code === 0;
  };

  /** Plans, and wants nothing to change. */
  const planNothing = async (target: string, step: string): Promise<boolean> => {
    const plan = join(target, 'plan');
    const { code, messages, faults } = await call(target, [
      'plan',
      '-input=false',
      '-json',
      '-detailed-exitcode',
      `-out=${plan}`,
    ]);
    if (code === 1) {
      for (const { address, text } of faults) note('resource', address?.split('.')[0] ?? 'tofu', step, text);
      return false;
    }
    if (code === 0) {
      for (const { type, hook } of messages)
        if (type === 'refresh_complete' && hook) note('resource', hook.resource.resource_type, step);
      return true;
    }
    const { stdout } = await run(tofu, ['show', '-json', plan], { cwd: target, env });
    const { resource_changes = [] } = JSON.parse(stdout);
    for (const { address, type, mode, change } of resource_changes) {
      if (mode !== 'managed') continue;
      note('resource', type, step, isNothing(change) ? '' : `${address}: ${differences(change)}`);
    }
    return false;
  };

  const compareLevel = async (
    target: string,
    { name, project, projectWorkspaces, workspace }: Level,
  ): Promise<void> => {
    const resources = await resourcesIn(target);
    const faults: string[] = [];
    for (const [address, block, wanted] of [
      [changing.project, 'project_access', project],
      [changing.project, 'workspace_access', projectWorkspaces],
      [changing.workspace, 'permissions', workspace],
    ] as const) {
      const values = resources.find(resource => resource.address === address)?.values[block];
      const got = (Array.isArray(values) ? values[0] : undefined) as ProjectPermissions | undefined;
      for (const [key, value] of Object.entries(wanted))
        if (got?.[key] !== value)
          faults.push(`${address} ${block}.${key} is ${JSON.stringify(got?.[key])}, not ${JSON.stringify(value)}`);
    }
    note('level', name, 'values', faults.join('; '));
  };

  const organization = `conformance-${version.replaceAll('.', '-')}`;
  const user = { username: organization, email: `${organization}@example.com` };
  const made = await server.ask('POST', '/api/v2/admin/users', { data: { type: 'users', attributes: user } });
  if (made.status !== 201) throw new Error(`POST /api/v2/admin/users answered ${made.status}: ${made.body}`);
  const fixedVariables = { organization, ...user, invited_email: `invited-${user.email}` };

  const main = await prepare('resources', 'resources');
  let variables = { ...fixedVariables, ...levels[0]?.variables };
  give(main, variables);
  await apply(main, 'create');
  await planNothing(main, 'plan after create');

  for (const [index, level] of levels.entries()) {
    variables = { ...fixedVariables, ...level.variables };
    give(main, variables);
    const before = rows.length;
    if (index > 0) {
      await apply(main, `change to ${level.name}`);
      await planNothing(main, `plan after ${level.name}`);
    }
    // The table of levels has one row for each of these, about the grants alone.
    const own = rows
      .splice(before)
      .filter(row => !row.ok && /^(tofu|tfe_team_project_access|tfe_team_access)$/.test(row.name));
    const name = index === levels.length - 1 ? `${level.name}, again` : level.name;
    note('level', name, 'apply', details(own.filter(row => row.step.startsWith('change'))));
    note('level', name, 'no changes', details(own.filter(row => row.step.startsWith('plan'))));
    await compareLevel(main, { ...level, name });
  }

  variables = { ...variables, revised: true } as typeof variables;
  give(main, variables);
  await apply(main, 'update');
  await planNothing(main, 'plan after update');

  const resources = (await resourcesIn(main)).filter(({ mode }) => mode === 'managed');
  const imported = await prepare('imported', 'resources');
  give(imported, variables);
  writeFileSync(
    join(imported, 'imports.tf'),
    resources
      .map(
        resource =>
          `import {\n  to = ${resource.address}\n  id = ${JSON.stringify(importId(resource, resources))}\n}\n`,
      )
      .join('\n'),
  );
  say('import');
  const outcome = await call(imported, ['apply', '-auto-approve', '-input=false', '-json']);
  const took = new Set((await resourcesIn(imported)).map(({ address }) => address));
  const altered = new Map(
    outcome.messages.flatMap(({ type, change }) =>
      type === 'planned_change' && change && !['import', 'no-op', 'read'].includes(change.action)
        ? [[change.resource.addr, change.action] as const]
        : [],
    ),
  );
  for (const { address, type } of resources) {
    const fault = outcome.faults.find(fault => fault.address === address)?.text;
    const action = altered.get(address);
    note(
      'resource',
      type,
      'import',
      took.has(address) && !fault && !action ? '' : `${address}: ${fault ?? action ?? 'not imported'}`,
    );
  }
  for (const { address, text } of outcome.faults) if (!address) note('resource', 'tofu', 'import', text);
  await planNothing(imported, 'plan after import');

  say('data sources');
  const data = await prepare('data-sources', 'data-sources');
  give(data, dataVariables(organization, resources));
  const read = await call(data, ['apply', '-auto-approve', '-input=false', '-json']);
  const found = (await resourcesIn(data)).filter(({ mode }) => mode === 'data');
  for (const { type } of found) note('data', type, 'read');
  for (const { address, text } of read.faults)
    note('data', address?.replace(/^data\./, '').split('.')[0] ?? 'tofu', 'read', `${address ?? ''}: ${text}`);
  if (read.code !== 0 && read.faults.length === 0) note('data', 'tofu', 'read', `it ended with code ${read.code}`);

  await apply(main, 'destroy', true);
  say('gone');
  for (const resource of resources) {
    const path = pathOf(resource);
    if (!path) continue;
    const { status } = await server.ask('GET', path);
    note('resource', resource.type, 'gone', status === 404 ? '' : `GET ${path} answered ${status}`);
  }
  return rows;
};

const details = (rows: readonly StepRow[]): string => rows.map(({ detail }) => detail).join('; ');

type Change = { actions: string[]; before: unknown; after: unknown; after_unknown: unknown; importing?: unknown };

const isNothing = ({ actions }: Change): boolean => actions.every(action => action === 'no-op' || action === 'read');

/** Which attributes a plan would change, and from what to what. */
const differences = ({ actions, before, after, after_unknown }: Change): string => {
  const attributes = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const at = (value: unknown, name: string) => JSON.stringify((value as Record<string, unknown> | null)?.[name]);
  const changed = [...attributes]
    .filter(name => at(before, name) !== at(after, name) && at(after_unknown, name) !== 'true')
    .map(name => `${name} ${at(before, name)} → ${at(after, name)}`);
  return `${actions.join(' and ')}${actions.includes('update') ? `: ${changed.join(', ')}` : ''}`;
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The id by which a resource is imported; where there is more than one form, each is used by some. */
const importId = ({ address, type, values }: Resource, all: readonly Resource[]): string => {
  const id = text(values.id);
  const organization = text(all.find(other => other.type === 'tfe_organization')?.values.name);
  const nameOf = (other: unknown) => text(all.find(({ values }) => values.id === other)?.values.name);
  switch (type) {
    case 'tfe_organization_membership':
      return address.endsWith('.invited') ? `${organization}/${values.email}` : id;
    case 'tfe_organization_token':
    case 'tfe_audit_trail_token':
      return organization;
    case 'tfe_team':
      return `${organization}/${address.includes('.level') ? id : values.name}`;
    case 'tfe_team_token':
      return values.description ? id : text(values.team_id);
    case 'tfe_workspace':
      return address.endsWith('.plain') ? `${organization}/${values.name}` : id;
    case 'tfe_team_access':
      return `${organization}/${nameOf(values.workspace_id)}/${id}`;
    default:
      return id;
  }
};

/** Where the API shows a resource, if it has a path of its own. */
const pathOf = ({ type, values }: Resource): string | undefined => {
  const collection = {
    tfe_organization: 'organizations',
    tfe_organization_membership: 'organization-memberships',
    tfe_team: 'teams',
    tfe_project: 'projects',
    tfe_workspace: 'workspaces',
    tfe_team_access: 'team-workspaces',
    tfe_team_project_access: 'team-projects',
  }[type];
  return collection && `/api/v2/${collection}/${values.id}`;
};

const dataVariables = (organization: string, resources: readonly Resource[]): object => {
  const at = (address: string) => resources.find(resource => resource.address === address)?.values ?? {};
  const pick = (values: Resource['values'], ...names: string[]) =>
    Object.fromEntries(names.map(name => [name, values[name]]));
  const all = (type: string) => resources.filter(resource => resource.type === type).map(({ values }) => values);
  const grants = (type: string) =>
    Object.fromEntries(all(type).map(values => [values.team_id, pick(values, 'id', 'access')]));
  return {
    organization,
    default_project_id: at('tfe_organization.this').default_project_id,
    project: pick(at('tfe_project.this'), 'id', 'name', 'description', 'tags'),
    workspace: pick(at('tfe_workspace.full'), 'id', 'name', 'tags'),
    plain_workspace: pick(at('tfe_workspace.plain'), 'id', 'name'),
    active: pick(at('tfe_organization_membership.active'), 'id', 'user_id', 'username', 'email'),
    invited: pick(at('tfe_organization_membership.invited'), 'id', 'email'),
    teams: Object.fromEntries(all('tfe_team').map(({ name, id }) => [name, id])),
    project_grants: grants('tfe_team_project_access'),
    workspace_grants: grants('tfe_team_access'),
  };
};
