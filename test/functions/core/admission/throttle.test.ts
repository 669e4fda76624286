import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  fullReason,
  judge,
  policyOf,
  readBatch,
  remember,
  throttle,
} from "../../../../functions/core/admission/throttle.ts";
import { poolInformationSchema } from "../../../../functions/core/protocol.ts";

const sequences = z
  .array(
    z.object({
      client_uuid: z.string(),
      steps: z.array(
        z.object({
          policy: z.object({
            ratio: z.number(),
            expected_batch_size: z.number(),
            expected_num_repeat: z.number(),
            current_task_id: z.string(),
          }),
          pool: poolInformationSchema,
          throttled: z.boolean(),
          reason: z.string(),
          seen_after: z.array(z.string()),
        }),
      ),
    }),
  )
  .parse(JSON.parse(readFileSync(new URL("../../../data/throttle.json", import.meta.url), "utf8")));

test("the data has what it is named for: 200 sequences of 939 steps, 94 of them throttled", () => {
  const steps = sequences.flatMap((sequence) => sequence.steps);
  expect([sequences.length, steps.length, steps.filter((step) => step.throttled).length]).toEqual([
    200, 939, 94,
  ]);
});

test.each(sequences.map((sequence, index) => [index, sequence] as const))(
  "sequence %i of the reference: same verdict, words and memory after each step",
  (_, { client_uuid, steps }) => {
    let seen: readonly string[] = [];
    for (const step of steps) {
      const decision = throttle(step.policy, step.pool, seen, (uuid) => uuid === client_uuid);
      expect(decision).toEqual({ throttled: step.throttled, reason: step.reason, seen: step.seen_after });
      seen = decision.seen;
    }
  },
);

describe("the fleet's prefix takes the place of the one uuid", () => {
  const ours = (uuid: string) => uuid.startsWith("math/");
  const pool = poolInformationSchema.parse({
    completed_tasks_client_uuids: { a: ["math/i.1"], b: ["math/j.7"], c: ["math2/i.1"] },
    running_episode_details: { e: { client_uuid: "math/k.2", optional_task_id: "d" } },
  });

  test("its tasks count, whichever attempt ran them, and another fleet's do not", () => {
    const policy = policyOf({ ratio: 0.3, batchSize: 10, repeats: 4 }, "new");
    expect(throttle(policy, pool, [], ours)).toEqual({
      throttled: true,
      reason:
        "Throttling because there are already 3 unique tasks in the batch, which meets/exceeds the threshold of 3.0 for task_id new.",
      seen: [],
    });
    expect(throttle({ ...policy, ratio: 0.31 }, pool, [], ours).throttled).toBe(false);
  });

  test("a task of another fleet passes and does not count", () => {
    const batch = readBatch(pool, 4, ours);
    const setting = { ratio: 0, batchSize: 10, repeats: 4 };
    expect(["c", "d", "new"].map((key) => judge(key, batch, new Set(), setting))).toEqual([
      "alien",
      "present",
      "full",
    ]);
  });
});

test("the reference's oddity: own episodes after the first are not counted, nor aliens behind it", () => {
  const pool = poolInformationSchema.parse({
    completed_tasks_client_uuids: { a: ["me", "me"], b: ["me", "you"], c: ["you", "me"] },
  });
  const batch = readBatch(pool, 2, (uuid) => uuid === "me");
  expect(batch.completedTasks).toBe(1);
  expect([...batch.own]).toEqual(["a", "b", "c"]);
  expect([...batch.alien]).toEqual(["c"]);
});

test("a running episode without a task is neither ours nor anybody's, but the engine is not idle", () => {
  const pool = poolInformationSchema.parse({
    running_episode_details: { e: { client_uuid: "me", optional_task_id: null } },
  });
  expect(readBatch(pool, 1, () => true)).toEqual({
    own: new Set(),
    alien: new Set(),
    completedTasks: 0,
    idle: false,
  });
});

test("the memory drops its oldest, and a known task does not move", () => {
  expect(remember(["a", "b", "c"], "a", 3)).toEqual(["a", "b", "c"]);
  expect(remember(["a", "b", "c"], "d", 3)).toEqual(["b", "c", "d"]);
});

test.each([
  [1.5, 8, "12.0"],
  [0.4, 4, "1.6"],
  [0.1, 3, "0.30000000000000004"],
  [1e-6, 1, "1e-06"],
  [0.0001, 1, "0.0001"],
  [1e12, 1e6, "1e+18"],
  [1.25e-120, 1, "1.25e-120"],
  [0, 5, "0.0"],
])("a threshold of %d × %d reads %s, as in Python", (ratio, batchSize, text) => {
  expect(fullReason(1, { ratio, batchSize, repeats: 1 }, "t")).toContain(`threshold of ${text} for`);
});
