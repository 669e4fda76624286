/** What the engine's batch still needs, from its pool: pure. */

import { isEvalName } from "../eval-name.ts";
import type { PoolInformation } from "../protocol.ts";

export type BatchPool = Pick<
  PoolInformation,
  | "sample_collection_method"
  | "completed_task_target"
  | "completed_episode_target"
  | "task_expected_num_repeat"
  | "completed_tasks_client_uuids"
  | "running_episode_details"
>;

export interface BatchNeed {
  /** Episodes of each task that its group lacks, among the groups that will be the batch's first to be complete. */
  readonly byTask: ReadonlyMap<string, number>;
  /** Episodes that no task with one in the batch is to give. */
  readonly fresh: number;
  /** Running episodes that the batch does not need. */
  readonly beyond: number;
}

interface Group {
  readonly task: string;
  readonly done: number;
  readonly running: number;
}

/**
 * Undefined where the pool does not tell: before a training's first report, and with methods whose end does not follow
 * from counts. Ended episodes are counted by their client uuids: they are emptied when a batch begins, while the details
 * are those of the batch before for up to 12 s.
 */
export function batchNeed(pool: BatchPool): BatchNeed | undefined {
  const repeats = pool.task_expected_num_repeat;
  const groups = groupsOf(pool);
  const sum = (of: (group: Group) => number) => groups.reduce((total, group) => total + of(group), 0);
  if (pool.sample_collection_method === "rollout_until_finish_enough_episodes") {
    const lacking = pool.completed_episode_target - sum(({ done }) => done);
    const running = sum(({ running: count }) => count);
    return {
      byTask: new Map(),
      fresh: Math.max(0, lacking - running),
      beyond: Math.max(0, running - Math.max(0, lacking)),
    };
  }
  if (pool.sample_collection_method !== "rollout_until_finish_enough_tasks" || repeats <= 0) return undefined;
  const first = firstGroups(groups, pool.completed_task_target, repeats);
  const useful = new Map(
    first.map(({ task, done, running }) => [task, Math.min(running, Math.max(0, repeats - done))]),
  );
  return {
    byTask: new Map(
      first.flatMap(({ task, done, running }) =>
        done + running < repeats ? [[task, repeats - done - running] as const] : [],
      ),
    ),
    fresh: Math.max(0, pool.completed_task_target - first.length) * repeats,
    beyond: sum(({ task, running }) => running - (useful.get(task) ?? 0)),
  };
}

/** The groups that are complete or worked at, the nearest to their end first, as many as the batch asks for. */
function firstGroups(groups: readonly Group[], target: number, repeats: number): Group[] {
  const lacks = ({ done }: Group) => Math.max(0, repeats - done);
  return groups
    .filter(({ done, running }) => done >= repeats || running > 0)
    .toSorted((a, b) => lacks(a) - lacks(b) || b.running - a.running)
    .slice(0, target);
}

function groupsOf(pool: BatchPool): Group[] {
  const running = new Map<string, number>();
  for (const { optional_task_id: task } of Object.values(pool.running_episode_details ?? {}))
    if (task && !isEvalName(task)) running.set(task, (running.get(task) ?? 0) + 1);
  const done = new Map(
    Object.entries(pool.completed_tasks_client_uuids).map(([task, uuids]) => [task, uuids.length]),
  );
  return [...new Set([...done.keys(), ...running.keys()])].map((task) => ({
    task,
    done: done.get(task) ?? 0,
    running: running.get(task) ?? 0,
  }));
}
