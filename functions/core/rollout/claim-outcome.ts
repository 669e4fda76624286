/** What a caller says about a claim that it wants, and what it gets. */

import type { Admission } from "../admission/admission.ts";
import type { Clock } from "../clock.ts";
import type { EngineError } from "../errors.ts";
import type { ClaimAnswer, EngineStatus } from "../protocol.ts";
import type { ClaimLine } from "./claim-line.ts";

export interface ClaimOptions {
  readonly clock: Clock;
  /** Unix ms. No wait ends later; a call that is under way then is let finish, within its own limit. */
  readonly waitUntil: number;
  /** Ends the waiting. A claim under way is let finish: cutting it off could lose an episode that was granted. */
  readonly signal?: AbortSignal | undefined;
  /** Where it waits together with others. Absent: alone, with the reference's delays. */
  readonly line?: ClaimLine | undefined;
  /** Asked before each claim: why nothing may be claimed any more, which ends the waiting; undefined: go on. */
  readonly closed?: (() => Promise<Closed | undefined>) | undefined;
  /** Asked before each claim of a train episode: undefined: start it; otherwise it waits, or its message does. */
  readonly needed?: ((status: EngineStatus) => Promise<"wait" | "defer" | undefined>) | undefined;
  /** Asked before each claim of a train episode. An `EngineError` of it counts as an error of the engine. */
  readonly admission?: (() => Promise<Admission>) | undefined;
  /**
   * The answer of a claim was lost, so the engine may have given an episode away under this client uuid. Looks for it
   * and resolves to its grant, or to undefined where there is none. If it throws an `EngineError`, it is asked again
   * before the next claim: a second episode must not be claimed on top of one that may be ours already.
   * Without this hook such a claim is the outcome.
   */
  readonly onUnclearClaim?: ((error: EngineError) => Promise<ClaimAnswer | undefined>) | undefined;
}
export interface Closed {
  readonly reason: "closed" | "overtaken";
  readonly detail: string;
}

export interface Granted {
  readonly kind: "granted";
  readonly grant: ClaimAnswer;
  /** Unix ms: when the grant came, or when it was asked for where the answer was lost. */
  readonly claimedAt: number;
  /** Unix ms: `claimedAt` plus eight times the discard timeout. */
  readonly expiresAt: number;
  /** The engine's, at the last look before the claim; null before its first ROLLING. */
  readonly globalStep: number | null;
}
/**
 * Why the last try came to nothing; `stopped`: the signal fired; `no-time`: too little is left for an episode;
 * `closed`: the fleet may not claim any more; `overtaken`: another delivery of the message has gone on with the rollout;
 * `not-needed`: the engine's batch can do without.
 */
export type WaitReason =
  | "not-rolling"
  | "no-episodes"
  | "throttled"
  | "refused"
  | "engine-error"
  | "no-time"
  | "closed"
  | "overtaken"
  | "not-needed"
  | "stopped";
export interface WaitedOut {
  readonly kind: "waited-out";
  readonly reason: WaitReason;
  /** The engine's status at the last look. */
  readonly status: string;
  readonly detail: string;
  /** What the last answer asked for before the next try, where that is longer than the usual delay. */
  readonly retryAfterSeconds?: number;
}
export interface UnclearClaim {
  readonly kind: "unclear-claim";
  readonly error: EngineError;
  readonly status: string;
}
export type ClaimOutcome = Granted | WaitedOut | UnclearClaim;
