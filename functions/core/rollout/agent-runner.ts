/** What runs the agents, in one of several ways. */

import type { Log } from "../log.ts";
import type { WorkflowOutput } from "../protocol.ts";
import type { Reason } from "../reasons.ts";
import type { RecordCall } from "../transcript/recorded-call.ts";
import type { Attempt } from "./item.ts";
import type { Rollout } from "./message.ts";

/** What an agent is run for. */
export interface AgentWork {
  readonly rollout: Rollout;
  readonly attempt: Pick<Attempt, "id" | "episode" | "global_step">;
  readonly grant: { readonly openai_base_url: string; readonly openai_api_key: string };
  /** Fires when the attempt is over; its reason is an `AttemptAborted`. */
  readonly signal: AbortSignal;
  /** Unix ms. */
  readonly deadline: number;
  readonly allowUnusualRewards: boolean;
  /** Where it can harm none but itself, since it may have done so before. */
  readonly alone: boolean;
  readonly log: Log;
  /** Gets the model calls that are seen from here; absent where nobody wants them. */
  readonly record?: RecordCall | undefined;
}

export type AgentOutcome =
  | { kind: "output"; output: WorkflowOutput }
  | { kind: "failed"; reason: Reason; detail: string };

export interface RunningAgent {
  /** Never rejects. An agent that does not heed the signal may leave it open for good. */
  readonly outcome: Promise<AgentOutcome>;
  /** Model calls so far; undefined where they are not seen from here. */
  calls(): number | undefined;
  /** Unix ms at which the last call began, where that is known. */
  lastCallAt(): number | undefined;
}

/** Runs agents, in whichever way. */
export interface AgentRunner {
  /** A place for an agent that runs alone; undefined while all are taken. To be released once, when it is done. */
  reserve(): AgentPlace | undefined;
  start(work: AgentWork): RunningAgent;
}

export interface AgentPlace {
  release(): void;
}
