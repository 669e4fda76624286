/** The request by which an agent outside of this function is called. Its shape is the contract's. */
import { AGENT_CONTRACT_VERSION, type Invocation, reservedKeys } from "../../contract/agent-invocation.ts";
import type { AgentWork } from "./agent-runner.ts";

/** What the engine's model is called where nobody else says: the engine ignores it. */
const MODEL_ID = "default";
const LEAST_SESSION_LENGTH = 33;
const MOST_SESSION_LENGTH = 256;

/** Carries the model's key: it goes to the agent, and nowhere else. */
export function invocationOf(work: AgentWork): Invocation {
  const { rollout, grant, attempt, deadline } = work;
  const { task, run } = rollout;
  const reserved: ReadonlySet<string> = new Set(reservedKeys);
  const beside = Object.entries(task.metadata).filter(([name]) => !reserved.has(name));
  return {
    ...Object.fromEntries(beside),
    prompt: task.main_query,
    task,
    _rollout: {
      base_url: grant.openai_base_url,
      api_key: grant.openai_api_key,
      model_id: MODEL_ID,
      ...(run === undefined ? {} : { exp_id: run }),
      input_id: task.task_id,
      sampling_params: {},
      sortie: {
        version: AGENT_CONTRACT_VERSION,
        attempt: attempt.id,
        rollout: rollout.key,
        deadline: deadline / 1000,
        episode_uuid: attempt.episode,
        global_step: attempt.global_step,
        episode_type: rollout.episodeType,
      },
    },
  };
}

/** 33 to 256 letters, digits, hyphens and underscores, as AgentCore wants it; the same for the same attempt. */
export function sessionId(attempt: string): string {
  return attempt
    .replace(/[^A-Za-z0-9_-]/g, "-")
    .padEnd(LEAST_SESSION_LENGTH, "-0")
    .slice(0, MOST_SESSION_LENGTH);
}
