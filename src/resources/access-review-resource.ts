/** The rows of an access review: what one user holds of one permission on one project, and why. In two forms. */

import { allPermissions, type PermissionName, type Value, valueIn } from '../core/access.ts';
import type { Member, ProjectHeld } from '../store/review.ts';
import { csvCells, csvMediaType, csvRow } from '../wire/csv.ts';
import { identifier, mediaType } from '../wire/document.ts';
import { count, exactly, listOf, oneOf, relatedAny, resource, Type, text } from '../wire/schemas.ts';
import { joined, type Reason, ReasonOf, reasonsOf } from './effective-access-resource.ts';

/** What is held of one permission: more than nothing. */
export type Finding = {
  readonly permission: PermissionName;
  readonly value: Value;
  /** Those that give the value itself come first. */
  readonly reasons: ReturnType<typeof reasonsOf>;
};

export const findingsOf = (reasons: readonly Reason[]): Finding[] => {
  const set = joined(reasons);
  return allPermissions
    .filter(({ mask }) => (set & mask) !== 0)
    .map(permission => {
      const value = valueIn(set, permission) as Value;
      const { full = [], less = [] } = Object.groupBy(reasonsOf(reasons, permission), reason =>
        reason.value === value ? 'full' : 'less',
      );
      return { permission: permission.name, value, reasons: [...full, ...less] };
    });
};

/** How far the organization's audit trail was at the first row and after the last: equal, they are one state of it. */
export type Revisions = { readonly first: number; readonly last: number };

/**
 * A row in six parts: two are of the project, three of the member, and in the midst is what is said of one permission,
 * which may be the same in many places. Each is made once for all the rows that have it: most of a review is repetition.
 */
export type Form = {
  readonly head: string;
  readonly ofMember: (member: Member) => readonly [first: string, fourth: string, last: string];
  readonly ofProject: (project: ProjectHeld) => readonly [second: string, fifth: string];
  readonly said: (finding: Finding) => string;
  /** What parts a row from the one before it; every row begins with it, and the first must not. */
  readonly between: string;
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
  said: finding => `${finding.permission}","type":"${type}","attributes":{${bare(finding)}`,
  between: ',',
  tail: (revision, rows) => `],"meta":${JSON.stringify({ 'total-count': rows, revision })}}`,
};

// CSV

/** A name that could be read as more than a name stands in quotes. */
const plainly = (name: string): string => (/[;:()"]/.test(name) ? JSON.stringify(name) : name);

const originsOf = ({ value, reasons }: Finding): string =>
  reasons
    .map(reason => {
      const by = reason['grant-id'] ?? reason['organization-permission'];
      const less = reason.value === value ? '' : ` gives ${reason.value}`;
      return `${reason.scope}: ${plainly(reason['team-name'] ?? '')} (${by})${less}`;
    })
    .join('; ');

const asCsv: Form = {
  head: csvRow(['user id', 'username', 'email', 'project id', 'project', 'permission', 'value', 'origins']),
  ofMember: ({ id, username, email }) => [`${csvCells([id, username, email])},`, '', ''],
  ofProject: ({ id, name }) => [`${csvCells([id, name])},`, ''],
  said: finding => csvRow([finding.permission, `${finding.value}`, originsOf(finding)]),
  between: '',
  tail: () => '',
};

export const forms: Readonly<Record<string, Form>> = { [mediaType]: asJson, [csvMediaType]: asCsv };
export const formSchemas = { [mediaType]: Document, [csvMediaType]: text };
