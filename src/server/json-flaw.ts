/** Where a text that JSON.parse refuses ceases to be JSON, and what should be there: the engine does not always tell. */

const space = /[ \t\n\r]*/y;
const quote = /"/y;
/** From the space on, all but the quote and the backslash; or what a backslash stands before. */
const piece = /[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;
const plain = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.+-])/y;

/** What may come next, and how a flaw there is told. */
const wants = {
  value: 'JSON has a value here: text in double quotes, a number, true, false, null, a list or an object',
  key: 'JSON has a key in double quotes here',
  colon: 'JSON has a colon here',
  more: 'JSON has a comma here, or the closing bracket',
  end: 'JSON ends here',
} as const;

export const jsonFlaw = (json: string): { readonly offset: number; readonly detail: string } | undefined => {
  const closing: string[] = [];
  let offset = 0;
  /** Whether the list or object has just begun, and so may end. */
  let fresh = false;
  let wanted = 'value' as keyof typeof wants;
  const took = (pattern: RegExp): boolean => {
    pattern.lastIndex = offset;
    const found = pattern.test(json);
    if (found) offset = pattern.lastIndex;
    return found;
  };
  // Piece by piece: one pattern for all of a very long text would be too much for the engine.
  const tookText = (): boolean => {
    const start = offset;
    if (!took(quote)) return false;
    while (took(piece));
    if (took(quote)) return true;
    offset = start;
    return false;
  };
  const begun = (bracket: string): void => {
    offset++;
    closing.push(bracket);
    fresh = true;
    wanted = bracket === '}' ? 'key' : 'value';
  };
  const valueEnded = (): void => {
    fresh = false;
    wanted = closing.length === 0 ? 'end' : 'more';
  };
  for (;;) {
    took(space);
    const next = json[offset];
    if (next === undefined && wanted === 'end') return undefined;
    if (next !== undefined && next === closing.at(-1) && (fresh || wanted === 'more')) {
      offset++;
      closing.pop();
      valueEnded();
    } else if (wanted === 'value' && next === '[') begun(']');
    else if (wanted === 'value' && next === '{') begun('}');
    else if (wanted === 'value' && (tookText() || took(plain))) valueEnded();
    else if (wanted === 'key' && tookText()) {
      fresh = false;
      wanted = 'colon';
    } else if (wanted === 'colon' && next === ':') {
      offset++;
      wanted = 'value';
    } else if (wanted === 'more' && next === ',') {
      offset++;
      wanted = closing.at(-1) === '}' ? 'key' : 'value';
    } else return { offset, detail: wants[wanted] };
  }
};
