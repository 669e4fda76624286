/** The options of `npm start`. */
import { Command, InvalidArgumentError, Option } from "commander";
import { parseMap } from "../../cli/push/mapping.ts";
import type { Mapped } from "../../cli/push/record.ts";
import { usageError } from "../../cli/usage-error.ts";
import { engineAddress } from "../../functions/adapters/engine/index.ts";
import { SettingsError } from "../../functions/contract/settings-error.ts";
import { type EngineVersion, engineVersions } from "../engine/config.ts";
import { type AgentChoice, type FleetShare, parseFleets } from "./fleets.ts";

export interface JobOptions {
  readonly rollouts: number;
  readonly repeats: number;
  readonly tasks: string | undefined;
  /** Fields of a task from columns of its record. */
  readonly map?: readonly Mapped[];
  readonly allowEmptyQuery?: boolean;
  readonly seed: number;
  readonly engine: string | undefined;
  /** Undefined: as cdk.json says, else that of the fleet's name, else math. An object is one of the setting's. */
  readonly agent: AgentChoice;
  /** What stands for runtimes of AgentCore: a Python file, or the address of a service. */
  readonly runtime?: string;
  /** Variables of the functions that say where parts of AWS stand here. */
  readonly endpoints?: Readonly<Record<string, string>>;
  /** Runs a Python agent. */
  readonly python: string;
  /** A file as cdk.json is; undefined for the project's. */
  readonly settings: string | undefined;
  readonly fleets: readonly FleetShare[] | undefined;
  readonly keep: string | undefined;
  readonly json: boolean;
  /** Keep everything running, for the sortie command, and push nothing. */
  readonly serve: boolean;
  /** Faults of an agent's types are errors. */
  readonly strict?: boolean;
  /** A real model behind the stand-in engine. */
  readonly model?: string;
  readonly modelName?: string;
  readonly apiKeyEnv?: string;
  /** Of the stand-in. */
  readonly engineVersion: EngineVersion;
  /** The stand-in waits for its training config. */
  readonly offline: boolean;
}

export function readOptions(argv: readonly string[]): JobOptions {
  const command = new Command("npm start --")
    .description(
      "Runs rollouts on this machine: queue, table, Lambda functions and a stand-in for the engine.",
    )
    .option("--rollouts <n>", "how many rollouts to run", whole, 128)
    .option("--repeats <n>", "rollouts of each task (GRPO's group)", whole, 4)
    .option("--tasks <file>", "tasks as sortie push reads them, instead of generated word problems")
    .option("--map <pairs>", "fields of the task from fields of the record: target=source,…", parseMap)
    .option("--allow-empty-query", "run tasks with neither main_query nor init_messages")
    .option("--seed <n>", "of the problems and of the stand-in's model", natural, 1)
    .option("--model <url>", "a server with OpenAI's API, up to /v1, behind the stand-in engine")
    .option("--model-name <name>", "the model there (default: the first that it lists)")
    .option("--api-key-env <name>", "the variable that holds the server's key")
    .option("--engine <url>", "a real engine instead of the stand-in", address)
    .option(
      "--agent <name>",
      "math, calculator, the path of your own (.ts, .js, .py), or the address of its service (default: as cdk.json says, else that of the fleet's name, else math)",
    )
    .option(
      "--runtime <agent>",
      "what stands for the settings' runtime of AgentCore: a .py file, or the address of its service",
    )
    .option("--python <command>", "what runs a .py agent: 3.10 or newer", "python3")
    .option("--strict", "faults of the agent's types end the run, rather than being a warning")
    .option("--settings <cdk.json>", "settings to run with (default: the project's cdk.json)")
    .option(
      "--fleets <shares>",
      "several fleets, as math=0.4,code=0.6*5: share of the batch, slowness",
      parseFleets,
    )
    .option("--keep <dir>", "keep queue and table in this folder across runs")
    .option("--json", "print one JSON object as the last line", false)
    .option("--serve", "push nothing; keep everything running for sortie … --local, until Ctrl-C", false)
    .addOption(
      new Option("--engine-version <version>", "which published engine the stand-in is")
        .choices(engineVersions)
        .default(engineVersions[0]),
    )
    .option("--offline", "the stand-in waits for sortie engine start", false)
    .configureOutput({ outputError: (text, write) => write(usageError(text, "npm start -- --help")) })
    .parse(argv as string[]);
  return command.opts<JobOptions>();
}

function whole(text: string): number {
  const value = natural(text);
  if (value === 0) throw new InvalidArgumentError("expected a whole number above 0.");
  return value;
}

function natural(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number.");
  return Number(text);
}

function address(text: string): string {
  try {
    return engineAddress(text);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new InvalidArgumentError(`${error.faults.join("; ")}.`);
  }
}
