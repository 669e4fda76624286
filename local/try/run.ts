/** One agent on a few tasks, in this process: no queue, no table, no engine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { printable } from "../../cli/terminal-text.ts";
import { createChat, installFetch } from "../../functions/adapters/engine/index.ts";
import type { Agent } from "../../functions/contract/agent.ts";
import { traceError } from "../../functions/core/error-trace.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { AttemptAborted } from "../../functions/core/rollout/agent.ts";
import type { Rollout } from "../../functions/core/rollout/message.ts";
import { agentsHere } from "../../functions/core/rollout/perform-agent.ts";
import { packageRoot } from "../../functions/entries.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { conversationText } from "./conversation.ts";
import { type ModelServer, remoteModel, standInModel, startModelServer } from "./model-server.ts";

export interface TryOptions {
  readonly agent: string;
  readonly model?: string | undefined;
  readonly modelName?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly timeoutSeconds: number;
}

/** Resolves to whether every task got a reward. */
export async function tryAgent(
  tasks: readonly Task[],
  options: TryOptions,
  out: (text: string) => void,
): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "sortie-try-"));
  let unknown = false;
  const ask =
    options.model === undefined
      ? standInModel(tasks, () => {
          unknown = true;
        })
      : remoteModel(options.model, {
          ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
          ...(options.modelName === undefined ? {} : { model: options.modelName }),
        });
  const server = await startModelServer(ask);
  installFetch();
  try {
    const loaded = await loadAgent(options.agent, folder, out);
    if (!loaded) return false;
    let rewarded = 0;
    for (const task of tasks) {
      unknown = false;
      if (await tryTask(task, loaded, server, options, out)) rewarded += 1;
      if (unknown)
        out("  The stand-in's model knows no answer to this task, so it guessed: --model asks another.\n");
    }
    return rewarded === tasks.length;
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Loaded {
  readonly agent: Agent;
  readonly bundle: string;
}

async function loadAgent(
  file: string,
  folder: string,
  out: (text: string) => void,
): Promise<Loaded | undefined> {
  const outfile = join(folder, "index.mjs");
  const bundle = pathToFileURL(outfile).href;
  try {
    await build({
      entryPoints: [resolve(file)],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      sourcemap: true,
      keepNames: true,
      logLevel: "error",
      banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    });
    const { default: agent } = (await import(bundle)) as { default?: unknown };
    if (typeof agent !== "function")
      throw new TypeError("expected a function as its default export, found none: export default agent");
    return { agent: agent as Agent, bundle };
  } catch (error) {
    out(`${printable(file)} cannot be loaded:\n${indented(traceError(error, { bundle }))}\n`);
    return undefined;
  }
}

/** What stands between the agent and this file. */
const ours = ["functions/", "local/"].map((name) => `${packageRoot}/${name}`);

async function tryTask(
  task: Task,
  { agent, bundle }: Loaded,
  server: ModelServer,
  { timeoutSeconds }: TryOptions,
  out: (text: string) => void,
): Promise<boolean> {
  out(`${printable(task.task_id)}\n`);
  const began = clock.now();
  const controller = new AbortController();
  const late = new AttemptAborted("deadline", `the agent was not done after ${timeoutSeconds} s`);
  const timer = setTimeout(() => controller.abort(late), timeoutSeconds * 1000);
  const lines: string[] = [];
  const { signal } = controller;
  const describe = (thrown: unknown) => traceError(thrown, { bundle, without: ours });
  const running = agentsHere(agent, (grant) => createChat({ ...grant, clock }), describe).start({
    rollout: { task, episodeType: "train" } as Rollout,
    grant: { openai_base_url: server.url, openai_api_key: "sk-try" },
    signal,
    deadline: began + timeoutSeconds * 1000,
    allowUnusualRewards: false,
    alone: false,
    log: (level, message, facts) => lines.push(`  ${level}: ${message} ${JSON.stringify(facts ?? {})}`),
  });
  const over = new Promise<{ kind: "failed"; reason: string; detail: string }>((settle) => {
    signal.addEventListener("abort", () =>
      settle({ kind: "failed", reason: "deadline", detail: late.message }),
    );
  });
  const outcome = await Promise.race([running.outcome, over]);
  clearTimeout(timer);
  const spoken = conversationText(server.take());
  const figures = `${running.calls()} model call(s), ${((clock.now() - began) / 1000).toFixed(1)} s`;
  const end =
    outcome.kind === "output"
      ? `  reward ${JSON.stringify(outcome.output.reward)}, ${figures}${factsText(outcome.output)}`
      : `  ${outcome.reason}, ${figures}\n${indented(outcome.detail)}`;
  out(`${[spoken, ...lines.map(printable), end].filter(Boolean).join("\n")}\n`);
  return outcome.kind === "output";
}

function factsText({ metadata, log_metrics: metrics }: { metadata: object; log_metrics: object }): string {
  const parts = Object.entries({ metadata, log_metrics: metrics }).filter(
    ([, facts]) => Object.keys(facts).length > 0,
  );
  return parts.map(([name, facts]) => `\n  ${name} ${printable(JSON.stringify(facts))}`).join("");
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${printable(line)}`)
    .join("\n");
}
