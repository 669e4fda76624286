/** Functions that use the real SDK as a deployed one would: nothing here knows that it runs on one machine. */
import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";

const dynamodb = new DynamoDBClient();
const sqs = new SQSClient();
const { TABLE, QUEUE } = process.env;

async function count(pk: string): Promise<void> {
  await dynamodb.send(
    new UpdateItemCommand({
      TableName: TABLE,
      Key: { pk: { S: pk }, sk: { S: "count" } },
      UpdateExpression: "ADD times :one",
      ExpressionAttributeValues: { ":one": { N: "1" } },
    }),
  );
}

export async function worker({ Records }: SQSEvent): Promise<SQSBatchResponse> {
  const failed: SQSBatchResponse["batchItemFailures"] = [];
  for (const { body, messageId } of Records) {
    await count(body);
    console.warn("worked", { body });
    if (body === "bad") failed.push({ itemIdentifier: messageId });
  }
  return { batchItemFailures: failed };
}

export async function ticker(event: { kind: string }): Promise<void> {
  await sqs.send(new GetQueueAttributesCommand({ QueueUrl: QUEUE, AttributeNames: ["All"] }));
  await count(event.kind);
}
