/** SQL as text with holes: a hole takes a value, a list of values or another piece of SQL, never a string of code. */

export type Value = string | number | null;

export type Sql = {
  /** The text around the values: one chunk more than there are values. */
  readonly chunks: readonly string[];
  readonly values: readonly Value[];
};

type Hole = Value | Sql | readonly Value[];

const isSql = (hole: Hole): hole is Sql => typeof hole === 'object' && hole !== null && 'chunks' in hole;

export const sql = (text: TemplateStringsArray, ...holes: Hole[]): Sql => {
  if (holes.every(hole => typeof hole !== 'object' || hole === null)) {
    if (holes.includes(undefined as never)) throw new TypeError(`a hole is undefined in: ${text.join('?')}`);
    return { chunks: text, values: holes as Value[] };
  }
  const chunks: string[] = [text[0] ?? ''];
  const values: Value[] = [];
  const append = (more: string) => {
    chunks[chunks.length - 1] += more;
  };
  holes.forEach((hole, index) => {
    if (hole === undefined) throw new TypeError(`a hole is undefined in: ${text.join('?')}`);
    const { chunks: inner, values: given } = isSql(hole) ? hole : spread(Array.isArray(hole) ? hole : [hole as Value]);
    append(inner[0] ?? '');
    values.push(...given);
    chunks.push(...inner.slice(1));
    append(text[index + 1] ?? '');
  });
  return { chunks, values };
};

/** Pairs for a `values`: at least one. Both come as texts on one engine, so the statement says what they are. */
export const rowsOf = (rows: readonly (readonly [Value, Value])[]): Sql => {
  const filled = filledUp(rows);
  return {
    chunks: ['(', ...filled.flatMap((_, index) => [', ', index === filled.length - 1 ? ')' : '), ('])],
    values: filled.flat(),
  };
};

const spread = (values: readonly Value[]): Sql => {
  const filled = filledUp(values.length > 0 ? values : [null]);
  return { chunks: ['', ...filled.slice(1).map(() => ', '), ''], values: filled };
};

/** A list fills up to the next power of two, so that lists of many lengths share few prepared statements. */
const filledUp = <T>(list: readonly T[]): readonly T[] => {
  const missing = 2 ** Math.ceil(Math.log2(Math.max(list.length, 1))) - list.length;
  return [...list, ...list.slice(-1).flatMap(last => Array.from({ length: missing }, () => last))];
};
