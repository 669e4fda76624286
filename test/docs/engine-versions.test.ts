/** The table of both engine versions in docs/compatibility.md says what the stand-in does when asked. */
import { describe, expect, test } from "vitest";
import { findIn, versionRows } from "../local/engine/version-rows.ts";
import { readPage } from "./blocks.ts";

const section =
  readPage("docs/compatibility.md")
    .split("\n## ")
    .find((part) => part.startsWith("Two versions")) ?? "";
const rows = section
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (situation|-)/.test(line))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe("both versions", () => {
  test.each(versionRows.map((row) => [row.what, row] as const))("%s", async (what, row) => {
    const found = [what, await findIn("older", row), await findIn("newer", row), row.heldBy];
    expect(rows).toContainEqual(found);
  });

  test("the table has no other rows", () => {
    expect(rows.map(([what]) => what)).toEqual(versionRows.map(({ what }) => what));
  });
});
