/**
 * Where an episode stands, from one reading of the engine's pool: running episodes (live, with their holder), completed
 * ones (up to 12 s late), status and step, all in one answer. No other call tells as much.
 */

import { POOL_LAG_MS } from "../engine.ts";
import type { PoolInformation } from "../protocol.ts";
import type { Attempt } from "./item.ts";

/**
 * `ours` still held under this attempt's uuid; `ended` its end reached the batch; `lost` it is not ours, and no end of
 * ours was taken; `missing` nowhere to be seen yet: look again after the pool's lag; `batch-over` the engine has left the batch
 * in which it was claimed, and shows no end of it: nobody can tell any more.
 */
export type EpisodePresence = "ours" | "ended" | "lost" | "missing" | "batch-over";

const rolling = new Set(["ENGINE.ROLLING", "ENGINE.ROLLING_POST"]);
export function isRolling(status: string | null): boolean {
  return status !== null && rolling.has(status);
}

export function locateEpisode(
  attempt: Attempt,
  names: { clientUuid: string; taskId: string },
  pool: PoolInformation,
  now: number,
): EpisodePresence {
  const running = own(pool.running_episode_details, attempt.episode);
  const sameBatch = isRolling(pool.engine_status) && pool.global_step === attempt.global_step;
  if (running && isRolling(pool.engine_status)) {
    if (running.client_uuid === names.clientUuid) return "ours";
    if (sameBatch) return "lost";
  }
  const ended = endedSight(attempt, names, pool, { sameBatch, now });
  if (ended) return ended;
  if (!sameBatch) return "batch-over";
  const goneFor = attempt.gone_since === undefined ? 0 : now - attempt.gone_since;
  return goneFor >= POOL_LAG_MS ? "lost" : "missing";
}

/** A task may be called `constructor`. */
function own<Value>(entries: Record<string, Value> | null, name: string): Value | undefined {
  return entries !== null && Object.hasOwn(entries, name) ? entries[name] : undefined;
}

/**
 * A discarded episode is handed out again under the same uuid, so its uuid among the completed ones does not prove that
 * the end was ours: the list of client uuids does. But that list is emptied at each weight sync and filled anew, while
 * the completed ones of the old batch still stand there; then the uuid counts while the engine could not have discarded
 * and re-issued the episode since its last model call.
 */
function endedSight(
  attempt: Attempt,
  names: { clientUuid: string; taskId: string },
  pool: PoolInformation,
  { sameBatch, now }: { sameBatch: boolean; now: number },
): EpisodePresence | undefined {
  const clients = pool.completed_tasks_client_uuids;
  if (Object.values(clients).some((uuids) => uuids.includes(names.clientUuid))) return "ended";
  const completed = own(pool.completed_tasks_details, names.taskId) ?? [];
  if (!completed.includes(attempt.episode)) return undefined;
  const named = own(clients, names.taskId)?.length ?? 0;
  // Somebody is named for each completed episode of the task, and it is not us.
  if (sameBatch && named >= completed.length) return "lost";
  const idle = now - (attempt.last_call_at ?? attempt.claimed_at);
  return idle < attempt.discard_timeout * 1000 ? "ended" : "batch-over";
}
