/** Runs agents that are somewhere else: one call each, whose answer is judged here, whatever the way there. */
import type { Invocation } from "../../contract/agent-invocation.ts";
import type { Clock } from "../clock.ts";
import { describeError, SortieError } from "../errors.ts";
import { endOf } from "./agent.ts";
import { type AgentReply, outcomeOf } from "./agent-answer.ts";
import { invocationOf, sessionId } from "./agent-request.ts";
import type { AgentOutcome, AgentRunner, AgentWork } from "./agent-runner.ts";

/**
 * `unreachable` nobody is there, or something before the agent answered: it has run nothing; `busy` turned away: it has
 * run nothing, and will later; `lost` the call broke after it was sent; `refused` the way there takes no such request;
 * `failed` the agent failed, in words that the way there has; `deadline` its own time was up.
 */
export type AgentCallFailure = "unreachable" | "busy" | "lost" | "refused" | "failed" | "deadline";

export class AgentCallError extends SortieError {
  readonly code: `agent-${AgentCallFailure}`;
  readonly failure: AgentCallFailure;
  readonly retryAfterMs: number | undefined;

  constructor(failure: AgentCallFailure, message: string, retryAfterMs?: number, cause?: unknown) {
    super(message, { cause });
    this.code = `agent-${failure}`;
    this.failure = failure;
    this.retryAfterMs = retryAfterMs;
  }
}

/** One way to an agent. Called at most once for what may have run. */
export interface AgentCaller {
  /** @throws AgentCallError; anything where the signal has fired */
  call(request: {
    readonly body: Invocation;
    readonly session: string;
    readonly signal: AbortSignal;
    /** Unix ms. */
    readonly deadline: number;
  }): Promise<AgentReply>;
  /** The attempt is over, however it ended. */
  over?(session: string): Promise<void>;
}

/** A busy agent is asked again for so long; then the episode is given back, for others must not wait for it. */
const BUSY_PATIENCE_MS = 60_000;
const BUSY_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 15_000;

const reasonOf = {
  unreachable: "agent-unreachable",
  busy: "agent-busy",
  lost: "agent-lost",
  refused: "agent-refused",
  failed: "agent-error",
  deadline: "deadline",
} as const;

export function remoteAgents(caller: AgentCaller, clock: Clock): AgentRunner {
  return {
    // Each has its own place wherever it runs.
    reserve: () => ({ release: () => undefined }),
    start: (work) => ({
      outcome: perform(caller, work, clock),
      calls: () => undefined,
      lastCallAt: () => undefined,
    }),
  };
}

async function perform(caller: AgentCaller, work: AgentWork, clock: Clock): Promise<AgentOutcome> {
  const session = sessionId(work.attempt.id);
  try {
    const reply = await askUntilTaken(caller, work, session, clock);
    // An agent may echo what it was given.
    const text = reply.text.replaceAll(work.grant.openai_api_key, "***");
    return outcomeOf({ ...reply, text }, work);
  } catch (error) {
    return { kind: "failed", ...(work.signal.aborted ? endOf(work.signal) : failureOf(error)) };
  } finally {
    await caller
      .over?.(session)
      .catch((error) =>
        work.log("warn", "agent's session not stopped", { error: describeError(error, 300) }),
      );
  }
}

async function askUntilTaken(
  caller: AgentCaller,
  work: AgentWork,
  session: string,
  clock: Clock,
): Promise<AgentReply> {
  const { signal, deadline } = work;
  const body = invocationOf(work);
  const patientUntil = Math.min(clock.now() + BUSY_PATIENCE_MS, deadline);
  for (let pause = BUSY_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await caller.call({ body, session, signal, deadline });
    } catch (error) {
      if (!(error instanceof AgentCallError) || error.failure !== "busy") throw error;
      const wait = error.retryAfterMs ?? pause;
      if (clock.now() + wait > patientUntil) throw error;
      await clock.sleep(wait, signal);
    }
  }
}

function failureOf(error: unknown): { reason: (typeof reasonOf)[AgentCallFailure]; detail: string } {
  if (error instanceof AgentCallError)
    return { reason: reasonOf[error.failure], detail: describeError(error.message, 450) };
  return { reason: "agent-lost", detail: describeError(error, 450) };
}
