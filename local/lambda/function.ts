import { randomUUID } from "node:crypto";
import { arn } from "../region.ts";
import type { InvocationResult } from "./invocation.ts";
import { Sandbox, type SandboxOptions } from "./sandbox.ts";

/** After so long Lambda gives up loading a handler's module, and begins it anew within the invocation's own time. */
const INIT_MS = 10_000;

export interface LambdaFunctionOptions extends Omit<SandboxOptions, "initTimeoutMs"> {
  /** Invocations beyond it are throttled; no limit where it is left out. */
  readonly reservedConcurrency?: number | undefined;
  /** 10 s by default, as Lambda's. */
  readonly initTimeoutMs?: number;
}

export interface ProcessInfo {
  readonly pid: number;
  readonly state: "idle" | "busy";
  /** The invocation that it runs, if any. */
  readonly requestId: string | undefined;
}

/**
 * A Lambda function on this machine: one process per concurrent invocation, each started when it is first needed and
 * used again when idle. AWS's own runtime client runs in it and decides what an exception, a rejection or an exit means.
 */
export class LambdaFunction {
  readonly name: string;
  readonly arn: string;
  readonly #options: LambdaFunctionOptions;
  readonly #sandboxes = new Set<Sandbox>();
  readonly #busy = new Set<Sandbox>();
  #invocations = 0;
  #stopped = false;

  constructor(options: LambdaFunctionOptions) {
    this.name = options.name;
    this.arn = arn("lambda", `function:${options.name}`);
    this.#options = options;
  }

  /** Runs the handler on `event` (anything that JSON can carry). Never rejects: what goes wrong is an error result. */
  async invoke(event: unknown): Promise<InvocationResult> {
    if (this.#stopped) return refused("Runtime.Stopped", `${this.name} has been stopped.`);
    if (this.#invocations >= (this.#options.reservedConcurrency ?? Number.POSITIVE_INFINITY)) {
      return refused("TooManyRequestsException", "Rate Exceeded: the reserved concurrency is in use.");
    }
    this.#invocations += 1;
    const sandbox = this.#takeIdle() ?? (await this.#start());
    const result = await sandbox.invoke(JSON.stringify(event ?? null));
    this.#busy.delete(sandbox);
    this.#invocations -= 1;
    if (result.status === "error") this.#logFailure(sandbox, result);
    return result;
  }

  /** The living processes, oldest first. */
  processes(): ProcessInfo[] {
    return [...this.#sandboxes].map((sandbox) => ({
      pid: sandbox.pid,
      state: this.#busy.has(sandbox) ? "busy" : "idle",
      requestId: sandbox.requestId,
    }));
  }

  /** Kills one process (SIGKILL), as a failing host would; false where there is none of this pid. */
  kill(pid: number): boolean {
    const sandbox = [...this.#sandboxes].find((candidate) => candidate.pid === pid);
    sandbox?.kill();
    return sandbox !== undefined;
  }

  /** Kills every process and waits until all are gone. Running invocations end with `Runtime.ExitError`. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const sandboxes = [...this.#sandboxes];
    for (const sandbox of sandboxes) sandbox.kill();
    await Promise.all(sandboxes.map((sandbox) => sandbox.exited));
  }

  /** The one started last, so that those not needed any more stay untouched. */
  #takeIdle(): Sandbox | undefined {
    const sandbox = [...this.#sandboxes].findLast(
      (candidate) => candidate.alive && !this.#busy.has(candidate),
    );
    if (sandbox) this.#busy.add(sandbox);
    return sandbox;
  }

  async #start(): Promise<Sandbox> {
    const sandbox = await Sandbox.start({ initTimeoutMs: loadLimitMs(this.#options), ...this.#options });
    // Busy from the start, or somebody else might take it.
    this.#busy.add(sandbox);
    this.#sandboxes.add(sandbox);
    sandbox.exited.then(() => this.#sandboxes.delete(sandbox));
    if (this.#stopped) sandbox.kill();
    return sandbox;
  }

  #logFailure(sandbox: Sandbox, result: InvocationResult & { status: "error" }): void {
    const line = JSON.stringify({
      type: "platform.runtimeDone",
      function: this.name,
      requestId: result.requestId,
      status: result.error.type === "Sandbox.Timedout" ? "timeout" : "error",
      errorType: result.error.type,
      errorMessage: result.error.message,
    });
    this.#options.log({ function: this.name, pid: sandbox.pid, line });
  }
}

function refused(type: string, message: string): InvocationResult {
  return { status: "error", requestId: randomUUID(), error: { type, message, trace: [] } };
}

/** Until a module that does not load has failed, first by itself and then in an invocation. */
export function loadLimitMs({ timeoutMs }: Pick<SandboxOptions, "timeoutMs">): number {
  return INIT_MS + timeoutMs;
}
