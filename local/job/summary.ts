/** What a local run came to, as a table for people and as one JSON object for programs. */
import Table from "cli-table3";
import type { Account, EngineAccount } from "./accounting.ts";

/** `engine_*` are null with a real engine: only the stand-in keeps a ledger. */
export interface Summary {
  readonly pushed: number;
  readonly ended: number;
  readonly dead: number;
  readonly unknown: number;
  /** Whose reward went with a training that ended before its batch. */
  readonly lost: number;
  /** Deliveries that went back to the queue, for whatever reason. */
  readonly deferred: number;
  readonly attempts: number;
  readonly reward_mean: number | null;
  /** The smallest and the largest; null where there is none. */
  readonly reward_range: readonly [number, number] | null;
  readonly reward_mean_by_step: Readonly<Record<string, number>>;
  /** How many different tasks of each fleet reached the trainer, by the engine's step. */
  readonly mix: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly global_step: number | null;
  readonly engine_ended: number | null;
  readonly engine_duplicate_ended: number | null;
  readonly engine_open: number | null;
  readonly seconds: number;
  readonly seconds_to_first_ended: number | null;
}

/** What is wrong with the figures; nothing, when every rollout is accounted for on both sides. */
export function faultsOf(summary: Summary, account: Account, engine: EngineAccount | undefined): string[] {
  const settled = summary.ended + summary.dead + summary.unknown + summary.lost;
  const faults: [boolean, string][] = [
    [
      settled !== summary.pushed,
      `${summary.pushed - settled} of ${summary.pushed} rollouts are not accounted for`,
    ],
    [account.open > 0, `${account.open} rollouts still have an open attempt in the table`],
  ];
  if (engine)
    faults.push(
      [
        engine.ended !== summary.ended,
        `the engine took ${engine.ended} rewards, the table says ${summary.ended}`,
      ],
      [engine.duplicates > 0, `${engine.duplicates} rollouts were rewarded more than once`],
      [engine.strangers > 0, `${engine.strangers} rewards came from attempts that the table does not know`],
      [engine.open > 0, `${engine.open} episodes are still claimed at the engine`],
    );
  return faults.filter(([wrong]) => wrong).map(([, fault]) => fault);
}

/** A run whose rewards are all equal teaches a trainer nothing, and mostly its agent does not read its tasks as they are. */
export function equalRewards({ ended, reward_range: range }: Summary): string[] {
  const [low, high] = range ?? [0, 1];
  if (ended < 2 || low !== high) return [];
  return [
    `all ${ended} rewards are ${low}: the trainer learns nothing from them. Does the agent read the answer as the tasks have ` +
      "it, and the reply as the model writes it?",
  ];
}

/** How to look at the conversation of a rollout. `folder`: as the user names it. */
export function lookAt(example: string | undefined, folder: string): string[] {
  if (example === undefined) return [];
  const key = /^[\w/.:-]+$/.test(example) ? example : `'${example.replaceAll("'", "'\\''")}'`;
  return [`look at a conversation: npx sortie rollout ${key} --chat --from ${folder}`];
}

/** Where a run was stopped nothing is amiss: what ended, and what was left. */
export function leftWords({ pushed, ended, dead, unknown, lost }: Summary): string {
  const left = pushed - ended - dead - unknown - lost;
  return `stopped: ${ended} of ${pushed} rollouts had ended, ${left} were left`;
}

export function renderSummary(summary: Summary): string {
  const table = new Table({ colAligns: ["left", "right"], style: { head: [], border: [] } });
  const number = (value: number | null) => (value === null ? "–" : String(value));
  table.push(
    ["rollouts pushed", number(summary.pushed)],
    ["ended with a reward", number(summary.ended)],
    ["dead letters", number(summary.dead)],
    ["attempts", number(summary.attempts)],
    ["deliveries deferred", number(summary.deferred)],
    ["mean reward", summary.reward_mean === null ? "–" : summary.reward_mean.toFixed(3)],
    ["mean reward by step", byStep(summary.reward_mean_by_step)],
    ...mixRow(summary.mix),
    ["engine's global step", number(summary.global_step)],
    ["rewards at the engine", number(summary.engine_ended)],
    ["… counted twice", number(summary.engine_duplicate_ended)],
    ["… episodes left open", number(summary.engine_open)],
    ["seconds", summary.seconds.toFixed(1)],
    ["… to the first ended episode", summary.seconds_to_first_ended?.toFixed(1) ?? "–"],
  );
  return table.toString();
}

function byStep(means: Readonly<Record<string, number>>): string {
  return Object.values(means)
    .map((mean) => mean.toFixed(2))
    .join(" → ");
}

/** Only where there is more than one fleet. */
function mixRow(mix: Summary["mix"]): [string, string][] {
  const fleets = [...new Set(Object.values(mix).flatMap((step) => Object.keys(step)))].sort();
  if (fleets.length < 2) return [];
  const steps = Object.values(mix).map((step) => fleets.map((fleet) => step[fleet] ?? 0).join("+"));
  return [[`tasks by batch (${fleets.join("+")})`, steps.join(" → ")]];
}
