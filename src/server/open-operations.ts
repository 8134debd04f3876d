/** What is answered without a token: whether the server lives, whether it is ready, what it serves and where. */

import { configurationOf, PdpConfiguration } from '../resources/authzen/discovery.ts';
import type { Operation, Since } from '../resources/operation.ts';
import { exactly, oneOf, open, optional, type TSchema, text } from '../wire/schemas.ts';
import { metricsMediaType } from './metrics.ts';
import { openapi } from './openapi.ts';
import type { Readiness } from './readiness.ts';

export type OpenOperation = {
  readonly authentication: 'none';
  readonly method: 'GET';
  readonly path: string;
  readonly family: string;
  readonly summary: string;
  readonly since: Since;
  /** By status; null where there is no body. */
  readonly answers: Readonly<Record<number, TSchema | null>>;
  /** Where the address may be wrong, or nothing be found under it. */
  readonly failures?: readonly (400 | 404)[];
  /** The media type of its answers, where they are text as it is and not JSON. */
  readonly media?: string;
  /** What its answers carry beside what every answer does. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly run: (
    params: Readonly<Record<string, string>>,
  ) => Promise<{ readonly status: number; readonly body?: unknown }>;
};

/** What the Go client reads when it is made, and the provider when it asks what a server can do. */
const pingHeaders = {
  'tfp-api-version': '2.6',
  // Monthly releases are named so; this is the month of the last change in the interface's dated list.
  'x-tfe-version': 'v202410-1',
  // Any name but the hosted service's makes the clients treat the server as a self-hosted one.
  'tfp-appname': 'Terraform Enterprise',
};

/** What Terraform's own tools look up to find the API of a host. */
const services = { 'tfe.v2': '/api/v2/', 'tfe.v2.1': '/api/v2/', 'tfe.v2.2': '/api/v2/' };

const common = { authentication: 'none', method: 'GET', family: 'server', since: 'not of the interface' } as const;

export const openOperations = (
  operations: readonly Operation[],
  server: {
    readonly readiness: Readiness;
    readonly version: string;
    readonly publicUrl: () => string;
    readonly metrics: () => Promise<string>;
  },
): OpenOperation[] => {
  let document: unknown;
  const served: OpenOperation[] = [
    {
      ...common,
      path: '/healthz',
      summary: 'Whether the process lives',
      answers: { 200: exactly({ status: oneOf('ok') }) },
      run: async () => ({ status: 200, body: { status: 'ok' } }),
    },
    {
      ...common,
      path: '/readyz',
      summary:
        'Whether requests are served: the database answers, its schema is new enough, and the server is not shutting down',
      answers: {
        200: exactly({ status: oneOf('ready'), database: text, schema: text }),
        503: exactly({ status: oneOf('not ready'), reason: text, database: optional(text), schema: optional(text) }),
      },
      run: () => server.readiness.now(),
    },
    {
      ...common,
      path: '/metrics',
      summary: 'What the server counts of itself, for Prometheus; nothing of it is about what is stored',
      media: metricsMediaType,
      answers: { 200: text },
      run: async () => ({ status: 200, body: await server.metrics() }),
    },
    {
      ...common,
      since: 'before the dated list',
      path: '/api/v2/ping',
      summary: 'Which version of the interface is served; what the Go client asks first',
      answers: { 204: null },
      headers: pingHeaders,
      run: async () => ({ status: 204 }),
    },
    {
      ...common,
      since: 'before the dated list',
      path: '/.well-known/terraform.json',
      summary: 'Where the API is, for the service discovery of Terraform and OpenTofu',
      answers: { 200: exactly(Object.fromEntries(Object.keys(services).map(name => [name, text]))) },
      run: async () => ({ status: 200, body: services }),
    },
    {
      ...common,
      family: 'authzen',
      path: '/.well-known/authzen-configuration/organizations/:organization',
      summary:
        'Where an organization answers by the AuthZEN Authorization API; served over plain HTTP, its identifier is not https as it should be',
      answers: { 200: PdpConfiguration },
      failures: [400, 404],
      run: async ({ organization = '' }) => ({ status: 200, body: configurationOf(server.publicUrl(), organization) }),
    },
    {
      ...common,
      path: '/openapi.json',
      summary: 'The OpenAPI document of this server',
      answers: { 200: open({ openapi: text }) },
      run: async () => {
        document ??= openapi([...operations, ...served], server.version, server.publicUrl());
        return { status: 200, body: document };
      },
    },
  ];
  return served;
};
