/** Keeps a deployment from losing a fleet by accident. */
import { CustomResource, Duration, Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { entries } from "../functions/entries.ts";
import { SortieFunction } from "./function-defaults.ts";

export interface FleetNamesProps {
  /** The fleets of this deployment. */
  readonly fleets: readonly string[];
  /** Fleets of the deployment before that are given up on purpose. */
  readonly retiredFleets: readonly string[];
  readonly logRetentionDays: number;
}

/**
 * Remembers the names of the fleets from one deployment to the next, and fails the one that lacks a fleet: to
 * CloudFormation, a fleet under a new name is another fleet, and the rollouts in the queue of the old one would wait for
 * ever. Only CloudFormation knows what was deployed before, so the check is a resource of the stack.
 */
export class FleetNames extends Construct {
  readonly check: SortieFunction;

  constructor(scope: Construct, id: string, props: FleetNamesProps) {
    super(scope, id);
    this.check = new SortieFunction(this, "Check", {
      description: "Sortie: refuses a deployment that loses a fleet",
      entry: entries.fleetNames,
      environment: {},
      timeoutSeconds: 30,
      memoryMb: 256,
      logRetentionDays: props.logRetentionDays,
      // It says all that it has to say in the deployment's own output.
      retain: false,
    });
    // Whether the stack is going back to what was before.
    this.check.role.addToPolicy(
      new PolicyStatement({
        actions: ["cloudformation:DescribeStacks"],
        resources: [Stack.of(this).stackId],
      }),
    );
    const { fleets, retiredFleets } = props;
    const resource = new CustomResource(this, "Names", {
      serviceToken: this.check.function.functionArn,
      resourceType: "Custom::SortieFleetNames",
      serviceTimeout: Duration.minutes(2),
      properties: { Fleets: fleets.join(","), RetiredFleets: retiredFleets.join(",") },
    });
    // Its answer and its last log lines need the role until the end.
    resource.node.addDependency(this.check.role);
  }
}
