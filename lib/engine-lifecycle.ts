import { Duration, Stack } from "aws-cdk-lib";
import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import { PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Schedule, ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { LambdaInvoke } from "aws-cdk-lib/aws-scheduler-targets";
import { Construct } from "constructs";
import {
  type FleetVariable,
  lifecycleVariables as variables,
} from "../functions/contract/environment-names.ts";
import { SettingsError } from "../functions/contract/settings-error.ts";
import {
  CHANGE_INDEX,
  engineItems,
  fleetItems,
  INVOCATIONS,
  invocationsOf,
  OPEN_INDEX,
  openPartitions,
  rolloutsOf,
} from "../functions/contract/table-keys.ts";
import { entries } from "../functions/entries.ts";
import { accessEnvironment, bundledFiles, checkAccess, grantAccess } from "./engine-access.ts";
import { EngineAlarms } from "./engine-alarms.ts";
import type { AgreeAfter, EngineAccess } from "./engine-settings.ts";
import { SortieFunction } from "./function-defaults.ts";
import type { Network } from "./network.ts";
import type { RolloutFleet } from "./rollout-fleet.ts";
import { completeDeployment, DEFAULT_NAME } from "./settings.ts";
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
  /** What a proxy in front of the engine wants to see. Default: nothing. */
  readonly engineAccess?: EngineAccess;
  /** When to agree to a step's weight sync, under a collection method that waits for it. Default: only by hand. */
  readonly agreeAfter?: AgreeAfter;
  /** Default: outside of any network of the user's. */
  readonly network?: Network | undefined;
  /** What the alarms do. Default: nothing but to show themselves. */
  readonly alarmAction?: IAlarmAction | undefined;
  /** The table of its fleets. */
  readonly state: StateTable;
  /** The fleets that work on this engine. */
  readonly fleets: readonly RolloutFleet[];
  /** Fleets that worked on it once: what they left open is settled. Default: none. */
  readonly retiredFleets?: readonly string[];
}

/** The scheduled function of one engine, which drives it, sweeps what is overdue and takes snapshots; and alarms. */
export class EngineLifecycle extends Construct {
  /** The engine's name. */
  readonly engine: string;
  readonly lifecycle: SortieFunction;
  readonly schedule: Schedule;
  readonly alarms: EngineAlarms;

  /** @throws SettingsError where a fleet works on another engine or keeps its state in another table */
  constructor(scope: Construct, id: string, props: EngineLifecycleProps) {
    super(scope, id);
    const engine = props.engine ?? DEFAULT_NAME;
    const deployment = completeDeployment(props);
    const engineAccess = props.engineAccess ?? {};
    checkAccess(engine, props.engineUrl, engineAccess);
    refuseStrangers(engine, props);
    this.engine = engine;
    this.lifecycle = new SortieFunction(this, "Lifecycle", {
      description: `Sortie: lifecycle of engine ${engine}`,
      entry: entries.lifecycle,
      environment: this.environment(engine, props, deployment),
      timeoutSeconds: TIMEOUT_SECONDS,
      memoryMb: MEMORY_MB,
      logRetentionDays: deployment.logRetentionDays,
      retain: deployment.retain,
      tracing: deployment.tracing,
      network: props.network,
      files: bundledFiles(engineAccess),
      reservedConcurrentExecutions: 1,
    });
    this.grantPermissions(engine, props);
    grantAccess(this.lifecycle, engineAccess);
    this.schedule = this.createSchedule(engine, deployment.scheduleMinutes);
    this.alarms = new EngineAlarms(this, "Alarms", {
      engine,
      scheduleMinutes: deployment.scheduleMinutes,
      lifecycle: this.lifecycle.function,
      timeoutSeconds: TIMEOUT_SECONDS,
      action: props.alarmAction,
    });
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
        ...(fleet.settings.budget && { budgetUsdPerDay: fleet.settings.budget.usdPerDay }),
      }),
    );
    return {
      [variables.engine]: engine,
      [variables.engineUrl]: props.engineUrl,
      ...accessEnvironment(props.engineAccess ?? {}),
      [variables.table]: props.state.tableName,
      [variables.fleets]: Stack.of(this).toJsonString(fleets),
      ...(props.retiredFleets?.length
        ? { [variables.retiredFleets]: JSON.stringify(props.retiredFleets) }
        : {}),
      [variables.snapshotTtlDays]: String(deployment.snapshotTtlDays),
      [variables.rolloutTtlDays]: String(deployment.rolloutTtlDays),
      [variables.scheduleMinutes]: String(deployment.scheduleMinutes),
      [variables.startAttempts]: String(deployment.startAttempts),
      [variables.startPauseSeconds]: String(deployment.startPauseSeconds),
      [variables.bootMinutes]: String(deployment.bootMinutes),
      [variables.stalledMinutes]: String(deployment.stalledMinutes),
      [variables.restartWhenStalled]: String(deployment.restartWhenStalled),
      ...(props.agreeAfter ? { [variables.agreeAfter]: JSON.stringify(props.agreeAfter) } : {}),
    };
  }

  private grantPermissions(
    engine: string,
    { state, fleets, retiredFleets = [] }: EngineLifecycleProps,
  ): void {
    const { role } = this.lifecycle;
    const names = fleets.map(({ fleetName }) => fleetName);
    const swept = [...names, ...retiredFleets];
    state.grant(role, ["GetItem", "PutItem"], swept.map(rolloutsOf));
    state.grant(role, ["GetItem", "PutItem"], [engineItems(engine)]);
    state.grant(role, ["GetItem", "PutItem", "UpdateItem"], swept.map(fleetItems));
    state.grant(role, ["GetItem", "BatchGetItem", "PutItem", "DeleteItem"], [INVOCATIONS]);
    state.grantIndex(role, OPEN_INDEX, [...openPartitions(engine), ...swept.map(invocationsOf)]);
    state.grantIndex(role, CHANGE_INDEX, names);
    for (const { queue, deadLetterQueue } of fleets) {
      role.addToPolicy(
        new PolicyStatement({
          actions: ["sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage"],
          resources: [queue.queueArn],
        }),
      );
      role.addToPolicy(
        new PolicyStatement({
          actions: ["sqs:GetQueueAttributes"],
          resources: [deadLetterQueue.queueArn],
        }),
      );
    }
  }

  /** Nothing is tried again, neither by the schedule nor by Lambda: the next tick comes anyhow. */
  private createSchedule(engine: string, minutes: number): Schedule {
    const maxEventAge = Duration.minutes(1);
    const target = this.lifecycle.function;
    target.configureAsyncInvoke({ retryAttempts: 0, maxEventAge });
    // The target would also grant every version of the function, of which there is none.
    const role = this.createSchedulerRole().withoutPolicyUpdates();
    return new Schedule(this, "Schedule", {
      description: `Sortie: ticks of engine ${engine}`,
      schedule: ScheduleExpression.rate(Duration.minutes(minutes)),
      target: new LambdaInvoke(target, { retryAttempts: 0, maxEventAge, role }),
    });
  }

  private createSchedulerRole(): Role {
    const account = { StringEquals: { "aws:SourceAccount": Stack.of(this).account } };
    const role = new Role(this, "SchedulerRole", {
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", { conditions: account }),
    });
    const resources = [this.lifecycle.function.functionArn];
    role.addToPolicy(new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources }));
    return role;
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
