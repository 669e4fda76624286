/** A snapshot as text: what the reference's `print_rollout_stat` prints, then each fleet's own figures. */

import type { FleetSnapshot, Snapshot } from "../functions/core/housekeeping/snapshot.ts";
import type { PoolInformation } from "../functions/core/protocol.ts";
import { type Reason, reasons } from "../functions/core/reasons.ts";
import { figure, NOTHING, span } from "./format.ts";
import type { Io, Style } from "./io.ts";
import { rolloutStat } from "./rollout-stat.ts";
import { figuresTable, labelledTable } from "./tables.ts";
import { printable } from "./terminal-text.ts";
import { wrapped } from "./wrap.ts";

/** The lifecycle function writes a snapshot at each tick; two may be missed. */
const MOST_TICKS = 3;

export function isStale({ at, schedule_minutes: minutes }: Snapshot, now: number): boolean {
  return now - Date.parse(at) > MOST_TICKS * minutes * 60_000;
}

/** Why the snapshot should not be trusted to show the present, and what to check; undefined where it is fresh. */
export function staleness(snapshot: Snapshot, now: number): string | undefined {
  const age = now - Date.parse(snapshot.at);
  if (!isStale(snapshot, now)) return undefined;
  const minutes = snapshot.schedule_minutes;
  return (
    `this snapshot is ${span(age)} old, expected one ${minutes === 1 ? "each minute" : `every ${minutes} minutes`}: look at the log of the ` +
    "lifecycle function, and at whether its schedule is enabled"
  );
}

/** `sinceMs`: the fleets' figures are of this span alone. */
export function statsText(
  snapshot: Snapshot,
  io: Pick<Io, "style" | "columns" | "now">,
  sinceMs?: number,
): string {
  const warning = staleness(snapshot, io.now());
  const parts = [
    headline(snapshot, io),
    ...(warning ? [io.style("yellow", `Caution: ${warning}.`)] : []),
    ...troubleText(snapshot, io.style),
    batchText(snapshot, io),
    ...confirmationText(snapshot, io.style),
    fleetsText(snapshot.fleets, io, sinceMs),
  ];
  return `${parts.map((part) => wrapped(part, io.columns)).join("\n\n")}\n`;
}

function headline({ engine, status, at }: Snapshot, { style, now }: Pick<Io, "style" | "now">): string {
  const { engine_status, engine_status_detail: detail, global_step: step } = status;
  const line = [
    style("bold", `Engine ${engine}: ${printable(engine_status)}`),
    step === null || step === undefined ? "no step yet" : `step ${step}`,
    `snapshot of ${at}, ${span(now() - Date.parse(at))} ago`,
  ].join(" · ");
  return detail ? `${line}\n${style("dim", `The engine's last words: ${printable(detail)}`)}` : line;
}

/** What somebody should look at. */
function troubleText({ alarms, overdue }: Snapshot, style: Style): string[] {
  const lines = [
    ...alarms.map(({ code, text }) => `Alarm ${printable(code)}: ${printable(text)}`),
    ...(overdue > 0
      ? [`Episodes that a dead function left open and the sweep could not settle yet: ${overdue}`]
      : []),
  ];
  return lines.length === 0 ? [] : [lines.map((line) => style("yellow", line)).join("\n")];
}

/** Its address is not in the snapshot; the user knows it. */
const ENGINE_ADDRESS = "<address of the engine>";

function batchText(snapshot: Snapshot, { style, columns }: Pick<Io, "style" | "columns">): string {
  const { pool } = snapshot;
  if (pool === null) return "Batch: the engine did not tell.";
  const rows = batchRows(pool, snapshot.reduced).map(([label, text]) => [label, printable(text)] as const);
  const table = labelledTable(
    rows.filter(([label]) => label !== HINT),
    style,
    columns,
  );
  const hints = rows.filter(([label]) => label === HINT).map(([label, text]) => `${label}: ${text}`);
  return [style("bold", "Batch"), table, ...hints].join("\n");
}

/** An end counts for the trainer when the engine's pool has shown it. */
function confirmationText({ unconfirmed, never_confirmed: never }: Snapshot, style: Style): string[] {
  if (never === 0)
    return unconfirmed === 0 ? [] : [`Train rewards not yet shown by the engine: ${unconfirmed}`];
  const text =
    `Caution: the engine took ${never} train rewards that its batch never showed (${unconfirmed} are not shown yet): ` +
    "look at the trainer's log.";
  return [style("yellow", text)];
}

/** A sentence, which would make the table wide: it stands below. */
const HINT = "Hint";

function batchRows(pool: PoolInformation, reduced: readonly string[]) {
  const rows = rolloutStat(pool, ENGINE_ADDRESS);
  if (!reduced.includes("completed_tasks_details")) return rows;
  // These two are made of the details of each task.
  return rows.map(([label, text]) =>
    /^(Average|Tasks \()/.test(label)
      ? ([label, "left out of the snapshot: too many tasks"] as const)
      : ([label, text] as const),
  );
}

function fleetsText(fleets: Snapshot["fleets"], { style }: Pick<Io, "style">, sinceMs?: number): string {
  const names = Object.keys(fleets).toSorted();
  if (names.length === 0) return "Fleets: none works on this engine.";
  const columns = names.flatMap((name) => fleets[name] ?? []);
  const rows = [...figureRows, ...spendRows(columns), ...attemptRows(columns)].map(
    ([label, of]) => [label, columns.map((fleet) => of(fleet))] as const,
  );
  const notices = names.flatMap((name) => gateTexts(name, fleets[name])).map((text) => style("yellow", text));
  const title = sinceMs === undefined ? "since the deployment began" : `in the last ${span(sinceMs)}`;
  return [style("bold", `Fleets, ${title}`), ...notices, figuresTable(names, rows, style)].join("\n");
}

/** Why a fleet claims nothing, or little. */
function gateTexts(name: string, fleet: FleetSnapshot | undefined): string[] {
  const { paused = null, circuit = null } = fleet ?? {};
  const since = circuit && new Date(circuit.since).toISOString();
  return [
    ...(paused === null ? [] : [`Fleet ${name} is paused: ${printable(paused)}`]),
    ...(circuit === null
      ? []
      : [
          `Fleet ${name} slows down since ${since}: ${circuit.failures} attempts in a row failed, the last by ${printable(circuit.reason)}`,
        ]),
  ];
}

type FigureRow = readonly [label: string, of: (fleet: FleetSnapshot) => string];
const count = (value: number | null | undefined): string => (value ?? NOTHING).toString();

const figureRows: readonly FigureRow[] = [
  ["queue: visible", ({ queue }) => count(queue?.visible)],
  ["queue: in flight", ({ queue }) => count(queue?.in_flight)],
  ["queue: delayed", ({ queue }) => count(queue?.delayed)],
  ["dead letters", (fleet) => count(fleet.dead_letters)],
  ["open episodes", (fleet) => count(fleet.open)],
  ["train: ended", ({ totals }) => count(totals.ended)],
  ["train: reward, mean ± deviation", reward],
  ["train: ended without a model call", ({ totals }) => count(totals.ended_without_model_call)],
  ["eval: ended", ({ totals }) => count(totals.eval_ended)],
  ["eval: reward, mean", ({ totals }) => figure(quotient(totals.eval_reward_sum, totals.eval_rewards))],
  ["rollouts dead", ({ totals }) => count(totals.dead)],
  ["groups short of a dead rollout", incompleteGroups],
  ["rollouts unknown", ({ totals }) => count(totals.unknown)],
  ["rollouts lost", ({ totals }) => count(totals.lost)],
  ["time per attempt, mean", timePerAttempt],
];

/** Only where the cost is known. */
function spendRows(fleets: readonly FleetSnapshot[]): FigureRow[] {
  if (fleets.every(({ spend }) => spend === null)) return [];
  const rows: FigureRow[] = [
    ["cost, estimated", ({ spend }) => usd(spend?.usd_total)],
    ["cost per ended episode", ({ spend }) => usd(spend?.usd_per_ended)],
    ["cost today (UTC)", ({ spend }) => usd(spend?.usd_today)],
  ];
  const limited = fleets.some(({ spend }) => typeof spend?.budget_usd_per_day === "number");
  return limited ? [...rows, ["budget per day", ({ spend }) => usd(spend?.budget_usd_per_day)]] : rows;
}

function usd(value: number | null | undefined): string {
  return value === null || value === undefined ? NOTHING : `$${figure(Number(value.toPrecision(3)))}`;
}

/** Only the reasons that there were. */
function attemptRows(fleets: readonly FleetSnapshot[]): FigureRow[] {
  const seen = (Object.keys(reasons) as Reason[]).filter((reason) =>
    fleets.some(({ totals }) => (totals.attempts[reason] ?? 0) > 0),
  );
  return seen.map((reason) => [`attempts: ${reason}`, ({ totals }) => count(totals.attempts[reason] ?? 0)]);
}

/** More rollouts are dead than the list of groups has room for: how many groups they make is not known. */
function incompleteGroups({ totals: { incomplete, incomplete_unlisted: more } }: FleetSnapshot): string {
  const listed = count(Object.keys(incomplete).length);
  return more === 0 ? listed : `${listed}, and ${more} dead rollouts of others`;
}

function reward({ reward_mean, reward_deviation }: FleetSnapshot): string {
  return reward_mean === null ? NOTHING : `${figure(reward_mean)} ± ${figure(reward_deviation)}`;
}

function timePerAttempt({ totals }: FleetSnapshot): string {
  const attempts = Object.values(totals.attempts).reduce((sum, some) => sum + some, 0);
  const ms = quotient(totals.episode_ms, attempts);
  return ms === null ? NOTHING : `${figure(ms / 1000)} s`;
}

function quotient(sum: number, of: number): number | null {
  return of === 0 ? null : sum / of;
}
