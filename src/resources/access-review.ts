/** Who holds what on which project, and why: all of an organization, row by row, for whoever has to answer for it. */

import { mayManageOrganization } from '../core/authority.ts';
import { found } from '../core/fault.ts';
import { type Bookmark, beginning, pieceAfter } from '../store/review.ts';
import { type Sql, sql } from '../store/sql.ts';
import { standingWithRevision } from '../store/standing.ts';
import { type Form, formSchemas, forms } from './access-review-resource.ts';
import { Rows } from './access-review-rows.ts';
import { type Streaming, stream } from './operation.ts';
import type { Request } from './request.ts';

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
    request.expectKnownFilters();
    const reviewed = {
      organization: stand.organization,
      users: narrowed(request, sql`users.id`, 'filter[user][id]'),
      projects: narrowed(request, sql`projects.id`, 'filter[project][id]'),
    };
    return { ...(await pieceAfter(tx, reviewed, bookmark, most)), revision };
  });

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
    headers: {
      'Bailiwick-Revision': `How far the audit trail was at the first piece; the trailer ${lastRevision} tells it of the last`,
    },
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
