/** The OpenAPI 3.1 document, from the same operations that are served. */

import { EffectSchema, effectDocument, withEffectShown } from '../resources/effect.ts';
import type { Ask, Note, Operation, Read, Write } from '../resources/operation.ts';
import { dryRun } from '../resources/request.ts';
import { mediaType } from '../wire/document.ts';
import { inKiB, largestBody } from '../wire/limits.ts';
import { type PageSizes, sizesOf } from '../wire/paging.ts';
import { errorDocument } from '../wire/schemas.ts';
import { plainMediaType } from './answers.ts';
import type { OpenOperation } from './open-operations.ts';

export const pathIn = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

const titles: Record<number, string> = {
  200: 'Success',
  201: 'Created',
  204: 'Done; no body',
  400: 'The request cannot be read, or a parameter is wrong',
  401: 'No token, or not a valid one',
  403: 'Refused',
  404: 'Not found, or the caller may not see it or do this',
  406: 'The Accept header takes none of the forms that there are',
  409: 'The resource is not in a state that allows it',
  412: 'The resource has changed since the tag in If-Match',
  413: 'The body is too large',
  415: 'The body is not of the JSON:API media type',
  422: 'The body breaks a rule: one error object per fault',
  500: 'A fault of the server, with a request id',
  503: 'The database cannot be asked now, or the server is not ready: try again later',
};

/** What any operation may answer beside its own statuses. */
const commonFailures = ({ method, asks }: Operation): number[] => {
  if (asks) return [400, 401, 403, 413, 500, 503];
  return method === 'GET' ? [400, 401, 500, 503] : [400, 401, 413, 415, 500, 503];
};

const tooLarge = ({ largestBody: most = largestBody }: Operation): string => `The body is larger than ${inKiB(most)}`;

const failuresOf = (operation: Operation): number[] =>
  [...new Set([...operation.failures, ...commonFailures(operation)])].sort((a, b) => a - b);

const content = (schema: unknown, media = mediaType) => ({ content: { [media]: { schema } } });

/** The body of success. What is streamed has no tag, since it is not known as a whole; a decision has none, since nobody changes it. */
const successOf = (operation: Operation) => {
  if ('forms' in operation) {
    const forms = Object.entries(operation.forms).map(([media, schema]) => [media, { schema }]);
    const own = Object.entries(operation.headers ?? {}).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]);
    return { headers: { ...requestIdHeader, ...Object.fromEntries(own) }, content: Object.fromEntries(forms) };
  }
  if (!operation.answer) return { headers: requestIdHeader };
  return {
    headers: operation.asks ? requestIdHeader : { ...requestIdHeader, ...etagHeader },
    ...content(answerOf(operation), operation.plain ? plainMediaType : mediaType),
  };
};

const pageParameters = ({ largest, byDefault, unasked }: PageSizes) => [
  { name: 'page[number]', in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
  {
    name: 'page[size]',
    in: 'query',
    description: [
      `More than ${largest} counts as ${largest}`,
      ...(unasked === byDefault ? [] : [`${unasked} where page[number] is absent too`]),
    ].join('; '),
    schema: { type: 'integer', minimum: 1, default: byDefault },
  },
];

const dryRunParameter = {
  name: dryRun,
  in: 'query',
  description: 'Does nothing, and answers as if it had, without an ETag; meta.effect tells what it would do to access',
  schema: { type: 'boolean', default: false },
};

const filterParameter = (name: string, { means, words }: Note = {}) => ({
  name,
  in: 'query',
  ...(means && { description: means }),
  schema: { type: 'string', ...(words && { enum: words }) },
});

const parametersOf = ({
  audit,
  path,
  paged,
  pageSizes,
  filters = [],
  requiredFilters = [],
  notes = {},
  includes,
  sorts,
  failures,
}: Operation) => [
  ...pathParameters(path),
  ...requiredFilters.map(name => ({ name, in: 'query', required: true, schema: { type: 'string' } })),
  ...filters.map(name => filterParameter(name, notes[name])),
  ...(includes
    ? [
        {
          name: 'include',
          in: 'query',
          description: `Of ${includes.join(', ')}, separated by commas`,
          schema: { type: 'string' },
        },
      ]
    : []),
  ...(sorts
    ? [{ name: 'sort', in: 'query', schema: { type: 'string', enum: sorts.flatMap(by => [by, `-${by}`]) } }]
    : []),
  ...(paged ? pageParameters(sizesOf(pageSizes)) : []),
  ...(audit ? [dryRunParameter] : []),
  ...(failures.includes(412)
    ? [{ name: 'If-Match', in: 'header', description: 'The ETag last read', schema: { type: 'string' } }]
    : []),
];

const requestIdHeader = {
  'X-Request-Id': { description: "The client's own, or a new one", schema: { type: 'string' } },
};
const retryAfterHeader = { 'Retry-After': { description: 'In seconds', schema: { type: 'string' } } };
const etagHeader = { ETag: { description: 'For If-Match', schema: { type: 'string' } } };

/** What is wrong, in one sentence. */
const errorMessage = { type: 'string' };

const pathParameters = (path: string) =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

const failureContent = (asks: boolean | undefined) =>
  asks ? content(errorMessage, plainMediaType) : content({ $ref: '#/components/schemas/errors' });

/** A body that may be left out demands nothing. */
const isRequired = (schema: object): boolean => 'required' in schema;

const effectReference = { $ref: '#/components/schemas/effect' };

const answerOf = ({ audit, answer }: Read | Write | Ask) =>
  answer && audit ? withEffectShown(answer, effectReference) : answer;

const operationObject = (operation: Operation) => ({
  operationId: operationId(operation),
  summary: operation.summary,
  tags: [operation.family],
  'x-since': operation.since,
  ...(operation.audit && { 'x-audit': `${operation.audit.resource}.${operation.audit.action}` }),
  parameters: parametersOf(operation),
  ...(operation.body && {
    requestBody: {
      required: operation.asks === true || isRequired(operation.body),
      ...content(operation.body, operation.asks ? plainMediaType : mediaType),
    },
  }),
  responses: {
    [operation.success]: { description: titles[operation.success], ...successOf(operation) },
    ...(operation.success === 204 && {
      200: { description: 'Of a dry run', headers: requestIdHeader, ...content(effectDocument(effectReference)) },
    }),
    ...Object.fromEntries(
      failuresOf(operation).map(status => [
        status,
        {
          description: status === 413 ? tooLarge(operation) : titles[status],
          headers: status === 503 ? { ...requestIdHeader, ...retryAfterHeader } : requestIdHeader,
          ...failureContent(operation.asks),
        },
      ]),
    ),
  },
});

const fixedHeaders = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, { schema: { type: 'string', const: value } }]),
  );

const openObject = (operation: OpenOperation) => ({
  operationId: operationId(operation),
  summary: operation.summary,
  tags: [operation.family],
  'x-since': operation.since,
  security: [],
  parameters: pathParameters(operation.path),
  responses: Object.fromEntries([
    ...Object.entries(operation.answers).map(([status, schema]) => [
      status,
      {
        description: titles[Number(status)],
        headers: { ...requestIdHeader, ...fixedHeaders(operation.headers ?? {}) },
        ...(schema && content(schema, operation.media ?? plainMediaType)),
      },
    ]),
    ...(operation.failures ?? []).map(status => [
      status,
      { description: titles[status], headers: requestIdHeader, ...failureContent(false) },
    ]),
  ]),
});

const operationId = ({ method, path }: { method: string; path: string }): string =>
  `${method.toLowerCase()}-${path.replace(/^\/(api\/v2\/)?/, '').replace(/[/:]+/g, '-')}`;

type Schemas = Record<string, unknown>;

/** Resources by name, each written once; and open, since a client must bear attributes that come later. */
const published = (value: unknown, schemas: Schemas): unknown => {
  if (Array.isArray(value)) return value.map(item => published(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key, inner]) => key !== 'additionalProperties' || inner !== false);
  const whole = Object.fromEntries(entries.map(([key, inner]) => [key, published(inner, schemas)]));
  const { type, attributes } = (whole.properties ?? {}) as { type?: { const?: string }; attributes?: object };
  // Every resource of an answer has an id; one of a request need not have it.
  const isAnswer = attributes && type?.const && (whole.required as string[] | undefined)?.includes('id');
  if (!isAnswer) return whole;
  schemas[type.const as string] = whole;
  return { $ref: `#/components/schemas/${type.const}` };
};

export const openapi = (operations: readonly (Operation | OpenOperation)[], version: string, publicUrl: string) => {
  const schemas: Schemas = { errors: published(errorDocument, {}), effect: published(EffectSchema, {}) };
  const paths = Object.entries(Object.groupBy(operations, ({ path }) => pathIn(path))).map(([path, at = []]) => [
    path,
    Object.fromEntries(
      at.map(operation => [
        operation.method.toLowerCase(),
        operation.authentication === 'none' ? openObject(operation) : operationObject(operation),
      ]),
    ),
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Bailiwick',
      version,
      description: 'What each team may do on each project and on the workspaces in it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl }],
    security: [{ token: [] }],
    paths: published(Object.fromEntries(paths), schemas),
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } }, schemas },
  };
};
