/** What a write does to effective access, as the audit row tells it to the owners, and a dry run to the caller. */

import { allPermissions, type Value, valueIn } from '../core/access.ts';
import { type Caller, heldBy, seenIn, sees } from '../core/authority.ts';
import {
  type Change,
  difference,
  isLockedOut,
  type Known,
  manages,
  type Place,
  standingIn,
  type View,
  viewOf,
  wholeView,
} from '../core/effect.ts';
import { firstLook, type Look, type PlainHolding, plainHoldingsOn, secondLook } from '../store/effect.ts';
import { type Scope, seenBy } from '../store/effect-scope.ts';
import type { Tx } from '../store/store.ts';
import type { Document } from '../wire/document.ts';
import { count, exactly, flag, listOf, oneOf, optional, orNull, type TSchema, text } from '../wire/schemas.ts';
import { Type } from '../wire/type.ts';

// Shape

const named = exactly({ id: text, name: text });
const value = Type.Unsafe<Value | null>({ type: ['string', 'boolean', 'null'] });

export const EffectSchema = exactly({
  changes: listOf(
    exactly({
      // A name is null to a caller who knows a team by a grant alone, or a project by a workspace in it.
      subject: exactly({ type: oneOf('users', 'teams'), id: text, name: orNull(text) }),
      project: exactly({ id: text, name: orNull(text) }),
      workspace: optional(named),
      permissions: listOf(
        exactly({ permission: oneOf(...allPermissions.map(({ name }) => name)), before: value, after: value }),
      ),
    }),
  ),
  'changes-count': count,
  complete: flag,
  'caller-locked-out': flag,
  'projects-without-admin': listOf(named),
});

type Named = { readonly id: string; readonly name: string };

export type Effect = {
  readonly changes: readonly {
    readonly subject: Change['subject'];
    readonly project: Known;
    readonly workspace?: Named;
    readonly permissions: readonly {
      readonly permission: string;
      readonly before: Value | null;
      readonly after: Value | null;
    }[];
  }[];
  readonly 'changes-count': number;
  readonly complete: boolean;
  readonly 'caller-locked-out': boolean;
  readonly 'projects-without-admin': readonly Named[];
};

/** The document of a dry run, where the write itself answers nothing. */
export const effectDocument = (effect: unknown) => exactly({ meta: exactly({ effect: effect as TSchema<unknown> }) });

/** The schema of a write's answer, with what a dry run adds to it. */
export const withEffectShown = (answer: TSchema, effect: unknown): object => {
  const { properties, ...rest } = answer as unknown as { properties: Record<string, { properties: object }> };
  const { meta } = properties;
  const shown = meta
    ? { ...meta, properties: { ...meta.properties, effect } }
    : exactly({ effect: optional(effect as TSchema<unknown>) });
  return { ...rest, properties: { ...properties, meta: shown } };
};

export const withEffect = (answer: Document | undefined, effect: Effect): object => ({
  ...answer,
  meta: { ...answer?.meta, effect },
});

const mostListed = 200;

const nameOf = ({ id, name }: Named): Named => ({ id, name });

const permissionsIn = (before: number, after: number): Effect['changes'][number]['permissions'] =>
  allPermissions
    .filter(({ mask }) => ((before ^ after) & mask) !== 0)
    .map(permission => ({
      permission: permission.name,
      before: valueIn(before, permission),
      after: valueIn(after, permission),
    }));

/** Many gain or lose the same: it is put into words once. */
const shown = (changes: readonly Change[]): Effect['changes'] => {
  const worded = new Map<string, ReturnType<typeof permissionsIn>>();
  return changes.map(({ subject, project, workspace, before, after }) => {
    const key = `${before} ${after}`;
    const permissions = worded.get(key) ?? permissionsIn(before, after);
    worded.set(key, permissions);
    return { subject, project, ...(workspace && { workspace: nameOf(workspace) }), permissions };
  });
};

const together = (effects: readonly Effect[]): Effect => ({
  changes: effects.flatMap(({ changes }) => changes).slice(0, mostListed),
  'changes-count': effects.reduce((sum, effect) => sum + effect['changes-count'], 0),
  complete: effects.every(({ complete }) => complete) && effects.flatMap(({ changes }) => changes).length <= mostListed,
  'caller-locked-out': effects.some(effect => effect['caller-locked-out']),
  'projects-without-admin': effects.flatMap(effect => effect['projects-without-admin']),
});

const saysNothing = (effect: Effect): boolean =>
  effect.complete &&
  effect['changes-count'] === 0 &&
  !effect['caller-locked-out'] &&
  effect['projects-without-admin'].length === 0;

// Before and after

/** Whether somebody who is no owner still manages the team access of the project, as far as is seen. */
const hasAdmin = (place: Place, holdings: readonly PlainHolding[], view: View): boolean => {
  const seen = view(place);
  return holdings.some(({ project, team, grant }) => {
    if (!seen || !sees(seen.teams, team) || (project !== null && project !== place.project.id)) return false;
    return manages(heldBy(seenIn(seen, { ...team, grant }), place.onDefaultProject));
  });
};

/** What came of what was looked at before the write, as far as is seen. */
const outcome = async (tx: Tx, caller: Caller, look: Look, view: View): Promise<Effect> => {
  const { extent, facts: before } = look;
  const after = await secondLook(tx, look, caller);
  const { changes, count, losing } = difference(before, after, extent, view, mostListed);
  const projects = losing.map(({ project }) => project.id);
  const { holdings, complete } =
    losing.length > 0 ? await plainHoldingsOn(tx, extent.organization, projects) : { holdings: [], complete: true };
  return {
    changes: shown(changes),
    'changes-count': count,
    complete: extent.complete && complete && changes.length === count,
    'caller-locked-out': isLockedOut(before, after, caller, extent.places),
    'projects-without-admin': losing
      .filter(place => complete && !hasAdmin(place, holdings, view))
      .map(({ project }) => nameOf(project)),
  };
};

/** What one write does, organization by organization. */
export class Effects {
  readonly #tx: Tx;
  readonly #caller: Caller;
  readonly #watched: {
    readonly organization: string | null;
    readonly whole: () => Promise<Effect>;
    /** What the caller may see of it, where that is not all. */
    readonly own: (() => Promise<Effect>) | undefined;
  }[] = [];

  constructor(tx: Tx, caller: Caller) {
    this.#tx = tx;
    this.#caller = caller;
  }

  async watch(scope: Scope, isDryRun: boolean): Promise<void> {
    const [tx, caller] = [this.#tx, this.#caller];
    const look = await firstLook(tx, scope, caller);
    const seesAll = !isDryRun || viewOf(look.facts, caller) === 'all';
    // Looked for anew, since there are limits: what the caller does not see must not take the place of what it does.
    const own = seesAll ? undefined : await firstLook(tx, scope, caller, seenBy(standingIn(look.facts, caller)));
    this.#watched.push({
      organization: scope.organization,
      whole: () => outcome(tx, caller, look, wholeView),
      own: own && (() => outcome(tx, caller, own, viewOf(own.facts, caller) as View)),
    });
  }

  /** What each organization's audit row says, and all together as the caller sees it. */
  async told() {
    const found = new Map<string | null, Effect>();
    const seen: Effect[] = [];
    for (const { organization, whole, own } of this.#watched) {
      const effect = await whole();
      found.set(organization, effect);
      seen.push(own ? await own() : effect);
    }
    return {
      in: (organization: string | null): Effect | null => {
        const effect = found.get(organization);
        return effect && !saysNothing(effect) ? effect : null;
      },
      seen: () => together(seen),
    };
  }
}
