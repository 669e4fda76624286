/** `docs/state.md`, taken apart. */
import { readFileSync } from "node:fs";
import type { Key } from "../../functions/adapters/table/client.ts";

export const page = readFileSync(new URL("../../docs/state.md", import.meta.url), "utf8");

export type Example = Key & Record<string, unknown>;

/** The examples of a kind, in the page's order. */
export function examples(kind: string): Example[] {
  const blocks = page.matchAll(new RegExp(`\`\`\`json ${kind}\n(.*?)\`\`\``, "gs"));
  return [...blocks].map(([, json = ""]) => JSON.parse(json));
}

/** The only example of a kind. */
export function example(kind: string): Example {
  const [first, ...more] = examples(kind);
  if (first === undefined || more.length > 0)
    throw new Error(`expected one example of ${kind}, found ${examples(kind).length}`);
  return first;
}

/** The rows below the first table's head after a heading, cell by cell. */
export function tableAfter(heading: string): string[][] {
  const [, after = ""] = page.split(`\n${heading}\n`);
  const [rows = ""] = after.slice(after.indexOf("\n|") + 1).split("\n\n");
  const cells = rows.split("\n").map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return cells.slice(2);
}

/** What stands between backticks. */
export function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, inside = ""]) => inside);
}
