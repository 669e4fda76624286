/** The recordings that the pages show: what makes them, and that what was recorded is what the commands say today. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { framesOf } from "../../docs/record/frames.ts";
import { inTerminal } from "../../docs/record/in-terminal.ts";
import { svgOf, Terminal } from "../../docs/record/terminal.ts";
import { readPage } from "./blocks.ts";

const size = { columns: 80, rows: 24 };
const picture = readFileSync(join(import.meta.dirname, "../../docs/session.svg"), "utf8");
const textsOf = (svg: string) =>
  [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text = ""]) => text.replaceAll("&amp;", "&"));

describe("a terminal", () => {
  test("shows what is on it: colours, lines that were drawn over, and none that scrolled away", async () => {
    const terminal = new Terminal({ columns: 20, rows: 3 });
    await terminal.write("gone\r\nold\rnew\r\n\u001b[1;32mgreen\u001b[0m & more\r\nlast");
    expect(terminal.text()).toBe("new\ngreen & more\nlast");
    expect(terminal.screen()[1]).toEqual([
      { text: "green", at: 0, color: "#6bc46d", bold: true },
      { text: " & more", at: 5, color: "#d4d4d4", bold: false },
    ]);
    const svg = svgOf([{ screen: terminal.screen(), ms: 1000 }], { columns: 20, rows: 3 }, "a test");
    expect(textsOf(svg)).toEqual(["new", "green", " & more", "last"]);
    expect(svg).not.toContain("<animate");
  });

  test("plays frames one after the other, and cuts long waits", async () => {
    const frames = await framesOf(
      "sleep",
      [
        { at: 0, text: "one" },
        { at: 90_000, text: "\r\ntwo" },
      ],
      size,
    );
    expect(frames.map(({ ms }) => ms)).toEqual([600, 600, 600, 6000]);
    const svg = svgOf(frames, size, "frames");
    expect(svg.match(/<animate /g)).toHaveLength(4);
    expect(textsOf(svg.slice(svg.lastIndexOf('<g opacity="1"')))).toEqual(["$ sleep", "one", "two"]);
  });
});

describe("docs/session.svg", () => {
  test("is what npm start shows: the same screen from a run of today, but for its figures", {
    timeout: 120_000,
  }, async () => {
    const run = inTerminal("npm start --silent -- --seed 1 --rollouts 8", { ...size, rows: 34 });
    expect(await run.ended).toBe(0);
    const frames = await framesOf("npm start", run.written, { ...size, rows: 34 });
    const today = textsOf(svgOf(frames.slice(-1), { ...size, rows: 34 }, ""));
    const recorded = textsOf(picture.slice(picture.lastIndexOf('<g opacity="1"')));
    const shape = (texts: string[]) =>
      // The last line names a rollout and a folder, and goes on in the next one.
      texts.slice(0, texts.findIndex((text) => text.startsWith("look at a conversation")) + 1).map((text) =>
        text
          .replace(/^(look at a conversation: npx sortie rollout) .*/, "$1")
          .replace(/│ *[\d. →–]+ │/, "│ n │")
          .replace(/^[█░]+ \d+\/\d+ .*/, "bar")
          .replace(/^\d+ rollouts/, "n rollouts")
          .replaceAll(/─+/g, "─"),
      );
    expect(shape(today)).toEqual(shape(recorded));
  });

  test("its last screen tells the mean reward, and fits 80 columns", () => {
    expect(picture).toContain("mean reward by step");
    expect(Math.max(...textsOf(picture).map((text) => [...text].length))).toBeLessThanOrEqual(80);
  });
});

describe("docs/screens.md", () => {
  const blocks = [...readPage("docs/screens.md").matchAll(/^```text (\d+)×(\d+)\n(.*?)\n```$/gms)];

  test("shows each command in both sizes", () => {
    const commands = [...readPage("docs/screens.md").matchAll(/^## (.*)$/gm)].map(([, name]) => name);
    expect(commands).toContain("stats --watch");
    expect(blocks.map(([, columns, rows]) => `${columns}×${rows}`)).toEqual(
      commands.flatMap(() => ["80×24", "140×40"]),
    );
  });

  test("nothing is wider or higher than its terminal, and nothing wraps", () => {
    for (const [, columns, rows, text = ""] of blocks) {
      const lines = text.split("\n");
      expect(lines.length).toBeLessThanOrEqual(Number(rows));
      expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(Number(columns));
      // A table's line that wraps leaves a piece without its first border.
      expect(lines.filter((line) => /[│┤┐┘]$/.test(line) && !/^ *[│├┌└]/.test(line))).toEqual([]);
    }
  });
});
