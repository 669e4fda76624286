/**
 * Whether the training that an attempt worked for is gone, and its batch with it: then no reward of the attempt was trained
 * on, whether the engine had taken it or not, and none ever will be. `docs/decisions/undelivered-ends.md` has the reasoning.
 */
import type { PoolInformation } from "../protocol.ts";
import { type BatchSeen, shortName } from "./batch-seen.ts";
import { CLOCK_SKEW_MS } from "./heartbeat.ts";
import type { Attempt } from "./item.ts";
import { isRolling } from "./locate-episode.ts";

/** What was seen of the attempt's step, of the next one, and of the first of any training. */
export interface StepsSeen {
  readonly own: BatchSeen | undefined;
  readonly next: BatchSeen | undefined;
  readonly first: BatchSeen | undefined;
}

/** `vanished`: the pool is at the attempt's step, and the engine knows nothing of its episode. */
export function isTrainingLost(
  attempt: Attempt,
  { pool, vanished }: { pool: PoolInformation; vanished: boolean },
  steps: StepsSeen,
): boolean {
  const { global_step: step, claimed_at: claimedAt } = attempt;
  if (step === null) return false;
  // Looks and claims are by several clocks: what is doubtful counts as seen after the claim.
  const seenAt = firstSight(attempt, steps.own);
  const since = seenAt === undefined ? claimedAt - CLOCK_SKEW_MS : Math.min(claimedAt, seenAt);
  if (isBack(pool, step, vanished)) return !hasClosed(steps, { since, until: Number.POSITIVE_INFINITY });
  if (step === 1) return false;
  const certain = Math.max(claimedAt, seenAt ?? claimedAt) + CLOCK_SKEW_MS;
  const begun = steps.first?.looks.find(({ at }) => at > certain)?.at;
  return begun !== undefined && !hasClosed(steps, { since, until: begun + CLOCK_SKEW_MS });
}

/** Within a training steps only grow, and an episode whose end was taken stays on the pool's lists until the next step. */
function isBack(
  { engine_status, global_step: current }: PoolInformation,
  step: number,
  vanished: boolean,
): boolean {
  if (!isRolling(engine_status) || typeof current !== "number") return false;
  return current < step || (current === step && vanished);
}

/** When a look first showed the attempt with its episode. */
function firstSight({ id }: Attempt, own: BatchSeen | undefined): number | undefined {
  const name = shortName(id);
  return own?.looks.find(({ held }) => held.includes(name))?.at;
}

/** Whether the attempt's training was seen to close its batch: by the list that it had in the end, or at the next step. */
function hasClosed({ own, next }: StepsSeen, { since, until }: { since: number; until: number }): boolean {
  const within = (at: number) => at > since && at < until;
  if (own?.final !== undefined && within(own.changed_at)) return true;
  return next?.looks.some(({ at }) => within(at)) ?? false;
}
