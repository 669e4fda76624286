/**
 * Runs agents beside the function's own work, never in its thread: most share one thread, those that may have harmed
 * others before have a process each. A thread that dies or is blocked is replaced; who did it is charged where that is
 * known for certain, and nobody else.
 */
import { describeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { endOf } from "../../core/rollout/agent.ts";
import type { AgentOutcome, AgentPlace, AgentRunner, RunningAgent } from "../../core/rollout/agent-runner.ts";
import type { WorkHere } from "../../core/rollout/perform-agent.ts";
import type { FromHost, Headers, ToHost } from "./messages.ts";
import { type HostHandle, type HostOptions, startProcess, startThread } from "./thread.ts";

export interface RunnerOptions {
  /** The file that hosts agents when it is started as one; see `host.ts`. */
  readonly entry: string;
  /** Given to the host as JSON. */
  readonly hosted: object;
  /** All that agents see of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** The function's. */
  readonly memoryMb: number;
  /** An event loop that has answered nothing for so long is blocked. */
  readonly blockSeconds: number;
  /** What the function's clock adds to the machine's time, which agents see, ms. Default: nothing. */
  readonly offsetMs?: () => number;
  /** The token of the proxy before the engine; read again where `renew`. */
  readonly token?: ((renew: boolean) => Promise<{ headers: Headers; version: number }>) | undefined;
  /** For what belongs to no agent. */
  readonly log: Log;
}

const PING_MS = 1000;
const LOADING_SECONDS = 30;
/** An agent alone in its process that has not heeded its signal by then is ended. */
const GRACE_MS = 2000;
/** A thread that has not ended by then is left behind. */
const END_MS = 1000;
/** Parts of the function's memory that agents' heaps may take: all that share the thread, and each one alone. */
const SHARED_HEAP = 0.6;
const ALONE_HEAP = 0.25;
/** Of the function's memory, MB: its own part, and a process with an agent that needs little. */
const OWN_MB = 256;
const PROCESS_MB = 128;

interface Attended {
  readonly work: WorkHere;
  readonly resolve: (outcome: AgentOutcome) => void;
  calls: number;
  lastCallAt: number | undefined;
}

interface Host {
  readonly handle: HostHandle;
  readonly alone: boolean;
  readonly ready: PromiseWithResolvers<void>;
  readonly agents: Map<number, Attended>;
  /** What is sent once it is ready. */
  waiting: ToHost[] | undefined;
  /** Agents so far. */
  hosted: number;
  /** Pings without an answer, or seconds of loading. */
  unanswered: number;
  blocked: boolean;
  /** What it did, where that is known before it is dead; `id` names the agent that did it. */
  verdict: { readonly what: string; readonly id?: number | undefined } | undefined;
}

export class AgentHosts implements AgentRunner {
  readonly #options: RunnerOptions;
  readonly #hosts = new Set<Host>();
  readonly #places: { free: number };
  #shared: Host | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#places = { free: Math.max(1, Math.floor((options.memoryMb - OWN_MB) / PROCESS_MB)) };
  }

  #offsetMs(): number {
    return this.#options.offsetMs?.() ?? 0;
  }

  /** Rejects where the agent cannot be loaded. */
  async ready(): Promise<void> {
    await this.#sharedHost().ready.promise;
  }

  /** Ends all threads and processes. */
  close(): void {
    for (const host of this.#hosts) host.handle.end();
  }

  reserve(): AgentPlace | undefined {
    const places = this.#places;
    if (places.free === 0) return undefined;
    places.free -= 1;
    return {
      release: () => {
        places.free += 1;
      },
    };
  }

  start(work: WorkHere): RunningAgent {
    this.#last += 1;
    const id = this.#last;
    const { promise, resolve } = Promise.withResolvers<AgentOutcome>();
    const attended: Attended = { work, resolve, calls: 0, lastCallAt: undefined };
    const host = work.alone ? this.#open(true) : this.#sharedHost();
    host.agents.set(id, attended);
    host.hosted += 1;
    const { rollout, grant, deadline, allowUnusualRewards, signal } = work;
    const { task, episodeType } = rollout;
    const own = {
      deadline: deadline - this.#offsetMs(),
      allowUnusualRewards,
      recording: work.record !== undefined,
    };
    post(host, { kind: "start", id, task, episodeType, grant, ...own });
    const abort = () => this.#abort(host, id, signal);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#watch();
    return { outcome: promise, calls: () => attended.calls, lastCallAt: () => attended.lastCallAt };
  }

  #abort(host: Host, id: number, signal: AbortSignal): void {
    if (!host.agents.has(id)) return;
    post(host, { kind: "abort", id, ...endOf(signal) });
    if (host.alone) setTimeout(() => host.handle.end(), GRACE_MS).unref();
  }

  /** Without what agents of earlier invocations have left running, where nobody is disturbed by its end. */
  #sharedHost(): Host {
    const host = this.#shared;
    const previous = host ? [...host.agents.values()] : [];
    if (host && previous.length > 0 && previous.every(({ work }) => work.signal.aborted)) {
      host.verdict = { what: "went on after its attempt was over" };
      host.handle.end();
      this.#shared = undefined;
    }
    this.#shared ??= this.#open(false);
    return this.#shared;
  }

  #open(alone: boolean): Host {
    const { entry, environment, memoryMb, hosted } = this.#options;
    const heapMb = Math.floor(memoryMb * (alone ? ALONE_HEAP : SHARED_HEAP));
    const options: HostOptions = { entry, environment, heapMb, hosted };
    const events = {
      message: (message: FromHost) => this.#hear(host, message),
      died: ({ what }: { what: string }) => this.#died(host, what),
    };
    const host: Host = {
      handle: (alone ? startProcess : startThread)(options, events),
      alone,
      ready: Promise.withResolvers(),
      agents: new Map(),
      waiting: [],
      hosted: 0,
      unanswered: 0,
      blocked: false,
      verdict: undefined,
    };
    // Who does not wait for it hears of it by its agents.
    host.ready.promise.catch(() => undefined);
    this.#hosts.add(host);
    return host;
  }

  #hear(host: Host, message: FromHost): void {
    host.unanswered = 0;
    if (message.kind === "ready") this.#sendWaiting(host);
    if (message.kind === "unloadable") host.verdict = { what: `could not be loaded: ${message.fault}` };
    if (message.kind === "token?") void this.#tell(host, message);
    if (message.kind === "calls" || message.kind === "outcome") this.#note(host, message);
    if (message.kind === "call") host.agents.get(message.id)?.work.record?.(message.call);
    if (message.kind !== "log") return;
    const log = host.agents.get(message.id ?? -1)?.work.log ?? this.#options.log;
    log(message.level, message.message, message.facts);
  }

  #sendWaiting(host: Host): void {
    for (const message of host.waiting ?? []) host.handle.post(message);
    host.waiting = undefined;
    host.ready.resolve();
  }

  #note(host: Host, message: FromHost & { kind: "calls" | "outcome" }): void {
    const agent = host.agents.get(message.id);
    if (!agent) return;
    if (message.kind === "calls") {
      const { calls, lastCallAt: own } = message;
      const lastCallAt = own === undefined ? undefined : own + this.#offsetMs();
      Object.assign(agent, { calls, lastCallAt });
      return;
    }
    host.agents.delete(message.id);
    agent.resolve(message.outcome);
    if (host.alone) host.handle.end();
  }

  async #tell(host: Host, { ask, renew }: { ask: number; renew: boolean }): Promise<void> {
    const nothing = { headers: {}, version: 0 };
    const answer = await (this.#options.token?.(renew) ?? Promise.resolve(nothing)).catch((error) => ({
      ...nothing,
      fault: describeError(error, 300),
    }));
    host.handle.post({ kind: "token", ask, ...answer });
  }

  /** Only while agents run: between invocations Lambda stops the clock, and a host has nothing to answer. */
  #watch(): void {
    this.#timer ??= setInterval(() => this.#ping(), PING_MS).unref();
  }

  #ping(): void {
    const busy = [...this.#hosts].filter(({ agents }) => agents.size > 0);
    for (const host of busy) if (!host.blocked) this.#pingOne(host);
    if (busy.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const host of this.#hosts) host.unanswered = 0;
  }

  #pingOne(host: Host): void {
    const patience = host.waiting ? LOADING_SECONDS : this.#options.blockSeconds;
    if (host.unanswered * PING_MS >= patience * 1000) void this.#endBlocked(host, patience);
    else if (!host.waiting) host.handle.post({ kind: "ping" });
    host.unanswered += 1;
  }

  async #endBlocked(host: Host, seconds: number): Promise<void> {
    host.blocked = true;
    // No new agent must come to it meanwhile.
    if (host === this.#shared) this.#shared = undefined;
    const what = host.waiting
      ? `did not load within ${seconds} s`
      : `blocked the event loop for ${seconds} s`;
    host.verdict ??= { what };
    const running = host.alone || host.waiting ? undefined : await host.handle.whoRuns();
    if (running) host.verdict = { what: `${what}, in ${running.at}`, id: running.id };
    host.handle.end();
    // A thread that waits in native code, as for a command, ends only when that returns: its agents are not to wait for it.
    setTimeout(() => this.#died(host, what), END_MS).unref();
  }

  #died(host: Host, seen: string): void {
    if (!this.#hosts.delete(host)) return;
    if (host === this.#shared) this.#shared = undefined;
    const { what, id } = host.verdict ?? { what: seen };
    host.ready.reject(new Error(`the agent ${what}`));
    const lost = [...host.agents].filter(([, { work }]) => !work.signal.aborted);
    if (lost.length > 0)
      this.#options.log("error", "agents lost", { what, agents: lost.length, alone: host.alone });
    const certain = id ?? (host.hosted === 1 || host.waiting ? "all" : undefined);
    for (const [one, agent] of host.agents) agent.resolve(endBy(what, certain, one, host.agents.size));
    host.agents.clear();
  }
}

function endBy(
  what: string,
  certain: number | "all" | undefined,
  id: number,
  among: number,
): AgentOutcome & { kind: "failed" } {
  if (certain === undefined)
    return { kind: "failed", reason: "suspected", detail: `one of ${among} agents in one thread ${what}` };
  if (certain === "all" || certain === id)
    return { kind: "failed", reason: "agent-error", detail: `the agent ${what}` };
  return { kind: "failed", reason: "disturbed", detail: `another agent in the same thread ${what}` };
}

function post(host: Host, message: ToHost): void {
  if (host.waiting) host.waiting.push(message);
  else host.handle.post(message);
}
