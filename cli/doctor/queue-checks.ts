/** A fleet's queues, and how they hang together. */
import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { leastDeliveries } from "../../functions/contract/deliveries.ts";
import type { Deployment, Fleet } from "../deployment.ts";
import { type Check, type CheckPorts, failed, ok, warning } from "./finding.ts";

export function fleetChecks({ deployment }: CheckPorts, fleet: Fleet): Check[] {
  return [
    { name: `queue ${fleet.name}`, run: async () => await queue(deployment, fleet) },
    { name: `dead letters ${fleet.name}`, run: async () => await deadLetters(deployment, fleet) },
  ];
}

async function attributesOf({ aws }: Deployment, queueUrl: string): Promise<Record<string, string>> {
  const { Attributes = {} } = await aws.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ["All"] }),
  );
  return Attributes as Record<string, string>;
}

async function queue(deployment: Deployment, { queueUrl, deadLetterQueueUrl }: Fleet) {
  const attributes = await attributesOf(deployment, queueUrl);
  const { deadLetterTargetArn: target, maxReceiveCount: receives } = policyOf(attributes["RedrivePolicy"]);
  const { QueueArn: deadArn } = await attributesOf(deployment, deadLetterQueueUrl);
  if (target === undefined)
    return failed(
      "expected a redrive policy, found none: deploy again, or a message that nobody can handle comes back for ever",
    );
  if (target !== deadArn)
    return failed(`expected dead letters to go to ${deadArn}, found ${target}: deploy again`);
  const days = Number(attributes["MessageRetentionPeriod"]) / 86_400;
  const least = leastDeliveries(days);
  if (Number(receives) < least)
    return failed(
      `expected maxReceiveCount of at least ${least}, since waiting counts as receiving and SQS keeps a message for ${days} days, found ${receives}: raise it in the settings`,
    );
  const { ApproximateNumberOfMessages: waiting = "0", VisibilityTimeout: visibility = "?" } = attributes;
  return ok(`${waiting} messages wait, visibility ${visibility} s, dead letters after ${receives} receives`);
}

function policyOf(json: string | undefined): {
  deadLetterTargetArn?: string;
  maxReceiveCount?: string | number;
} {
  try {
    return JSON.parse(json ?? "{}");
  } catch {
    return {};
  }
}

async function deadLetters(deployment: Deployment, { deadLetterQueueUrl }: Fleet) {
  const { ApproximateNumberOfMessages: held = "0", MessageRetentionPeriod: seconds = "0" } =
    await attributesOf(deployment, deadLetterQueueUrl);
  const days = Number(seconds) / 86_400;
  if (days < 4)
    return failed(
      `expected them kept for 4 days at least, found ${days}: raise messageRetentionDays in the settings`,
    );
  if (held === "0") return ok(`none; kept for ${days} days`);
  return warning(
    `${held}, kept for ${days} days: sortie dead list says why, sortie dead redrive sends them back`,
  );
}
