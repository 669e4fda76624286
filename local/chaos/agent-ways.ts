/** Chaos with agents that are somewhere else: a service that dies and hangs, or a Lambda function of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { bundle } from "../bundle.ts";
import { listen } from "../listen.ts";
import type { FaultKind } from "./kinds.ts";

export const agentWays = ["module", "http", "lambda"] as const;
export type AgentWay = (typeof agentWays)[number];

/** Harm that an agent does to its thread or process: a service of all of them would carry it to the others. */
const harmful: ReadonlySet<FaultKind> = new Set([
  "agent-block",
  "agent-exit",
  "agent-spin",
  "agent-bloat",
  "agent-reject",
]);
const ofServices: ReadonlySet<FaultKind> = new Set(["agent-service-killed", "agent-service-hang"]);
const ofFunctions: ReadonlySet<FaultKind> = new Set(["agent-function-killed"]);

/** The kinds that can strike agents that run this way. */
export function kindsFor(way: AgentWay, kinds: readonly FaultKind[]): FaultKind[] {
  return kinds.filter((kind) => {
    // Its token is the rollout function's: an agent elsewhere reaches the model by itself.
    if (kind === "engine-token") return way === "module";
    if (ofServices.has(kind)) return way === "http";
    if (ofFunctions.has(kind)) return way === "lambda";
    return way === "module" || !harmful.has(kind);
  });
}

/** The setting `agent`. `port` is where the service will listen; `folder` is for the function's code. */
export async function agentSetting(way: AgentWay, port: number, folder: string): Promise<unknown> {
  if (way === "http") return { http: { url: `http://127.0.0.1:${port}` } };
  if (way === "module") return join(import.meta.dirname, "agent.ts");
  const code = join(folder, "agent-function");
  await mkdir(code, { recursive: true });
  await bundle(join(import.meta.dirname, "agent-handler.ts"), join(code, "agent.mjs"));
  return { lambda: { folder: code, handler: "agent.handler", runtime: "nodejs24.x", timeoutSeconds: 30 } };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The service, which somebody always starts again. */
export class AgentService {
  readonly #port: number;
  #child: ChildProcess | undefined;
  #closed = false;

  constructor(port: number) {
    this.#port = port;
  }

  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "agent-service.ts"), String(this.#port)],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    this.#child = child;
    child.once("close", () => {
      if (!this.#closed && this.#child === child) void this.start();
    });
    await new Promise<void>((resolve) => {
      child.stdout.once("data", () => resolve());
      child.once("close", () => resolve());
    });
  }

  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  /** It neither answers nor closes a connection for so long. */
  async hang(ms: number): Promise<void> {
    const child = this.#child;
    child?.kill("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, ms));
    child?.kill("SIGCONT");
  }

  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await closed;
  }
}
