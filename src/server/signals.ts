/** How the process ends, and what it does when it is told something by a signal. */

import type { Server as TlsServer } from 'node:https';
import type { FastifyInstance } from 'fastify';
import type { Tls } from './tls.ts';

/** What nobody caught may have left anything behind: the process ends at once, and whoever watches it starts another. */
export const endOnFault = (app: FastifyInstance): void => {
  // A rejection that nobody handles comes here too.
  process.on('uncaughtException', err => {
    app.log.fatal({ err }, 'a fault that nothing caught ends the server');
    process.exit(1);
  });
};

/** In milliseconds, within the ten seconds that whoever sends the signal waits before it kills. */
const longestStop = 9500;

export const endLate = (app: FastifyInstance): void => {
  const end = () => {
    app.log.fatal('the stop took too long, and was cut short');
    process.exit(1);
  };
  setTimeout(end, longestStop).unref();
};

export const stopOnSignal = (end: () => Promise<void>): void => {
  let stopping = false;
  const stop = async (): Promise<void> => {
    // A terminal and the launcher may both pass on one Ctrl-C.
    if (stopping) return;
    stopping = true;
    await end();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // npm hands a signal to the shell between us, which dies of it without a word: an orphan under npm stops too.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && stop(), 250).unref();
};

/** A hangup is how a renewed certificate is announced; without TLS there is nothing to do, and no reason to die. */
export const reloadOnHangup = (app: FastifyInstance, tls: Tls | undefined): void => {
  process.on('SIGHUP', () => {
    if (!tls) return app.log.info('hangup: no certificate is read again, since TLS is off');
    try {
      const { context, news } = tls.load();
      (app.server as TlsServer).setSecureContext(context);
      app.log.info(`hangup: ${news}`);
    } catch (error) {
      app.log.error(`hangup: ${(error as Error).message}; the certificate of before stays in use`);
    }
  });
};
