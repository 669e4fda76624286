import fc from "fast-check";
import { expect, test } from "vitest";
import { toAttributes } from "../../../../functions/adapters/table/client.ts";
import {
  fitSnapshot,
  SNAPSHOT_BYTES,
  type Snapshot,
  snapshotSchema,
} from "../../../../functions/core/housekeeping/snapshot.ts";
import { noTotals } from "../../../../functions/core/housekeeping/totals.ts";
import { sizeOf } from "../../../support/dynamo-rules.ts";
import { aPool } from "../items.ts";

function aSnapshot(pool: Snapshot["pool"]): Snapshot {
  const fleet = { queue: null, dead_letters: 0, open: 1, totals: noTotals() };
  return snapshotSchema.parse({
    v: 1,
    at: "2030-01-01T00:00:00.000Z",
    engine: "main",
    status: { engine_status: "ENGINE.ROLLING", engine_status_detail: null, global_step: 1 },
    pool,
    fleets: { main: { ...fleet, reward_mean: null, reward_deviation: null } },
  });
}
const bytes = (snapshot: Snapshot) => sizeOf(toAttributes(snapshot));
const lists = (tasks: number, letters: string) =>
  Object.fromEntries(Array.from({ length: tasks }, (_, n) => [`task-${n}`, [letters]]));

test("a snapshot that fits is left alone, also without a pool", () => {
  for (const pool of [null, aPool({ completed_tasks_details: lists(3, "x") })]) {
    expect(fitSnapshot(aSnapshot(pool))).toEqual(aSnapshot(pool));
  }
});

test("what is most bulky and least needed goes first; counts stay", () => {
  const details = lists(2000, "x".repeat(36));
  const pool = aPool({
    completed_episodes: 7,
    completed_tasks_details: details,
    completed_tasks_client_uuids: lists(2000, "y".repeat(60)),
    running_episode_details: Object.fromEntries(
      Array.from({ length: 2000 }, (_, n) => [`ep-${n}`, { client_uuid: "z".repeat(60) }]),
    ),
  });
  const fitted = fitSnapshot(aSnapshot(pool));
  expect(fitted.reduced).toEqual(["running_episode_details"]);
  expect(fitted.pool).toEqual({ ...pool, running_episode_details: null });
});

test("the size is that of the bytes, not of the characters", () => {
  const pool = aPool({ completed_tasks_details: { "task-1": ["語".repeat(150_000)] } });
  expect(fitSnapshot(aSnapshot(pool)).reduced).toContain("completed_tasks_details");
});

test("a pool of any size fits afterwards, and is still a snapshot", () => {
  const size = fc.nat(3000);
  fc.assert(
    fc.property(size, size, size, (details, clients, runs) => {
      const pool = aPool({
        completed_tasks: details,
        completed_tasks_details: lists(details, "é".repeat(60)),
        completed_tasks_client_uuids: lists(clients, "y".repeat(60)),
        running_episode_details: Object.fromEntries(Array.from({ length: runs }, (_, n) => [`ep-${n}`, {}])),
      });
      const fitted = fitSnapshot(aSnapshot(pool));
      expect(bytes(fitted)).toBeLessThanOrEqual(SNAPSHOT_BYTES);
      expect(fitted.pool?.completed_tasks).toBe(details);
      if (bytes(aSnapshot(pool)) > SNAPSHOT_BYTES) expect(fitted.reduced).not.toEqual([]);
      // The estimate may be a little above the truth, not more.
      else if (fitted.reduced.length > 0)
        expect(bytes(aSnapshot(pool))).toBeGreaterThan(0.8 * SNAPSHOT_BYTES);
      expect(snapshotSchema.parse(fitted)).toEqual(fitted);
    }),
    { numRuns: 15 },
  );
});
