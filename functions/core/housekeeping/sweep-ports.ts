/** What a sweep needs of the world. */

import type { Gate } from "../circuit/gate.ts";
import type { Clock, Random } from "../clock.ts";
import type { Engine } from "../engine.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { Queue } from "../queue.ts";
import type { BatchStore } from "../rollout/batch-seen.ts";
import type { SettleLimits } from "../rollout/context.ts";
import type { AbortStore } from "../rollout/give-back.ts";
import type { InvocationIndex, InvocationStore } from "../rollout/invocation.ts";
import type { RolloutStore } from "../rollout/item.ts";
import type { UsageStore } from "../spend/spend.ts";
import type { WatchStore } from "./invocations.ts";

export interface OpenRollout {
  readonly fleet: string;
  readonly key: string;
  readonly invocation: string;
}

export interface OpenIndex {
  openRollouts(engine: string): Promise<OpenRollout[]>;
  /** Ended train rollouts that the pool has not shown yet, oldest first. */
  unconfirmed(engine: string, limit: number): Promise<{ fleet: string; key: string }[]>;
  /** How many ended train rollouts are not in what the trainer had when it closed their batch. */
  countMissing(engine: string): Promise<number>;
}

export interface SweptFleet {
  readonly limits: SettleLimits;
  readonly gate: Gate;
  readonly meter: Metrics;
  readonly queue: Pick<Queue, "defer" | "delete" | "show">;
}

export interface SweepPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly engine: Engine;
  readonly rollouts: RolloutStore;
  readonly aborts: AbortStore;
  readonly batches: BatchStore;
  readonly invocations: InvocationStore & InvocationIndex;
  readonly watch: WatchStore;
  readonly usage: Pick<UsageStore, "add">;
  readonly index: OpenIndex;
  readonly fleets: ReadonlyMap<string, SweptFleet>;
}
