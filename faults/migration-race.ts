/** Several who change the schema at once, one who dies in the middle of it, and one who stands still. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Dice, testSeed } from '../test/support/dice.ts';
import { signal } from '../test/support/processes.ts';
import type { Running } from '../test/support/program.ts';
import { ourPostgres } from './support/replicas.ts';
import { hangs, until } from './support/stage.ts';
import { appliedBy, ask, notedIn, schemaIn, slow, Version } from './support/versions.ts';
import type { Trial } from './trial.ts';

const slowOne = '0900_slow.sql';
/** Before and after what takes long there is something that must be there wholly or not at all. */
const slowText = (number: number) => `
  create table slow_numbers (number integer);
  alter table projects add column slow_before ctext;
  ${slow(number)}
  alter table projects add column slow_after ctext;
  create index slow_index on projects (slow_before, slow_after);`;

const ended = async (running: Running, what: string): Promise<void> => {
  const { code } = await running.exited;
  assert.equal(code, 0, `${what} exited with ${code}: ${running.out}${running.error}`);
};

const ready = async (server: Running): Promise<void> => {
  const answer = await fetch(`${await server.url()}/readyz`);
  assert.equal(answer.status, 200, await answer.text());
};

const noSignOfLife = /no sign of life/;

/** Whole, and as if it had been made in one go. */
const expectWhole = async (url: string, version: Version, fresh: readonly string[]): Promise<void> => {
  assert.deepEqual(await notedIn(url), version.migrations);
  assert.deepEqual(await schemaIn(url), fresh);
};

const newDatabase = async (): Promise<string> => (await ourPostgres()).newDatabase();

const freshSchema = async (version: Version, url: string): Promise<string[]> => {
  await ended(version.migrate(url), 'a migration');
  return schemaIn(url);
};

/**
 * The last upgrade was long ago, by its sign of life. Whoever shows a new one has to wait a moment, as on a slow disk: so
 * the others look at the old one while somebody is at work.
 */
const longAgo = async (url: string): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rowCount } = await client.query("update schema_turns set beat_at = now() - interval '30 days'");
  assert.equal(rowCount, 1, 'an earlier upgrade has left its sign of life');
  await client.query('begin; select 1 from schema_turns for update');
  const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  return async () => {
    const met = await until(async () => (await ask(url, waiting)).length > 0, hangs);
    assert.ok(met !== undefined, 'nobody shows a sign of life');
    await sleep(700);
    await client.query('commit');
    await client.end();
  };
};

/** Two at once on an empty database or on an older one: by the command, or by servers that start. */
const race = async (version: Version, fresh: readonly string[], serving: boolean, older?: Version): Promise<void> => {
  const url = await newDatabase();
  if (older) await ended(older.migrate(url), 'an earlier migration');
  const release = older && (await longAgo(url));
  const both = [0, 1].map(() => (serving ? version.serve(url) : version.migrate(url)));
  await release?.();
  if (serving) for (const server of both) await ready(server);
  else for (const command of both) await ended(command, 'one of two migrations');
  const missing = version.migrations.filter(name => !older?.migrations.includes(name));
  assert.deepEqual(both.flatMap(appliedBy).sort(), missing, 'each is applied by one of them');
  for (const { out, error } of both) assert.doesNotMatch(`${out}${error}`, noSignOfLife, 'the living is not dead');
  await expectWhole(url, version, fresh);
  if (serving) {
    const [{ count } = {}] = await ask(url, 'select count(*) from users');
    assert.equal(Number(count), 1, 'two servers made one site admin');
    for (const server of both) await server.stop();
  }
};

/** Killed somewhere in the slow one; whether that was in the middle of it. */
const kill = async (
  version: Version,
  url: string,
  fresh: readonly string[],
  delay: number,
  serving: boolean,
): Promise<boolean> => {
  const before = version.migrations.at(-2) as string;
  const first = version.migrate(url);
  await first.printed(new RegExp(`applied ${before}`));
  await sleep(delay);
  // Where it was quicker, it was not in the middle, and does not count.
  await first.end();
  const wasDone = appliedBy(first).includes(slowOne);
  // Neither the one nor the other half of it, unless it is there as a whole.
  let isNoted: boolean;
  let found: string[];
  // A commit that was under way may still come: both looks must be at one state.
  do {
    isNoted = (await notedIn(url)).includes(slowOne);
    found = await schemaIn(url);
  } while ((await notedIn(url)).includes(slowOne) !== isNoted);
  assert.equal(found.filter(line => line.includes('slow_')).length > 0, isNoted, 'half a migration was left');
  assert.ok(isNoted || !wasDone, 'what was said to be applied is there');
  const second = serving ? version.serve(url) : version.migrate(url);
  if (serving) {
    await ready(second);
    await second.stop();
  } else await ended(second, 'the next start');
  if (!isNoted) assert.deepEqual(appliedBy(second), [slowOne]);
  await expectWhole(url, version, fresh);
  return !isNoted;
};

/** One that stands still has shown no sign of life for ten seconds when another takes over; awake again, it does no harm. */
const freeze = async (version: Version, fresh: readonly string[]): Promise<string> => {
  const url = await newDatabase();
  const before = version.migrations.at(-2) as string;
  const frozen = version.migrate(url);
  await frozen.printed(new RegExp(`applied ${before}`));
  await sleep(50);
  signal(frozen.child.pid ?? 0, 'SIGSTOP');
  const begun = Date.now();
  const second = version.migrate(url);
  await ended(second, 'whoever takes over');
  const seconds = Math.round((Date.now() - begun) / 1000);
  assert.match(second.out, noSignOfLife);
  assert.deepEqual(appliedBy(second), [slowOne]);
  signal(frozen.child.pid ?? 0, 'SIGCONT');
  await ended(frozen, 'the one that stood still');
  assert.deepEqual(appliedBy(frozen).includes(slowOne), false, 'it finds the work done');
  await expectWhole(url, version, fresh);
  return `one that stood still was relieved after ${seconds} s, and did no harm when it went on`;
};

export const migrationRace: Trial = {
  name: 'migration-race',
  fault: 'two replicas that migrate at once; kill -9 in mid-migration; a migrating process that stands still',
  short: 4,
  long: 50,
  run: async (times, progress) => {
    const dice = new Dice(testSeed);
    const plain = new Version();
    const older = new Version({ has: name => name < '0003' });
    const slowed = new Version({ more: { [slowOne]: slowText(1_500_000) } });
    try {
      const fresh = await freshSchema(plain, await newDatabase());
      const whole = await freshSchema(slowed, await newDatabase());
      for (let index = 0; index < times; index++) {
        await (index % 2 === 0 ? race(plain, fresh, index % 4 > 1) : race(slowed, whole, index % 4 > 1, older));
        progress(`${index + 1} of ${times} races`);
      }
      const figures = [
        `${times} races, of commands and of servers, ${Math.floor(times / 2)} of them on an older database whose last upgrade was long ago: one applier of each migration, and nobody alive was taken for dead`,
      ];
      const newFile = () => `sqlite:${join(slowed.folder, `${randomUUID()}.db`)}`;
      const kills = Math.ceil(times * 0.4);
      for (const [engine, make] of [
        ['PostgreSQL', newDatabase],
        ['SQLite', newFile],
      ] as const) {
        const whole = await freshSchema(slowed, await make());
        let inMiddle = 0;
        for (let tried = 0; inMiddle < kills; tried++) {
          assert.ok(tried < kills * 3 + 5, `only ${inMiddle} of ${tried} kills were in the middle`);
          if (await kill(slowed, await make(), whole, dice.below(400), inMiddle % 2 === 1)) inMiddle++;
          progress(`${inMiddle} of ${kills} kills on ${engine}`);
        }
        figures.push(
          `${inMiddle} kills in mid-migration on ${engine}: nothing half, the next start finished it, be it the command or a server`,
        );
        if (engine === 'PostgreSQL' && times >= 20) figures.push(await freeze(slowed, whole));
      }
      return figures;
    } finally {
      await plain.end();
      await older.end();
      await slowed.end();
    }
  },
};
