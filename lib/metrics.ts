/** The metrics that the functions publish, as the CDK refers to them. */
import { Duration, Stack } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { type EngineMetric, type FleetMetric, NAMESPACE } from "../functions/contract/metrics.ts";

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
