/** What a chaos run tells its agent in a task's metadata. */
export const ailments = [
  "hang",
  "ignore",
  "throw",
  "garbage",
  "block",
  "slow",
  "no-call",
  "exit",
  "spin",
  "bloat",
  "reject",
] as const;
export type Ailment = (typeof ailments)[number];

/** The metadata of a task; `rollout` comes back in the output's metadata, so the ledger tells whose output it is. */
export interface ChaosTask {
  readonly rollout: string;
  readonly seed: number;
  /** How often an attempt suffers from what. */
  readonly rates: readonly (readonly [Ailment, number])[];
  /** Every attempt suffers from this: such a rollout ends as a dead letter. */
  readonly always?: Ailment | undefined;
  /** The agent takes so long at least, s. */
  readonly seconds?: number | undefined;
}

/** The log line of an agent that misbehaves. */
export const INJECTED = "injected";
