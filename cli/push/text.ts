/** How a push came out, in words and as JSON. */
import type { Style } from "../io.ts";
import { printable } from "../terminal-text.ts";
import type { Fault } from "./faults.ts";
import type { Sent } from "./send.ts";

export interface Outcome {
  readonly run: string;
  readonly runWasGiven: boolean;
  readonly fleet: string | undefined;
  readonly tasks: number;
  readonly repeats: number;
  /** Undefined in a dry run. */
  readonly sent: Sent | undefined;
  readonly faults: readonly Fault[];
  readonly faultCount: number;
  /** The option `--map` that the faulty records ask for. */
  readonly proposal: string | undefined;
}

export function outcomeJson(outcome: Outcome): object {
  const { run, fleet, tasks, repeats, sent, faults, faultCount, proposal } = outcome;
  return {
    run,
    fleet: fleet ?? null,
    tasks,
    repeats,
    rollouts: tasks * repeats,
    dry_run: sent === undefined,
    pushed: sent?.pushed ?? 0,
    skipped: sent?.skipped ?? { ended: 0, unknown: 0, lost: 0, dead: 0 },
    refused: sent?.refused ?? [],
    interrupted: sent?.interrupted ?? false,
    faults,
    fault_count: faultCount,
    proposed_map: proposal ?? null,
  };
}

export function outcomeText(outcome: Outcome, style: Style): string {
  const { run, tasks, repeats, sent, fleet } = outcome;
  const rollouts = `${counted(tasks, "task")} × ${counted(repeats, "repeat")} = ${counted(tasks * repeats, "rollout")}`;
  const head = `Run ${style("bold", run)}: ${rollouts}`;
  const lines = sent
    ? [`${head}; ${sent.pushed} pushed to fleet ${fleet}.`, ...skippedTexts(sent), ...refusedTexts(sent)]
    : [`${head}; nothing pushed: a dry run.`];
  return `${[...lines, ...faultTexts(outcome)].join("\n")}\n`;
}

function skippedTexts({ skipped: { ended, unknown, lost, dead }, pushed }: Sent): string[] {
  const finished = ended + unknown;
  const again =
    pushed === 0 && finished > 0 ? " To run these tasks once more, name another run with --run." : "";
  return [
    ...(finished > 0 ? [`Not pushed again: ${finished} that have ended in this run already.${again}`] : []),
    ...(lost > 0
      ? [
          `Not pushed again: ${lost} whose rewards went with a training that ended before their batch; only another run ` +
            "tries them anew: name it with --run.",
        ]
      : []),
    ...(dead > 0
      ? [
          `Not pushed again: ${dead} that are dead in this run; sortie dead list says why, sortie dead redrive tries them anew. ` +
            "Where their letters were purged, only another run does: name it with --run.",
        ]
      : []),
  ];
}

/** A queue that refuses one refuses many: the first are enough to see why. */
const MOST_SHOWN = 20;

function refusedTexts({ refused }: Sent): string[] {
  const shown = refused
    .slice(0, MOST_SHOWN)
    .map(({ at, reason }) => printable(`${at}: the queue refused it: ${reason}`));
  const more = refused.length - shown.length;
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}

function faultTexts({ faultCount, runWasGiven, run }: Outcome): string[] {
  if (faultCount === 0) return [];
  const hint = runWasGiven
    ? ""
    : `; give --run ${run} when you push them corrected, so that the others do not run again`;
  return [`Left out: ${counted(faultCount, "faulty record")}${hint}.`];
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
