/** The snapshot: look at the engine, sum up the fleets, write down what was seen. */

import type { GateState } from "../circuit/gate.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import type { Observed } from "../engine-lifecycle/engine-state.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { PoolInformation } from "../protocol.ts";
import type { Spend } from "../spend/budget.ts";
import { type Depth, type FleetSnapshot, fitSnapshot, type Snapshot } from "./snapshot.ts";
import type { OpenIndex } from "./sweep-ports.ts";
import {
  addAttempts,
  type ChangedRollout,
  type FleetTotals,
  noTotals,
  rewardDeviation,
  rewardMean,
  type Totals,
} from "./totals.ts";

export interface LifecycleReader extends OpenIndex {
  /** Rollouts whose item changed at or after `since` (unix ms), in pages. */
  changedSince(fleet: string, since: number): AsyncIterable<ChangedRollout[]>;
  readTotals(fleet: string): Promise<FleetTotals | undefined>;
}

export interface LifecycleStore extends LifecycleReader {
  /** False when somebody else has written since. */
  writeTotals(fleet: string, previous: FleetTotals | undefined, next: FleetTotals): Promise<boolean>;
  writeSnapshot(snapshot: Snapshot): Promise<void>;
}

export interface FleetQueue {
  readonly name: string;
  depths(): Promise<{ queue: Depth; deadLetters: number }>;
  gate(): Promise<GateState>;
  spend(): Promise<Spend>;
}

export interface SnapshotPorts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly store: LifecycleStore;
  readonly fleets: readonly FleetQueue[];
  /** Between two ticks. */
  readonly scheduleMinutes: number;
  /** What the reconciler knows of the engine. */
  readonly observed: () => Promise<Observed | undefined>;
  readonly log: Log;
}

/** Counting stops there: it is a sign of trouble long before. */
const MOST_UNCONFIRMED = 1000;

/**
 * Attempts that ended so long ago are all to be seen: the index lags behind the table, a write behind the time that it
 * carries, and that time is by a function's clock, which may be minutes behind ours. Younger ones are shown but not yet
 * summed up for good.
 */
export const SETTLED_MS = 480_000;
/** Before a pass began: what changed then, or later, may have been between two places of the index. */
const MOVING_MS = 60_000;

export async function takeSnapshot(
  ports: SnapshotPorts,
  engineName: string,
  overdue: ReadonlyMap<string, number>,
): Promise<Snapshot> {
  const status = await ports.engine.status();
  const pool = await readPool(ports);
  const open = await ports.store.openRollouts(engineName);
  const unconfirmed = await unconfirmedEnds(ports, engineName);
  const fleets = await Promise.all(
    ports.fleets.map(async (fleet) => {
      const mine = open.filter((rollout) => rollout.fleet === fleet.name).length;
      const seen = await fleetSnapshot(ports, fleet, mine);
      return [fleet.name, { ...seen, overdue: overdue.get(fleet.name) ?? 0 }] as const;
    }),
  );
  const snapshot = fitSnapshot({
    v: 1,
    at: new Date(ports.clock.now()).toISOString(),
    engine: engineName,
    schedule_minutes: ports.scheduleMinutes,
    status,
    pool,
    reduced: [],
    overdue: [...overdue.values()].reduce((sum, count) => sum + count, 0),
    ...unconfirmed,
    alarms: (await ports.observed().catch(() => undefined))?.alarms ?? [],
    fleets: Object.fromEntries(fleets),
  });
  await ports.store.writeSnapshot(snapshot);
  return snapshot;
}

/** Rewards that the engine took and the pool has not shown yet, and those that it never showed. */
async function unconfirmedEnds(ports: SnapshotPorts, engineName: string) {
  const waiting = await ports.store.unconfirmed(engineName, MOST_UNCONFIRMED);
  return { unconfirmed: waiting.length, never_confirmed: await ports.store.countMissing(engineName) };
}

async function readPool(ports: SnapshotPorts): Promise<PoolInformation | null> {
  return await ports.engine.pool().then(withNamedTasks, (error) => {
    ports.log("warn", "pool could not be read", { error: describeError(error, 300) });
    return null;
  });
}

async function fleetSnapshot(
  ports: SnapshotPorts,
  fleet: FleetQueue,
  open: number,
): Promise<Omit<FleetSnapshot, "overdue">> {
  const totals = await sumUp(ports, fleet.name);
  const gate = await fleet.gate().catch(() => undefined);
  const spend = await fleet.spend().catch(() => undefined);
  const depths = await fleet.depths().catch((error) => {
    ports.log("warn", "queue depths could not be read", {
      fleet: fleet.name,
      error: describeError(error, 300),
    });
    return undefined;
  });
  return {
    queue: depths?.queue ?? null,
    dead_letters: depths?.deadLetters ?? null,
    open,
    paused: gate?.paused?.why ?? null,
    circuit:
      gate?.tripped_at === undefined
        ? null
        : { since: gate.tripped_at, failures: gate.failures, reason: gate.last_reason ?? "" },
    totals,
    reward_mean: rewardMean(totals),
    reward_deviation: rewardDeviation(totals),
    spend: spend ? { ...spend, usd_per_ended: perEnded(spend, totals) } : null,
  };
}

/** Episodes that were claimed without a task stand under the empty name, which no table takes. */
function withNamedTasks(pool: PoolInformation): PoolInformation {
  const named = <T>(map: Record<string, T>): Record<string, T> =>
    Object.fromEntries(
      Object.entries(map).map(([task, value]) => [task === "" ? "(no task id)" : task, value]),
    );
  return {
    ...pool,
    completed_tasks_details: named(pool.completed_tasks_details),
    completed_tasks_client_uuids: named(pool.completed_tasks_client_uuids),
    ...(pool.completed_tasks_rewards ? { completed_tasks_rewards: named(pool.completed_tasks_rewards) } : {}),
  };
}

function perEnded(spend: Spend, totals: Totals): number | null {
  const ended = totals.ended + totals.eval_ended;
  return ended === 0 ? null : spend.usd_total / ended;
}

/**
 * Each rollout that changed since `from`, once. One that changes while the pages are read goes to the end of the index: it
 * comes again there, and its attempts would count twice; or it is on its way there when the end is read, so the end is read
 * once more. What it has become meanwhile is for the next pass.
 */
async function* changedOnce(
  { clock, store }: SnapshotPorts,
  fleet: string,
  from: number,
): AsyncGenerator<ChangedRollout> {
  const began = clock.now();
  const seen = new Set<string>();
  for (const since of [from, Math.max(from, began - MOVING_MS)])
    for await (const page of store.changedSince(fleet, since))
      for (const rollout of page) {
        if (seen.has(rollout.key)) continue;
        seen.add(rollout.key);
        yield rollout;
      }
}

/** Moves the fleet's totals on to what is settled, and resolves to them with the youngest attempts added. */
async function sumUp(ports: SnapshotPorts, fleet: string): Promise<Totals> {
  const previous = await ports.store.readTotals(fleet);
  const from = previous?.as_of ?? 0;
  const settled = Math.max(from, ports.clock.now() - SETTLED_MS);
  let totals = previous?.totals ?? noTotals();
  let shown = totals;
  for await (const rollout of changedOnce(ports, fleet, from)) {
    totals = addAttempts(totals, rollout, from, settled);
    shown = addAttempts(shown, rollout, from, Number.POSITIVE_INFINITY);
  }
  if (settled > from)
    await ports.store.writeTotals(fleet, previous, {
      as_of: settled,
      version: (previous?.version ?? 0) + 1,
      totals,
    });
  return shown;
}
