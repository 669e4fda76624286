import { Duration, Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Schedule, ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { LambdaInvoke } from "aws-cdk-lib/aws-scheduler-targets";
import { Construct } from "constructs";
import { entries } from "../functions/entries.ts";
import { type FleetVariable, lifecycleVariables as variables } from "../functions/environment-names.ts";
import { SortieFunction } from "./function-defaults.ts";
import type { RolloutFleet } from "./rollout-fleet.ts";
import { completeDeployment, DEFAULT_NAME } from "./settings.ts";
import { SettingsError } from "./settings-error.ts";
import type { DeploymentSettings } from "./settings-schema.ts";
import type { StateTable } from "./state-table.ts";

/** Lambda's limit: starting an engine takes up to ten minutes. */
const TIMEOUT_SECONDS = 900;
const MEMORY_MB = 512;

export interface EngineLifecycleProps extends Partial<DeploymentSettings> {
  /** The engine's name. Default: `main`. */
  readonly engine?: string;
  /** Where the function reaches the engine, as `http://10.0.0.7:10086`. */
  readonly engineUrl: string;
  /** The table of its fleets. */
  readonly state: StateTable;
  /** The fleets that work on this engine. */
  readonly fleets: readonly RolloutFleet[];
}

/** The scheduled function of one engine: drives it, sweeps what is overdue, takes snapshots. */
export class EngineLifecycle extends Construct {
  readonly lifecycle: SortieFunction;
  readonly schedule: Schedule;

  /** @throws SettingsError where a fleet works on another engine or keeps its state in another table */
  constructor(scope: Construct, id: string, props: EngineLifecycleProps) {
    super(scope, id);
    const engine = props.engine ?? DEFAULT_NAME;
    const deployment = completeDeployment(props);
    refuseStrangers(engine, props);
    this.lifecycle = new SortieFunction(this, "Lifecycle", {
      description: `Sortie: lifecycle of engine ${engine}`,
      entry: entries.lifecycle,
      environment: this.environment(engine, props, deployment),
      timeoutSeconds: TIMEOUT_SECONDS,
      memoryMb: MEMORY_MB,
      logRetentionDays: deployment.logRetentionDays,
      retain: deployment.retain,
      reservedConcurrentExecutions: 1,
    });
    this.grantPermissions(props);
    this.schedule = this.createSchedule(engine, deployment.scheduleMinutes);
  }

  private environment(
    engine: string,
    props: EngineLifecycleProps,
    deployment: DeploymentSettings,
  ): Record<string, string> {
    const fleets = props.fleets.map(
      (fleet): FleetVariable => ({
        name: fleet.fleetName,
        queueUrl: fleet.queue.queueUrl,
        deadLetterQueueUrl: fleet.deadLetterQueue.queueUrl,
        maxAttempts: fleet.settings.maxAttempts,
      }),
    );
    return {
      [variables.engine]: engine,
      [variables.engineUrl]: props.engineUrl,
      [variables.table]: props.state.tableName,
      [variables.fleets]: Stack.of(this).toJsonString(fleets),
      [variables.snapshotTtlDays]: String(deployment.snapshotTtlDays),
      [variables.rolloutTtlDays]: String(deployment.rolloutTtlDays),
    };
  }

  private grantPermissions({ state, fleets }: EngineLifecycleProps): void {
    const { role } = this.lifecycle;
    state.grant(role, ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "Query"]);
    for (const { queue, deadLetterQueue } of fleets) {
      role.addToPolicy(
        new PolicyStatement({
          actions: ["sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"],
          resources: [queue.queueArn],
        }),
      );
      role.addToPolicy(
        new PolicyStatement({
          actions: ["sqs:GetQueueAttributes", "sqs:SendMessage"],
          resources: [deadLetterQueue.queueArn],
        }),
      );
    }
  }

  /** Nothing is tried again, neither by the schedule nor by Lambda: the next tick comes anyhow. */
  private createSchedule(engine: string, minutes: number): Schedule {
    const maxEventAge = Duration.minutes(1);
    this.lifecycle.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge });
    return new Schedule(this, "Schedule", {
      description: `Sortie: ticks of engine ${engine}`,
      schedule: ScheduleExpression.rate(Duration.minutes(minutes)),
      target: new LambdaInvoke(this.lifecycle.function, { retryAttempts: 0, maxEventAge }),
    });
  }
}

function refuseStrangers(engine: string, { state, fleets }: EngineLifecycleProps): void {
  const faults = fleets.flatMap((fleet) => [
    ...(fleet.engine === engine
      ? []
      : [`fleet ${fleet.fleetName}: expected engine ${engine}, found ${fleet.engine}: give both the same`]),
    ...(fleet.state === state
      ? []
      : [`fleet ${fleet.fleetName}: expected the table of this engine, found another: pass fleet.state`]),
  ]);
  if (faults.length > 0) throw new SettingsError(faults);
}
