/** docs/mistakes.md shows what is printed today: it is made again, and compared but for its times. */
import { expect, test } from "vitest";
import { page } from "../../docs/record-mistakes.ts";
import { readPage } from "./blocks.ts";

const withoutTimes = (text: string) => text.replaceAll(/\b\d+\.\d s\b/g, "… s");

test("the page is what the mistakes print", { timeout: 180_000 }, async () => {
  const printed = await page();
  expect(withoutTimes(printed)).toBe(withoutTimes(readPage("docs/mistakes.md")));
  // What an author needs of each: the file and the line, or what was expected.
  for (const words of [
    "at agent (throws.ts:6:26)",
    "deadline, 1 model call(s)",
    "invalid-output, 0 model call(s)",
    "types.ts(5,20): error TS18049: 'reply.content' is possibly 'null' or 'undefined'.",
    "  loads.ts:1:23: Could not resolve",
  ])
    expect(printed).toContain(words);
});
