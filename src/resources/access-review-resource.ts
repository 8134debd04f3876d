/** The rows of an access review: what one user holds of one permission on one project, and why. In two forms. */

import { allPermissions, type Permission, type Value } from '../core/access.ts';
import type { Member, ProjectHeld } from '../store/review.ts';
import { csvCells, csvMediaType, csvRow, csvText } from '../wire/csv.ts';
import { identifier, mediaType } from '../wire/document.ts';
import { count, exactly, listOf, oneOf, relatedAny, resource, Type, text } from '../wire/schemas.ts';
import { type Reason, ReasonOf, shownOrigin } from './effective-access-resource.ts';

/** How far the organization's audit trail was at the first row and after the last: equal, they are one state of it. */
export type Revisions = { readonly first: number; readonly last: number };

/**
 * A row in parts: those of the member, the project, the permission and each reason, in the order
 * member, project, permission, (reason, what it gives) …, permission, member, project, member.
 * Each is made once for all the rows that have it, since most of a review is repetition.
 */
export type Form = {
  readonly head: string;
  readonly ofMember: (member: Member) => readonly [string, string, string];
  readonly ofProject: (project: ProjectHeld) => readonly [string, string];
  readonly ofPermission: (permission: Permission, value: Value | null) => readonly [string, string];
  readonly ofReason: (reason: Reason) => string;
  /** Whether that is all that there is of the permission, or something higher is given as well. */
  readonly ofGift: (value: Value | null, isAll: boolean) => string;
  readonly betweenReasons: string;
  /** Every row begins with it, and the first must not. */
  readonly betweenRows: string;
  readonly tail: (revision: Revisions, rows: number) => string;
};

// JSON:API

const type = 'access-review-rows';

const anyValue = Type.Unsafe<Value>({ enum: [...new Set(allPermissions.flatMap(({ chain }) => chain.slice(1)))] });

const AccessReviewRow = resource(
  type,
  {
    username: text,
    email: text,
    'project-name': text,
    permission: oneOf(...allPermissions.map(({ name }) => name)),
    value: anyValue,
    reasons: listOf(ReasonOf(anyValue)),
  },
  { user: relatedAny('users'), project: relatedAny('projects') },
  null,
);

const Document = exactly({
  data: listOf(AccessReviewRow),
  meta: exactly({ 'total-count': count, revision: exactly({ first: count, last: count }) }),
});

/** The members of an object without the braces around them. */
const bare = (value: object): string => JSON.stringify(value).slice(1, -1);

const asJson: Form = {
  head: '{"data":[',
  ofMember: ({ id, username, email }) => [
    `,{"id":"${id}:`,
    `,${bare({ username, email })}`,
    `,${bare({ user: { data: identifier('users', id) } })}}}`,
  ],
  ofProject: ({ id, name }) => [
    `${id}:`,
    `,${bare({ 'project-name': name })}},"relationships":{${bare({ project: { data: identifier('projects', id) } })}`,
  ],
  ofPermission: ({ name }, value) => [
    `${name}","type":"${type}","attributes":{${bare({ permission: name, value })},"reasons":[`,
    ']',
  ],
  ofReason: reason => `{${bare(shownOrigin(reason))},`,
  ofGift: value => `${bare({ value })}}`,
  betweenReasons: ',',
  betweenRows: ',',
  tail: (revision, rows) => `],"meta":${JSON.stringify({ 'total-count': rows, revision })}}`,
};

// CSV

/** A name that could be read as more than a name stands in quotes. */
const plainly = (name: string): string => (/[;:()"]/.test(name) ? JSON.stringify(name) : name);

const asCsv: Form = {
  head: csvRow(['user id', 'username', 'email', 'project id', 'project', 'permission', 'value', 'origins']),
  ofMember: ({ id, username, email }) => [`${csvCells([id, username, email])},`, '', ''],
  ofProject: ({ id, name }) => [`${csvCells([id, name])},`, ''],
  ofPermission: ({ name }, value) => [`${csvCells([name, `${value}`])},"`, '"\r\n'],
  ofReason: ({ scope, team, by }) => csvText(`${scope}: ${plainly(team?.name ?? '')} (${by})`),
  ofGift: (value, isAll) => (isAll ? '' : ` gives ${value}`),
  betweenReasons: '; ',
  betweenRows: '',
  tail: () => '',
};

export const forms: Readonly<Record<string, Form>> = { [mediaType]: asJson, [csvMediaType]: asCsv };
export const formSchemas = { [mediaType]: Document, [csvMediaType]: text };
