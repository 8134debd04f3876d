import { concurrentPatch } from './concurrent-patch.ts';
import { migrationRace } from './migration-race.ts';
import { revocation } from './revocation.ts';
import { rollingUpgrade } from './rolling-upgrade.ts';
import { sameGrant } from './same-grant.ts';
import { staleRight } from './stale-right.ts';
import type { Trial } from './trial.ts';
import { twoEngines } from './two-engines.ts';

export const trials: readonly Trial[] = [
  sameGrant,
  revocation,
  staleRight,
  concurrentPatch,
  migrationRace,
  rollingUpgrade,
  twoEngines,
];
