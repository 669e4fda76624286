/** The program and its subcommands. Each subcommand is a file that registers itself here. */
import { Command, CommanderError } from "commander";
import manifest from "../package.json" with { type: "json" };
import { registerAgent } from "./agent-try.ts";
import { registerDead } from "./dead/command.ts";
import { registerDoctor } from "./doctor/command.ts";
import { registerEngine } from "./engine.ts";
import { registerEpisodes } from "./episodes.ts";
import { CommandFailure, Interrupted } from "./failures.ts";
import { type Io, safeIo } from "./io.ts";
import { registerPause } from "./pause.ts";
import { registerPush } from "./push/command.ts";
import { registerRollout } from "./rollout.ts";
import { registerStats } from "./stats.ts";
import { printable } from "./terminal-text.ts";

/** What a command's exit code means: the one place. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

const subcommands: readonly ((program: Command, io: Io) => void)[] = [
  registerPush,
  registerStats,
  registerEpisodes,
  registerRollout,
  registerPause,
  registerDead,
  registerEngine,
  registerDoctor,
  registerAgent,
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
    await createProgram(io).parseAsync(args, { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (!(error instanceof CommandFailure)) throw error;
    io.err(`sortie: ${error.message}\n`);
    return error instanceof Interrupted ? exitCodes.interrupted : exitCodes.failed;
  }
}

/** The program, not yet run. */
export function createProgram(io: Io): Command {
  const program = new Command("sortie")
    .description("Pushes rollouts to a deployment of Sortie, looks at it, and steers it.")
    .version(manifest.version)
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => write(errorText(text)),
    })
    .showHelpAfterError("(sortie --help, or sortie <command> --help, shows what there is)")
    .addHelpText("afterAll", ABOUT_EXIT_CODES);
  for (const register of subcommands) register(program, io);
  return program;
}

/** Quotes what was given on the command line; a second line is commander's own suggestion alone. */
function errorText(text: string): string {
  return `${text
    .trimEnd()
    .split(/\n(?=\(Did you mean )/)
    .map(printable)
    .join("\n")}\n`;
}
