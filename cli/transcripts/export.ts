/** `sortie transcripts export`: the conversations of a run, taken out. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { Transcript } from "../../functions/core/transcript/transcript.ts";
import { addCommonOptions, type CommonOptions, withDeployment } from "../connection.ts";
import { CommandFailure } from "../failures.ts";
import type { Io } from "../io.ts";
import { counted } from "../push/text.ts";
import { neededTranscripts } from "./command-place.ts";

interface ExportOptions extends CommonOptions {
  readonly run: string;
  readonly fleet?: string;
  readonly format: "jsonl" | "atif";
  readonly out?: string;
}

const HELP = `
A transcript is one attempt's conversation in the Agent Trajectory
Interchange Format (ATIF); docs/transcripts.md shows one.

Examples:
  $ sortie transcripts export --run monday --out monday.jsonl
  $ sortie transcripts export --run monday --format atif --out monday/`;

export function registerTranscripts(program: Command, io: Io): void {
  const transcripts = program
    .command("transcripts")
    .description("Takes the conversations of attempts out of where they are kept.");
  const command = transcripts
    .command("export")
    .description("Writes all transcripts of a run, one JSON document for each attempt.")
    .requiredOption("--run <run>", "the run, as it was pushed")
    .option("--fleet <name>", "the fleet; else all are asked")
    .addOption(
      new Option("--format <format>", "jsonl: one line each; atif: a file each, in a folder")
        .choices(["jsonl", "atif"])
        .default("jsonl"),
    )
    .option("--out <path>", "the file, or the folder of atif; else standard output");
  addCommonOptions(command)
    .addHelpText("after", HELP)
    .action(async (options: ExportOptions) => await exportRun(command, options, io));
}

async function exportRun(command: Command, options: ExportOptions, io: Io): Promise<void> {
  const { format, out } = options;
  if (format === "atif" && out === undefined)
    throw new CommandFailure(
      "expected --out with a folder for the files of --format atif, found none: add it",
    );
  const write = await writer(format, out, io);
  const count = await withDeployment(command, options, async (deployment) => {
    const reader = await neededTranscripts(deployment);
    let written = 0;
    for (const fleet of await deployment.fleetNames(options.fleet))
      for await (const transcript of reader.ofRun(fleet, options.run)) {
        await write.one(transcript);
        written += 1;
      }
    if (written === 0)
      throw new CommandFailure(
        `expected transcripts of run ${JSON.stringify(options.run)} at ${reader.where}, found none: check the run, and that ` +
          "the setting transcripts of its fleet keeps them (docs/transcripts.md)",
      );
    return written;
  });
  await write.end();
  if (out !== undefined) io.err(`${counted(count, "transcript")} written to ${out}\n`);
}

interface Writer {
  one(transcript: Transcript): Promise<void>;
  end(): Promise<void>;
}

async function writer(format: ExportOptions["format"], out: string | undefined, io: Io): Promise<Writer> {
  if (format === "atif" && out !== undefined) {
    await mkdir(out, { recursive: true });
    return {
      one: async (transcript) =>
        await writeFile(join(out, `${transcript.trajectory_id}.json`), JSON.stringify(transcript, null, 2)),
      end: async () => undefined,
    };
  }
  if (out === undefined)
    return {
      one: async (transcript) => io.out(`${JSON.stringify(transcript)}\n`),
      end: async () => undefined,
    };
  await writeFile(out, "");
  return {
    one: async (transcript) => await writeFile(out, `${JSON.stringify(transcript)}\n`, { flag: "a" }),
    end: async () => undefined,
  };
}
