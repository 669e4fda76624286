/** Metrics in CloudWatch's embedded format, through Powertools: log lines that CloudWatch turns into metrics. */
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import { type AttemptMetric, type EngineMetric, type FleetMetric, NAMESPACE } from "./contract/metrics.ts";
import type { FleetSnapshot, Snapshot } from "./core/housekeeping/snapshot.ts";
import type { Metrics as MetricsPort } from "./core/metrics.ts";

export function createMeter(fleet: string): MetricsPort {
  return {
    attempt({ reason, reward, milliseconds, episodeType }) {
      publish({ fleet, reason }, [["Attempts", MetricUnit.Count, 1]]);
      publish({ fleet }, [
        ["EpisodeDuration", MetricUnit.Milliseconds, milliseconds],
        ...(reason === "ended" && episodeType === "train" ? ([["Ended", MetricUnit.Count, 1]] as const) : []),
        ...(reward === undefined || episodeType === "eval"
          ? []
          : ([["Reward", MetricUnit.NoUnit, reward]] as const)),
        ...(reason === "unknown" ? ([["Unknown", MetricUnit.Count, 1]] as const) : []),
      ]);
    },
  };
}

/** How long the oldest of the messages has waited that an invocation gives back, in seconds since they were sent. */
export function publishWaited(fleet: string, seconds: number): void {
  publish({ fleet }, [["WaitedSeconds", MetricUnit.Seconds, seconds]]);
}

/** What alarms and the dashboard look at, once a tick. */
export function publishSnapshot(snapshot: Snapshot): void {
  const rolling = snapshot.status.engine_status.startsWith("ENGINE.ROLLING") ? 1 : 0;
  const unreachable = snapshot.status.engine_status === "ENGINE.CANNOT_CONNECT" ? 1 : 0;
  publish({ engine: snapshot.engine }, [
    ["EngineRolling", MetricUnit.Count, rolling],
    ["EngineUnreachable", MetricUnit.Count, unreachable],
    ["EngineStartFailed", MetricUnit.Count, hasAlarm(snapshot, "start-failed", "gave-up") ? 1 : 0],
    ["EngineCrashed", MetricUnit.Count, hasAlarm(snapshot, "crashed") ? 1 : 0],
    ["EngineStalled", MetricUnit.Count, hasAlarm(snapshot, "stalled", "boot-stalled") ? 1 : 0],
    ["NeverConfirmed", MetricUnit.Count, snapshot.never_confirmed],
    ...(typeof snapshot.status.global_step === "number"
      ? ([["GlobalStep", MetricUnit.NoUnit, snapshot.status.global_step]] as const)
      : []),
  ]);
  for (const [fleet, seen] of Object.entries(snapshot.fleets)) publishFleet(fleet, seen);
}

function publishFleet(fleet: string, seen: FleetSnapshot): void {
  publish({ fleet }, [
    ["OpenEpisodes", MetricUnit.Count, seen.open],
    ["OverdueEpisodes", MetricUnit.Count, seen.overdue],
    ["CircuitOpen", MetricUnit.Count, seen.circuit === null ? 0 : 1],
    ["Paused", MetricUnit.Count, seen.paused === null ? 0 : 1],
    ["WaitingMessages", MetricUnit.Count, seen.queue === null ? 0 : seen.queue.visible + seen.queue.delayed],
    ["DeadLetters", MetricUnit.Count, seen.dead_letters ?? 0],
    ["EstimatedUsd", MetricUnit.NoUnit, seen.spend?.usd_today ?? 0],
    ["BudgetExceeded", MetricUnit.Count, seen.spend?.budget_exceeded ? 1 : 0],
  ]);
}

function hasAlarm(snapshot: Snapshot, ...codes: string[]): boolean {
  return snapshot.alarms.some(({ code }) => codes.includes(code));
}

type Unit = (typeof MetricUnit)[keyof typeof MetricUnit];

type Values<Name> = readonly (readonly [Name, Unit, number])[];

/** One line for one set of dimensions. */
function publish(dimensions: { fleet: string; reason: string }, metrics: Values<AttemptMetric>): void;
function publish(dimensions: { fleet: string; reason?: never }, metrics: Values<FleetMetric>): void;
function publish(dimensions: { engine: string }, metrics: Values<EngineMetric>): void;
function publish(dimensions: Record<string, string>, metrics: Values<string>): void {
  const line = new Metrics({ namespace: NAMESPACE, defaultDimensions: dimensions });
  for (const [name, unit, value] of metrics) line.addMetric(name, unit, value);
  line.publishStoredMetrics();
}
