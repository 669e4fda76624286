/** One tick of the lifecycle function: each part runs even if another fails. */
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Snapshot } from "./snapshot.ts";
import { type Swept, sweep } from "./sweep.ts";
import type { SweepPorts } from "./sweep-ports.ts";
import { type SnapshotPorts, takeSnapshot } from "./take-snapshot.ts";

export interface TickPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** One step towards what is wanted of the engine. */
  readonly drive: () => Promise<unknown>;
  /** Agrees to a weight sync where one waits for it; after each sweep. */
  readonly agree?: () => Promise<unknown>;
  readonly sweep: SweepPorts;
  /** Pauses fleets that have spent their budget, and resumes them. */
  readonly budget: () => Promise<void>;
  readonly snapshot: SnapshotPorts;
  /** Told of each snapshot as soon as it is taken: alarms lean on it. */
  readonly publish: (snapshot: Snapshot) => void;
}

export interface TickOptions {
  readonly engine: string;
  readonly sweepIntervalSeconds: number;
}

/** Between two sweeps of one tick. */
export const SWEEP_INTERVAL_SECONDS = 20;
/** Between two looks of a tick that takes longer, as one that starts an engine. */
const INTERVAL_MS = 60_000;
/** The sweeps of a tick end before the next tick comes: only one runs at a time, and one that is refused is gone. */
const TICK_MS = 55_000;
/** How long one sweep may wait for the engine: the next one goes on where it stopped. */
const SWEEP_PATIENCE_MS = 25_000;

export async function tick(ports: TickPorts, options: TickOptions): Promise<Snapshot | undefined> {
  const began = ports.clock.now();
  // Starting or stopping an engine may take minutes: the rest goes on beside it.
  const driven = new AbortController();
  const driving = part(ports, "drive", ports.drive).finally(() => driven.abort());
  let snapshot = await sweepAndLook(ports, options, began);
  // One tick at a time: while this one drives, no other comes, and nobody else would sweep or be heard of.
  for (let next = began + INTERVAL_MS; ; next += INTERVAL_MS) {
    await sleepUntil(ports.clock, next, driven.signal);
    if (driven.signal.aborted) break;
    snapshot = await sweepAndLook(ports, options, ports.clock.now());
  }
  await driving;
  return snapshot;
}

/** Or until the signal fires. */
async function sleepUntil(clock: Clock, at: number, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await clock.sleep(Math.max(0, at - clock.now()), signal).catch(() => undefined);
}

async function sweepAndLook(
  ports: TickPorts,
  options: TickOptions,
  began: number,
): Promise<Snapshot | undefined> {
  const swept = await sweepOnce(ports, options, SWEEP_PATIENCE_MS);
  await part(ports, "budget", ports.budget);
  const snapshot = await part(ports, "snapshot", async () => {
    const taken = await takeSnapshot(ports.snapshot, options.engine, swept?.overdue ?? new Map());
    ports.publish(taken);
    return taken;
  });
  const open = Object.values(snapshot?.fleets ?? {}).reduce((sum, fleet) => sum + fleet.open, 0);
  if (open + (swept?.living ?? 0) > 0 && options.sweepIntervalSeconds > 0)
    await sweepOn(ports, options, began);
  return snapshot;
}

/**
 * While invocations run, sweeps more often than the schedule ticks, so that a crash is settled within two minutes: 20 s
 * until a sweep has seen the last sign of life, 60 s until one has seen 50 s of silence, and some looks at the engine.
 */
async function sweepOn(ports: TickPorts, options: TickOptions, began: number): Promise<void> {
  const interval = options.sweepIntervalSeconds * 1000;
  for (let at = began + interval; at < began + TICK_MS; at += interval) {
    await ports.clock.sleep(Math.max(0, at - ports.clock.now()));
    const remaining = began + TICK_MS - ports.clock.now();
    if (remaining <= 0) return;
    await sweepOnce(ports, options, Math.min(remaining, SWEEP_PATIENCE_MS));
  }
}

async function sweepOnce(
  ports: TickPorts,
  options: TickOptions,
  patienceMs: number,
): Promise<Swept | undefined> {
  const until = ports.clock.now() + patienceMs;
  const swept = await part(ports, "sweep", () => sweep(ports.sweep, options.engine, until));
  const { overdue, living, ...counts } = swept ?? {};
  if (Object.values(counts).some((count) => count > 0)) ports.log("info", "swept", counts);
  if (ports.agree) await part(ports, "agree", ports.agree);
  return swept;
}

async function part<T>(ports: TickPorts, name: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    ports.log("error", `${name} failed`, { error: describeError(error) });
    return undefined;
  }
}
