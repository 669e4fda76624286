/** Sentences at the width of a terminal; tables have seen to theirs. */
import { stripVTControlCharacters } from "node:util";

/** Breaks lines at spaces, where there is a terminal; a word that is longer than a line stays whole, and so does a line of a table. */
export function wrapped(text: string, columns = Number.POSITIVE_INFINITY): string {
  return text
    .split("\n")
    .map((line) => (/^[┌├│└]/.test(line) ? line : wrappedLine(line, columns)))
    .join("\n");
}

function wrappedLine(line: string, columns: number): string {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    const longer = current === "" ? word : `${current} ${word}`;
    if (current !== "" && stripVTControlCharacters(longer).length > columns) {
      lines.push(current);
      current = word;
    } else current = longer;
  }
  return [...lines, current].join("\n");
}
