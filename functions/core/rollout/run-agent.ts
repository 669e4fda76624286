/** Runs the user's agent under a deadline and an abort signal, and checks what comes out of it. */
import type { Agent, ChatRequest } from "../agent.ts";
import type { Clock } from "../clock.ts";
import { describeError, InvalidOutputError, ModelError } from "../errors.ts";
import type { AgentRunner, Log } from "../ports.ts";
import type { WorkflowOutput } from "../protocol.ts";
import type { Reason } from "../reasons.ts";
import { checkOutput } from "./check-output.ts";
import type { Rollout } from "./message.ts";

/** The reason of an episode's abort signal: why this attempt is over. */
export class AttemptAborted extends Error {
  override readonly name = "AttemptAborted";
  readonly reason: Reason;
  constructor(reason: Reason, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** An agent throws this to say that the rollout deserves another attempt, without an error in the logs. */
export const AGENT_ABORT = "AgentAbort";

export type AgentEnd =
  | { kind: "output"; output: WorkflowOutput; calls: number; lastCallAt: number | undefined }
  | { kind: "failed"; reason: Reason; detail: string; calls: number };

export interface AgentRun {
  readonly rollout: Rollout;
  readonly grant: { openai_base_url: string; openai_api_key: string };
  readonly controller: AbortController;
  /** Unix ms. */
  readonly deadline: number;
  readonly allowUnusualRewards: boolean;
  readonly log: Log;
}

/** Never throws, and never waits longer than a moment past the deadline, whatever the agent does. */
export async function runAgent(
  ports: { clock: Clock; agents: AgentRunner },
  run: AgentRun,
): Promise<AgentEnd> {
  const { controller, deadline } = run;
  const signal = controller.signal;
  const model = ports.agents.start({
    baseUrl: run.grant.openai_base_url,
    apiKey: run.grant.openai_api_key,
    signal,
  });
  const over = new AbortController();
  void abortAtDeadline(ports.clock, controller, deadline, over.signal);
  try {
    const episode = {
      baseUrl: run.grant.openai_base_url,
      apiKey: run.grant.openai_api_key,
      signal,
      deadline,
      chat: (request: ChatRequest) => handled(model.chat(request)),
      log: (message: string, facts?: Record<string, unknown>) => run.log("info", message, facts),
    };
    const output = await untilAborted(callAgent(ports.agents.agent, run.rollout, episode), signal);
    const checked = checkOutput(output, run.rollout.episodeType, run.allowUnusualRewards, (what, entries) =>
      run.log("warn", what, { entries }),
    );
    return { kind: "output", output: checked, calls: model.calls(), lastCallAt: model.lastCallAt() };
  } catch (error) {
    const blamed = outageBehind(error, signal, model.outage) ?? blame(error, signal);
    return { kind: "failed", ...blamed, calls: model.calls() };
  } finally {
    over.abort();
    if (!signal.aborted) controller.abort(new AttemptAborted("ended", "the agent has returned"));
  }
}

/** An agent may throw before its first await; that is a failure like any other. */
async function callAgent(agent: Agent, rollout: Rollout, episode: Parameters<Agent>[1]): Promise<unknown> {
  return await agent(structuredClone(rollout.task), episode);
}

async function abortAtDeadline(
  clock: Clock,
  controller: AbortController,
  deadline: number,
  over: AbortSignal,
): Promise<void> {
  try {
    await clock.sleep(Math.max(0, deadline - clock.now()), over);
    controller.abort(new AttemptAborted("deadline", "the agent was not done at the episode's deadline"));
  } catch {
    // The agent was done first.
  }
}

/** An agent may leave a call behind: that it is cut off then must not end the process, with all its neighbours. */
function handled<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}

/** An agent that ignores its signal is left behind; its late outcome must not become an unhandled rejection. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * What an agent throws because its model call came to nothing on the way is not the agent's doing, whatever it makes of it.
 * Nor is it the rollout's: it uses up no attempt, but counts for the circuit.
 */
function outageBehind(
  error: unknown,
  signal: AbortSignal,
  seen: (() => string | undefined) | undefined,
): { reason: Reason; detail: string } | undefined {
  if (signal.aborted || isA(InvalidOutputError, error)) return undefined;
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

function blame(error: unknown, signal: AbortSignal): { reason: Reason; detail: string } {
  // Once the signal has fired, whatever the agent throws is its consequence.
  const cause: unknown = signal.aborted ? signal.reason : error;
  try {
    if (cause instanceof AttemptAborted) return { reason: cause.reason, detail: cause.message };
    if (cause instanceof InvalidOutputError) return { reason: "invalid-output", detail: cause.message };
    const aborted = cause instanceof Error && cause.name === AGENT_ABORT;
    const status = cause instanceof ModelError && cause.status !== undefined ? ` (HTTP ${cause.status})` : "";
    return { reason: aborted ? "agent-aborted" : "agent-error", detail: describeError(cause) + status };
  } catch {
    // Looking at what was thrown may throw as well: a Proxy with traps.
    return { reason: "agent-error", detail: describeError(cause) };
  }
}
