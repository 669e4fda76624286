/** What alarms have in common: a runbook paragraph, and what they do. */
import { Stack } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";

export interface RunbookAlarmProps {
  /** What is wrong, in one sentence. */
  readonly what: string;
  readonly metric: IMetric;
  /** Alarms at this value and above, or with `silenceIsBad` below it. Default: 1. */
  readonly threshold?: number;
  /** Periods in a row. Default: 1. */
  readonly periods?: number;
  /** No data is a bad sign, where by default it is a good one. */
  readonly silenceIsBad?: boolean;
  /** `fleet main`, `engine main`. */
  readonly subject: string;
  readonly action: IAlarmAction | undefined;
}

/** An alarm whose description names its paragraph in `docs/runbook.md`: `topic` is the paragraph's anchor. */
export class RunbookAlarm extends Alarm {
  readonly topic: string;

  constructor(scope: Construct, topic: string, props: RunbookAlarmProps) {
    super(scope, topic, {
      // A name that tells, in a mail's subject too.
      alarmName: `${Stack.of(scope).stackName}: ${topic}, ${props.subject}`,
      alarmDescription: `${props.what} What to do: docs/runbook.md#${topic}`,
      metric: props.metric,
      threshold: props.threshold ?? 1,
      evaluationPeriods: props.periods ?? 1,
      comparisonOperator: props.silenceIsBad
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: props.silenceIsBad ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    this.topic = topic;
    if (props.action) {
      this.addAlarmAction(props.action);
      this.addOkAction(props.action);
    }
  }
}

/** How many ticks make up these minutes, but never fewer than two: one alone may be a hiccup. */
export function ticksWithin(minutes: number, scheduleMinutes: number): number {
  return Math.max(2, Math.ceil(minutes / scheduleMinutes));
}
