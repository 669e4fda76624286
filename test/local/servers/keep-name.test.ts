import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { uniquePart } from "../../../local/servers/keep-name.ts";

const folder = mkdtempSync(join(tmpdir(), "keep-name-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("two deployments have different names, whether they are kept or not", async () => {
  const parts = [undefined, undefined, join(folder, "a"), join(folder, "b")].map(uniquePart);
  const found = await Promise.all(parts);
  expect(new Set(found).size).toBe(4);
  for (const part of found) expect(part).toMatch(/^[0-9A-F]{12}$/);
});

test("a kept one has the same name again", async () => {
  const kept = join(folder, "kept");
  const [first, ...later] = [await uniquePart(kept), await uniquePart(kept), await uniquePart(kept)];
  expect(later).toEqual([first, first]);
});

test("a folder from before names had a random part goes on under its plain names", async () => {
  const old = join(folder, "old");
  mkdirSync(join(old, "tables"), { recursive: true });
  expect(await uniquePart(old)).toBe("");
  expect(await uniquePart(old)).toBe("");
});
