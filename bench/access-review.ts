/**
 * What the review of a large organization costs: rows a second, CPU of the server per row, and by how much its memory grows.
 *
 *   node bench/access-review.ts [USERS [PROJECTS]]
 *
 * Two worlds, each of so many users and projects: in one, teams of a few have grants on a few projects each; in the
 * other, everybody may do everything everywhere. The server is a process of its own, started on a database that is there.
 * Memory is what is resident, as the system tells it all the while (on Linux; elsewhere the server is asked, which costs
 * memory too). Its growth is told twice: of a server that does nothing else, and of one that has been in use, whose engine
 * has given its young objects all the room that they may have.
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

const mebibytes = (count: number) => (count / 2 ** 20).toFixed(0);

/** What any server does: pages of lists, some thousands of them. */
const use = async (server: Server): Promise<void> => {
  const headers = { authorization: `Bearer ${secret}` };
  const lists = ['teams', 'projects', 'organization-memberships'].map(
    list => `${server.url}/api/v2/organizations/large/${list}?page[size]=100`,
  );
  const client = async () => {
    for (let turn = 0; turn < 300; turn++)
      for (const list of lists) await (await fetch(list, { headers })).arrayBuffer();
  };
  await Promise.all(Array.from({ length: 4 }, client));
};

/** By how much it grows while the work is done. */
const growth = async (server: Server, work: () => Promise<void>) => {
  await pause(500);
  const before = await memory(server);
  let [highest, over] = [before, false];
  const watching = (async () => {
    for (; !over; await pause(20)) highest = Math.max(highest, await memory(server));
  })();
  await work();
  over = true;
  await watching;
  return { before, growth: highest - before };
};

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
      const fresh = await stage.serve(database);
      const cpu = await gauge(fresh, 'process_cpu_seconds_total');
      let [rows, bytes, seconds] = [0, 0, 0];
      const alone = await growth(fresh, async () => {
        const begun = performance.now();
        ({ rows, bytes } = await read(fresh, accept, mark));
        seconds = (performance.now() - begun) / 1000;
      });
      const micros = (((await gauge(fresh, 'process_cpu_seconds_total')) - cpu) * 1e6) / rows;
      await fresh.stop();
      const used = await stage.serve(database);
      await use(used);
      const inUse = await growth(used, async () => void (await read(used, accept, mark)));
      await used.stop();
      const figures = [
        rows,
        mebibytes(bytes),
        seconds.toFixed(1),
        (rows / seconds / 1000).toFixed(0),
        micros.toFixed(2),
      ];
      const memories = [alone, inUse].map(({ before, growth }) => `${mebibytes(before)} + ${mebibytes(growth)}`);
      lines.push(`| ${[world, engine, form, ...figures, ...memories].join(' | ')} |`);
      console.error(lines.at(-1));
    }
  }
console.log(`${users} users, ${projects} projects\n`);
console.log('| world | engine | form | rows | MiB | s | rows/ms | CPU µs a row | memory alone, MiB | in use, MiB |');
console.log('|---|---|---|---|---|---|---|---|---|---|');
console.log(lines.join('\n'));
