/** `sortie stats`: the newest snapshot that the lifecycle function has written. */
import type { Command } from "commander";
import { readLatestSnapshot } from "../functions/adapters/table/lifecycle.ts";
import { addConnectionOptions, type GivenConnection, withTable } from "./connection.ts";
import { CommandFailure } from "./failures.ts";
import type { Io } from "./io.ts";
import { staleness, statsText } from "./stats-text.ts";

interface StatsOptions extends GivenConnection {
  readonly engine: string;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ sortie stats --table SortieStack-StateTable1A2B3C4D --region eu-central-1
  $ SORTIE_TABLE=SortieStack-StateTable1A2B3C4D sortie stats --profile research
  $ sortie stats --json | jq '.fleets[].reward_mean'`;

export function registerStats(program: Command, io: Io): void {
  const command = program
    .command("stats")
    .description("Prints the newest snapshot of an engine: its batch, and each fleet's figures.")
    .option("--engine <name>", "the engine's name in the settings", "main")
    .option("--json", "print the snapshot as JSON");
  addConnectionOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async (options: StatsOptions) => await stats(command, options, io));
}

async function stats(command: Command, options: StatsOptions, io: Io): Promise<void> {
  const { engine } = options;
  const snapshot = await withTable(
    command,
    options,
    async (table) => await readLatestSnapshot(table, engine),
  );
  if (!snapshot)
    throw new CommandFailure(
      `expected a snapshot of engine ${engine} in the table ${options.table}, found none: check --engine and --table; a ` +
        "new deployment writes its first within minutes; after that, look at the log of the lifecycle function and at " +
        "whether its schedule is enabled",
    );
  if (!options.json) {
    io.out(statsText(snapshot, io));
    return;
  }
  io.out(`${JSON.stringify(snapshot, null, 2)}\n`);
  const warning = staleness(snapshot, io.now());
  if (warning) io.err(`sortie: ${warning}\n`);
}
