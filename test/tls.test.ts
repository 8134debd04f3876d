/** TLS: the certificates it is served with, and that nothing of the plain server's care is lost under it. */

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { selfSigned } from '../src/server/certificate.ts';
import { assertErrors, Client } from './support/client.ts';
import { onlyOn } from './support/engine.ts';
import { chosenToken, type Ground, guard, newGround, type Running, together } from './support/program.ts';
import { heldCreation, raw, rawRequest } from './support/raw.ts';
import { startServer, type TestServer } from './support/server.ts';
import { pasted } from './support/shell.ts';

const day = 24 * 60 * 60 * 1000;
const inDays = (days: number): Date => new Date(Date.now() + days * day);
const ownNames = ['localhost', '127.0.0.1', '::1'];
const newPair = (names: readonly string[] = ownNames, until = inDays(90)) => selfSigned(names, inDays(-1), until);

/** A pair of files in the ground, and the flags that name them. */
const keep = (ground: Ground, { cert, key } = newPair()) => {
  writeFileSync(ground.path('cert.pem'), cert);
  writeFileSync(ground.path('key.pem'), key);
  return { cert, flags: ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem'] };
};

const portOf = async (server: Running): Promise<number> => Number(new URL(await server.url()).port);

/** A handshake as a client makes it that trusts one certificate: the socket, or the reason why there is none. */
const shaken = (port: number, ca: string, servername = 'localhost', options = {}): Promise<TLSSocket | string> =>
  new Promise(resolve => {
    const socket = connectTls({ port, host: '127.0.0.1', servername, ca, ...options });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });

const presented = async (t: TestContext, port: number, ca: string): Promise<string> => {
  const socket = await shaken(port, ca);
  if (typeof socket === 'string') return socket;
  t.after(() => socket.destroy());
  return socket.getPeerX509Certificate()?.fingerprint256 ?? 'none';
};

const fingerprint = (cert: string): string => new X509Certificate(cert).fingerprint256;

describe('a certificate of its own', together, () => {
  const own = (ground: Ground) => ({
    certificate: ground.path('data/tls/certificate.pem'),
    key: ground.path('data/tls/key.pem'),
  });

  test('is made beside the data, and the lines that are printed work when pasted', guard, async t => {
    const ground = await newGround(t);
    const server = ground.start(['--tls-self-signed', '--demo']);
    await server.printed(/team-projects\/tprj-\w+'\n/);
    const { certificate, key } = own(ground);
    if (process.platform !== 'win32')
      for (const file of [key, dirname(key)])
        assert.equal(statSync(file).mode & 0o077, 0, `${file} is for this user alone`);
    assert.match(await server.url(), /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.match(server.out, /A new certificate was made, because there was none/);
    for (const variable of ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'])
      assert.match(server.out, new RegExp(`^ {2}export ${variable}='${certificate}'$`, 'm'));
    const lines = server.out.match(/^ {2}curl (?:.*\\\n)?.*$/gm) ?? [];
    assert.equal(lines.length, 10);
    for (const line of lines)
      assert.match(await pasted(line), /^\{"(status":"ok|data|errors":\[\{"status":"404)/, line);
  });

  test('is for this machine, no authority, and valid no longer than clients accept', guard, async t => {
    const ground = await newGround(t);
    const server = ground.start(['--tls-self-signed']);
    await server.url();
    const text = readFileSync(own(ground).certificate, 'utf8');
    const certificate = new X509Certificate(text);
    assert.ok(certificate.verify(certificate.publicKey), 'signed by its own key');
    assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
    assert.equal(certificate.ca, false, 'whoever trusts it trusts nothing else');
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'], 'for servers alone');
    assert.equal(certificate.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
    const days = (certificate.validToDate.getTime() - certificate.validFromDate.getTime()) / day;
    assert.ok(days > 365 && days <= 825, `${days} days`);
    assert.ok(certificate.validFromDate < new Date());
    const port = await portOf(server);
    assert.equal(await presented(t, port, text), certificate.fingerprint256);
    assert.equal(await shaken(port, text, 'access.example'), 'ERR_TLS_CERT_ALTNAME_INVALID');
    assert.equal(await shaken(port, newPair().cert), 'DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  test('is for the host and for the public URL’s host too', guard, async t => {
    const ground = await newGround(t);
    const flags = ['--tls-self-signed', '--host', '0.0.0.0', '--public-url', 'https://[2001:db8::7]:8443/base'];
    await ground.start(flags).url();
    const { subjectAltName } = new X509Certificate(readFileSync(own(ground).certificate));
    assert.match(`${subjectAltName}`, /0:1, IP Address:2001:DB8:0:0:0:0:0:7$/);
  });

  test('is kept from start to start', guard, async t => {
    const ground = await newGround(t);
    const texts = [];
    for (const news of [/was made/, /^(?!.*was made)/s, /^(?!.*was made)/s]) {
      const server = ground.start(['--tls-self-signed']);
      await server.printed(/curl/);
      await server.stop();
      assert.match(server.out, news);
      texts.push(readFileSync(own(ground).certificate, 'utf8') + readFileSync(own(ground).key, 'utf8'));
    }
    assert.equal(new Set(texts).size, 1);
    assert.deepEqual(readdirSync(ground.path('data/tls')).sort(), ['certificate.pem', 'key.pem']);
  });

  for (const [when, spoil, says] of [
    ['ends within 30 days', own => writePair(own, newPair(ownNames, inDays(29))), /because the one before ends on 20/],
    ['has ended', own => writePair(own, newPair(ownNames, inDays(-0.5))), /because the one before ends on 20/],
    ['is for other names', own => writePair(own, newPair(['localhost', '127.0.0.1'])), /not for ::1/],
    ['has lost its key', own => rmSync(own.key), /because there was none/],
    ['has the key of another', own => writeFileSync(own.key, newPair().key), /is not that of/],
    ['is damaged', own => writeFileSync(own.certificate, 'Dear diary'), /no certificate in PEM/],
  ] as readonly (readonly [string, (own: { certificate: string; key: string }) => void, RegExp])[])
    test(`is made anew, and that is said, when the one on the disk ${when}`, guard, async t => {
      const ground = await newGround(t);
      mkdirSync(dirname(own(ground).key), { recursive: true });
      writePair(own(ground), newPair());
      const good = readFileSync(own(ground).certificate, 'utf8');
      spoil(own(ground));
      const server = ground.start(['--tls-self-signed']);
      await server.printed(/curl/);
      assert.match(server.out, /^A new certificate was made, because /m);
      assert.match(server.out, says);
      const fresh = readFileSync(own(ground).certificate, 'utf8');
      assert.notEqual(fresh, good);
      assert.equal(await presented(t, await portOf(server), fresh), fingerprint(fresh));
    });

  const writePair = (own: { certificate: string; key: string }, { cert, key }: { cert: string; key: string }) => {
    writeFileSync(own.certificate, cert);
    writeFileSync(own.key, key);
  };

  onlyOn('sqlite', () =>
    test('with sqlite::memory: it is kept in ./data/tls, and nothing else is', guard, async t => {
      const ground = await newGround(t);
      const server = ground.start(['--database', 'sqlite::memory:'], { BAILIWICK_TLS_SELF_SIGNED: 'true' });
      assert.equal((await (await server.client()).send('GET', '/readyz')).status, 200);
      await server.stop();
      assert.deepEqual(readdirSync(ground.path('data'), { recursive: true }).sort(), [
        'tls',
        'tls/certificate.pem',
        'tls/key.pem',
      ]);
    }),
  );
});

describe('a certificate of the operator’s', together, () => {
  for (const by of ['flags', 'environment'] as const)
    test(`is served by ${by}, and links are https`, guard, async t => {
      const ground = await newGround(t);
      const { cert, flags } = keep(ground);
      const environment = { BAILIWICK_TLS_CERT: 'cert.pem', BAILIWICK_TLS_KEY: 'key.pem' };
      const more = ['--admin-token', chosenToken];
      const server = by === 'flags' ? ground.start([...flags, ...more]) : ground.start(more, environment);
      const url = await server.url();
      await server.printed(/curl -g .*https:/);
      const client = await server.client(cert);
      const { status, body } = await client.call(chosenToken, 'GET', '/api/v2/organizations');
      assert.equal(status, 200);
      assert.ok(body.links.self.startsWith(`${url}/api/v2/`) && url.startsWith('https://'));
      assert.doesNotMatch(server.out, /--cacert|SSL_CERT_FILE/);
    });

  test('TLS 1.2 and 1.3 are spoken, and nothing older', guard, async t => {
    const ground = await newGround(t);
    const { cert, flags } = keep(ground);
    const port = await portOf(ground.start(flags));
    const old = { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await shaken(port, cert, 'localhost', { ...old, maxVersion });
      assert.ok(typeof socket !== 'string' && socket.getProtocol() === maxVersion, `${maxVersion}: ${socket}`);
      socket.destroy();
    }
    assert.match(`${await shaken(port, cert, 'localhost', { ...old, maxVersion: 'TLSv1.1' })}`, /ALERT|PROTOCOL/);
  });

  test('SIGHUP: the renewed one is used from the next connection on, and open connections stay', guard, async t => {
    const ground = await newGround(t);
    const first = keep(ground);
    const server = ground.start(first.flags);
    const port = await portOf(server);
    const agent = new Agent({ keepAlive: true, ca: first.cert });
    t.after(() => agent.destroy());
    const ask = async (): Promise<{ status: number; reused: boolean }> => {
      const request = get({ port, host: '127.0.0.1', path: '/healthz', agent });
      const [answer] = await once(request, 'response');
      answer.resume();
      await once(answer, 'end');
      return { status: answer.statusCode, reused: request.reusedSocket };
    };
    assert.deepEqual(await ask(), { status: 200, reused: false });
    const second = keep(ground);
    assert.equal(await presented(t, port, first.cert), fingerprint(first.cert), 'not before it is told');
    server.child.kill('SIGHUP');
    await server.logged(/hangup: The certificate in cert\.pem is valid until 20/);
    assert.equal(await presented(t, port, second.cert), fingerprint(second.cert));
    assert.deepEqual(await ask(), { status: 200, reused: true });
    const old = await shaken(port, second.cert, 'localhost', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
    assert.equal(typeof old, 'string', 'no older TLS than before');
    await server.stop();
  });

  test('SIGHUP: a bad one is named in the log, and the one of before goes on', guard, async t => {
    const ground = await newGround(t);
    const { cert, flags } = keep(ground);
    const server = ground.start(flags);
    const port = await portOf(server);
    const spoilt = [
      [() => writeFileSync(ground.path('key.pem'), newPair().key), /hangup: the key in key\.pem is not that of/],
      [() => writeFileSync(ground.path('cert.pem'), 'x'), /hangup: there is no certificate in PEM in cert\.pem/],
      [() => rmSync(ground.path('cert.pem')), /hangup: cannot read the certificate in cert\.pem/],
    ] as const;
    for (const [spoil, says] of spoilt) {
      spoil();
      server.child.kill('SIGHUP');
      await server.logged(says);
      assert.match(server.error, /the certificate of before stays in use/);
      assert.equal(await presented(t, port, cert), fingerprint(cert));
    }
    const mended = keep(ground);
    server.child.kill('SIGHUP');
    await server.logged(/hangup: The certificate/);
    assert.equal(await presented(t, port, mended.cert), fingerprint(mended.cert));
    await server.stop();
  });
});

describe('a start with TLS that cannot succeed says why in one line, and exits with 2', together, () => {
  const flags = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem'];
  const encrypted = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END ENCRYPTED PRIVATE KEY-----\n';
  const write = (name: string, text: string) => (ground: Ground) => writeFileSync(ground.path(name), text);
  const refusals: readonly {
    readonly promise: string;
    readonly args?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    readonly spoil?: (ground: Ground) => void;
    readonly says: RegExp;
  }[] = [
    { promise: 'a certificate without a key', args: flags.slice(0, 2), says: /go together, and --tls-key is missing/ },
    { promise: 'a key without a certificate', args: flags.slice(2), says: /go together, and --tls-cert is missing/ },
    { promise: 'both kinds at once', args: [...flags, '--tls-self-signed'], says: /--tls-self-signed .*goes without/ },
    {
      promise: 'half of each',
      args: [...flags.slice(2), '--tls-self-signed'],
      says: /--tls-self-signed .*goes without/,
    },
    {
      promise: 'a certificate that is missing',
      spoil: ground => rmSync(ground.path('cert.pem')),
      says: /read the certificate in cert\.pem: there is no such file/,
    },
    {
      promise: 'a key that is missing',
      spoil: ground => rmSync(ground.path('key.pem')),
      says: /read the key in key\.pem: there is no such file/,
    },
    { promise: 'a folder for a key', args: [...flags.slice(0, 3), '.'], says: /read the key in \.: it is a folder/ },
    {
      promise: 'a certificate that is none',
      spoil: write('cert.pem', 'Dear diary'),
      says: /no certificate in PEM in cert\.pem/,
    },
    { promise: 'a key that is none', spoil: write('key.pem', 'Dear diary'), says: /no private key in PEM in key\.pem/ },
    {
      promise: 'a key of another certificate',
      spoil: write('key.pem', newPair().key),
      says: /key in key\.pem is not that of .*cert\.pem/,
    },
    { promise: 'an encrypted key', spoil: write('key.pem', encrypted), says: /key\.pem is encrypted/ },
    {
      promise: 'a switch that is neither on nor off',
      args: [],
      environment: { BAILIWICK_TLS_SELF_SIGNED: 'maybe' },
      says: /BAILIWICK_TLS_SELF_SIGNED must be true or false, not 'maybe'/,
    },
    {
      promise: 'a folder where no certificate can be kept',
      args: ['--tls-self-signed'],
      spoil: ground => {
        mkdirSync(ground.path('data'));
        writeFileSync(ground.path('data/tls'), 'in the way');
      },
      says: /cannot keep a certificate in .*data\/tls/,
    },
  ];
  for (const { promise, args = flags, environment = {}, spoil, says } of refusals)
    test(promise, guard, async t => {
      const ground = await newGround(t);
      keep(ground);
      spoil?.(ground);
      const refused = ground.start(args, environment);
      const { code } = await refused.exited;
      assert.match(refused.error, /^bailiwick: [^\n]+\n$/);
      assert.match(refused.error, says);
      assert.deepEqual([code, refused.out], [2, '']);
    });
});

describe('sockets under TLS', () => {
  const { cert, key } = newPair();
  let server: TestServer;
  before(async () => {
    server = await startServer({ tls: { cert, key } });
  });
  after(() => server.close());
  const lives = async () => assert.equal((await server.client.send('GET', '/healthz')).status, 200);

  test('bytes that are no request are answered as over plain HTTP', async () => {
    const authorization = { Authorization: `Bearer ${server.adminToken}` };
    for (const [bytes, expected] of [
      ['hello\r\n\r\n', 400],
      ['\0\0\0\0', 400],
      ['GET /healthz HTTP/1.1\r\n\r\n', 400],
      [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
      ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n', 405],
      [rawRequest('GET', '/api/v2/teams/none', { ...authorization, Expect: 'nonsense', Connection: 'close' }), 404],
    ] as const) {
      const answers = await raw(server, bytes);
      const where = `${JSON.stringify(bytes.slice(0, 40))} answered ${answers.map(({ status }) => status)}`;
      assert.deepEqual(
        answers.map(({ status }) => status),
        [expected],
        where,
      );
      for (const { status, headers, body } of answers) {
        assertErrors(status, headers, body, where);
        assert.ok(headers['x-request-id'], where);
      }
    }
  });

  test('a connection is kept for two minutes, as the Go clients need', async () => {
    const { headers } = await server.client.send('GET', '/healthz');
    assert.equal(headers['keep-alive'], 'timeout=120');
  });

  test('plain HTTP is told that this is TLS', async t => {
    const plain = new Client(server.url.replace('https:', 'http:'));
    t.after(() => plain.close());
    const { status, headers, body } = await plain.send('GET', '/healthz');
    assertErrors(status, headers, body, 'plain HTTP');
    assert.equal(status, 400);
    assert.match(body.errors[0].detail, /TLS/);
  });

  test('garbage, half a handshake and a reset at any point end that connection and nothing else', async () => {
    const port = Number(new URL(server.url).port);
    const hello = Buffer.from('160301010001000100', 'hex');
    for (const bytes of ['\0\0\0\0\0\0', 'SSH-2.0-x\r\n', hello.toString('latin1'), ''])
      for (const reset of [true, false]) {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => {});
        await once(socket, 'connect');
        if (bytes !== '') await new Promise<void>(resolve => socket.write(bytes, 'latin1', () => resolve()));
        await lives();
        if (reset) socket.resetAndDestroy();
        else socket.destroy();
        await lives();
      }
    for (let index = 0; index < 50; index++) {
      const bare = connect(port, '127.0.0.1');
      const socket = connectTls({ socket: bare, servername: 'localhost', ca: cert });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      await new Promise<void>(resolve => socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', () => resolve()));
      bare.resetAndDestroy();
    }
    await lives();
  });

  test('a client that refuses the certificate leaves no line in the log', guard, async t => {
    const ground = await newGround(t);
    const { cert, flags } = keep(ground);
    const program = ground.start(flags);
    const port = await portOf(program);
    for (let index = 0; index < 20; index++) assert.equal(typeof (await shaken(port, newPair().cert)), 'string');
    assert.equal((await (await program.client(cert)).send('GET', '/readyz')).status, 200);
    await program.stop();
    assert.equal(program.error, '');
  });
});

describe('stopping under TLS', together, () => {
  const started = async (t: TestContext) => {
    const ground = await newGround(t);
    const { cert, flags } = keep(ground);
    const server = ground.start([...flags, '--admin-token', chosenToken]);
    const port = await portOf(server);
    await server.printed(/curl/);
    return { server, port, cert };
  };

  test('an idle keep-alive connection does not keep it', guard, async t => {
    const { server, cert } = await started(t);
    const client = await server.client(cert);
    await client.send('GET', '/healthz');
    await server.stop();
  });

  test('a connection without a handshake does not keep it, nor one with half of it', guard, async t => {
    const { server, port, cert } = await started(t);
    for (const bytes of ['', '\x16\x03\x01\x01\x00']) {
      const socket: Socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      t.after(() => socket.destroy());
      socket.on('error', () => {});
      await once(socket, 'connect');
      if (bytes !== '') await new Promise<void>(resolve => socket.write(bytes, 'latin1', () => resolve()));
    }
    await (await server.client(cert)).send('GET', '/healthz');
    server.child.kill('SIGTERM');
    // A guard far below the time that a handshake may take.
    const late = setTimeout(() => server.child.kill('SIGKILL'), 5000);
    assert.deepEqual(await server.exited, { code: 0, signal: null });
    clearTimeout(late);
  });

  for (const [what, bytes] of Object.entries({
    'half a head': 'GET /healthz HTTP/1.1\r\nHost: x\r\n',
    'a tunnel that it keeps open': 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    nothing: '',
  }))
    test(`a client that sent ${what} after the handshake does not keep it`, guard, async t => {
      const { server, port, cert } = await started(t);
      const socket = await shaken(port, cert);
      assert.ok(typeof socket !== 'string');
      t.after(() => socket.destroy());
      socket.on('error', () => {});
      if (bytes !== '') await new Promise<void>(resolve => socket.write(bytes, () => resolve()));
      await (await server.client(cert)).send('GET', '/healthz');
      await server.stop();
    });

  test('a request in flight has its answer', guard, async t => {
    const { server, port, cert } = await started(t);
    const socket = await shaken(port, cert);
    assert.ok(typeof socket !== 'string');
    t.after(() => socket.destroy());
    let text = '';
    socket.setEncoding('utf8').on('data', more => {
      text += more;
    });
    const received = async (pattern: RegExp): Promise<string> => {
      while (!pattern.test(text)) await once(socket, 'data');
      return text;
    };
    const { head, body } = heldCreation(chosenToken);
    socket.write(head);
    await received(/^HTTP\/1\.1 100 /);
    server.child.kill('SIGTERM');
    while ((await shaken(port, cert)) !== 'ECONNREFUSED');
    socket.write(body);
    assert.match(await received(/HTTP\/1\.1 \d+ .*\}$/s), /HTTP\/1\.1 201 /);
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });
});
