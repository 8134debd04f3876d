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

/** What was told within a piece: of teams without a grant, by their ids, and by grants. */
type Known = {
  readonly elsewhere: Map<string, readonly Told[]>;
  readonly onDefaultProject: Map<string, readonly Told[]>;
  readonly granted: Map<TeamGrant, readonly Told[]>;
};

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
  #known: Known = { elsewhere: new Map(), onDefaultProject: new Map(), granted: new Map() };
  count = 0;

  constructor(form: Form, out: Out) {
    this.#form = form;
    this.#out = out;
    this.#permissions = allPermissions.map(permission => worded(form, permission));
  }

  async add({ members, projects }: Piece): Promise<void> {
    this.#known = { elsewhere: new Map(), onDefaultProject: new Map(), granted: new Map() };
    for (const member of members) {
      const place = this.#placesOf(member);
      for (let at = 0; at < projects.length; ) {
        at = this.#addUntilFull(projects, at, place);
        if (at < projects.length) await this.#out.sent();
      }
    }
  }

  /** Adds places from one on, and gives back the first that there was no room for. */
  #addUntilFull(projects: Piece['projects'], from: number, place: (project: ProjectHeld) => boolean): number {
    let at = from;
    while (at < projects.length) if (!place(projects[at++] as ProjectHeld)) return at;
    return at;
  }

  #placesOf(member: Member): (project: ProjectHeld) => boolean {
    const { teams } = member;
    const parts = this.#form.ofMember(member);
    // Where no grant adds to it, it is the same on every project.
    const elsewhere = teams.flatMap(team => this.#toldOf(team, false));
    const onDefault = teams.flatMap(team => this.#toldOf(team, true));
    return project => {
      const { grants, onDefaultProject } = project;
      const isPlain = grants.size === 0 || !teams.some(({ id }) => grants.has(id));
      const plain = onDefaultProject ? onDefault : elsewhere;
      return this.#addPlace(parts, this.#partsOf(project), isPlain ? plain : this.#toldOn(project, teams));
    };
  }

  /** What teams hold on a project, some of them by a grant. */
  #toldOn({ grants, onDefaultProject }: ProjectHeld, teams: readonly Holding[]): readonly Told[] {
    const all: Told[] = [];
    for (const team of teams) {
      const grant = grants.get(team.id);
      const told = grant ? this.#toldBy(team, grant, onDefaultProject) : this.#toldOf(team, onDefaultProject);
      for (const each of told) all.push(each);
    }
    return all;
  }

  /** What a team holds without a grant, told once for all its members. */
  #toldOf(team: Holding, onDefaultProject: boolean): readonly Told[] {
    const known = this.#known[onDefaultProject ? 'onDefaultProject' : 'elsewhere'];
    const told = known.get(team.id) ?? this.#told(team, onDefaultProject);
    known.set(team.id, told);
    return told;
  }

  /** The same with a grant. */
  #toldBy(team: Holding, by: TeamGrant, onDefaultProject: boolean): readonly Told[] {
    const { granted } = this.#known;
    const told = granted.get(by) ?? this.#told({ ...team, grant: by.grant, grantId: by.id }, onDefaultProject);
    granted.set(by, told);
    return told;
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

/** Projects whose parts are kept: a few megabytes. */
const mostKept = 4000;
