import { expect, test } from "vitest";
import { summarise } from "../../bench/tail/monitor.ts";
import { tailRollouts } from "../../bench/tail/tasks.ts";

test("durations have a median of 5 s and a 99th percentile of 75 s, at most 120 s, the same for the same seed", () => {
  const rollouts = tailRollouts({ seed: 1, tasks: 5000, repeats: 4 });
  const seconds = rollouts.map((rollout) => rollout.seconds).toSorted((a, b) => a - b);
  expect(seconds[seconds.length / 2]).toBeCloseTo(5, 0);
  expect(seconds[seconds.length * 0.99] ?? 0).toBeGreaterThan(65);
  expect(seconds[seconds.length * 0.99] ?? 0).toBeLessThan(85);
  expect(seconds.at(-1)).toBeLessThanOrEqual(120);
  expect(tailRollouts({ seed: 1, tasks: 5000, repeats: 4 })).toEqual(rollouts);
  expect(rollouts.slice(0, 5).map(({ taskId, repeat }) => [taskId, repeat])).toEqual([
    ["tail-0", 0],
    ["tail-0", 1],
    ["tail-0", 2],
    ["tail-0", 3],
    ["tail-1", 0],
  ]);
});

test("idle slots count while the engine is rolling alone", () => {
  const samples = [
    { at: 0, status: "ROLLING", step: 1, claimed: 0 },
    { at: 2, status: "ROLLING", step: 1, claimed: 4 },
    { at: 6, status: "ROLLING_POST", step: 1, claimed: 1 },
    { at: 8, status: "WEIGHT_SYNCING", step: 1, claimed: 0 },
    { at: 10, status: "ROLLING", step: 2, claimed: 4 },
  ];
  expect(summarise(samples, 4)).toMatchObject({
    seconds: 10,
    syncs: 1,
    shares: { ROLLING: 0.6, ROLLING_POST: 0.2, WEIGHT_SYNCING: 0.2 },
    idle: 8 / 24,
  });
});

test("each time in ROLLING_POST tells how long it was and who was waited for last", () => {
  const samples = [
    { at: 0, status: "ROLLING", step: 1, claimed: 4 },
    { at: 2, status: "ROLLING_POST", step: 1, claimed: 2, waitedFor: ["a", "b"] },
    { at: 5, status: "ROLLING_POST", step: 1, claimed: 1, waitedFor: ["b"] },
    { at: 9, status: "ROLLING_POST", step: 1, claimed: 0, waitedFor: [] },
    { at: 10, status: "WEIGHT_SYNCING", step: 1, claimed: 0 },
    { at: 12, status: "ROLLING", step: 2, claimed: 4 },
    { at: 14, status: "ROLLING_POST", step: 2, claimed: 0, waitedFor: [] },
    { at: 15, status: "WEIGHT_SYNCING", step: 2, claimed: 0 },
  ];
  expect(summarise(samples, 4).waits).toEqual([
    { seconds: 8, tasks: ["b"] },
    { seconds: 1, tasks: [] },
  ]);
});
