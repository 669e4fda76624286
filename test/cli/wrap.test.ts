import { expect, test } from "vitest";
import { wrapped } from "../../cli/wrap.ts";

test.each([
  ["at a space, under what began the line", "1. one two three four", "1. one two\n   three four"],
  ["not inside a word", "abcdefghijklmnopq rs", "abcdefghijklmnopq\nrs"],
  ["not in a table", "│ one two three four │", "│ one two three four │"],
  ["not in JSON", '{"one": "two three four"}', '{"one": "two three four"}'],
  ["not by colours", "\u001b[31mone two\u001b[39m three", "\u001b[31mone two\u001b[39m three"],
  ["line by line", "short\n  one two three four", "short\n  one two\n  three four"],
])("a line is broken %s", (_, text, lines) => {
  expect(wrapped(text, 14)).toBe(lines);
  expect(wrapped(text)).toBe(text);
});
