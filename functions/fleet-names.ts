/**
 * A custom resource's handler: fails the deployment in which a fleet is missing that the one before had. It runs at
 * deployments alone. Its answer goes to an address that CloudFormation gives, and is all that anybody sees of it.
 */
import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import type { CloudFormationCustomResourceEvent, CloudFormationCustomResourceUpdateEvent } from "aws-lambda";
import { describeError } from "./core/errors.ts";
import { lostFleets } from "./core/lost-fleets.ts";
import { createLog } from "./log.ts";

const client = new CloudFormationClient();

export async function handler(event: CloudFormationCustomResourceEvent): Promise<void> {
  const log = createLog({ request: event.RequestType });
  const reason = event.RequestType === "Update" ? await refusal(event) : undefined;
  if (reason !== undefined) log("warn", "deployment refused", { reason });
  const answer = {
    Status: reason === undefined ? "SUCCESS" : "FAILED",
    Reason: reason ?? "no fleet is lost",
    PhysicalResourceId: "PhysicalResourceId" in event ? event.PhysicalResourceId : "fleet-names",
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
  };
  // An error makes Lambda call again, twice, and the address outlives that.
  const response = await fetch(event.ResponseURL, { method: "PUT", body: JSON.stringify(answer) });
  if (!response.ok)
    throw new Error(`expected CloudFormation to take the answer, found HTTP ${response.status}`);
}

async function refusal(event: CloudFormationCustomResourceUpdateEvent): Promise<string | undefined> {
  const { ResourceProperties: now, OldResourceProperties: before } = event;
  const reason = lostFleets({
    before: list(before["Fleets"]),
    now: list(now["Fleets"]),
    retired: list(now["RetiredFleets"]),
  });
  return reason !== undefined && (await isRollingBack(event.StackId)) ? undefined : reason;
}

/** A failed deployment goes back to the fleets before, and must not fail at that: what it made is taken away again. */
async function isRollingBack(stack: string): Promise<boolean> {
  try {
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }));
    return Stacks[0]?.StackStatus?.includes("ROLLBACK") ?? false;
  } catch (error) {
    // A stack that cannot go back either has to be mended by hand: that is worse than a lost fleet.
    createLog({ stack })("warn", "fleets are not compared", { error: describeError(error, 300) });
    return true;
  }
}

/** CloudFormation hands over text; a fleet's name holds no comma. */
function list(value: unknown): string[] {
  return typeof value === "string" && value !== "" ? value.split(",") : [];
}
