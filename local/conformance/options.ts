/** The options of `npm run conformance`. */
import { Command, InvalidArgumentError, Option } from "commander";
import { usageError } from "../../cli/usage-error.ts";
import { engineAddress } from "../../functions/adapters/engine/index.ts";
import { SettingsError } from "../../functions/contract/settings-error.ts";
import { type EngineVersion, engineVersions } from "../engine/config.ts";

export interface ConformanceOptions {
  readonly engine: string | undefined;
  /** Undefined: both of the stand-in's, or whichever the engine has. */
  readonly engineVersion: EngineVersion | undefined;
  readonly ledger: string | undefined;
  readonly config: string | undefined;
  readonly agent: string;
  readonly rounds: number;
  readonly minutes: number;
  readonly restart: boolean;
  readonly fast: boolean;
  readonly json: boolean;
}

export function readOptions(argv: readonly string[]): ConformanceOptions {
  return new Command("npm run conformance --")
    .description(
      "Runs rollouts, weight syncs, evals, a throttle, killed functions and a restart against an engine, and compares what " +
        "Sortie's table says with the engine's pool, and with its ledger where there is one.",
    )
    .option("--engine <url>", "a real engine; without it, the stand-in in both versions", address)
    .addOption(
      new Option(
        "--engine-version <version>",
        "what the engine is expected to be, or which stand-in to run",
      ).choices(engineVersions),
    )
    .option("--ledger <url>", "where the trainer's outputs can be read as JSON", url)
    .option("--config <file.yaml>", "the training config: the engine is then restarted through Sortie")
    .option("--agent <name>", "math, calculator, or the path of your own", "math")
    .option("--rounds <n>", "about how many batches of rollouts for the main job", whole, 2)
    .option("--minutes <n>", "give up after so long", whole, 45)
    .option("--no-restart", "leave the engine running: no stop, no start")
    .option("--fast", "short heartbeats and deadlines, for an engine whose episodes take seconds", false)
    .option("--json", "print JSON instead of tables", false)
    .configureOutput({
      outputError: (text, write) => write(usageError(text, "npm run conformance -- --help")),
    })
    .parse(argv as string[])
    .opts<ConformanceOptions>();
}

function whole(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number above 0.");
}

function url(text: string): string {
  if (/^https?:/.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError("expected a URL such as http://10.0.0.7:10087/ledger.");
}

function address(text: string): string {
  try {
    return engineAddress(text);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new InvalidArgumentError(`${error.faults.join("; ")}.`);
  }
}
