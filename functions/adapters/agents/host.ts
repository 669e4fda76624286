/** Runs agents for the function, in this thread or process: whatever one of them does is told by its number. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Agent } from "../../contract/agent.ts";
import { traceError } from "../../core/error-trace.ts";
import { describeError } from "../../core/errors.ts";
import { AttemptAborted } from "../../core/rollout/agent.ts";
import type { AgentOutcome } from "../../core/rollout/agent-runner.ts";
import type { Rollout } from "../../core/rollout/message.ts";
import { agentsHere, type DescribeThrown, type StartModel } from "../../core/rollout/perform-agent.ts";
import { type FromHost, type StartAgent, type ToHost, WHO_RUNS } from "./messages.ts";
import { guardProcess, ProcessEndRefused } from "./process-end.ts";

/** The way to the function. */
export interface HostPort {
  post(message: FromHost): void;
  onMessage(listener: (message: ToHost) => void): void;
}

/** How many errors outside of its own promise an agent may have in the log. */
const MOST_STRAYS = 10;

interface Hosted {
  readonly controller: AbortController;
  readonly end: (outcome: AgentOutcome) => void;
  calls(): number | undefined;
  lastCallAt(): number | undefined;
  reported: number;
  strays: number;
}

/** To be created before the agent's module is loaded, so that what that does at loading is seen as well. */
export class AgentHost {
  readonly #port: HostPort;
  readonly #describe: DescribeThrown;
  readonly #running = new AsyncLocalStorage<number>();
  readonly #agents = new Map<number, Hosted>();
  #strays = 0;

  /** `bundle`: the URL of the one that the agent is in. */
  constructor(port: HostPort, bundle: string) {
    this.#port = port;
    this.#describe = (thrown) => traceError(thrown, { bundle });
    Object.defineProperty(globalThis, Symbol.for(WHO_RUNS), { value: () => this.#running.getStore() });
    guardProcess((what) => this.#endedProcess(what));
    process.on("unhandledRejection", (error) => this.#stray("unhandledRejection", error));
    process.on("uncaughtException", (error) => {
      this.#stray("uncaughtException", error);
      const [words = "", ...trace] = this.#describe(error).split("\n");
      this.#fail([`${words} (thrown where nothing catches it)`, ...trace].join("\n"));
    });
  }

  /** Begins to take agents. */
  serve(agent: Agent, startModel: StartModel): void {
    const here = agentsHere(agent, startModel, this.#describe);
    this.#port.onMessage((message) => {
      if (message.kind === "start") this.#running.run(message.id, () => void this.#start(here, message));
      if (message.kind === "abort") this.#abort(message.id, message);
      if (message.kind === "ping") this.#answer();
    });
    this.#port.post({ kind: "ready" });
  }

  async #start(here: ReturnType<typeof agentsHere>, work: StartAgent): Promise<void> {
    const { id, task, episodeType } = work;
    const controller = new AbortController();
    const { promise: failure, resolve: end } = Promise.withResolvers<AgentOutcome>();
    const agent = here.start({
      ...work,
      // An agent sees its task alone; the rest of a rollout is the function's.
      rollout: { task, episodeType } as Rollout,
      signal: controller.signal,
      alone: false,
      record: work.recording ? (call) => this.#port.post({ kind: "call", id, call }) : undefined,
      log: (level, message, facts) => this.#log(id, level, message, facts ?? {}),
    });
    const { calls, lastCallAt } = agent;
    this.#agents.set(id, { controller, end, calls, lastCallAt, reported: 0, strays: 0 });
    const outcome = await Promise.race([agent.outcome, failure]);
    this.#tellCalls(id);
    this.#agents.delete(id);
    this.#port.post({ kind: "outcome", id, outcome });
    if (!controller.signal.aborted) controller.abort(new AttemptAborted("ended", "the agent has returned"));
  }

  #abort(id: number, { reason, detail }: { reason: AttemptAborted["reason"]; detail: string }): void {
    this.#agents.get(id)?.controller.abort(new AttemptAborted(reason, detail));
  }

  #answer(): void {
    this.#port.post({ kind: "pong" });
    for (const id of this.#agents.keys()) this.#tellCalls(id);
  }

  #tellCalls(id: number): void {
    const agent = this.#agents.get(id);
    const calls = agent?.calls() ?? 0;
    if (!agent || calls === agent.reported) return;
    agent.reported = calls;
    this.#port.post({ kind: "calls", id, calls, lastCallAt: agent.lastCallAt() });
  }

  /** Ends the agent whose code runs just now. */
  #fail(detail: string): void {
    this.#agents.get(this.#running.getStore() ?? -1)?.end({ kind: "failed", reason: "agent-error", detail });
  }

  #endedProcess(what: string): void {
    this.#stray("an agent would have ended the process", what);
    this.#fail(what);
  }

  /** What an agent does outside of its own promise. */
  #stray(what: string, error: unknown): void {
    if (error instanceof ProcessEndRefused) return;
    const id = this.#running.getStore();
    const agent = id === undefined ? undefined : this.#agents.get(id);
    if (agent) agent.strays += 1;
    else this.#strays += 1;
    if ((agent?.strays ?? this.#strays) > MOST_STRAYS) return;
    this.#log(agent && id, "error", what, { error: this.#describe(error) });
  }

  #log(
    id: number | undefined,
    level: "info" | "warn" | "error",
    message: string,
    facts: Record<string, unknown>,
  ): void {
    try {
      this.#port.post({ kind: "log", id, level, message, facts });
    } catch {
      // Functions and the like cannot be handed over: as JSON has them.
      this.#port.post({ kind: "log", id, level, message, facts: plain(facts) });
    }
  }
}

function plain(facts: Record<string, unknown>): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(facts)) as Record<string, unknown>;
  } catch (error) {
    return { facts: `could not be logged: ${describeError(error, 200)}` };
  }
}
