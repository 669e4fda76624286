/** A thread or a process that hosts agents, seen from the function. */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Worker } from "node:worker_threads";
import { HOST_ARGUMENT } from "../../contract/agent-host.ts";
import type { FromHost, ToHost } from "./messages.ts";
import { type Running, whoRunsIn } from "./who-runs.ts";

/** How it ended: as words that fit behind "the agent …". */
export type Death = { readonly what: string };

export interface HostHandle {
  post(message: ToHost): void;
  /** Ends it, whatever it is doing. */
  end(): void;
  /** Whose code runs just now, where that can be told. */
  whoRuns(): Promise<Running | undefined>;
}
export interface HostEvents {
  message(message: FromHost): void;
  /** Once. */
  died(death: Death): void;
}
export interface HostOptions {
  /** The file that hosts agents when it is started with `HOST_ARGUMENT`. */
  readonly entry: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly heapMb: number;
  readonly hosted: object;
}

/** What an agent throws is told by the lines of its source. */
const SOURCE_MAPS = "--enable-source-maps";

/** Many agents share one. It costs a few MB and a few ms, and dies without the process. */
export function startThread(
  { entry, environment, heapMb, hosted }: HostOptions,
  events: HostEvents,
): HostHandle {
  const name = `sortie-agents-${randomUUID()}`;
  const worker = new Worker(entry, {
    name,
    argv: [HOST_ARGUMENT, JSON.stringify(hosted)],
    env: { ...environment },
    // The process's own name files that are not meant for a thread.
    execArgv: [SOURCE_MAPS],
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  let failure: Death | undefined;
  worker.on("message", (message: FromHost) => events.message(message));
  worker.on("error", (error: Error & { code?: string }) => {
    failure ??= { what: wordsFor(error, heapMb) };
  });
  worker.on("exit", (code) => events.died(failure ?? { what: `ended its thread with code ${code}` }));
  return {
    post: (message) => worker.postMessage(message),
    end: () => void worker.terminate(),
    whoRuns: () => whoRunsIn(name),
  };
}

function wordsFor(error: Error & { code?: string }, heapMb: number): string {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return `used more than ${heapMb} MB of heap`;
  return `ended its thread: ${error.name}: ${error.message}`;
}

/** For one agent alone: its crash, even a native one, ends nothing else. */
export function startProcess(
  { entry, environment, heapMb, hosted }: HostOptions,
  events: HostEvents,
): HostHandle {
  const child = fork(entry, [HOST_ARGUMENT, JSON.stringify(hosted)], {
    env: { ...environment },
    execArgv: [SOURCE_MAPS, `--max-old-space-size=${heapMb}`],
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  let dead = false;
  const die = (what: string) => {
    if (!dead) events.died({ what });
    dead = true;
  };
  child.on("message", (message) => events.message(message as FromHost));
  child.on("error", (error) => die(`could not have a process of its own: ${error.message}`));
  child.on("exit", (code, signal) => die(exitWords(code, signal, heapMb)));
  return {
    post: (message) => void (child.connected && child.send(message, () => undefined)),
    end: () => void child.kill("SIGKILL"),
    whoRuns: async () => undefined,
  };
}

/** Node.js aborts where its heap is full. */
function exitWords(code: number | null, signal: string | null, heapMb: number): string {
  if (signal === "SIGABRT" || code === 134)
    return `aborted its process: mostly more than ${heapMb} MB of heap`;
  return signal === null ? `ended its process with code ${code}` : `ended its process by ${signal}`;
}
