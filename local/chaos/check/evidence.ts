/**
 * What a run is judged by. Only `pushed`, `ledger` and `openAtEngine` are needed: whoever runs another worker against
 * the stand-in engine leaves the rest out, and the checks that need it say so.
 */
import type { RolloutItem } from "../../../functions/core/rollout/item.ts";
import type { EntryOf, LedgerEntry } from "../../engine/ledger.ts";
import type { Kill } from "../killer.ts";
import type { Ailment } from "../task-facts.ts";

export interface Letter {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}
export interface Throttle {
  readonly ratio: number;
  readonly batchSize: number;
}
/** Unix ms. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

export interface Evidence {
  /** Keys of the rollouts that the queue has taken. */
  readonly pushed: readonly string[];
  /** Bodies that the queue has taken and that are no rollouts. */
  readonly invalid?: readonly string[];
  readonly ledger: readonly LedgerEntry[];
  /** Episodes that are still claimed. */
  readonly openAtEngine: number;
  /** Which rollout an output belongs to; default: `metadata.rollout`. */
  readonly rolloutOf?: (reported: Reported) => string | undefined;
  /** The table's items by rollout. */
  readonly items?: ReadonlyMap<string, RolloutItem>;
  readonly letters?: readonly Letter[];
  readonly kills?: readonly Kill[];
  /** Attempts whose agent said that it misbehaves. */
  readonly misbehaved?: ReadonlySet<string>;
  /** What some rollouts' agents do at every attempt. */
  readonly guilty?: ReadonlyMap<string, Ailment>;
  /** Nothing else disturbs the run. */
  readonly guiltyAlone?: boolean;
  /** Nothing disturbs the run but what must not cost a healthy episode its result. */
  readonly costsNothing?: boolean;
  /** By how much the functions' clocks may be off. */
  readonly clocksOffMs?: number;
  /** When the circuit was open. */
  readonly tripped?: readonly Window[];
  /** Of a fleet whose client uuids begin with `<fleet>/`. */
  readonly throttle?: Throttle | undefined;
  /** What an operator's redrive did whose answers were lost; undefined where there was none. */
  readonly redriven?: { readonly sends: number; readonly outcome: string } | undefined;
  /** How long a crashed function's episode may stay open, ms, not counting the time in which table or engine were away. */
  readonly settleWithinMs?: number;
  /** When the table or the engine was away, unix ms. */
  readonly outages?: readonly { readonly from: number; readonly to: number }[];
}

export interface Violation {
  readonly what: string;
  readonly rollout?: string | undefined;
  readonly episode?: string | undefined;
}
export interface Check {
  readonly number: 1 | 2 | 3 | 4 | 5 | 6;
  readonly title: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
}

export type Output = EntryOf<"output">;
/** An output as a client reported it. */
export type Reported = Pick<Output, "clientUuid" | "episodeUuid" | "taskId" | "output">;

/** Outputs that reached the trainer, by rollout; those of nobody under the empty key. */
export function outputsByRollout({ ledger, rolloutOf = fromMetadata }: Evidence): Map<string, Output[]> {
  const outputs = ledger.filter((entry): entry is Output => entry.kind === "output");
  return Map.groupBy(outputs, (output) => rolloutOf(output) ?? "");
}

/** Rollouts with an end that the engine answered as a success although its trainer never got the output. */
export function undelivered({ ledger, rolloutOf = fromMetadata }: Evidence): Set<string> {
  const ends = ledger.filter((entry): entry is EntryOf<"end"> => entry.kind === "end");
  const lies = ends.filter(
    ({ accepted, delivered, episodeType }) => accepted && delivered === false && episodeType === "train",
  );
  return new Set(lies.map((end) => rolloutOf(end) ?? ""));
}

function fromMetadata({ output }: Reported): string | undefined {
  const rollout = output.metadata["rollout"];
  return typeof rollout === "string" ? rollout : undefined;
}
