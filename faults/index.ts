import { auditChain } from './audit-chain.ts';
import { concurrentPatch } from './concurrent-patch.ts';
import { diskFull } from './disk-full.ts';
import { freeze } from './freeze.ts';
import { kill } from './kill.ts';
import { migrationRace } from './migration-race.ts';
import { poolExhausted } from './pool-exhausted.ts';
import { restart } from './restart.ts';
import { revocation } from './revocation.ts';
import { rollingUpgrade } from './rolling-upgrade.ts';
import { sameGrant } from './same-grant.ts';
import { shutdown } from './shutdown.ts';
import { staleRight } from './stale-right.ts';
import { syncLedger } from './sync-ledger.ts';
import type { Trial } from './trial.ts';
import { twoEngines } from './two-engines.ts';

export const trials: readonly Trial[] = [
  kill,
  syncLedger,
  restart,
  freeze,
  diskFull,
  poolExhausted,
  sameGrant,
  revocation,
  staleRight,
  concurrentPatch,
  migrationRace,
  rollingUpgrade,
  shutdown,
  twoEngines,
  auditChain,
];
