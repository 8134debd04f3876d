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

/** A list fills up to the next power of two, so that lists of many lengths share few prepared statements. */
const spread = (values: readonly Value[]): Sql => {
  const room = 2 ** Math.ceil(Math.log2(Math.max(values.length, 1)));
  const filled = Array.from({ length: room }, (_, index) => values[index] ?? values.at(-1) ?? null);
  return { chunks: ['', ...filled.slice(1).map(() => ', '), ''], values: filled };
};
