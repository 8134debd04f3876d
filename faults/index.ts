import { concurrentPatch } from './concurrent-patch.ts';
import { migrationRace } from './migration-race.ts';
import { revocation } from './revocation.ts';
import { rollingUpgrade } from './rolling-upgrade.ts';
import { sameGrant } from './same-grant.ts';
import { staleRight } from './stale-right.ts';
import type { Trial } from './trial.ts';

export const trials: readonly Trial[] = [
  sameGrant,
  revocation,
  staleRight,
  concurrentPatch,
  migrationRace,
  rollingUpgrade,
];
