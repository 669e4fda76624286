/** The chaos agent behind AgentCore's contract: one invocation in, one answer out. */
import { createChat } from "../../functions/adapters/engine/index.ts";
import {
  type AgentAnswer,
  answerStatus,
  invocationSchema,
} from "../../functions/contract/agent-invocation.ts";
import type { Reason } from "../../functions/core/reasons.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { agentsHere } from "../../functions/core/rollout/perform-agent.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import agent from "./agent.ts";

const agents = agentsHere(agent, (grant) => createChat({ ...grant, clock }));

/** What the contract has for an agent that failed, or whose model did. */
export type Answer =
  | AgentAnswer
  | { readonly status_code: number; readonly model_status?: number; readonly error: string };

export async function answerTo(event: unknown, signal: AbortSignal): Promise<Answer> {
  const { task, _rollout: given } = invocationSchema.parse(event);
  const { outcome } = agents.start({
    rollout: decodeMessage(JSON.stringify({ task }), given.sortie.rollout),
    grant: { openai_base_url: given.base_url, openai_api_key: given.api_key },
    signal,
    deadline: given.sortie.deadline * 1000,
    allowUnusualRewards: false,
    alone: false,
    log: () => undefined,
  });
  const ended = await outcome;
  if (ended.kind === "failed") return { ...statusOf(ended.reason), error: ended.detail };
  const { reward, is_success, metadata, log_metrics: metrics } = ended.output;
  return { reward, is_success, metadata, metrics };
}

/** A call that something before the engine turned away is none of the agent's failures, nor the model's. */
function statusOf(reason: Reason): { status_code: number; model_status?: number } {
  if (reason === "engine-unreachable") return { status_code: answerStatus.model, model_status: 503 };
  if (reason === "model-error") return { status_code: answerStatus.model };
  return { status_code: reason === "agent-discarded" ? answerStatus.discard : answerStatus.failed };
}
