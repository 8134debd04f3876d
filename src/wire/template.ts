/** JSON that differs in a few strings only: its text is made once, of a shape with marks in it, and filled in from then on. */

const plain = /^[\w .:/-]*$/;

/** A string as it stands within the quotes of JSON. */
export const quoted = (text: string): string => (plain.test(text) ? text : JSON.stringify(text).slice(1, -1));

/** `shape` gets a mark for each name, which it may put into any string, as often as it likes; the values come as `quoted`. */
export const template = <N extends string>(
  names: readonly N[],
  shape: (marks: Readonly<Record<N, string>>) => unknown,
): ((values: Readonly<Record<N, string>>) => string) => {
  // No text of ours has it, and JSON writes it in ASCII: a text with any character beyond Latin-1 takes twice the room for ever.
  const marks = Object.fromEntries(names.map((name, index) => [name, `\x01${index}\x01`])) as Record<N, string>;
  const [first = '', ...rest] = JSON.stringify(shape(marks)).split('\\u0001');
  // Between two marks stands the number of a name, and what follows it, in turn.
  const parts = rest.reduce<{ name: N; after: string }[]>((all, piece, index) => {
    if (index % 2 === 0) all.push({ name: names[Number(piece)] as N, after: '' });
    else (all.at(-1) as { after: string }).after = piece;
    return all;
  }, []);
  return values => {
    let text = first;
    for (const { name, after } of parts) text += values[name] + after;
    return text;
  };
};

/** The same for shapes of many kinds, each known by a key: those met last are remembered. */
export const templates = <K extends string, N extends string>(
  most: number,
  make: (key: K) => (values: Readonly<Record<N, string>>) => string,
) => {
  const made = new Map<K, (values: Readonly<Record<N, string>>) => string>();
  return (key: K, values: Readonly<Record<N, string>>): string => {
    let fill = made.get(key);
    if (!fill) {
      if (made.size >= most) made.clear();
      fill = make(key);
      made.set(key, fill);
    }
    return fill(values);
  };
};
