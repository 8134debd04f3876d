/** Seed files that are refused: every flaw with its line, its column and a reason. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { jsonFlaw } from '../src/server/json-flaw.ts';
import { readSeedText } from '../src/server/seed-file.ts';
import { secureRandom } from '../src/store/id.ts';
import { newToken } from '../src/store/token.ts';

/** Each as it is printed after the name of the file. */
const flawsIn = async (text: string, isJson = false): Promise<string[]> => {
  const read = await readSeedText(text, isJson);
  assert.ok('flaws' in read, 'it was not refused');
  return read.flaws.map(({ line, column, detail }) => `${line}:${column}: ${detail}`);
};

/** The flaws of the lines that follow the owners team and its organization, which are without any. */
const inside = (lines: string): string => `users:
  - { username: ada, email: ada@example.com, is-admin: true }
organizations:
  - name: acme
    email: a@example.com
    teams:
      - { name: owners, members: [ada] }
      - { name: devs }
${lines}`;

const refusals: Readonly<Record<string, readonly [text: string, ...flaws: string[]]>> = {
  'broken YAML': [
    'users: [\norganizations: []',
    '2:1: Flow sequence in block collection must be sufficiently indented and end with a ]',
  ],
  'broken JSON': ['{ "users": [ }', '1:14: ', '1:14: Flow map must end with a }'],
  'a tab for an indent': ['users:\n\t- {}', '2:1: Tabs are not allowed as indentation'],
  'nothing at all': ['', '1:1: a world is an object with users and organizations'],
  'a list': ['- users', '1:1: a world is an object with users and organizations'],
  'two documents': ['users: []\n---\nusers: []', '2:1: a seed file is one document, and here begins another'],
  'a tag': ['users: !!set {}', '1:8: Unresolved tag: tag:yaml.org,2002:set'],
  'a key twice': ['users: []\nusers: []', '2:1: this key is there twice'],
  'a key twice in JSON': ['{ "users": [],\n  "users": [] }', '2:3: this key is there twice'],
  'a key twice, and a flaw elsewhere': [
    'users: []\nusers: []\nteams: []',
    '2:1: this key is there twice',
    '3:1: teams is not known here',
  ],
  'a key that is no text': ['users: []\n? [a]\n: 1', '2:3: With stringKeys, all keys must be strings'],
  'an unknown key': [inside('    workspaces: []'), '9:5: workspaces is not known here'],
  'an unknown key deep down': [
    inside(
      '    projects:\n      - name: prod\n        team-access: [{ team: devs, access: custom, project-access: { setting: read } }]',
    ),
    '11:71: setting is not known here',
  ],
  'what is required': [
    'users:\n  - username: ada\norganizations:\n  - {}',
    '2:5: email is required',
    '4:5: name is required',
    '4:5: email is required',
    '4:5: an organization needs an owner: a team named owners with a user in it',
  ],
  'a value of another kind': [
    'users:\n  - username: 12\n    email: ada@example.com\n    tokens: {}',
    '2:5: username must be a string',
    '4:5: tokens must be an array',
  ],
  'a null': ['users:\n  - username: ada\n    email:\n', '3:5: email must be a string'],
  'an item of another kind': [
    inside('      - { name: ops, members: [ada, 7] }'),
    '9:37: each of members must be a string',
  ],
  'names that the API refuses': [
    'users:\n  - { username: user-1, email: ada }\norganizations:\n  - name: a b\n    email: x@y\n    teams:\n      - name: " x"\n    projects:\n      - name: p\n        workspaces: [{ name: a b }]',
    '2:7: Username may only contain letters, digits, dots, hyphens and underscores, with 1 to 64 characters, and not begin with user-',
    '2:25: Email must be an e-mail address',
    '4:5: Name may only contain letters, digits, hyphens and underscores, with 1 to 64 characters',
    '4:5: an organization needs an owner: a team named owners with a user in it',
    '7:9: Name must have 1 to 90 characters, without control or invisible characters and with no space at either end',
    '9:9: Name may only contain letters, digits, spaces, hyphens and underscores, with 3 to 40 characters and no space at either end',
    '10:24: Name may only contain letters, digits, hyphens and underscores, with 1 to 90 characters',
  ],
  'an unknown level': [
    inside('    projects:\n      - name: prod\n        team-access:\n          - team: devs\n            access: root'),
    '13:13: access must be one of read, write, maintain, admin, custom',
  ],
  'a permission with a fixed level': [
    inside(
      '    projects:\n      - name: prod\n        team-access: [{ team: devs, access: read, workspace-access: { runs: apply, create: false } }]\n        workspaces:\n          - name: web\n            team-access: [{ team: devs, access: plan, runs: apply, workspace-locking: true }]',
    ),
    "11:71: runs cannot be chosen with the access level 'read': use 'custom'",
    "14:55: runs cannot be chosen with the access level 'plan': use 'custom'",
    "14:68: workspace-locking cannot be chosen with the access level 'plan': use 'custom'",
  ],
  'user tokens disabled without a way to enable them again': [
    inside(
      '      - { name: devs2, token: {}, tokens: [{ description: ci }] }\n    audit-trails-token: {}\n    decisions-token: {}\n    user-tokens-enabled: false',
    ),
    '12:5: user tokens are disabled only where the team owners or the organization has a token',
  ],
  'an unknown organization access': [
    inside('      - { name: ops, organization-access: { rule: true } }'),
    '9:45: rule is not known here',
  ],
  'names that nobody has': [
    inside(
      '      - { name: ops, members: [bob, carl@example.com] }\n    memberships: [{ user: dora }]\n    default-project: main\n    projects:\n      - name: prod\n        team-access: [{ team: sre, access: read }]\n        workspaces: [{ name: web, lock: { by: eve }, team-access: [{ team: sre, access: read }] }]\n    token: { created-by: fred }',
    ),
    "9:32: 'bob' is neither a user nor an e-mail that memberships invites",
    "9:37: 'carl@example.com' is neither a user nor an e-mail that memberships invites",
    "10:21: there is no user 'dora'",
    "11:5: there is no project 'main'",
    "14:25: there is no team 'sre'",
    "15:43: there is no user 'eve', and it is no id of a user, a team or an organization",
    "15:70: there is no team 'sre'",
    "16:14: there is no user 'fred', and it is no id of a user, a team or an organization",
  ],
  'the same twice, whatever its case': [
    `users:
  - { username: ada, email: ada@example.com, is-admin: true }
  - { username: ADA, email: Ada@Example.com }
organizations:
  - name: acme
    email: a@example.com
    memberships: [{ user: ada }, { email: ADA@example.com }, { email: x@example.com }, { email: X@example.com }]
    teams:
      - { name: owners, members: [ada, ADA] }
      - { name: devs }
      - { name: Devs }
    projects:
      - name: prod
        tags: [{ key: a, value: x }, { key: a, value: y }]
        team-access: [{ team: devs, access: read }, { team: DEVS, access: read }]
        workspaces: [{ name: web }]
      - { name: PROD, workspaces: [{ name: Web }] }
  - { name: ACME, email: a@example.com, teams: [{ name: owners, members: [ada] }] }`,
    '3:7: Username has already been taken',
    '3:22: Email has already been taken',
    "7:34: 'ADA@example.com' is a member already",
    "7:88: 'X@example.com' is a member already",
    "9:40: 'ADA' is in the team already",
    '11:11: Name has already been taken',
    '14:40: key is there twice',
    '15:55: The team already has access here',
    '17:11: Name has already been taken',
    '17:38: Name has already been taken',
    '18:7: Name has already been taken',
  ],
  'an id twice, or of another kind': [
    'users:\n  - { id: user-0000000000000001, username: a, email: a@b }\n  - { id: user-0000000000000001, username: b, email: b@b }\n  - { id: ws-0000000000000001, username: c, email: c@b }\n  - { id: user-1, username: d, email: d@b }',
    '3:7: id has already been used',
    '4:7: id must be user- and 16 letters or digits',
    '5:7: id must be user- and 16 letters or digits',
  ],
  'a membership of nobody, or of two': [
    inside('    memberships:\n      - {}\n      - { user: ada, email: b@example.com }'),
    '10:9: a membership names either a user or an email',
    '11:9: a membership names either a user or an email',
  ],
  'no owner': [
    'organizations:\n  - name: acme\n    email: a@example.com\n    memberships: [{ email: b@example.com }]\n    teams: [{ name: owners, members: [b@example.com] }]',
    '2:5: an organization needs an owner: a team named owners with a user in it',
  ],
  'an owners team in capitals, or a secret one': [
    'users: [{ username: ada, email: a@b }]\norganizations:\n  - { name: a, email: a@b, teams: [{ name: Owners, members: [ada] }] }\n  - { name: b, email: a@b, teams: [{ name: owners, visibility: secret, members: [ada] }] }',
    '3:38: The owners team is written in small letters',
    '4:52: The owners team is visible to all members',
  ],
  'the name of the site admin that would be made': [
    'users:\n  - { username: Admin, email: a@b }\n  - { username: b, email: admin@localhost }',
    '2:7: username is the one of the site admin who is made when no user has is-admin: true',
    '3:20: email is the one of the site admin who is made when no user has is-admin: true',
  ],
  'a time that is none': [
    'users:\n  - { username: a, email: a@b, created-at: yesterday }\n  - { username: b, email: b@b, tokens: [{ expired-at: 2026-99-01T00:00:00Z }] }',
    '2:32: created-at must be a time such as 2030-01-31T12:00:00Z',
    '3:43: expired-at is a time that does not exist',
  ],
  'a description twice in a team': [
    inside('      - name: ops\n        tokens: [{ description: ci }, {}, {}, { description: ci }]'),
    '10:49: Description has already been taken',
  ],
  'too many tags': [
    inside(
      `    projects: [{ name: prod, tags: [${Array.from({ length: 11 }, (_, n) => `{ key: k${n} }`).join(', ')}] }]`,
    ),
    '9:30: tags may have 10 at most',
  ],
  'a setting that the API refuses': [
    inside(
      '    projects:\n      - name: prod\n        workspaces: [{ name: web, terraform-version: newest, execution-mode: agent }, { name: ui, execution-mode: agent }]',
    ),
    '11:35: terraform-version must be a version such as 1.9.8, a constraint such as ~> 1.9.0, or latest',
    "11:87: Agent pool must be specified when using 'agent' execution mode",
  ],
  'text that no two databases agree on': [
    'users: [{ username: a, email: "a\\ud800@b" }]',
    '1:24: this has a NUL or half a surrogate pair in it',
  ],
  'an anchor that is not there': ['users: *them', "1:8: there is no anchor 'them' above"],
  'an anchor within itself': ['users: &all [*all]', '1:14: this is nested too deeply'],
  nests: [`users: ${'['.repeat(60)}${']'.repeat(60)}`, '1:58: this is nested too deeply'],
};

describe('a seed file is refused with line, column and reason', () => {
  for (const [what, [text, ...expected]] of Object.entries(refusals))
    test(what, async () => {
      const flaws = await flawsIn(text);
      assert.deepEqual(
        flaws.map((flaw, index) => (expected[index]?.endsWith(' ') ? flaw.slice(0, expected[index].length) : flaw)),
        expected,
      );
    });

  test('a secret that is too short, mistyped or given twice, which the reason does not repeat', async () => {
    const ours = newToken(secureRandom);
    const mistyped = ours.replace(/.$/, last => (last === 'a' ? 'b' : 'a'));
    const tokens = [
      'short',
      'with a space in the middle of it',
      mistyped,
      ours,
      ours,
      'a-token-that-somebody-chose',
      'a-token-that-somebody-chose',
    ];
    const text = inside(
      tokens.map((secret, n) => `      - { name: t${n}, token: { secret: "${secret}" } }`).join('\n'),
    );
    const flaws = await flawsIn(text);
    assert.deepEqual(flaws, [
      '9:30: secret must have 20 to 256 visible ASCII characters without spaces',
      '10:30: secret must have 20 to 256 visible ASCII characters without spaces',
      '11:30: secret looks like a token of ours, but its checksum is wrong',
      '13:30: secret has already been given to another token',
      '15:30: secret has already been given to another token',
    ]);
  });

  test('aliases that stand for more than anybody would write', { timeout: 20_000 }, async () => {
    const levels = 'abcdefghij'.split('');
    const lines = levels.map((name, n) => {
      const items = Array(10).fill(n === 0 ? 'x' : `*${levels[n - 1]}`);
      return `${name}: &${name} [${items.join(', ')}]`;
    });
    assert.deepEqual(await flawsIn(lines.join('\n')), ['5:36: the aliases stand for too much']);
  });

  test('all flaws are told at once, in the order of the file, JSON or YAML', async () => {
    const text = inside(
      '    projects:\n      - name: x\n        nmae: y\n        team-access: [{ team: sre, access: root }]',
    );
    const told = [
      '10:9: Name may only contain letters, digits, spaces, hyphens and underscores, with 3 to 40 characters and no space at either end',
      '11:9: nmae is not known here',
      "12:25: there is no team 'sre'",
      '12:36: access must be one of read, write, maintain, admin, custom',
    ];
    assert.deepEqual(await flawsIn(text), told);
    const json = JSON.stringify({ users: [{ username: 'x', email: 'y', nmae: 1 }] }, null, 2);
    assert.deepEqual(await flawsIn(json), ['5:7: Email must be an e-mail address', '6:7: nmae is not known here']);
  });

  test('as JSON, whatever is YAML alone', async () => {
    const value = 'JSON has a value here: text in double quotes, a number, true, false, null, a list or an object';
    const texts: readonly (readonly [text: string, flaw: string])[] = [
      ['{\n  "users": [],\n}', '3:1: JSON has a key in double quotes here'],
      ['{ "users": [1,] }', `1:15: ${value}`],
      ['users: []', `1:1: ${value}`],
      ['{ users: [] }', '1:3: JSON has a key in double quotes here'],
      ["{ 'users': [] }", '1:3: JSON has a key in double quotes here'],
      ['{ "users": [] } # all', '1:17: JSON ends here'],
      ['{ "users" }', '1:11: JSON has a colon here'],
      ['{ "users" [] }', '1:11: JSON has a colon here'],
      ['{ "users": [] "organizations": [] }', '1:15: JSON has a comma here, or the closing bracket'],
      ['{ "users": [}', `1:13: ${value}`],
      ['{ "users": []', '1:14: JSON has a comma here, or the closing bracket'],
      ['{ "users": 012 }', `1:12: ${value}`],
      ['{ "users": "a\nb" }', `1:12: ${value}`],
      ['', `1:1: ${value}`],
    ];
    for (const [text, flaw] of texts) assert.deepEqual(await flawsIn(text, true), [flaw], text);
    assert.deepEqual(await flawsIn('{ "users": [],\n  "users": [] }', true), ['2:3: this key is there twice']);
    assert.deepEqual(await readSeedText('{ "users": [] }\n', true), { world: { users: [] } });
  });

  test('as JSON, exactly what the engine refuses too', () => {
    const isJson = (text: string): boolean => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    const slip = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...'{}[],:"\\\'0-.eE+u \n\t\x00\x7f#tn'));
    const slipped = fc.tuple(fc.json(), fc.array(slip, { maxLength: 3 })).map(([json, slips]) =>
      slips.reduce((text, [where, gone, put]) => {
        const at = where % (text.length + 1);
        return text.slice(0, at) + put + text.slice(at + gone);
      }, json),
    );
    fc.assert(
      fc.property(slipped, text => assert.equal(jsonFlaw(text) === undefined, isJson(text))),
      { numRuns: 5000 },
    );
  });

  test('with aliases in it, at the place of what is wrong', async () => {
    const text = 'users:\n  - &ada { username: ada, email: ada@example.com }\n  - *ada\norganizations: []';
    assert.deepEqual(await flawsIn(text), [
      '2:12: Username has already been taken',
      '2:27: Email has already been taken',
    ]);
  });
});
