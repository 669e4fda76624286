import { describe, expect, test } from "vitest";
import { noteBatch } from "../../../../functions/core/rollout/note-batch.ts";
import { settleLeftover } from "../../../../functions/core/rollout/settle.ts";
import {
  afterReading,
  isTrainingOver,
  type TrainingSeen,
} from "../../../../functions/core/rollout/training-seen.ts";
import { aPool, NOW, running } from "../items.ts";
import { us } from "../scripted-engine.ts";
import { limits, settleFixture, stored } from "../settle-fixture.ts";

/** What is known after readings of these steps, ten seconds apart. */
function reading(...steps: (number | null)[]): TrainingSeen | undefined {
  let seen: TrainingSeen | undefined;
  steps.forEach((global_step, n) => {
    seen = afterReading(seen, "engine-1", { global_step }, NOW + n * 10_000) ?? seen;
  });
  return seen;
}

describe("readings of an engine", () => {
  test("that goes on tell of no loss, and are written down at another step and every 30 s", () => {
    const first = reading(3);
    expect(first).toEqual({ engine: "engine-1", step: 3, at: NOW, losses: [], version: 1 });
    const next = (step: number, seconds: number) =>
      afterReading(first, "engine-1", { global_step: step }, NOW + seconds * 1000);
    expect([next(3, 29), next(3, 30)?.version, next(4, 1)?.step]).toEqual([undefined, 2, 4]);
  });

  test("tell of each step that is lower than the one before: when it was last seen, and where it began again", () => {
    expect(reading(3, 4, 0, 1, 2, 1)?.losses).toEqual([
      { until: NOW + 40_000, at: NOW + 50_000, step: 1 },
      { until: NOW + 10_000, at: NOW + 20_000, step: 0 },
    ]);
  });

  test("that are older than what is known, or tell no step, or are of another engine, end no training", () => {
    const seen = reading(3, 4);
    expect(afterReading(seen, "engine-1", { global_step: 1 }, NOW)).toBeUndefined();
    expect(afterReading(seen, "engine-1", { global_step: null }, NOW + 60_000)).toBeUndefined();
    expect(afterReading(seen, "engine-2", { global_step: 1 }, NOW + 60_000)?.losses).toEqual([]);
  });

  test("keep the last twenty losses", () => {
    const steps = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? 2 : 1));
    expect(reading(...steps)?.losses).toHaveLength(20);
  });
});

describe("the training of an attempt", () => {
  const at = (global_step: number | null, seconds: number) => ({
    global_step,
    claimed_at: NOW + seconds * 1000,
  });

  test("is over where the pool shows an earlier step, and goes on where it shows the same or a later one", () => {
    expect(isTrainingOver(at(3, 0), undefined, { global_step: 0 })).toBe(true);
    expect(isTrainingOver(at(3, 0), undefined, { global_step: 3 })).toBe(false);
    expect(isTrainingOver(at(3, 0), reading(3, 4), { global_step: 5 })).toBe(false);
    expect(isTrainingOver(at(null, 0), reading(3, 0), { global_step: 5 })).toBe(false);
  });

  test("is over where one was seen to end after the claim, although the next one has come further", () => {
    expect(isTrainingOver(at(3, 5), reading(3, 3, 0, 1, 4), { global_step: 4 })).toBe(true);
  });

  test("is the next one where that had come to its step, and another had ended before", () => {
    // Between the readings of 10 s and 20 s the engine restarted, and is at step 1.
    const seen = reading(3, 3, 1, 2);
    expect(isTrainingOver(at(1, 15), seen, { global_step: 2 })).toBe(false);
    expect(isTrainingOver(at(3, 15), seen, { global_step: 3 })).toBe(true);
    expect(isTrainingOver(at(1, 25), seen, { global_step: 2 })).toBe(false);
  });
});

describe("a stored result whose end is pending", () => {
  const stage = settleFixture();
  const fleet = { engine: "engine-1", fleet: "main", fleetId: "main" };
  const leftover = { reason: "crashed", until: NOW + 60_000 } as const;
  const gone = { ...stored, gone_since: NOW - 60_000 };

  test("went with its training where readings showed its end", async () => {
    const world = await stage({ pool: ["batch-over"] }, gone, { item: { state: "reporting" } });
    const steps = [1, 0, 1, 2];
    for (const [n, global_step] of steps.entries())
      await noteBatch(world.batches, fleet, aPool({ global_step }), NOW + (n + 1) * 10_000);
    const { item, settled } = await settleLeftover(world.ports, limits, world.item, leftover);
    expect([settled, item.state]).toEqual([true, "lost"]);
    expect(item.history.at(-1)).toMatchObject({ reason: "training-lost", reward: 1 });
    expect(world.ends()).toEqual([]);
  });

  test("is unknown where they showed none", async () => {
    const world = await stage({ pool: ["batch-over"] }, gone, { item: { state: "reporting" } });
    for (const [n, global_step] of [1, 2].entries())
      await noteBatch(world.batches, fleet, aPool({ global_step }), NOW + (n + 1) * 10_000);
    expect((await settleLeftover(world.ports, limits, world.item, leftover)).item.state).toBe("unknown");
  });

  test("went with its training where the next one shows nothing of it at the same step", async () => {
    const world = await stage({ pool: ["nowhere"] }, gone, { item: { state: "reporting" } });
    for (const [n, global_step] of [1, 0, 1].entries())
      await noteBatch(world.batches, fleet, aPool({ global_step }), NOW + (n + 1) * 10_000);
    expect((await settleLeftover(world.ports, limits, world.item, leftover)).item.state).toBe("lost");
  });

  test.each([
    ["lost", {}],
    ["unknown", { "task-0": ["episode-0"] }],
  ])("is %s where the same step shows, of what was seen in its batch, %j", async (state, details) => {
    const world = await stage({ pool: ["nowhere"] }, gone, { item: { state: "reporting" } });
    const before = aPool({
      running_episode_details: { "episode-1": running(us) },
      completed_tasks_details: { "task-0": ["episode-0"] },
    });
    await noteBatch(world.batches, fleet, before, NOW - 90_000);
    world.engine.pool = async () => aPool({ completed_tasks_details: details });
    expect((await settleLeftover(world.ports, limits, world.item, leftover)).item.state).toBe(state);
  });
});
