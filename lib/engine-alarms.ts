import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import type { EngineMetric } from "../functions/contract/metrics.ts";
import { RunbookAlarm, type RunbookAlarmProps } from "./alarm.ts";
import { functionAlarms } from "./function-alarms.ts";
import { engineMetric, type MetricShape } from "./metrics.ts";

export interface EngineAlarmsProps {
  /** The engine's name. */
  readonly engine: string;
  /** Between two ticks. */
  readonly scheduleMinutes: number;
  /** The function that ticks. */
  readonly lifecycle: IFunction;
  readonly timeoutSeconds: number;
  readonly action: IAlarmAction | undefined;
}

/** The alarms of one engine. Each has its paragraph in `docs/runbook.md`. */
export class EngineAlarms extends Construct {
  readonly all: readonly RunbookAlarm[];
  readonly #props: EngineAlarmsProps;

  constructor(scope: Construct, id: string, props: EngineAlarmsProps) {
    super(scope, id);
    this.#props = props;
    const minutes = props.scheduleMinutes;
    this.all = [
      this.alarm("engine-unreachable", "EngineUnreachable", {
        what: "The engine does not answer.",
        shape: { statistic: "Minimum", minutes },
        periods: 5,
      }),
      this.alarm("engine-start-failed", "EngineStartFailed", {
        what: "The engine could not be started.",
        shape: { statistic: "Maximum", minutes },
      }),
      this.alarm("engine-crashed", "EngineCrashed", {
        what: "The trainer crashed, or somebody else stopped it; it is started again.",
        shape: { statistic: "Maximum", minutes },
      }),
      this.alarm("engine-stalled", "EngineStalled", {
        what: "The engine boots for too long, or nothing moves in it though rollouts wait.",
        shape: { statistic: "Maximum", minutes },
      }),
      this.alarm("lifecycle-silent", "EngineRolling", {
        what: "The lifecycle function says nothing: nobody sweeps, and the other alarms see nothing.",
        shape: { statistic: "SampleCount", minutes: 5 * minutes },
        periods: 2,
        silenceIsBad: true,
      }),
      ...functionAlarms(this, {
        watched: props.lifecycle,
        timeoutSeconds: props.timeoutSeconds,
        // It has one invocation at a time: a tick that comes while another starts an engine is throttled as it should be.
        throttles: false,
        subject: `engine ${props.engine}`,
        action: props.action,
      }),
    ];
  }

  private alarm(
    topic: string,
    metric: EngineMetric,
    props: Pick<RunbookAlarmProps, "what" | "periods" | "silenceIsBad"> & { shape: MetricShape },
  ): RunbookAlarm {
    const { engine, action } = this.#props;
    const { shape, ...rest } = props;
    return new RunbookAlarm(this, topic, {
      ...rest,
      metric: engineMetric(this, engine, metric, shape),
      subject: `engine ${engine}`,
      action,
    });
  }
}
