/** The rows of a review as they go out. Hardly anything is made for a row alone: there may be millions. */

import { allPermissions, nothing, type Permission, type Permissions } from '../core/access.ts';
import { wholeOutlook } from '../core/authority.ts';
import type { Member, Piece, ProjectHeld } from '../store/review.ts';
import type { TeamGrant } from '../store/standing.ts';
import type { Form } from './access-review-resource.ts';
import { reasonsFor } from './effective-access-resource.ts';
import type { Out } from './operation.ts';

type Holding = Member['teams'][number];

/** A reason, and the part of the rows that tells it. */
type Told = { readonly gives: Permissions; readonly text: string };

/** A permission, and the parts of the rows that tell its values, lowest first. */
type Worded = {
  readonly permission: Permission;
  readonly parts: readonly (readonly [string, string])[];
  readonly gifts: readonly { readonly all: string; readonly less: string }[];
};

const worded = (form: Form, permission: Permission): Worded => ({
  permission,
  parts: permission.chain.map(value => form.ofPermission(permission, value)),
  gifts: permission.chain.map(value => ({ all: form.ofGift(value, true), less: form.ofGift(value, false) })),
});

export class Rows {
  readonly #form: Form;
  readonly #out: Out;
  readonly #permissions: readonly Worded[];
  readonly #projects = new Map<string, { readonly name: string; readonly parts: ReturnType<Form['ofProject']> }>();
  count = 0;

  constructor(form: Form, out: Out) {
    this.#form = form;
    this.#out = out;
    this.#permissions = allPermissions.map(permission => worded(form, permission));
  }

  async add({ members, projects }: Piece): Promise<void> {
    const everywhere = [false, true].map((onDefaultProject): Telling => {
      const known = new Map<string, readonly Told[]>();
      return team => once(known, team.id, () => this.#told(team, onDefaultProject));
    });
    const granted = new Map<TeamGrant, readonly Told[]>();
    for (const member of members) {
      const { teams } = member;
      const ofMember = this.#form.ofMember(member);
      // Where no grant adds to it, it is the same on every project.
      const plain = everywhere.map(told => teams.flatMap(told));
      for (const project of projects) {
        const { grants, onDefaultProject } = project;
        const throughout = everywhere[Number(onDefaultProject)] as Telling;
        const byGrant = (team: Holding, grant: TeamGrant): readonly Told[] =>
          once(granted, grant, () => this.#told(withGrant(team, grant), onDefaultProject));
        const toldHere = (team: Holding): readonly Told[] => {
          const grant = grants.get(team.id);
          return grant ? byGrant(team, grant) : throughout(team);
        };
        const isPlain = grants.size === 0 || !teams.some(({ id }) => grants.has(id));
        const reasons = isPlain ? plain[Number(onDefaultProject)] : teams.flatMap(toldHere);
        if (!this.#addPlace(ofMember, this.#partsOf(project), reasons ?? [])) await this.#out.sent();
      }
    }
  }

  /** The next piece often has the same projects. */
  #partsOf(project: ProjectHeld): ReturnType<Form['ofProject']> {
    const known = this.#projects.get(project.id);
    if (known?.name === project.name) return known.parts;
    if (this.#projects.size >= mostKept) this.#projects.clear();
    const parts = this.#form.ofProject(project);
    this.#projects.set(project.id, { name: project.name, parts });
    return parts;
  }

  #told(team: Holding, onDefaultProject: boolean): readonly Told[] {
    const reasons = reasonsFor({ organizationToken: false, teams: [team] }, onDefaultProject, wholeOutlook);
    return reasons.map(reason => ({ gives: reason.gives, text: this.#form.ofReason(reason) }));
  }

  /** Whether there is room for more. */
  #addPlace(
    [first, fourth, last]: ReturnType<Form['ofMember']>,
    [second, fifth]: ReturnType<Form['ofProject']>,
    reasons: readonly Told[],
  ): boolean {
    const out = this.#out;
    let set = nothing;
    for (const { gives } of reasons) set |= gives;
    let room = true;
    for (const worded of this.#permissions) {
      const { steps, mask } = worded.permission;
      const held = set & mask;
      if (held === nothing) continue;
      const [before, after] = worded.parts[steps.indexOf(held)] as readonly [string, string];
      out.add(this.count++ === 0 ? first.slice(this.#form.betweenRows.length) : first);
      out.add(second);
      out.add(before);
      this.#addReasons(worded, held, reasons);
      out.add(after);
      out.add(fourth);
      out.add(fifth);
      room = out.add(last);
    }
    return room;
  }

  /** Those that give all of it come first. */
  #addReasons({ permission: { steps, mask }, gifts }: Worded, held: Permissions, reasons: readonly Told[]): void {
    const out = this.#out;
    let isFirst = true;
    for (let pass = 0; pass < 2; pass++)
      for (const { gives, text } of reasons) {
        const given = gives & mask;
        if (given === nothing || (given === held) !== (pass === 0)) continue;
        if (!isFirst) out.add(this.#form.betweenReasons);
        isFirst = false;
        out.add(text);
        const gift = gifts[steps.indexOf(given)];
        out.add((pass === 0 ? gift?.all : gift?.less) ?? '');
      }
  }
}

/** Projects whose parts are kept: as many as a piece may have. */
const mostKept = 1000;

const withGrant = (team: Holding, { grant, id }: TeamGrant): Holding => ({ ...team, grant, grantId: id });

type Telling = (team: Holding) => readonly Told[];

/** What is made for a key once, for all who ask. */
const once = <K, V>(known: Map<K, V>, key: K, make: () => V): V => {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
};
