/** Metrics, as the domain reports them. */
import type { EpisodeType } from "./protocol.ts";
import type { Reason } from "./reasons.ts";

/** Metrics; no prompt and no key among them. */
export interface Metrics {
  /** How an attempt ended; the reward of an ended one, if it is a number. */
  attempt(facts: {
    reason: Reason;
    episodeType: EpisodeType;
    reward: number | undefined;
    milliseconds: number;
  }): void;
}
