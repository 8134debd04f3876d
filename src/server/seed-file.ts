/** A seed file, JSON by its name or else YAML: read as a world, or refused with every flaw, each with its line and column. */

import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import type { Alias, Document, Pair, ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { flawsOf, type Path } from '../resources/world/check.ts';
import type { World } from '../resources/world/shape.ts';
import { StartFault } from '../store/store.ts';
import { jsonFlaw } from './json-flaw.ts';

const largestSeed = 64 * 1024 * 1024;
/** More than anybody reads. */
const mostFlaws = 100;
const deepest = 50;
/** How many values aliases may stand for: more than a person would spare the writing of. */
const mostExpanded = 100_000;

export const readSeed = async (file: string): Promise<World> => {
  const read = await readSeedText(await textOf(file), /\.json$/i.test(file));
  if ('world' in read) return read.world;
  const { flaws } = read;
  const told = flaws.slice(0, mostFlaws).map(({ line, column, detail }) => `${file}:${line}:${column}: ${detail}`);
  if (flaws.length > mostFlaws) told.push(`${file}: and ${flaws.length - mostFlaws} flaws more`);
  throw new StartFault(`the seed ${file} is refused, and nothing was planted`, told);
};

const textOf = async (file: string): Promise<string> => {
  const bytes = await readBytes(file).catch(error => {
    const reasons: Record<string, string> = {
      ENOENT: 'there is no such file',
      EISDIR: 'it is a folder',
      EACCES: 'it may not be read',
    };
    throw new StartFault(`cannot read the seed ${file}: ${reasons[error.code] ?? error.message}`);
  });
  // Some editors begin a file with a mark of byte order, which is no part of the text.
  if (isUtf8(bytes)) return bytes.toString('utf8').replace(/^\ufeff/, '');
  const lines = bytes.toString('latin1').split('\n');
  const line = lines.findIndex(line => !isUtf8(Buffer.from(line, 'latin1'))) + 1;
  throw new StartFault(`the seed ${file} is refused, and nothing was planted`, [
    `${file}:${line}:1: this line is not valid UTF-8`,
  ]);
};

const readBytes = async (file: string): Promise<Buffer> => {
  const { size } = await stat(file);
  if (size > largestSeed) throw new Error(`it is larger than ${largestSeed / 1024 / 1024} MiB`);
  return readFile(file);
};

type LinedFlaw = { readonly line: number; readonly column: number; readonly detail: string };

export const readSeedText = async (
  text: string,
  isJson = false,
): Promise<{ readonly world: World } | { readonly flaws: readonly LinedFlaw[] }> => {
  const json = parsedJson(text);
  // The reader that knows lines is a hundred times slower: it is for YAML, and for flaws.
  if (json !== undefined && flawsOf(json).length === 0) return { world: json as World };
  const flaw = isJson && json === undefined ? jsonFlaw(text) : undefined;
  return flaw ? { flaws: [lined(text, flaw)] } : readYaml(text);
};

const lined = (text: string, { offset, detail }: Flawed): LinedFlaw => {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, detail };
};

/** Undefined for what is no JSON, and for an object with the same key twice, of which JSON.parse would keep the last. */
const parsedJson = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text);
    const written = text.match(/"(?:[^"\\]|\\.)*"\s*:/g)?.length ?? 0;
    return written === keysIn(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const keysIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>((count, each) => count + keysIn(each), Array.isArray(value) ? 0 : inner.length);
};

type Yaml = typeof import('yaml');
type Flawed = { readonly offset: number; readonly detail: string };

const readYaml = async (text: string): ReturnType<typeof readSeedText> => {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const { world, flaws } = checkedYaml(yaml, text, lines);
  if (flaws.length === 0) return { world: world as World };
  const placed = flaws
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, detail }) => {
      const { line, col } = lines.linePos(offset);
      // Whatever stands in the file, a line about it is one line.
      return { line, column: col, detail: detail.replace(/\p{C}+/gu, ' ') };
    });
  const told = new Map(placed.map(flaw => [JSON.stringify(flaw), flaw]));
  return { flaws: [...told.values()] };
};

const checkedYaml = (yaml: Yaml, text: string, lineCounter: InstanceType<Yaml['LineCounter']>) => {
  let document: Document.Parsed;
  try {
    document = yaml.parseDocument(text, {
      schema: 'core',
      resolveKnownTags: false,
      stringKeys: true,
      prettyErrors: false,
      lineCounter,
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { flaws: [{ offset: 0, detail: 'this is nested too deeply' }] };
  }
  const broken: Flawed[] = [...document.errors, ...document.warnings].map(({ code, message, pos: [offset] }) => ({
    offset,
    detail: sayings[code] ?? message,
  }));
  if ([...document.errors, ...document.warnings].some(({ code }) => code !== 'DUPLICATE_KEY')) return { flaws: broken };
  const tree = new Tree(yaml, document);
  const world = tree.valueOf(document.contents);
  const flaws =
    tree.flaws.length > 0
      ? tree.flaws
      : flawsOf(world).map(({ path, detail }) => ({ offset: tree.offsetOf(world, path), detail }));
  return { world, flaws: [...broken, ...flaws] };
};

const sayings: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is there twice',
  MULTIPLE_DOCS: 'a seed file is one document, and here begins another',
};

/** The values of a document, and where each of them stands. */
class Tree {
  readonly flaws: Flawed[] = [];
  readonly #yaml: Yaml;
  readonly #document: Document.Parsed;
  readonly #places = new WeakMap<object, YAMLMap | YAMLSeq>();
  #expanded = 0;

  constructor(yaml: Yaml, document: Document.Parsed) {
    this.#yaml = yaml;
    this.#document = document;
  }

  /** `alias` is the one that the value stands in for, outside of any other. */
  valueOf(node: unknown, depth = 0, alias?: Alias): unknown {
    const { isAlias, isMap, isSeq } = this.#yaml;
    if (alias) this.#expanded++;
    if (depth > deepest) return this.#refuse(alias ?? node, 'this is nested too deeply');
    if (this.#expanded > mostExpanded) return this.#refuse(alias, 'the aliases stand for too much');
    if (isAlias(node)) return this.#aliased(node, depth, alias ?? node);
    if (isMap(node)) {
      const entries = node.items.map(({ key, value }) => [textOfKey(key), this.valueOf(value, depth + 1, alias)]);
      return this.#placed(node, Object.fromEntries(entries));
    }
    if (isSeq(node))
      return this.#placed(
        node,
        node.items.map(item => this.valueOf(item, depth + 1, alias)),
      );
    return (node as Scalar | null)?.value ?? null;
  }

  #aliased(alias: Alias, depth: number, outermost: Alias): unknown {
    const node = alias.resolve(this.#document);
    return node === undefined
      ? this.#refuse(alias, `there is no anchor '${alias.source}' above`)
      : this.valueOf(node, depth + 1, outermost);
  }

  #placed<T extends object>(node: YAMLMap | YAMLSeq, value: T): T {
    this.#places.set(value, node);
    return value;
  }

  #refuse(node: unknown, detail: string): undefined {
    // Once is enough: what is too much is met again and again.
    if (!this.flaws.some(flaw => flaw.detail === detail)) this.flaws.push({ offset: offsetOf(node) ?? 0, detail });
  }

  /** Of the key, in an object; of the nearest place above, for what is missing. */
  offsetOf(root: unknown, path: Path): number {
    let [value, offset] = [root, offsetOf(this.#document.contents) ?? 0];
    for (const key of path) {
      const node = typeof value === 'object' && value !== null ? this.#places.get(value) : undefined;
      const found = this.#yaml.isMap(node)
        ? node.items.find((pair: Pair) => textOfKey(pair.key) === `${key}`)?.key
        : node?.items[Number(key)];
      offset = offsetOf(found) ?? offset;
      value = (value as Record<string, unknown> | undefined)?.[key];
    }
    return offset;
  }
}

const textOfKey = (key: unknown): string => `${(key as Scalar).value}`;

const offsetOf = (node: unknown): number | undefined => (node as ParsedNode | undefined)?.range?.[0];
