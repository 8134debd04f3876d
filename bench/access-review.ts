/**
 * What the review of a large organization costs: rows a second, CPU of the server per row, and by how much its memory grows.
 *
 *   node bench/access-review.ts [USERS [PROJECTS]]
 *
 * Two worlds, each of so many users and projects: in one, teams of a few have grants on a few projects each; in the
 * other, everybody may do everything everywhere. The server is a process of its own, started on a database that is there.
 * Memory is what is resident, as the system tells it all the while (on Linux; elsewhere the server is asked, which costs
 * memory too); its growth is from before the review, which is the first thing that the server does.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type Server, Stage } from '../faults/support/stage.ts';

const [users = 1000, projects = 1000] = process.argv.slice(2).map(Number);
const secret = 'the-token-of-whoever-reviews';

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

const people = numbers(users).map(index => ({
  username: `u${index}`,
  email: `u${index}@example.com`,
  ...(index === 0 && { tokens: [{ secret }] }),
}));

/** Every user is in three of these teams; each has a grant on one project of a hundred. */
const teams = Math.ceil(users / 10);
const levels = ['read', 'write', 'maintain', 'admin'];
const byGrants = {
  teams: numbers(teams).map(team => ({
    name: `team-${team}`,
    members: people.filter((_, index) => [0, 1, 7].some(step => (index + step) % teams === team)).map(p => p.username),
  })),
  projects: numbers(projects).map(project => ({
    name: `project-${project}`,
    'team-access': numbers(teams)
      .filter(team => (project + team * 7) % 100 === 0)
      .map(team => ({ team: `team-${team}`, access: levels[(project + team) % 4] })),
  })),
};
const byOrganization = {
  teams: [
    {
      name: 'everybody',
      'organization-access': { 'manage-projects': true },
      members: people.map(({ username }) => username),
    },
  ],
  projects: numbers(projects).map(project => ({ name: `project-${project}` })),
};

const worldOf = ({ teams, projects }: { teams: object[]; projects: object[] }) => ({
  users: people,
  organizations: [
    {
      name: 'large',
      email: 'large@example.com',
      memberships: people.map(({ username }) => ({ user: username })),
      teams: [{ name: 'owners', members: ['u0'] }, ...teams],
      projects,
    },
  ],
});

const gauge = async ({ url }: Server, name: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};
const memory = async (server: Server): Promise<number> => {
  if (process.platform !== 'linux') return gauge(server, 'process_resident_memory_bytes');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) * 1024;
};

/** Counts the rows by what each of them has once. */
const read = (server: Server, accept: string, mark: string): Promise<{ rows: number; bytes: number }> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${secret}`, accept };
    get(`${server.url}/api/v2/organizations/large/access-review`, { headers }, incoming => {
      if (incoming.statusCode !== 200) reject(new Error(`answered ${incoming.statusCode}`));
      let [rows, bytes, rest] = [0, 0, Buffer.alloc(0)];
      incoming.on('data', (piece: Buffer) => {
        bytes += piece.length;
        const text = Buffer.concat([rest, piece]);
        for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + mark.length)) rows++;
        rest = text.subarray(-mark.length + 1);
      });
      incoming.on('error', reject).on('end', () => resolve({ rows, bytes }));
    }).on('error', reject);
  });

await using stage = new Stage();
const postgres = await stage.postgres();
const lines: string[] = [];
for (const [world, content] of Object.entries({ 'a few grants': byGrants, 'everybody everything': byOrganization }))
  for (const engine of ['SQLite', `PostgreSQL ${postgres.version}`]) {
    const database = engine === 'SQLite' ? `sqlite:${stage.path(`${world}.db`)}` : await postgres.newDatabase();
    const file = stage.path(`${world}.json`);
    writeFileSync(file, JSON.stringify(worldOf(content)));
    await (await stage.serve(database, { args: ['--seed', file] })).stop();
    for (const [form, accept, mark] of [
      ['JSON:API', 'application/vnd.api+json', '"type":"access-review-rows"'],
      ['CSV', 'text/csv', '\r\n'],
    ] as const) {
      const server = await stage.serve(database);
      await pause(500);
      const before = await memory(server);
      const cpu = await gauge(server, 'process_cpu_seconds_total');
      let [highest, over] = [before, false];
      const watching = (async () => {
        for (; !over; await pause(20)) highest = Math.max(highest, await memory(server));
      })();
      const begun = performance.now();
      const { rows, bytes } = await read(server, accept, mark);
      const seconds = (performance.now() - begun) / 1000;
      over = true;
      await watching;
      const micros = (((await gauge(server, 'process_cpu_seconds_total')) - cpu) * 1e6) / rows;
      const mebibytes = (count: number) => (count / 2 ** 20).toFixed(0);
      const figures = [
        rows,
        mebibytes(bytes),
        seconds.toFixed(1),
        (rows / seconds / 1000).toFixed(0),
        micros.toFixed(2),
      ];
      lines.push(
        `| ${[world, engine, form, ...figures, mebibytes(before), mebibytes(highest - before)].join(' | ')} |`,
      );
      console.error(lines.at(-1));
      await server.stop();
    }
  }
console.log(`${users} users, ${projects} projects\n`);
console.log('| world | engine | form | rows | MiB | s | rows/ms | CPU µs a row | memory before, MiB | growth, MiB |');
console.log('|---|---|---|---|---|---|---|---|---|---|');
console.log(lines.join('\n'));
