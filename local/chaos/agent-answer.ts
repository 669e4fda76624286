/** The chaos agent behind AgentCore's contract: one invocation in, one answer out. */
import { createChat } from "../../functions/adapters/engine/index.ts";
import { type AgentAnswer, invocationSchema } from "../../functions/contract/agent-invocation.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { agentsHere } from "../../functions/core/rollout/perform-agent.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import agent from "./agent.ts";

const agents = agentsHere(agent, (grant) => createChat({ ...grant, clock }));

/** What the contract has for an agent that failed: its own words, and 500. */
export type Answer = AgentAnswer | { readonly status_code: 500; readonly error: string };

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
  if (ended.kind === "failed") return { status_code: 500, error: ended.detail };
  const { reward, is_success, metadata, log_metrics: metrics } = ended.output;
  return { reward, is_success, metadata, metrics };
}
