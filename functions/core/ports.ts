/** The ports of the domain. Each has one implementation, in `adapters/`. */
import type { AdmissionStore } from "./admission/admission-item.ts";
import type { ThrottleSetting } from "./admission/throttle.ts";
import type { GateDecision, Probe } from "./circuit/gate.ts";
import type { Clock, Random } from "./clock.ts";
import type { Engine } from "./engine.ts";
import type { EpisodeType, WorkflowOutput } from "./protocol.ts";
import type { Reason } from "./reasons.ts";
import type { BatchStore } from "./rollout/batch-seen.ts";
import type { AbortStore } from "./rollout/give-back.ts";
import type { RolloutItem } from "./rollout/item.ts";
import type { LateResultStore } from "./rollout/late-result.ts";
import type { Rollout } from "./rollout/message.ts";
import type { Usage, UsageStore } from "./spend/spend.ts";

/** `moved` the write took place; otherwise the item that stands there instead. */
export type Moved = { moved: true; item: RolloutItem } | { moved: false; found: RolloutItem | undefined };

export interface RolloutStore {
  /** Reads what was written last. */
  read(fleet: string, key: string): Promise<RolloutItem | undefined>;
  /** Writes `next` if the item that was left still stands (`undefined`: if there is none). */
  move(previous: RolloutItem | undefined, next: RolloutItem): Promise<Moved>;
}

/** A running invocation, as the table knows it. */
export interface Invocation {
  readonly id: string;
  readonly fleet: string;
  /** Unix ms when it last said that it lives, by its own clock as all times here: different at each sign. */
  readonly alive_at: number;
  /** As long after `alive_at` as its silence means death. */
  readonly silent_at: number;
  /** Unix ms when the function's time is up. */
  readonly ends_at: number;
  /** Unix ms when the sweep declared it dead, by the sweep's clock. */
  readonly dead_at?: number | undefined;
  /** Unix ms when it ended, where it left `parked` messages behind. */
  readonly ended_at?: number | undefined;
  /** Receipts of messages that it has received and is not done with. */
  readonly waiting?: readonly string[] | undefined;
  /** Receipts of messages that are hidden until the fleet's gate opens. */
  readonly parked?: readonly string[] | undefined;
  /** What it will have used at its next sign of life. Whoever takes the item away adds it to the fleet's usage. */
  readonly used?: Usage | undefined;
}
export interface InvocationStore {
  /** The first sign of life. */
  alive(invocation: Invocation): Promise<void>;
  /** A further one. False, and nothing written, where it was declared dead or its item is gone. */
  beat(invocation: Invocation): Promise<boolean>;
  /** Takes the item away; false where it was gone. */
  done(id: string): Promise<boolean>;
  read(id: string): Promise<Invocation | undefined>;
}
/** What the sweep needs of them beside. */
export interface InvocationIndex {
  /** Ids of all of a fleet that have an item, but for those of the last moments. */
  idsOf(fleet: string): Promise<string[]>;
  /** Those that have an item. */
  readAll(ids: readonly string[]): Promise<Invocation[]>;
  /** False, and nothing written, where it has said since that it lives, or is declared dead already. */
  declareDead(invocation: Invocation, now: number): Promise<boolean>;
}

export interface QueueRecord {
  readonly messageId: string;
  readonly receipt: string;
  readonly body: string;
  /** How often SQS has delivered it, deferrals included. */
  readonly receiveCount: number;
  /** Unix ms when it was sent, by SQS's clock. */
  readonly sentAt: number;
  /** The message's own attributes, handed on with a dead letter. */
  readonly attributes: Readonly<Record<string, string>>;
}
export interface DeadLetter {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}
export interface Queue {
  /** At most so many messages, hidden for as long as those of an event; waits up to so long for the first. */
  receive(count: number, waitSeconds: number): Promise<QueueRecord[]>;
  /** Hides the message for so long, from now. */
  defer(receipt: string, seconds: number): Promise<void>;
  /** Lets messages be received at once. Those whose receipt is no longer good are passed over. */
  show(receipts: readonly string[]): Promise<void>;
  delete(receipt: string): Promise<void>;
  sendDeadLetter(letter: DeadLetter): Promise<void>;
}

/** One structured log line. Facts hold no prompt and no key. */
export type Log = (
  level: "info" | "warn" | "error",
  message: string,
  facts?: Record<string, unknown>,
) => void;

export interface FleetLimits {
  readonly fleet: string;
  /** The first part of every client uuid: unlike the name, no other deployment on the same engine has it. */
  readonly fleetId: string;
  readonly engine: string;
  readonly maxAttempts: number;
  readonly discardTimeoutSeconds: number;
  readonly claimWaitSeconds: number;
  readonly minEpisodeSeconds: number;
  readonly settleMarginSeconds: number;
  readonly allowUnusualRewards: boolean;
  readonly stragglerGraceSeconds: number | undefined;
  /** Absent: any number of different tasks may be in the engine's batch. */
  readonly throttle?: ThrottleSetting | undefined;
  /** Rollouts that one invocation runs at once. Absent: it runs what the event source gave it, and takes no more. */
  readonly places?: number | undefined;
  readonly heartbeatSeconds: number;
  /** Deliveries after which SQS itself makes a dead letter of a message. */
  readonly maxReceiveCount: number;
  /** How long SQS keeps a message, days. */
  readonly messageRetentionDays: number;
}

export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly engine: Engine;
  readonly rollouts: RolloutStore;
  readonly lateResults: LateResultStore;
  readonly aborts: AbortStore;
  readonly batches: Pick<BatchStore, "read">;
  readonly invocations: InvocationStore;
  readonly admissions: AdmissionStore;
  readonly queue: Queue;
  readonly usage: Pick<UsageStore, "add">;
  readonly agents: AgentRunner;
  readonly log: Log;
  readonly gate: Gate;
  readonly meter: Meter;
}

/** Metrics; no prompt and no key among them. */
export interface Meter {
  /** How an attempt ended; the reward of an ended one, if it is a number. */
  attempt(facts: {
    reason: Reason;
    episodeType: EpisodeType;
    reward: number | undefined;
    milliseconds: number;
  }): void;
}

/** What is told how each attempt of a fleet ended; see `FleetGate`. */
export interface Gate {
  /** While attempts fail one after another, a further failure costs its rollout nothing. */
  isTripped(): Promise<boolean>;
  /** `invocation`: the one that ran the attempt; `failedAt`: when an earlier attempt of its rollout failed first, unix ms. */
  note(reason: Reason, invocation?: string, failedAt?: number): Promise<void>;
  check(): Promise<GateDecision>;
  /** Asked again before each claim: why this rollout, which had passed, may not claim after all. */
  closedFor(probe: Probe | undefined): Promise<string | undefined>;
  /** Whether the circuit is open and somebody should try. */
  isProbeDue(): Promise<boolean>;
}

/** What it takes to settle an episode. */
export type SettlePorts = Pick<
  Ports,
  "clock" | "random" | "log" | "engine" | "rollouts" | "aborts" | "batches" | "gate" | "meter"
>;
export type SettleLimits = Pick<FleetLimits, "fleet" | "fleetId" | "maxAttempts">;

/** What an agent is run for. */
export interface AgentWork {
  readonly rollout: Rollout;
  readonly grant: { readonly openai_base_url: string; readonly openai_api_key: string };
  /** Fires when the attempt is over; its reason is an `AttemptAborted`. */
  readonly signal: AbortSignal;
  /** Unix ms. */
  readonly deadline: number;
  readonly allowUnusualRewards: boolean;
  /** Where it can harm none but itself, since it may have done so before. */
  readonly alone: boolean;
  readonly log: Log;
}
export type AgentOutcome =
  | { kind: "output"; output: WorkflowOutput }
  | { kind: "failed"; reason: Reason; detail: string };
export interface RunningAgent {
  /** Never rejects. An agent that does not heed the signal may leave it open for good. */
  readonly outcome: Promise<AgentOutcome>;
  /** Model calls so far. */
  calls(): number;
  /** Unix ms at which the last call began. */
  lastCallAt(): number | undefined;
}

/** Runs agents, in whichever way. */
export interface AgentRunner {
  /** A place for an agent that runs alone; undefined while all are taken. To be released once, when it is done. */
  reserve(): AgentPlace | undefined;
  start(work: AgentWork): RunningAgent;
}
export interface AgentPlace {
  release(): void;
}
