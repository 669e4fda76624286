/** The metrics that the functions publish (`functions/meter.ts`), by their dimensions. */
import { Duration, Stack } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";

export const NAMESPACE = "Sortie";

/** By engine. */
export type EngineMetric =
  | "EngineRolling"
  | "EngineUnreachable"
  | "EngineStartFailed"
  | "EngineCrashed"
  | "EngineStalled"
  | "GlobalStep"
  | "NeverConfirmed";
/** By fleet. */
export type FleetMetric =
  | "BudgetExceeded"
  | "CircuitOpen"
  | "Ended"
  | "EpisodeDuration"
  | "EstimatedUsd"
  | "OpenEpisodes"
  | "OverdueEpisodes"
  | "Paused"
  | "Reward"
  | "Unknown"
  | "WaitedSeconds"
  | "WaitingMessages";

export interface MetricShape {
  readonly statistic: "Average" | "Maximum" | "Minimum" | "Sum" | "SampleCount";
  readonly minutes: number;
  readonly label?: string;
}

export function engineMetric(
  scope: Construct,
  engine: string,
  metricName: EngineMetric,
  shape: MetricShape,
): Metric {
  return metric(metricName, { service: service(scope), engine }, shape);
}

export function fleetMetric(
  scope: Construct,
  fleet: string,
  metricName: FleetMetric,
  shape: MetricShape,
): Metric {
  return metric(metricName, { service: service(scope), fleet }, shape);
}

/** The deployment's name: `POWERTOOLS_SERVICE_NAME` of its functions. */
export function service(scope: Construct): string {
  return Stack.of(scope).stackName;
}

function metric(metricName: string, dimensionsMap: Record<string, string>, shape: MetricShape): Metric {
  const { statistic, minutes, label } = shape;
  const period = Duration.minutes(minutes);
  return new Metric({
    namespace: NAMESPACE,
    metricName,
    dimensionsMap,
    statistic,
    period,
    ...(label === undefined ? {} : { label }),
  });
}
