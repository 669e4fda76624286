/** What a chaos run came to, for people. */
import Table from "cli-table3";
import { type Check, outputsByRollout } from "./check/evidence.ts";
import { harmFigures } from "./check/harm.ts";
import { historyOf } from "./history.ts";
import { faultKinds } from "./kinds.ts";
import type { ChaosOutcome } from "./run.ts";

const MOST_HISTORIES = 3;

export function renderOutcome(outcome: ChaosOutcome): string {
  return [
    faultTable(outcome),
    checkTable(outcome.checks),
    ...harmLines(outcome),
    ...closingLines(outcome),
    ...unknownLines(outcome),
    ...violations(outcome),
  ].join("\n");
}

export function isSound({ checks }: ChaosOutcome): boolean {
  return checks.every((check) => check.violations.length === 0);
}

function faultTable({ faults, seed }: ChaosOutcome): string {
  const table = new Table({ head: ["fault", "times", `seed ${seed}`], style: plain });
  for (const [kind, times] of faults)
    table.push([kind, { content: times, hAlign: "right" }, faultKinds[kind]]);
  return table.toString();
}

export function checkTable(checks: readonly Check[]): string {
  const table = new Table({ head: ["", "must hold", "violations", "counted"], style: plain });
  for (const { number, title, counts, violations: found } of checks)
    table.push([number, title, { content: found.length, hAlign: "right" }, countsOf(counts)]);
  return table.toString();
}

const plain = { head: [], border: [], compact: true };

function countsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

function closingLines({ recovery, seconds, evidence, log }: ChaosOutcome): string[] {
  const time = (value: number | null) => (value === null ? "–" : `${value.toFixed(1)} s`);
  const timeouts = log.filter(({ facts }) => facts["status"] === "timeout").length;
  return [
    `from crash to settled: ${recovery.count} episodes, median ${time(recovery.median)}, max ${time(recovery.max)}`,
    `${evidence.kills?.length ?? 0} processes killed, ${timeouts} function timeouts, ` +
      `circuit opened ${evidence.tripped?.length ?? 0} times`,
    `${seconds.total.toFixed(0)} s, of which ${seconds.drain.toFixed(0)} s of peace`,
  ];
}

function harmLines({ evidence }: ChaosOutcome): string[] {
  const figures = harmFigures(evidence);
  if (figures.length === 0) return [];
  const table = new Table({ head: ["at every attempt", "rollouts", "dead", "median", "last"], style: plain });
  const time = (seconds: number | null) => (seconds === null ? "–" : `${seconds.toFixed(0)} s`);
  for (const { ailment, rollouts, dead, median, max } of figures)
    table.push([faultKinds[`agent-${ailment}`], rollouts, dead, time(median), time(max)]);
  return [table.toString()];
}

/** What became of those of which the table says that nobody knows, and why it says so. */
function unknownLines({ evidence, seed }: ChaosOutcome): string[] {
  const outputs = outputsByRollout(evidence);
  const unknown = [...(evidence.items ?? [])].filter(([, { state }]) => state === "unknown");
  const causes = Map.groupBy(unknown, ([rollout, { history }]) => {
    const fate = outputs.has(rollout) ? "the trainer has it" : "the trainer never got it";
    return `${history.at(-1)?.detail}: ${fate}`;
  });
  return [...causes].map(
    ([cause, rollouts]) =>
      `unknown, seed ${seed}, ${rollouts.length} times: ${cause} (such as ${rollouts[0]?.[0]})`,
  );
}

function violations(outcome: ChaosOutcome): string[] {
  const found = outcome.checks.flatMap((check) =>
    check.violations.map((violation) => ({ check, violation })),
  );
  if (found.length === 0) return [];
  const lines = found.map(
    ({ check, violation: { what, rollout, episode } }) =>
      `VIOLATION of ${check.number} (${check.title}), seed ${outcome.seed}: ${what}` +
      `${rollout ? `; rollout ${rollout}` : ""}${episode ? `; episode ${episode}` : ""}`,
  );
  const histories = found
    .slice(0, MOST_HISTORIES)
    .flatMap(({ violation }) => ["", ...historyOf(violation, outcome.evidence, outcome.log)]);
  return [...lines, ...histories, "", `the functions' log: ${outcome.logFile}`];
}

/** One row a seed. */
export function renderSeeds(outcomes: readonly ChaosOutcome[]): string {
  const head = [
    "seed",
    "rollouts",
    "faults",
    "kills",
    "ended",
    "dead",
    "unknown",
    "with training",
    "undelivered",
    "violations",
  ];
  const table = new Table({ head: [...head, "settled median", "max", "seconds"], style: plain });
  for (const outcome of outcomes) {
    const { seed, checks, faults, recovery, evidence, seconds } = outcome;
    const {
      ended = 0,
      dead = 0,
      unknown = 0,
      undelivered = 0,
      "with their training": lost = 0,
    } = checks[0]?.counts ?? {};
    const injected = faults.reduce((sum, [, times]) => sum + times, 0);
    const found = checks.reduce((sum, check) => sum + check.violations.length, 0);
    const times = [recovery.median, recovery.max].map((value) => value?.toFixed(1) ?? "–");
    const counts = [
      evidence.pushed.length,
      injected,
      evidence.kills?.length ?? 0,
      ended,
      dead,
      unknown,
      lost,
      undelivered,
      found,
    ];
    table.push([seed, ...counts, ...times, seconds.total.toFixed(0)]);
  }
  return table.toString();
}
