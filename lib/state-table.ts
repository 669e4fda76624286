import { AttributeType, Billing, ProjectionType, TableEncryptionV2, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { IRole } from "aws-cdk-lib/aws-iam";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { CHANGE_INDEX, OPEN_INDEX } from "../functions/contract/table-keys.ts";
import { retention } from "./retention.ts";
import { deploymentDefaults } from "./settings-schema.ts";

export interface StateTableProps {
  /** Keep the table when the stack is destroyed. Default: true. */
  readonly retain?: boolean;
}

/** The one table of a deployment: what must survive a function. `docs/state.md` describes its items. */
export class StateTable extends Construct {
  readonly table: TableV2;

  constructor(scope: Construct, id: string, props: StateTableProps = {}) {
    super(scope, id);
    const retain = props.retain ?? deploymentDefaults.retain;
    this.table = new TableV2(this, "Table", {
      partitionKey: { name: "pk", type: AttributeType.STRING },
      sortKey: { name: "sk", type: AttributeType.STRING },
      billing: Billing.onDemand(),
      timeToLiveAttribute: "expires_ttl",
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      encryption: TableEncryptionV2.awsManagedKey(),
      // DynamoDB would refuse to delete it also where its first deployment fails; a table deleted by hand is kept for 35
      // days as a backup, since it can be restored to any point in time.
      deletionProtection: false,
      removalPolicy: retention(retain),
    });
    this.addIndexes();
  }

  /** The name that the functions get. */
  get tableName(): string {
    return this.table.tableName;
  }

  /**
   * Lets a role do these actions (without the `dynamodb:` prefix) with the items whose partition key is one of
   * `partitions`; a `*` in one stands for anything.
   */
  grant(role: IRole, actions: readonly string[], partitions: readonly string[]): void {
    this.allow(role, actions, partitions, this.table.tableArn);
  }

  /** Lets a role query these partitions of an index: there, the leading key is the index's own. */
  grantIndex(
    role: IRole,
    index: typeof OPEN_INDEX | typeof CHANGE_INDEX,
    partitions: readonly string[],
  ): void {
    this.allow(role, ["Query"], partitions, `${this.table.tableArn}/index/${index}`);
  }

  private allow(
    role: IRole,
    actions: readonly string[],
    partitions: readonly string[],
    resource: string,
  ): void {
    if (partitions.length === 0) return;
    const statement = new PolicyStatement({
      actions: actions.map((action) => `dynamodb:${action}`),
      resources: [resource],
      conditions: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": partitions } },
    });
    role.addToPrincipalPolicy(statement);
  }

  private addIndexes(): void {
    // Sparse: an item is in it only while something about its episode is open. The invocation says who has it.
    this.table.addGlobalSecondaryIndex({
      indexName: OPEN_INDEX,
      partitionKey: { name: "open_engine", type: AttributeType.STRING },
      sortKey: { name: "open_until", type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ["invocation"],
    });
    this.table.addGlobalSecondaryIndex({
      indexName: CHANGE_INDEX,
      partitionKey: { name: "changed_fleet", type: AttributeType.STRING },
      sortKey: { name: "changed_at", type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ["state", "episode_type", "task_id", "history", "attempts"],
    });
  }
}
