/**
 * The reference's throttle: may one more task of ours enter the engine's batch? Pure, and the same verdict, words and
 * memory as the reference's `_check_throttle_policy` and `_remember_seen_task`. `admission.ts` applies it at scale.
 */
import type { ThrottleSetting } from "../../contract/throttle-setting.ts";
import type { PoolInformation, ThrottlePolicy } from "../protocol.ts";

export type PoolTasks = Pick<PoolInformation, "completed_tasks_client_uuids" | "running_episode_details">;
export type IsOurs = (clientUuid: string) => boolean;

/** The tasks of the engine's batch, as the throttle counts them. */
export interface BatchTasks {
  /** Tasks with an episode of ours, running or completed. */
  readonly own: ReadonlySet<string>;
  /** Tasks with an episode of somebody else's. They pass, and do not count as ours. */
  readonly alien: ReadonlySet<string>;
  readonly completedTasks: number;
  /** Nothing runs at all, whoever's it were. */
  readonly idle: boolean;
}

/** Why a task may enter; `full`: it may not. */
export type Verdict = "idle" | "seen" | "present" | "alien" | "room" | "full";

export interface ThrottleDecision {
  readonly throttled: boolean;
  /** The reference's words; empty where the task passes. */
  readonly reason: string;
  /** The tasks to remember from now on, oldest first. */
  readonly seen: readonly string[];
}

/** One step of the reference: decides about `policy.current_task_id`, and remembers it if it passes. */
export function throttle(
  policy: ThrottlePolicy,
  pool: PoolTasks,
  seen: readonly string[],
  isOurs: IsOurs,
): ThrottleDecision {
  const taskId = policy.current_task_id;
  const setting = settingOf(policy);
  const batch = readBatch(pool, setting.repeats, isOurs);
  if (judge(taskId, batch, new Set(seen), setting) === "full")
    return { throttled: true, reason: fullReason(countOwn(batch), setting, taskId), seen };
  return { throttled: false, reason: "", seen: remember(seen, taskId, seenLimit(setting)) };
}

/** The setting as the engine is told it with a claim. */
export function policyOf(setting: ThrottleSetting, taskId: string): ThrottlePolicy {
  return {
    ratio: setting.ratio,
    expected_batch_size: setting.batchSize,
    expected_num_repeat: setting.repeats,
    current_task_id: taskId,
  };
}

function settingOf(policy: ThrottlePolicy): ThrottleSetting {
  return { ratio: policy.ratio, batchSize: policy.expected_batch_size, repeats: policy.expected_num_repeat };
}

/** `keyOf` turns a task id into the name that the sets hold. */
export function readBatch(
  pool: PoolTasks,
  repeats: number,
  isOurs: IsOurs,
  keyOf: (taskId: string) => string = (taskId) => taskId,
): BatchTasks {
  const own = new Set<string>();
  const alien = new Set<string>();
  let completedTasks = 0;
  for (const [taskId, uuids] of Object.entries(pool.completed_tasks_client_uuids)) {
    const { mine, aliens } = countedEpisodes(uuids, isOurs);
    if (mine + aliens > 0 && mine + aliens >= repeats) completedTasks += 1;
    if (mine > 0) own.add(keyOf(taskId));
    if (aliens > 0) alien.add(keyOf(taskId));
  }
  for (const { client_uuid, optional_task_id } of Object.values(pool.running_episode_details ?? {})) {
    if (optional_task_id) (isOurs(client_uuid) ? own : alien).add(keyOf(optional_task_id));
  }
  return { own, alien, completedTasks, idle: pool.running_episode_details === null };
}

/**
 * The reference stops at the first episode of its own. So a task of ours counts as completed only if enough aliens come
 * before it: with two repeats and more, our share of the completed tasks counts for nothing, and the batch of an idle
 * engine passes as "not full" for longer than it is. And a task that an alien joined later counts as ours alone.
 */
function countedEpisodes(uuids: readonly string[], isOurs: IsOurs): { mine: number; aliens: number } {
  const first = uuids.findIndex(isOurs);
  return first === -1 ? { mine: 0, aliens: uuids.length } : { mine: 1, aliens: first };
}

/** The reference's rules, in its order. */
export function judge(
  key: string,
  batch: BatchTasks,
  seen: { has(key: string): boolean },
  setting: ThrottleSetting,
): Verdict {
  if (batch.idle && batch.completedTasks < setting.batchSize) return "idle";
  if (seen.has(key)) return "seen";
  if (batch.own.has(key)) return "present";
  if (batch.alien.has(key)) return "alien";
  return countOwn(batch) >= thresholdOf(setting) ? "full" : "room";
}

/** How many different tasks are ours alone. */
export function countOwn({ own, alien }: Pick<BatchTasks, "own" | "alien">): number {
  return own.difference(alien).size;
}

/** The first count that is too many. A fraction allows the next whole task: 1.6 lets two in. */
export function thresholdOf({ ratio, batchSize }: ThrottleSetting): number {
  return batchSize * ratio;
}

/** The reference's buffer: as many tasks as three batches have episodes. */
export function seenLimit({ batchSize, repeats }: ThrottleSetting): number {
  return batchSize * repeats * 3;
}

/** A known task keeps its place; a new one goes to the end, and the oldest out. */
export function remember(seen: readonly string[], key: string, limit: number): readonly string[] {
  if (seen.includes(key)) return seen;
  const longer = [...seen, key];
  return longer.slice(Math.max(0, longer.length - limit));
}

/** The reference's words for a task that has to wait. */
export function fullReason(count: number, setting: ThrottleSetting, taskId: string): string {
  const threshold = pythonFloat(thresholdOf(setting));
  return `Throttling because there are already ${count} unique tasks in the batch, which meets/exceeds the threshold of ${threshold} for task_id ${taskId}.`;
}

/** A float as Python prints it: `12.0`, and an exponent of at least two digits beyond 1e16 and below 1e-4. */
function pythonFloat(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e16 || size < 1e-4))
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
