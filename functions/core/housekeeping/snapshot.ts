/** What the lifecycle function writes down at each tick, for humans and programs to read from the table. */
import * as z from "zod";
import type { PoolInformation } from "../protocol.ts";
import { CANNOT_CONNECT, engineStatusSchema, poolInformationSchema } from "../protocol.ts";
import { itemBytes } from "../stored-size.ts";
import { totalsSchema, withinBytes } from "./totals.ts";

export const depthSchema = z.object({ visible: z.number(), in_flight: z.number(), delayed: z.number() });
export type Depth = z.infer<typeof depthSchema>;

const fleetSnapshotSchema = z.object({
  queue: depthSchema.nullable(),
  dead_letters: z.number().nullable(),
  /** Claimed episodes whose attempt is not closed. */
  open: z.number(),
  /** Open rollouts of dead invocations that the sweep could not settle yet. */
  overdue: z.number().default(0),
  /** Why the fleet is paused; null where it is not. */
  paused: z.string().nullable().default(null),
  /** The circuit, where it is open: attempts failed one after another, and the fleet slows down. */
  circuit: z.object({ since: z.number(), failures: z.number(), reason: z.string() }).nullable().default(null),
  /** Since the deployment began. */
  totals: totalsSchema,
  reward_mean: z.number().nullable(),
  reward_deviation: z.number().nullable(),
  /** Estimated cost in USD; null where it could not be read. */
  spend: z
    .object({
      usd_today: z.number(),
      usd_total: z.number(),
      usd_per_ended: z.number().nullable(),
      budget_usd_per_day: z.number().nullable(),
      budget_exceeded: z.boolean(),
    })
    .nullable()
    .default(null),
});
export type FleetSnapshot = z.infer<typeof fleetSnapshotSchema>;

export const snapshotSchema = z.object({
  v: z.literal(1),
  /** ISO 8601. */
  at: z.string(),
  engine: z.string(),
  /** Minutes until the next one is to be expected. */
  schedule_minutes: z.number().default(1),
  status: engineStatusSchema,
  /** Null where the engine did not tell. */
  pool: poolInformationSchema.nullable(),
  /** What was left out of `pool` because the item would have been too large. */
  reduced: z.array(z.string()).default([]),
  /** Open rollouts of dead invocations that the sweep could not settle yet, over all fleets. */
  overdue: z.number().default(0),
  /** What the reconciler finds wrong with the engine: a code and words. */
  alarms: z.array(z.object({ code: z.string(), since: z.number(), text: z.string() })).default([]),
  /** Train rewards that the engine took and its pool has not shown yet. */
  unconfirmed: z.number().default(0),
  /** Train rewards that the engine took and its pool never showed. */
  never_confirmed: z.number().default(0),
  fleets: z.record(z.string(), fleetSnapshotSchema),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

/** Unix ms at which the engine was seen to answer; undefined where it was not. */
export function answeredAt(snapshot: Snapshot | undefined): number | undefined {
  if (snapshot === undefined || snapshot.status.engine_status === CANNOT_CONNECT) return undefined;
  return Date.parse(snapshot.at);
}

/** DynamoDB takes 400 KB an item. */
export const SNAPSHOT_BYTES = 300_000;
const withoutEntries = {
  swarm_client_instruction: null,
  running_episode_details: null,
  completed_tasks_client_uuids: {},
  completed_tasks_rewards: {},
  completed_tasks_details: {},
} as const;
const reductions = Object.keys(withoutEntries) as (keyof typeof withoutEntries)[];

/** A snapshot that fits an item: details go, the most bulky first, counts stay. */
export function fitSnapshot(snapshot: Snapshot): Snapshot {
  let fitting = snapshot;
  for (const detail of reductions) {
    if (fitting.pool === null || itemBytes(fitting) <= SNAPSHOT_BYTES) break;
    if (Object.keys(fitting.pool[detail] ?? {}).length === 0) continue;
    const pool: PoolInformation = {
      ...fitting.pool,
      [detail]: withoutEntries[detail],
    };
    fitting = { ...fitting, pool, reduced: [...fitting.reduced, detail] };
  }
  return itemBytes(fitting) <= SNAPSHOT_BYTES ? fitting : withFewerGroups(fitting);
}

/** Each fleet lists as many of its incomplete groups as its share of the room allows, and counts the rest. */
function withFewerGroups(snapshot: Snapshot): Snapshot {
  const groups = (share: number): Snapshot["fleets"] =>
    Object.fromEntries(
      Object.entries(snapshot.fleets).map(([name, fleet]) => [
        name,
        { ...fleet, totals: withinBytes(fleet.totals, share) },
      ]),
    );
  const room = SNAPSHOT_BYTES - itemBytes({ ...snapshot, fleets: groups(0) }) - "incomplete".length;
  const share = Math.floor(Math.max(0, room) / Object.keys(snapshot.fleets).length);
  return { ...snapshot, fleets: groups(share), reduced: [...snapshot.reduced, "incomplete"] };
}
