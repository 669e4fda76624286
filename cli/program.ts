/** The program and its subcommands. Each subcommand is a file that registers itself here. */
import { Command, CommanderError } from "commander";
import manifest from "../package.json" with { type: "json" };
import { registerAgent } from "./agent-try.ts";
import { registerDead } from "./dead/command.ts";
import { registerDoctor } from "./doctor/command.ts";
import { registerEngine } from "./engine.ts";
import { registerEpisodes } from "./episodes.ts";
import { CommandFailure, Interrupted } from "./failures.ts";
import { registerInit } from "./init/command.ts";
import { type Io, safeIo } from "./io.ts";
import { registerPause } from "./pause.ts";
import { registerPush } from "./push/command.ts";
import { registerRollout } from "./rollout.ts";
import { registerStart } from "./start.ts";
import { registerStats } from "./stats.ts";
import { registerTranscripts } from "./transcripts/export.ts";
import { usageError } from "./usage-error.ts";

/** What a command's exit code means: the one place. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

const subcommands: readonly ((program: Command, io: Io) => void)[] = [
  registerPush,
  registerStats,
  registerEpisodes,
  registerRollout,
  registerTranscripts,
  registerPause,
  registerDead,
  registerEngine,
  registerDoctor,
  registerAgent,
  registerInit,
  registerStart,
];

const ABOUT_EXIT_CODES = `
Exit codes:
  0    done
  1    it failed, or there was nothing to show, or a check did not pass
  2    the command line is wrong
  130  stopped by Ctrl-C before it was done`;

/** Runs a command line (without node and script) and resolves to its exit code. Never throws for what users can do. */
export async function run(args: readonly string[], outside: Io): Promise<number> {
  const io = safeIo(outside);
  try {
    await createProgram(io, args).parseAsync(args, { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (!(error instanceof CommandFailure)) throw error;
    io.err(`sortie: ${error.message}\n`);
    return error instanceof Interrupted ? exitCodes.interrupted : exitCodes.failed;
  }
}

/** The program, not yet run. */
export function createProgram(io: Io, args: readonly string[] = []): Command {
  const program = new Command("sortie");
  program
    .description("Pushes rollouts to a deployment of Sortie, looks at it, and steers it.")
    .version(manifest.version)
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => write(`sortie: ${usageError(text, helpFor(program, args))}`),
    })
    .addHelpText("afterAll", ABOUT_EXIT_CODES);
  for (const register of subcommands) register(program, io);
  return program;
}

/** The help of the command that the command line names, of the program where it names none. */
function helpFor({ commands }: Command, [name]: readonly string[]): string {
  return commands.some((command) => command.name() === name) ? `sortie ${name} --help` : "sortie --help";
}
