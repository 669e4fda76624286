/** How long to wait between two tries to claim, and how long a claimed episode may live. All from the reference. */

/** Seconds between two looks at an engine that is not ROLLING. Source: `_wait_until_status_change_to`. */
export const POLL_DELAY = 5;
/** Seconds after a throttled try. Source: `TROTTLE_EPISODE_RETRY_DELAY`. */
export const THROTTLED_DELAY = 2;
/** Seconds until a rollout asks again that the batch did not need. */
export const NOT_NEEDED_DELAY = 1;
/** Seconds after "No available episodes". Source: `WAIT_MORE_AVAIL_EPISODE_RETRY_DELAY`. */
export const NO_EPISODES_DELAY = 2;
/** Seconds after every other refusal and every error. Source: `START_EPISODE_RETRY_DELAY`. */
export const RETRY_DELAY = 15;
/**
 * A claimed episode may live this many times its discard timeout; later than that its end becomes an abort.
 * Source: `max_episode_time` of `_begin_episode_auto_retry`.
 */
export const MAX_EPISODE_TIME_FACTOR = 8;

/** The one `fail_cause` that passes within seconds; "2 minutes" in place of "1 minute" is the same refusal. */
const NO_EPISODES = "No available episodes to claim.";

export function isNoEpisodes(failCause: string): boolean {
  return failCause.includes(NO_EPISODES);
}

/** Seconds to wait after the engine refused a claim with this `fail_cause`, known or not. */
export function delayAfterRefusal(failCause: string): number {
  return isNoEpisodes(failCause) ? NO_EPISODES_DELAY : RETRY_DELAY;
}

/** Unix ms after which an episode claimed at `claimedAt` (unix ms) is too old to be ended. */
export function expiryOf(claimedAt: number, discardTimeoutSeconds: number): number {
  return claimedAt + MAX_EPISODE_TIME_FACTOR * discardTimeoutSeconds * 1000;
}

/** Whether an episode's result may still be reported. */

export interface EpisodeAge {
  /** Unix ms: the claim plus eight times the discard timeout. */
  readonly expiresAt: number;
  /** Unix ms. */
  readonly now: number;
  /** Whether this client claimed the episode, as far as it knows. */
  readonly known: boolean;
}

/**
 * As in the reference's `end_episode`: an episode that has expired, or that this client never claimed, is aborted
 * instead of ended. (The reference forgets a record 10 s after its expiry; such an episode is past it in any case.)
 */
export function endOrAbort({ expiresAt, now, known }: EpisodeAge): "end" | "abort" {
  return known && now <= expiresAt ? "end" : "abort";
}
