import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { StartFault } from '../store/store.ts';
import type { Settings } from './settings.ts';

/** The port that it listens on. */
export const listen = async (app: FastifyInstance, { host, port }: Settings): Promise<number> => {
  try {
    // One address: for a name with several, the framework would open further listeners without our handlers on them.
    const { address } = isIP(host) ? { address: host } : await lookup(host, { order: 'ipv4first' });
    // Where the server is, it says itself when it is ready; until then a failed start has one line to say.
    const { level } = app.log;
    app.log.level = 'silent';
    await app.listen({ host: address, port });
    app.log.level = level;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      EADDRINUSE: 'the port is in use',
      EACCES: 'the port needs more rights',
      EADDRNOTAVAIL: 'this machine has no such address',
      ENOTFOUND: 'there is no such host',
      EAI_AGAIN: 'the name of the host is not resolved',
    };
    throw new StartFault(`cannot listen on ${host}:${port}: ${reasons[code ?? ''] ?? message}`);
  }
  const address = app.server.address();
  return typeof address === 'object' && address ? address.port : port;
};

/** How a client on this machine names the host. */
export const reachable = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
};
