/** A self-signed certificate. Node reads X.509 but does not write it: these are the few lines of DER that it takes. */

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

type Bytes = Uint8Array;

const tagged = (tag: number, ...parts: readonly Bytes[]): Bytes => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};

const sequence = (...parts: readonly Bytes[]): Bytes => tagged(0x30, ...parts);
const set = (...parts: readonly Bytes[]): Bytes => tagged(0x31, ...parts);
const bits = (unused: number, content: Bytes): Bytes => tagged(0x03, Buffer.from([unused]), content);
const octets = (content: Bytes): Bytes => tagged(0x04, content);
const integer = (content: Bytes): Bytes => tagged(0x02, content);
/** Fields by number, as a certificate's optional parts have them: plain, or around another value. */
const field = (number: number, content: Bytes): Bytes => tagged(0x80 | number, content);
const wrapped = (number: number, content: Bytes): Bytes => tagged(0xa0 | number, content);

const time = (date: Date): Bytes => {
  const digits = `${date.toISOString().replace(/[-:T]|\..*/g, '')}Z`;
  // Two digits for the year until 2049, four from then on.
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
};

const identifiers = {
  commonName: '550403',
  ecdsaWithSha256: '2a8648ce3d040302',
  subjectKeyIdentifier: '551d0e',
  keyUsage: '551d0f',
  subjectAlternativeName: '551d11',
  basicConstraints: '551d13',
  authorityKeyIdentifier: '551d23',
  extendedKeyUsage: '551d25',
  serverAuthentication: '2b06010505070301',
};

const identifier = (name: keyof typeof identifiers): Bytes => tagged(0x06, Buffer.from(identifiers[name], 'hex'));

const critical = tagged(0x01, Buffer.from([0xff]));
const extension = (name: keyof typeof identifiers, content: Bytes): Bytes =>
  sequence(identifier(name), octets(content));
const criticalExtension = (name: keyof typeof identifiers, content: Bytes): Bytes =>
  sequence(identifier(name), critical, octets(content));

const addressBytes = (address: string): Bytes => {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // As a URL spells it: groups of hexadecimal digits, the longest run of zeros left out.
  const [before = '', after = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':').map(group => group.padStart(4, '0')));
  const missing = '0'.repeat(4 * (8 - groups(before).length - groups(after).length));
  return Buffer.from([...groups(before), missing, ...groups(after)].join(''), 'hex');
};

const alternativeName = (name: string): Bytes =>
  isIP(name) ? field(7, addressBytes(name)) : field(2, Buffer.from(name, 'latin1'));

const pem = (label: string, content: Bytes): string =>
  [
    `-----BEGIN ${label}-----`,
    ...(Buffer.from(content)
      .toString('base64')
      .match(/.{1,64}/g) ?? []),
    `-----END ${label}-----`,
    '',
  ].join('\n');

/**
 * A new P-256 key and its certificate for these names and addresses. It is no authority: whoever trusts it trusts
 * this one server, and not what might be signed with its key.
 */
export const selfSigned = (names: readonly string[], from: Date, until: Date): { cert: string; key: string } => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const keyId = createHash('sha256').update(spki).digest().subarray(0, 20);
  const algorithm = sequence(identifier('ecdsaWithSha256'));
  const name = sequence(set(sequence(identifier('commonName'), tagged(0x0c, Buffer.from('Bailiwick, self-signed')))));
  const serial = randomBytes(16);
  // Positive, and of full length.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const extensions = [
    criticalExtension('basicConstraints', sequence()),
    criticalExtension('keyUsage', bits(7, Buffer.from([0x80]))),
    extension('extendedKeyUsage', sequence(identifier('serverAuthentication'))),
    extension('subjectAlternativeName', sequence(...names.map(alternativeName))),
    extension('subjectKeyIdentifier', octets(keyId)),
    extension('authorityKeyIdentifier', sequence(field(0, keyId))),
  ];
  const toSign = sequence(
    wrapped(0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    name,
    sequence(time(from), time(until)),
    name,
    spki,
    wrapped(3, sequence(...extensions)),
  );
  const certificate = sequence(toSign, algorithm, bits(0, sign('sha256', toSign, privateKey)));
  return {
    cert: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
};
