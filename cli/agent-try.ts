/** `sortie agent try`: an agent on a few tasks, at once. */
import { execFile, spawn } from "node:child_process";
import { watch } from "node:fs";
import { dirname, extname, join } from "node:path";
import type { Command } from "commander";
import { CommandFailure } from "./failures.ts";
import type { Io } from "./io.ts";
import { whole } from "./options.ts";

interface TryCommandOptions {
  readonly tasks?: string;
  readonly limit: number;
  readonly timeout: number;
  readonly model?: string;
  readonly modelName?: string;
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
  readonly python: string;
  readonly watch: boolean;
  readonly strict: boolean;
}

const HELP = `
Without --model the stand-in's model answers, which knows the answers of the tasks and is mostly right.

Examples:
  $ sortie agent try my-agent.ts --tasks train.jsonl --limit 2
  $ sortie agent try my-agent.ts --tasks train.jsonl --watch
  $ sortie agent try my_agent.py --tasks train.jsonl --python .venv/bin/python
  $ sortie agent try http://127.0.0.1:8080 --limit 1
  $ sortie agent try my-agent.ts --model http://localhost:8000/v1`;

export function registerAgent(program: Command, io: Io): void {
  const agent = program.command("agent").description("Tries an agent on this machine.");
  agent
    .command("try")
    .description("Runs an agent on a few tasks: conversation, reward, time, and errors with their line.")
    .argument(
      "<agent>",
      "the agent's file, in TypeScript, JavaScript or Python, or the address of one that runs",
    )
    .option("--tasks <file>", "tasks, as push reads them (default: generated word problems)")
    .option("--limit <n>", "so many tasks at most", whole(1), 3)
    .option("--timeout <seconds>", "give each task so long, s", whole(1), 120)
    .option("--model <url>", "a server with OpenAI's API, up to /v1, instead of the stand-in's model")
    .option("--base-url <url>", "the same, as the OpenAI SDK calls it")
    .option("--model-name <name>", "the model there (default: the first that it lists)")
    .option("--api-key-env <name>", "the variable that holds the server's key")
    .option("--python <program>", "what runs a Python file: 3.10 or newer", "python3")
    .option("--strict", "faults of the agent's types are errors", false)
    .option("--watch", "again after each change in the agent's folder, until Ctrl-C", false)
    .addHelpText("after", HELP)
    .action(async (file: string, options: TryCommandOptions) => {
      if (options.watch) return await tryAtEachChange(file, options, io);
      if ((await tryOnce(file, options, io)) !== 0)
        throw new CommandFailure("not every task got a reward: see above");
    });
}

/** Programs beside this one, as the CDK app is. */
const beside = (name: string) => join(import.meta.dirname, `../${name}${extname(import.meta.filename)}`);
const program = beside("local/try/main");
const checker = beside("lib/check-types");

async function tryOnce(agent: string, options: TryCommandOptions, io: Io): Promise<number | null> {
  const { watch: _, strict, timeout, baseUrl, model = baseUrl, ...rest } = options;
  const types = checkTypes(agent, strict);
  const given = JSON.stringify({ ...rest, model, agent, timeoutSeconds: timeout });
  const child = spawn(process.execPath, ["--enable-source-maps", program, given], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  const fault = await types;
  if (fault !== "") io.err(fault);
  return strict && fault !== "" ? 1 : code;
}

/** Beside the run, which it does not delay; its words come last. */
async function checkTypes(agent: string, strict: boolean): Promise<string> {
  if (!/\.[cm]?ts$/.test(agent)) return "";
  const words = [checker, agent, ...(strict ? ["strict"] : [])];
  return await new Promise((resolve) => {
    execFile(process.execPath, words, (_, stdout) => resolve(stdout));
  });
}

async function tryAtEachChange(agent: string, options: TryCommandOptions, io: Io): Promise<void> {
  for (;;) {
    const changed = nextChange(dirname(agent));
    await tryOnce(agent, options, io);
    io.err("waiting for a change …\n");
    await changed;
  }
}

async function nextChange(folder: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watcher = watch(folder, () => resolve());
  await promise;
  watcher.close();
}
