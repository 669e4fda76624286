/** Blocks of code in the project's pages. */
import { readFileSync } from "node:fs";

export const readPage = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** What stands between ``` fences with this info string. */
export function blocks(text: string, info: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${info}\n(.*?)^\`\`\``, "gms"))].map(([, code = ""]) =>
    code.trim(),
  );
}

/** A command line as a shell would split it. */
export function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
}
