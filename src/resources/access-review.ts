/** Who holds what on which project, and why: all of an organization, row by row, for whoever has to answer for it. */

import { mayManageOrganization, wholeOutlook } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { type Bookmark, beginning, type Member, type Piece, type ProjectHeld, pieceAfter } from '../store/review.ts';
import { type Sql, sql } from '../store/sql.ts';
import { standingWithRevision } from '../store/standing.ts';
import { type Form, findingsOf, formSchemas, forms } from './access-review-resource.ts';
import { reasonsFor } from './effective-access-resource.ts';
import { type Out, type Request, type Streaming, stream } from './operation.ts';

const path = '/api/v2/organizations/:organization/access-review';

const narrowed = (request: Request, column: Sql, parameter: string): Sql => {
  const id = request.parameter(parameter);
  return id === undefined ? sql`1 = 1` : sql`${column} = ${id}`;
};

/** Read by somebody who may, at the time. */
const pieceRead = ({ read }: Streaming<typeof path>, bookmark: Bookmark, most: number) =>
  read(async request => {
    const { tx, caller, params } = request;
    const { stand, revision } = found(await standingWithRevision(tx, caller, params.organization), ({ stand }) =>
      mayManageOrganization(stand),
    );
    const reviewed = {
      organization: stand.organization,
      users: narrowed(request, sql`users.id`, 'filter[user][id]'),
      projects: narrowed(request, sql`projects.id`, 'filter[project][id]'),
    };
    return { ...(await pieceAfter(tx, reviewed, bookmark, most)), revision };
  });

/** What is said of a member on a project. Where no grant adds to it, it is the same on every project. */
const sayingsOf = ({ teams }: Member, { said }: Form) => {
  const throughout = new Map<boolean, readonly string[]>();
  const saidOf = (holdings: Member['teams'], onDefaultProject: boolean): readonly string[] =>
    findingsOf(reasonsFor({ organizationToken: false, teams: holdings }, onDefaultProject, wholeOutlook)).map(said);
  return ({ grants, onDefaultProject }: ProjectHeld): readonly string[] => {
    if (teams.some(({ id }) => grants.has(id))) {
      const granted = teams.map(team => ({
        ...team,
        grant: grants.get(team.id)?.grant,
        grantId: grants.get(team.id)?.id,
      }));
      return saidOf(granted, onDefaultProject);
    }
    const known = throughout.get(onDefaultProject) ?? saidOf(teams, onDefaultProject);
    throughout.set(onDefaultProject, known);
    return known;
  };
};

/** The rows, one place at a time. */
class Rows {
  readonly #form: Form;
  readonly #out: Out;
  count = 0;

  constructor(form: Form, out: Out) {
    this.#form = form;
    this.#out = out;
  }

  async add({ members, projects }: Piece): Promise<void> {
    const places = projects.map(project => ({ project, parts: this.#form.ofProject(project) }));
    for (const member of members) {
      const parts = this.#form.ofMember(member);
      const sayings = sayingsOf(member, this.#form);
      for (const place of places)
        if (!this.#addPlace(parts, place.parts, sayings(place.project))) await this.#out.sent();
    }
  }

  /** Whether there is room for more. */
  #addPlace(
    [first, fourth, last]: ReturnType<Form['ofMember']>,
    [second, fifth]: ReturnType<Form['ofProject']>,
    sayings: readonly string[],
  ): boolean {
    const out = this.#out;
    let room = true;
    for (const said of sayings) {
      out.add(this.count++ === 0 ? first.slice(this.#form.between.length) : first);
      out.add(second);
      out.add(said);
      out.add(fourth);
      out.add(fifth);
      room = out.add(last);
    }
    return room;
  }
}

const lastRevision = 'bailiwick-last-revision';

const firstMembers = 8;

export const accessReview = [
  stream({
    family: 'access-review',
    since: 'not of the interface',
    path,
    summary: 'List what every member of an organization may do on every project, and why; only owners may',
    success: 200,
    forms: formSchemas,
    filters: ['filter[user][id]', 'filter[project][id]'],
    failures: [404, 406],
    run: async streaming => {
      let piece = await pieceRead(streaming, beginning, firstMembers);
      const form = forms[streaming.form()] as Form;
      const { revision: first } = piece;
      return {
        headers: { 'bailiwick-revision': `${first}` },
        trailers: [lastRevision],
        flow: async out => {
          const rows = new Rows(form, out);
          out.add(form.head);
          for (;;) {
            await rows.add(piece);
            if (!piece.next) break;
            piece = await pieceRead(streaming, piece.next, piece.most);
          }
          out.add(form.tail({ first, last: piece.revision }, rows.count));
          return { [lastRevision]: `${piece.revision}` };
        },
      };
    },
  }),
];
