/**
 * What one server does on this machine, for docs/operations.md: CPU of the server per request, requests a second with
 * the load on the same machine, and memory, on SQLite and on PostgreSQL (both durable).
 *
 *   node bench/sizing.ts [SECONDS [TEAMS [PROJECTS]]]
 *
 * Every team has a grant on every project. The server's own counters tell its CPU time; it includes what its threads do.
 */

import { organization, type Server, Stage } from '../faults/support/stage.ts';
import { grantBody } from '../test/support/world.ts';

const [seconds = 5, teams = 30, projects = 30] = process.argv.slice(2).map(Number);
const clients = 16;

const gauge = async ({ url }: Server, name: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};

const measured = async (server: Server, ask: (index: number) => Promise<{ status: number }>) => {
  const cpu = await gauge(server, 'process_cpu_seconds_total');
  const begun = performance.now();
  let done = 0;
  const client = async (): Promise<void> => {
    while (performance.now() - begun < seconds * 1000) {
      const { status } = await ask(done++);
      if (status !== 200) throw new Error(`answered ${status}`);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const took = (performance.now() - begun) / 1000;
  const spent = (await gauge(server, 'process_cpu_seconds_total')) - cpu;
  return { micros: (spent * 1e6) / done, rate: done / took };
};

await using stage = new Stage();
const postgres = await stage.postgres();
const rows: string[] = [];
for (const [name, database] of [
  ['SQLite', `sqlite:${stage.path('sizing.db')}`],
  [`PostgreSQL ${postgres.version}`, await postgres.newDatabase()],
] as const) {
  const server = await stage.serveFirst(database);
  const idle = await gauge(server, 'process_resident_memory_bytes');
  const grants: string[] = [];
  const making = async (kind: 'teams' | 'projects', count: number): Promise<string[]> => {
    const ids = [];
    for (let index = 0; index < count; index++)
      ids.push(
        await server.make(`/organizations/${organization}/${kind}`, {
          type: kind,
          attributes: { name: `${kind}-${index}` },
        }),
      );
    return ids;
  };
  const projectIds = await making('projects', projects);
  for (const team of await making('teams', teams))
    for (const project of projectIds)
      grants.push(await server.make('/team-projects', grantBody(project, team, { access: 'read' })));
  const grant = (index: number) => `/api/v2/team-projects/${grants[index % grants.length]}`;
  const levels = ['read', 'write', 'maintain', 'admin'];
  const arms = {
    'show one grant': (index: number) => server.ask('GET', grant(index)),
    'a page of 20': (index: number) =>
      server.ask('GET', `/api/v2/team-projects?filter[project][id]=${projectIds[index % projects]}&page[size]=20`),
    'change one grant': (index: number) =>
      server.ask('PATCH', grant(index), {
        attributes: { access: levels[(index + Math.floor(index / grants.length)) % 4] },
      }),
  };
  for (const [operation, ask] of Object.entries(arms)) {
    const { micros, rate } = await measured(server, ask);
    rows.push(`| ${name} | ${operation} | ${micros.toFixed(0)} | ${rate.toFixed(0)} |`);
  }
  const busy = await gauge(server, 'process_resident_memory_bytes');
  const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
  rows.push(`| ${name} | memory, idle and after the run | ${mebibytes(idle)} | ${mebibytes(busy)} |`);
  await server.stop();
}
console.log(`${teams * projects} grants, ${clients} clients, ${seconds} s each\n`);
console.log('| | | CPU µs a request | requests a second |\n|---|---|---|---|');
console.log(rows.join('\n'));
