/** Eleven callers by five operations by states: who sees and changes team access, in one table. */

import { testMatrix } from './support/matrix.ts';
import { grantBody } from './support/world.ts';

/**
 * Project `production` has these rows: `leads` (admin), `stewards` (custom, teams = manage), `viewers` (custom, teams = read),
 * `devs` (write) and the secret team `ghosts` (write). Without a row are `idle` (visible), `shadow` (secret),
 * and `foreign`, a team of another organization.
 *
 * list: the rows seen, by the first letter of the team. Other cells: the status.
 * A body is bad when its level is unknown; a project or a row is absent when its id belongs to nothing.
 */
// biome-ignore format: a table, to be checked against the document
const table = `
                                           | list      show        | POST                                          | PATCH                    | DELETE
caller                                     | rows      devs ghosts | idle shadow foreign again bad(body) absent    | devs ghosts bad absent   | devs ghosts absent
owner                                      | l s v d g 200  200    | 200  200    404     422   422       404       | 200  200    422 404      | 204  204    404
organization token                         | l s v d g 200  200    | 200  200    404     422   422       404       | 200  200    422 404      | 204  204    404
owners-team token                          | l s v d g 200  200    | 200  200    404     422   422       404       | 200  200    422 404      | 204  204    404
project admin                              | l s v d g 200  200    | 200  404    404     422   422       404       | 200  200    422 404      | 204  204    404
holder of teams = manage                   | l s v d g 200  200    | 200  404    404     422   422       404       | 200  200    422 404      | 204  204    404
holder of teams = read                     | l s v d - 200  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
member of a visible team with access       | - - - d - 200  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
member of a secret team                    | - - - - g 404  200    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
plain member                               | - - - - - 404  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
member of another organization             | 404       404  404    | 404  404    404     404   404       404       | 404  404    404 404      | 404  404    404
revoked token                              | 401       401  401    | 401  401    401     401   401       401       | 401  401    401 401      | 401  401    401
`;

const grants = {
  leads: { access: 'admin' },
  stewards: { access: 'custom', 'project-access': { teams: 'manage' } },
  viewers: { access: 'custom', 'project-access': { teams: 'read' } },
  devs: { access: 'write' },
  ghosts: { access: 'write' },
};

testMatrix({
  place: 'project',
  table,
  size: 11,
  rows: Object.keys(grants),
  known: 'devs',
  unknownLevel: 'plan',
  callers: {
    'project admin': 'leads',
    'holder of teams = manage': 'stewards',
    'holder of teams = read': 'viewers',
    'member of a visible team with access': 'devs',
    'member of a secret team': 'ghosts',
  },
  body: grantBody,
  furnish: async ground => {
    const { directory, owner, here } = ground;
    const place = await directory.project(owner, here, 'production');
    const rows: Record<string, string> = {};
    for (const [team, attributes] of Object.entries(grants))
      rows[team] = await directory.grant(owner, place, await ground.settle(team), attributes);
    return { place, rows };
  },
});
