import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { IAlarmAction } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { alarmActionOf } from "./alarm-topic.ts";
import { SortieDashboard } from "./dashboard.ts";
import { EngineLifecycle } from "./engine-lifecycle.ts";
import type { EngineAccess } from "./engine-settings.ts";
import { FleetNames } from "./fleet-names.ts";
import { Network } from "./network.ts";
import { RolloutFleet } from "./rollout-fleet.ts";
import type { Settings } from "./settings.ts";
import type { FleetSettings } from "./settings-schema.ts";
import { StateTable } from "./state-table.ts";
import { TranscriptBucket } from "./transcript-bucket.ts";

export interface SortieStackProps extends StackProps {
  readonly settings: Settings;
}

/**
 * The whole of Sortie. Its outputs are what the `sortie` command reads: `TableName`, `Fleets` (a JSON list of name,
 * engine, queueUrl and deadLetterQueueUrl), `RolloutTtlDays`, `TranscriptBucket` where there is one, and for people `QueueUrl<Fleet>`, `DeadLetterQueueUrl<Fleet>` and
 * `LifecycleFunction<Engine>`.
 */
export class SortieStack extends Stack {
  readonly state: StateTable;
  readonly fleets: readonly RolloutFleet[];
  readonly lifecycles: readonly EngineLifecycle[];
  readonly network: Network | undefined;
  /** Absent where no fleet keeps transcripts. */
  readonly transcriptBucket: TranscriptBucket | undefined;
  readonly dashboard: SortieDashboard;
  readonly #alarmAction: IAlarmAction | undefined;

  constructor(scope: Construct, id: string, props: SortieStackProps) {
    const { settings, ...stackProps } = props;
    super(scope, id, { description: "Sortie: rollouts for reinforcement learning", ...stackProps });
    this.state = new StateTable(this, "State", { retain: settings.deployment.retain });
    this.network = settings.network && new Network(this, "Network", settings.network);
    this.transcriptBucket = Object.values(settings.fleets).some(({ transcripts }) => transcripts !== "none")
      ? new TranscriptBucket(this, "Transcripts", settings.deployment)
      : undefined;
    this.#alarmAction = alarmActionOf(this, settings);
    this.fleets = Object.entries(settings.fleets).map(([name, fleet]) =>
      this.addFleet(name, fleet, settings),
    );
    this.lifecycles = Object.keys(settings.engines).map((name) => this.addLifecycle(name, settings));
    this.dashboard = new SortieDashboard(this, "Dashboard", {
      fleets: this.fleets,
      lifecycles: this.lifecycles,
    });
    this.refuseLostFleets(settings);
    this.addOutputs(settings);
  }

  /** Before anything else: a refused deployment must not have made a queue. */
  private refuseLostFleets({ fleets, retiredFleets, deployment }: Settings): void {
    const names = new FleetNames(this, "FleetNames", {
      ...deployment,
      fleets: Object.keys(fleets),
      retiredFleets,
    });
    for (const fleet of this.fleets) fleet.node.addDependency(names);
  }

  private addFleet(fleetName: string, fleet: FleetSettings, settings: Settings): RolloutFleet {
    return new RolloutFleet(this, `Fleet-${fleetName}`, {
      ...fleet,
      ...settings.deployment,
      fleetName,
      ...engineOf(fleet.engine, settings),
      network: this.network,
      alarmAction: this.#alarmAction,
      state: this.state,
      transcriptBucket: this.transcriptBucket,
    });
  }

  private addLifecycle(engine: string, settings: Settings): EngineLifecycle {
    return new EngineLifecycle(this, `Engine-${engine}`, {
      ...settings.deployment,
      engine,
      ...engineOf(engine, settings),
      agreeAfter: settings.engines[engine]?.agreeAfter,
      network: this.network,
      alarmAction: this.#alarmAction,
      state: this.state,
      fleets: this.fleets.filter((fleet) => fleet.engine === engine),
      retiredFleets: settings.retiredFleets,
    });
  }

  private addOutputs({ deployment }: Settings): void {
    const fleets = this.fleets.map(({ fleetName, engine, queue, deadLetterQueue }) => ({
      name: fleetName,
      engine,
      queueUrl: queue.queueUrl,
      deadLetterQueueUrl: deadLetterQueue.queueUrl,
    }));
    new CfnOutput(this, "TableName", { value: this.state.tableName });
    new CfnOutput(this, "Fleets", { value: this.toJsonString(fleets) });
    if (this.transcriptBucket)
      new CfnOutput(this, "TranscriptBucket", { value: this.transcriptBucket.bucket.bucketName });
    new CfnOutput(this, "RolloutTtlDays", { value: String(deployment.rolloutTtlDays) });
    for (const { engine, lifecycle } of this.lifecycles)
      new CfnOutput(this, `LifecycleFunction${pascalCase(engine)}`, {
        value: lifecycle.function.functionName,
      });
    for (const { name, queueUrl, deadLetterQueueUrl } of fleets) {
      new CfnOutput(this, `QueueUrl${pascalCase(name)}`, { value: queueUrl });
      new CfnOutput(this, `DeadLetterQueueUrl${pascalCase(name)}`, { value: deadLetterQueueUrl });
    }
  }
}

function engineOf(engine: string, settings: Settings): { engineUrl: string; engineAccess: EngineAccess } {
  const found = settings.engines[engine];
  if (found === undefined) throw new Error(`expected settings of engine ${engine}, found none`);
  const { url: engineUrl, agreeAfter: _, ...engineAccess } = found;
  return { engineUrl, engineAccess };
}

/** An output's name takes letters and digits only. */
function pascalCase(name: string): string {
  return name.replace(/(^|-+)([a-z0-9]|$)/g, (_, __, first: string) => first.toUpperCase());
}
