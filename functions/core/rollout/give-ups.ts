/**
 * With `spare`, episodes beyond the batch's need are given up when the engine has its samples. Rollouts that were given up
 * often would never end: after some times the engine waits for them, all of them in the same batch, so that it waits once.
 */
import type { RolloutItem } from "./item.ts";

/** Given up so often, a rollout is waited for. */
export const GIVE_UPS = 4;
/** In one batch of so many. */
const ROUND = 16;

export function isWaitedFor(item: Pick<RolloutItem, "history"> | undefined): boolean {
  return (item?.history.filter(({ reason }) => reason === "straggler").length ?? 0) >= GIVE_UPS;
}

/** Whether the engine waits for such rollouts in the batch of this step. */
export function isRound(step: number | null): boolean {
  return step !== null && step % ROUND === 0;
}
