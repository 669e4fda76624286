import { describe, expect, test } from "vitest";
import { evalName } from "../../../../functions/core/eval-name.ts";
import { batchNeed } from "../../../../functions/core/rollout/batch-need.ts";
import { aPool, running } from "../items.ts";

/** A batch of so many tasks, four episodes each; `done` and `runs` tell how many of each task. */
function pool(target: number, done: Record<string, number>, runs: Record<string, number>, method = "tasks") {
  const episodes = Object.entries(runs).flatMap(([task, count]) =>
    Array.from({ length: count }, (_, n) => [
      `${task}-${n}`,
      { ...running(`main/${task}.${n}`), optional_task_id: task },
    ]),
  );
  return aPool({
    sample_collection_method: `rollout_until_finish_enough_${method}`,
    completed_task_target: target,
    completed_episode_target: target * 4,
    task_expected_num_repeat: 4,
    completed_tasks_client_uuids: Object.fromEntries(
      Object.entries(done).map(([task, count]) => [task, Array<string>(count).fill("main/x.1")]),
    ),
    running_episode_details: Object.fromEntries(episodes),
  });
}
const plain = (need: ReturnType<typeof batchNeed>) =>
  need && { ...need, byTask: Object.fromEntries(need.byTask) };

describe("what a batch of groups needs", () => {
  test("is all of it at first", () => {
    expect(plain(batchNeed(pool(16, {}, {})))).toEqual({ byTask: {}, fresh: 64, beyond: 0 });
  });

  test("is what the begun groups lack, and the groups that nobody has begun", () => {
    expect(plain(batchNeed(pool(3, { a: 4, b: 1 }, { b: 1 })))).toEqual({
      byTask: { b: 2 },
      fresh: 4,
      beyond: 0,
    });
  });

  test("is nothing once enough groups are covered: what runs for others is beyond it", () => {
    expect(plain(batchNeed(pool(2, { a: 4, b: 2 }, { b: 3, c: 4 })))).toEqual({
      byTask: {},
      fresh: 0,
      beyond: 5,
    });
  });

  test("leaves out a begun group at which nobody works: its siblings may be gone", () => {
    expect(plain(batchNeed(pool(1, { a: 3 }, {})))).toEqual({ byTask: {}, fresh: 4, beyond: 0 });
  });

  test("counts on the groups that are nearest to their end", () => {
    expect(plain(batchNeed(pool(1, { a: 1, b: 3 }, { a: 3, b: 1 })))).toEqual({
      byTask: {},
      fresh: 0,
      beyond: 3,
    });
  });

  test("does not count evals", () => {
    expect(plain(batchNeed(pool(1, {}, { [evalName("a")]: 4 })))).toEqual({
      byTask: {},
      fresh: 4,
      beyond: 0,
    });
  });
});

test("a batch of episodes needs as many as are missing and not running", () => {
  expect(plain(batchNeed(pool(2, { a: 1, b: 2 }, { c: 3 }, "episodes")))).toEqual({
    byTask: {},
    fresh: 2,
    beyond: 0,
  });
  expect(plain(batchNeed(pool(1, { a: 3 }, { c: 3 }, "episodes")))).toEqual({
    byTask: {},
    fresh: 0,
    beyond: 2,
  });
});

test.each(["", "rollout_until_finish_enough_non_dummy_tasks", "rollout_until_any_client_agree_sync_weight"])(
  "where the method is '%s' nothing can be told",
  (sample_collection_method) => {
    expect(batchNeed({ ...pool(2, {}, {}), sample_collection_method })).toBeUndefined();
  },
);
