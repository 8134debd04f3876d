/** Fourteen callers by five operations by states: who sees and changes team access to a workspace, in one table. */

import { testMatrix } from './support/matrix.ts';
import { workspaceGrantBody } from './support/world.ts';

/**
 * Workspace `network` in project `production` has these rows: `admins` (admin), `writers` (write), `planners` (plan) and the
 * secret team `ghosts` (read). On the project are `leads` (admin), `keepers` (maintain) and `stewards` (custom, teams =
 * manage). Without a row are `idle` (visible), `shadow` (secret), and `foreign`, a team of another organization.
 *
 * list: the rows seen, by the first letter of the team. Other cells: the status.
 * A body is bad when its level is unknown; a workspace or a row is absent when its id belongs to nothing.
 */
// biome-ignore format: a table, to be checked against the document
const table = `
                                           | list      show            | POST                                          | PATCH                       | DELETE
caller                                     | rows      writers ghosts  | idle shadow foreign again bad(body) absent    | writers ghosts bad absent   | writers ghosts absent
owner                                      | a w p g   200     200     | 200  200    404     422   422       404       | 200     200    422 404      | 204     204    404
organization token                         | a w p g   200     200     | 200  200    404     422   422       404       | 200     200    422 404      | 204     204    404
owners-team token                          | a w p g   200     200     | 200  200    404     422   422       404       | 200     200    422 404      | 204     204    404
workspace admin                            | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
project admin                              | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
project maintainer                         | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
holder of manage-workspaces                | a w p g   200     200     | 200  404    404     422   422       404       | 200     200    422 404      | 204     204    404
holder of teams = manage                   | - - - -   404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
holder of read-workspaces                  | - - - -   404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
member of a visible team with access       | - w - -   200     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
member of a secret team                    | - - - g   404     200     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
plain member                               | 404       404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
member of another organization             | 404       404     404     | 404  404    404     404   404       404       | 404     404    404 404      | 404     404    404
revoked token                              | 401       401     401     | 401  401    401     401   401       401       | 401     401    401 401      | 401     401    401
`;

const grants = { admins: 'admin', writers: 'write', planners: 'plan', ghosts: 'read' };

testMatrix({
  place: 'workspace',
  table,
  size: 14,
  rows: Object.keys(grants),
  known: 'writers',
  unknownLevel: 'maintain',
  callers: {
    'workspace admin': 'admins',
    'project admin': 'leads',
    'project maintainer': 'keepers',
    'holder of manage-workspaces': 'managers',
    'holder of teams = manage': 'stewards',
    'holder of read-workspaces': 'readers',
    'member of a visible team with access': 'writers',
    'member of a secret team': 'ghosts',
  },
  body: workspaceGrantBody,
  furnish: async ground => {
    const { directory, owner, here } = ground;
    const project = await directory.project(owner, here, 'production');
    const place = await directory.workspace(owner, here, 'network', project);
    const rows: Record<string, string> = {};
    for (const [team, access] of Object.entries(grants))
      rows[team] = await directory.workspaceGrant(owner, place, await ground.settle(team), { access });
    const onProject = async (team: string, attributes: object) =>
      directory.grant(owner, project, await ground.settle(team), attributes);
    await onProject('leads', { access: 'admin' });
    await onProject('keepers', { access: 'maintain' });
    await onProject('stewards', { access: 'custom', 'project-access': { teams: 'manage' } });
    await ground.settle('managers', { 'organization-access': { 'manage-workspaces': true } });
    await ground.settle('readers', { 'organization-access': { 'read-workspaces': true } });
    return { place, rows };
  },
});
