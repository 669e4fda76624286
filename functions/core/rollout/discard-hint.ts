/**
 * The engine takes an episode back that had no model activity for its discard timeout. Older ones count the start of a call
 * alone, so that one long call is enough: then the reason says so, with the timeout that would have sufficed.
 */
import type { Attempt } from "./item.ts";

export type IdleFacts = Pick<Attempt, "discard_timeout" | "claimed_at" | "last_call_at">;

/** Room for the next call, which may take longer. */
const ROOM = 1.5;

/** For an attempt whose episode turned out to be lost at `lostBy` (unix ms): nothing is added where it was not idle so long. */
export function withDiscardHint(
  detail: string,
  { discard_timeout, claimed_at, last_call_at: lastCall = claimed_at }: IdleFacts,
  lostBy: number,
): string {
  const silent = (lostBy - lastCall) / 1000;
  if (silent < discard_timeout) return detail;
  const enough = Math.ceil((silent * ROOM) / 10) * 10;
  return (
    `${detail}: no model call had begun for ${Math.round(silent)} s, and the engine takes an episode back after ` +
    `${discard_timeout} s (older engines count the start of a call alone): a discard timeout of ${enough} s ` +
    "(discardEpisodeTimeoutSeconds, or discard_episode_timeout in the message) would have sufficed"
  );
}
