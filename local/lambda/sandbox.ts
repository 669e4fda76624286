import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packageRoot } from "../../functions/entries.ts";
import { arn } from "../region.ts";
import { type EnvironmentFacts, processEnvironment } from "./environment.ts";
import {
  exitError,
  type InvocationError,
  type InvocationResult,
  type LogSink,
  parseError,
  timeoutError,
} from "./invocation.ts";
import { forEachLine } from "./lines.ts";
import { isPython } from "./python.ts";
import { RuntimeApi } from "./runtime-api.ts";

// Packing takes its one file along: its installation would compile a native part, which `preload` replaces.
const runtimeClient =
  extname(import.meta.filename) === ".ts"
    ? fileURLToPath(import.meta.resolve("aws-lambda-ric"))
    : join(packageRoot, "dist", "aws-lambda-ric", "index.mjs");
const preload = pathToFileURL(join(packageRoot, "local", "lambda", "child", "preload.mjs")).href;

export interface SandboxOptions extends Omit<EnvironmentFacts, "runtimeApi"> {
  /** Lambda's name of it. Default: Node.js. */
  readonly runtime?: string | undefined;
  /** Runs a Python runtime; see `lambdaPython`. */
  readonly python?: string | undefined;
  /** The function's timeout, in ms. */
  readonly timeoutMs: number;
  /** How long the handler's module may take to load, in ms. */
  readonly initTimeoutMs: number;
  readonly log: LogSink;
}

interface Running {
  readonly requestId: string;
  readonly timer: NodeJS.Timeout;
  readonly settle: (result: InvocationResult) => void;
  /** What the process has reported; the invocation is over when it then asks for its next event, or exits. */
  outcome?: InvocationResult;
}

/** One runtime process, which runs one invocation at a time: started, used again while idle, killed at a timeout. */
export class Sandbox {
  readonly #options: SandboxOptions;
  readonly #ready = Promise.withResolvers<void>();
  readonly #exited = Promise.withResolvers<void>();
  readonly #initTimer: NodeJS.Timeout;
  readonly #process: ChildProcess;
  readonly #api: RuntimeApi;
  #running: Running | undefined;
  #death: InvocationError | undefined;
  #dead = false;

  /** Spawns a process; `ready` tells when it can be invoked. */
  static async start(options: SandboxOptions): Promise<Sandbox> {
    return new Sandbox(options, await RuntimeApi.listen());
  }

  private constructor(options: SandboxOptions, api: RuntimeApi) {
    this.#options = options;
    this.#api = api;
    api.attach({
      next: () => this.#next(),
      response: (id, body) => this.#report(id, success(id, body)),
      error: (id, body) => this.#report(id, failure(id, parseError(body))),
      initError: (body) => {
        this.#death = parseError(body);
      },
    });
    this.#process = spawnRuntime(options, api.address);
    this.#process.once("exit", (code, signal) => this.#exit(exitError(code, signal)));
    this.#process.once("error", (error) => this.#exit({ ...exitError(1, null), message: error.message }));
    this.#initTimer = setTimeout(() => this.#timeOut(options.initTimeoutMs), options.initTimeoutMs);
  }

  /** 0 where the process could not be spawned. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }
  get alive(): boolean {
    return !this.#dead;
  }
  /** The invocation that it runs, if any. */
  get requestId(): string | undefined {
    return this.#running?.requestId;
  }
  /** Resolves when the process has loaded its handler, or has died. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }
  get exited(): Promise<void> {
    return this.#exited.promise;
  }

  /** Runs one invocation. Never rejects: what goes wrong is an error result. `event` is JSON. */
  async invoke(event: string): Promise<InvocationResult> {
    await this.ready;
    const requestId = randomUUID();
    if (this.#dead) return failure(requestId, this.#death ?? exitError(null, null));
    const { timeoutMs, name } = this.#options;
    const { promise, resolve } = Promise.withResolvers<InvocationResult>();
    const timer = setTimeout(() => this.#timeOut(timeoutMs), timeoutMs);
    this.#running = { requestId, timer, settle: resolve };
    const deadline = Date.now() + timeoutMs;
    this.#api.deliver({ requestId, event, deadline, functionArn: arn("lambda", `function:${name}`) });
    return promise;
  }

  /** Kills the process and all that it started, at once. */
  kill(): void {
    if (this.pid === 0) return;
    try {
      process.kill(-this.pid, "SIGKILL");
    } catch {
      this.#process.kill("SIGKILL");
    }
  }

  #next(): void {
    clearTimeout(this.#initTimer);
    this.#ready.resolve();
    if (this.#running?.outcome) this.#settle(this.#running.outcome);
  }

  #report(requestId: string, outcome: InvocationResult): void {
    if (this.#running?.requestId === requestId) this.#running.outcome = outcome;
  }

  #timeOut(afterMs: number): void {
    this.#death ??= timeoutError(afterMs);
    this.kill();
  }

  #exit(error: InvocationError): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#death ??= error;
    clearTimeout(this.#initTimer);
    this.kill();
    this.#api.close();
    if (this.#running) this.#settle(this.#running.outcome ?? failure(this.#running.requestId, this.#death));
    this.#ready.resolve();
    this.#exited.resolve();
  }

  #settle(result: InvocationResult): void {
    const running = this.#running;
    this.#running = undefined;
    clearTimeout(running?.timer);
    running?.settle(result);
  }
}

function runtimeCommand({ runtime, python, handler, memoryMb }: SandboxOptions): [string, ...string[]] {
  if (isPython(runtime)) return [python ?? "python3", "-m", "awslambdaric", handler];
  // As Lambda starts Node.js: a heap that leaves a tenth of the memory to everything else.
  const heap = `--max-old-space-size=${Math.floor(memoryMb * 0.9)}`;
  return [process.execPath, heap, "--import", preload, runtimeClient];
}

function spawnRuntime(options: SandboxOptions, runtimeApi: string): ChildProcess {
  const [command, ...words] = runtimeCommand(options);
  const child = spawn(command, words, {
    cwd: options.codeDirectory,
    env: processEnvironment({ ...options, runtimeApi }),
    // A group of its own: Ctrl-C reaches the host alone, and a kill reaches whatever the handler has started.
    detached: true,
    // The last one tells the process that its host is gone (see child/preload.mjs).
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const pid = child.pid ?? 0;
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) forEachLine(stream, (line) => options.log({ function: options.name, pid, line }));
  }
  return child;
}

function success(requestId: string, body: string): InvocationResult {
  return { status: "success", requestId, payload: body === "" ? null : JSON.parse(body) };
}

function failure(requestId: string, error: InvocationError): InvocationResult {
  return { status: "error", requestId, error };
}
