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
