import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, Billing, ProjectionType, TableEncryptionV2, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { IRole } from "aws-cdk-lib/aws-iam";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { deploymentDefaults } from "./settings-schema.ts";

export interface StateTableProps {
  /** Keep the table, and refuse its deletion, when the stack is destroyed. Default: true. */
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
      deletionProtection: retain,
      removalPolicy: retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    this.addIndexes();
  }

  /** The name that the functions get. */
  get tableName(): string {
    return this.table.tableName;
  }

  /** Lets a role do these actions (without the `dynamodb:` prefix), queries on the indexes included. */
  grant(role: IRole, actions: readonly string[]): void {
    const { tableArn } = this.table;
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: actions.map((action) => `dynamodb:${action}`),
        resources: [tableArn],
      }),
    );
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ["dynamodb:Query"],
        resources: [`${tableArn}/index/open-by-expiry`, `${tableArn}/index/by-change`],
      }),
    );
  }

  private addIndexes(): void {
    // Sparse: an item is in it only while something about its episode is open. The invocation says who has it.
    this.table.addGlobalSecondaryIndex({
      indexName: "open-by-expiry",
      partitionKey: { name: "open_engine", type: AttributeType.STRING },
      sortKey: { name: "open_until", type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ["invocation"],
    });
    this.table.addGlobalSecondaryIndex({
      indexName: "by-change",
      partitionKey: { name: "changed_fleet", type: AttributeType.STRING },
      sortKey: { name: "changed_at", type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ["state", "episode_type", "task_id", "history", "attempts", "reward"],
    });
  }
}
