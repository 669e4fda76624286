/** Sentences at the width of a terminal; tables have seen to theirs. */
import { stripVTControlCharacters } from "node:util";

/** Breaks lines at spaces, where there is a terminal; a word that is longer than a line stays whole, and so does a line of a table. */
export function wrapped(text: string, columns = Number.POSITIVE_INFINITY): string {
  // JSON that a person copies from a terminal must still be JSON.
  if (columns === Number.POSITIVE_INFINITY || /^[{[]/.test(text)) return text;
  return text
    .split("\n")
    .map((line) => (/^\s*[┌├│└]/.test(line) ? line : wrappedLine(line, columns)))
    .join("\n");
}

/** What goes on below stands under what began it. */
function wrappedLine(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  const begin = /^ {0,20}(?:\d+\. )?/.exec(line)?.[0] ?? "";
  const indent = " ".repeat(begin.length);
  const lines: string[] = [];
  let [current, isFresh] = [begin, true];
  for (const word of line.slice(begin.length).split(" ")) {
    const longer = isFresh ? `${current}${word}` : `${current} ${word}`;
    if (!isFresh && widthOf(longer) > columns) {
      lines.push(current);
      current = `${indent}${word}`;
    } else current = longer;
    isFresh = false;
  }
  return [...lines, current].join("\n");
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}
