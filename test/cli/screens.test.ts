/** What fits a terminal of 80 columns and 24 lines, and one of 140 and 40. */
import { expect, test } from "vitest";
import { statsText } from "../../cli/stats-text.ts";
import { listTable } from "../../cli/tables.ts";
import { Frames } from "../../cli/watch.ts";
import { wrapped } from "../../cli/wrap.ts";
import { sortie } from "./here.ts";
import { AT, fleetOf, snapshotOf } from "./samples.ts";

const widest = (text: string) => Math.max(...text.split("\n").map((line) => line.length));
const style = (_: unknown, text: string) => text;
const key = "run/monday/train/3/a-task-whose-name-is-as-long-as-the-names-of-datasets-are/with/parts";

test.each([80, 140])("stats fit %i columns, with a long caution and the engine's words", (columns) => {
  const snapshot = snapshotOf({
    fleets: {
      code: fleetOf(),
      math: fleetOf({ ended: 12_345 }, { reward_mean: 0.123, reward_deviation: 0.4 }),
    },
    status: { engine_status: "ENGINE.ROLLING", engine_status_detail: "word ".repeat(60), global_step: 3 },
  });
  const text = statsText(snapshot, { style, columns, now: () => Date.parse(AT) + 3_600_000 });
  expect(widest(text)).toBeLessThanOrEqual(columns);
  expect(text).toContain("Caution: this snapshot is 1 h old");
});

test.each([80, 140])("a list of rollouts fits %i columns, and no letter of a key is lost", (columns) => {
  const rows = [
    [key, "ended", "0e6a0f1c-9d7b-4a4f-8a3c-1f1d0a9b7c55", "12", "0.5", "3 min 20 s", "in 4 min 10 s"],
  ];
  const heads = ["rollout", "state", "episode", "step", "try", "claimed, ago", "expires"];
  const text = listTable(heads, rows, { style, columns });
  expect(widest(text)).toBeLessThanOrEqual(columns);
  const cells = text.split("\n").map((line) => line.split("│")[1]?.trim() ?? "");
  expect(cells.join("")).toContain(key);
});

test.each([24, 40])("a frame that is drawn again never scrolls a terminal of %i lines", (rows) => {
  let out = "";
  const write = (text: string) => {
    out += text;
  };
  const frames = new Frames({ outIsTerminal: true, rows, out: write });
  const text = Array.from({ length: 60 }, (_, index) => `line ${index}\n`).join("");
  frames.draw(text);
  const lines = out.split("\n").slice(0, -1);
  expect(lines).toHaveLength(rows - 1);
  expect(lines.at(-1)).toContain(`… ${60 - (rows - 2)} more lines: a taller terminal shows them`);
  out = "";
  frames.draw("line 0\n");
  expect(out).not.toContain("more lines");
});

test("sentences break at spaces, tables and long words stay whole, and colours count for nothing", () => {
  expect(wrapped("one two three", 7)).toBe("one two\nthree");
  expect(wrapped("a-very-long-word and", 7)).toBe("a-very-long-word\nand");
  expect(wrapped("│ a table is wide │", 7)).toBe("│ a table is wide │");
  expect(wrapped("\u001b[33mone two\u001b[39m", 7)).toBe("\u001b[33mone two\u001b[39m");
});

const commands = ["push", "stats", "episodes", "rollout", "pause", "resume", "dead", "engine", "doctor"];
test.each([[], ...commands.map((name) => [name])])("the help of %s fits 80 columns", async (...names) => {
  const { out } = await sortie([...names.filter((name) => typeof name === "string"), "--help"]);
  expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
});

test.each([
  [
    ["push", "x", "--repeat", "3"],
    "sortie: unknown option '--repeat' (Did you mean --repeats?): see sortie push --help\n",
  ],
  [
    ["stats", "--since", "soon"],
    /^sortie: option '--since <span>' argument 'soon' is invalid\. .+[:.] [Ss]ee sortie stats --help\n$/,
  ],
  [["--what"], "sortie: unknown option '--what': see sortie --help\n"],
  [["pusch"], "sortie: unknown command 'pusch' (Did you mean push?): see sortie --help\n"],
])("a wrong command line %j is told in one line, with where the help is", async (args, expected) => {
  const { code, out, err } = await sortie(args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  if (typeof expected === "string") expect(err).toBe(expected);
  else expect(err).toMatch(expected);
  expect(err.trimEnd().split("\n")).toHaveLength(1);
});
