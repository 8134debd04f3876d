/** OpenTelemetry traces: a span per request, per piece of work in the store and per statement; loaded only where they are wanted. */

import {
  type Attributes,
  type Context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '../core/fault.ts';
import type { Sql } from '../store/sql.ts';
import { StartFault, type Store, type Tx, Unavailable } from '../store/store.ts';
import { routeOf } from './metrics.ts';
import { Rehearsed } from './rehearsed.ts';

export type Tracing = {
  /** Begins the span of a request; it ends with the answer. */
  readonly observe: (request: FastifyRequest, reply: FastifyReply) => void;
  /** The store as this request asks it. */
  readonly storeFor: (request: FastifyRequest) => Store;
  /** Sends what is left, if that does not take long. */
  readonly end: () => Promise<void>;
};

/** In milliseconds; a collector that takes longer at the end goes without the last spans. */
const longestFlush = 1500;

/** Nobody reads more of an address, and whoever sends it chooses its length. */
const longestAttribute = 1024;

export const startTracing = ({
  store,
  version,
  publicUrl,
  environment,
  tell,
}: {
  readonly store: Store;
  readonly version: string;
  readonly publicUrl: () => string;
  /** The exporter reads its own settings from the process's. */
  readonly environment: NodeJS.ProcessEnv;
  /** Told when the collector cannot be reached, and when it can again. */
  readonly tell: (news: string) => void;
}): Tracing => {
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'bailiwick', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(environment),
    spanLimits: { attributeValueLengthLimit: longestAttribute },
    spanProcessors: [new BatchSpanProcessor({ exporter: announced(new OTLPTraceExporter(), tell) })],
  });
  const tracer = provider.getTracer('bailiwick', version);
  const system = { 'db.system.name': store.engine === 'postgres' ? 'postgresql' : store.engine };
  const contexts = new WeakMap<FastifyRequest, Context>();

  /** A span around a piece of work of the database; neither a refusal by our own rules nor a dry run is an error of its. */
  const around = async <T>(
    name: string,
    attributes: Attributes,
    parent: Context,
    work: (own: Context) => Promise<T>,
  ): Promise<T> => {
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes: { ...system, ...attributes } }, parent);
    try {
      return await work(trace.setSpan(parent, span));
    } catch (error) {
      if (!(error instanceof Fault || error instanceof Rehearsed))
        failed(span, error instanceof Unavailable ? error.reason : (error as Error).name);
      throw error;
    } finally {
      span.end();
    }
  };

  const tracedTx = (tx: Tx, parent: Context): Tx => {
    const each = <T>(statement: Sql, work: () => Promise<T>): Promise<T> => {
      const { operation, summary } = summaryOf(statement);
      return around(summary, { 'db.operation.name': operation, 'db.query.summary': summary }, parent, work);
    };
    return {
      rows: statement => each(statement, () => tx.rows(statement)),
      row: statement => each(statement, () => tx.row(statement)),
      run: statement => each(statement, () => tx.run(statement)),
      script: text => around('script', { 'db.operation.name': 'script' }, parent, () => tx.script(text)),
    };
  };

  const tracedWork =
    (kind: 'read' | 'look' | 'write', parent: Context) =>
    <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      around(kind, { 'db.operation.name': kind }, parent, own => store[kind](tx => work(tracedTx(tx, own))));

  return {
    observe: (request, reply) => {
      // Not known yet to whoever is quicker than the start.
      const url = URL.parse(publicUrl());
      const route = routeOf(request);
      const method = /^(GET|HEAD|POST|PATCH|PUT|DELETE|OPTIONS)$/.test(request.method) ? request.method : '_OTHER';
      const attributes = {
        'http.request.method': method,
        ...(route !== 'none' && { 'http.route': route }),
        'url.path': request.url.split('?')[0] ?? '',
        ...(url && { 'url.scheme': url.protocol.slice(0, -1), 'server.address': url.hostname }),
        'bailiwick.request.id': request.id,
      };
      const verb = method === '_OTHER' ? 'HTTP' : method;
      const parent = parentOf(request);
      const span = tracer.startSpan(
        route === 'none' ? verb : `${verb} ${route}`,
        { kind: SpanKind.SERVER, attributes },
        parent,
      );
      contexts.set(request, trace.setSpan(parent, span));
      reply.raw.once('close', () => {
        const { statusCode, writableEnded } = reply.raw;
        if (writableEnded) span.setAttribute('http.response.status_code', statusCode);
        else span.setAttribute('error.type', 'client closed');
        if (writableEnded && statusCode >= 500) failed(span, `${statusCode}`);
        span.end();
      });
    },
    storeFor: request => {
      const parent = contexts.get(request) ?? ROOT_CONTEXT;
      return {
        ...store,
        read: tracedWork('read', parent),
        look: tracedWork('look', parent),
        write: tracedWork('write', parent),
      };
    },
    end: async () => {
      const late = new Promise<void>(resolve => setTimeout(resolve, longestFlush).unref());
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
};

/** The kind of an error and never its words, which may hold values. */
const failed = (span: Span, type: string): void => {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
};

const firstTable = (text: string): string | undefined => /\b(?:from|into|update)\s+(?!as\b)([a-z_]+)/.exec(text)?.[1];

/** Without what is in parentheses: other tables are looked into on the way. */
const withoutInner = (text: string): string => {
  const outer = text.replace(/\([^()]*\)/g, '');
  return outer === text ? text : withoutInner(outer);
};

/** What a statement does and to what first; of its values, nothing. */
const summaryOf = ({ chunks }: Sql): { readonly operation: string; readonly summary: string } => {
  const text = chunks.join('?');
  const operation = /\b(select|insert|update|delete)\b/.exec(text)?.[1] ?? 'other';
  const table = firstTable(withoutInner(text)) ?? firstTable(text);
  return { operation, summary: table === undefined ? operation : `${operation} ${table}` };
};

/** The caller's own span, where it names one as W3C Trace Context says. */
const parentOf = ({ headers }: FastifyRequest): Context => {
  const { traceparent, tracestate } = headers;
  const [, version, traceId = '', spanId = '', flags = '', more] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(`${traceparent ?? ''}`.trim()) ?? [];
  const isKnown = version !== 'ff' && (version !== '00' || more === undefined);
  const given = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  };
  return isKnown && isSpanContextValid(given) ? trace.setSpanContext(ROOT_CONTEXT, given) : ROOT_CONTEXT;
};

/** By the names that every OpenTelemetry SDK knows. */
const samplerOf = ({
  OTEL_TRACES_SAMPLER: name = 'parentbased_always_on',
  OTEL_TRACES_SAMPLER_ARG: given = '1',
}: NodeJS.ProcessEnv): Sampler => {
  const roots: Record<string, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(shareOf(given)),
  };
  const root = roots[name.replace(/^parentbased_/, '')];
  const names = Object.keys(roots);
  if (!root) throw new StartFault(`OTEL_TRACES_SAMPLER must be one of ${names.join(', ')}, or parentbased_ and one`);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root: root() }) : root();
};

const shareOf = (given: string): number => {
  const share = Number(given);
  if (given.trim() !== '' && share >= 0 && share <= 1) return share;
  throw new StartFault(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not '${given}'`);
};

/** An exporter whose failures are told once, and then the first success. */
const announced = (exporter: SpanExporter, tell: (news: string) => void): SpanExporter => {
  let failing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, result => {
        const { error } = result;
        if (Boolean(error) !== failing)
          tell(error ? `traces cannot be exported, and are dropped: ${error.message}` : 'traces are exported again');
        failing = Boolean(error);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
};
