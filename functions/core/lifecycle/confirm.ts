/**
 * `success: true` does not prove that the trainer has the reward: an end is confirmed when the pool has shown it, and
 * missing when a whole batch has passed without.
 */
import { clientUuid } from "../client-uuid.ts";
import { describeError } from "../errors.ts";
import type { PoolInformation } from "../protocol.ts";
import { transition } from "../rollout/persist.ts";
import type { RolloutItem } from "../rollout/rollout-item.ts";
import { confirmed, lastAttempt } from "../rollout/transitions.ts";
import type { SweepPorts } from "./sweep.ts";

/** How many ended rollouts one sweep looks at: more than a batch has. */
const MOST = 2000;
const AT_ONCE = 20;
/** After so long the engine has been restarted or stopped, and the pool will not show it any more. */
const LOST_AFTER_MS = 24 * 3_600_000;

export async function confirm(
  ports: SweepPorts,
  engineName: string,
  pool: PoolInformation,
  until = Number.POSITIVE_INFINITY,
): Promise<number> {
  const waiting = (await ports.index.unconfirmed(engineName, MOST)).filter(({ fleet }) =>
    ports.fleets.has(fleet),
  );
  if (waiting.length === 0) return 0;
  const shown = shownEnds(pool);
  let count = 0;
  for (let start = 0; start < waiting.length && ports.clock.now() < until; start += AT_ONCE) {
    const outcomes = waiting.slice(start, start + AT_ONCE).map(async ({ fleet, key }) => {
      const item = await ports.rollouts.read(fleet, key);
      const fleetId = ports.fleets.get(fleet)?.limits.fleetId ?? fleet;
      const at = item && confirmation(item, fleetId, shown, pool, ports.clock.now());
      if (!item || at === undefined) return 0;
      await transition(ports, item, confirmed(item, at));
      return at === null ? 0 : 1;
    });
    for (const outcome of await Promise.allSettled(outcomes)) {
      if (outcome.status === "fulfilled") count += outcome.value;
      else ports.log("warn", "end could not be confirmed", { error: describeError(outcome.reason, 300) });
    }
  }
  return count;
}

/** Client uuids and episodes of the ends that the pool shows. */
function shownEnds(pool: PoolInformation): { clients: Set<string>; episodes: Set<string> } {
  return {
    clients: new Set(Object.values(pool.completed_tasks_client_uuids).flat()),
    episodes: new Set(Object.values(pool.completed_tasks_details).flat()),
  };
}

/** When it was shown, null for never, undefined while it may still be. */
function confirmation(
  item: RolloutItem,
  fleetId: string,
  shown: ReturnType<typeof shownEnds>,
  pool: PoolInformation,
  now: number,
): number | null | undefined {
  const last = lastAttempt(item);
  if (item.state !== "ended" || item.confirmed_at !== undefined || !last) return undefined;
  if (shown.clients.has(clientUuid(fleetId, last.id)) || shown.episodes.has(last.episode)) return now;
  const wholeBatchPassed =
    typeof pool.global_step === "number" && last.step !== null && pool.global_step >= last.step + 2;
  return wholeBatchPassed || now - last.at > LOST_AFTER_MS ? null : undefined;
}
