/** What a fleet's rollouts are run with. */

import type { ThrottleSetting } from "../../contract/throttle-setting.ts";
import type { AdmissionStore } from "../admission/admission-item.ts";
import type { Gate } from "../circuit/gate.ts";
import type { Clock, Random } from "../clock.ts";
import type { Engine } from "../engine.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { Queue } from "../queue.ts";
import type { UsageStore } from "../spend/spend.ts";
import type { Transcripts } from "../transcript/transcripts.ts";
import type { AgentRunner } from "./agent-runner.ts";
import type { BatchStore } from "./batch-seen.ts";
import type { AbortStore } from "./give-back.ts";
import type { InvocationStore } from "./invocation.ts";
import type { RolloutStore } from "./item.ts";
import type { LateResultStore } from "./late-result.ts";

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
  /** How often an agent may give the episode of one rollout back for nothing. */
  readonly maxDiscards: number;
  /** Absent: any number of different tasks may be in the engine's batch. */
  readonly throttle?: ThrottleSetting | undefined;
  /** Episodes beyond the batch's need that are kept running. Absent: rollouts start as long as the engine offers episodes. */
  readonly spare?: number | undefined;
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
  readonly batches: BatchStore;
  readonly invocations: InvocationStore;
  readonly admissions: AdmissionStore;
  readonly queue: Queue;
  readonly usage: Pick<UsageStore, "add">;
  readonly agents: AgentRunner;
  readonly log: Log;
  readonly gate: Gate;
  readonly meter: Metrics;
  /** Absent where no conversation is kept. */
  readonly transcripts?: Transcripts | undefined;
}

/** What it takes to settle an episode. */
export type SettlePorts = Pick<
  Ports,
  "clock" | "random" | "log" | "engine" | "rollouts" | "aborts" | "batches" | "gate" | "meter"
>;

export type SettleLimits = Pick<FleetLimits, "fleet" | "fleetId" | "maxAttempts">;
