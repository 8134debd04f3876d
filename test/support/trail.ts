/** A trail with several chains in it, what is found wrong with it, and what is done to it at random. */

import assert from 'node:assert/strict';
import { type Anchors, verifyChains } from '../../src/store/audit-chain.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import type { Dice } from './dice.ts';
import { anyTampering, type Event, eventsIn, kinds } from './tampering.ts';
import type { Directory } from './world.ts';

type Hearing = Parameters<typeof verifyChains>[1];
type Heard<K extends keyof Hearing> = Parameters<Hearing[K]>[0];
type Outcome = { readonly rows: number; readonly findings: Heard<'found'>[]; readonly endings: Heard<'ended'>[] };

export const verified = async (tx: Tx, anchors?: Anchors, size?: number): Promise<Outcome> => {
  const findings: Heard<'found'>[] = [];
  const endings: Heard<'ended'>[] = [];
  const hearing: Hearing = { found: each => void findings.push(each), ended: each => void endings.push(each) };
  const rows = await verifyChains(tx, hearing, anchors, size);
  return { rows, findings, endings };
};

/** What is found after a piece of work, which is then undone. */
export const foundAfter = async (
  store: Store,
  work: (tx: Tx) => Promise<unknown>,
  anchors?: Anchors,
  size?: number,
): Promise<Outcome['findings']> => {
  const undo = new Error('undone');
  let outcome: Outcome | undefined;
  const played = store.write(async tx => {
    await work(tx);
    outcome = await verified(tx, anchors, size);
    throw undo;
  });
  await assert.rejects(played, undo);
  return (outcome as Outcome).findings;
};

/** Of three organizations that are there, with twelve changes each, of one that is gone, and of the site. */
export const writeTrail = async (directory: Directory): Promise<Event[]> => {
  for (const name of ['one', 'two', 'three']) {
    const { actor } = await directory.user(`owner-of-${name}`);
    await directory.organization(actor, name);
    for (let i = 0; i < 5; i++) await directory.team(actor, name, { name: `team ${i}: "é", \\ \u{1f600}` });
    for (let i = 0; i < 4; i++) await directory.project(actor, name, `project ${i}`);
    await actor.delete(`/projects/${await directory.project(actor, name, 'a short one')}`);
  }
  const goneOwner = await directory.user('owner-of-what-is-gone');
  await directory.organization(goneOwner.actor, 'gone');
  await goneOwner.actor.delete('/organizations/gone');
  return directory.server.store.read(eventsIn);
};

/** Each is found, and undone; none of them is missing among many. How often each was there. */
export const tamperAtRandom = async (
  store: Store,
  events: Event[],
  times: number,
  dice: Dice,
  progress: (done: number) => void = () => {},
): Promise<Readonly<Record<string, number>>> => {
  const counted: Record<string, number> = {};
  for (let number = 0; number < times; number++) {
    const { what, work } = anyTampering(dice, events);
    const findings = await foundAfter(store, work, undefined, 1 + dice.below(40));
    assert.ok(findings.length > 0, `tampering ${number} is not found: ${what}`);
    const kind = what.split(':')[0] as string;
    counted[kind] = (counted[kind] ?? 0) + 1;
    progress(number + 1);
  }
  // Of few, by chance, a kind may not be there.
  const least = times < 1_000 ? 0 : 10;
  assert.deepEqual(
    kinds.filter(kind => (counted[kind] ?? 0) < least),
    [],
    'each kind was there',
  );
  assert.deepEqual((await store.read(tx => verified(tx))).findings, [], 'and the untouched trail is whole');
  return counted;
};
