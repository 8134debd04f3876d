/** Tables in documents, as rows of cells. */

/** The first table after a text, without its head and without code marks and emphasis. */
export const rowsAfter = (document: string, text: string): string[][] => {
  const from = document.indexOf(text);
  if (from < 0) throw new Error(`the document does not say: ${text}`);
  const [table = ''] = document.slice(from).match(/(^\|.*\n)+/m) ?? [];
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map(row =>
      row
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim().replaceAll('`', '').replaceAll('**', '')),
    );
};
