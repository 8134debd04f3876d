/** `bailiwick audit verify`: whether the audit trail is what was written, row by row and chain by chain. */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type Anchors, type ChainEnd, counted, type Finding, verifyChains } from '../store/audit-chain.ts';
import { isPostgres, openStore } from '../store/open.ts';
import { fileOf, syncFile } from '../store/sqlite-file.ts';
import { StartFault, Unavailable } from '../store/store.ts';
import type { Settings } from './settings.ts';

export const runAuditVerify = async (settings: Settings): Promise<void> => {
  const { anchors: file } = settings;
  const anchors = file === undefined ? undefined : anchorsIn(file);
  // To open it would make it.
  if (!isPostgres(settings.database) && !existsSync(fileOf(settings.database)))
    throw new StartFault(`there is no database ${settings.database}`);
  const store = await openStore(settings.database, { ...settings, readOnly: true });
  const endings: ChainEnd[] = [];
  let findings = 0;
  const hearing = {
    found: (finding: Finding) => {
      findings++;
      process.stdout.write(`${lineOf(finding)}\n`);
    },
    ended: (ending: ChainEnd) => void endings.push(ending),
  };
  const rows = await store
    .read(tx => {
      // Work that is begun again is told of once.
      findings = 0;
      endings.length = 0;
      return verifyChains(tx, hearing, anchors);
    })
    .catch(error => {
      if (error instanceof Unavailable)
        throw new StartFault(`cannot verify the audit trail: ${error.hopeless ?? error.message}`);
      throw new StartFault(
        `cannot verify the audit trail: ${error.message} (bailiwick migrate brings an older schema to this version)`,
      );
    })
    .finally(() => store.close());
  if (findings > 0) {
    process.stdout.write(`The audit trail is not whole: ${counted(findings, 'finding')} in ${counted(rows, 'row')}.\n`);
    process.exitCode = 1;
    return;
  }
  for (const { chain, name, position, hash } of endings)
    process.stdout.write(`${placeOf(chain, name)}: ${counted(position, 'row')}, the last has the hash ${hash}\n`);
  process.stdout.write(`The audit trail is whole: ${counted(rows, 'row')} in ${counted(endings.length, 'chain')}.\n`);
  if (file === undefined) return;
  keepAnchors(file, endings);
  const news = anchors ? `It agrees with the ${counted(anchors.size, 'anchor')} in` : 'Its first anchors are in';
  process.stdout.write(`${news} ${file}, which now has ${endings.length}.\n`);
};

const placeOf = (chain: string, name: string | null): string => (name === null ? chain : `${chain} (${name})`);

const lineOf = ({ chain, name, position, event, wrong }: Finding): string => {
  const place = [
    chain === null ? undefined : placeOf(chain, name),
    position === null ? undefined : `position ${position}`,
    event === null ? undefined : `event ${event}`,
  ];
  return `${place.filter(part => part !== undefined).join(', ')}: ${wrong}`;
};

/** A line for each chain; undefined where there is no file yet. */
const anchorsIn = (file: string): Anchors | undefined => {
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  const lines = text.split('\n').filter(line => line !== '');
  return new Map(
    lines.map((line, index) => {
      const [, position, hash = '', chain = ''] = /^([1-9]\d*) ([0-9a-f]{64}) (\S+)$/.exec(line) ?? [];
      if (position === undefined)
        throw new StartFault(`${file} is no file of anchors: line ${index + 1} is not 'POSITION HASH CHAIN'`);
      return [chain, { position: Number(position), hash }];
    }),
  );
};

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartFault(`cannot read the anchors: ${(error as Error).message}`);
  }
};

/** Whole or not at all: the old anchors are there until the new ones are on the disk. */
const keepAnchors = (file: string, endings: readonly ChainEnd[]): void => {
  const text = endings.map(({ chain, position, hash }) => `${position} ${hash} ${chain}\n`).join('');
  const beside = `${file}.${process.pid}.new`;
  try {
    writeFileSync(beside, text);
    syncFile(beside);
    renameSync(beside, file);
  } catch (error) {
    throw new StartFault(`cannot write the anchors: ${(error as Error).message}`);
  }
};
