/** Rows of CSV as RFC 4180 has them, as they come. */
export async function* csvRows(texts: AsyncIterable<string>): AsyncGenerator<string[]> {
  let [row, cell, isQuoted, wasQuote]: [string[], string, boolean, boolean] = [[], '', false, false];
  for await (const text of texts)
    for (const character of text) {
      if (isQuoted && !wasQuote) {
        if (character === '"') wasQuote = true;
        else cell += character;
      } else if (character === '"') {
        // Two of them within quotes are one of the text.
        if (wasQuote) cell += '"';
        [isQuoted, wasQuote] = [true, false];
      } else if (character === ',' || character === '\n') {
        row.push(cell);
        [cell, isQuoted, wasQuote] = ['', false, false];
        if (character === ',') continue;
        yield row;
        row = [];
      } else if (character !== '\r') cell += character;
    }
}
