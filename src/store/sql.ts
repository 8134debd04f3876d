/** SQL as text with holes: a hole takes a value, a list of values or another piece of SQL, never a string of code. */

export type Value = string | number | null;

export type Sql = {
  /** The text around the values: one chunk more than there are values. Equal texts of one making are one and the same array. */
  readonly chunks: readonly string[];
  readonly values: readonly Value[];
};

type Hole = Value | Sql | readonly Value[];

const isSql = (hole: Hole): hole is Sql => typeof hole === 'object' && hole !== null && 'chunks' in hole;

export const sql = (text: TemplateStringsArray, ...holes: Hole[]): Sql => {
  let made = texts.of(text);
  const values: Value[] = [];
  let isFlat = true;
  for (const hole of holes) {
    if (hole === undefined) throw new TypeError(`a hole is undefined in: ${text.join('?')}`);
    if (typeof hole !== 'object' || hole === null) {
      values.push(hole);
      made = made.next(single);
      continue;
    }
    isFlat = false;
    const piece = isSql(hole) ? hole : spread(hole as readonly Value[]);
    for (const value of piece.values) values.push(value);
    made = made.next(piece.chunks);
  }
  return isFlat ? { chunks: text, values } : { chunks: made.chunks(text), values };
};

/** A value by itself. */
const single: readonly string[] = ['', ''];

/** What becomes of a template with these pieces in its first holes; the same pieces give the same text, which is made once. */
class Made {
  readonly #pieces: readonly (readonly string[])[];
  #chunks: readonly string[] | undefined;
  readonly #next = new Map<readonly string[], Made>();

  constructor(pieces: readonly (readonly string[])[]) {
    this.#pieces = pieces;
  }

  next(piece: readonly string[]): Made {
    const known = this.#next.get(piece);
    if (known) return known;
    const made = new Made([...this.#pieces, piece]);
    this.#next.set(piece, made);
    texts.grow();
    return made;
  }

  chunks(text: readonly string[]): readonly string[] {
    this.#chunks ??= this.#pieces.reduce<string[]>(
      (all, [first = '', ...rest], index) => {
        all[all.length - 1] += first;
        all.push(...rest);
        all[all.length - 1] += text[index + 1] ?? '';
        return all;
      },
      [text[0] ?? ''],
    );
    return this.#chunks;
  }
}

/** Of many lengths of lists there are many texts: where they become too many, they are made anew. */
class Texts {
  readonly #most = 10_000;
  #made = new Map<readonly string[], Made>();
  #count = 0;

  of(text: readonly string[]): Made {
    const known = this.#made.get(text);
    if (known) return known;
    const made = new Made([]);
    this.#made.set(text, made);
    return made;
  }

  grow(): void {
    if (++this.#count <= this.#most) return;
    this.#made = new Map();
    this.#count = 0;
  }
}

const texts = new Texts();

const spread = (values: readonly Value[]): Sql => {
  const filled = filledUp(values.length > 0 ? values : [null]);
  return { chunks: listOf(filled.length), values: filled };
};

/** Exactly so many, which are all different things. */
export const listed = (values: readonly Value[]): Sql => ({ chunks: listOf(values.length), values });

/** The text for so many, made once. */
const once = (make: (count: number) => readonly string[]) => {
  const made = new Map<number, readonly string[]>();
  return (count: number): readonly string[] => {
    const known = made.get(count) ?? make(count);
    made.set(count, known);
    return known;
  };
};

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const listOf = once(count => ['', ...numbers(count - 1).map(() => ', '), '']);

/** A list fills up to the next power of two, so that lists of many lengths share few prepared statements. */
const filledUp = <T>(list: readonly T[]): readonly T[] => {
  const size = 2 ** Math.ceil(Math.log2(list.length));
  if (size === list.length) return list;
  const filled = list.slice();
  while (filled.length < size) filled.push(list.at(-1) as T);
  return filled;
};
