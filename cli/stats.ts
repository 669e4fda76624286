/** `sortie stats`: the newest snapshot that the lifecycle function has written, over time where asked for. */
import type { Command } from "commander";
import { Option } from "commander";
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { readLatestSnapshot, readSnapshots } from "../functions/adapters/table/lifecycle.ts";
import type { Snapshot } from "../functions/core/housekeeping/snapshot.ts";
import { addCommonOptions, type CommonOptions, withDeployment } from "./connection.ts";
import { CommandFailure, describeFailure } from "./failures.ts";
import { notYet } from "./first-snapshot.ts";
import { type Io, printJson } from "./io.ts";
import { duration, seconds } from "./options.ts";
import { curvesOf, plotText } from "./plot.ts";
import { since } from "./since.ts";
import { staleness, statsText } from "./stats-text.ts";
import { printable, safeJson } from "./terminal-text.ts";
import { Frames } from "./watch.ts";

interface StatsOptions extends CommonOptions {
  readonly engine: string;
  readonly watch?: number | true;
  readonly since?: number;
  readonly plot?: boolean;
}

const EXAMPLES = `
Examples:
  $ sortie stats
  $ sortie stats --stack Research --region eu-central-1 --profile research
  $ sortie stats --since 2h
  $ sortie stats --plot --since 1d
  $ sortie stats --watch --local
  $ sortie stats --json | jq '.fleets[].reward_mean'`;

const WATCH_SECONDS = 5;
const PLOT_SINCE_MS = 7_200_000;

export function registerStats(program: Command, io: Io): void {
  const command = program
    .command("stats")
    .description("Prints the newest snapshot of an engine: its batch, and each fleet's figures.")
    .option("--engine <name>", "the engine's name in the settings", "main")
    .addOption(
      new Option("--since <span>", "the fleets' figures of this span only: 30m, 2h, 7d").argParser(duration),
    )
    .option("--plot", "draw reward, throughput and queue over time (of 2 h, or --since)")
    .addOption(
      new Option("--watch [seconds]", "draw it again every so often (5 s), until Ctrl-C").argParser(seconds),
    );
  addCommonOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async (options: StatsOptions) => await stats(command, options, io));
}

async function stats(command: Command, options: StatsOptions, io: Io): Promise<void> {
  await withDeployment(command, options, async (deployment) => {
    const table = await deployment.table();
    if (options.watch === undefined) {
      show(await look(table, options, io), options, io);
      return;
    }
    const everyMs = (options.watch === true ? WATCH_SECONDS : options.watch) * 1000;
    await watch(table, options, io, everyMs);
  });
}

interface Seen {
  readonly snapshot: Snapshot;
  /** Snapshots of the span that was asked for, oldest first. */
  readonly history: readonly Snapshot[];
}

async function look(table: TableOptions, options: StatsOptions, io: Io): Promise<Seen> {
  const { engine, plot } = options;
  const snapshot = await readLatestSnapshot(table, engine);
  if (!snapshot) throw await noSnapshot(table, engine, io);
  const span = options.since ?? (plot ? PLOT_SINCE_MS : undefined);
  if (span === undefined) return { snapshot, history: [] };
  return { snapshot, history: await readSnapshots(table, engine, new Date(io.now() - span).toISOString()) };
}

/** A new deployment's first snapshot is still to come. */
class NotYet extends CommandFailure {
  override readonly name = "NotYet";
}

async function noSnapshot(table: TableOptions, engine: string, io: Io): Promise<CommandFailure> {
  const wait = await notYet(table, io.now());
  if (wait !== undefined) return new NotYet(`${wait} (sortie stats --watch waits for it)`);
  return new CommandFailure(
    `expected a snapshot of engine ${engine} in the table ${table.table}, found none: check --engine and --table, the log ` +
      "of the lifecycle function, and whether its schedule is enabled",
  );
}

function show(seen: Seen, options: StatsOptions, io: Io): void {
  if (!options.json) {
    io.out(textOf(seen, options, io));
    return;
  }
  printJson(io, jsonOf(seen, options));
  const warning = staleness(seen.snapshot, io.now());
  if (warning) io.err(`sortie: ${warning}\n`);
}

function textOf({ snapshot, history }: Seen, options: StatsOptions, io: Io): string {
  if (options.plot) return plotText(history, io);
  return statsText(options.since === undefined ? snapshot : since(snapshot, history), io, options.since);
}

function jsonOf({ snapshot, history }: Seen, options: StatsOptions): unknown {
  if (options.plot) return curvesOf(history);
  return options.since === undefined ? snapshot : since(snapshot, history);
}

/** Goes on over failures that come after the first frame: a network has its moments. */
async function watch(table: TableOptions, options: StatsOptions, io: Io, everyMs: number): Promise<void> {
  const stop = io.interrupted();
  const frames = new Frames(io);
  for (let first = true; !stop.aborted; first = false) {
    try {
      const seen = await look(table, options, io);
      if (options.json) io.out(`${safeJson(jsonOf(seen, options))}\n`);
      else frames.draw(textOf(seen, options, io));
    } catch (error) {
      if (error instanceof NotYet) io.err(`sortie: ${printable(error.message)}\n`);
      else if (first) throw error;
      else io.err(`sortie: ${printable(describeFailure(error, { table: table.table }))}; trying again\n`);
    }
    await io.pause(everyMs, stop);
  }
}
