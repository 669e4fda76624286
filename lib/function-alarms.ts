/** What Lambda itself knows of a function: its errors, its time, and the calls that it had no room for. */
import { Duration } from "aws-cdk-lib";
import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { RunbookAlarm } from "./alarm.ts";

export interface FunctionAlarmsProps {
  readonly watched: IFunction;
  readonly timeoutSeconds: number;
  /** Whether a call that is throttled is a bad sign. */
  readonly throttles: boolean;
  /** `fleet main`, `engine main`. */
  readonly subject: string;
  readonly action: IAlarmAction | undefined;
}

const MINUTES = 5;
/** A function that keeps to its time ends seconds before; one that is cut off has all of it on its bill. */
const CUT_OFF_MARGIN_MS = 1000;

/** Each has its paragraph in `docs/runbook.md`. */
export function functionAlarms(scope: Construct, props: FunctionAlarmsProps): RunbookAlarm[] {
  const { watched, timeoutSeconds, throttles, subject, action } = props;
  const period = Duration.minutes(MINUTES);
  const shared = { subject, action };
  return [
    new RunbookAlarm(scope, "function-errors", {
      ...shared,
      what: "Invocations of the function fail, again and again: it cannot start, dies, or throws.",
      metric: watched.metricErrors({ statistic: "Sum", period }),
      periods: 2,
    }),
    new RunbookAlarm(scope, "function-timeout", {
      ...shared,
      what: "An invocation was cut off at the end of the function's time.",
      metric: watched.metricDuration({ statistic: "Maximum", period }),
      threshold: timeoutSeconds * 1000 - CUT_OFF_MARGIN_MS,
    }),
    ...(throttles
      ? [
          new RunbookAlarm(scope, "function-throttled", {
            ...shared,
            what: "Lambda has no room for the function's invocations: its concurrency is used up.",
            metric: watched.metricThrottles({ statistic: "Sum", period }),
            periods: 3,
          }),
        ]
      : []),
  ];
}
