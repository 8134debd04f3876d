/** The rows of a review as they go out. Hardly anything is made for a row alone: there may be millions. */

import { allPermissions, nothing, type Permission, type Permissions } from '../core/access.ts';
import { wholeOutlook } from '../core/authority.ts';
import type { Member, Piece, ProjectHeld } from '../store/review.ts';
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
  count = 0;

  constructor(form: Form, out: Out) {
    this.#form = form;
    this.#out = out;
    this.#permissions = allPermissions.map(permission => worded(form, permission));
  }

  async add({ members, projects }: Piece): Promise<void> {
    const everywhere = [false, true].map(onDefaultProject => kept(team => this.#told(team, onDefaultProject)));
    const places = projects.map(project => ({
      project,
      throughout: everywhere[Number(project.onDefaultProject)] as Telling,
      granted: kept(team => this.#told(withGrant(team, project), project.onDefaultProject)),
      parts: this.#form.ofProject(project),
    }));
    for (const { teams, ...member } of members) {
      const parts = this.#form.ofMember({ teams, ...member });
      // Where no grant adds to it, it is the same on every project.
      const plain = new Map<Telling, readonly Told[]>();
      for (const { project, throughout, granted, parts: ofProject } of places) {
        let reasons = plain.get(throughout);
        if (teams.some(({ id }) => project.grants.has(id)))
          reasons = teams.flatMap(team => (project.grants.has(team.id) ? granted : throughout)(team));
        else if (!reasons) {
          reasons = teams.flatMap(throughout);
          plain.set(throughout, reasons);
        }
        if (!this.#addPlace(parts, ofProject, reasons)) await this.#out.sent();
      }
    }
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

const withGrant = (team: Holding, { grants }: ProjectHeld): Holding => ({
  ...team,
  grant: grants.get(team.id)?.grant,
  grantId: grants.get(team.id)?.id,
});

type Telling = (team: Holding) => readonly Told[];

/** What is told of a team once, for all its members. */
const kept = (tell: Telling): Telling => {
  const known = new Map<string, readonly Told[]>();
  return team => {
    let told = known.get(team.id);
    if (!told) {
      told = tell(team);
      known.set(team.id, told);
    }
    return told;
  };
};
