/** One agent on a few tasks, in this process: no queue, no table, no engine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { printable } from "../../cli/terminal-text.ts";
import { installFetch } from "../../functions/adapters/engine/index.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { AttemptAborted } from "../../functions/core/rollout/agent.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { remoteModel } from "../engine/remote-model.ts";
import { conversationText } from "./conversation.ts";
import { indented, type Loaded, loadAgent } from "./load.ts";
import { type ModelServer, standInModel, startModelServer } from "./model-server.ts";

export interface TryOptions {
  readonly agent: string;
  readonly model?: string | undefined;
  readonly modelName?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly timeoutSeconds: number;
  /** What runs a Python file; default: python3. */
  readonly python?: string | undefined;
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
  let loaded: Loaded | undefined;
  try {
    loaded = await loadAgent(options.agent, { folder, python: options.python ?? "python3" }, out);
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
    await loaded?.close();
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function tryTask(
  task: Task,
  agent: Loaded,
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
  const running = agent.start({
    rollout: decodeMessage(JSON.stringify({ task, run: "try", repeat: 0 }), "try"),
    attempt: { id: `try.${task.task_id}`, episode: "try", global_step: null },
    grant: { openai_base_url: server.url, openai_api_key: "sk-try" },
    signal,
    deadline: began + timeoutSeconds * 1000,
    allowUnusualRewards: false,
    alone: false,
    log: (level, message, facts) => lines.push(...logLines(level, message, facts)),
  });
  const over = new Promise<{ kind: "failed"; reason: string; detail: string }>((settle) => {
    signal.addEventListener("abort", () =>
      settle({ kind: "failed", reason: "deadline", detail: late.message }),
    );
  });
  const outcome = await Promise.race([running.outcome, over]);
  clearTimeout(timer);
  const exchanges = server.take();
  const spoken = conversationText(exchanges);
  const printed = agent.lines().map((line) => `  | ${line}`);
  // The kit prints a traceback as well.
  const said = printed.length > 0 ? lines.filter((line) => !line.startsWith(TRACEBACK)) : lines;
  const figures = `${running.calls() ?? exchanges.length} model call(s), ${((clock.now() - began) / 1000).toFixed(1)} s`;
  const end =
    outcome.kind === "output"
      ? `  reward ${JSON.stringify(outcome.output.reward)}, ${figures}${factsText(outcome.output)}`
      : `  ${outcome.reason}, ${figures}\n${indented(outcome.detail)}`;
  out(`${[spoken, ...[...said, ...printed].map(printable), end].filter(Boolean).join("\n")}\n`);
  return outcome.kind === "output";
}

const TRACEBACK = "  traceback: ";

function logLines(level: string, message: string, facts: Readonly<Record<string, unknown>> = {}): string[] {
  const { traceback, ...rest } = facts;
  const words = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : "";
  const trace = typeof traceback === "string" ? traceback.trimEnd().split("\n") : [];
  return [`  ${level}: ${message}${words}`, ...trace.map((line) => `${TRACEBACK}${line}`)];
}

function factsText({ metadata, log_metrics: metrics }: { metadata: object; log_metrics: object }): string {
  const parts = Object.entries({ metadata, log_metrics: metrics }).filter(
    ([, facts]) => Object.keys(facts).length > 0,
  );
  return parts.map(([name, facts]) => `\n  ${name} ${printable(JSON.stringify(facts))}`).join("");
}
