/** The peers that decide within the process that asks. */

import { openCasbin } from './casbin.ts';
import { openCasl, openCaslKept } from './casl.ts';
import { openCedar } from './cedar.ts';
import type { Asked, Facts } from './facts.ts';

/** What one decision is: from the ids in the question to yes or no. */
export type Decide = (asked: Asked) => boolean;

export type InProcess = {
  readonly name: string;
  readonly library: string;
  readonly open: (facts: Facts) => Promise<Decide>;
};

export const inProcess: readonly InProcess[] = [
  { name: 'casbin', library: 'casbin', open: openCasbin },
  { name: 'CASL', library: '@casl/ability', open: openCasl },
  { name: 'CASL, abilities kept', library: '@casl/ability', open: openCaslKept },
  { name: 'Cedar', library: '@cedar-policy/cedar-wasm', open: openCedar },
];
