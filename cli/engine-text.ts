/** An engine's wanted and seen state, in words. */
import type { EngineCode } from "../functions/core/engine-lifecycle/engine-code.ts";
import type { Desired, Observed } from "../functions/core/engine-lifecycle/engine-state.ts";
import { BOOTING, isUp, UNKNOWN } from "../functions/core/engine-lifecycle/observe-engine.ts";
import type { PoolInformation } from "../functions/core/protocol.ts";
import { span } from "./format.ts";
import type { Io } from "./io.ts";
import { labelledTable } from "./tables.ts";
import { printable } from "./terminal-text.ts";

/** What a snapshot saw, at unix ms. */
export interface Answered {
  readonly at: number;
  readonly status: string;
  readonly step: number | null;
}

export interface EngineSeen {
  readonly engine: string;
  readonly desired: Desired | undefined;
  readonly unreadable: string | undefined;
  readonly observed: Observed | undefined;
  /** Of the newest snapshot. */
  readonly pool?: PoolInformation | null | undefined;
  /** It answers again, and the drive has not looked yet. */
  readonly since?: Answered | undefined;
}

export function wishText(engine: string, desired: Desired): string {
  const what =
    desired.state === "stopped"
      ? "stopped"
      : `running${desired.restart ? " after a restart" : ""}, with config ${desired.hash.slice(0, 12)}${codeText(desired.code)}`;
  return `Engine ${printable(engine)} is wanted ${what} (generation ${desired.generation}).\n`;
}

function codeText(code: EngineCode | undefined): string {
  return code === undefined
    ? ""
    : ` and code ${code.sha256.slice(0, 12)}, ${(code.bytes / 1e6).toFixed(1)} MB`;
}

export function engineText(seen: EngineSeen, io: Pick<Io, "style" | "columns" | "now">): string {
  const { engine, observed } = seen;
  const rows = [
    ["wanted", wanted(seen, io.now())],
    ...(observed ? observedRows(observed, io.now(), seen.since) : []),
    ...(observed && isRunning(observed) ? newerRows(observed, seen.pool) : []),
  ] as [string, string][];
  const table = labelledTable(
    rows.map(([label, text]) => [label, printable(text)] as const),
    io.style,
    io.columns,
  );
  const notYet = observed
    ? []
    : ["The lifecycle function has not looked at it yet: it does so at its next tick."];
  const alarms = observed?.alarms ?? [];
  const shown = alarms.map(({ code, since, text }) =>
    io.style("yellow", `Alarm ${printable(code)}, for ${span(io.now() - since)}: ${printable(text)}`),
  );
  return `${[io.style("bold", `Engine ${printable(engine)}`), table, ...notYet, ...shown].join("\n")}\n`;
}

function wanted({ desired, unreadable }: EngineSeen, now: number): string {
  if (unreadable) return `unreadable: ${unreadable}`;
  if (!desired) return "nothing: Sortie only watches it";
  const by = desired.set_by ? ` by ${desired.set_by}` : "";
  const config =
    desired.state === "running" ? `, config ${desired.hash.slice(0, 12)}${codeText(desired.code)}` : "";
  return `${desired.state}${config} (generation ${desired.generation}, set ${span(now - desired.set_at)} ago${by})`;
}

function observedRows(observed: Observed, now: number, since?: Answered): [string, string][] {
  const { unreachable, last_failure: failure, call_error: call, conclusion, start } = observed;
  const step = observed.global_step === null ? "" : `, step ${observed.global_step}`;
  return [
    [
      "seen",
      `${observed.status}${step}, for ${span(now - observed.since)}; looked ${span(now - observed.looked_at)} ago`,
    ],
    ...(observed.detail ? [["in its words", observed.detail] as [string, string]] : []),
    ["this tick", `${observed.step.kind}: ${observed.step.reason}`],
    ...(unreachable ? [unreachableRow(unreachable, now, since)] : []),
    ...(isRunning(observed) ? [["its config", runningConfig(start)] as [string, string]] : []),
    ...(conclusion
      ? [
          ["last end", `${conclusion.what}, ${span(now - conclusion.at)} ago: ${conclusion.why}`] as [
            string,
            string,
          ],
        ]
      : []),
    ...(observed.failures > 0 ? [["failed starts", String(observed.failures)] as [string, string]] : []),
    ...(failure
      ? [["last failure", `${span(now - failure.at)} ago: ${failure.text}`] as [string, string]]
      : []),
    ...(call ? [["last call", call.text] as [string, string]] : []),
  ];
}

function unreachableRow(
  { since, count, detail }: NonNullable<Observed["unreachable"]>,
  now: number,
  answered: Answered | undefined,
): [string, string] {
  if (answered === undefined) return ["unreachable", `for ${span(now - since)}, ${count} looks: ${detail}`];
  const { at, status, step } = answered;
  const where = step === null ? "" : `, step ${step}`;
  return [
    "answers again",
    `${status}${where}, ${span(now - at)} ago; it was unreachable for ${span(at - since)}: ${detail}`,
  ];
}

function isRunning({ status, unreachable }: Observed): boolean {
  return unreachable === undefined && (isUp(status) || status === BOOTING) && status !== UNKNOWN;
}

/** An engine never says which config it runs with: it is known only of a start of Sortie's own. */
export function isConfigUnknown(observed: Observed): boolean {
  return isRunning(observed) && observed.start === undefined;
}

export const CONFIG_UNKNOWN = "somebody else has started it, so its config is unknown";

function runningConfig(start: Observed["start"]): string {
  if (start === undefined) return "unknown: somebody else has started it";
  const steps = start.total_steps === undefined ? "" : `, for ${start.total_steps} steps`;
  const code = start.code === undefined ? "" : `, code ${start.code.slice(0, 12)}`;
  return `${start.hash.slice(0, 12)}${code}${steps}`;
}

/** What newer engines tell. */
function newerRows(
  { experiment_dir: folder }: Observed,
  pool: PoolInformation | null | undefined,
): [string, string][] {
  const clients = pool?.swarm_client_instruction?.active_clients ?? [];
  const agreed = clients.filter(({ allowed_sync_weight }) => allowed_sync_weight === true).length;
  const rewards = Object.values(pool?.completed_tasks_rewards ?? {})
    .flat()
    .filter((reward) => reward !== null);
  const rows: [string, string | undefined][] = [
    ["model", pool?.training_model_path ?? undefined],
    ["experiment", folder],
    [
      "active clients",
      clients.length === 0 ? undefined : `${clients.length}, of which ${agreed} agree to a weight sync`,
    ],
    ["rewards", rewards.length === 0 ? undefined : rewardsText(rewards)],
  ];
  return rows.flatMap(([label, text]) => (text === undefined ? [] : [[label, text]]));
}

function rewardsText(rewards: readonly number[]): string {
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return `${rewards.length} in this batch, mean ${mean.toFixed(3)}, from ${Math.min(...rewards)} to ${Math.max(...rewards)}`;
}
