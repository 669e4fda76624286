/** Snapshots that take only what a test is about. */
import type { z } from "zod";
import { type Snapshot, snapshotSchema } from "../../functions/core/housekeeping/snapshot.ts";
import { noTotals, type Totals } from "../../functions/core/housekeeping/totals.ts";

type WrittenSnapshot = z.input<typeof snapshotSchema>;
type WrittenFleet = WrittenSnapshot["fleets"][string];

export const AT = "2026-05-04T10:00:00.000Z";

export function fleetOf(totals: Partial<Totals> = {}, rest: Partial<WrittenFleet> = {}): WrittenFleet {
  return {
    queue: { visible: 12, in_flight: 8, delayed: 3 },
    dead_letters: 1,
    open: 8,
    totals: { ...noTotals(), ...totals },
    reward_mean: null,
    reward_deviation: null,
    ...rest,
  };
}

export const batch = {
  completed_episodes: 5,
  completed_episode_target: 8,
  completed_tasks: 1,
  completed_task_target: 2,
  completed_non_dummy_tasks: 1,
  completed_non_dummy_task_target: 2,
  task_expected_num_repeat: 4,
  completed_tasks_details: { a: ["e1", "e2", "e3", "e4"], b: ["e5"] },
};

/** Fields that have a default may be absent. */
export function snapshotOf(part: Partial<WrittenSnapshot> = {}): Snapshot {
  return snapshotSchema.parse({
    v: 1,
    at: AT,
    engine: "main",
    status: { engine_status: "ENGINE.ROLLING", engine_status_detail: null, global_step: 3 },
    pool: batch,
    fleets: { main: fleetOf() },
    ...part,
  });
}
