import { Annotations, Duration, Stack, Token } from "aws-cdk-lib";
import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { EventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { rolloutVariables as variables } from "../functions/contract/environment-names.ts";
import { fleetItems, INVOCATIONS, rolloutsOf } from "../functions/contract/table-keys.ts";
import { entries } from "../functions/entries.ts";
import { type AgentAccess, agentAccess, agentModules } from "./agent-access.ts";
import { agentWay } from "./agent-settings.ts";
import { accessEnvironment, bundledFiles, checkAccess, grantAccess } from "./engine-access.ts";
import type { EngineAccess } from "./engine-settings.ts";
import { FleetAlarms } from "./fleet-alarms.ts";
import { batchSize, fleetRemarks, maximumConcurrency } from "./fleet-limits.ts";
import { SortieFunction } from "./function-defaults.ts";
import type { Network } from "./network.ts";
import { retention } from "./retention.ts";
import { DEFAULT_NAME, decodeSettings } from "./settings.ts";
import type { DeploymentSettings, FleetSettings } from "./settings-schema.ts";
import { StateTable } from "./state-table.ts";
import { TranscriptBucket } from "./transcript-bucket.ts";

/** Everything but `engineUrl` has a default; the keys of settings are described at their schemas. */
export interface RolloutFleetProps extends Partial<FleetSettings>, Partial<DeploymentSettings> {
  /** Where the functions reach the engine, as `http://10.0.0.7:10086`. */
  readonly engineUrl: string;
  /** What a proxy in front of the engine wants to see. Default: nothing. */
  readonly engineAccess?: EngineAccess;
  /** Default: outside of any network of the user's. */
  readonly network?: Network | undefined;
  /** What the alarms do. Default: nothing but to show themselves. */
  readonly alarmAction?: IAlarmAction | undefined;
  /** The fleet's name, unique in its table: 1 to 32 characters from a-z, 0-9 and -. Default: `main`. */
  readonly fleetName?: string;
  /** Default: a table of its own. */
  readonly state?: StateTable;
  /** Default: where the settings want transcripts, a bucket of its own. */
  readonly transcriptBucket?: TranscriptBucket | undefined;
}

/** A queue of rollouts, their dead letters, the function that runs them with the fleet's agent, and alarms. */
export class RolloutFleet extends Construct {
  readonly fleetName: string;
  /** The engine's name. */
  readonly engine: string;
  readonly engineUrl: string;
  readonly engineAccess: EngineAccess;
  readonly network: Network | undefined;
  readonly settings: FleetSettings;
  readonly deployment: DeploymentSettings;
  readonly state: StateTable;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  /** Absent where no transcripts are kept. */
  readonly transcriptBucket: TranscriptBucket | undefined;
  /** Where its agent runs, and what it takes to reach it. */
  readonly agent: AgentAccess;
  readonly rollout: SortieFunction;
  readonly eventSource: EventSourceMapping;
  readonly alarms: FleetAlarms;

  /** @throws SettingsError with every fault at once */
  constructor(scope: Construct, id: string, props: RolloutFleetProps) {
    super(scope, id);
    const { fleetName = DEFAULT_NAME, state } = props;
    const { fleet, deployment } = complete(props, fleetName);
    checkAccess(fleet.engine, props.engineUrl, props.engineAccess ?? {});
    this.fleetName = fleetName;
    this.engine = fleet.engine;
    this.engineUrl = props.engineUrl;
    this.engineAccess = props.engineAccess ?? {};
    this.network = props.network;
    this.settings = fleet;
    this.deployment = deployment;
    this.state = state ?? new StateTable(this, "State", { retain: deployment.retain });
    this.transcriptBucket =
      fleet.transcripts === "none"
        ? undefined
        : (props.transcriptBucket ?? new TranscriptBucket(this, "Transcripts", deployment));
    this.deadLetterQueue = this.createQueue("DeadLetterQueue");
    this.queue = this.createQueue("Queue", this.deadLetterQueue);
    this.agent = agentAccess(this, agentWay(fleet.agent), { ...deployment, ...fleet, fleetName });
    this.rollout = this.createFunction();
    this.grantPermissions();
    this.eventSource = this.createEventSource();
    this.alarms = new FleetAlarms(this, "Alarms", { fleet: this, action: props.alarmAction });
    for (const remark of fleetRemarks(fleet))
      Annotations.of(this).addWarningV2("sortie:settings", `fleet ${fleetName}: ${remark}`);
  }

  private createQueue(id: string, deadLetterQueue?: Queue): Queue {
    const { retain, messageRetentionDays, maxReceiveCount, visibilityMarginSeconds, maxMessageBytes } =
      this.deployment;
    const redrive = deadLetterQueue && {
      deadLetterQueue: { queue: deadLetterQueue, maxReceiveCount },
      visibilityTimeout: Duration.seconds(this.settings.timeoutSeconds + visibilityMarginSeconds),
    };
    return new Queue(this, id, {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(messageRetentionDays),
      receiveMessageWaitTime: Duration.seconds(20),
      maxMessageSizeBytes: maxMessageBytes,
      removalPolicy: retention(retain),
      ...redrive,
    });
  }

  private createFunction(): SortieFunction {
    const { timeoutSeconds, memoryMb, reservedConcurrency } = this.settings;
    const { logRetentionDays, retain, tracing } = this.deployment;
    return new SortieFunction(this, "Rollout", {
      description: `Sortie: rollouts of fleet ${this.fleetName}`,
      entry: entries.rollout,
      modules: agentModules(agentWay(this.settings.agent)),
      environment: this.environment(),
      timeoutSeconds,
      memoryMb,
      logRetentionDays,
      retain,
      tracing,
      network: this.network,
      files: bundledFiles(this.engineAccess),
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: reservedConcurrency }),
    });
  }

  private environment(): Record<string, string> {
    const { settings } = this;
    const { variable } = this.agent;
    const grace = settings.stragglerGraceSeconds;
    return {
      [variables.fleet]: this.fleetName,
      [variables.engine]: this.engine,
      [variables.engineUrl]: this.engineUrl,
      ...accessEnvironment(this.engineAccess),
      [variables.table]: this.state.tableName,
      [variables.queueUrl]: this.queue.queueUrl,
      [variables.deadLetterQueueUrl]: this.deadLetterQueue.queueUrl,
      [variables.maxAttempts]: String(settings.maxAttempts),
      [variables.maxDiscards]: String(settings.maxDiscards),
      ...(variable && { [variables.agent]: Stack.of(this).toJsonString(variable) }),
      [variables.discardTimeoutSeconds]: String(settings.discardEpisodeTimeoutSeconds),
      [variables.claimWaitSeconds]: String(settings.claimWaitSeconds),
      [variables.minEpisodeSeconds]: String(settings.minEpisodeSeconds),
      [variables.settleMarginSeconds]: String(settings.settleMarginSeconds),
      [variables.allowUnusualRewards]: String(settings.allowUnusualRewards),
      [variables.rolloutTtlDays]: String(this.deployment.rolloutTtlDays),
      [variables.maxReceiveCount]: String(this.deployment.maxReceiveCount),
      [variables.messageRetentionDays]: String(this.deployment.messageRetentionDays),
      ...(grace === undefined ? {} : { [variables.stragglerGraceSeconds]: String(grace) }),
      ...(settings.spare === undefined ? {} : { [variables.spare]: String(settings.spare) }),
      ...(settings.keepPlacesFull ? { [variables.places]: String(batchSize(settings)) } : {}),
      ...(this.transcriptBucket && {
        [variables.transcripts]: this.transcriptBucket.address,
        [variables.transcriptsKept]: String(settings.transcripts),
      }),
      ...(settings.throttle && { [variables.throttle]: JSON.stringify(settings.throttle) }),
    };
  }

  private grantPermissions(): void {
    const { rollout, state, fleetName } = this;
    const { role } = rollout;
    state.grant(role, ["GetItem", "PutItem"], [rolloutsOf(fleetName)]);
    state.grant(role, ["GetItem", "PutItem", "UpdateItem"], [fleetItems(fleetName)]);
    state.grant(role, ["GetItem", "PutItem", "DeleteItem"], [INVOCATIONS]);
    this.transcriptBucket?.grantPut(role, fleetName);
    grantAccess(rollout, this.engineAccess);
    for (const statement of this.agent.statements) role.addToPolicy(statement);
    const queueActions = ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "ChangeMessageVisibility"];
    role.addToPolicy(
      new PolicyStatement({
        actions: queueActions.map((action) => `sqs:${action}`),
        resources: [this.queue.queueArn],
      }),
    );
    role.addToPolicy(
      new PolicyStatement({ actions: ["sqs:SendMessage"], resources: [this.deadLetterQueue.queueArn] }),
    );
  }

  private createEventSource(): EventSourceMapping {
    return new EventSourceMapping(this, "EventSource", {
      target: this.rollout.function,
      eventSourceArn: this.queue.queueArn,
      batchSize: batchSize(this.settings),
      maxBatchingWindow: Duration.seconds(this.settings.batchWindowSeconds),
      maxConcurrency: maximumConcurrency(this.settings),
      reportBatchItemFailures: true,
    });
  }
}

/** The same decoding as for settings from context, so that a construct used by itself checks as much. */
function complete(props: RolloutFleetProps, fleetName: string) {
  const { engineUrl, engineAccess, network, alarmAction, state, transcriptBucket, ...settings } = props;
  const { fleetName: _, engine = DEFAULT_NAME, ...given } = settings;
  const url = Token.isUnresolved(engineUrl) ? "http://known-at-deployment" : engineUrl;
  const written = { ...given, engines: { [engine]: { url } }, fleets: { [fleetName]: {} } };
  const { fleets, deployment } = decodeSettings(written);
  const fleet = fleets[fleetName];
  if (fleet === undefined) throw new Error(`expected settings of fleet ${fleetName}, found none`);
  return { fleet, deployment };
}
