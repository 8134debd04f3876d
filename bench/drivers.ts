/**
 * Which driver costs less on our own statements: `pg`, as the engine uses it and without pipelining, or `postgres`.
 *
 *   node bench/drivers.ts [ROUNDS [OPERATIONS]]
 *
 * The statements are those of one GET and one PATCH of a grant, recorded from the server and sent again by each driver
 * in the same transactions. The arms take turns, on one connection each. CPU is this process's, in microseconds per
 * operation; the clock's time has the database's in it.
 */

import pg from 'pg';
import postgres from 'postgres';
import { openPostgres } from '../src/store/postgres.ts';
import type { Sql } from '../src/store/sql.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { type Entry, recording } from '../test/support/recording.ts';
import { startServer } from '../test/support/server.ts';
import { Directory } from '../test/support/world.ts';

const [rounds = 7, operations = 2_000] = process.argv.slice(2).map(Number);

const database = await startPostgres();
const url = await database.newDatabase();
const log: Entry[] = [];
const server = await startServer({ store: recording(openPostgres(url), log) });
const directory = new Directory(server);
const { actor } = await directory.user('ada');
await directory.organization(actor, 'acme');
const project = await directory.project(actor, 'acme', 'production');
const grant = await directory.grant(actor, project, await directory.team(actor, 'acme', { name: 'devs' }), {
  access: 'read',
});

const statementsOf = async (kind: Entry['kind'], request: () => Promise<unknown>) => {
  const { length } = log;
  await request();
  return (
    log
      .slice(length)
      .findLast(entry => entry.kind === kind)
      ?.statements.map(prepared) ?? []
  );
};
const prepared = ({ chunks, values }: Sql) => ({
  text: chunks.reduce((text, chunk, index) => (index === 0 ? chunk : `${text}$${index}${chunk}`), ''),
  values: [...values],
});
const reads = await statementsOf('read', () => actor.get(`/team-projects/${grant}`));
const writes = (
  await statementsOf('write', () => actor.patch(`/team-projects/${grant}`, { attributes: { access: 'write' } }))
)
  // What is added once cannot be added again.
  .filter(({ text }) => !/^\s*insert/.test(text));

const beginRead = 'begin isolation level repeatable read read only';
const beginWrite = 'begin isolation level serializable; lock table write_turns in exclusive mode';

type Statements = typeof reads;
type Arm = {
  readonly name: string;
  readonly run: (beginning: string, statements: Statements) => Promise<void>;
  readonly end: () => Promise<unknown>;
};

const withPg = async (name: string, pipeline: boolean): Promise<Arm> => {
  const client = new pg.Client({ connectionString: url, pipeline } as pg.ClientConfig);
  await client.connect();
  const names = new Map<string, string>();
  return {
    name,
    run: async (beginning, statements) => {
      const begun = client.query(beginning);
      if (!pipeline) await begun;
      for (const { text, values } of statements) {
        if (!names.has(text)) names.set(text, `s${names.size}`);
        await client.query({ text, values, rowMode: 'array', name: names.get(text) as string });
      }
      await client.query('commit');
    },
    end: () => client.end(),
  };
};

const withPostgres = (): Arm => {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  return {
    name: 'postgres',
    run: async (beginning, statements) => {
      // Its own way to a transaction, with the mode that it is given.
      const mode =
        beginning === beginRead ? 'isolation level repeatable read read only' : 'isolation level serializable';
      await sql.begin(mode, async tx => {
        if (beginning === beginWrite) await tx.unsafe('lock table write_turns in exclusive mode');
        for (const { text, values } of statements) await tx.unsafe(text, values, { prepare: true }).values();
      });
    },
    end: () => sql.end(),
  };
};

const arms = [await withPg('pg, pipelined', true), await withPg('pg', false), withPostgres()];
const samples = new Map<string, { cpu: number; wall: number }[]>();
for (let round = 0; round <= rounds; round++)
  for (const [operation, beginning, statements] of [
    ['read', beginRead, reads],
    ['write', beginWrite, writes],
  ] as const)
    for (const arm of arms) {
      const cpu = process.cpuUsage();
      const start = performance.now();
      for (let index = 0; index < operations; index++) await arm.run(beginning, statements);
      const wall = ((performance.now() - start) * 1_000) / operations;
      const { user, system } = process.cpuUsage(cpu);
      // The first round is to warm up.
      const key = `${operation} | ${arm.name}`;
      if (round > 0) samples.set(key, [...(samples.get(key) ?? []), { cpu: (user + system) / operations, wall }]);
    }

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const figures = [...samples].map(([key, taken]) => ({
  key,
  cpu: median(taken.map(({ cpu }) => cpu)),
  low: Math.min(...taken.map(({ cpu }) => cpu)),
  high: Math.max(...taken.map(({ cpu }) => cpu)),
  wall: median(taken.map(({ wall }) => wall)),
}));
const floor = (key: string): number =>
  figures.find(figure => figure.key === `${key.split(' | ')[0]} | ${arms[0]?.name}`)?.cpu ?? 1;
console.log(
  `PostgreSQL ${database.version}, ${rounds} rounds of ${operations}; a read has ${reads.length} statements, a write ${writes.length}\n`,
);
console.log('| | driver | CPU µs | from | to | × the first | clock µs |\n|---|---|---|---|---|---|---|');
for (const { key, cpu, low, high, wall } of figures)
  console.log(
    `| ${key} | ${cpu.toFixed(0)} | ${low.toFixed(0)} | ${high.toFixed(0)} | ${(cpu / floor(key)).toFixed(2)} | ${wall.toFixed(0)} |`,
  );

for (const arm of arms) await arm.end();
await server.close();
await database.end();
