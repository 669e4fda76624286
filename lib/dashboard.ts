/** One page of pictures per deployment. Its sections answer, in this order, what somebody who watches a run asks. */
import { Duration, Stack } from "aws-cdk-lib";
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  PeriodOverride,
  Row,
  TextWidget,
  TextWidgetBackground,
} from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { type EngineMetric, type FleetMetric, NAMESPACE } from "../functions/contract/metrics.ts";
import type { EngineLifecycle } from "./engine-lifecycle.ts";
import { engineMetric, fleetMetric, service } from "./metrics.ts";
import type { RolloutFleet } from "./rollout-fleet.ts";

export interface SortieDashboardProps {
  readonly fleets: readonly RolloutFleet[];
  readonly lifecycles: readonly EngineLifecycle[];
}

const MINUTES = 5;
const FULL_WIDTH = 24;

type Statistic = "Average" | "Maximum" | "Sum";

/** The deployment's dashboard. */
export class SortieDashboard extends Construct {
  readonly dashboard: Dashboard;
  readonly #props: SortieDashboardProps;

  constructor(scope: Construct, id: string, props: SortieDashboardProps) {
    super(scope, id);
    this.#props = props;
    this.dashboard = new Dashboard(this, "Dashboard", {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.hours(12),
      periodOverride: PeriodOverride.INHERIT,
    });
    this.dashboard.addWidgets(this.alarms());
    this.section("Is the engine fed?", this.feeding());
    this.section("Is reward rising?", this.reward());
    this.section("What fails, and why?", this.failures());
    this.section("What waits?", this.waiting());
    this.section("How are the functions?", this.functions());
    this.section("What does it cost?", this.cost());
  }

  private section(question: string, graphs: readonly GraphWidget[]): void {
    const heading = { markdown: `## ${question}`, width: FULL_WIDTH, height: 1 };
    this.dashboard.addWidgets(new TextWidget({ ...heading, background: TextWidgetBackground.TRANSPARENT }));
    this.dashboard.addWidgets(new Row(...graphs));
  }

  private alarms(): IWidget {
    const { fleets, lifecycles } = this.#props;
    const alarms = [...lifecycles, ...fleets].flatMap((part) => part.alarms.all);
    return new AlarmStatusWidget({ title: "Alarms (docs/runbook.md)", alarms, width: FULL_WIDTH, height: 3 });
  }

  private feeding(): GraphWidget[] {
    return [
      graph("Engine rolls (1) or not (0)", this.byEngine("EngineRolling", "Average")),
      graph("Open episodes", this.byFleet("OpenEpisodes", "Average")),
      graph("Ended episodes", this.byFleet("Ended", "Sum")),
    ];
  }

  private reward(): GraphWidget[] {
    return [
      // A reward may be negative, so this axis goes where it must.
      graph("Mean reward of ended episodes", this.byFleet("Reward", "Average"), {
        width: 16,
        min: undefined,
      }),
      graph("Policy updates (global step)", this.byEngine("GlobalStep", "Maximum")),
    ];
  }

  private failures(): GraphWidget[] {
    return [
      graph(
        "How attempts ended",
        this.#props.fleets.map(({ fleetName }) => this.attemptsByReason(fleetName)),
        { width: 16 },
      ),
      graph("Outcome unknown, circuit open", [
        ...this.byFleet("Unknown", "Sum", "unknown"),
        ...this.byFleet("CircuitOpen", "Maximum", "circuit open"),
        ...this.byEngine("NeverConfirmed", "Maximum", "never confirmed"),
      ]),
    ];
  }

  private waiting(): GraphWidget[] {
    const { fleets } = this.#props;
    const period = Duration.minutes(MINUTES);
    const labelled = (label: string) => ({ statistic: "Maximum", period, label });
    return [
      graph(
        "Messages in the queues",
        fleets.flatMap(({ fleetName, queue }) => [
          queue.metricApproximateNumberOfMessagesVisible(labelled(`${fleetName} waiting`)),
          queue.metricApproximateNumberOfMessagesNotVisible(labelled(`${fleetName} running or deferred`)),
        ]),
      ),
      graph(
        "Age of the oldest message, s",
        fleets.map(({ fleetName, queue }) => queue.metricApproximateAgeOfOldestMessage(labelled(fleetName))),
      ),
      graph(
        "Dead letters",
        fleets.map(({ fleetName, deadLetterQueue }) =>
          deadLetterQueue.metricApproximateNumberOfMessagesVisible(labelled(fleetName)),
        ),
      ),
    ];
  }

  private functions(): GraphWidget[] {
    const { fleets, lifecycles } = this.#props;
    const all = [
      ...fleets.map(({ fleetName, rollout }) => ({ name: fleetName, watched: rollout.function })),
      ...lifecycles.map(({ engine, lifecycle }) => ({
        name: `${engine} lifecycle`,
        watched: lifecycle.function,
      })),
    ];
    const period = Duration.minutes(MINUTES);
    const sum = (label: string) => ({ statistic: "Sum", period, label });
    const most = (label: string) => ({ statistic: "Maximum", period, label });
    return [
      graph(
        "Errors and throttles",
        all.flatMap(({ name, watched }) => [
          watched.metricErrors(sum(`${name} errors`)),
          watched.metricThrottles(sum(`${name} throttles`)),
        ]),
      ),
      graph(
        "Longest invocation, ms",
        all.map(({ name, watched }) => watched.metricDuration(most(name))),
      ),
      graph(
        "Invocations at once",
        fleets.map(({ fleetName, rollout }) =>
          rollout.function.metric("ConcurrentExecutions", most(fleetName)),
        ),
      ),
    ];
  }

  private cost(): GraphWidget[] {
    const { fleets } = this.#props;
    return [
      graph("Spent today, USD (estimate)", this.byFleet("EstimatedUsd", "Maximum")),
      graph("Lambda, GB-seconds", fleets.map(gigabyteSeconds)),
      graph("DynamoDB, write units", [
        fleets[0]?.state.table.metricConsumedWriteCapacityUnits({
          statistic: "Sum",
          period: Duration.minutes(MINUTES),
          label: "write units",
        }),
      ]),
    ];
  }

  private byFleet(metric: FleetMetric, statistic: Statistic, what = ""): IMetric[] {
    return this.#props.fleets.map(({ fleetName }) =>
      fleetMetric(this, fleetName, metric, { statistic, minutes: MINUTES, label: label(fleetName, what) }),
    );
  }

  private byEngine(metric: EngineMetric, statistic: Statistic, what = ""): IMetric[] {
    return this.#props.lifecycles.map(({ engine }) =>
      engineMetric(this, engine, metric, { statistic, minutes: MINUTES, label: label(engine, what) }),
    );
  }

  /** A search, because which reasons there are shows only when they come. */
  private attemptsByReason(fleet: string): MathExpression {
    const which = `MetricName="Attempts" service="${service(this)}" fleet="${fleet}"`;
    return new MathExpression({
      expression: `SEARCH('{${NAMESPACE},service,fleet,reason} ${which}', 'Sum', ${MINUTES * 60})`,
      label: `${fleet} \${PROP('Dim.reason')}`,
      period: Duration.minutes(MINUTES),
    });
  }
}

function label(name: string, what: string): string {
  return `${name} ${what}`.trim();
}

function graph(
  title: string,
  metrics: readonly (IMetric | undefined)[],
  { width = 8, ...axis }: { width?: number; min?: number | undefined } = {},
): GraphWidget {
  const left = metrics.filter((metric) => metric !== undefined);
  const min = "min" in axis ? axis.min : 0;
  return new GraphWidget({
    title,
    left,
    width,
    height: 6,
    ...(min === undefined ? {} : { leftYAxis: { min } }),
  });
}

/** What Lambda bills: time by memory. */
function gigabyteSeconds({ fleetName, rollout, settings }: RolloutFleet, index: number): MathExpression {
  const period = Duration.minutes(MINUTES);
  return new MathExpression({
    // The graph's metrics need ids of their own.
    expression: `duration${index} / 1000 * ${settings.memoryMb} / 1024`,
    usingMetrics: { [`duration${index}`]: rollout.function.metricDuration({ statistic: "Sum", period }) },
    label: fleetName,
    period,
  });
}
