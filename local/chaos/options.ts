/** The options of `npm run chaos`. */
import { Command, InvalidArgumentError, Option } from "commander";
import { usageError } from "../../cli/usage-error.ts";
import { type EngineVersion, engineVersions } from "../engine/config.ts";
import type { EngineHandle } from "../engine/start.ts";
import { type AgentWay, agentWays } from "./agent-ways.ts";
import type { Throttle } from "./check/evidence.ts";
import type { Interceptors, SystemUnderFaults } from "./fleet.ts";
import { type GuiltyCounts, guiltyCounts } from "./guilty.ts";
import { type FaultKind, faultKinds, kindsNamed } from "./kinds.ts";
import type { Pushes } from "./pushes.ts";

export interface MainOptions {
  readonly seed: readonly number[];
  readonly minutes: number;
  readonly rollouts: number;
  readonly faults: readonly FaultKind[];
  /** How many rollouts' agents do which harm at every attempt. */
  readonly guilty?: GuiltyCounts;
  readonly agentSeconds?: number;
  readonly realTime: boolean;
  readonly drain: number;
  /** The throttle's ratio; 0 for none. */
  readonly throttle: number;
  readonly engineVersion: EngineVersion;
  readonly agents: AgentWay;
  /** Whether the functions' log and the engine's ledger are kept although nothing was violated. */
  readonly keep: boolean;
}

export function readOptions(argv: readonly string[]): MainOptions {
  const kinds = Object.entries(faultKinds).map(([kind, meaning]) => `  ${kind.padEnd(26)}${meaning}`);
  return new Command("npm run chaos --")
    .description(
      "Runs the whole local system under faults and checks that nothing is lost, counted twice or left open. The seed " +
        "decides which faults strike and when; real processes still interleave differently from run to run.",
    )
    .option("--seed <n,n,…>", "one run for each", seeds, [1])
    .option("--minutes <n>", "how long faults are injected, at most", positive, 5)
    .option("--rollouts <n>", "how many rollouts", whole, 60)
    .option(
      "--faults <kinds>",
      "groups (kill, engine, table, queue, clock, agent) or kinds, or none",
      named,
      kindsNamed("all"),
    )
    .option(
      "--guilty <harm=n,…>",
      "so many random rollouts whose agent does this at every attempt, such as exit=40,spin=2",
      harms,
    )
    .option("--agent-seconds <s>", "how long each agent takes at least", positive)
    .option(
      "--real-time",
      "heartbeats, sweeps and timeouts as deployed, rather than seconds for minutes",
      false,
    )
    .option("--drain <s>", "how long the system may take to settle everything after the faults", positive, 90)
    .option(
      "--throttle <ratio>",
      "tasks in a batch, as a multiple of those that it needs; 0 for no limit",
      ratio,
      0,
    )
    .addOption(
      new Option("--engine-version <version>", "which published engine to stand in for")
        .choices(engineVersions)
        .default(engineVersions[0]),
    )
    .addOption(
      new Option(
        "--agents <way>",
        "where agents run: in the function, in a service, in a function of their own",
      )
        .choices(agentWays)
        .default("module"),
    )
    .option("--keep", "keep the functions' log and the engine's ledger in any case", false)
    .addHelpText("after", `\nKinds of faults:\n${kinds.join("\n")}`)
    .configureOutput({ outputError: (text, write) => write(usageError(text, "npm run chaos -- --help")) })
    .parse(argv as string[])
    .opts<MainOptions>();
}

function seeds(text: string): number[] {
  const numbers = text.split(",").map(Number);
  if (numbers.every((number) => Number.isInteger(number) && number >= 0)) return numbers;
  throw new InvalidArgumentError("expected whole numbers from 0 on, with commas between them.");
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("expected a number above 0.");
}

function ratio(text: string): number {
  const value = Number(text);
  if (value === 0 || value >= 1) return value;
  throw new InvalidArgumentError("expected 0, or a number from 1 on.");
}

function whole(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number above 0.");
}

function harms(text: string): GuiltyCounts {
  try {
    return guiltyCounts(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function named(text: string): FaultKind[] {
  try {
    return kindsNamed(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

export interface ChaosOptions {
  readonly seed: number;
  readonly rollouts: number;
  /** Faults are injected for at most so long. */
  readonly minutes: number;
  readonly kinds: readonly FaultKind[];
  /** How many of the rollouts do which harm at every attempt; default: one of each that `kinds` names. */
  readonly guilty?: GuiltyCounts | undefined;
  /** How long an agent takes at least, s; default: as long as its calls. */
  readonly agentSeconds?: number | undefined;
  /** Heartbeats, sweeps and timeouts as deployed; default: minutes are seconds. `assemble` must know as well. */
  readonly realTime?: boolean | undefined;
  /** Default: module. What it needs has been given to `assemble`. */
  readonly agents?: AgentWay;
  /** Where the agents' service listens. */
  readonly servicePort?: number;
  readonly repeats: number;
  /** Tasks in a batch of the engine. */
  readonly batchTasks: number;
  readonly assemblyDir: string;
  /** For the functions' log. */
  readonly directory: string;
  /** How long the system may take to settle everything once the faults have stopped, s. */
  readonly drainSeconds: number;
  readonly throttle?: Throttle | undefined;
  /** Default: newer. */
  readonly engineVersion?: EngineVersion;
  readonly stop?: AbortSignal;
  /** Breaks of the system itself, to see whether the checks catch them: for their tests. */
  readonly breaks?: Partial<Interceptors> & {
    readonly started?: (parts: {
      tormented: SystemUnderFaults;
      engine: EngineHandle;
      pushes: Pushes;
    }) => Promise<void>;
  };
  readonly onLook?: (figures: { phase: "faults" | "drain"; final: number; pushed: number }) => void;
}
