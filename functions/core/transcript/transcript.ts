/**
 * What an attempt was: the conversation with the model and how it ended, in ATIF, the Agent Trajectory Interchange Format
 * of Harbor (https://github.com/harbor-framework/harbor, RFC 0001). Fields of ours are under `extra`: the format allows no
 * others.
 */
import type { EpisodeType } from "../protocol.ts";
import type { Reason } from "../reasons.ts";

export const SCHEMA_VERSION = "ATIF-v1.8";

export interface TranscriptToolCall {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** `raw`: the arguments as the model wrote them, where they are no JSON object; `id`: absent where the call had none. */
  readonly extra?: { readonly raw?: string; readonly no_id?: true };
}

export interface TranscriptResult {
  /** A call of the same step. */
  readonly source_call_id?: string;
  readonly content: string;
  readonly extra?: { readonly tool_call_id?: string; readonly branch?: number };
}

export interface TranscriptMetrics {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly cached_tokens?: number;
}

/** What Sortie knows of a step beyond the format. */
export interface StepExtra {
  /** The call's number in its attempt, from 1; a step of the agent has one unless the agent itself wrote the message. */
  readonly call?: number;
  /** The route that was called: `chat/completions`, `responses`, `messages`. */
  readonly api?: string;
  readonly streamed?: boolean;
  readonly finish_reason?: string;
  /** From the request to the last byte of its answer. */
  readonly latency_ms?: number;
  /** HTTP status of the answer, where it was no 200. */
  readonly status?: number;
  /** Why there is no reply. */
  readonly error?: string;
  /** Further choices of the same call. */
  readonly other_choices?: readonly string[];
  /** What the request asked of the model: temperature, max_tokens and the like. */
  readonly request?: Readonly<Record<string, number | string | boolean>>;
  /**
   * A conversation that does not go on from where an earlier one ended: its number, from 1; absent in the first one.
   * `branch_from`: the last step that it shares.
   */
  readonly branch?: number;
  readonly branch_from?: number;
  /** The agent put this message into the model's mouth. */
  readonly given?: true;
  /** Something was too long to be kept whole. */
  readonly cut?: readonly string[];
}

export interface TranscriptStep {
  readonly step_id: number;
  /** ISO 8601: when the call began. */
  readonly timestamp?: string;
  readonly source: "system" | "user" | "agent";
  readonly model_name?: string;
  readonly message: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly TranscriptToolCall[];
  readonly observation?: { readonly results: readonly TranscriptResult[] };
  readonly metrics?: TranscriptMetrics;
  readonly llm_call_count?: number;
  readonly extra?: StepExtra;
}

export interface TranscriptLine {
  /** ISO 8601. */
  readonly at: string;
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** What Sortie knows of an attempt. */
export interface TranscriptExtra {
  readonly fleet: string;
  readonly engine: string;
  /** The rollout's key. */
  readonly rollout: string;
  readonly run?: string;
  readonly task_id: string;
  readonly repeat: number;
  readonly episode_type: EpisodeType;
  readonly attempt: string;
  readonly episode: string;
  readonly global_step: number | null;
  /** ISO 8601. */
  readonly claimed_at: string;
  readonly ended_at: string;
  /** How the attempt ended; absent where that was not settled yet. */
  readonly reason?: Reason;
  readonly reward?: unknown;
  /** Of a failure: the error, its lines in the agent's source, its causes. */
  readonly detail?: string;
  readonly metadata?: unknown;
  readonly log_metrics?: unknown;
  /** Model calls that the attempt made; null where they are not seen from the rollout function. */
  readonly model_calls: number | null;
  /** What the agent logged. */
  readonly log: readonly TranscriptLine[];
  /** Lines and calls that were left out, since an attempt's transcript is bounded. */
  readonly dropped?: { readonly lines?: number; readonly calls?: number };
}

/** One attempt. */
export interface Transcript {
  readonly schema_version: typeof SCHEMA_VERSION;
  /** The rollout's key: all attempts at it have it. */
  readonly session_id: string;
  /** The attempt's id. */
  readonly trajectory_id: string;
  readonly agent: {
    /** The fleet's name. */
    readonly name: string;
    /** The rollout function's version, which its agent is compiled into. */
    readonly version: string;
    readonly model_name?: string;
    readonly tool_definitions?: readonly Readonly<Record<string, unknown>>[];
  };
  readonly steps: readonly TranscriptStep[];
  readonly final_metrics?: {
    readonly total_prompt_tokens?: number;
    readonly total_completion_tokens?: number;
    readonly total_cached_tokens?: number;
    readonly total_steps: number;
  };
  readonly extra: TranscriptExtra;
}
