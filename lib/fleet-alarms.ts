import { Duration } from "aws-cdk-lib";
import { type IAlarmAction, type IMetric, MathExpression, type Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { FleetMetric } from "../functions/contract/metrics.ts";
import { RunbookAlarm, type RunbookAlarmProps, ticksWithin } from "./alarm.ts";
import { functionAlarms } from "./function-alarms.ts";
import type { SortieFunction } from "./function-defaults.ts";
import { engineMetric, fleetMetric } from "./metrics.ts";
import type { DeploymentSettings, FleetSettings } from "./settings-schema.ts";

/** What its alarms look at. */
export interface WatchedFleet {
  readonly fleetName: string;
  readonly engine: string;
  readonly settings: FleetSettings;
  readonly deployment: DeploymentSettings;
  readonly queue: IQueue;
  readonly deadLetterQueue: IQueue;
  readonly rollout: SortieFunction;
}

export interface FleetAlarmsProps {
  readonly fleet: WatchedFleet;
  readonly action: IAlarmAction | undefined;
}

/** What the engine and the queue did is looked at in spans of so many minutes. */
const LEAST_LOOK_MINUTES = 5;

/** The alarms of one fleet. Each has its paragraph in `docs/runbook.md`. */
export class FleetAlarms extends Construct {
  readonly all: readonly RunbookAlarm[];
  readonly #props: FleetAlarmsProps;

  constructor(scope: Construct, id: string, props: FleetAlarmsProps) {
    super(scope, id);
    this.#props = props;
    const { fleet, action } = props;
    this.all = [
      this.deadLetters(),
      this.oldestMessage(),
      this.deferredMessage(),
      this.noEndedEpisode(),
      this.unknownOutcomes(),
      this.seenByTicks(
        "overdue-episodes",
        "OverdueEpisodes",
        "Claimed episodes are open beyond their time.",
        3,
      ),
      this.seenByTicks(
        "budget-exceeded",
        "BudgetExceeded",
        "The fleet spent its budget of the day and pauses.",
      ),
      this.circuitOpen(),
      ...functionAlarms(this, {
        watched: fleet.rollout.function,
        timeoutSeconds: fleet.settings.timeoutSeconds,
        throttles: true,
        subject: `fleet ${fleet.fleetName}`,
        action,
      }),
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

  /** An engine that is offline or syncs its weights makes messages wait, and a pause does: that is as it should be. */
  private oldestMessage(): RunbookAlarm {
    const { fleet } = this.#props;
    const minutes = fleet.deployment.oldestMessageMinutes;
    const age = fleet.queue.metricApproximateAgeOfOldestMessage({ statistic: "Maximum" });
    return this.alarm("oldest-message", {
      what: `The oldest rollout waits for more than ${minutes} minutes while the engine rolls.`,
      metric: this.whileAtWork("age", { age }),
      threshold: minutes * 60,
      periods: 2,
    });
  }

  /**
   * SQS's age of the oldest message leaves out those that were received three times or more, so that whoever has been
   * deferred for a day is not seen by it. The rollout function tells their age whenever it gives some back.
   */
  private deferredMessage(): RunbookAlarm {
    const { fleet } = this.#props;
    const minutes = fleet.deployment.oldestMessageMinutes;
    const shape = { statistic: "Maximum", minutes: this.lookMinutes } as const;
    const waited = fleetMetric(this, fleet.fleetName, "WaitedSeconds", shape);
    return this.alarm("deferred-message", {
      what: `A rollout that is given back again and again waits for more than ${minutes} minutes while the engine rolls.`,
      metric: this.whileAtWork("waited", { waited }),
      threshold: minutes * 60,
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
      metric: this.whileAtWork("IF(waiting + running > 0 AND finished == 0, 1, 0)", {
        waiting,
        running,
        finished,
      }),
      periods: Math.ceil(minutes / this.lookMinutes),
    });
  }

  /** Two ticks: with one, a span could have none, since a schedule is not that punctual. */
  private get lookMinutes(): number {
    return Math.max(LEAST_LOOK_MINUTES, 2 * this.#props.fleet.deployment.scheduleMinutes);
  }

  /** One is told as it happens, not at a tick. */
  private unknownOutcomes(): RunbookAlarm {
    const what = "Whether the engine took a reward could not be found out.";
    const metric = this.seen("Unknown", 1);
    return this.alarm("unknown-outcomes", { what, metric });
  }

  /** The circuit of a paused fleet stays as it is: nobody claims, so nothing closes it. */
  private circuitOpen(): RunbookAlarm {
    const minutes = this.#props.fleet.deployment.scheduleMinutes;
    return this.alarm("circuit-open", {
      what: "Attempts failed one after another: the fleet slows down.",
      metric: new MathExpression({
        expression: "IF(paused < 1, open, 0)",
        usingMetrics: { open: this.seen("CircuitOpen", minutes), paused: this.seen("Paused", minutes) },
        period: Duration.minutes(minutes),
      }),
      periods: ticksWithin(5, minutes),
    });
  }

  /** A period is a tick: in a shorter one there would be no value at all. */
  private seenByTicks(topic: string, name: FleetMetric, what: string, ticks = 1): RunbookAlarm {
    const metric = this.seen(name, this.#props.fleet.deployment.scheduleMinutes);
    return this.alarm(topic, { what, metric, periods: ticks });
  }

  private seen(name: FleetMetric, minutes: number): Metric {
    return fleetMetric(this, this.#props.fleet.fleetName, name, { statistic: "Maximum", minutes });
  }

  /** The value while the engine rolls and nobody has paused the fleet, else 0. */
  private whileAtWork(value: string, metrics: Record<string, IMetric>): MathExpression {
    const { fleetName, engine } = this.#props.fleet;
    const minutes = this.lookMinutes;
    const rolling = engineMetric(this, engine, "EngineRolling", { statistic: "Minimum", minutes });
    const paused = fleetMetric(this, fleetName, "Paused", { statistic: "Maximum", minutes });
    return new MathExpression({
      expression: `IF(rolling > 0 AND paused < 1, ${value}, 0)`,
      usingMetrics: { rolling, paused, ...metrics },
      period: Duration.minutes(minutes),
    });
  }

  private alarm(topic: string, props: Omit<RunbookAlarmProps, "subject" | "action">): RunbookAlarm {
    const { fleet, action } = this.#props;
    return new RunbookAlarm(this, topic, { ...props, subject: `fleet ${fleet.fleetName}`, action });
  }
}
