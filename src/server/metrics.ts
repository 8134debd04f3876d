/** What the server counts of itself, in the text format of Prometheus; written here, since a library for it would take a tenth of the start. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Store } from '../store/store.ts';

export const metricsMediaType = 'text/plain; version=0.0.4; charset=utf-8';

/** Upper bounds in seconds, from what a read takes to what no client waits for. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Whatever else a client sends as a method counts as one: labels come from us, so that nobody can make them grow. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

/** The requests of one method to one route. */
type Series = {
  readonly labels: string;
  readonly byStatus: Map<number | 'none', number>;
  /** One more than there are bounds: the last is for what took longer. */
  readonly byBucket: number[];
  seconds: number;
};

export class Metrics {
  readonly #series = new Map<string, Series>();
  #inFlight = 0;

  /** Counts a request; what it gives back is to be called when its answer is out, or its client gone. */
  observe(request: FastifyRequest, reply: FastifyReply): () => void {
    const begun = performance.now();
    this.#inFlight++;
    return () => {
      this.#inFlight--;
      // A client that went before its answer got none, whatever the answer would have been.
      const status = reply.raw.writableEnded ? reply.raw.statusCode : 'none';
      this.#count(request.method, routeOf(request), status, (performance.now() - begun) / 1000);
    };
  }

  #count(method: string, route: string, status: number | 'none', seconds: number): void {
    const known = methods.has(method) ? method : 'other';
    const name = `${known} ${route}`;
    let series = this.#series.get(name);
    if (!series) {
      const labels = labelled({ method: known, route });
      series = { labels, byStatus: new Map(), byBucket: buckets.map(() => 0).concat(0), seconds: 0 };
      this.#series.set(name, series);
    }
    series.byStatus.set(status, (series.byStatus.get(status) ?? 0) + 1);
    const bucket = buckets.findIndex(bound => seconds <= bound);
    (series.byBucket as [number])[(bucket < 0 ? buckets.length : bucket) as 0]++;
    series.seconds += seconds;
  }

  /** The whole text, as it is now. */
  async text(store: Store, version: string): Promise<string> {
    const { open, idle, waiting, most, failures, retries } = store.figures();
    const series = [...this.#series.values()];
    const { user, system } = process.cpuUsage();
    const build = { version, node: process.version, engine: store.engine };
    const families = [
      family('bailiwick_build_info', 'gauge', 'What is running', [[labelled(build), 1]]),
      family(
        'bailiwick_http_requests_total',
        'counter',
        'Requests by method, route and status; route none is what is not served, status none a client that left',
        series.flatMap(({ labels, byStatus }) =>
          [...byStatus].map(([status, count]): Sample => [`${labels},${labelled({ status })}`, count]),
        ),
      ),
      family(
        'bailiwick_http_request_duration_seconds',
        'histogram',
        'From the head of a request to the end of its answer',
        series.flatMap(durations),
      ),
      family('bailiwick_http_requests_in_flight', 'gauge', 'Requests being answered', this.#inFlight),
      family('bailiwick_database_connections', 'gauge', 'Connections that are open', open),
      family('bailiwick_database_connections_idle', 'gauge', 'Open connections that do nothing', idle),
      family('bailiwick_database_connections_most', 'gauge', 'Connections that may be open at once', most),
      family('bailiwick_database_waiting', 'gauge', 'Pieces of work that wait for a connection', waiting),
      family(
        'bailiwick_database_failures_total',
        'counter',
        'Pieces of work that the database could not do, by reason',
        Object.entries(failures).map(([reason, count]): Sample => [labelled({ reason }), count]),
      ),
      family(
        'bailiwick_database_retries_total',
        'counter',
        'Pieces of work begun again: in the way of others, or their connection lost',
        retries,
      ),
      family('process_cpu_seconds_total', 'counter', 'CPU time, user and system', (user + system) / 1e6),
      family('process_resident_memory_bytes', 'gauge', 'Resident memory', process.memoryUsage.rss()),
      family('process_start_time_seconds', 'gauge', 'Start, in seconds since 1970', performance.timeOrigin / 1000),
      family('nodejs_eventloop_lag_seconds', 'gauge', 'What work that is ready waits for its turn', await lag()),
    ];
    return families.join('');
  }
}

/** The pattern and never the address: what is not served is all one. */
export const routeOf = (request: FastifyRequest): string =>
  request.is404 ? 'none' : (request.routeOptions.url ?? 'none');

const durations = ({ labels, byBucket, seconds }: Series): Sample[] => {
  let count = 0;
  const bounds = byBucket.map((more, index): Sample => {
    count += more;
    return [`${labels},${labelled({ le: buckets[index] ?? '+Inf' })}`, count, '_bucket'];
  });
  return [...bounds, [labels, seconds, '_sum'], [labels, count, '_count']];
};

/** Its labels, its value, and what its name has after the family's. */
type Sample = readonly [labels: string, value: number, suffix?: string];

const family = (
  name: string,
  kind: 'counter' | 'gauge' | 'histogram',
  help: string,
  samples: number | Sample[],
): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${kind}`,
    ...(typeof samples === 'number' ? [`${name} ${samples}`] : []),
    ...(typeof samples === 'number' ? [] : samples).map(
      ([labels, value, suffix = '']) => `${name}${suffix}{${labels}} ${value}`,
    ),
    '',
  ].join('\n');

const labelled = (labels: Readonly<Record<string, string | number>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${`${value}`.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`)
    .join(',');

const lag = async (): Promise<number> => {
  const asked = performance.now();
  await new Promise(resolve => setImmediate(resolve));
  return (performance.now() - asked) / 1000;
};
