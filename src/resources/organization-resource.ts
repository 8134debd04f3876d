/** An organization as it is shown and stored. */

import { mayReadProject, type Standing } from '../core/authority.ts';
import { found, nameTaken } from '../core/fault.ts';
import { sql } from '../store/sql.ts';
import { onDefaultProjects, standing } from '../store/standing.ts';
import type { Tx } from '../store/store.ts';
import { identifier, pathOf, type Relationship, type Resource, toOne } from '../wire/document.ts';
import {
  count,
  flag,
  linked,
  optional,
  orNull,
  related,
  relatedOrNone,
  resource,
  ruled,
  text,
  time,
} from '../wire/schemas.ts';
import { permissionsOnOrganization } from './organization-permissions.ts';
import { inForce, type Settings, settable, settings } from './organization-settings.ts';
import type { Request } from './request.ts';

// Shape

export const organizationNameForm = '^[A-Za-z0-9_-]{1,64}$';

export const organizationName = ruled(
  organizationNameForm,
  'Name may only contain letters, digits, hyphens and underscores, with 1 to 64 characters',
);

export const settableOfOrganization = { 'user-tokens-enabled': optional(flag), ...settable };

export const OrganizationResource = resource(
  'organizations',
  {
    name: text,
    email: text,
    'external-id': text,
    'created-at': time,
    'trial-expires-at': orNull(time),
    'is-unified': flag,
    'saml-enabled': flag,
    'two-factor-conformant': flag,
    'remaining-testable-count': count,
    'user-tokens-enabled': flag,
    ...settings,
    permissions: permissionsOnOrganization.schema,
  },
  {
    'default-project': relatedOrNone('projects'),
    'default-agent-pool': relatedOrNone('agent-pools'),
    'primary-hyok-configuration': relatedOrNone('hyok-configurations'),
    'data-retention-policy': relatedOrNone('data-retention-policies'),
    'entitlement-set': related('entitlement-sets'),
    'oauth-tokens': linked,
    'authentication-token': linked,
    subscription: linked,
  },
);

export type Organization = {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly createdAt: string;
  readonly userTokens: boolean;
  readonly settings: Settings;
};

const none: Relationship = { data: null };

/**
 * Clients know an organization by its name; the id behind it outlives a change of name.
 * The standing is one on the default project, which is named to those who may read it.
 */
export const shown = (
  { id, name, email, createdAt, userTokens, settings }: Organization,
  standing: Standing,
): Resource => {
  const linkTo = (what: string) => ({ links: { related: pathOf('organizations', `${name}/${what}`) } });
  return {
    id: name,
    type: 'organizations',
    attributes: {
      name,
      email,
      'external-id': id,
      'created-at': createdAt,
      'trial-expires-at': null,
      'is-unified': false,
      'saml-enabled': false,
      'two-factor-conformant': false,
      'remaining-testable-count': 5,
      'user-tokens-enabled': userTokens,
      ...inForce(settings),
      permissions: permissionsOnOrganization.of(standing),
    },
    relationships: {
      'default-project': mayReadProject(standing) ? toOne('projects', standing.project ?? '') : none,
      'default-agent-pool': none,
      'primary-hyok-configuration': none,
      'data-retention-policy': none,
      'entitlement-set': { data: identifier('entitlement-sets', id), ...linkTo('entitlement-set') },
      'oauth-tokens': linkTo('oauth-tokens'),
      'authentication-token': linkTo('authentication-token'),
      subscription: linkTo('subscription'),
    },
    links: { self: pathOf('organizations', name) },
  };
};

// Storage

export type Columns = [
  id: string,
  name: string,
  email: string,
  createdAt: string,
  userTokens: number,
  settings: string,
];

export const selected = sql`
  select organizations.id, organizations.name, organizations.email, organizations.created_at,
    organizations.user_tokens_enabled, organizations.settings
  from organizations`;

export const fromRow = ([id, name, email, createdAt, userTokens, settings]: Columns): Organization => ({
  id,
  name,
  email,
  createdAt,
  userTokens: userTokens === 1,
  settings: JSON.parse(settings),
});

export const load = async (tx: Tx, id: string): Promise<Organization | undefined> => {
  const row = await tx.row<Columns>(sql`${selected} where organizations.id = ${id}`);
  return row && fromRow(row);
};

export const addOrganization = async (
  tx: Tx,
  { id, name, email, createdAt, userTokens, settings }: Organization,
): Promise<void> => {
  const added = await tx.run(sql`
    insert into organizations (id, name, email, created_at, user_tokens_enabled, settings)
    values (${id}, ${name}, ${email}, ${createdAt}, ${userTokens ? 1 : 0}, ${JSON.stringify(settings)})
    on conflict (lower(name)) do nothing`);
  if (added === 0) throw nameTaken();
};

export const save = async (tx: Tx, { id, name, email, userTokens, settings }: Organization): Promise<void> => {
  const saved = await tx.run(sql`
    update organizations
    set name = ${name}, email = ${email}, user_tokens_enabled = ${userTokens ? 1 : 0},
      settings = ${JSON.stringify(settings)}
    where id = ${id} and not exists (
      select 1
      from organizations as other
      where lower(other.name) = lower(cast(${name} as ctext)) and other.id <> ${id}
    )`);
  if (saved === 0) throw nameTaken();
};

/** For documents that include an organization that the caller belongs to. */
export const organizationShown = async (
  { tx, caller }: Pick<Request, 'tx' | 'caller'>,
  id: string,
): Promise<Resource> => {
  const stand = found(await standing(tx, caller, onDefaultProjects(sql`organizations.id = ${id}`)));
  return shown(found(await load(tx, id)), stand);
};

/** Clients know an organization by its name. */
export const nameOf = async (tx: Tx, organization: string): Promise<string> => {
  const row = await tx.row<[name: string]>(sql`select name from organizations where id = ${organization}`);
  return found(row)[0];
};
