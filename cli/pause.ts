/** `sortie pause` and `sortie resume`: whether fleets claim new episodes. */
import { userInfo } from "node:os";
import type { Command } from "commander";
import { createGateStore } from "../functions/adapters/table/gate.ts";
import { addCommonOptions, type CommonOptions, withDeployment } from "./connection.ts";
import { span } from "./format.ts";
import { type Io, printJson } from "./io.ts";
import { printable } from "./terminal-text.ts";

interface PauseOptions extends CommonOptions {
  readonly fleet?: string;
  readonly why?: string;
}

const EXAMPLES = `
Without --fleet, all fleets. It takes effect within 10 s.

Examples:
  $ sortie pause --fleet math --why "the judge is being replaced"
  $ sortie resume --fleet math`;

export function registerPause(program: Command, io: Io): void {
  const pause = program
    .command("pause")
    .description("Pauses fleets: they claim nothing new, finish what runs, and lose nothing.")
    .option("--fleet <name>", "only this fleet")
    .option("--why <text>", "shown wherever somebody looks at the fleet");
  addCommonOptions(pause)
    .addHelpText("after", EXAMPLES)
    .action(async (options: PauseOptions) => await setPaused(pause, options, io));
  const resume = program
    .command("resume")
    .description("Lets paused fleets claim again.")
    .option("--fleet <name>", "only this fleet");
  addCommonOptions(resume)
    .addHelpText("after", EXAMPLES)
    .action(async (options: PauseOptions) => await resumeFleets(resume, options, io));
}

async function setPaused(command: Command, options: PauseOptions, io: Io): Promise<void> {
  const why = options.why ?? `paused by ${userName()}, who gave no reason`;
  const names = await eachFleet(command, options, async (gates, fleet) => {
    await gates.setPaused(fleet, { at: io.now(), why });
    return { fleet, paused: true, why };
  });
  if (options.json) printJson(io, names);
  else for (const { fleet } of names) io.out(`Fleet ${fleet} is paused: ${printable(why)}\n`);
}

async function resumeFleets(command: Command, options: PauseOptions, io: Io): Promise<void> {
  const states = await eachFleet(command, options, async (gates, fleet) => {
    const { paused, tripped_at: tripped } = await gates.read(fleet);
    if (paused) await gates.setPaused(fleet, undefined);
    const slow = tripped === undefined ? null : new Date(tripped).toISOString();
    return {
      fleet,
      paused: false,
      was_paused_for_ms: paused ? io.now() - paused.at : null,
      was_paused_by_budget: paused?.by === "budget",
      slows_down_since: slow,
    };
  });
  if (options.json) {
    printJson(io, states);
    return;
  }
  for (const {
    fleet,
    was_paused_for_ms: ms,
    was_paused_by_budget: budget,
    slows_down_since: since,
  } of states) {
    io.out(ms === null ? `Fleet ${fleet} was not paused.\n` : `Fleet ${fleet} goes on, after ${span(ms)}.\n`);
    if (budget)
      io.out(
        `Its budget had paused it, and does so again at the next tick: raise budget.usdPerDay, and deploy.\n`,
      );
    if (since)
      io.out(`Fleet ${fleet} slows down since ${since}, because attempts failed one after another.\n`);
  }
}

async function eachFleet<T>(
  command: Command,
  options: PauseOptions,
  work: (gates: ReturnType<typeof createGateStore>, fleet: string) => Promise<T>,
): Promise<T[]> {
  return await withDeployment(command, options, async (deployment) => {
    const gates = createGateStore(await deployment.table());
    const names = await deployment.fleetNames(options.fleet);
    return await Promise.all(names.map(async (name) => await work(gates, name)));
  });
}

/** Absent in some containers. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "somebody";
  }
}
