import { stripVTControlCharacters, styleText } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  marked,
  printable,
  safeJson,
  terminalText,
  withoutForeignControls,
} from "../../cli/terminal-text.ts";

/** What no text of others may bring to a terminal. */
const DANGEROUS = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

test.each([
  ["an escape sequence", "a\u001b[2Jb", "a\ufffd[2Jb"],
  ["a C1 control, which some terminals take for ESC [", "a\u009b31mb", "a\ufffd31mb"],
  ["a title that a terminal would answer with", "\u001b]0;x\u0007", "\ufffd]0;x\ufffd"],
  ["a text that turns its direction", "user\u202egpj.exe", "user\ufffdgpj.exe"],
  ["an isolate", "\u2066a\u2069", "\ufffda\ufffd"],
  ["marks of direction", "\u200ea\u200fb\u061cc", "\ufffda\ufffdb\ufffdc"],
  ["a carriage return over what stands there", "bad\rgood", "bad\ufffdgood"],
  ["separators of lines", "a\u2028b\u2029c", "a\ufffdb\ufffdc"],
  ["delete and backspace", "a\u007fb\u0008c", "a\ufffdb\ufffdc"],
])("%s does not reach the terminal", (_, text, shown) => {
  expect(terminalText(text)).toBe(shown);
  expect(printable(text)).toBe(shown);
});

test("scripts and emoji stay what they are", () => {
  const text = "Aufgabe-π 🙂 👩‍💻 שלום नमस्ते";
  expect(printable(text)).toBe(text);
  expect(terminalText(`${text}\n\t`)).toBe(`${text}\n\t`);
});

test("a style of the command's own gets through, the same sequence from others does not", () => {
  const red = styleText("red", "x", { validateStream: false });
  expect(terminalText(`${marked(red)} ${red}`)).toBe(`${red} \ufffd[31mx\ufffd[39m`);
  expect(terminalText(withoutForeignControls(marked(red)))).toBe(red);
  expect(terminalText(marked("\u001b[H\u001b[2J"))).toBe("\u001b[H\u001b[2J");
});

test("a marked sequence has no width, for those who measure text", () => {
  expect(stripVTControlCharacters(marked(styleText("bold", "x", { validateStream: false })))).toBe("x");
});

test("whatever others write, nothing dangerous is left, and JSON keeps its value", () => {
  const hostile = fc.array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\u001b[31m", "\u009b", "\u202e", "\r", "\u2028", "\u001b[1;2J", "\ud800"),
    ),
  );
  fc.assert(
    fc.property(hostile, (parts) => {
      const text = parts.join("");
      expect(terminalText(text)).not.toMatch(DANGEROUS);
      expect(printable(text)).not.toMatch(/[\n\t]/);
      const json = safeJson({ [text]: [text] }, 2);
      expect(json).not.toMatch(DANGEROUS);
      expect(JSON.parse(json)).toEqual({ [text]: [text] });
    }),
  );
});
