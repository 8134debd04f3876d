/** The README is true: its walk-through runs, and its tables are those of the code. */

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { impliedBy, type Level, levels, permissions, valueIn } from '../src/core/access.ts';
import { helpText } from '../src/server/settings.ts';
import { startServer } from './support/server.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

const rowsOf = (heading: string): string[][] => {
  const section = readme.slice(readme.indexOf(heading));
  const [table = ''] = section.match(/(^\|.*\n)+/m) ?? [];
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map(row =>
      row
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim().replaceAll('`', '')),
    );
};

/** Where there is no curl, a stand-in for the few options that the README uses. */
const curlStandIn = `#!${process.execPath}
const options = { headers: {}, method: undefined, body: undefined, url: '' };
const args = process.argv.slice(2);
for (let arg = args.shift(); arg !== undefined; arg = args.shift()) {
  if (arg === '-H') { const [name, ...value] = args.shift().split(':'); options.headers[name] = value.join(':').trim(); }
  else if (arg === '-X') options.method = args.shift();
  else if (arg === '-d') options.body = args.shift();
  else if (!arg.startsWith('-')) options.url = arg;
}
options.method ??= options.body === undefined ? 'GET' : 'POST';
fetch(options.url, options).then(answer => answer.text()).then(text => process.stdout.write(text));
`;

test('a first grant: the lines of the README work when pasted', async () => {
  const [, block = ''] = /## A first grant.*?```sh\n(.*?)```/s.exec(readme) ?? [];
  assert.ok(block.includes('/api/v2/team-projects'));
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-'));
  const server = await startServer();
  try {
    const script = block.replace(/^URL=.*$/m, `URL=${server.url}`).replace(/^TOKEN=.*$/m, `TOKEN=${server.adminToken}`);
    if (spawnSync('curl', ['--version']).error) {
      writeFileSync(join(folder, 'curl'), curlStandIn);
      chmodSync(join(folder, 'curl'), 0o755);
    }
    const path = [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
    const { stdout } = await promisify(execFile)('sh', ['-euc', script], { env: { ...process.env, PATH: path } });
    assert.ok(!stdout.includes('"errors"'), stdout);
    const [before = '', after = ''] = stdout.match(/\{[^{}]*'can-read'[^{}]*\}/g) ?? [];
    assert.match(before, /'can-read': true/);
    assert.match(before, /'can-manage-teams': false/);
    assert.match(after, /'can-manage-teams': true/);
    assert.match(stdout, /"access":"write"/);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
});

test('the table of levels is the table of the code', () => {
  const rows = rowsOf('## What a level means');
  assert.equal(rows.length, permissions.filter(({ later }) => !later).length);
  for (const [named = '', ...cells] of rows) {
    const permission = permissions.find(({ name }) => name === named.split(' ')[0]);
    assert.ok(permission, named);
    for (const [column, level] of levels.entries())
      assert.equal(cells[column], String(valueIn(impliedBy(level as Level), permission)), `${named} of ${level}`);
    const values = /\((.*)\)/.exec(named)?.[1];
    if (values) assert.equal(values, permission.values.join(', '));
  }
});

test('the settings are those of --help, with the same defaults', () => {
  const help = helpText();
  const rows = rowsOf('## Settings');
  for (const [flag = '', variable = '', otherwise = ''] of rows) {
    const line = help.split('\n').find(line => line.startsWith(`  ${flag} `)) ?? '';
    assert.ok(line.includes(flag) && line.includes(variable), flag);
    const [, given] = /\(default: ([^)]*)\)/.exec(line) ?? [];
    assert.equal(given ?? '', otherwise);
  }
  const flags = help.match(/^ {2}--[a-z-]+/gm)?.map(flag => flag.trim()) ?? [];
  assert.deepEqual(
    flags.filter(flag => !rows.some(([named]) => named === flag)),
    ['--help', '--version'],
  );
});
