/** An organization's own tokens: one that acts as an owner, one that reads the audit trail, and one that asks who may do what. */

import { mayManageOrganization, visibleTeams } from '../core/authority.ts';
import { Fault, found } from '../core/fault.ts';
import { inOrganizationNamed, standing } from '../store/standing.ts';
import { auditTrails, decisions } from '../store/token.ts';
import { single } from './authentication-token-resource.ts';
import { creating, type Holder, revoking, type Slot, showing } from './authentication-tokens.ts';
import type { Request } from './request.ts';

const path = '/api/v2/organizations/:organization/authentication-token';

/** By the query's word for it. Whatever else it says is refused: to give out the one token for another would be giving too much. */
const slotOf = (request: Request<typeof path>): Slot => {
  switch (request.parameter('token')) {
    case undefined:
      return { slot: single };
    case auditTrails:
      return { slot: auditTrails, lasting: true };
    case decisions:
      return { slot: decisions };
    default: {
      const detail = `token must be ${auditTrails} or ${decisions}, or absent for the organization's own`;
      throw new Fault({ kind: 'bad parameter', parameter: 'token', detail });
    }
  }
};

const reach = async (request: Request<typeof path>): Promise<Holder & Slot> => {
  const place = inOrganizationNamed(request.params.organization);
  const stand = found(await standing(request.tx, request.caller, place), mayManageOrganization);
  const { organization } = stand;
  const owner = { type: 'organizations', id: organization } as const;
  return { owner, organization, sight: visibleTeams(stand), ...slotOf(request) };
};

const told = (summary: string) => ({
  summary: `${summary}, or with token=${auditTrails} or token=${decisions} that one`,
  filters: ['token'],
  notes: {
    token: { means: "Which of the organization's tokens; its own where it is absent", words: [auditTrails, decisions] },
  },
});

export const organizationTokens = [
  creating(path, told("Create the organization's token and revoke the one before"), reach),
  showing(path, told("Show the organization's token"), reach),
  revoking(path, told("Revoke the organization's token"), reach),
];
