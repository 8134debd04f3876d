import type { Trial } from './trial.ts';

export const trials: readonly Trial[] = [];
