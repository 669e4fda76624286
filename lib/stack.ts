import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { EngineLifecycle } from "./engine-lifecycle.ts";
import { RolloutFleet } from "./rollout-fleet.ts";
import type { Settings } from "./settings.ts";
import type { FleetSettings } from "./settings-schema.ts";
import { StateTable } from "./state-table.ts";

export interface SortieStackProps extends StackProps {
  readonly settings: Settings;
}

/**
 * The whole of Sortie. Its outputs are what the `sortie` command reads: `TableName`, `Fleets` (a JSON list of name,
 * engine, queueUrl and deadLetterQueueUrl), and for people `QueueUrl<Fleet>` and `DeadLetterQueueUrl<Fleet>`.
 */
export class SortieStack extends Stack {
  readonly state: StateTable;
  readonly fleets: readonly RolloutFleet[];
  readonly lifecycles: readonly EngineLifecycle[];

  constructor(scope: Construct, id: string, props: SortieStackProps) {
    const { settings, ...stackProps } = props;
    super(scope, id, { description: "Sortie: rollouts for reinforcement learning", ...stackProps });
    this.state = new StateTable(this, "State", { retain: settings.deployment.retain });
    this.fleets = Object.entries(settings.fleets).map(([name, fleet]) =>
      this.addFleet(name, fleet, settings),
    );
    this.lifecycles = Object.keys(settings.engines).map((name) => this.addLifecycle(name, settings));
    this.addOutputs();
  }

  private addFleet(fleetName: string, fleet: FleetSettings, settings: Settings): RolloutFleet {
    return new RolloutFleet(this, `Fleet-${fleetName}`, {
      ...fleet,
      ...settings.deployment,
      fleetName,
      engineUrl: urlOf(fleet.engine, settings),
      state: this.state,
    });
  }

  private addLifecycle(engine: string, settings: Settings): EngineLifecycle {
    return new EngineLifecycle(this, `Engine-${engine}`, {
      ...settings.deployment,
      engine,
      engineUrl: urlOf(engine, settings),
      state: this.state,
      fleets: this.fleets.filter((fleet) => fleet.engine === engine),
    });
  }

  private addOutputs(): void {
    const fleets = this.fleets.map(({ fleetName, engine, queue, deadLetterQueue }) => ({
      name: fleetName,
      engine,
      queueUrl: queue.queueUrl,
      deadLetterQueueUrl: deadLetterQueue.queueUrl,
    }));
    new CfnOutput(this, "TableName", { value: this.state.tableName });
    new CfnOutput(this, "Fleets", { value: this.toJsonString(fleets) });
    for (const { name, queueUrl, deadLetterQueueUrl } of fleets) {
      new CfnOutput(this, `QueueUrl${pascalCase(name)}`, { value: queueUrl });
      new CfnOutput(this, `DeadLetterQueueUrl${pascalCase(name)}`, { value: deadLetterQueueUrl });
    }
  }
}

function urlOf(engine: string, settings: Settings): string {
  const found = settings.engines[engine];
  if (found === undefined) throw new Error(`expected settings of engine ${engine}, found none`);
  return found.url;
}

/** An output's name takes letters and digits only. */
function pascalCase(name: string): string {
  return name.replace(/(^|-+)([a-z0-9]|$)/g, (_, __, first: string) => first.toUpperCase());
}
