/** `sortie start`: what `npm start` is in the project that `sortie init` makes. */
import { spawn } from "node:child_process";
import { extname, join } from "node:path";
import type { Command } from "commander";
import { CommandFailure } from "./failures.ts";

/** The local system is a program beside this one, with options of its own. */
const program = join(import.meta.dirname, `../local/start${extname(import.meta.filename)}`);

export function registerStart(parent: Command): void {
  parent
    .command("start")
    .description("Runs rollouts on this machine, without an account: --help after it tells its options.")
    .argument("[options...]", "as npm start -- takes them")
    .helpOption(false)
    .allowUnknownOption()
    .action(async (options: readonly string[]) => {
      const code = await runToTheEnd(options);
      if (code !== 0) throw new CommandFailure("the run did not end as it should: see above");
    });
}

/** Ctrl-C reaches the whole group, a `kill` this process alone: the program ends by itself, with a summary. */
async function runToTheEnd(options: readonly string[]): Promise<number | null> {
  const child = spawn(process.execPath, [program, ...options], { stdio: "inherit" });
  const pass = () => void child.kill("SIGTERM");
  const wait = () => undefined;
  process.on("SIGTERM", pass).on("SIGINT", wait);
  try {
    return await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  } finally {
    process.off("SIGTERM", pass).off("SIGINT", wait);
  }
}
