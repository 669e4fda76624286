/** The interface between Sortie and an agent, which agents import as `agents/agent.ts`. */
import type { Task, WorkflowOutput } from "./task.ts";

export type { Task, WorkflowOutput };

/** An OpenAI chat message; fields that are not named here pass through. */
export interface ChatMessage {
  role: string;
  content?: string | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  [field: string]: unknown;
}
export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}
/**
 * The assistant's message of a completion, to be pushed back into `messages` as it is: what the completion says about it
 * does not become part of it, since these two are not enumerable.
 */
export interface ChatReply extends ChatMessage {
  /** Such as `stop`, `tool_calls`, or `length` where the answer was cut off; undefined where the server says none. */
  readonly finish_reason?: string;
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number };
}

/** An OpenAI chat completion request without `model`, which the engine ignores. */
export interface ChatRequest {
  messages: ChatMessage[];
  tools?: unknown[];
  temperature?: number;
  max_tokens?: number;
  [field: string]: unknown;
}

/** The claimed episode, as the agent sees it. */
export interface AgentEpisode {
  /** An OpenAI-compatible base URL, ending in `/v1`. */
  readonly baseUrl: string;
  /** Belongs to the episode; never log it. */
  readonly apiKey: string;
  /** Fires at the deadline, and as soon as the engine no longer wants this episode. */
  readonly signal: AbortSignal;
  /** Unix ms by which the agent must have returned. */
  readonly deadline: number;
  /** One structured log line, with the rollout, attempt and episode added. */
  readonly log: (message: string, facts?: Record<string, unknown>) => void;
  /**
   * One chat completion; resolves to the assistant's message. Waits as long as the deadline allows, obeys `signal`,
   * and throws where the answer has no choices, whatever its HTTP status.
   */
  readonly chat: (request: ChatRequest) => Promise<ChatReply>;
}

/** What an agent returns; `metadata` and `log_metrics` may be left out. */
export type AgentOutput = Partial<WorkflowOutput> & Pick<WorkflowOutput, "reward">;

/** The user's code: task and model in, reward out. Throwing costs the rollout an attempt, never a reward of 0. */
export type Agent = (task: Task, episode: AgentEpisode) => Promise<AgentOutput>;
