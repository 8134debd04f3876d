/**
 * Whether the peers, and our own core, give the answers of the reference model.
 *
 *   node bench/peers/verify.ts [SIZE…]      sizes by their number of grants, 1000 unless named
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../test/support/postgres.ts';
import { sizes, World } from '../world/plan.ts';
import { coreOf } from './core.ts';
import { differences, enough, refusal } from './differences.ts';
import { peers, versions } from './index.ts';

// What was started ends with this process, however it ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const asked = process.argv.slice(2).map(Number);
const chosen = sizes.filter(({ grants }) => (asked.length === 0 ? [1_000] : asked).includes(grants));
/** As many as share a database. */
const groups = [/^(?!OpenFGA)/, /^OpenFGA.*SQLite$/, /^OpenFGA.*PostgreSQL$/].map(
  names => (name: string) => names.test(name),
);
const folder = mkdtempSync(join(tmpdir(), 'bailiwick-peers-'));
const postgres = await startPostgres();
const say = (text: string): void => console.error(text);
try {
  console.log(
    Object.entries(versions())
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
  );
  for (const size of chosen) {
    const world = new World(size);
    const core = coreOf(world);
    const ours = refusal(await differences(world, questions => questions.map(core)));
    if (ours !== undefined) process.exitCode = 1;
    console.log(`${size.name} Bailiwick's core: ${ours ?? `${enough} answers as the reference gives them`}`);
    for (const wanted of groups) {
      const { arms, leftOut } = await peers({
        world,
        folder,
        wanted,
        say,
        postgres: async () => ({ url: await postgres.newDatabase(), processes: () => [] }),
      });
      for (const arm of arms) {
        console.log(`${size.name} ${arm.name}: ${enough} answers as the reference gives them`);
        await arm.close();
      }
      for (const { name, reason } of leftOut) {
        console.log(`${size.name} ${name}: left out, ${reason}`);
        process.exitCode = 1;
      }
    }
  }
} finally {
  await postgres.end();
  rmSync(folder, { recursive: true, force: true });
}
