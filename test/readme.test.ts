/** The README is true: its walk-through runs, and its tables are those of the code. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  changed,
  granted,
  impliedBy,
  type Level,
  levels,
  onWorkspaces,
  permissions,
  valueIn,
  workspaceLevels,
} from '../src/core/access.ts';
import { commands } from '../src/server/commands.ts';
import { helpText } from '../src/server/settings.ts';
import { rowsAfter } from './support/markdown.ts';
import { startServer } from './support/server.ts';
import { pasted } from './support/shell.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

const rowsOf = (heading: string): string[][] => rowsAfter(readme, heading);

test('a first grant: the lines of the README work when pasted', async () => {
  const [, block = ''] = /## A first grant.*?```sh\n(.*?)```/s.exec(readme) ?? [];
  assert.ok(block.includes('/api/v2/team-projects'));
  const server = await startServer();
  try {
    const script = block.replace(/^URL=.*$/m, `URL=${server.url}`).replace(/^TOKEN=.*$/m, `TOKEN=${server.adminToken}`);
    const stdout = await pasted(script);
    assert.ok(!stdout.includes('"errors"'), stdout);
    const [before = '', after = ''] = stdout.match(/\{[^{}]*'can-read'[^{}]*\}/g) ?? [];
    assert.match(before, /'can-read': true/);
    assert.match(before, /'can-manage-teams': false/);
    assert.match(after, /'can-manage-teams': true/);
    assert.match(stdout, /"access":"write"/);
    assert.match(stdout, /"organization-permission":"manage-projects"/);
    assert.match(stdout, /"effect":\{"changes":\[\],/);
  } finally {
    await server.close();
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
    const fresh = changed(undefined, { access: 'custom', values: [] });
    assert.ok(!('refused' in fresh));
    assert.equal(cells[4], String(valueIn(granted(fresh), permission)), `${named} by default`);
    const values = /\((.*)\)/.exec(named)?.[1];
    if (values) assert.equal(values, permission.values.join(', '));
  }
});

test('the settings are those of --help, with the same defaults', () => {
  const help = helpText(commands);
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

test('what it shows of the clients is what the conformance run does', () => {
  for (const path of ['opentofu/readme/main.tf', 'opentofu/readme/commands.sh', 'walk/readme/readme_test.go']) {
    const run = readFileSync(new URL(`../conformance/${path}`, import.meta.url), 'utf8').trim();
    assert.ok(run.length > 100 && readme.includes(run), path);
  }
});

test('the table of workspace levels is the table of the code', () => {
  const rows = rowsOf('On a single workspace a team may hold more');
  const shown = onWorkspaces.choosable.filter(({ later }) => !later);
  assert.equal(rows.length, shown.length);
  for (const [named = '', ...cells] of rows) {
    const key = named.split(' ')[0]?.replace('workspace-locking', 'locking');
    const permission = shown.find(each => each.key === key);
    assert.ok(permission, named);
    for (const [column, level] of workspaceLevels.entries())
      assert.equal(cells[column], String(valueIn(onWorkspaces.impliedBy(level), permission)), `${named} of ${level}`);
    const fresh = onWorkspaces.changed(undefined, { access: 'custom', values: [] });
    assert.ok(!('refused' in fresh));
    assert.equal(cells[4], String(valueIn(onWorkspaces.granted(fresh), permission)), `${named} by default`);
  }
});
