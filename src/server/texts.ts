/** What the start prints: lines that work when pasted. */

import { mediaType } from '../wire/document.ts';
import type { fillDemo } from './demo.ts';
import type { Tls } from './tls.ts';

/** How the server is reached: its address, and the certificate that has to be trusted for it. */
type Reach = { readonly url: string; readonly curl: string; readonly anchor: string | undefined };

export const reachOf = (url: string, tls: Tls | undefined): Reach => {
  const anchor = tls?.ownMade ? quoted(tls.certificate) : undefined;
  return { url, curl: anchor === undefined ? 'curl' : `curl --cacert ${anchor}`, anchor };
};

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const get = ({ curl }: Reach, authorization: string, url: string): string => `${curl} -g -H ${authorization} '${url}'`;

const bearer = (token: string): string => `'Authorization: Bearer ${token}'`;

/** `news` is what there is to say of the certificate. */
export const trustText = ({ url, curl, anchor }: Reach, news: string): string => `
${news} To trust it:

  # OpenTofu, Terraform and other Go programs on Linux; elsewhere add it to the system's trusted certificates
  export SSL_CERT_FILE=${anchor}
  # Node
  export NODE_EXTRA_CA_CERTS=${anchor}
  # curl
  ${curl} '${url}/healthz'
`;

export const firstStartText = (reach: Reach, token: string, given: boolean): string => {
  const details = `${reach.url}/api/v2/account/details`;
  return given
    ? `
This is the first start. The site admin is 'admin', and its token is the one you gave. With it in BAILIWICK_ADMIN_TOKEN, try:

  ${get(reach, '"Authorization: Bearer $BAILIWICK_ADMIN_TOKEN"', details)}
`
    : `
This is the first start. The site admin is 'admin'. This is its token; it is not shown again:

  ${token}

Try it:

  ${get(reach, bearer(token), details)}
`;
};

export const demoText = (reach: Reach, demo: Awaited<ReturnType<typeof fillDemo>>): string => {
  const { url, curl } = reach;
  const { project, grantOfRita, rows } = demo;
  const as = (who: string): string => bearer(rows.find(row => row.who === who)?.token ?? '');
  const list = `${url}/api/v2/team-projects?filter[project][id]=${project}`;
  const body = (access: string) => `{"data":{"type":"team-projects","attributes":{"access":"${access}"}}}`;
  return `
The demo: organization 'demo', project 'production' (${project}).

${rows.map(({ who, shows, token }) => `  ${who.padEnd(7)} ${shows}\n          ${token}`).join('\n')}

Lines to try:

  # the owner sees every team's access, the secret one too
  ${get(reach, as('olivia'), list)}
  # a member of the secret team sees its own
  ${get(reach, as('sam'), list)}
  # a custom grant with teams = read sees the visible teams
  ${get(reach, as('cleo'), list)}
  # a plain member sees an empty list, an outsider 404
  ${get(reach, as('nora'), list)}
  ${get(reach, as('otto'), list)}
  # who can apply in 'production', through which team, by which grant or permission
  ${get(reach, as('olivia'), `${url}/api/v2/projects/${project}/effective-access?filter[workspace-access][runs]=apply`)}
  # what raising rita's team would do, without doing it
  ${curl} -X PATCH -H ${as('max')} -H 'Content-Type: ${mediaType}' \\
    -d '${body('maintain')}' '${url}/api/v2/team-projects/${grantOfRita}?dry-run=true'
  # max holds only 'read' here, but manage-projects makes an admin: so max may raise rita's team
  ${curl} -X PATCH -H ${as('max')} -H 'Content-Type: ${mediaType}' \\
    -d '${body('maintain')}' '${url}/api/v2/team-projects/${grantOfRita}'
`;
};
