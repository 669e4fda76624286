/** Runs the user's agent under a deadline and an abort signal, in whichever way the runner has. */
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { WorkflowOutput } from "../protocol.ts";
import type { Reason } from "../reasons.ts";
import type { AgentOutcome, AgentRunner, AgentWork } from "./agent-runner.ts";

/** The reason of an episode's abort signal: why this attempt is over. */
export class AttemptAborted extends Error {
  override readonly name = "AttemptAborted";
  readonly reason: Reason;
  constructor(reason: Reason, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

export type AgentEnd =
  | { kind: "output"; output: WorkflowOutput; calls: number | undefined; lastCallAt: number | undefined }
  | {
      kind: "failed";
      reason: Reason;
      detail: string;
      calls: number | undefined;
      lastCallAt: number | undefined;
    };

export interface AgentRun extends Omit<AgentWork, "signal"> {
  readonly controller: AbortController;
}

/** Never throws, and never waits longer than a moment past the deadline, whatever the agent does. */
export async function runAgent(
  ports: { clock: Clock; agents: AgentRunner },
  run: AgentRun,
): Promise<AgentEnd> {
  const { controller, deadline } = run;
  const signal = controller.signal;
  const over = new AbortController();
  void abortAtDeadline(ports.clock, controller, deadline, over.signal);
  const agent = ports.agents.start({ ...run, signal });
  const outcome = await Promise.race([agent.outcome, whenAborted(signal)]);
  over.abort();
  if (!signal.aborted) controller.abort(new AttemptAborted("ended", "the agent has returned"));
  return { ...outcome, calls: agent.calls(), lastCallAt: agent.lastCallAt() };
}

/** Once the signal has fired nothing that the agent does counts, and an agent that ignores it is left behind. */
function whenAborted(signal: AbortSignal): Promise<AgentOutcome> {
  return new Promise((resolve) => {
    const abort = () => resolve({ kind: "failed", ...endOf(signal) });
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
  });
}

/** Why the attempt of a signal that has fired is over. */
export function endOf(signal: AbortSignal): { reason: Reason; detail: string } {
  const cause: unknown = signal.reason;
  if (cause instanceof AttemptAborted) return { reason: cause.reason, detail: cause.message };
  return { reason: "agent-error", detail: describeError(cause) };
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
