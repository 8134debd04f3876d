/** A reporter of node's test runner: what failed and nothing else, to be shown once more at the end of a long run. */

import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

const mostLines = 40;

const shortened = (text: string): string => {
  const lines = text.split('\n');
  return lines.length > mostLines ? [...lines.slice(0, mostLines), '…'].join('\n') : text;
};

export default async function* failures(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type !== 'test:fail') continue;
    const { name, file, line, details, todo } = event.data;
    const error = details.error as Error & { failureType?: string };
    // It is told of by what failed in it.
    if (error.failureType === 'subtestsFailed' || todo) continue;
    const place = file ? `${relative(process.cwd(), file)}:${line}` : '';
    yield `✖ ${name} (${place})\n${shortened(inspect(error.cause ?? error))}\n\n`;
  }
}
