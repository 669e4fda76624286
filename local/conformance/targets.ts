/** How large the engine's batches are: its pool says so once its trainer has reported, its config at once. */
import type { Engine } from "../../functions/core/engine.ts";
import type { BatchTargets } from "../engine/batch.ts";
import { targetsOf } from "../engine/train-config.ts";

/** The trainer reports every 12 s. */
const PATIENCE_MS = 15_000;
const LOOK_MS = 500;

export type Targets = Pick<BatchTargets, "tasks" | "repeats">;

/** What is told nowhere is taken to be 4 tasks by 4 episodes. */
export async function targetsAt(engine: Engine, config: string | undefined): Promise<Targets> {
  const otherwise = { method: "rollout_until_finish_enough_tasks", tasks: 4, repeats: 4 } as const;
  if (config !== undefined) return targetsOf(config, otherwise);
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; ) {
    const pool = await engine.pool().catch(() => undefined);
    if (pool && pool.completed_task_target > 0 && pool.task_expected_num_repeat > 0)
      return { tasks: pool.completed_task_target, repeats: pool.task_expected_num_repeat };
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return otherwise;
}
