/** No page of the project links to what is not there, and each page is found from the README. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { readPage } from "./blocks.ts";

const root = join(import.meta.dirname, "../..");

describe("links", () => {
  const pages = ["README.md", ...readdirSync(join(root, "docs")).flatMap(asPage)];
  function asPage(name: string): string[] {
    return name.endsWith(".md") ? [`docs/${name}`] : [];
  }
  /** Targets within the project, without code, in which brackets mean something else. */
  const linksOf = (page: string) =>
    [
      ...readPage(page)
        .replace(/^```.*?^```/gms, "")
        .replace(/`[^`\n]*`/g, "")
        .matchAll(/\]\(([^)\s]+)\)/g),
    ]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target));

  /** As GitHub makes them of headings. */
  const anchorsOf = (page: string) =>
    [...readPage(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replaceAll(" ", "-"),
    );

  test.each(pages)("of %s lead somewhere", (page) => {
    for (const link of linksOf(page)) {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      expect(existsSync(join(root, target)), `${page} links to ${link}`).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(target), `${page} links to ${link}`).toContain(anchor);
    }
  });

  test.each(pages)("and files that %s names are there", (page) => {
    const named = readPage(page).matchAll(
      /`((?:\.ci|agents|bench|cli|docs|functions|lib|local|test)\/[\w./-]*)`/g,
    );
    const gone = [...named].map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path)));
    expect(gone).toEqual([]);
  });

  test("each page of docs/ is linked from the README", () => {
    const linked = new Set(linksOf("README.md").map((link) => link.split("#")[0]));
    expect(pages.filter((page) => page !== "README.md" && !linked.has(page))).toEqual([]);
    expect(pages.length).toBeGreaterThan(8);
  });
});
