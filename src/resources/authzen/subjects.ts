/** Who asks, about whom, and what those hold. */

import { mayAsk, mayAskAboutAnyone, type Standing } from '../../core/authority.ts';
import { Fault, found } from '../../core/fault.ts';
import type { Holding } from '../../store/holdings.ts';
import { factsOfOne } from '../../store/one-question.ts';
import { type Facts, factsAbout, type Named, type TokenAsked, tokensAsked } from '../../store/questions.ts';
import { inOrganizationWithRevision, withRevision } from '../../store/standing.ts';
import { single } from '../authentication-token-resource.ts';
import type { Incoming, Request } from '../request.ts';

/** An organization that is asked, and how the caller stands there. */
export type Asking = {
  readonly stand: Standing;
  readonly name: string;
  readonly userTokens: boolean;
  /** Told to those who may ask about anyone: to others, it would tell of changes that they must not see. */
  readonly revision: number | undefined;
  /** Of one plain question; null where it is none, or about what is not there. */
  readonly packedFacts: string | null;
};

type InOrganization<B> = Request<`/organizations/:organization/${string}`, B>;

/** What all questions have in common: they are asked in an organization. */
export const ofQuestions = {
  family: 'authzen',
  since: 'not of the interface',
  at: ({ params }: Incoming) => inOrganizationWithRevision(params.organization ?? ''),
  success: 200,
  failures: [],
} as const;

/** Whoever may ask nothing of the kind here learns nothing of its flaws, nor whether there is such an organization. */
export const asked = async <B>(
  request: InOrganization<B>,
  may = mayAsk,
): Promise<{ readonly asking: Asking; readonly body: B }> => {
  const { caller, here: place } = request;
  const here = found(place && withRevision(place), ({ stand }) => may(stand, caller));
  if (request.rawBody === undefined) throw new Fault({ kind: 'bad request', detail: 'The body is empty.' });
  const revision = mayAskAboutAnyone(here.stand, caller) ? here.revision : undefined;
  return { asking: { ...here, revision }, body: request.body() };
};

/** What a subject holds, wherever; or why it holds nothing, where there is more to say than that it is not known. */
export type Known = {
  readonly organizationToken: boolean;
  readonly teams: readonly Holding[];
};
export type Holdings = { readonly known?: Known; readonly reason?: string };

const why = {
  unknown: 'There is no such token of this organization, its teams or its members.',
  expired: 'The token has expired.',
  closed: 'The organization takes no tokens of users.',
  other: 'A token of this kind acts for nobody.',
};

const ofTeams = (facts: Facts, subject: Named): Holdings => {
  const teams = facts.teamsOf(subject);
  return teams ? { known: { organizationToken: false, teams } } : {};
};

/** The facts about subjects in places, and the word on each subject. */
export type Knowledge = { readonly facts: Facts; readonly holdingsOf: (subject: Named) => Holdings };

export const knowledge = async (
  { tx, now }: Pick<Request, 'tx' | 'now'>,
  { stand, userTokens }: Asking,
  subjects: readonly Named[],
  places: readonly Named[],
): Promise<Knowledge> => {
  const tokenIds = [...new Set(subjects.filter(({ type }) => type === 'token').map(({ id }) => id))];
  const tokens = tokenIds.length === 0 ? new Map<string, TokenAsked>() : await tokensAsked(tx, tokenIds);
  const holders = [...tokens.values()].map(({ holder }) => holder);
  const facts = await factsAbout(tx, stand.organization, [...subjects, ...holders], places);

  const ofToken = (token: TokenAsked | undefined): Holdings => {
    const isOrganization = token?.holder.type === 'organization';
    const isHere = isOrganization
      ? token.holder.id === stand.organization
      : token && ofTeams(facts, token.holder).known;
    if (!token || !isHere) return { reason: why.unknown };
    if (token.expiredAt !== null && token.expiredAt <= now) return { reason: why.expired };
    if (token.holder.type === 'user' && !userTokens) return { reason: why.closed };
    if (!isOrganization) return ofTeams(facts, token.holder);
    return token.slot === single ? { known: { organizationToken: true, teams: [] } } : { reason: why.other };
  };
  return {
    facts,
    holdingsOf: subject => (subject.type === 'token' ? ofToken(tokens.get(subject.id)) : ofTeams(facts, subject)),
  };
};

/** The same about one user or one team before one resource, of which the caller's place tells. */
export const knowledgeOfOne = ({ stand, packedFacts }: Asking, subject: Named, resource: Named): Knowledge => {
  const facts = factsOfOne(stand.organization, subject, resource, packedFacts);
  return { facts, holdingsOf: each => ofTeams(facts, each) };
};
