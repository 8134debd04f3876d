import { revocation } from './revocation.ts';
import { sameGrant } from './same-grant.ts';
import type { Trial } from './trial.ts';

export const trials: readonly Trial[] = [sameGrant, revocation];
