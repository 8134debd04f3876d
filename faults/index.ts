import { kill } from './kill.ts';
import type { Trial } from './trial.ts';

export const trials: readonly Trial[] = [kill];
