import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** Where there is no curl, a stand-in for the few options that our texts use. */
const curlStandIn = `#!${process.execPath}
const options = { headers: {} };
let url = '';
const args = process.argv.slice(2);
for (let arg = args.shift(); arg !== undefined; arg = args.shift()) {
  if (arg === '-H') { const [name, ...value] = args.shift().split(':'); options.headers[name] = value.join(':').trim(); }
  else if (arg === '-X') options.method = args.shift();
  else if (arg === '-d') options.body = args.shift();
  else if (arg === '--cacert') require('tls').setDefaultCACertificates([require('fs').readFileSync(args.shift(), 'utf8')]);
  else if (!arg.startsWith('-')) url = arg;
}
options.method ??= options.body === undefined ? 'GET' : 'POST';
fetch(url, options).then(answer => answer.text()).then(text => process.stdout.write(text));
`;

/** What a shell prints when these lines are pasted into it. */
export const pasted = async (lines: string, environment: NodeJS.ProcessEnv = {}): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-'));
  try {
    if (spawnSync('curl', ['--version']).status !== 0)
      writeFileSync(join(folder, 'curl'), curlStandIn, { mode: 0o755 });
    const path = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
    const env = { ...process.env, ...environment, PATH: path };
    return (await promisify(execFile)('sh', ['-euc', lines], { env })).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
};
