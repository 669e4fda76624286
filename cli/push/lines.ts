/** Text as numbered lines. Not `node:readline`, which also ends a line at U+2028, as JSON may hold it. */

/** A piece of the input, and the line that it begins on, counted from 1. */
export interface Numbered {
  readonly line: number;
  readonly text: string;
}

/** No line that can become a message is longer; the rest of a longer one is passed over. Characters. */
export const LONGEST_LINE = 4_194_304;

/** Empty lines are passed over. A line that is too long comes cut, one character longer than the longest. */
export async function* numberedLines(texts: AsyncIterable<string>): AsyncGenerator<Numbered> {
  let line = 1;
  let pending = "";
  for await (const text of texts) {
    const parts = text.split("\n");
    for (const [index, part] of parts.entries()) {
      pending = (pending + part).slice(0, LONGEST_LINE + 1);
      if (index === parts.length - 1) break;
      if (pending.trim() !== "") yield { line, text: pending };
      pending = "";
      line += 1;
    }
  }
  if (pending.trim() !== "") yield { line, text: pending };
}
