/** Effective access as the server tells it, and what can be asked of it. */

import { Failure } from './fault.ts';
import type { Resource, Server, Value } from './server.ts';

export type Reason = {
  readonly scope: string;
  readonly 'team-id': string | null;
  readonly 'team-name': string | null;
  readonly 'grant-id': string | null;
  readonly 'organization-permission': string | null;
  readonly value: Value;
};

const groups = ['project-access', 'workspace-access'] as const;
type Group = (typeof groups)[number];

export type EffectiveAccess = Resource<
  { readonly [G in Group]: Readonly<Record<string, Value>> } & {
    readonly access: string;
    readonly 'subject-name': string | null;
    readonly 'project-name': string | null;
    readonly 'workspace-name'?: string;
    readonly reasons: { readonly [G in Group]: Readonly<Record<string, readonly Reason[]>> };
  }
>;

/** No access at all is a dash. */
export const shownValue = (value: Value): string =>
  value === null || value === 'none' || value === false ? '-' : `${value}`;

/** Through which team, and by what. */
export const shownReason = (reason: Reason): string => {
  const team = reason['team-name'] ?? reason['team-id'];
  const by = reason['grant-id'] ?? reason['organization-permission'];
  return `${reason.scope}: ${team === null ? by : `${team} (${by})`}`;
};

/** Those that give the value itself come first. */
export const ordered = (reasons: readonly Reason[], value: Value): Reason[] =>
  reasons.toSorted((a, b) => Number(b.value === value) - Number(a.value === value));

/** Each permission, its value and why. */
export const permissionsOf = ({ attributes }: EffectiveAccess) =>
  groups.flatMap(group =>
    Object.entries(attributes[group]).map(([key, value]) => ({
      name: `${group}.${key}`,
      value,
      reasons: ordered(attributes.reasons[group][key] ?? [], value),
    })),
  );

/** A permission at one value or higher. */
export type Need = { readonly name: string; readonly value: string; readonly filter: Readonly<Record<string, string>> };

type Described = { readonly properties: Readonly<Record<string, { readonly enum: readonly Value[] }>> };

/** The chains of all permissions, as the server itself describes them, lowest first. */
const chainsOf = async (server: Server): Promise<ReadonlyMap<string, readonly Value[]>> => {
  type Api = {
    components?: {
      schemas?: Record<string, { properties: { attributes: { properties: Record<string, Described> } } }>;
    };
  };
  const { components } = await server.get<Api>('/openapi.json');
  const described = components?.schemas?.['effective-access']?.properties.attributes.properties;
  if (!described) throw new Failure('this server does not know effective access: it is too old');
  return new Map(
    groups.flatMap(group =>
      Object.entries(described[group]?.properties ?? {}).map(
        ([key, schema]) => [`${group}.${key}`, schema.enum] as const,
      ),
    ),
  );
};

/** From `runs=apply`, `workspace-access.runs=apply` or `runs`, which means its highest value. */
export const needFrom = async (server: Server, text: string): Promise<Need> => {
  const [asked = '', ...values] = text.split('=');
  const wanted = values.length === 0 ? undefined : values.join('=');
  const chains = await chainsOf(server);
  const name = [...chains.keys()].find(each => each === asked || each.endsWith(`.${asked}`));
  const chain = chains.get(name ?? '');
  if (name === undefined || !chain)
    throw new Failure(`there is no permission '${asked}'; there are ${[...chains.keys()].join(', ')}`);
  const steps = chain.slice(1).map(String);
  const value = wanted ?? steps.at(-1) ?? '';
  if (!steps.includes(value))
    throw new Failure(`${name} has no value '${value}' to ask for; it has ${steps.join(', ')}`);
  const [group, key] = name.split('.');
  return { name, value, filter: { [`filter[${group}][${key}]`]: value } };
};

/** What an answer says of the permission in question. */
export const heldOf = (access: EffectiveAccess, { name }: Need) =>
  permissionsOf(access).find(permission => permission.name === name) ?? { name, value: null, reasons: [] };
