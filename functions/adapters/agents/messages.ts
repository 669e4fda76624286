import type { EpisodeType, Task } from "../../core/protocol.ts";
import type { Reason } from "../../core/reasons.ts";
import type { AgentOutcome } from "../../core/rollout/agent-runner.ts";
import type { RecordedCall } from "../../core/transcript/recorded-call.ts";

export interface StartAgent {
  readonly id: number;
  readonly task: Task;
  readonly episodeType: EpisodeType;
  readonly grant: { readonly openai_base_url: string; readonly openai_api_key: string };
  readonly deadline: number;
  readonly allowUnusualRewards: boolean;
  /** Whether its model calls are told, with all that was said. */
  readonly recording: boolean;
}
export type Headers = Readonly<Record<string, string>>;

export type ToHost =
  | ({ readonly kind: "start" } & StartAgent)
  | { readonly kind: "abort"; readonly id: number; readonly reason: Reason; readonly detail: string }
  | { readonly kind: "ping" }
  /** The proxy's token, as headers; `fault` where it could not be read. */
  | {
      readonly kind: "token";
      readonly ask: number;
      readonly headers: Headers;
      readonly version: number;
      readonly fault?: string;
    };

export type FromHost =
  | { readonly kind: "ready" }
  /** The agent's module could not be loaded. */
  | { readonly kind: "unloadable"; readonly fault: string }
  | { readonly kind: "pong" }
  | {
      readonly kind: "log";
      /** Undefined where it belongs to no agent. */
      readonly id: number | undefined;
      readonly level: "info" | "warn" | "error";
      readonly message: string;
      readonly facts: Record<string, unknown>;
    }
  | {
      readonly kind: "calls";
      readonly id: number;
      readonly calls: number;
      readonly lastCallAt: number | undefined;
    }
  | { readonly kind: "call"; readonly id: number; readonly call: RecordedCall }
  | { readonly kind: "outcome"; readonly id: number; readonly outcome: AgentOutcome }
  /** Wants the proxy's token. */
  | { readonly kind: "token?"; readonly ask: number; readonly renew: boolean };

/** Names the function in a host by which the function asks, from outside, whose code runs just now. */
export const WHO_RUNS = "sortie.who-runs";
