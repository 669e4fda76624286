/** The options of the stand-in's own command. */
import { Command, InvalidArgumentError, Option } from "commander";
import { collectionMethods, defaultConfig, type EngineConfig, engineVersions } from "./config.ts";

export interface MainOptions {
  readonly host: string;
  readonly port: number;
  readonly seed: number;
  readonly config: Partial<EngineConfig>;
}

interface Parsed {
  readonly host: string;
  readonly port: number;
  readonly seed: number;
  readonly batch: number;
  readonly repeats: number;
  readonly slots?: number;
  readonly method: EngineConfig["collectionMethod"];
  readonly engineVersion: EngineConfig["engineVersion"];
  readonly chatRoute?: EngineConfig["chatRoute"];
  readonly boot: number;
  readonly sync: number;
  readonly ack: number;
  readonly poolLag: number;
  readonly model: number;
  readonly steps?: number;
  readonly giveUp: number;
  readonly unreadablePools: number;
  readonly offline: boolean;
}

/** Prints and exits on `--help` and on options that cannot be read. */
export function readMainOptions(argv: readonly string[]): MainOptions {
  const parsed = command().parse(argv).opts<Parsed>();
  const { host, port, seed } = parsed;
  const config = {
    batchTasks: parsed.batch,
    repeats: parsed.repeats,
    slots: parsed.slots,
    collectionMethod: parsed.method,
    engineVersion: parsed.engineVersion,
    chatRoute: parsed.chatRoute ?? parsed.engineVersion,
    bootSeconds: parsed.boot,
    syncSeconds: parsed.sync,
    ackSeconds: parsed.ack,
    poolLagSeconds: parsed.poolLag,
    modelSeconds: () => parsed.model,
    totalSteps: parsed.steps,
    unacknowledgedSeconds: parsed.giveUp,
    unreadablePools: parsed.unreadablePools,
    startRolling: !parsed.offline,
  };
  return { host, port, seed, config };
}

function command(): Command {
  const { batchTasks, repeats, bootSeconds, syncSeconds, ackSeconds, poolLagSeconds } = defaultConfig;
  return new Command("engine")
    .description("A stand-in for an AgentJet swarm server, which cycles by itself. Ctrl-C prints its ledger.")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0 takes any", whole(0), 10086)
    .option("--seed <n>", "seed of everything random", whole(0), 1)
    .option("--batch <n>", "tasks in a batch", whole(1), batchTasks)
    .option("--repeats <n>", "episodes of a task", whole(1), repeats)
    .option("--slots <n>", "episodes at once (default: batch × repeats)", whole(1))
    .addOption(option("--method <name>", "when a batch is complete", collectionMethods))
    .addOption(option("--engine-version <version>", "which published server to stand in for", engineVersions))
    .addOption(
      new Option("--chat-route <version>", "version of the model route alone").choices(engineVersions),
    )
    .option("--boot <s>", "seconds of BOOTING", seconds, bootSeconds)
    .option("--sync <s>", "seconds of WEIGHT_SYNCING", seconds, syncSeconds)
    .option("--ack <s>", "seconds until the trainer acknowledges", seconds, ackSeconds)
    .option("--pool-lag <s>", "seconds until the pool shows an ended episode", seconds, poolLagSeconds)
    .option("--model <s>", "seconds of a model call", seconds, 0.5)
    .option("--steps <n>", "steps after which the training ends (default: never)", whole(1))
    .option("--give-up <s>", "seconds after which an end without acknowledgement succeeds", seconds, 300)
    .option("--unreadable-pools <share>", "share of pools that are all defaults, 0 to 1", share, 0)
    .option("--offline", "wait for sync_train_config and start_engine", false);
}

function option(flags: string, description: string, choices: readonly [string, ...string[]]): Option {
  return new Option(flags, description).choices(choices).default(choices[0]);
}

function whole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`expected a whole number from ${least} on, found "${text}".`);
  };
}

function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError(`expected a share from 0 to 1, found "${text}".`);
}

function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError(`expected seconds from 0 on, found "${text}".`);
}
