/** What happened at the engine, in order: the evidence that a run is judged by. */
import type { EpisodeType } from "../../functions/core/protocol.ts";

/** What the trainer made of a delivered output. */
export type Outcome =
  | "counted"
  | "dropped_no_model_call"
  | "thread_lost_reward_null"
  | "thread_lost_reward_list";

/** A workflow output as the engine reads it from the wire. */
export interface ReportedOutput {
  readonly reward: number | number[] | null;
  readonly is_success: boolean | null;
  readonly metadata: Record<string, unknown>;
  readonly log_metrics: Record<string, number | number[] | Record<string, unknown>>;
}

export type LedgerEvent =
  | {
      readonly kind: "claim";
      readonly granted: boolean;
      readonly clientUuid: string;
      readonly episodeUuid: string;
      readonly episodeType: string;
      readonly taskId: string;
      readonly failCause: string;
    }
  | {
      readonly kind: "end";
      readonly accepted: boolean;
      readonly clientUuid: string;
      readonly episodeUuid: string;
      readonly episodeType: EpisodeType | undefined;
      readonly taskId: string;
      readonly output: ReportedOutput;
      readonly refusal: string;
      /** Whether the trainer acknowledged the output: false for an eval episode's, and behind some a success. */
      readonly delivered?: boolean;
    }
  /** An output that reached the trainer. */
  | {
      readonly kind: "output";
      readonly outcome: Outcome;
      readonly clientUuid: string;
      readonly episodeUuid: string;
      readonly taskId: string;
      readonly output: ReportedOutput;
      readonly llmCalls: number;
    }
  | {
      readonly kind: "abort";
      readonly clientUuid: string;
      readonly holder: string;
      readonly episodeUuid: string;
      readonly effect: "none" | "reverted" | "deleted";
    }
  /** Taken back for want of model activity. */
  | { readonly kind: "discard"; readonly clientUuid: string; readonly episodeUuid: string }
  /** Claimed when the engine left its rolling states: gone. */
  | { readonly kind: "wiped"; readonly clientUuid: string; readonly episodeUuid: string }
  /** The trainer forgot the episode's model calls. */
  | { readonly kind: "reset"; readonly episodeUuid: string }
  | {
      readonly kind: "model-call";
      readonly clientUuid: string;
      readonly episodeUuid: string;
      readonly callIndex: number;
      readonly preserveSampling: boolean;
      readonly request?: unknown;
    }
  | { readonly kind: "slot-lost"; readonly slot: number; readonly error: string }
  | { readonly kind: "status"; readonly status: string }
  | { readonly kind: "start"; readonly pid: number }
  | { readonly kind: "stop" }
  | { readonly kind: "trainer-died"; readonly pid: number }
  | { readonly kind: "restart"; readonly keptState: boolean }
  | { readonly kind: "internal-error"; readonly path: string; readonly error: string };

/** `at` is unix ms. */
export type LedgerEntry = LedgerEvent & { readonly at: number; readonly globalStep: number | null };
export type Kind = LedgerEvent["kind"];
export type EntryOf<K extends Kind> = Extract<LedgerEntry, { kind: K }>;

export interface LedgerSummary {
  readonly claimsGranted: number;
  readonly claimsRefused: number;
  readonly endsAccepted: number;
  readonly endsRefused: number;
  /** Train episodes whose end was answered as a success although the trainer never got the output. */
  readonly endsUndelivered: number;
  /** Train episodes whose output the trainer counted. */
  readonly counted: number;
  readonly dropped: number;
  readonly slotsLost: number;
  readonly aborts: number;
  readonly discards: number;
  readonly wiped: number;
  readonly resets: number;
  readonly modelCalls: number;
  readonly starts: number;
  readonly stops: number;
  /** Mean of the counted rewards; null before the first. */
  readonly rewardMean: number | null;
}

/** Append-only. */
export class Ledger {
  readonly entries: LedgerEntry[] = [];
  #stamp: () => { at: number; globalStep: number | null } = () => ({ at: 0, globalStep: null });

  /** How entries get their time and step from now on. */
  stampWith(stamp: () => { at: number; globalStep: number | null }): void {
    this.#stamp = stamp;
  }

  add(event: LedgerEvent): void {
    this.entries.push({ ...this.#stamp(), ...event });
  }

  of<K extends Kind>(kind: K): EntryOf<K>[] {
    return this.entries.filter((entry): entry is EntryOf<K> => entry.kind === kind);
  }

  summary(): LedgerSummary {
    const [claims, ends, outputs] = [this.of("claim"), this.of("end"), this.of("output")];
    const counted = outputs.filter((entry) => entry.outcome === "counted");
    return {
      claimsGranted: claims.filter((entry) => entry.granted).length,
      claimsRefused: claims.filter((entry) => !entry.granted).length,
      endsAccepted: ends.filter((entry) => entry.accepted).length,
      endsRefused: ends.filter((entry) => !entry.accepted).length,
      endsUndelivered: ends.filter(isUndelivered).length,
      counted: counted.length,
      dropped: outputs.filter((entry) => entry.outcome === "dropped_no_model_call").length,
      slotsLost: this.of("slot-lost").length,
      aborts: this.of("abort").length,
      discards: this.of("discard").length,
      wiped: this.of("wiped").length,
      resets: this.of("reset").length,
      modelCalls: this.of("model-call").length,
      starts: this.of("start").length,
      stops: this.of("stop").length,
      rewardMean: mean(counted.map((entry) => Number(entry.output.reward))),
    };
  }
}

function isUndelivered({ accepted, delivered, episodeType }: EntryOf<"end">): boolean {
  return accepted && delivered === false && episodeType === "train";
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
