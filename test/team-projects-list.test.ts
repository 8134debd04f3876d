/** The whole team access of a project at once: read as one list, and made to be as a list says. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../src/store/sql.ts';
import { fresh, idsOf, pointers } from './support/answers.ts';
import type { Answer, Json } from './support/client.ts';
import { Dice, printSeed, testSeed, toRepeat } from './support/dice.ts';
import { custom, Office } from './support/office.ts';
import { randomAccess } from './support/random-world.ts';
import type { Actor } from './support/world.ts';

let office: Office;
let owner: Actor;
before(async () => {
  office = await Office.open();
  ({ owner } = office);
});
after(() => office.close());

const listOf = (project: string): string => `/projects/${project}/team-projects`;
const paged = (project: string): string => `/team-projects?filter[project][id]=${project}&page[size]=100`;

/** What a list is to say of one team. */
const item = (team: string, attributes: Json = { access: 'read' }, more: Json = {}) => ({
  type: 'team-projects',
  ...more,
  attributes,
  relationships: { team: { data: { type: 'teams', id: team } } },
});

const teamOf = ({ relationships }: Json): string => relationships.team.data.id;
const accessByTeam = ({ body }: Answer): Record<string, Json> =>
  Object.fromEntries(body.data.map((grant: Json) => [teamOf(grant), grant.attributes]));

const teams = (count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, () => office.team()));

/** A project with a grant for each of these teams. */
const projectWith = async (...grants: [team: string, attributes: Json][]): Promise<string> => {
  const project = await office.project();
  for (const [team, attributes] of grants) await office.grant(project, team, attributes);
  return project;
};

const succeeded = async (answer: Promise<Answer>): Promise<Answer> => {
  const { status, text } = await answer;
  assert.equal(status, 200, text);
  return answer;
};

type Row = [id: string, team: string, access: string, chosen: number, beyond: number, createdAt: string];
const rowsOf = (project: string): Promise<Row[]> =>
  office.directory.server.store.read(tx =>
    tx.rows<Row>(sql`
      select id, team_id, access, chosen, beyond, created_at
      from team_projects
      where project_id = ${project}
      order by created_at, id`),
  );

type Told = { action: string; resource: string; id: string; before: Json; after: Json; request: string };
const trailOf = async (project: string): Promise<Told[]> => {
  const rows = await office.directory.server.store.read(tx =>
    tx.rows<[string, string, string, string | null, string | null, string]>(sql`
      select action, resource_type, resource_id, before_change, after_change, request_id
      from audit_events
      where resource_id = ${project}
      order by position`),
  );
  return rows.map(([action, resource, id, before, after, request]) => ({
    action,
    resource,
    id,
    before: JSON.parse(before ?? 'null'),
    after: JSON.parse(after ?? 'null'),
    request,
  }));
};

describe('GET the whole list', () => {
  test('200 with every grant, unpaged, as and in the order of the paged list', async () => {
    const all = await teams(25);
    const project = await projectWith(...all.map((team): [string, Json] => [team, { access: 'read' }]));
    const whole = await succeeded(owner.get(listOf(project)));
    const pages = await owner.get(paged(project));
    assert.equal(whole.body.data.length, 25);
    assert.deepEqual(whole.body, { data: pages.body.data });
  });

  test('200 and an empty list where no team has access', async () => {
    assert.deepEqual((await succeeded(owner.get(listOf(await office.project())))).body, { data: [] });
  });

  test('shows to each caller what the paged list shows, and is 404 where that is', async () => {
    const [secret, open] = [await office.team([], { visibility: 'secret' }), await office.team()];
    const project = await projectWith([secret, { access: 'admin' }], [open, { access: 'write' }]);
    const outsider = (await office.directory.user(fresh('outsider'))).actor;
    const member = (await office.member({ visibility: 'secret' })).actor;
    const reader = await office.granted({
      on: project,
      access: { access: 'custom', 'project-access': { teams: 'read' } },
    });
    const admin = await office.granted({ on: project, access: { access: 'admin' } });
    const counts = [];
    for (const caller of [outsider, member, reader, admin, owner, await office.organizationToken()]) {
      const [whole, pages] = [await caller.get(listOf(project)), await caller.get(paged(project))];
      assert.equal(whole.status, pages.status);
      assert.deepEqual(whole.body.data, pages.body.data);
      counts.push(whole.body.data?.length ?? whole.status);
    }
    assert.deepEqual(counts, [404, 0, 3, 4, 4, 4]);
  });

  test('a hidden grant changes no byte, its tag included', async () => {
    const project = await office.project();
    const reader = await office.granted({
      on: project,
      access: { access: 'custom', 'project-access': { teams: 'read' } },
    });
    const before = await reader.get(listOf(project));
    await office.grant(project, await office.team([], { visibility: 'secret' }), { access: 'admin' });
    const after = await reader.get(listOf(project));
    assert.equal(after.text, before.text);
    assert.equal(after.headers.etag, before.headers.etag);
  });
});

describe('PUT the whole list', () => {
  test('200: adds, changes and removes to match, and says what it did', async () => {
    const [stays, changes, goes, comes] = (await teams(4)) as [string, string, string, string];
    const project = await projectWith(
      [stays, { access: 'write' }],
      [changes, { access: 'read' }],
      [goes, { access: 'admin' }],
    );
    const [kept, raised, gone] = idsOf(await owner.get(listOf(project)));
    const wanted = [
      item(comes, { access: 'maintain' }),
      item(changes, { access: 'admin' }),
      item(stays, { access: 'write' }),
    ];
    const answer = await succeeded(owner.put(listOf(project), wanted));
    const [, , added] = idsOf(answer);
    assert.deepEqual(idsOf(answer), [kept, raised, added]);
    assert.deepEqual(answer.body.meta, { added: [added], changed: [raised], removed: [gone], unchanged: 1 });
    assert.deepEqual(
      answer.body.data.map((grant: Json) => [teamOf(grant), grant.attributes.access]),
      [
        [stays, 'write'],
        [changes, 'admin'],
        [comes, 'maintain'],
      ],
    );
    assert.match(added ?? '', /^tprj-[1-9A-HJ-NP-Za-km-z]{16}$/);
    const { body, headers } = await owner.get(listOf(project));
    assert.deepEqual(body.data, answer.body.data);
    assert.equal(headers.etag, answer.headers.etag);
    assert.equal((await owner.get(`/team-projects/${gone}`)).status, 404);
  });

  test('200: an empty list removes all', async () => {
    const project = await projectWith(...(await teams(3)).map((team): [string, Json] => [team, { access: 'read' }]));
    const ids = idsOf(await owner.get(listOf(project)));
    const { body } = await succeeded(owner.put(listOf(project), []));
    assert.deepEqual(body, { data: [], meta: { added: [], changed: [], removed: ids, unchanged: 0 } });
  });

  test('200: what was read may be sent back, ids and all, and changes nothing', async () => {
    const all = await teams(3);
    const later = { 'project-access': { 'variable-sets': 'none' }, 'workspace-access': { 'policy-overrides': true } };
    const project = await projectWith(
      [all[0] ?? '', { access: 'maintain' }],
      [all[1] ?? '', { access: 'custom', ...later }],
      [all[2] ?? '', { access: 'admin' }],
    );
    // What admin implies beyond the interface is shown once the grant is custom.
    await owner.patch(`/team-projects/${idsOf(await owner.get(listOf(project)))[2]}`, {
      attributes: { access: 'custom' },
    });
    const before = await owner.get(listOf(project));
    const { body, headers } = await succeeded(owner.put(listOf(project), before.body.data));
    assert.deepEqual(body, { data: before.body.data, meta: { added: [], changed: [], removed: [], unchanged: 3 } });
    assert.equal(headers.etag, before.headers.etag);
  });

  test('those added stand in the list as the body has them', async () => {
    const [first, ...more] = (await teams(12)) as [string, ...string[]];
    const project = await projectWith([first, { access: 'read' }]);
    const { body } = await succeeded(
      owner.put(
        listOf(project),
        [...more, first].map(team => item(team)),
      ),
    );
    assert.deepEqual(body.data.map(teamOf), [first, ...more]);
    assert.deepEqual(body.meta.added, idsOf({ body } as Answer).slice(1));
  });

  test('what an item does not name takes the custom default, also where the team has more: a PUT replaces', async () => {
    const team = await office.team();
    const later = { 'project-access': { 'variable-sets': 'write' } };
    const project = await projectWith([team, { ...custom({ runs: 'apply', locking: true }), ...later }]);
    const { body } = await succeeded(owner.put(listOf(project), [item(team, custom({ variables: 'read' }))]));
    const created = await projectWith([team, custom({ variables: 'read' })]);
    assert.deepEqual(body.data[0].attributes, (await owner.get(listOf(created))).body.data[0].attributes);
    assert.equal(body.data[0].attributes['workspace-access'].runs, 'read');
    assert.deepEqual(body.meta.changed, idsOf({ body } as Answer));
  });

  test('a grant that changes keeps its id and its time, and one that does not keeps its row', async () => {
    const [stays, changes] = (await teams(2)) as [string, string];
    const project = await projectWith([changes, { access: 'read' }], [stays, custom({ runs: 'plan' })]);
    const before = await rowsOf(project);
    await succeeded(
      owner.put(listOf(project), [item(stays, custom({ runs: 'plan' })), item(changes, { access: 'write' })]),
    );
    const after = await rowsOf(project);
    assert.deepEqual(after[1], before[1]);
    const [id, team, , , , createdAt] = before[0] as Row;
    assert.deepEqual(after[0], [id, team, 'write', null, null, createdAt]);
  });

  test('from any list to any other: exactly the wanted, unchanged ids stay, and once more changes nothing', async t => {
    printSeed(t);
    const dice = new Dice(testSeed);
    const pool = await teams(9);
    const project = await office.project();
    const seen = { added: 0, changed: 0, removed: 0, unchanged: 0 };
    for (let round = 0; round < 60; round++) {
      const where = `${toRepeat}, round ${round}`;
      const before = await owner.get(listOf(project));
      const present = accessByTeam(before);
      const idOf = Object.fromEntries(before.body.data.map((grant: Json) => [teamOf(grant), grant.id]));
      const wanted = dice
        .some(pool, dice.pick([0, 0.5, 0.9, 1]))
        .toSorted(() => (dice.chance(0.5) ? 1 : -1))
        .map(team => {
          const attributes = present[team] && dice.chance(0.4) ? present[team] : randomAccess(dice);
          return item(team, attributes, idOf[team] && dice.chance(0.3) ? { id: dice.pick([idOf[team], '']) } : {});
        });
      const { body } = await succeeded(owner.put(listOf(project), wanted));

      // What each item makes of nothing is what a creation makes of it.
      const reference = await projectWith(...wanted.map((each): [string, Json] => [teamOf(each), each.attributes]));
      const expected = accessByTeam(await owner.get(paged(reference)));
      assert.deepEqual(accessByTeam({ body } as Answer), expected, where);
      assert.equal(body.data.length, wanted.length, where);

      const isSame = (team: string) => JSON.stringify(present[team]) === JSON.stringify(expected[team]);
      const [old, now] = [Object.keys(present), Object.keys(expected)];
      const ids = (names: string[]) =>
        new Set(names.map(team => body.data.find((each: Json) => teamOf(each) === team).id));
      assert.deepEqual(new Set(body.meta.added), ids(now.filter(team => !old.includes(team))), where);
      assert.deepEqual(new Set(body.meta.changed), ids(now.filter(team => old.includes(team) && !isSame(team))), where);
      const removed = old.filter(team => !now.includes(team)).map(team => idOf[team]);
      assert.deepEqual(new Set(body.meta.removed), new Set(removed), where);
      assert.equal(body.meta.unchanged, now.filter(team => old.includes(team) && isSame(team)).length, where);
      for (const grant of body.data)
        if (old.includes(teamOf(grant))) assert.equal(grant.id, idOf[teamOf(grant)], `${where}: the id stays`);

      const rows = await rowsOf(project);
      const again = await succeeded(owner.put(listOf(project), wanted));
      assert.deepEqual(again.body.data, body.data, where);
      const unchanged = { added: [], changed: [], removed: [], unchanged: wanted.length };
      assert.deepEqual(again.body.meta, unchanged, where);
      assert.deepEqual(await rowsOf(project), rows, where);
      assert.deepEqual((await owner.get(listOf(project))).body.data, body.data, where);
      await owner.delete(`/projects/${reference}`);
      for (const kind of ['added', 'changed', 'removed'] as const) seen[kind] += body.meta[kind].length;
      seen.unchanged += body.meta.unchanged;
    }
    for (const [kind, count] of Object.entries(seen)) assert.ok(count > 10, `${count} ${kind}`);
  });
});

describe('If-Match', () => {
  test('412 where the list is no longer as it was read, and nothing changes; 200 where it is', async () => {
    const [one, other] = (await teams(2)) as [string, string];
    const project = await projectWith([one, { access: 'read' }]);
    const { etag = '' } = (await owner.get(listOf(project))).headers;
    await office.grant(project, other, { access: 'read' });
    const stale = await owner.put(listOf(project), [], { 'if-match': etag });
    assert.equal(stale.status, 412);
    const now = await owner.get(listOf(project));
    assert.equal(now.body.data.length, 2);
    await succeeded(owner.put(listOf(project), [], { 'if-match': now.headers.etag ?? '' }));
    await succeeded(owner.put(listOf(project), [], { 'if-match': '*' }));
  });

  test('the tag of an answer holds for the next PUT, so that they can be chained', async () => {
    const all = await teams(4);
    const project = await office.project();
    let { etag = '' } = (await owner.get(listOf(project))).headers;
    for (let count = 1; count <= all.length; count++) {
      const wanted = all.slice(0, count).map(team => item(team));
      const answer = await succeeded(owner.put(listOf(project), wanted, { 'if-match': etag }));
      etag = answer.headers.etag ?? '';
      assert.equal((await owner.get(listOf(project))).headers.etag, etag);
    }
  });

  test('412 comes before any flaw of the body, and after 404', async () => {
    const project = await office.project();
    const stale = { 'if-match': '"AAAAAAAAAAAAAAAAAAAAAA"' };
    assert.equal((await owner.put(listOf(project), 'nonsense', stale)).status, 412);
    const { actor } = await office.member();
    assert.equal((await actor.put(listOf(project), 'nonsense', stale)).status, 404);
  });

  test('of two PUTs that were made from the same state, one wins and the other is 412', async () => {
    for (let round = 0; round < 5; round++) {
      const [one, other] = (await teams(2)) as [string, string];
      const project = await office.project();
      const { etag = '' } = (await owner.get(listOf(project))).headers;
      const wanted = [item(one), item(other)];
      const answers = await Promise.all(wanted.map(each => owner.put(listOf(project), [each], { 'if-match': etag })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412]);
      const winner = answers.findIndex(({ status }) => status === 200);
      const { body } = await owner.get(listOf(project));
      assert.deepEqual(body.data.map(teamOf), [teamOf(wanted[winner])]);
    }
  });

  test('of several PUTs at once without a tag each is whole: the list is that of one of them', async () => {
    const all = await teams(6);
    const project = await projectWith([all[0] ?? '', { access: 'read' }]);
    const lists = [all.slice(0, 3), all.slice(3), all.slice(1, 5), []];
    const answers = await Promise.all(
      lists.map(list =>
        owner.put(
          listOf(project),
          list.map(team => item(team)),
        ),
      ),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    const left = (await owner.get(listOf(project))).body.data.map(teamOf).toSorted();
    assert.ok(
      lists.some(list => JSON.stringify(list.toSorted()) === JSON.stringify(left)),
      `${left}`,
    );
  });
});

describe('one bad item changes nothing, and all flaws are told', () => {
  const refused = async (wanted: unknown, status: number, actor = owner, project?: string): Promise<string[]> => {
    const [stays, goes] = (await teams(2)) as [string, string];
    const on = project ?? (await projectWith([stays, { access: 'read' }], [goes, { access: 'write' }]));
    const [rows, trail] = [await rowsOf(on), await trailOf(on)];
    const answer = await actor.put(listOf(on), wanted);
    assert.equal(answer.status, status, answer.text);
    assert.deepEqual([await rowsOf(on), await trailOf(on)], [rows, trail], 'nothing is changed');
    return pointers(answer);
  };

  test('422 with a pointer at every flaw of every item, those of the schema and those of the rules', async () => {
    const [a, b, c, d] = (await teams(4)) as [string, string, string, string];
    const found = await refused(
      [
        item(a, { access: 'read', 'workspace-access': { runs: 'apply', locking: true } }),
        item(b, { access: 'plan', 'workspace-access': { create: 'yes' } }),
        item(a),
        { type: 'team-project', attributes: {}, relationships: { team: { data: { type: 'team', id: c } } } },
        item(d, { access: 'read' }, { id: 'tprj-none' }),
        null,
        { type: 'team-projects', attributes: { access: 'read' }, relationships: {} },
        item(b, { access: 'read' }, { id: 5 }),
      ],
      422,
    );
    assert.deepEqual(found, [
      '/data/0/attributes/workspace-access/locking',
      '/data/0/attributes/workspace-access/runs',
      '/data/1/attributes/access',
      '/data/1/attributes/workspace-access/create',
      '/data/2/relationships/team',
      '/data/3/attributes/access',
      '/data/3/relationships/team/data/type',
      '/data/3/type',
      '/data/4/id',
      '/data/5',
      '/data/6/relationships/team',
      '/data/7/id',
      '/data/7/relationships/team',
    ]);
  });

  test('422 for a body that is no list', async () => {
    for (const wanted of [undefined, null, {}, 'x', item(await office.team())])
      assert.deepEqual(await refused(wanted, 422), ['/data']);
  });

  test('422 for an id that is another grant’s, of this project or elsewhere; an empty id counts as none', async () => {
    const [one, other] = (await teams(2)) as [string, string];
    const project = await projectWith([one, { access: 'read' }], [other, { access: 'read' }]);
    const elsewhere = idsOf(await owner.get(listOf(await projectWith([one, { access: 'read' }]))));
    const [ofOne, ofOther] = idsOf(await owner.get(listOf(project)));
    const at = (id: string | undefined, team = one) =>
      refused(
        [item(other), item(team, { access: 'write' }, { id })].slice(team === other ? 1 : 0),
        422,
        owner,
        project,
      );
    assert.deepEqual(await at(ofOther), ['/data/1/id']);
    assert.deepEqual(await at(elsewhere[0]), ['/data/1/id']);
    assert.deepEqual(await at(ofOne, other), ['/data/0/id']);
    const wanted = [item(other, { access: 'read' }, { id: '' }), item(one, { access: 'write' }, { id: ofOne })];
    assert.deepEqual((await succeeded(owner.put(listOf(project), wanted))).body.meta.changed, [ofOne]);
  });

  test('404 with a pointer at every team that is absent, of another organization, or hidden from the caller', async () => {
    const stranger = (await office.directory.user(fresh('stranger'))).actor;
    const rival = fresh('rival');
    await office.directory.organization(stranger, rival);
    const foreign = await office.directory.team(stranger, rival, { name: 'foreign', visibility: 'organization' });
    const secret = await office.team([], { visibility: 'secret' });
    const project = await office.project();
    const admin = await office.granted({ on: project, access: { access: 'admin' } });
    const wanted = [
      item(await office.team()),
      item('team-none'),
      item(foreign),
      item(secret),
      { ...item(secret), type: 'x' },
    ];
    const at = (index: number) => `/data/${index}/relationships/team`;
    assert.deepEqual(await refused(wanted, 404, admin, project), [1, 2, 3, 4].map(at));
    assert.deepEqual(await refused(wanted, 404, owner, project), [1, 2].map(at));
  });

  test('hidden and absent teams are told apart by nothing', async () => {
    const secret = await office.team([], { visibility: 'secret' });
    const project = await office.project();
    const admin = await office.granted({ on: project, access: { access: 'admin' } });
    const texts = [];
    for (const team of [secret, 'team-none', '']) texts.push((await admin.put(listOf(project), [item(team)])).text);
    assert.equal(new Set(texts).size, 1);
  });

  test('a hundred errors at most, however many there are', async () => {
    const many = Array.from({ length: 300 }, () => ({ type: 'x' }));
    assert.equal((await refused(many, 422)).length, 100);
    const lost = Array.from({ length: 300 }, (_, index) => ({
      relationships: { team: { data: { id: `t${index}` } } },
    }));
    assert.equal((await refused(lost, 404)).length, 100);
  });
});

describe('authority', () => {
  const steward = { access: 'custom', 'project-access': { teams: 'manage' }, 'workspace-access': { runs: 'plan' } };

  test('404 for whoever does not manage team access, with one and the same body, whatever is sent', async () => {
    const team = await office.team();
    const project = await projectWith([team, { access: 'read' }]);
    const reader = await office.granted({
      on: project,
      access: { access: 'custom', 'project-access': { teams: 'read' } },
    });
    const maintainer = await office.granted({ on: project, access: { access: 'maintain' } });
    const { actor: member } = await office.member();
    const { actor: outsider } = await office.directory.user(fresh('outsider'));
    const workspaces = await office.holder('manage-workspaces', 'read-projects', 'manage-teams');
    const before = await rowsOf(project);
    const texts = new Set<string>();
    for (const caller of [reader, maintainer, member, outsider, workspaces])
      for (const data of [[], [item(team)], [item('team-none')], 'x', undefined, [{ type: 'x' }]]) {
        const answer = await caller.put(listOf(project), data);
        assert.equal(answer.status, 404);
        texts.add(answer.text);
      }
    texts.add((await owner.put(listOf('prj-none'), [])).text);
    assert.equal(texts.size, 1);
    assert.deepEqual(await rowsOf(project), before);
  });

  test('200 for owners, their team’s token, the organization’s token, project admins and who manages projects', async () => {
    const project = await office.project();
    const { body } = await owner.get('/organizations/acme/teams?q=owners');
    const own = await office.member();
    const wanted = [item(own.team, { access: 'admin' })];
    const callers = [
      owner,
      await office.tokenOf(body.data.find(({ attributes }: Json) => attributes.name === 'owners').id),
      await office.organizationToken(),
      await office.holder('manage-projects'),
    ];
    for (const caller of callers) await succeeded(caller.put(listOf(project), wanted));
    await succeeded(own.actor.put(listOf(project), wanted));
  });

  test('422 at each permission, or the level, that exceeds what the caller holds; what a team has already may stay', async () => {
    const [above, fresher, newer] = (await teams(3)) as [string, string, string];
    const own = await office.member();
    const project = await projectWith([own.team, steward], [above, { access: 'admin' }]);
    const keeping = [item(own.team, steward), item(above, { access: 'admin' })];
    const answer = await own.actor.put(listOf(project), [
      ...keeping,
      item(fresher, { access: 'write' }),
      item(newer, {
        access: 'custom',
        'project-access': { settings: 'update' },
        'workspace-access': { runs: 'apply', move: true },
      }),
    ]);
    assert.equal(answer.status, 422);
    assert.deepEqual(pointers(answer), [
      '/data/2/attributes/access',
      '/data/3/attributes/project-access/settings',
      '/data/3/attributes/workspace-access/move',
      '/data/3/attributes/workspace-access/runs',
    ]);
    const mine = custom({ runs: 'plan' });
    const { body } = await succeeded(own.actor.put(listOf(project), [...keeping, item(newer, mine)]));
    assert.equal(body.meta.unchanged, 2);
    // Lowering gives nothing; to give it back would.
    await succeeded(own.actor.put(listOf(project), [keeping[0], item(above, { access: 'maintain' })]));
    assert.deepEqual(pointers(await own.actor.put(listOf(project), keeping)), ['/data/1/attributes/access']);
  });

  test('a secret team that has access may be kept and changed by name; once removed it is hidden again', async () => {
    const secret = await office.team([], { visibility: 'secret' });
    const own = await office.member();
    const project = await projectWith([own.team, { access: 'admin' }], [secret, { access: 'read' }]);
    const admin = item(own.team, { access: 'admin' });
    await succeeded(own.actor.put(listOf(project), [admin, item(secret, { access: 'write' })]));
    await succeeded(own.actor.put(listOf(project), [admin]));
    const gone = await own.actor.put(listOf(project), [admin, item(secret)]);
    assert.equal(gone.status, 404);
    assert.deepEqual(pointers(gone), ['/data/1/relationships/team']);
  });

  test('whoever takes its own right gets the list that it sees from then on, with its tag', async () => {
    const [other, own] = [await office.team(), await office.member()];
    const project = await projectWith([own.team, { access: 'admin' }], [other, { access: 'read' }]);
    const answer = await succeeded(own.actor.put(listOf(project), [item(own.team), item(other, { access: 'write' })]));
    assert.deepEqual(answer.body.data.map(teamOf), [own.team]);
    assert.equal(answer.body.meta.changed.length, 2);
    const then = await own.actor.get(listOf(project));
    assert.deepEqual(then.body.data, answer.body.data);
    assert.equal(then.headers.etag, answer.headers.etag);
    assert.equal((await own.actor.put(listOf(project), [])).status, 404);
    assert.equal((await owner.get(listOf(project))).body.data.length, 2);
  });
});

describe('the audit trail of a PUT', () => {
  test('one row with the whole lists, and one for each grant that came, changed or went, all of one request', async () => {
    const [stays, changes, goes, comes] = (await teams(4)) as [string, string, string, string];
    const project = await projectWith(
      [stays, { access: 'write' }],
      [changes, { access: 'read' }],
      [goes, { access: 'admin' }],
    );
    const before = await owner.get(listOf(project));
    const { length } = await trailOf(project);
    const wanted = [item(stays, { access: 'write' }), item(changes, custom({ runs: 'plan' })), item(comes)];
    const answer = await succeeded(owner.put(listOf(project), wanted));
    const [main, ...others] = (await trailOf(project)).slice(length);
    const of = ({ body }: Answer, team: string) => body.data.find((grant: Json) => teamOf(grant) === team) ?? null;
    const request = answer.headers['x-request-id'];
    const about = { resource: 'project', id: project, request };
    assert.deepEqual(main, { action: 'set_teams', ...about, before: before.body.data, after: answer.body.data });
    assert.deepEqual(others, [
      { action: 'remove_team', ...about, before: of(before, goes), after: null },
      { action: 'update_team_permissions', ...about, before: of(before, changes), after: of(answer, changes) },
      { action: 'add_team', ...about, before: null, after: of(answer, comes) },
    ]);
  });

  test('one row where nothing changed', async () => {
    const team = await office.team();
    const project = await projectWith([team, { access: 'read' }]);
    const { length } = await trailOf(project);
    await succeeded(owner.put(listOf(project), [item(team)]));
    assert.deepEqual(
      (await trailOf(project)).slice(length).map(({ action }) => action),
      ['set_teams'],
    );
  });

  test('the row has the whole list also where the caller no longer sees it', async () => {
    const [other, own] = [await office.team(), await office.member()];
    const project = await projectWith([own.team, { access: 'admin' }], [other, { access: 'read' }]);
    await succeeded(own.actor.put(listOf(project), [item(other)]));
    const main = (await trailOf(project)).find(({ action }) => action === 'set_teams');
    assert.deepEqual([main?.before.length, main?.after.map(teamOf)], [2, [other]]);
  });

  test('the audit trail endpoint shows each as readers know it, with the team and its permissions', async () => {
    const [changes, goes, comes] = (await teams(3)) as [string, string, string];
    const project = await projectWith([changes, { access: 'read' }], [goes, { access: 'admin' }]);
    const wanted = [item(changes, custom({ runs: 'plan' })), item(comes, { access: 'write' })];
    const answer = await succeeded(owner.put(listOf(project), wanted));
    const { body } = await (await office.organizationToken()).get('/organization/audit-trail');
    const shown = body.data.filter(({ request }: Json) => request.id === answer.headers['x-request-id']);
    const byAction = Object.fromEntries(shown.map(({ resource }: Json) => [resource.action, resource]));
    const { access, ...chosen } = answer.body.data[0].attributes;
    const about = { id: project, type: 'project' };
    assert.equal(shown.length, 4);
    assert.deepEqual(byAction, {
      set_teams: { ...about, action: 'set_teams', meta: null },
      remove_team: { ...about, action: 'remove_team', meta: { team: goes } },
      update_team_permissions: {
        ...about,
        action: 'update_team_permissions',
        meta: { team: changes, permissions: access, ...chosen },
      },
      add_team: { ...about, action: 'add_team', meta: { team: comes, permissions: 'write' } },
    });
  });
});
