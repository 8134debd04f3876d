import { diskFull } from './disk-full.ts';
import { freeze } from './freeze.ts';
import { kill } from './kill.ts';
import { poolExhausted } from './pool-exhausted.ts';
import { restart } from './restart.ts';
import { syncLedger } from './sync-ledger.ts';
import type { Trial } from './trial.ts';

export const trials: readonly Trial[] = [kill, syncLedger, restart, freeze, diskFull, poolExhausted];
