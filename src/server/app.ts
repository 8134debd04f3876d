/** Operations as routes: token, transaction, audit row, answer. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { Fault, type Problem } from '../core/fault.ts';
import { actorOf } from '../resources/authentication-token-resource.ts';
import { withEffect } from '../resources/effect.ts';
import { operations } from '../resources/index.ts';
import type { Ask, Operation, Read, Stream, Write } from '../resources/operation.ts';
import { type Asker, type Incoming, Request, type Services } from '../resources/request.ts';
import { addAuditEvents, headsOf } from '../store/audit.ts';
import { newUuid } from '../store/id.ts';
import type { Sql } from '../store/sql.ts';
import { type Store, type Tx, Unavailable } from '../store/store.ts';
import { TokenUses } from '../store/token-uses.ts';
import { acceptable } from '../wire/accept.ts';
import { decoded, expectJson, expectMediaType, isCleanText, parsed } from '../wire/body.ts';
import { mediaType } from '../wire/document.ts';
import { largestBody, largestHead } from '../wire/limits.ts';
import type { Query } from '../wire/paging.ts';
import { textOf } from '../wire/time.ts';
import { everyAnswer, fail, isAsked, plainMediaType, sendDocument, sendFlow, sendPlain, sendText } from './answers.ts';
import { authenticate, nameOf } from './authentication.ts';
import { Ending } from './ending.ts';
import { Metrics } from './metrics.ts';
import { type OpenOperation, openOperations } from './open-operations.ts';
import { Readiness } from './readiness.ts';
import { Rehearsed } from './rehearsed.ts';
import { answerOddRequests, clientErrorHandler, guardHandshakes, longestHandshake } from './sockets.ts';
import type { Tracing } from './tracing.ts';

export type AppOptions = {
  readonly store: Store;
  readonly services: Services;
  readonly version: string;
  readonly logLevel: string;
  /** Without it, plain HTTP is served. */
  readonly tls?: SecureContextOptions | undefined;
  /** Told of every use of a token; whoever made it writes it down. */
  readonly uses?: TokenUses;
  readonly readiness?: Readiness;
  /** Where traces are wanted. */
  readonly tracing?: Tracing | undefined;
  /** Begun by whoever wants the server to be known as ending before it does. */
  readonly ending?: Ending;
  /** Told of every route as it is made. */
  readonly onRoute?: (method: string, path: string) => void;
};

export const buildApp = ({
  store,
  services,
  version,
  logLevel,
  tls,
  uses = new TokenUses(),
  tracing,
  ending = new Ending(),
  readiness = new Readiness(store, ending),
  onRoute,
}: AppOptions): FastifyInstance => {
  const metrics = new Metrics();
  const storeFor = (request: FastifyRequest): Store => {
    if (readiness.startingBecause !== undefined) throw new Unavailable('gone', readiness.startingBecause);
    return tracing?.storeFor(request) ?? store;
  };
  const observe = (request: FastifyRequest, reply: FastifyReply): void => {
    const answered = metrics.observe(request, reply);
    tracing?.observe(request, reply);
    ending.note(reply.raw);
    // It is emitted once anyway, and `once` would wrap each listener.
    reply.raw.on('close', () => {
      ending.forget(reply.raw);
      answered();
    });
  };
  const isVerbose = ['debug', 'trace'].includes(logLevel);
  // A missing Host header is ours to refuse, in our own words.
  const http = { requireHostHeader: false, maxHeaderSize: largestHead };
  const options = {
    logger: { level: logLevel, stream: process.stderr },
    // A line per request costs a third of the throughput, and a logger per request is for those lines alone.
    logController: new LogController({ disableRequestLogging: !isVerbose }),
    ...(!isVerbose && { childLoggerFactory: (logger: FastifyBaseLogger) => logger }),
    bodyLimit: largestBody,
    requestTimeout: 30_000,
    // The Go clients keep a connection for 90 seconds and crash when it is gone before.
    keepAliveTimeout: 120_000,
    return503OnClosing: false,
    genReqId: requestId,
    clientErrorHandler,
    // What the framework refuses passes none of the hooks.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      observe(request, reply);
      fail(error, request, reply.headers(everyAnswer(idFor(request))));
    },
    // Longer than any address that the HTTP parser lets pass: an id is opaque.
    routerOptions: { maxParamLength: 64 * 1024 },
    // Bodies are ours to check: the framework need not load what would do it.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
  };
  const app = tls
    ? (fastify({ ...options, https: { ...http, ...tls, handshakeTimeout: longestHandshake } }) as FastifyInstance)
    : fastify({ ...options, http });

  if (onRoute) app.addHook('onRoute', ({ method, url }) => onRoute(`${method}`, url));

  const endHandshakes = tls
    ? guardHandshakes(app.server as TlsServer, err => app.log.debug({ err }, 'a TLS handshake failed'))
    : () => {};

  app.addHook('preClose', () => ending.drain(app.server, endHandshakes));
  app.addHook('onRequest', (request, reply, done) => {
    observe(request, reply);
    reply.headers(everyAnswer(idFor(request)));
    // What is not served is answered before any body is read.
    if (request.is404) fail(new Fault(problemOfPath(request.url)), request, reply);
    else if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      fail(new Fault({ kind: 'bad request', detail: 'The Host header is missing.' }), request, reply);
    else done();
  });
  app.setErrorHandler(fail);
  answerOddRequests(app.server);

  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  const bodyOf = (request: FastifyRequest, bytes: Buffer): unknown => {
    if (bytes.length === 0) return undefined;
    // What is wrong with a body is told to those who are known.
    try {
      (isAsked(request) ? expectJson : expectMediaType)(request.headers['content-type']);
      return parsed(decoded(bytes), (text, done) => parse(request, text, done));
    } catch (error) {
      return new Unread(error);
    }
  };
  // Of a type registered by name the framework knows the parser at once; for `*` it parses the header of each request.
  app.addContentTypeParser<Buffer>([...usualTypes, '*'], { parseAs: 'buffer' }, (request, bytes, done) =>
    done(null, bodyOf(request, bytes)),
  );

  const problemOfPath = (url: string): Problem => {
    const allowed = all.filter(operation => isPathOf(operation.path, url)).map(({ method }) => method);
    if (allowed.length === 0) return { kind: 'no such path' };
    return { kind: 'method not allowed', allowed: allowed.includes('GET') ? ['HEAD', ...allowed] : allowed };
  };

  const knownIn = async (tx: Tx, request: FastifyRequest, place?: Sql): Promise<Asker> => {
    const now = textOf(services.now());
    const known = await authenticate(tx, request.headers.authorization, services.tokenKey, now, place);
    uses.note(known.caller.token, now);
    return { ...known, now };
  };

  /** A request as its operation sees it. */
  const askedOf = async (tx: Tx, request: FastifyRequest, operation: Operation): Promise<Request> => {
    const given = incoming(request);
    const asker = await knownIn(tx, request, given && operation.at?.(given));
    if (request.body instanceof Unread) throw request.body.reason;
    if (!given) throw new Fault({ kind: 'not found' });
    return new Request(tx, given, asker, operation, services);
  };

  const answerOf = (operation: Read | Ask, request: FastifyRequest): Promise<object> => {
    const store = storeFor(request);
    const run = async (tx: Tx) => operation.run(await askedOf(tx, request, operation));
    const { alone } = operation;
    const isAlone = typeof alone === 'function' ? alone(request) : alone;
    return isAlone ? store.look(run) : store.read(run);
  };

  const serveRead = (operation: Read) => async (request: FastifyRequest, reply: FastifyReply) => {
    const document = await answerOf(operation, request);
    return sendDocument(reply, operation.success, document, {
      type: operation.plain ? plainMediaType : mediaType,
      indented: operation.plain === 'indented',
    });
  };

  const serveStream = (operation: Stream) => async (request: FastifyRequest, reply: FastifyReply) => {
    const forms = Object.keys(operation.forms);
    let type = mediaType;
    const {
      headers,
      flow,
      trailers = [],
    } = await operation.run({
      read: work => storeFor(request).read(async tx => work(await askedOf(tx, request, operation))),
      form: () => {
        const form = acceptable(request.headers.accept, forms);
        if (form === undefined) throw new Fault({ kind: 'not acceptable', forms });
        type = form;
        return form;
      },
    });
    reply.code(operation.success).headers({ ...headers, vary: 'accept', 'content-type': type });
    return request.method === 'HEAD' ? reply.send() : sendFlow(request, reply, flow, trailers);
  };

  const serveAsk = (operation: Ask) => async (request: FastifyRequest, reply: FastifyReply) => {
    return sendPlain(reply, operation.success, await answerOf(operation, request));
  };

  const written = (operation: Write, request: FastifyRequest) => async (tx: Tx) => {
    // Once more: what is committed is authorised by the state it is committed against.
    const asked = await askedOf(tx, request, operation);
    const { caller, isDryRun } = asked;
    // As the caller is called before it does anything; on the way while the operation goes on.
    const naming = nameOf(tx, caller);
    naming.catch(() => {});
    const changed = await operation.run(asked);
    const changes = [{ ...changed.change, audit: operation.audit }, ...(changed.besides ?? [])];
    const organizations = changes.map(({ organization }) => organization);
    const [effects, heads, name] = await Promise.all([
      asked.effects(),
      headsOf(tx, [...new Set(organizations)]),
      naming,
    ]);
    const events = changes.map(({ audit, ...change }, index) => ({
      id: newUuid(services.random),
      organization: change.organization,
      action: audit.action,
      resource: { type: audit.resource, id: change.id },
      actor: { ...actorOf(caller), name },
      token: caller.token,
      request: request.id,
      createdAt: textOf(services.now()),
      before: change.before,
      after: change.after,
      // Of several rows that an organization gets, the first tells the effect of all.
      effect: organizations.indexOf(change.organization) === index ? effects.in(change.organization) : null,
      project: change.project,
      team: change.team,
    }));
    await addAuditEvents(tx, heads, events);
    if (isDryRun) throw new Rehearsed(withEffect(changed.answer, effects.seen()));
    return changed;
  };

  const serveWrite = (operation: Write) => async (request: FastifyRequest, reply: FastifyReply) => {
    try {
      const { answer, tagged } = await storeFor(request).write(written(operation, request));
      return answer ? sendDocument(reply, operation.success, answer, { tagged }) : reply.code(operation.success).send();
    } catch (error) {
      if (!(error instanceof Rehearsed)) throw error;
      // A tag would be of what is not there.
      const status = operation.success === 204 ? 200 : operation.success;
      return sendText(reply, status, mediaType, JSON.stringify(error.answer));
    }
  };

  const serveOpen = (operation: OpenOperation) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { status, body } = await operation.run(request.params as Record<string, string>);
    reply.headers(operation.headers ?? {});
    if (body === undefined) return reply.code(status).send();
    return operation.media
      ? sendText(reply, status, operation.media, `${body}`)
      : sendText(reply, status, plainMediaType, JSON.stringify(body));
  };

  const all = [
    ...operations,
    ...openOperations(operations, {
      readiness,
      version,
      publicUrl: services.publicUrl,
      metrics: () => metrics.text(store, version),
    }),
  ];
  for (const operation of all) {
    const { method, path: url } = operation;
    if (operation.authentication === 'none') {
      // Made by the framework, HEAD would tell a length, which a 204 must not.
      if (204 in operation.answers) app.route({ method: 'HEAD', url, handler: serveOpen(operation) });
      app.route({ method, url, handler: serveOpen(operation) });
    } else if ('forms' in operation) {
      // Made by the framework, HEAD would run the whole of it.
      for (const verb of ['HEAD', method]) app.route({ method: verb, url, handler: serveStream(operation) });
    } else if (operation.method === 'GET') app.route({ method, url, handler: serveRead(operation) });
    else
      app.route({
        method,
        url,
        // Nobody's body is read without a token, unless it is as small as a head.
        onRequest: (request, _reply, done) => {
          if (isSmall(request)) return done();
          const known = storeFor(request).look(tx => knownIn(tx, request));
          known.then(() => done(), done);
        },
        bodyLimit: operation.largestBody ?? largestBody,
        config: { asks: operation.asks ?? false },
        handler: operation.asks ? serveAsk(operation) : serveWrite(operation),
      });
  }
  return app;
};

const unused = (): never => {
  throw new Error('no route has a schema of the framework');
};

/** A body that is none. */
class Unread {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

const smallBody = 4 * 1024;
const usualTypes: ReadonlySet<string> = new Set([mediaType, plainMediaType]);

/** Whether a request has no body, or a small one, and a usual type if any, of which the framework will refuse none. */
const isSmall = ({ headers }: FastifyRequest): boolean => {
  const { 'content-type': type, 'content-length': length = '0' } = headers;
  if (headers['transfer-encoding'] !== undefined || Number(length) > smallBody) return false;
  return type === undefined ? Number(length) === 0 : usualTypes.has(type);
};

/** Undefined where the path has what is no text of ours. */
const incoming = (request: FastifyRequest): Incoming | undefined => {
  const params = request.params as Record<string, string>;
  for (const name in params) if (!isCleanText(params[name] ?? '')) return undefined;
  return {
    params,
    query: request.query as Query,
    body: request.body,
    ifMatch: request.headers['if-match'],
  };
};

/** Whether an address is one of this path, in whatever spelling the router would take it. */
const isPathOf = (path: string, url: string): boolean => {
  const wanted = path.split('/');
  const given = (url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/)[0] ?? '').split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === unescaped(given[index] ?? '')))
  );
};

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Whoever asks gets its own id back as it came, whatever it is made of; the logs keep to those of the usual form. */
const idFor = (request: FastifyRequest): string => {
  const given = request.headers['x-request-id'];
  const isGiven = typeof given === 'string' && given !== '' && given.length <= longestRequestId;
  return isGiven && isAsked(request) ? given : request.id;
};

const longestRequestId = 1024;

/** A client's own request id is kept, so that its logs and ours can be read together. */
const requestId = (request: IncomingMessage): string => {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
};
