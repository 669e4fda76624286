import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { createProgress } from "../../../local/job/progress.ts";

test("at 80 columns the bar keeps the reward and what is dead, however long the rest is", () => {
  const terminal = new PassThrough();
  let drawn = "";
  terminal.on("data", (chunk) => {
    drawn += String(chunk);
  });
  const stream = Object.assign(terminal, { isTTY: true, columns: 80, rows: 24 });
  const progress = createProgress(100_000, stream as unknown as NodeJS.WriteStream);
  progress.show({
    ended: 12_345,
    dead: 678,
    unknown: 0,
    lost: 0,
    open: 1_000,
    attempts: 20_000,
    rewardMean: 0.4567,
    rewardRange: [0, 1],
    total: 100_000,
    deferred: 0,
    status: "ENGINE.WEIGHT_SYNCING",
    step: 123,
    elapsedMs: 60_000,
  });
  progress.stop();
  const frames = stripVTControlCharacters(drawn).split(/\r|\n/);
  const bar = frames.filter((frame) => frame.includes("/100000")).at(-1) ?? "";
  expect(bar.slice(0, 80)).toContain("13023/100000 | reward 0.457 | dead 678 | ");
});
