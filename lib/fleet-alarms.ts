import { Duration } from "aws-cdk-lib";
import { type IAlarmAction, type IMetric, MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { RunbookAlarm, type RunbookAlarmProps } from "./alarm.ts";
import { engineMetric, type FleetMetric, fleetMetric } from "./metrics.ts";
import type { RolloutFleet } from "./rollout-fleet.ts";

export interface FleetAlarmsProps {
  readonly fleet: RolloutFleet;
  readonly action: IAlarmAction | undefined;
}

/** An engine that is rolling takes a look at its batch this often; longer than a tick. */
const LOOK_MINUTES = 5;

/** The alarms of one fleet. Each has its paragraph in `docs/runbook.md`. */
export class FleetAlarms extends Construct {
  readonly all: readonly RunbookAlarm[];
  readonly #props: FleetAlarmsProps;

  constructor(scope: Construct, id: string, props: FleetAlarmsProps) {
    super(scope, id);
    this.#props = props;
    this.all = [
      this.deadLetters(),
      this.oldestMessage(),
      this.noEndedEpisode(),
      this.counted("unknown-outcomes", "Unknown", "Whether the engine took a reward could not be found out."),
      this.counted("overdue-episodes", "OverdueEpisodes", "Claimed episodes are open beyond their time.", 3),
      this.counted("budget-exceeded", "BudgetExceeded", "The fleet spent its budget of the day and pauses."),
      this.counted(
        "circuit-open",
        "CircuitOpen",
        "Attempts failed one after another: the fleet slows down.",
        5,
      ),
    ];
  }

  private deadLetters(): RunbookAlarm {
    const { deadLetterQueue } = this.#props.fleet;
    const period = Duration.minutes(1);
    return this.alarm("dead-letters", {
      what: "Rollouts were given up: there are dead letters.",
      metric: deadLetterQueue.metricApproximateNumberOfMessagesVisible({ statistic: "Maximum", period }),
    });
  }

  /** An engine that is offline or syncs its weights makes messages wait, and that is as it should be. */
  private oldestMessage(): RunbookAlarm {
    const { fleet } = this.#props;
    const minutes = fleet.deployment.oldestMessageMinutes;
    const age = fleet.queue.metricApproximateAgeOfOldestMessage({ statistic: "Maximum" });
    return this.alarm("oldest-message", {
      what: `The oldest rollout waits for more than ${minutes} minutes while the engine rolls.`,
      metric: this.whileRolling("IF(rolling > 0, age, 0)", { age }),
      threshold: minutes * 60,
      periods: 2,
    });
  }

  /**
   * Counted by the messages that left the queue: SQS says 0 where nothing did, while `Ended` has no value before the first
   * end. Those that left as dead letters have an alarm of their own.
   */
  private noEndedEpisode(): RunbookAlarm {
    const { queue, deployment } = this.#props.fleet;
    const minutes = deployment.noEndedEpisodeMinutes;
    const waiting = queue.metricApproximateNumberOfMessagesVisible({ statistic: "Minimum" });
    const running = queue.metricApproximateNumberOfMessagesNotVisible({ statistic: "Minimum" });
    const finished = queue.metricNumberOfMessagesDeleted({ statistic: "Sum" });
    return this.alarm("no-ended-episode", {
      what: `No episode ended for ${minutes} minutes while the engine rolls and rollouts wait.`,
      metric: this.whileRolling("IF(rolling > 0 AND waiting + running > 0 AND finished == 0, 1, 0)", {
        waiting,
        running,
        finished,
      }),
      periods: Math.ceil(minutes / LOOK_MINUTES),
    });
  }

  private counted(topic: string, name: FleetMetric, what: string, periods = 1): RunbookAlarm {
    const metric = fleetMetric(this, this.#props.fleet.fleetName, name, { statistic: "Maximum", minutes: 1 });
    return this.alarm(topic, { what, metric, periods });
  }

  private whileRolling(expression: string, metrics: Record<string, IMetric>): MathExpression {
    const rolling = engineMetric(this, this.#props.fleet.engine, "EngineRolling", {
      statistic: "Minimum",
      minutes: LOOK_MINUTES,
    });
    const period = Duration.minutes(LOOK_MINUTES);
    return new MathExpression({ expression, usingMetrics: { rolling, ...metrics }, period });
  }

  private alarm(topic: string, props: Omit<RunbookAlarmProps, "subject" | "action">): RunbookAlarm {
    const { fleet, action } = this.#props;
    return new RunbookAlarm(this, topic, { ...props, subject: `fleet ${fleet.fleetName}`, action });
  }
}
