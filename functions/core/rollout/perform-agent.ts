/** The agent as a function: called with its task and episode here, in this thread, and what comes out of it checked. */
import type { Agent, AgentEpisode, ChatRequest } from "../../contract/agent.ts";
import { describeError, InvalidOutputError, ModelError } from "../errors.ts";
import type { Reason } from "../reasons.ts";
import type { RecordCall } from "../transcript/recorded-call.ts";
import { endOf } from "./agent.ts";
import type { AgentOutcome, AgentRunner, AgentWork, RunningAgent } from "./agent-runner.ts";
import { checkOutput } from "./check-output.ts";

/** An agent throws this to say that the rollout deserves another attempt, without an error in the logs. */
const AGENT_ABORT = "AgentAbort";
/** And this to give the episode back, nobody's fault. */
const AGENT_DISCARD = "AgentDiscard";

/** The model's client for an episode, and the count of its calls. */
export interface ModelAccess {
  chat: AgentEpisode["chat"];
  calls: () => number;
  /** Unix ms at which the last call began. */
  lastCallAt: () => number | undefined;
  /** What kept the last call from the model, where neither the model nor the engine answered it. */
  outage?: () => string | undefined;
}
export type StartModel = (grant: {
  baseUrl: string;
  apiKey: string;
  signal: AbortSignal;
  record?: RecordCall | undefined;
}) => ModelAccess;

/** Words for what an agent threw: where it is known, with the lines of its source. */
export type DescribeThrown = (thrown: unknown) => string;
/** What an agent here needs of its work. */
export type WorkHere = Omit<AgentWork, "attempt">;

/** Agents in this thread, all together: what an agent's own thread or process does, and nothing to protect others. */
export function agentsHere(
  agent: Agent,
  startModel: StartModel,
  describe: DescribeThrown = describeError,
): Pick<AgentRunner, "reserve"> & { start(work: WorkHere): RunningAgent } {
  return {
    reserve: () => ({ release: () => undefined }),
    start: (work) => {
      const { openai_base_url: baseUrl, openai_api_key: apiKey } = work.grant;
      const model = startModel({ baseUrl, apiKey, signal: work.signal, record: work.record });
      const { calls, lastCallAt } = model;
      return { outcome: performAgent(agent, model, work, describe), calls, lastCallAt };
    },
  };
}

async function performAgent(
  agent: Agent,
  model: ModelAccess,
  work: WorkHere,
  describe: DescribeThrown,
): Promise<AgentOutcome> {
  const { rollout, grant, signal, deadline, allowUnusualRewards } = work;
  const episode: AgentEpisode = {
    baseUrl: grant.openai_base_url,
    apiKey: grant.openai_api_key,
    signal,
    deadline,
    chat: (request: ChatRequest) => handled(model.chat(request)),
    log: (message, facts) => work.log("info", message, facts),
  };
  try {
    const value: unknown = await agent(structuredClone(rollout.task), episode);
    const output = checkOutput(value, rollout.episodeType, allowUnusualRewards, (what, entries) =>
      work.log("warn", what, { entries }),
    );
    return { kind: "output", output };
  } catch (error) {
    return {
      kind: "failed",
      ...(signal.aborted ? endOf(signal) : (outageBehind(error, model.outage) ?? blame(error, describe))),
    };
  }
}

/** An agent may leave a call behind: that it is cut off then must not become an unhandled rejection. */
function handled<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}

/**
 * What an agent throws because its model call came to nothing on the way is not the agent's doing, whatever it makes of it.
 * Nor is it the rollout's: it uses up no attempt, but counts for the circuit.
 */
function outageBehind(
  error: unknown,
  seen: (() => string | undefined) | undefined,
): { reason: Reason; detail: string } | undefined {
  if (isA(InvalidOutputError, error)) return undefined;
  const outage = isA(ModelError, error) ? error.outage && error.message : seen?.();
  if (!outage) return undefined;
  return {
    reason: "engine-unreachable",
    detail: `a model call did not reach the model: ${describeError(outage, 300)}`,
  };
}

/** Looking at what was thrown may throw as well: a Proxy with traps. */
function isA<T>(type: abstract new (...of: never[]) => T, thrown: unknown): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

function blame(cause: unknown, describe: DescribeThrown): { reason: Reason; detail: string } {
  try {
    if (cause instanceof InvalidOutputError) return { reason: "invalid-output", detail: cause.message };
    if (cause instanceof Error && cause.name === AGENT_DISCARD)
      return { reason: "agent-discarded", detail: describeError(cause.message) };
    const aborted = cause instanceof Error && cause.name === AGENT_ABORT;
    const status = cause instanceof ModelError && cause.status !== undefined ? ` (HTTP ${cause.status})` : "";
    return { reason: aborted ? "agent-aborted" : "agent-error", detail: withStatus(describe(cause), status) };
  } catch {
    // Looking at what was thrown may throw as well: a Proxy with traps.
    return { reason: "agent-error", detail: describeError(cause) };
  }
}

/** Behind the message: below it may be a trace. */
function withStatus(words: string, status: string): string {
  const [first = "", ...trace] = words.split("\n");
  return [first + status, ...trace].join("\n");
}
