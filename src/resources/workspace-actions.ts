/** What is done to a workspace beside changing it: locks, and a deletion that refuses a locked one. */

import { mayAdministerWorkspace, mayDeleteWorkspace, mayLockWorkspace, mayReadWorkspace } from '../core/authority.ts';
import { Fault } from '../core/fault.ts';
import { open, optional, orNull, pagedDocument, upTo } from '../wire/schemas.ts';
import { actorOf } from './authentication-token-resource.ts';
import { list, type Operation, post } from './operation.ts';
import type { Request } from './request.ts';
import { type Lock, save, type Workspace, WorkspaceResource } from './workspace-resource.ts';
import { answer, byId, byName, common, on, reached, removeWorkspace, shownAgain } from './workspaces.ts';

/** Clients send the reason as an attribute without a type, or by itself; the documentation shows the latter. */
export const reason = optional(orNull(upTo(1024)));
const Locking = open({ reason, data: optional(orNull(open({ attributes: optional(open({ reason })) }))) });

const conflict = (detail: string) => new Fault({ kind: 'conflict', detail });

const withLock = async (request: Request, present: Workspace, lock: Lock | null) => {
  await save(request.tx, { ...present, lock });
  return shownAgain(request, present.id);
};

const actions = `${byId}/actions` as const;

const lock = post({
  ...common,
  path: `${actions}/lock`,
  summary: 'Lock a workspace',
  audit: { resource: 'workspace', action: 'lock' },
  body: Locking,
  success: 200,
  answer,
  failures: [404, 409, 422],
  run: async request => {
    const { stand, present, before } = await reached(request, mayLockWorkspace);
    const { reason, data } = request.body();
    if (present.lock) throw conflict('The workspace is already locked.');
    const given = reason ?? data?.attributes?.reason ?? null;
    const answer = await withLock(request, present, { ...actorOf(request.caller), reason: given, visibility: null });
    return { answer, change: { ...on(stand), before: before.data, after: answer.data } };
  },
});

/** In these words a client knows whose lock it is; an organization's token is a user to it, as in the account details. */
const holderNames: Readonly<Record<string, string>> = { users: 'User', teams: 'Team', organizations: 'User' };

const unlock = post({
  ...common,
  path: `${actions}/unlock`,
  summary: 'Unlock a workspace that the caller has locked',
  audit: { resource: 'workspace', action: 'unlock' },
  success: 200,
  answer,
  failures: [404, 409],
  run: async request => {
    const { stand, present, before } = await reached(request, mayLockWorkspace);
    if (!present.lock) throw conflict('The workspace is not locked.');
    const self = actorOf(request.caller);
    // Whose it is exactly may be a secret.
    if (present.lock.type !== self.type || present.lock.id !== self.id)
      throw conflict(
        `The workspace is locked by ${holderNames[present.lock.type]}: force-unlock it, or ask the holder.`,
      );
    const answer = await withLock(request, present, null);
    return { answer, change: { ...on(stand), before: before.data, after: answer.data } };
  },
});

const forceUnlock = post({
  ...common,
  path: `${actions}/force-unlock`,
  summary: 'Unlock a workspace, whoever has locked it',
  audit: { resource: 'workspace', action: 'force_unlock' },
  success: 200,
  answer,
  failures: [404, 409],
  run: async request => {
    const { stand, present, before } = await reached(request, mayAdministerWorkspace);
    if (!present.lock) throw conflict('The workspace is not locked.');
    const answer = await withLock(request, present, null);
    return { answer, change: { ...on(stand), before: before.data, after: answer.data } };
  },
});

const safeDeletion = <const P extends typeof byId | typeof byName>(path: P) =>
  post({
    ...common,
    since: '2022-12-22',
    path: `${path}/actions/safe-delete`,
    summary: 'Delete a workspace unless it is locked',
    audit: { resource: 'workspace', action: 'destroy' },
    success: 204,
    failures: [404, 409],
    run: async request => {
      const { stand, present, before } = await reached(request as never, mayDeleteWorkspace);
      if (present.lock) throw conflict('The workspace is locked and cannot be deleted safely.');
      await removeWorkspace(request.tx, stand);
      return { answer: undefined, change: { ...on(stand), before: before.data, after: null } };
    },
  });

/** State is outside our subject, so nobody reads it; a client asks all the same. */
const remoteStateConsumers = list({
  ...common,
  since: '2021-04-16',
  path: `${byId}/relationships/remote-state-consumers`,
  summary: 'List the workspaces that may read the state of this one: none, since no state is kept here',
  success: 200,
  answer: pagedDocument(WorkspaceResource),
  failures: [404],
  run: async request => {
    const { before } = await reached(request, mayReadWorkspace);
    return request.paged({ items: [], total: 0 }, () => before.data as never);
  },
});

export const workspaceActions: readonly Operation[] = [
  lock,
  unlock,
  forceUnlock,
  safeDeletion(byId),
  safeDeletion(byName),
  remoteStateConsumers,
];
